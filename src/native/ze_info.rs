//! Which kernels does the `.ze_info` section of a zebin describe?
//!
//! The keys are those of `shared/source/device_binary_format/zebin/zeinfo.h` in intel/compute-runtime. One argument of
//! the source may be passed in several pieces (a pointer, its offset, a struct's words): they make one argument here,
//! and what the driver passes by itself makes none.

use super::yaml::{self, Node};
use super::{Argument, Items, Kernel, ze_rules};
use crate::error::Result;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Contents of the section.
pub(crate) struct ZeInfo {
    /// The version of the section's form.
    pub(crate) version: Option<String>,
    /// The kernels.
    pub(crate) kernels: Vec<Arc<Kernel>>,
    /// Whether one of them reaches buffers or images by handles.
    pub(crate) bindless: bool,
    /// Whether one of them has samplers of its own.
    pub(crate) samplers: bool,
}

/// Text of the section, read.
pub(super) struct Document<'a> {
    text: &'a str,
    root: Node<'a>,
}

impl<'a> Document<'a> {
    /// Reads the text.
    ///
    /// # Errors
    /// `Input`, with the offset in the text.
    pub(super) fn read(text: &'a str) -> Result<Document<'a>> {
        Ok(Document { text, root: yaml::read(text)? })
    }

    /// Checks that drivers take what the text says.
    ///
    /// # Errors
    /// `Input`, with the offset in the text.
    pub(super) fn check(&self) -> Result<()> {
        ze_rules::check(self.text, &self.root)
    }

    /// The names of what needs code of its own: kernels, and with some compilers the functions that they call.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let kernels = self.root.get("kernels").map(Node::items).unwrap_or_default();
        kernels.iter().filter_map(|node| node.text_of("name"))
    }

    /// Whether a kernel is passed an argument of some type.
    pub(super) fn passes(&self, of: &str) -> bool {
        let kernels = self.root.get("kernels").map(Node::items).unwrap_or_default().iter();
        let pieces = kernels.filter_map(|kernel| kernel.get("payload_arguments")).flat_map(Node::items);
        pieces.filter_map(|piece| piece.text_of("arg_type")).any(|own| own == of)
    }

    /// Returns what the text says of kernels.
    pub(super) fn contents(&self, items: &Items<'_>) -> ZeInfo {
        contents(&self.root, items)
    }
}

fn contents(root: &Node<'_>, items: &Items<'_>) -> ZeInfo {
    let list = |key| root.get(key).map(Node::items).unwrap_or_default();
    // Each counts for one kernel: thousands of one name would else have the arguments of one note.
    let mut misc: HashMap<&str, &Node<'_>> =
        list("kernels_misc_info").iter().filter_map(|node| Some((node.text_of("name")?, node))).collect();
    let kernels = list("kernels").iter().filter_map(|node| {
        let name = node.text_of("name")?;
        // Functions that kernels may call stand here too, under the name of the symbol table's own section.
        if name == ze_rules::FUNCTIONS {
            return None;
        }
        items.take(name)?;
        Some(Arc::new(kernel(name, node, misc.remove(name), items)))
    });
    let bindless = list("kernels").iter().any(is_bindless);
    let has_samplers = |kernel: &Node<'_>| kernel.get("inline_samplers").is_some_and(|list| !list.items().is_empty());
    let samplers = list("kernels").iter().any(has_samplers);
    ZeInfo { version: root.text_of("version").map(str::to_owned), kernels: kernels.collect(), bindless, samplers }
}

/// Whether a kernel reaches buffers or images by handles, as `populateKernelPayloadArgument` of compute-runtime's
/// `zeinfo_decoder.cpp` has it; samplers do not count.
fn is_bindless(node: &Node<'_>) -> bool {
    let pieces = node.get("payload_arguments").map(Node::items).unwrap_or_default();
    pieces.iter().any(|piece| {
        piece.text_of("addrmode") == Some("bindless")
            && piece.text_of("addrspace").is_none_or(|space| space != "sampler")
    })
}

