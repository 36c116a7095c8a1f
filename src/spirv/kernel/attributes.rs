//! Which attributes does a kernel have in its source?
//!
//! They are the execution modes of its entry point. Sizes are in OpenCL's order, x first, which is the reverse of a
//! SYCL range.

use crate::spirv::index::{Index, Mode};
use crate::spirv::types;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// Execution modes of a kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attributes {
    /// `reqd_work_group_size`.
    pub work_group_size: Option<[u32; 3]>,
    /// `work_group_size_hint`.
    pub work_group_size_hint: Option<[u32; 3]>,
    /// `vec_type_hint`, as a type of OpenCL C.
    pub vec_type_hint: Option<String>,
    /// `intel_reqd_sub_group_size`.
    pub sub_group_size: Option<SubGroup>,
    /// Required number of sub-groups of a work-group.
    pub sub_groups_per_work_group: Option<u32>,
    /// `max_work_group_size` of Intel's compilers.
    pub max_work_group_size: Option<[u32; 3]>,
    /// `max_global_work_dim`.
    pub max_work_dim: Option<u32>,
    /// `num_simd_work_items`.
    pub simd_work_items: Option<u32>,
    /// Whether the kernel is launched without a global offset.
    pub no_global_offset: bool,
    /// Bytes of local memory that an explicit SIMD kernel sets aside.
    pub slm_size: Option<u32>,
    /// Number of named barriers.
    pub named_barriers: Option<u32>,
    /// Maximum number of registers of a thread.
    pub maximum_registers: Option<u32>,
    /// Whether multiplications and additions may not be fused (`FP_CONTRACT OFF`).
    pub contraction_off: bool,
    /// Numbers of all other modes.
    pub other: Vec<u32>,
}

/// Required sub-group size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SubGroup {
    /// Number of work-items.
    Size(u32),
    /// Primary sub-group size of the device (a named size of SYCL).
    #[serde(serialize_with = "primary")]
    #[schemars(with = "String")]
    Primary,
}

impl SubGroup {
    /// Number of work-items; none for the primary size, which the device knows.
    pub(crate) fn size(self) -> Option<u32> {
        match self {
            SubGroup::Size(size) => Some(size),
            SubGroup::Primary => None,
        }
    }
}

/// Serialises the word for the primary size.
fn primary<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("primary")
}

impl Attributes {
    pub(crate) fn read(index: &Index<'_>, function: u32) -> Attributes {
        let mut found = Attributes::default();
        for mode in index.modes_of(function) {
            let one = || operand(index, mode, 0);
            let three = || Some([operand(index, mode, 0)?, operand(index, mode, 1)?, operand(index, mode, 2)?]);
            match mode.mode {
                17 | 38 => found.work_group_size = three(),
                18 | 39 => found.work_group_size_hint = three(),
                30 => found.vec_type_hint = one().map(vector),
                // DPC++ writes the primary size as 0xffffffff.
                35 => {
                    found.sub_group_size = one().map(|size| match size {
                        u32::MAX => SubGroup::Primary,
                        size => SubGroup::Size(size),
                    })
                }
                6446 => found.sub_group_size = Some(SubGroup::Primary),
                36 | 37 => found.sub_groups_per_work_group = one(),
                31 => found.contraction_off = true,
                5618 => found.slm_size = one(),
                5893 => found.max_work_group_size = three(),
                5894 => found.max_work_dim = one(),
                5895 => found.no_global_offset = true,
                5896 => found.simd_work_items = one(),
                6417 => found.named_barriers = one(),
                6461 | 6462 => found.maximum_registers = one(),
                number => found.other.push(number),
            }
        }
        found
    }

    /// Returns the attributes as OpenCL C writes them and `CL_KERNEL_ATTRIBUTES` returns them, separated by spaces.
    pub fn text(&self) -> String {
        let three = |name: &str, size: Option<[u32; 3]>| size.map(|[x, y, z]| format!("{name}({x},{y},{z})"));
        let one = |name: &str, number: Option<u32>| number.map(|number| format!("{name}({number})"));
        let sub_group = self.sub_group_size.map(|size| match size {
            SubGroup::Size(size) => format!("intel_reqd_sub_group_size({size})"),
            SubGroup::Primary => "intel_reqd_sub_group_size(primary)".to_owned(),
        });
        let all = [
            three("reqd_work_group_size", self.work_group_size),
            three("work_group_size_hint", self.work_group_size_hint),
            self.vec_type_hint.as_ref().map(|name| format!("vec_type_hint({name})")),
            sub_group,
            three("max_work_group_size", self.max_work_group_size),
            one("max_global_work_dim", self.max_work_dim),
            one("num_simd_work_items", self.simd_work_items),
            self.no_global_offset.then(|| "uses_global_work_offset(0)".to_owned()),
        ];
        all.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

fn operand(index: &Index<'_>, mode: &Mode, nth: usize) -> Option<u32> {
    let instruction = index.instruction(mode.at)?;
    let at = nth.checked_add(2).filter(|at| *at < instruction.len())?;
    let word = instruction.word(at);
    if mode.ids { types::constant_bits(index, word).and_then(|bits| u32::try_from(bits).ok()) } else { Some(word) }
}

/// Returns the type of a `VecTypeHint` operand: the component's type in the low half, the number of components in the
/// high one.
fn vector(word: u32) -> String {
    let component = match word & 0xffff {
        0 => "char",
        1 => "short",
        2 => "int",
        3 => "long",
        4 => "half",
        5 => "float",
        6 => "double",
        _ => "unknown",
    };
    match word >> 16 {
        0 | 1 => component.to_owned(),
        count => format!("{component}{count}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_read_as_in_opencl() {
        let attributes = Attributes {
            work_group_size: Some([8, 4, 2]),
            vec_type_hint: Some(vector(4 << 16 | 5)),
            sub_group_size: Some(SubGroup::Size(16)),
            ..Attributes::default()
        };
        assert_eq!(
            attributes.text(),
            "reqd_work_group_size(8,4,2) vec_type_hint(float4) intel_reqd_sub_group_size(16)"
        );
        assert_eq!(Attributes::default().text(), "");
    }
}
