//! What does SYCL make of a driver's answers?
//!
//! The queries of `sycl::info::kernel` and `sycl::info::kernel_device_specific`, each from the OpenCL query that the
//! runtime's OpenCL adapter uses (unified-runtime, `source/adapters/opencl/kernel.cpp`), with the adapter's fallbacks
//! for a device without sub-groups, and with the error that SYCL 2020 demands where a query may not be asked.

use super::{KernelAnswers, cl};
use crate::build::inventory::Device;
use crate::bundle::requirements::Requirements;
use schemars::JsonSchema;
use serde::Serialize;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Answer")]
pub enum Value {
    /// `size_t` or `uint32_t`.
    Number(u64),
    /// `range<3>`, in the order in which the driver gives it: x, y, z.
    Range([u64; 3]),
    /// `std::string`.
    Text(String),
}

/// A `sycl::exception`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct SyclError {
    /// The name in `sycl::errc`.
    pub(crate) errc: &'static str,
    /// The reason.
    pub(crate) message: String,
}

/// The answer to one query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The descriptor's name.
    pub(crate) query: &'static str,
    /// Value that `get_info` returns, or error that it throws.
    pub(crate) value: Result<Value, SyclError>,
}

const INVALID_OPERATION: i32 = -59;

/// All answers about one kernel on one device. `built_in` says that it is a built-in kernel of that device.
pub(crate) fn answers(kernel: &KernelAnswers, device: &Device, built_in: bool) -> Vec<Answer> {
    let custom = device.kind == "custom";
    let asked = |query, number, shape: Shape| Answer { query, value: value(kernel, number, shape) };
    let denied =
        |query, message: &str| Answer { query, value: Err(SyclError { errc: "invalid", message: message.to_owned() }) };
    // An adapter reads a sub-group result as size_t and hands it on as uint32_t; a device without sub-groups answers
    // CL_INVALID_OPERATION, which becomes a value.
    let sub_group = |query, number, instead: u64| {
        let value = match kernel.raw(number) {
            Err(INVALID_OPERATION) => Ok(Value::Number(instead)),
            _ => value(kernel, number, Shape::Half),
        };
        Answer { query, value }
    };
    let largest = device.sub_group_sizes.iter().copied().max().unwrap_or(1);
    vec![
        if built_in {
            asked("num_args", cl::NUM_ARGS, Shape::Half)
        } else {
            denied(
                "num_args",
                "may only be queried of a kernel made by backend interoperability or of a built-in kernel",
            )
        },
        asked("attributes", cl::ATTRIBUTES, Shape::Text),
        if custom || built_in {
            asked("global_work_size", cl::GLOBAL_WORK_SIZE, Shape::Range)
        } else {
            denied("global_work_size", "may only be queried of a custom device or of a built-in kernel")
        },
        asked("work_group_size", cl::WORK_GROUP_SIZE, Shape::Whole),
        asked("compile_work_group_size", cl::COMPILE_WORK_GROUP_SIZE, Shape::Range),
        asked("preferred_work_group_size_multiple", cl::PREFERRED_WORK_GROUP_SIZE_MULTIPLE, Shape::Whole),
        asked("private_mem_size", cl::PRIVATE_MEM_SIZE, Shape::Whole),
        sub_group("max_num_sub_groups", cl::MAX_NUM_SUB_GROUPS, 1),
        sub_group("compile_num_sub_groups", cl::COMPILE_NUM_SUB_GROUPS, 0),
        sub_group("max_sub_group_size", cl::MAX_SUB_GROUP_SIZE, largest),
        sub_group("compile_sub_group_size", cl::COMPILE_SUB_GROUP_SIZE, 0),
    ]
}

/// Facts that OpenCL tells beyond SYCL's queries: number of arguments, local memory, and on GPUs registers and spill.
/// A query that the driver does not know is absent.
pub(crate) fn beyond(kernel: &KernelAnswers) -> Vec<(&'static str, u64)> {
    let queries = [
        ("num_args", cl::NUM_ARGS, Shape::Half),
        ("local_mem_size", cl::LOCAL_MEM_SIZE, Shape::Whole),
        ("registers", cl::REGISTERS, Shape::Half),
        ("spill_mem_size", cl::SPILL_MEM_SIZE, Shape::Whole),
    ];
    let mut found = Vec::new();
    for (name, number, shape) in queries {
        if let Ok(Value::Number(number)) = value(kernel, number, shape) {
            found.push((name, number));
        }
    }
    found
}

/// Format of an answer's bytes.
#[derive(Clone, Copy)]
enum Shape {
    /// The first 32 bits.
    Half,
    /// `size_t` or `cl_ulong`.
    Whole,
    Range,
    Text,
}

fn value(kernel: &KernelAnswers, number: u32, shape: Shape) -> Result<Value, SyclError> {
    let failed = |message| SyclError { errc: "runtime", message };
    let bytes = kernel.raw(number).map_err(|status| failed(format!("the driver answered with status {status}")))?;
    let short = || failed(format!("the driver answered with {} bytes", bytes.len()));
    let words = bytes.as_chunks::<8>().0;
    match shape {
        Shape::Half => {
            let half = bytes.first_chunk::<4>().ok_or_else(short)?;
            Ok(Value::Number(u32::from_le_bytes(*half).into()))
        }
        Shape::Whole => words.first().map(|word| Value::Number(u64::from_le_bytes(*word))).ok_or_else(short),
        Shape::Range => match words {
            [x, y, z] => Ok(Value::Range([x, y, z].map(|word| u64::from_le_bytes(*word)))),
            _ => Err(short()),
        },
        Shape::Text => {
            let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
            Ok(Value::Text(String::from_utf8_lossy(text).into_owned()))
        }
    }
}

