//! Which specialization constants does a linked image have?
//!
//! Compilers number the constants of each image from 0, and the property sets map names to numbers. In the result,
//! constants of one name get one number, and those of different names get different ones.
//!
//! [`crate::bundle::spec_constants`] describes how they are stored.

use super::Input;
use crate::bundle::property::set;
use crate::bundle::spec_constants::{PADDING, SpecConstant, constants};
use crate::error::{Error, ErrorKind};
use crate::spirv::Module;
use std::collections::{HashMap, HashSet};

/// Named constant of the result.
#[derive(Debug, Clone)]
struct Named {
    name: String,
    leaves: Vec<SpecConstant>,
    /// Default value, where the sets have one.
    default: Option<Vec<u8>>,
    /// First image that has it.
    image: usize,
}

/// Constants of the result, with their new numbers.
#[derive(Debug, Default)]
pub struct Plan {
    /// New numbers by old number, for each image.
    pub numbers: Vec<HashMap<u32, u32>>,
    named: Vec<Named>,
}

/// Assigns numbers to the constants of images.
///
/// # Errors
/// `Input` where constants of one name differ, or a value is damaged.
pub fn plan(inputs: &[Input<'_, '_>]) -> Result<Plan, Vec<Error>> {
    let mut plan = Plan::default();
    let mut errors = Vec::new();
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    // Constants without a name keep their numbers, which others must not get.
    let mut taken = unnamed(inputs);
    let mut next = 0u32;
    for (number, input) in inputs.iter().enumerate() {
        let mut numbers = HashMap::new();
        let stored = input.image.properties.set(set::SPEC_CONSTANTS);
        for (property, constant) in stored.iter().zip(constants(&input.image.properties)) {
            if property.value.words().is_none_or(|words| words.len() % 3 != 0) {
                errors.push(
                    Error::input(format!("the value of the property `{}` is damaged", property.name))
                        .context(input.label),
                );
                continue;
            }
            let (leaves, default) = (constant.leaves, constant.default.map(<[u8]>::to_vec));
            let known = by_name.get(property.name).and_then(|at| plan.named.get(*at));
            let Some(known) = known else {
                let mut mine = Vec::with_capacity(leaves.len());
                for leaf in leaves {
                    let new = if leaf.id == PADDING { PADDING } else { fresh(&mut next, &mut taken) };
                    if leaf.id != PADDING {
                        numbers.insert(leaf.id, new);
                    }
                    mine.push(SpecConstant { id: new, ..leaf });
                }
                by_name.insert(property.name, plan.named.len());
                plan.named.push(Named { name: property.name.to_owned(), leaves: mine, default, image: number });
                continue;
            };
            let same = known.leaves.len() == leaves.len()
                && known.leaves.iter().zip(&leaves).all(|(one, other)| {
                    (one.offset, one.size, one.id == PADDING) == (other.offset, other.size, other.id == PADDING)
                });
            if !same || known.default != default {
                let what = if same { "default" } else { "layout" };
                let other = inputs.get(known.image).map_or("", |other| other.label);
                let message =
                    format!("the specialization constant `{}` has another {what} than in {other}", property.name);
                errors.push(Error::new(ErrorKind::Build, message).context(input.label));
                continue;
            }
            let pairs = leaves.iter().zip(&known.leaves).filter(|(leaf, _)| leaf.id != PADDING);
            numbers.extend(pairs.map(|(leaf, known)| (leaf.id, known.id)));
        }
        plan.numbers.push(numbers);
    }
    if errors.is_empty() { Ok(plan) } else { Err(errors) }
}

/// Returns the numbers of constants that the sets do not name. Empty if no image has named constants.
fn unnamed(inputs: &[Input<'_, '_>]) -> HashSet<u32> {
    let mut numbers = HashSet::new();
    if inputs.iter().all(|input| input.image.properties.set(set::SPEC_CONSTANTS).is_empty()) {
        return numbers;
    }
    for input in inputs {
        let named = constants(&input.image.properties);
        let named: HashSet<u32> = named.iter().flat_map(|constant| &constant.leaves).map(|leaf| leaf.id).collect();
        let module = input.image.contents().ok().and_then(|contents| Module::parse(&contents).ok());
        let all = module.map(|module| module.spec_constants).unwrap_or_default();
        numbers.extend(all.into_iter().filter(|number| !named.contains(number)));
    }
    numbers
}

fn fresh(next: &mut u32, taken: &mut HashSet<u32>) -> u32 {
    while !taken.insert(*next) {
        *next = next.wrapping_add(1);
    }
    *next
}

impl Plan {
    /// Returns the contents of the set, by name.
    pub fn set(&self) -> Vec<(&str, Vec<u8>)> {
        let words = |named: &Named| -> Vec<u8> {
            let words = named.leaves.iter().flat_map(|leaf| [leaf.id, leaf.offset, leaf.size]);
            words.flat_map(u32::to_le_bytes).collect()
        };
        self.named.iter().map(|named| (named.name.as_str(), words(named))).collect()
    }

    /// Returns the defaults of all names, or none where an image has no defaults.
    pub fn defaults(&self) -> Option<Vec<u8>> {
        let all: Option<Vec<&[u8]>> = self.named.iter().map(|named| named.default.as_deref()).collect();
        all.filter(|all| !all.is_empty()).map(|all| all.concat())
    }
}
