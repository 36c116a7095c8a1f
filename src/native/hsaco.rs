//! What does an AMD GPU code object (hsaco) hold?
//!
//! An ELF file of `e_machine` 224 with a note of the owner `AMDGPU`, type 32: metadata as MessagePack, with one mapping
//! per kernel (<https://llvm.org/docs/AMDGPUUsage.html#code-object-metadata>). Version 2, before LLVM 9, has YAML in a
//! note of another type, which nothing of SYCL ever carried; of it the device is told.
//!
//! The lowest byte of `e_flags` is the processor, of `EF_AMDGPU_MACH` in LLVM's `ELF.h`; the table here is what clang 22 writes
//! for every processor that it knows, and two that it no longer does. Above are the features `xnack` and `sramecc`: two
//! bits each (0 none, 1 any, 2 off, 3 on) since code object version 4 (ABI version 2), one bit before.

use super::{Argument, Items, Kernel, Part, Read, Reader, hsaco_rules};
use crate::bundle::format::Format;
use crate::bundle::msgpack::{self, Value};
use crate::bundle::{blob, offload_bundle};
use crate::container::Place;
use crate::container::device_elf::{DeviceElf, undefined};
use crate::error::{Error, Result};

/// Version of the code object that compilers wrote up to LLVM 11.
pub(super) const VERSION_3: &str = "code object 3";

pub(super) fn read(data: &[u8], items: &Items<'_>) -> Result<Read> {
    let elf = DeviceElf::parse(data)?;
    let mut read = Read::from(Part::new(Format::Hsaco, data.len()));
    let part = &mut read.part;
    part.stated = target_id(elf.flags, elf.abi_version);
    // A generic processor stands for several, which the flags do not list.
    let processor = processor(elf.flags).filter(|name| !name.ends_with("generic"));
    part.devices = processor.map(|name| format!("amd_gpu_{name}")).into_iter().collect();
    // ABI versions count from version 2 of the code object.
    part.version = Some(format!("code object {}", elf.abi_version.saturating_add(2)));
    // The empty module of a table, as `filter` writes it.
    if elf.sections.is_empty() {
        return Ok(read);
    }
    describe(data, &elf, items, &mut read);
    Ok(read)
}

