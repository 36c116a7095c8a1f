//! What does an error message of the runtime, a driver or a compiler mean, and what in a file is behind it?
//!
//! [`said`] reads the message by its error codes ([`codes`]) and by whole sentences (`phrases.txt`), [`trace`] finds the kernels and images that it is about. The texts are those of libsycl 2024 to 2026, its adapters,
//! Intel's OpenCL CPU driver and graphics compiler, and `ocloc`.

pub mod codes;
pub mod said;
pub(crate) mod trace;

use self::said::Said;
use crate::compat::finding::{aspect_remedy, build_remedy, sub_group_remedy};
use crate::device::target::Target;
use crate::spirv::grammar::capability_name;

/// Facts beside the message, to make commands of it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Known<'k> {
    /// The file that is asked about.
    pub(crate) file: Option<&'k str>,
    /// The kernel that the message or the user names, mangled.
    pub(crate) kernel: Option<&'k str>,
    /// The target that it was to run on.
    pub(crate) target: Option<&'k Target>,
}

/// Explains a saying, whatever the file.
pub(crate) fn meaning(said: &Said) -> String {
    let text = match said {
        Said::NoKernel => {
            "No image that is registered in the process lists the kernel: it was not linked in (no -fsycl at the link, or a \
             static library whose members were dropped), its library was not loaded, or it was built without the file that \
             defines the kernel. Runtimes before 2026 say so too where there are images, but none for the device."
        }
        Said::NoImage(targets) => {
            let known = if targets.is_empty() { "other devices".to_owned() } else { targets.join(", ") };
            return format!(
                "The kernel has images, but for {known} only; the device that the queue chose runs none of them. An image \
                 that was compiled for a target counts for that target's devices alone, SPIR-V (spir64) for all that \
                 OpenCL and Level Zero reach."
            );
        }
        Said::NoBundle => {
            "None of the images of a kernel of the bundle fits any of its devices: no image is for the device, or the device \
             lacks what the images require (sycl::is_compatible tells it beforehand)."
        }
        Said::NotSupported => {
            "The device lacks what the image of the kernel requires: an aspect, a work-group or sub-group size, or matrix \
             operations (errc::kernel_not_supported); the text of the exception tells which."
        }
        Said::Aspect(name) => {
            return format!(
                "The image of the kernel needs aspect {name}, and the device does not have it. The compiler records what the \
                 kernels of an image use, or declare with [[sycl::device_has()]], and the runtime compares it with the device \
                 before it compiles: errc::kernel_not_supported."
            );
        }
        Said::SubGroupSize(size) => {
            return format!(
                "The kernel requires sub-groups of {size}, which the device does not have: errc::kernel_not_supported, \
                 or a build error where the compiler finds out."
            );
        }
        Said::WorkGroupSize(items) => {
            let items = items.map(|items| format!(" of {items} work-items")).unwrap_or_default();
            return format!(
                "The kernel requires a work-group{items}, more than the device runs in one, or in one dimension of one."
            );
        }
        Said::LocalSize(_) => {
            "The launch asks for work-groups of another size than the kernel requires ([[sycl::reqd_work_group_size()]]); \
             sizes are told slowest dimension first."
        }
        Said::Dimensions => {
            "The nd_range of the launch has another number of dimensions than the kernel's required work-group size."
        }
        Said::TooLarge => {
            "The launch asks for more work-items in a work-group than the device, or this kernel on it, runs."
        }
        Said::Matrix => {
            "The kernel uses joint_matrix in a combination of types and sizes that the device does not list; many devices list \
             none."
        }
        Said::FixedTarget => "The program was compiled for fixed targets only, and the device is none of these.",
        Said::Symbols(_) => {
            "Device code calls functions that no image defines that is linked with it. The runtime looks among the exported \
             symbols of all images of the process; the device's compiler among those that it brings itself."
        }
        Said::NoLinking => {
            "The image is native code that imports functions of other images, and the runtime links SPIR-V only (on GPUs also \
             their native code)."
        }
        Said::Capability(number) => {
            return format!(
                "The image declares SPIR-V capability {} ({number}), which the device's compiler does not take. It refuses the \
                 whole image, with all its kernels.",
                capability_name(*number)
            );
        }
        Said::Opcode(number) => {
            return format!(
                "The image holds a SPIR-V instruction (opcode {number}) that the device's compiler does not take. It refuses \
                 the whole image, with all its kernels."
            );
        }
        Said::Extension(name) => {
            return format!(
                "The image needs SPIR-V extension {name}, which this compiler or translator does not take."
            );
        }
        Said::Amx => {
            "The kernel uses matrix operations, which CPUs run with AMX: Sapphire Rapids or later, for half precision Granite \
             Rapids."
        }
        Said::NoDevice => "The runtime finds no device of the wanted kind.",
        Said::NoOcloc => "Native code for Intel GPUs is made by `ocloc`, which is not installed or not in the PATH.",
        Said::OclocDevice(name) => {
            return format!("`ocloc` does not know a device `{name}`, or this version of it does not.");
        }
        Said::Ocloc(number) => return ocloc(*number),
        Said::Code(code) => return format!("{}: {}", code.title(), code.meaning),
        Said::Phrase(phrase) => return phrase.meaning.to_owned(),
    };
    text.to_owned()
}

