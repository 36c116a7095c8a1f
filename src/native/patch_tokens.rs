//! What does an Intel GPU binary of patch tokens hold?
//!
//! The form before zebin: a header with the magic number `CTNI`, program-wide tokens, then per kernel a header, the name,
//! code, heaps, and tokens `{u32 token, u32 size, ...}`. Layouts: `patch_list.h`, `patch_shared.h` and `patch_g7.h` in
//! `IGC/AdaptorOCL/ocl_igc_shared/executable_format` of intel/intel-graphics-compiler.

use super::{Argument, Items, Kernel, Part, Read, intel_device};
use crate::bundle::format::Format;
use crate::bytes;
use crate::error::{Error, Result};
use std::collections::BTreeMap;

/// The first bytes.
pub(super) const MAGIC: [u8; 4] = *b"CTNI";
const PROGRAM_HEADER: usize = 28;
const KERNEL_HEADER: usize = 40;

/// Tokens that say something of a kernel's resources or arguments.
mod token {
    pub(crate) const GLOBAL_OBJECT: u32 = 11;
    pub(crate) const IMAGE_OBJECT: u32 = 12;
    pub(crate) const LOCAL_SURFACE: u32 = 15;
    pub(crate) const SAMPLER: u32 = 16;
    pub(crate) const DATA_PARAMETER: u32 = 17;
    pub(crate) const MEDIA_VFE_STATE: u32 = 18;
    pub(crate) const EXECUTION_ENVIRONMENT: u32 = 23;
    pub(crate) const ARGUMENT_INFO: u32 = 26;
    pub(crate) const ATTRIBUTES: u32 = 27;
    pub(crate) const STATELESS_GLOBAL: u32 = 30;
    pub(crate) const STATELESS_CONSTANT: u32 = 31;
    pub(crate) const STATELESS_PRIVATE: u32 = 38;
    pub(crate) const MEDIA_VFE_STATE_SLOT1: u32 = 55;
}

pub(super) fn read(data: &[u8], items: &Items<'_>) -> Result<Read> {
    if !data.starts_with(&MAGIC) {
        return Err(Error::at(0, "a binary of patch tokens that does not begin with CTNI"));
    }
    let word =
        |at| bytes::u32_at(data, at).ok_or_else(|| Error::at(at as u64, "the header of the patch tokens is cut short"));
    let (version, core, pointer) = (word(4)?, word(8)?, word(12)?);
    let (count, stepping, patches) = (word(16)?, word(20)?, word(24)?);
    let mut part = Part::new(Format::PatchTokens, data.len());
    part.version = Some(version.to_string());
    part.devices = intel_device::of_core(core);
    part.stated = format!("{}, stepping {stepping}, {} bits", intel_device::core(core), pointer.saturating_mul(8));
    let mut read = Read::from(part);
    let mut at = (PROGRAM_HEADER as u64).saturating_add(u64::from(patches));
    for index in 0..count {
        match usize::try_from(at).ok().and_then(|from| data.get(from..)).and_then(|data| kernel(data, items)) {
            Some((kernel, len)) => {
                read.part.kernels.push(kernel.into());
                at = at.saturating_add(len as u64);
            }
            None => {
                // The start of the next kernel is not known then.
                let what = format!("kernel {index} of {count} passes the end, or its tokens are damaged");
                read.problems.push(Error::at(at.min(data.len() as u64), what));
                break;
            }
        }
    }
    Ok(read)
}

/// The kernel that the data begins with, and its length.
fn kernel(data: &[u8], items: &Items<'_>) -> Option<(Kernel, usize)> {
    let size = |at| usize::try_from(bytes::u32_at(data, at)?).ok();
    let (name, tokens) = (size(12)?, size(16)?);
    let heaps = [20, 24, 28, 32].into_iter().try_fold(0usize, |sum, at| sum.checked_add(size(at)?))?;
    let text = bytes::slice_at(data, KERNEL_HEADER, name)?;
    let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
    let start = KERNEL_HEADER.checked_add(name)?.checked_add(heaps)?;
    let list = bytes::slice_at(data, start, tokens)?;
    let name = std::str::from_utf8(text).ok()?;
    items.take(name)?;
    let mut kernel =
        Kernel { name: name.to_owned(), scratch: Some(0), private: Some(0), local: Some(0), ..Kernel::default() };
    let mut arguments = BTreeMap::new();
    let mut private_per_item = None;
    let mut rest = list;
    while rest.len() >= 8 {
        let len = usize::try_from(bytes::u32_at(rest, 4)?).ok().filter(|&len| len >= 8)?;
        let token = rest.get(..len)?;
        if bytes::u32_at(rest, 0) == Some(token::STATELESS_PRIVATE) && bytes::u32_at(token, 24) == Some(1) {
            private_per_item = bytes::u32_at(token, 20).map(u64::from);
        }
        take(&mut kernel, &mut arguments, items, bytes::u32_at(rest, 0)?, token);
        rest = rest.get(len..)?;
    }
    kernel.arguments = arguments.into_values().collect::<Vec<_>>().into();
    // The token of private memory may come before the one that tells how many work-items a thread has.
    if let Some(size) = private_per_item {
        kernel.private = Some(size.saturating_mul(kernel.simd.unwrap_or(1)));
    }
    Some((kernel, start.checked_add(tokens)?))
}

