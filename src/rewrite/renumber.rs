//! How do the aspects of an image get the numbers of another generation of the runtime?
//!
//! Forms without a word of the runtime (tables, SYCLBIN, OffloadBinary) are read as those of today's, whose numbers are
//! others than those of the runtimes before it ([`Epoch`]).

use crate::bundle::aspect::{self, Epoch};
use crate::bundle::image::Image;
use crate::bundle::property::Value;
use crate::bundle::property_sets::{key, set};
use crate::container::Arena;
use crate::device::target::RENAMED;
use crate::error::{Error, ErrorKind, Result};
use crate::rewrite::property_sets::numbers;
use std::collections::BTreeSet;

/// The last aspect that every generation of the runtime gives the same number.
const LAST_COMMON: u32 = 24;
const FIXED_TARGET: &str = "fixed_target";

/// Whether a property holds numbers of aspects, and whether they are a set.
fn holds_aspects(set: &str, property: &str) -> Option<bool> {
    match set {
        set::KERNEL_ASPECTS => Some(true),
        set::REQUIREMENTS if key::ASPECTS.contains(&property) => Some(true),
        set::REQUIREMENTS if property == FIXED_TARGET => Some(false),
        _ => None,
    }
}

/// Whether an image has aspects whose numbers changed.
pub(crate) fn has_renumbered(image: &Image<'_>) -> bool {
    let any = |value: &Value<'_>, beyond: u32| {
        value.words().unwrap_or_default().iter().any(|number| (LAST_COMMON.saturating_add(1)..beyond).contains(number))
    };
    image.properties.sets.iter().any(|of| {
        of.properties.iter().any(|property| match holds_aspects(of.name, property.name) {
            Some(true) => any(&property.value, u32::MAX),
            // Numbers made of names of targets are none of aspects.
            Some(false) => any(&property.value, BEYOND),
            None => false,
        })
    })
}

/// A number beyond those of all aspects.
const BEYOND: u32 = 1000;

/// Gives the aspects of an image the numbers of another epoch. Whether any changed.
///
/// # Errors
/// `Usage` where the other epoch has no such aspect; `Input` where the arena is full.
pub(crate) fn renumber<'k>(arena: &'k Arena, image: &mut Image<'k>, from: Epoch, to: Epoch) -> Result<bool> {
    let mut changed = false;
    if from == to {
        return Ok(changed);
    }
    for of in &mut image.properties.sets {
        for property in &mut of.properties {
            let Some(is_set) = holds_aspects(of.name, property.name) else { continue };
            let Some(old) = property.value.words() else { continue };
            let mut new = Vec::with_capacity(old.len());
            for number in &old {
                new.push(match renumbered(*number, from, to) {
                    Some(number) => number,
                    None => return Err(unknown(*number, from, to)),
                });
            }
            if is_set {
                new = new.into_iter().collect::<BTreeSet<u32>>().into_iter().collect();
            }
            if new != old {
                property.value = numbers(arena, new)?;
                changed = true;
            }
        }
    }
    Ok(changed)
}

#[cold]
fn unknown(number: u32, from: Epoch, to: Epoch) -> Error {
    let (name, from, to) = (aspect::label(from, number), from.years(), to.years());
    let message = format!("`{name}` is aspect {number} by the numbers {from}, and those {to} have none for it");
    Error::new(ErrorKind::Usage, message)
        .with_remedy("leave the image out with --image, or choose a form for a runtime that knows it (--emit shared)")
}

/// Returns the number that an aspect of one epoch has in another: by its name, or one that it was renamed to or from. A number
/// that neither has a name for stays. None where the other epoch has no such aspect.
fn renumbered(number: u32, from: Epoch, to: Epoch) -> Option<u32> {
    let Some(known) = aspect::name(from, number) else { return aspect::name(to, number).is_none().then_some(number) };
    let later = || RENAMED.iter().find(|(old, _)| *old == known).and_then(|(_, new)| aspect::number(to, new));
    let earlier = || {
        let mut all = RENAMED.iter().filter(|(_, new)| *new == known).filter_map(|(old, _)| aspect::number(to, old));
        all.next().filter(|_| all.next().is_none())
    };
    aspect::number(to, known).or_else(later).or_else(earlier)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_other_years_are_of_the_same_aspect_or_none() {
        let to_2026 = |number| renumbered(number, Epoch::From2023, Epoch::From2026);
        assert_eq!([6, 28, 58, 74, 54, 57, 4000].map(to_2026), [6, 27, 53, 67, 50, 52, 4000].map(Some));
        // A channel of memory, and a number that had no meaning and has one now.
        assert_eq!([25, 71].map(to_2026), [None, None]);
        let to_2023 = |number| renumbered(number, Epoch::From2026, Epoch::From2023);
        // Two aspects became one.
        assert_eq!([27, 52, 50, 99].map(to_2023), [Some(28), Some(57), None, None]);
        assert_eq!(renumbered(27, Epoch::Before2023, Epoch::From2023), Some(28));
    }
}