/// Returns the reason why a kernel with these requirements is not compatible with a device, if it is not. An explicit SIMD image
/// states a sub-group size of 1 that does not count.
pub(crate) fn incompatibility(requirements: &Requirements, esimd: bool, device: &Device) -> Option<String> {
    let missing = requirements.aspects.iter().find(|aspect| !device.aspects.contains(aspect));
    if let Some(aspect) = missing {
        return Some(format!("required aspect {aspect} is not supported on the device"));
    }
    for size in &requirements.reqd_work_group_sizes {
        let whole = size.iter().try_fold(1u64, |product, side| product.checked_mul(*side));
        // The last dimension of a SYCL range is x.
        let sides = size.iter().rev().zip(&device.max_work_item_sizes);
        let fits = whole.is_some_and(|whole| whole <= device.max_work_group_size)
            && sides.into_iter().all(|(side, most)| side <= most);
        if !fits {
            let size: Vec<String> = size.iter().map(u64::to_string).collect();
            return Some(format!("required work-group size {} is not supported on the device", size.join("x")));
        }
    }
    let mut sizes = requirements.reqd_sub_group_sizes.iter().filter(|_| !esimd).copied().map(u64::from);
    sizes
        .find(|size| !device.sub_group_sizes.contains(size))
        .map(|size| format!("sub-group size {size} is not supported on the device"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(answers: &[Answer], query: &str) -> Result<Value, &'static str> {
        let answer = answers.iter().find(|answer| answer.query == query).unwrap();
        answer.value.clone().map_err(|error| error.errc)
    }

    #[test]
    fn where_the_specification_demands_an_error_there_is_one() {
        let range = [4u64, 2, 1].iter().flat_map(|size| size.to_le_bytes()).collect::<Vec<u8>>();
        let kernel = KernelAnswers {
            answers: vec![
                (cl::GLOBAL_WORK_SIZE, Ok(range)),
                (cl::NUM_ARGS, Ok(vec![3, 0, 0, 0])),
                (cl::ATTRIBUTES, Ok(b"x\0".to_vec())),
                (cl::WORK_GROUP_SIZE, Err(-52)),
            ],
            ..KernelAnswers::default()
        };
        let cpu = Device { kind: "cpu".into(), ..Device::default() };
        let usual = answers(&kernel, &cpu, false);
        assert_eq!(asked(&usual, "global_work_size"), Err("invalid"));
        assert_eq!(asked(&usual, "num_args"), Err("invalid"));
        assert_eq!(asked(&usual, "work_group_size"), Err("runtime"));
        assert_eq!(asked(&usual, "attributes"), Ok(Value::Text("x".into())));
        let built_in = answers(&kernel, &cpu, true);
        assert_eq!(asked(&built_in, "global_work_size"), Ok(Value::Range([4, 2, 1])));
        assert_eq!(asked(&built_in, "num_args"), Ok(Value::Number(3)));
        let custom = Device { kind: "custom".into(), ..Device::default() };
        let there = answers(&kernel, &custom, false);
        assert_eq!(asked(&there, "global_work_size"), Ok(Value::Range([4, 2, 1])));
        assert_eq!(asked(&there, "num_args"), Err("invalid"));
    }

    #[test]
    fn a_device_without_sub_groups_has_the_adapters_values() {
        let refused = |number| (number, Err(INVALID_OPERATION));
        let kernel =
            KernelAnswers { answers: cl::OF_SUB_GROUP.into_iter().map(refused).collect(), ..KernelAnswers::default() };
        let device = Device { sub_group_sizes: vec![8, 32, 16], ..Device::default() };
        let all = answers(&kernel, &device, false);
        for (query, number) in [
            ("max_num_sub_groups", 1),
            ("compile_num_sub_groups", 0),
            ("max_sub_group_size", 32),
            ("compile_sub_group_size", 0),
        ] {
            assert_eq!(asked(&all, query), Ok(Value::Number(number)), "{query}");
        }
    }
    #[test]
    fn the_first_that_is_missing_is_named() {
        let device = Device {
            aspects: vec!["cpu".into(), "fp16".into()],
            sub_group_sizes: vec![8, 16],
            max_work_group_size: 64,
            max_work_item_sizes: vec![64, 4, 4],
            ..Device::default()
        };
        let aspects = |names: &[&str]| Requirements {
            aspects: names.iter().map(|name| (*name).to_owned()).collect(),
            ..Requirements::default()
        };
        assert_eq!(incompatibility(&aspects(&["fp16"]), false, &device), None);
        assert!(incompatibility(&aspects(&["fp16", "fp64"]), false, &device).unwrap().contains("fp64"));
        let group =
            |size: &[u64]| Requirements { reqd_work_group_sizes: vec![size.to_vec()], ..Requirements::default() };
        assert_eq!(incompatibility(&group(&[1, 64]), false, &device), None);
        assert!(incompatibility(&group(&[64, 1]), false, &device).unwrap().contains("64x1"));
        assert!(incompatibility(&group(&[2, 64]), false, &device).is_some());
        assert!(incompatibility(&group(&[u64::MAX, 2]), false, &device).is_some());
        let lanes = Requirements { reqd_sub_group_sizes: vec![1], ..Requirements::default() };
        assert!(incompatibility(&lanes, false, &device).is_some());
        assert_eq!(incompatibility(&lanes, true, &device), None);
    }
}