fn ocloc(number: i64) -> String {
    match codes::by_ocloc(number) {
        Some((own, name, meaning)) if own == number => format!("{name} ({own}): {meaning}"),
        Some((own, name, meaning)) => format!("{name} ({own}, of which a shell shows {number}): {meaning}"),
        None => format!("`ocloc` ended with {number}, which it does not document."),
    }
}

/// Lists what mends it.
pub(crate) fn remedies(said: &Said, known: Known<'_>) -> Vec<String> {
    let file = known.file.unwrap_or("FILE");
    let target = known.target.map_or("TARGET", |target| &target.name);
    let kernel = known.kernel.unwrap_or("NAME");
    let check =
        format!("`sycl-bundle check {file} -t {target}` names every kernel of this sort before a user meets it");
    match said {
        Said::NoKernel => vec![
            format!("`sycl-bundle kernels {file}` lists the kernels that are in the file, `inspect` with a folder those of all"),
            "link with -fsycl as well as compile with it; of a static library link all members (-Wl,--whole-archive)".into(),
        ],
        Said::NoImage(_) => {
            let mut all = vec![format!("`sycl-bundle targets {file}` lists what the file has images for")];
            match known.target {
                Some(target) => all.push(build_remedy(target)),
                None => all.push(
                    "compile with -fsycl-targets=spir64,... so that every other device gets SPIR-V, or add the device's own \
                     target"
                        .into(),
                ),
            }
            all.push("let the queue choose a device that there is an image for (ONEAPI_DEVICE_SELECTOR)".into());
            all
        }
        Said::NoBundle | Said::NotSupported => vec![choice(file, kernel, target), check],
        Said::Aspect(name) => vec![aspect_remedy(name), check],
        Said::SubGroupSize(_) => vec![
            known.target.and_then(|target| target.sub_group_sizes.as_deref()).map_or(
                "require a size that `sycl-bundle devices` or `sycl-bundle targets NAME` lists, or leave it to the compiler"
                    .to_owned(),
                sub_group_remedy,
            ),
            check,
        ],
        Said::WorkGroupSize(_) => {
            vec!["require fewer work-items in [[sycl::reqd_work_group_size()]], or leave it out".into(), check]
        }
        Said::LocalSize(required) => {
            let list = |sizes: &Vec<u64>| sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
            let sizes = required.as_ref().map_or_else(|| "THE REQUIRED SIZE".to_owned(), list);
            vec![format!("launch with work-groups of {{{sizes}}}, or change [[sycl::reqd_work_group_size()]]")]
        }
        Said::Dimensions => vec!["launch with an nd_range of the required size's dimensions".into()],
        Said::TooLarge => vec![
            "launch with smaller work-groups; info::device::max_work_group_size and max_work_item_sizes tell the limits".into(),
            format!("`sycl-bundle kernels {file} --kernel {kernel} --device D` asks the device for this kernel's limit"),
        ],
        Said::Matrix => vec![
            "use a combination that sycl::ext::oneapi::experimental::info::device::matrix_combinations lists".into(),
            "`sycl-bundle targets NAME` shows those of a target".into(),
        ],
        Said::FixedTarget => {
            vec!["add the device's target to -fsycl-fixed-targets, or compile without that option".into()]
        }
        Said::Symbols(_) => vec![
            "link the object that defines them into the same device link, or load its library too; both sides need \
             SYCL_EXTERNAL"
                .into(),
            "across libraries compile all with -fsycl-allow-device-image-dependencies".into(),
        ],
        Said::NoLinking => vec![
            format!(
                "leave such images SPIR-V, as `sycl-bundle build` does: `sycl-bundle prune {file} --drop spir64_x86_64` takes \
                 the native ones out"
            ),
            "link device code at compile time: without -fsycl-allow-device-image-dependencies".into(),
        ],
        Said::Capability(_) | Said::Opcode(_) | Said::Extension(_) => vec![
            "keep the feature out of kernels for this device, or apart from others with -fsycl-device-code-split=per_kernel"
                .into(),
            "bring the device's driver up to date: newer ones take more".into(),
        ],
        Said::Amx => vec!["launch it only where device.has(sycl::aspect::ext_intel_matrix)".into()],
        Said::NoDevice => vec![
            "`sycl-bundle doctor` tells what is missing, `sycl-bundle devices --all` what ONEAPI_DEVICE_SELECTOR hides".into(),
        ],
        Said::NoOcloc => vec![
            "install it (package intel-opencl-icd or intel-ocloc), or compile for spir64 and leave it to the user's driver"
                .into(),
            "`sycl-bundle doctor` tells what else is missing".into(),
        ],
        Said::OclocDevice(_) => vec![
            "`sycl-bundle targets NAME` shows the name that ocloc takes for a target; `ocloc ids NAME` what it resolves to".into(),
        ],
        Said::Ocloc(-11 | 245) => vec![
            "give it the text that ocloc printed: `sycl-bundle explain FILE --message -`".into(),
            check,
        ],
        Said::Ocloc(_) => vec!["run the command again by hand, without -q; it prints what it misses".into()],
        Said::Code(code) => code.remedies.iter().map(|text| text.replace("FILE", file)).collect(),
        Said::Phrase(phrase) => {
            let fill = |text: &&str| text.replace("FILE", file).replace("TARGET", target).replace("NAME", kernel);
            phrase.remedies.iter().map(fill).collect()
        }
    }
}