fn kernel(name: &str, node: &Node<'_>, misc: Option<&Node<'_>>, items: &Items<'_>) -> Kernel {
    let environment = node.get("execution_env").unwrap_or(&Node::Null);
    let attributes = node.get("user_attributes").unwrap_or(&Node::Null);
    let number = |key| environment.number_of(key);
    let buffers = node.get("per_thread_memory_buffers").map(Node::items).unwrap_or_default();
    let buffer = |usage: &str| {
        let sizes = buffers.iter().filter(|buffer| buffer.text_of("usage") == Some(usage));
        let items = |buffer: &Node<'_>| match buffer.text_of("is_simt_thread") {
            Some("true") => number("simd_size").unwrap_or(1),
            _ => 1,
        };
        let sizes = sizes.filter_map(|buffer| Some(buffer.number_of("size")?.saturating_mul(items(buffer))));
        let sizes: Vec<u64> = sizes.collect();
        (!sizes.is_empty()).then(|| sizes.iter().fold(0u64, |sum, size| sum.saturating_add(*size)))
    };
    // IGC leaves out what is zero. Newer ones tell the sizes of spills and private memory in the environment; of older ones
    // only the scratch space is known, where both may be.
    let scratch = buffer("single_space").or_else(|| buffer("spill_fill_space"));
    let size = environment.get("required_work_group_size").or_else(|| attributes.get("reqd_work_group_size"));
    Kernel {
        name: name.to_owned(),
        registers: number("grf_count"),
        simd: number("simd_size"),
        spill: number("spill_size").or_else(|| (scratch.is_none() || number("private_size").is_some()).then_some(0)),
        scratch,
        private: number("private_size")
            .or_else(|| buffer("private_space"))
            .or_else(|| (scratch.is_none() || number("spill_size").is_some()).then_some(0)),
        local: Some(number("slm_size").unwrap_or(0)),
        barriers: Some(number("barrier_count").unwrap_or(0)),
        reqd_work_group_size: size.and_then(three),
        reqd_sub_group_size: number("required_sub_group_size")
            .or_else(|| attributes.number_of("intel_reqd_sub_group_size")),
        arguments: arguments(node, misc, items).into(),
        ..Kernel::default()
    }
}

/// Three sizes; those that are left out are 1.
fn three(node: &Node<'_>) -> Option<[u64; 3]> {
    let mut sizes = node.items().iter().map(|item| item.number());
    let mut next = || sizes.next().unwrap_or(Some(1));
    Some([next()?, next()?, next()?])
}

fn arguments(node: &Node<'_>, misc: Option<&Node<'_>>, items: &Items<'_>) -> Vec<Argument> {
    let mut arguments: BTreeMap<u32, Argument> = BTreeMap::new();
    for piece in node.get("payload_arguments").map(Node::items).unwrap_or_default() {
        let Some(index) = piece.number_of("arg_index").and_then(|index| u32::try_from(index).ok()) else { continue };
        let Some(argument) = items.argument(&mut arguments, index) else { break };
        let kind = piece.text_of("arg_type").unwrap_or_default();
        let (offset, size) = (piece.number_of("offset"), piece.number_of("size"));
        match kind {
            "arg_bypointer" => {
                argument.kind = Some("arg_bypointer".into());
                argument.address_space = piece.text_of("addrspace").and_then(space);
                argument.access = piece.text_of("access_type").and_then(access);
                // A stateful or bindless pointer is passed as a surface; its address, where there is one, in another piece.
                if argument.size.is_none() && size.is_some_and(|size| size > 0) {
                    (argument.offset, argument.size) = (offset, size);
                }
            }
            "arg_byvalue" => {
                argument.kind = Some("arg_byvalue".into());
                argument.address_space = Some("private");
                argument.offset = Some(argument.offset.unwrap_or(u64::MAX).min(offset.unwrap_or(u64::MAX)));
                argument.size = Some(argument.size.unwrap_or(0).saturating_add(size.unwrap_or(0)));
            }
            "buffer_address" => (argument.offset, argument.size) = (offset, size),
            _ => {}
        }
    }
    for info in misc.and_then(|misc| misc.get("args_info")).map(Node::items).unwrap_or_default() {
        let Some(index) = info.number_of("index").and_then(|index| u32::try_from(index).ok()) else { continue };
        let Some(argument) = items.argument(&mut arguments, index) else { break };
        argument.name = info.text_of("name").map(str::to_owned);
        // `float*;8`: the type, and its size.
        argument.type_name =
            info.text_of("type_name").map(|name| name.split_once(';').map_or(name, |(name, _)| name).to_owned());
        argument.access = info.text_of("access_qualifier").and_then(access).or(argument.access);
    }
    arguments.into_values().collect()
}

/// The names of address spaces, without the OpenCL C underscores.
fn space(name: &str) -> Option<&'static str> {
    match name.trim_start_matches('_') {
        "global" => Some("global"),
        "local" => Some("local"),
        "constant" => Some("constant"),
        "private" => Some("private"),
        "image" => Some("image"),
        "sampler" => Some("sampler"),
        _ => None,
    }
}

fn access(name: &str) -> Option<&'static str> {
    match name.trim_start_matches('_') {
        "readonly" | "read_only" => Some("read_only"),
        "writeonly" | "write_only" => Some("write_only"),
        "readwrite" | "read_write" => Some("read_write"),
        _ => None,
    }
}
