//! What do the new arrays of image structures hold?
//!
//! An array holds, for each descriptor, its own image structures and one structure per added image. An added image
//! points to the option strings, entries and property sets of the image it was compiled from.
//!
//! An added image may differ from its source in property sets too: its own name its device (`compile_target`) and the values of specialization constants that it was compiled with, and they import nothing
//! where it was linked. Other images of the list keep their sets.

use super::{Addition, standalone};
use crate::bundle::image::Image;
use crate::bundle::property::{Property, PropertySet, Value, byte_array, remove_set, replace_set};
use crate::bundle::property_sets::{key, set};
use crate::bundle::structure::{Descriptor, ImageLayout, listed_in_tgtimg};
use crate::bundle::{Bundle, stray};
use crate::bytes;
use crate::container::Host;
use crate::error::{Error, Result};
use crate::rewrite::image_data::{OutImage, with_payload};
use crate::rewrite::specialize::StoredValue;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Image structure of the new array.
#[derive(Debug, Clone)]
pub(crate) struct Structure {
    /// Bytes, with final addresses.
    pub(crate) bytes: Vec<u8>,
}

impl Structure {
    /// Returns the offsets of the structure's pointers that are not null, which need relocations.
    pub(crate) fn pointers(&self) -> impl Iterator<Item = u64> + '_ {
        let words = self.bytes.as_chunks::<8>().0.iter().enumerate().skip(1);
        words.filter(|(_, word)| **word != [0; 8]).map(|(index, _)| (index as u64).wrapping_mul(8))
    }
}

/// Descriptor, target, compile target and symbols of an image.
type Role<'a> = (usize, &'a str, Option<&'a str>, &'a [&'a str]);

/// Returns the addresses of the structures that stay, by descriptor: all but those that an addition replaces. A
/// replaced structure has the addition's target and lists the same symbols as the addition's source in the same
/// descriptor, and is not known to be compiled from another image (added images share the tables of their source).
/// Damaged structures stay.
pub(crate) fn kept(bundle: &Bundle<'_>, additions: &[Addition<'_>]) -> Vec<Vec<u64>> {
    let is_source: HashSet<usize> = additions.iter().map(|addition| addition.source).collect();
    let mut replaced: HashMap<Role<'_>, HashSet<[u64; 4]>> = HashMap::new();
    // Images with tables of their own go to this list, whatever list their source is in.
    let own = standalone::list(bundle).ok();
    for addition in additions {
        if let Some((image, origin)) = source(bundle, addition).and_then(|image| Some((image, image.origin?))) {
            let list = own.filter(|_| addition.has_own_sets()).unwrap_or(origin.descriptor);
            let key = (list, addition.target, addition.compile_target, image.entries.as_slice());
            replaced.entry(key).or_default().insert(origin.tables);
        }
    }
    let mut sharing: HashMap<(usize, [u64; 4]), usize> = HashMap::new();
    for origin in bundle.images.iter().filter_map(|image| image.origin) {
        let count = sharing.entry((origin.descriptor, origin.tables)).or_default();
        *count = count.saturating_add(1);
    }
    let mut gone: HashSet<u64> = HashSet::new();
    for (image, origin) in bundle.images.iter().filter_map(|image| Some((image, image.origin?))) {
        let role = (origin.descriptor, image.target, image.compile_target(), image.entries.as_slice());
        // An image that shares its source's tables has the source's compile target.
        let without = (role.0, role.1, None, role.3);
        let Some(sources) = replaced.get(&role).or_else(|| replaced.get(&without)) else { continue };
        let of_another = sharing.get(&(origin.descriptor, origin.tables)).is_some_and(|count| *count > 1);
        if !is_source.contains(&image.index) && (sources.contains(&origin.tables) || !of_another) {
            gone.insert(origin.address);
        }
    }
    bundle
        .descriptors
        .iter()
        .map(|descriptor| {
            (0..u64::from(descriptor.count))
                .map(|nth| descriptor.images.saturating_add(nth.saturating_mul(descriptor.layout.stride())))
                .filter(|address| !gone.contains(address))
                .collect()
        })
        .collect()
}

/// Returns the addresses of the sizes in `.tgtimg` of payloads that no kept structure has any more. A size of 0 removes
/// the payload from that list, which readers check for missing images.
pub(crate) fn unlisted(host: &Host<'_>, bundle: &Bundle<'_>, kept: &[Vec<u64>]) -> Vec<u64> {
    let kept: HashSet<u64> = kept.iter().flatten().copied().collect();
    let origins = || bundle.images.iter().filter_map(|image| image.origin);
    let (stay, go): (Vec<_>, Vec<_>) = origins().partition(|origin| kept.contains(&origin.address));
    let stay: HashSet<u64> = stay.iter().map(|origin| origin.payload).collect();
    let go: HashSet<u64> = go.iter().map(|origin| origin.payload).filter(|payload| !stay.contains(payload)).collect();
    if go.is_empty() {
        return Vec::new();
    }
    let listed = listed_in_tgtimg(host).into_iter().filter(|listed| go.contains(&listed.payload));
    listed.map(|listed| listed.address.saturating_add(8)).collect()
}

