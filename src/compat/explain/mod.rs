//! What does an error message of the runtime, a driver or a compiler mean, and what in a file is behind it?
//!
//! [`said`] reads the message by its error codes ([`codes`]) and by whole sentences (`phrases.txt`), [`trace`] finds the kernels and images that it is about. The texts are those of libsycl 2024 to 2026, its adapters,
//! Intel's OpenCL CPU driver and graphics compiler, and `ocloc`.

pub mod codes;
pub mod said;
#[cfg(test)]
mod tests;
pub mod trace;

use self::said::Said;
use crate::compat::finding::{aspect_remedy, build_remedy, sub_group_remedy};
use crate::device::target::Target;
use crate::spirv::grammar::capability_name;

/// Facts beside the message, to make commands of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'k> {
    /// The file that is asked about.
    pub file: Option<&'k str>,
    /// The kernel that the message or the user names, mangled.
    pub kernel: Option<&'k str>,
    /// The target that it was to run on.
    pub target: Option<&'k Target>,
}

/// Explains a saying, whatever the file.
pub fn meaning(said: &Said) -> String {
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
pub fn remedies(said: &Said, known: Known<'_>) -> Vec<String> {
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
pub fn choice(file: &str, kernel: &str, target: &str) -> String {
    format!(
        "`sycl-bundle explain {file} --kernel '{kernel}' -t {target}` tells how the runtime chooses, and what stops it"
    )
}
