//! Which images together show every feature of the format?

use super::{ImageSpec, Value};
use crate::support::spirv;

/// `add_one` as DPC++ 2026 would wrap it: a kernel any device runs.
pub fn add_one() -> ImageSpec {
    ImageSpec::new(spirv::module("add_one"))
        .options("-ftarget-register-alloc-mode=pvc:-ze-intel-enable-auto-large-GRF-mode", "")
        .entry("add_one")
        .aspects(&[])
        .set("SYCL/misc properties", &[("optLevel", Value::U32(2))])
}

/// The module of the same name, with what DPC++ 2026 says of it: aspects are numbers of that epoch.
pub fn image(module: &str) -> ImageSpec {
    let image = ImageSpec::new(spirv::module(module));
    match module {
        "add_one" => add_one(),
        "halve" => image.entry("halve").aspects(&[6]),
        "twice_half" => image.entry("twice_half").aspects(&[5]),
        "count" => image.entry("count").aspects(&[27]),
        "two_kernels" => image.entry("add_two").entry("negate").aspects(&[]),
        "add_constant" => image
            .entry("add_constant")
            .aspects(&[])
            .set("SYCL/specialization constants", &[("amount", Value::words(&[7, 0, 4]))])
            .set("SYCL/specialization constants default values", &[("all", Value::words(&[40]))]),
        "calls_import" => {
            image.entry("calls_import").aspects(&[]).set("SYCL/imported symbols", &[("imported", Value::U32(1))])
        }
        other => panic!("nothing is known of `{other}`"),
    }
}

/// Images that use every format, every property set and every type of property, options and none, entries and none.
pub fn every_property() -> Vec<ImageSpec> {
    let everything = ImageSpec::new(spirv::module("halve"))
        .for_target("spir64", 2)
        .options("-ze-opt-large-register-file -O2", "-cl-denorms-are-zero")
        .entry("halve")
        .set(
            "SYCL/device requirements",
            &[
                ("aspects", Value::words(&[6, 27])),
                ("compile_target", Value::bytes("intel_gpu_pvc")),
                ("joint_matrix", Value::bytes("matrix_type::fp16,use::a,8,16;matrix_type::fp32,use::b,16,16")),
                ("reqd_sub_group_size", Value::U32(16)),
                ("reqd_work_group_size_uint64_t", Value::longs(&[1, 8, 64])),
                ("work_group_num_dim", Value::U32(2)),
            ],
        )
        .set("SYCL/kernel param opt", &[("halve", Value::Bits(11, vec![0xc0, 0x04]))])
        .set(
            "SYCL/program metadata",
            &[
                ("halve@reqd_work_group_size", Value::words(&[64, 8, 1])),
                ("halve@work_group_num_dim", Value::U32(2)),
                ("_Z6global@global_id_mapping", Value::bytes("global_variable")),
            ],
        )
        .set("SYCL/misc properties", &[("optLevel", Value::U32(3)), ("sycl-grf-size", Value::U32(256))])
        .set("SYCL/exported symbols", &[("halve_helper", Value::U32(1))])
        .set("SYCL/device globals", &[("unique id with spaces, 100%", Value::words(&[4, 1]))])
        .set("SYCL/virtual functions", &[("uses-virtual-functions-set", Value::bytes("first,second"))])
        .set("SYCL/implicit local arg", &[("halve", Value::U32(u32::MAX))])
        .set("SYCL/registered kernels", &[("ns::halve<\u{fc}>", Value::bytes("halve"))]);
    // libsycl 2026.2 looks for the exported symbols of such an image without an end: they must be there.
    let devicelib = ImageSpec::new(spirv::module("add_one"))
        .set("SYCL/devicelib metadata", &[("bfloat16", Value::U32(1))])
        .set("SYCL/exported symbols", &[("__devicelib_ConvertFToBF16INTEL", Value::U32(1))]);
    // No program of any device, but a sound header of one: what is damaged is told and costs the exit code.
    let header = [&b"\x7fELF\x02\x01\x01"[..], &[0; 9], &[2, 0, 62, 0, 1], &[0; 31], &[64], &[0; 11]].concat();
    let native = ImageSpec::new(header).for_target("spir64_x86_64", 1).entry("add_one").aspects(&[]);
    let bare = ImageSpec::new(spirv::module("twice_half")).entry("twice_half");
    vec![
        everything,
        add_one(),
        image("add_constant"),
        image("calls_import"),
        image("count").compressed(),
        devicelib,
        native,
        bare,
    ]
}
