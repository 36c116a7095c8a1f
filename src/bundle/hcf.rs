//! Which images are in AdaptiveCpp's HCF containers, in a file or in a compiled program?
//!
//! HCF (`doc/hcf.md` and `hcf_container.hpp` in AdaptiveCpp) is text of `key=value` lines and nodes `{.NAME` to `}.NAME`,
//! up to the words `__acpp_hcf_binary_appendix` (`__hipsycl_hcf_binary_appendix` before AdaptiveCpp 24.06), followed by the
//! bytes that nodes `__binary` name by start and size. Node `images` has one node per image, node `kernels` one per kernel,
//! with the images that provide it; where the compiler makes code for GPUs of CUDA and HIP ahead of time (`bin/acpp`), each
//! image is a node of its own. A program has one container per source file in its data, and only code points to it, so the
//! data is searched.
//!
//! Only AdaptiveCpp's runtime reads these. It compiles the image of the name `llvm-ir.global` for whatever device it has
//! (`default_llvm_image_selector`), takes the first of code made ahead of time, and no other; of the keys `format` and
//! `variant` it asks that they are there (`hcf_image_info`), and not what they say. So no name is a target of DPC++'s.

use super::blob::Reader;
use super::image::Image;
use super::property::{Properties, Property, PropertySet, Value};
use super::property_sets::set;
use crate::container::Host;
use crate::container::Place;
use crate::container::address::{find, find_last, occurrences};
use crate::error::{Error, Result};
use crate::{bytes, limits};
use std::collections::HashMap;

/// Programming model of the images, as this tool calls it.
pub(crate) const MODEL: &str = "adaptivecpp";
/// Name of the image that AdaptiveCpp's runtime compiles.
const COMPILED: &str = "llvm-ir.global";
/// Prefix of the names of other images, which may be called as a target is.
const PREFIX: &str = "hcf.";
/// Separator of text and bytes, behind the product's name.
const APPENDIX: &[u8] = b"_hcf_binary_appendix";
/// Beginning of the separator.
const PRODUCT: &[u8] = b"__acpp";
/// Beginning of the separator before AdaptiveCpp 24.06, as hipSYCL.
const EARLIER_PRODUCT: &[u8] = b"__hipsycl";
/// First key of a container.
const FIRST_KEY: &[u8] = b"object-id=";
/// Node of the images, which may come before that.
const IMAGES: &[u8] = b"{.images";

/// Node of the text.
#[derive(Debug, Default)]
struct Node<'a> {
    name: &'a str,
    values: Vec<(&'a str, &'a str)>,
    nodes: Vec<Node<'a>>,
}

impl<'a> Node<'a> {
    fn node(&self, name: &str) -> Option<&Node<'a>> {
        self.nodes.iter().find(|node| node.name == name)
    }

    fn value(&self, key: &str) -> Option<&'a str> {
        self.values.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    /// Returns the names of a node's child nodes, which is how HCF writes a list.
    fn list(&self, name: &str) -> impl Iterator<Item = &'a str> {
        self.node(name).map(|node| node.nodes.as_slice()).unwrap_or_default().iter().map(|node| node.name)
    }
}

/// Parses the text. Offsets in errors count from its start.
fn parse(text: &str) -> Result<Node<'_>> {
    let mut open = vec![Node::default()];
    let left = (text.len() / limits::HCF_ITEM_BYTES).saturating_add(limits::MANY_HCF_ITEMS);
    let mut left = left.min(limits::MOST_HCF_ITEMS);
    for (at, line) in bytes::lines(text) {
        let here = at as u64;
        let content = line.trim();
        let error = |what: &str| Err(Error::at(here, format!("a line of the HCF text {what}")));
        // A node, with its end, is as large as two values.
        match left.checked_sub(usize::from(!content.is_empty())) {
            Some(rest) => left = rest,
            None => return error("is one too many for a text of its size"),
        }
        if let Some(name) = content.strip_prefix("{.") {
            if open.len() > limits::MAX_METADATA_DEPTH {
                return error("is nested too deep");
            }
            open.push(Node { name, ..Node::default() });
        } else if let Some(name) = content.strip_prefix("}.") {
            match (open.pop(), open.last_mut()) {
                (Some(node), Some(outer)) if node.name == name => outer.nodes.push(node),
                _ => return error("ends a node that is not open"),
            }
        } else if let Some((key, value)) = content.split_once('=') {
            if let Some(node) = open.last_mut() {
                node.values.push((key.trim_end(), value.trim_start()));
            }
        } else if !content.is_empty() {
            return error("is neither a value nor a node");
        }
    }
    match (open.pop(), open.is_empty()) {
        (Some(root), true) => Ok(root),
        _ => Err(Error::at(text.len() as u64, "the HCF text ends within a node")),
    }
}