fn take(kernel: &mut Kernel, arguments: &mut BTreeMap<u32, Argument>, items: &Items<'_>, token: u32, data: &[u8]) {
    // Words after the token's own two.
    let word = |index: usize| bytes::u32_at(data, index.saturating_mul(4).saturating_add(8));
    let number = |index| word(index).map(u64::from);
    let mut argument = |kind: &str, space: Option<&'static str>, offset: Option<u64>, size: Option<u64>| {
        let Some(argument) = word(0).and_then(|index| items.argument(arguments, index)) else { return };
        argument.kind.get_or_insert_with(|| kind.to_owned().into());
        argument.address_space = argument.address_space.or(space);
        argument.offset = argument.offset.or(offset);
        argument.size = argument.size.or(size);
    };
    match token {
        token::STATELESS_GLOBAL => argument("arg_bypointer", Some("global"), number(2), number(3)),
        token::STATELESS_CONSTANT => argument("arg_bypointer", Some("constant"), number(2), number(3)),
        token::GLOBAL_OBJECT => argument("arg_bypointer", Some("global"), None, None),
        token::IMAGE_OBJECT => argument("image", Some("image"), None, None),
        token::SAMPLER => argument("sampler", Some("sampler"), None, None),
        token::DATA_PARAMETER => {
            let (kind, index) = (word(0), word(1));
            let Some(index) = index.filter(|_| matches!(kind, Some(1 | 8))) else { return };
            let Some(argument) = items.argument(arguments, index) else { return };
            let size = number(3);
            if kind == Some(8) {
                argument.kind = Some("arg_bypointer".into());
                argument.address_space = Some("local");
                (argument.offset, argument.size) = (number(2), size);
            } else if argument.kind.as_deref().is_none_or(|kind| kind == "arg_byvalue") {
                // A value may come in pieces.
                argument.kind = Some("arg_byvalue".into());
                argument.address_space = Some("private");
                argument.offset = argument.offset.into_iter().chain(number(2)).min();
                argument.size = Some(argument.size.unwrap_or(0).saturating_add(size.unwrap_or(0)));
            }
        }
        token::LOCAL_SURFACE => kernel.local = number(1),
        token::MEDIA_VFE_STATE | token::MEDIA_VFE_STATE_SLOT1 => {
            kernel.scratch = Some(kernel.scratch.unwrap_or(0).saturating_add(number(1).unwrap_or(0)));
        }
        // Per hardware thread, unless the last word says that it is per work-item.
        token::STATELESS_PRIVATE => kernel.private = number(3),
        token::EXECUTION_ENVIRONMENT => {
            let size = [number(0), number(1), number(2)].map(Option::unwrap_or_default);
            kernel.reqd_work_group_size = Some(size).filter(|size| size.iter().all(|&size| size > 0));
            kernel.simd = number(3);
            kernel.barriers = number(5);
            kernel.registers = number(20).filter(|&registers| registers > 0);
        }
        token::ATTRIBUTES => {
            let text = data.get(12..).unwrap_or_default();
            let text = text.split(|&byte| byte == 0).next().and_then(|text| std::str::from_utf8(text).ok());
            let size = text.and_then(|text| text.split_once("intel_reqd_sub_group_size(")?.1.split_once(')'));
            kernel.reqd_sub_group_size = size.and_then(|(size, _)| size.trim().parse().ok());
        }
        token::ARGUMENT_INFO => information(arguments, items, data),
        _ => {}
    }
}

/// Reads what `-cl-kernel-arg-info` keeps of an argument: five strings, whose sizes stand in front.
fn information(arguments: &mut BTreeMap<u32, Argument>, items: &Items<'_>, data: &[u8]) {
    let word = |index: usize| bytes::u32_at(data, index.saturating_mul(4).saturating_add(8));
    let Some(index) = word(0) else { return };
    let mut at = 32usize;
    let mut next = |field: usize| {
        let len = usize::try_from(word(field)?).ok()?;
        let text = bytes::slice_at(data, at, len)?;
        at = at.checked_add(len)?;
        std::str::from_utf8(text.split(|&byte| byte == 0).next()?).ok()
    };
    let (space, access, name, type_name) = (next(1), next(2), next(3), next(4));
    let Some(argument) = items.argument(arguments, index) else { return };
    argument.name = name.filter(|name| !name.is_empty()).map(str::to_owned);
    argument.type_name = type_name.map(|name| name.split_once(';').map_or(name, |(name, _)| name).to_owned());
    argument.access = match access {
        Some("__read_only" | "read_only") => Some("read_only"),
        Some("__write_only" | "write_only") => Some("write_only"),
        Some("__read_write" | "read_write") => Some("read_write"),
        _ => argument.access,
    };
    argument.address_space = argument.address_space.or(match space {
        Some("__global") => Some("global"),
        Some("__local") => Some("local"),
        Some("__constant") => Some("constant"),
        Some("__private") => Some("private"),
        _ => None,
    });
}
