//! What holds of the whole, and what is touched where it grows?
//!
//! Pages for those who change or trust the tool; no code. `tests/upkeep.rs` proves that every file and every test that they
//! name is there, and says what is missing where something was added by halves.

#[doc = include_str!("threat_model.md")]
pub mod threat_model {}
#[doc = include_str!("dependencies.md")]
pub mod dependencies {}
#[doc = include_str!("following_a_verb.md")]
pub mod following_a_verb {}
#[doc = include_str!("adding_a_container.md")]
pub mod adding_a_container {}
#[doc = include_str!("adding_a_target_family.md")]
pub mod adding_a_target_family {}
#[doc = include_str!("adding_an_aspect.md")]
pub mod adding_an_aspect {}
#[doc = include_str!("adding_a_property_set.md")]
pub mod adding_a_property_set {}
#[doc = include_str!("adding_a_rule.md")]
pub mod adding_a_rule {}
#[doc = include_str!("adding_a_verb.md")]
pub mod adding_a_verb {}
#[doc = include_str!("adding_a_build_target.md")]
pub mod adding_a_build_target {}
#[doc = include_str!("before_a_release.md")]
pub mod before_a_release {}