/// Returns the addresses of the structures of images that do not stay, and of their copies that earlier runs left.
pub(crate) fn copies(host: &Host<'_>, bundle: &Bundle<'_>, stays: impl Fn(u64) -> bool) -> Vec<u64> {
    let structures = bundle.images.iter().filter_map(|image| {
        let origin = image.origin?;
        Some((origin.address, bundle.descriptors.get(origin.descriptor)?.layout))
    });
    let (stay, go): (Vec<_>, Vec<_>) = structures.partition(|(address, _)| stays(*address));
    stray::copies(host, &go, &stay)
}

/// Returns the existing structure at an address, relocated.
///
/// # Errors
/// `Input` where it is not in the file.
pub(crate) fn existing(host: &Host<'_>, descriptor: &Descriptor, address: u64) -> Result<Structure> {
    let bytes = host.addresses.slice(address, descriptor.layout.stride());
    let bytes = bytes.ok_or_else(|| {
        Error::input(format!("a list of images passes the end of its segment at address {address:#x}"))
            .with_remedy("use --emit shared: a library beside the file that registers the native images when loaded")
    })?;
    Ok(Structure { bytes: bytes.to_vec() })
}

/// Returns the structure of an added image, made from that of its source.
///
/// # Errors
/// `Input` where the source's structure is not in this host.
pub(crate) fn added(
    host: &Host<'_>,
    descriptor: &Descriptor,
    source: &Image<'_>,
    format: u8,
    target: u64,
    payload: std::ops::Range<u64>,
) -> Result<Structure> {
    let address = source.origin.map(|origin| origin.address);
    let address = address.ok_or_else(|| Error::input(format!("image {} is in no list of this file", source.index)))?;
    let mut structure = existing(host, descriptor, address)?;
    let at = usize::try_from(descriptor.layout.payload()).unwrap_or(usize::MAX);
    let mut done = bytes::put(&mut structure.bytes, 3, &[format]);
    done &= bytes::put_u64(&mut structure.bytes, 8, target);
    done &= bytes::put_u64(&mut structure.bytes, at, payload.start);
    done &= bytes::put_u64(&mut structure.bytes, at.saturating_add(8), payload.end);
    if descriptor.layout == ImageLayout::WithManifest {
        // The manifest is that of the source's payload; no compiler has written one for years.
        done &= bytes::put(&mut structure.bytes, 32, &[0; 16]);
    }
    if done { Ok(structure) } else { Err(Error::input(format!("image {} has a short structure", source.index))) }
}

/// Returns the image that an addition was compiled from.
pub(crate) fn source<'b, 'a>(bundle: &'b Bundle<'a>, addition: &Addition<'_>) -> Option<&'b Image<'a>> {
    // Damaged images leave gaps in the numbering, so the position is only a hint.
    match bundle.images.get(addition.source) {
        Some(image) if image.index == addition.source => Some(image),
        _ => bundle.images.iter().find(|image| image.index == addition.source),
    }
}

/// Returns the descriptor that lists the source of an addition.
pub(crate) fn source_place(bundle: &Bundle<'_>, addition: &Addition<'_>) -> Option<usize> {
    source(bundle, addition)?.origin.map(|origin| origin.descriptor)
}

/// Property that an addition sets.
struct SetProperty {
    set: &'static str,
    key: &'static str,
    value: StoredValue,
}

/// Properties that each addition sets.
pub(super) struct ChangedProperties(Vec<Vec<SetProperty>>);

impl ChangedProperties {
    /// Returns the properties of additions, in their order.
    pub(crate) fn collect(additions: &[Addition<'_>]) -> ChangedProperties {
        let one = |addition: &Addition<'_>| {
            let device = addition.compile_target.map(|name| {
                let value = StoredValue::Bytes(byte_array(name.as_bytes()));
                SetProperty { set: set::REQUIREMENTS, key: key::COMPILE_TARGET, value }
            });
            let constants = addition.constants.property().map(|(set, key, value)| SetProperty { set, key, value });
            device.into_iter().chain(constants).collect()
        };
        ChangedProperties(additions.iter().map(one).collect())
    }
}

/// Returns the images of additions.
///
/// # Errors
/// `Input` where one has no source.
pub(super) fn images<'i>(
    bundle: &'i Bundle<'_>,
    additions: &[Addition<'i>],
    values: &'i ChangedProperties,
) -> Result<Vec<OutImage<'i>>> {
    let one = |(addition, own): (&Addition<'i>, &'i Vec<SetProperty>)| {
        let source = source(bundle, addition)
            .ok_or_else(|| Error::input(format!("image {} is in no list of this file", addition.source)))?;
        let mut image = with_payload(source, addition.target, addition.format, Cow::Borrowed(addition.payload));
        if addition.linked {
            remove_set(&mut image.property_sets, set::IMPORTED);
        }
        if let Some(metadata) = addition.metadata {
            replace_set(&mut image.property_sets, metadata);
        }
        own.iter().for_each(|own| set_property(&mut image.property_sets, own));
        Ok(image)
    };
    additions.iter().zip(&values.0).map(one).collect()
}

/// Sets a property.
fn set_property<'i>(sets: &mut Vec<PropertySet<'i>>, own: &'i SetProperty) {
    let property = match &own.value {
        StoredValue::Flag => Property { name: own.key, value: Value::U32(1) },
        StoredValue::Bytes(bytes) => Property { name: own.key, value: Value::Bytes(bytes) },
    };
    match sets.iter_mut().find(|known| known.name == own.set) {
        None => sets.push(PropertySet { name: own.set, properties: vec![property] }),
        Some(known) => {
            known.properties.retain(|other| other.name != own.key);
            known.properties.push(property);
        }
    }
}