/// Reads the kernels that the metadata describes, what the code lacks, and the first thing for which runtimes refuse it.
fn describe(data: &[u8], elf: &DeviceElf<'_>, items: &Items<'_>, read: &mut Read) {
    let (segments, mut problem) = match DeviceElf::segments(data) {
        Ok(segments) => (segments, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let mut check = |checked: Result<()>| {
        if let (Err(error), None) = (checked, &problem) {
            problem = Some(error);
        }
    };
    check(hsaco_rules::form(elf, &segments));
    let notes = hsaco_rules::metadata(elf, &segments, data.len()).unwrap_or_else(|error| {
        check(Err(error));
        Vec::new()
    });
    if notes.is_empty() {
        check(Err(Error::at(40, "there is no note with AMDGPU metadata, which lists the kernels")));
    }
    let mut documents = Vec::new();
    for note in notes {
        let mut wrong = |error: Error| {
            let offset = note.offset.saturating_add(error.offset().unwrap_or(0));
            check(Err(error.without_offset().with_offset(offset).context("AMDGPU metadata")));
        };
        match msgpack::read(note.data) {
            Ok(document) => {
                hsaco_rules::version(&document)
                    .and_then(|()| hsaco_rules::kernels(&document))
                    .unwrap_or_else(&mut wrong);
                documents.push(document);
            }
            Err(error) => wrong(error),
        }
    }
    // Runtimes put the kernels of several notes together.
    let listed = || documents.iter().flat_map(|document| document.items("amdhsa.kernels"));
    let symbols = elf.symbols().unwrap_or_else(|error| {
        check(Err(error));
        Vec::new()
    });
    check(hsaco_rules::descriptors(&symbols, listed()));
    read.part.kernels = listed().filter_map(|one| kernel(one, items)).map(Into::into).collect();
    read.part.demands.undefined = undefined(&symbols, &[]);
    read.problems.extend(problem);
}

fn kernel(metadata: &Value<'_>, items: &Items<'_>) -> Option<Kernel> {
    let number = |key| metadata.number(key);
    let mut size = metadata.items(".reqd_workgroup_size").iter().map(|size| match size {
        Value::Number(size) => *size,
        _ => 1,
    });
    let size = size.next().map(|first| [first, size.next().unwrap_or(1), size.next().unwrap_or(1)]);
    let name = metadata.text(".name")?;
    items.take(name)?;
    Some(Kernel {
        name: name.to_owned(),
        registers: number(".vgpr_count"),
        scalar_registers: number(".sgpr_count"),
        accumulation_registers: number(".agpr_count"),
        simd: number(".wavefront_size"),
        spilled_registers: number(".vgpr_spill_count").zip(number(".sgpr_spill_count")).map(|(v, s)| [v, s]),
        private: number(".private_segment_fixed_size"),
        local: number(".group_segment_fixed_size"),
        reqd_work_group_size: size,
        max_work_group_size: number(".max_flat_workgroup_size"),
        argument_bytes: number(".kernarg_segment_size"),
        // Arguments that the runtime passes by itself are hidden.
        arguments: metadata
            .items(".args")
            .iter()
            .filter(|argument| !argument.text(".value_kind").is_some_and(|kind| kind.starts_with("hidden_")))
            .zip(0..)
            .map_while(|(metadata, index)| items.take("").map(|()| argument(metadata, index)))
            .collect(),
        ..Kernel::default()
    })
}

fn argument(metadata: &Value<'_>, index: u32) -> Argument {
    let kind = metadata.text(".value_kind").unwrap_or_default();
    let access = metadata.text(".access").or_else(|| metadata.text(".actual_access"));
    Argument {
        index,
        name: metadata.text(".name").map(str::to_owned),
        type_name: metadata.text(".type_name").map(str::to_owned),
        kind: Some(kind.to_owned().into()),
        address_space: match (metadata.text(".address_space"), kind) {
            (Some("global"), _) => Some("global"),
            (Some("local"), _) => Some("local"),
            (Some("constant"), _) => Some("constant"),
            (Some("private"), _) | (None, "by_value") => Some("private"),
            (Some("generic"), _) => Some("generic"),
            (_, "image") => Some("image"),
            (_, "sampler") => Some("sampler"),
            _ => None,
        },
        access: match access {
            Some("read_only") => Some("read_only"),
            Some("write_only") => Some("write_only"),
            Some("read_write") => Some("read_write"),
            _ => None,
        },
        size: metadata.number(".size"),
        offset: metadata.number(".offset"),
    }
}

/// Reads the parts of a clang offload bundle that is itself the payload of an image. HIP takes its code objects so: clang
/// bundles them per architecture, with an empty part for the host, plain or compressed, and DPC++ hands that on.
pub(super) fn read_bundle<'a>(reader: &mut Reader<'a, '_>, data: &'a [u8], place: Place, depth: u32) -> Result<()> {
    reader.contained("offload-bundle");
    let mut blobs = blob::Reader::new(reader.arena, data.len());
    let parts = offload_bundle::parse(&mut blobs, data, place);
    for problem in std::mem::take(&mut blobs.problems) {
        reader.problem(problem.error);
    }
    for part in parts.into_iter().filter(|part| part.names().0 != "host" && !part.data.is_empty()) {
        if part.place.is_inflated() {
            reader.grant(part.data.len());
        }
        reader.member(part.id, part.data, Format::sniff(part.data), part.place, depth);
    }
    Ok(())
}

const PROCESSORS: [(u32, &str); 55] = [
    (0x20, "gfx600"),
    (0x21, "gfx601"),
    (0x22, "gfx700"),
    (0x23, "gfx701"),
    (0x24, "gfx702"),
    (0x25, "gfx703"),
    (0x26, "gfx704"),
    (0x28, "gfx801"),
    (0x29, "gfx802"),
    (0x2a, "gfx803"),
    (0x2b, "gfx810"),
    (0x2c, "gfx900"),
    (0x2d, "gfx902"),
    (0x2e, "gfx904"),
    (0x2f, "gfx906"),
    (0x30, "gfx908"),
    (0x31, "gfx909"),
    (0x32, "gfx90c"),
    (0x33, "gfx1010"),
    (0x34, "gfx1011"),
    (0x35, "gfx1012"),
    (0x36, "gfx1030"),
    (0x37, "gfx1031"),
    (0x38, "gfx1032"),
    (0x39, "gfx1033"),
    (0x3a, "gfx602"),
    (0x3b, "gfx705"),
    (0x3c, "gfx805"),
    (0x3d, "gfx1035"),
    (0x3e, "gfx1034"),
    (0x3f, "gfx90a"),
    (0x40, "gfx940"),
    (0x41, "gfx1100"),
    (0x42, "gfx1013"),
    (0x43, "gfx1150"),
    (0x44, "gfx1103"),
    (0x45, "gfx1036"),
    (0x46, "gfx1101"),
    (0x47, "gfx1102"),
    (0x48, "gfx1200"),
    (0x49, "gfx1250"),
    (0x4a, "gfx1151"),
    (0x4b, "gfx941"),
    (0x4c, "gfx942"),
    (0x4e, "gfx1201"),
    (0x4f, "gfx950"),
    (0x51, "gfx9-generic"),
    (0x52, "gfx10-1-generic"),
    (0x53, "gfx10-3-generic"),
    (0x54, "gfx11-generic"),
    (0x55, "gfx1152"),
    (0x58, "gfx1153"),
    (0x59, "gfx12-generic"),
    (0x5a, "gfx1251"),
    (0x5f, "gfx9-4-generic"),
];

/// The processor.
pub(crate) fn processor(flags: u32) -> Option<&'static str> {
    PROCESSORS.iter().find(|(number, _)| *number == flags & 0xff).map(|(_, name)| *name)
}

/// The processor with its features as a target id has them: `gfx90a:sramecc+:xnack-`.
pub(crate) fn target_id(flags: u32, abi_version: u8) -> String {
    let mut id = match processor(flags) {
        Some(name) => name.to_owned(),
        None => format!("processor {:#x}", flags & 0xff),
    };
    let setting = |shift: u32| match (flags >> shift & 3, abi_version) {
        (2, 2..) => "-",
        (3, 2..) => "+",
        _ => "",
    };
    let old = |bit: u32| if abi_version < 2 && flags & bit != 0 { "+" } else { "" };
    for (name, sign) in [("sramecc", [setting(10), old(0x200)].concat()), ("xnack", [setting(8), old(0x100)].concat())]
    {
        if !sign.is_empty() {
            id.push_str(&format!(":{name}{sign}"));
        }
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_as_clang_writes_them() {
        for (flags, abi, id) in [
            (0x73f, 4, "gfx90a:xnack+"),
            (0xe4c, 4, "gfx942:sramecc+:xnack-"),
            (0x53f, 2, "gfx90a"),
            (0x33f, 1, "gfx90a:sramecc+:xnack+"),
            (0x100_055f, 4, "gfx9-4-generic"),
            (0x41, 4, "gfx1100"),
            (0xfe, 4, "processor 0xfe"),
        ] {
            assert_eq!(target_id(flags, abi), id);
        }
    }
}