/// The command that tells the choice for a kernel.
pub(crate) fn choice(file: &str, kernel: &str, target: &str) -> String {
    format!(
        "`sycl-bundle explain {file} --kernel '{kernel}' -t {target}` tells how the runtime chooses, and what stops it"
    )
}

#[cfg(test)]
mod tests {
    use super::codes::{Topic, by_name, by_ocloc, by_opencl, codes, phrases};
    use super::said::{Message, Said, read};
    use super::{Known, meaning, remedies};

    fn one(text: &str) -> Said {
        let Message { sayings, .. } = read(text);
        assert_eq!(sayings.len(), 1, "{text}: {sayings:?}");
        sayings.into_iter().next().unwrap().said
    }

    fn topic(text: &str) -> &'static str {
        one(text).topic().name()
    }

    #[test]
    fn what_libsycl_throws() {
        let symbols = |names: &[&str]| Said::Symbols(names.iter().map(|name| (*name).to_owned()).collect());
        for (text, said) in [
            ("Required aspect ext_intel_esimd is not supported on the device", Said::Aspect("ext_intel_esimd".into())),
            (
                "Required aspect fp64 is not supported on the device -33 (PI_ERROR_INVALID_DEVICE)",
                Said::Aspect("fp64".into()),
            ),
            ("Sub-group size 128 is not supported on the device", Said::SubGroupSize(128)),
            ("Required work-group size 16384 is not supported on the device", Said::WorkGroupSize(Some(16384))),
            (
                "Required work-group size is not supported (total number of work-items requested can't fit into size_t)",
                Said::WorkGroupSize(None),
            ),
            (
                "The specified local size {1, 1, 128} doesn't match the required work-group size specified in the program source {1, 1, 64}",
                Said::LocalSize(Some(vec![1, 1, 64])),
            ),
            (
                "Specified local size doesn't match the required work-group size specified in the program source -54 (PI_ERROR_INVALID_WORK_GROUP_SIZE)",
                Said::LocalSize(None),
            ),
            (
                "The local size dimension of submitted nd_range doesn't match the required work-group size dimension",
                Said::Dimensions,
            ),
            (
                "The number of work-items in each dimension of a work-group cannot exceed {8192, 8192, 8192} for this device",
                Said::TooLarge,
            ),
            ("no matrix hardware on the target device, joint_matrix is not supported", Said::Matrix),
            ("No device image found for external symbol _Z9elsewhered", symbols(&["_Z9elsewhered"])),
            ("Cannot resolve external symbols, linking is unsupported for the backend", Said::NoLinking),
            (
                "Kernel k has no image for the selected device. Its available images target: [spir64_gen, intel_gpu_pvc].",
                Said::NoImage(vec!["spir64_gen".into(), "intel_gpu_pvc".into()]),
            ),
            ("No kernel named _ZTS1k was found -46 (PI_ERROR_INVALID_KERNEL_NAME)", Said::NoKernel),
            ("Kernel is incompatible with all devices in devs", Said::NoBundle),
            ("caught sycl::errc::kernel_not_supported", Said::NotSupported),
            ("error: undefined reference to `_Z3foov'", symbols(&["_Z3foov"])),
        ] {
            assert_eq!(one(text), said, "{text}");
        }
        assert_eq!(read("No kernel named _ZTS1k was found").kernels, ["_ZTS1k"]);
        assert_eq!(read("Kernel k has no image for the selected device.").kernels, ["k"]);
    }

    #[test]
    fn what_the_design_documents_say() {
        let fp16 =
            "Kernel uses optional feature corresponding to 'aspect::fp16' but device does not support this aspect.";
        assert_eq!(one(fp16), Said::Aspect("fp16".into()));
        let size = "Kernel has a required sub-group size of '32' but device does not support this sub-group size.";
        assert_eq!(one(size), Said::SubGroupSize(32));
        let group =
            "Kernel has a required work-group size of '128x128' but device does not support this work-group size";
        assert_eq!(one(group), Said::WorkGroupSize(Some(16384)));
        let fixed =
            "Kernel was compiled with '-fsycl-fixed-targets=intel_gpu_12_0_0' but was submitted to a different device.";
        assert_eq!(one(fixed), Said::FixedTarget);
    }

    #[test]
    fn what_build_logs_say() {
        let log = "The program was built for 1 devices\\nBuild program log for 'AMD EPYC':\\nCompilation started\\n\
               Unsupported SPIR-V module\\nSPIRV module requires unsupported capability 6528\\nCompilation failed\\n";
        assert_eq!(one(log), Said::Capability(6528));
        let log = "CompilerException Failed to lookup symbol __sycl_kernel_calls\n\
               JIT session error: Symbols not found: [ _Z9elsewheref, _Z3impi ]\n\
               Failed to materialize symbols: { (main, { __sycl_kernel_calls }) }";
        assert_eq!(one(log), Said::Symbols(vec!["_Z9elsewheref".into(), "_Z3impi".into()]));
        assert_eq!(read(log).kernels, ["__sycl_kernel_calls"]);
        let log = "error: IGC SPIRV Consumer does not support the following opcode: 4456\n\nBuild failed with error code: -11";
        assert_eq!(one(log), Said::Opcode(4456));
        let log = "error: Double type is not supported on this platform.\nin kernel: 'k'\nerror: backend compiler failed build.";
        assert_eq!((one(log), read(log).kernels), (Said::Aspect("fp64".into()), vec!["k".to_owned()]));
        let log =
            "RequiresExtension: Feature requires the following SPIR-V extension:\n SPV_INTEL_joint_matrix\n NOTE: x";
        assert_eq!(one(log), Said::Extension("SPV_INTEL_joint_matrix".into()));
        assert_eq!(
            topic(
                "\"k\": AMX matrix primitives are being used on an arch older than Sapphire Rapids! DPC++ joint matrix ..."
            ),
            "amx"
        );
    }

    #[test]
    fn codes_by_name_and_number() {
        for (text, name) in [
            (
                "Native API failed. Native API returns: -42 (PI_ERROR_INVALID_BINARY) -42 (PI_ERROR_INVALID_BINARY)",
                "INVALID_BINARY",
            ),
            ("opencl backend failed with error: 45 (UR_RESULT_ERROR_INVALID_ARGUMENT)", "INVALID_ARGUMENT"),
            ("opencl backend failed with error: 41", "BUILD_PROGRAM_FAILURE"),
            ("clBuildProgram failed: CL_BUILD_PROGRAM_FAILURE", "BUILD_PROGRAM_FAILURE"),
            ("error: -5", "OUT_OF_RESOURCES"),
            ("-11", "BUILD_PROGRAM_FAILURE"),
            ("Native API failed. Native API returns: -999 (PI_ERROR_UNKNOWN)", "UNKNOWN"),
            ("level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)", "OUT_OF_DEVICE_MEMORY"),
        ] {
            let Said::Code(code) = one(text) else { panic!("{text}") };
            assert_eq!(code.names[0], name, "{text}");
        }
        assert!(read("17 tests passed, 42 failed").sayings.is_empty());
        assert!(read("all is well").sayings.is_empty());
    }

    #[test]
    fn what_ocloc_ends_with() {
        // As a shell showed them for a device, a file and an option that ocloc does not know, and a module it does not compile.
        for (text, number, name) in [
            ("ocloc 245", 245, "OCLOC_BUILD_PROGRAM_FAILURE"),
            ("llvm-foreach: ocloc failed with exit status 223", 223, "OCLOC_INVALID_DEVICE"),
            (
                "icpx: error: gen compiler command failed with exit code 245 (use -v)",
                245,
                "OCLOC_BUILD_PROGRAM_FAILURE",
            ),
            ("ocloc: 225", 225, "OCLOC_INVALID_FILE"),
            ("ocloc ended with 226", 226, "OCLOC_INVALID_COMMAND_LINE"),
        ] {
            assert_eq!(one(text), Said::Ocloc(number), "{text}");
            assert_eq!(by_ocloc(number).unwrap().1, name);
        }
        assert_eq!(one("Error: Cannot get HW Info for device nonsense."), Said::OclocDevice("nonsense".into()));
        assert_eq!(topic("llvm-foreach: No such file or directory"), "no-ocloc");
        assert!(read("ocloc 7").sayings.is_empty());
    }

    #[test]
    fn the_table_of_codes_is_whole() {
        assert!(codes().len() > 40);
        for code in codes() {
            assert!(!code.meaning.is_empty() && !code.remedies.is_empty() && !code.names.is_empty(), "{code:?}");
            assert!(code.opencl.is_some() || code.unified.is_some(), "{code:?}");
            let said = Said::Code(code);
            assert!(meaning(&said).contains(code.names[0]) && !remedies(&said, Known::default()).is_empty());
        }
        assert_eq!(by_opencl(-46).unwrap(), by_name("CL_INVALID_KERNEL_NAME").unwrap());
        assert_eq!(by_name("INVALID_BINARY"), None);
    }

    #[test]
    fn hostile_messages_are_read_in_time() {
        let long = "Kernel ".repeat(200_000);
        assert!(read(&long).sayings.is_empty());
        let many = "error: -11\n".repeat(100_000);
        assert_eq!(read(&many).sayings.len(), 1);
    }

    /// Texts as they stand in libsycl.so 9.0 (2026.2), completed where it fills something in.
    #[test]
    fn what_libsycl_says_of_bundles_launches_and_the_machine() {
        for (text, expected) in [
            ("Vector of devices is empty", "bundle-devices"),
            ("Selected device is not in the given context.", "bundle-devices"),
            ("kernel_bundle not built for device", "bundle-devices"),
            ("Failed to add kernel to kernel bundle.", "bundle-kernel"),
            ("The kernel bundle does not contain the kernel identified by kernelId.", "bundle-kernel"),
            (
                "info::kernel_device_specific::global_work_size descriptor may only be used if the device type is \
             device_type::custom or if the kernel is a built-in kernel.",
                "kernel-query",
            ),
            (
                "The kernel was compiled with -fsycl-id-queries-range=uint, but the provided range/offset exceeds the maximum \
             value storable in an uint32_t. Either reduce the range/offset or recompile the kernel with \
             -fsycl-id-queries-range=size_t.",
                "int-range",
            ),
            (
                "Submitting a kernel decorated with reqd_work_group_size attribute to a device that does not support this work \
             group size is invalid.",
                "required-work-group",
            ),
            ("Non-uniform work-groups are not supported by the target device", "non-uniform"),
            ("Local workgroup size cannot be greater than global range in any dimension", "non-uniform"),
            ("The launch work-group size cannot be zero.", "zero-work-group"),
            ("Number of work-groups exceed limit for dimension 0", "many-work-groups"),
            ("Exceeded the number of registers available on the hardware.", "registers"),
            ("kernel_bundle creation from source not supported", "bundle-source"),
            ("Linking binaries with different source languages is not currently supported.", "bundle-source"),
            ("Duplicate exported symbol \"_Z3foov\" found in binaries.", "duplicate-symbol"),
            ("No exported symbol \"_Z3foov\" found in linked images.", "missing-export"),
            (
                "Cross-image link with unresolved symbols requires urProgramLinkExp; the active adapter does not support it.",
                "cross-image-link",
            ),
            ("More than one image exists with the device_global.", "device-global"),
            ("make_kernel: kernel_bundle must have single program image ", "single-image"),
            ("The device does not have the ext_intel_pci_address aspect", "device-query"),
            ("Found incompatible version of ocloc library: (2.0). The supported versions are (1.0", "ocloc-library"),
            ("Malformed device program image descriptor", "image-descriptor"),
            ("ONEAPI_DEVICE_SELECTOR parsing error. Device must be specified.", "selector"),
            ("Images are not supported by this device.", "no-images"),
            ("IGC: Internal Compiler Error: Segmentation violation", "ocloc-crash"),
        ] {
            let topics: Vec<&str> = read(text).sayings.iter().map(|saying| saying.said.topic().name()).collect();
            assert_eq!(topics, [expected], "{text}");
        }
    }

    #[test]
    fn every_phrase_has_a_topic() {
        let heads = include_str!("phrases.txt").lines().filter(|line| !line.starts_with("  "));
        for (topic, _) in heads.clone().filter_map(|line| line.split_once(": ")) {
            assert!(Topic::ALL.iter().any(|known| known.name() == topic), "codes.rs: a topic `{topic}` in `topics!`");
        }
        assert_eq!(heads.count(), phrases().len());
    }

    /// Texts as they stand in libsycl.so 9.0 (2026.2) and in ocloc 22.43 and 26.27.
    #[test]
    fn what_libsycl_and_ocloc_say_of_memory_filters_and_files() {
        for (text, expected) in [
            ("Device does not support USM device allocations!", "usm"),
            ("Device does not support shared USM allocations!", "usm"),
            ("No device in this context supports USM host allocations!", "usm"),
            ("Ptr not a valid USM allocation!", "usm"),
            ("Unable to merge incompatible images.", "image-merge"),
            ("Could not find a device that matches the specified filter(s)!", "device-filter"),
            (
                "Invalid filter string! Valid strings conform to BE:DeviceType:DeviceNum, where any are optional",
                "device-filter",
            ),
            ("Device types must be \"cpu\", \"gpu\", or \"*\".", "device-filter"),
            ("DeviceList is empty.", "bundle-devices"),
            ("Input context must be the same as the context of cl_kernel", "bundle-context"),
            ("Event context must match the queue context.", "bundle-context"),
            ("Could not partition to the specified number of sub-devices", "sub-devices"),
            ("Cannot enable profiling, the associated device does not have the queue_profiling aspect", "profiling"),
            (
                "Kernel allocates work group scratch memory but an allocation size has not been specified through the \
             work_group_scratch_size property!",
                "scratch-memory",
            ),
            ("Backend unsupported by JIT compiler", "jit-backend"),
            ("Can't open file specified via SYCL_USE_KERNEL_SPV: x.spv", "kernel-file"),
            ("Attempting to use a built-in kernel. They are not fully supported", "built-in-kernel"),
            ("Dimensionality of cluster, global and local ranges must be same", "nd-range"),
            (
                "The device associated with the queue does not support the requested forward progress guarantee.",
                "forward-progress",
            ),
            ("Device does not support aspect::ext_oneapi_virtual_mem.", "aspect"),
            ("Not all devices in the context support aspect::ext_oneapi_ipc_event.", "aspect"),
            ("Error: Cannot read input file: k.spv", "ocloc-input"),
            ("Invalid option (arg 3): -fast", "ocloc-input"),
            ("invalid api option: -ze-intel-enable-auto-large-GRF-mode", "compiler-option"),
            ("Error! Loading of IGC library has failed! Filename: libigc.so.1", "ocloc-parts"),
            ("Error! Incompatible interface in IGC: 1.2", "ocloc-library"),
            ("Failed to parse target : pvcc - invalid device:", "ocloc-target"),
            ("Error: Translation has failed! IGC returned empty output.", "ocloc-empty"),
            (
                "Error: bindful addressing mode is not supported on this device (heapless platform). Use bindless or default mode.",
                "address-mode",
            ),
            ("Error while decoding zebin.", "zebin-damaged"),
            ("PID 7 [Cache failure]: Creating temporary file failed! errno: 13", "cache-failure"),
        ] {
            let topics: Vec<&str> = read(text).sayings.iter().map(|saying| saying.said.topic().name()).collect();
            assert_eq!(topics, [expected], "{text}");
        }
    }
}