/// Adds the images of the container at the start of the data.
pub(super) fn images<'a>(reader: &mut Reader<'a>, data: &'a [u8], place: Place, outer: &Image<'a>) {
    let done = read(reader, data, place, outer);
    reader.finished(done, place, "HCF container");
}

/// Returns where a separator begins whose last words are at an offset. The earlier one stands on a line of its own: later releases
/// read over it within a value.
fn separator(data: &[u8], at: usize) -> Option<usize> {
    let before = data.get(..at)?;
    if let Some(text) = before.strip_suffix(PRODUCT) {
        return Some(text.len());
    }
    let text = before.strip_suffix(EARLIER_PRODUCT)?;
    // No further back than to what is no blank: a line may have thousands of these words.
    let before = text.iter().rev().find(|byte| **byte == b'\n' || !byte.is_ascii_whitespace());
    before.is_none_or(|byte| matches!(byte, b'\n' | 0)).then_some(text.len())
}

fn read<'a>(reader: &mut Reader<'a>, data: &'a [u8], place: Place, outer: &Image<'a>) -> Result<()> {
    let found = occurrences(data, APPENDIX).find_map(|at| Some((separator(data, at)?, at)));
    let (end, at) = found.ok_or_else(|| Error::at(data.len() as u64, "it has no binary appendix"))?;
    let text = data.get(..end).unwrap_or_default();
    reader.spend(text.len())?;
    let text = bytes::utf8_text(text, "it is not UTF-8")?;
    let start = at.saturating_add(APPENDIX.len());
    let root = parse(text)?;
    let mut kernels: HashMap<&str, Vec<&'a str>> = HashMap::new();
    for kernel in root.node("kernels").map(|node| node.nodes.as_slice()).unwrap_or_default() {
        for provider in kernel.list("image-providers") {
            kernels.entry(provider).or_default().push(kernel.name);
        }
    }
    let listed = root.node("images").map(|node| node.nodes.as_slice()).unwrap_or_default();
    for image in listed.iter().chain(root.nodes.iter().filter(|node| node.node("__binary").is_some())) {
        let entries = kernels.remove(image.name).unwrap_or_default();
        let number = |key| image.node("__binary")?.value(key)?.parse::<usize>().ok();
        let bytes = number("start").zip(number("size")).and_then(|(at, size)| {
            let at = start.checked_add(at)?;
            bytes::slice_at(data, at, size).map(|bytes| (bytes, at))
        });
        let Some((bytes, at)) = bytes else {
            let what = format!("the bytes of image `{}` are not in the binary appendix", image.name);
            reader.problem(place.at(start as u64).error(what));
            continue;
        };
        let symbols = |name, list: &str| {
            let properties = image.list(list).map(|name| Property { name, value: Value::U32(1) });
            PropertySet { name, properties: properties.collect() }
        };
        let sets = [symbols(set::EXPORTED, "exported-symbols"), symbols(set::IMPORTED, "imported-symbols")];
        let sets = sets.into_iter().filter(|set| !set.properties.is_empty()).collect();
        let properties = Properties { sets };
        let target = match image.name {
            COMPILED => COMPILED,
            name => name_of(reader.arena.keep([PREFIX, name].concat().into_bytes())?),
        };
        let like = Image { target, offload_kind: MODEL, entries, properties, ..*outer };
        reader.image(bytes, place.at(at as u64), like);
    }
    // Of two images of one name the first has the kernels.
    if let Some(name) = kernels.values().flatten().min() {
        reader.problem(place.error(format!("kernel `{name}` is of an image that the HCF container does not have")));
    }
    Ok(())
}

fn name_of(kept: &[u8]) -> &str {
    std::str::from_utf8(kept).unwrap_or(PREFIX)
}

