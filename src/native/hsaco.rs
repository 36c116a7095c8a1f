//! What does an AMD GPU code object (hsaco) hold?
//!
//! An ELF file of `e_machine` 224 with a note of the owner `AMDGPU`, type 32: metadata as MessagePack, with one mapping
//! per kernel (<https://llvm.org/docs/AMDGPUUsage.html#code-object-metadata>). Version 2, before LLVM 9, has YAML in a
//! note of another type, which nothing of SYCL ever carried; of it the device is told.

use super::msgpack::{self, Value};
use super::{Argument, Kernel, Part, Read, Reader, amd_arch, bounded};
use crate::bundle::format::Format;
use crate::bundle::{blob, offload_bundle};
use crate::container::device_elf::DeviceElf;
use crate::container::place::Place;
use crate::error::{Error, Result};

const NT_AMDGPU_METADATA: u32 = 32;
const SHT_NOTE: u32 = 7;

pub(super) fn read(data: &[u8]) -> Result<Read> {
    let elf = DeviceElf::parse(data)?;
    let mut read = Read::from(Part::new(Format::Hsaco, data.len()));
    let part = &mut read.part;
    part.stated = amd_arch::target_id(elf.flags, elf.abi_version);
    // A generic processor stands for several, which the flags do not list.
    let processor = amd_arch::processor(elf.flags).filter(|name| !name.ends_with("generic"));
    part.devices = processor.map(|name| format!("amd_gpu_{name}")).into_iter().collect();
    // ABI versions count from version 2 of the code object.
    part.version = Some(format!("code object {}", elf.abi_version.saturating_add(2)));
    // The empty module of a table, as `filter` writes it.
    if elf.sections.is_empty() {
        return Ok(read);
    }
    let sections = elf.sections.iter().filter(|section| section.kind == SHT_NOTE);
    let mut notes = sections.flat_map(DeviceElf::notes);
    let Some(note) = notes.find(|note| note.owner == b"AMDGPU" && note.kind == NT_AMDGPU_METADATA) else {
        read.problems.push(Error::at(40, "there is no note with AMDGPU metadata, which lists the kernels"));
        return Ok(read);
    };
    match msgpack::read(note.data) {
        Ok(metadata) => {
            let kernels = metadata.items("amdhsa.kernels");
            bounded(kernels.len(), "kernels")?;
            part.kernels = kernels.iter().filter_map(kernel).map(Into::into).collect();
        }
        Err(error) => {
            let offset = note.offset.saturating_add(error.offset().unwrap_or(0));
            read.problems.push(error.without_offset().with_offset(offset).context("AMDGPU metadata"));
        }
    }
    Ok(read)
}

fn kernel(metadata: &Value<'_>) -> Option<Kernel> {
    let number = |key| metadata.number(key);
    let mut size = metadata.items(".reqd_workgroup_size").iter().map(|size| match size {
        Value::Number(size) => *size,
        _ => 1,
    });
    let size = size.next().map(|first| [first, size.next().unwrap_or(1), size.next().unwrap_or(1)]);
    Some(Kernel {
        name: metadata.text(".name")?.to_owned(),
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
            .map(|(metadata, index)| argument(metadata, index))
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
pub(super) fn read_bundle<'a>(reader: &mut Reader<'a>, data: &'a [u8], place: Place, depth: u32) -> Result<()> {
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
        reader.part(part.id, part.data, Format::sniff(part.data), part.place, depth);
    }
    Ok(())
}