/// Adds the images of all containers in the data of a host file.
pub(super) fn embedded<'a>(host: &'a Host<'a>, reader: &mut Reader<'a>) {
    let mut last = (0, 0);
    for (segment, appendix, at) in
        host.addresses.search(APPENDIX, |segment, at| Some((segment, separator(&segment.data, at)?, at)))
    {
        // The text begins behind an earlier separator of the segment.
        let from = if last.0 == segment.address { last.1 } else { 0 };
        last = (segment.address, at.saturating_add(APPENDIX.len()));
        let data: &'a [u8] = &segment.data;
        let Some(begin) = begin(data.get(from..appendix).unwrap_or_default()) else { continue };
        let begin = from.saturating_add(begin);
        let container = data.get(begin..).unwrap_or_default();
        let place = Place::file(segment.offset.saturating_add(begin as u64));
        images(reader, container, place, &Image::bare(container, place.offset()));
    }
}

/// Returns where the container begins of which the text ends with the data. AdaptiveCpp's own library has the separator too, with
/// no text before it.
fn begin(before: &[u8]) -> Option<usize> {
    // Text has no NUL, and its first key comes first. AdaptiveCpp reads other text as well.
    let nul = find_last(before, b"\0").map_or(0, |nul| nul.saturating_add(1));
    let text = before.get(nul..).unwrap_or_default();
    if let Some(key) = find(text, FIRST_KEY) {
        let images = find(text, IMAGES).unwrap_or(key);
        return Some(nul.saturating_add(key.min(images)));
    }
    let last = text.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    if last.trim_ascii_start().starts_with(b"}.") { find_last(before, FIRST_KEY) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::Bundle;

    const TEXT: &str = "object-id=17\ngenerator=hipSYCL SSCP\n{.images\n{.llvm-ir.global\nvariant=global-module\n\
        format=llvm-ir\n{.__binary\nstart=0\nsize=4\n}.__binary\n{.exported-symbols\n{.helper\n}.helper\n\
        }.exported-symbols\n}.llvm-ir.global\n}.images\n{.kernels\n{.first\n{.image-providers\n{.llvm-ir.global\n\
        }.llvm-ir.global\n}.image-providers\n}.first\n{.second\n{.image-providers\n{.llvm-ir.global\n\
        }.llvm-ir.global\n}.image-providers\n}.second\n}.kernels\n__acpp_hcf_binary_appendixBC\u{3}\u{4}";

    #[test]
    fn images_have_their_kernels_and_symbols() {
        let host = Host::read(TEXT.as_bytes()).unwrap();
        let bundle = Bundle::read(&host).unwrap();
        let [image] = bundle.images.as_slice() else { panic!("{:?}", bundle.images) };
        assert_eq!((image.stored, image.target), (&b"BC\x03\x04"[..], "llvm-ir.global"));
        assert_eq!(image.kernels(), ["first", "second"]);
        assert_eq!(image.exports(), ["helper"]);
        assert!(bundle.problems.is_empty());
    }

    /// hipSYCL 0.9.3 to AdaptiveCpp 24.02 wrote another separator.
    #[test]
    fn containers_of_earlier_releases_are_read() {
        let earlier = TEXT.replace("__acpp_", "__hipsycl_");
        let read = |text: &str| {
            let host = Host::read(text.as_bytes()).unwrap();
            let bundle = Bundle::read(&host).unwrap();
            assert!(bundle.problems.is_empty(), "{:?}", bundle.problems);
            bundle.images.iter().map(|image| (image.stored.to_vec(), image.kernels().len())).collect::<Vec<_>>()
        };
        assert_eq!(read(&earlier), [(b"BC\x03\x04".to_vec(), 2)]);
        // Within a value it separates nothing.
        let value = TEXT.replacen("generator=", "generator=__hipsycl_hcf_binary_appendix", 1);
        assert_eq!(read(&value), read(TEXT));
    }

    #[test]
    fn damage_has_a_place() {
        for (from, to, what) in [
            ("}.first", "}.fist", "not open"),
            ("size=4", "size=5", "not in the binary appendix"),
            ("__acpp_hcf", "__acpp_hcg", "no binary appendix"),
            ("variant=", "variant", "neither"),
        ] {
            let text = TEXT.replacen(from, to, 1);
            let host = Host::read(text.as_bytes()).unwrap();
            let error = Bundle::read(&host).unwrap_err();
            assert!(error.to_string().contains(what) && error.offset().is_some(), "{error}");
        }
    }
}
