//! Which functions do kernels call, and where is their code?
//!
//! Built-ins of this program (`builtins.cl`, `builtins.ll`), libclc and libdevice become one bitcode library for a version of
//! LLVM and CUDA. A worker that gets no module makes it, and the parent hands it to those that do.
//!
//! llvm-spirv's calls have SPIR-V's calling convention and libraries have C's, and a call by another convention than the
//! function's is undefined: LLVM deletes what follows. So everything that kernels may call is inlined before any other pass
//! looks at it, and is marked here to be.

use super::super::ocloc::Surroundings;
use super::shim::quoted;
use super::tools::{self, Refusal, Tools};
use std::ffi::OsString;
use std::path::Path;

const SOURCE: &str = include_str!("builtins.cl");
const ASSEMBLY: &str = include_str!("builtins.ll");
/// Extensions of OpenCL C that the source uses.
const EXTENSIONS: &str = "-cl-ext=+cl_khr_fp16,+cl_khr_fp64,+cl_khr_int64_base_atomics,+cl_khr_int64_extended_atomics,\
    +cl_khr_subgroups,+__opencl_c_subgroups,+__opencl_c_generic_address_space,+__opencl_c_atomic_order_seq_cst,\
    +__opencl_c_atomic_order_acq_rel,+__opencl_c_atomic_scope_device,+__opencl_c_atomic_scope_all_devices";

/// Source of what rewrites modules: a digest of it keeps code of another version from being taken for that of this one.
const REWRITERS: [&str; 11] = [
    include_str!("groups.rs"),
    include_str!("ids.rs"),
    include_str!("library.rs"),
    include_str!("lower.rs"),
    include_str!("mod.rs"),
    include_str!("offset.rs"),
    include_str!("printf.rs"),
    include_str!("shim.rs"),
    include_str!("speculate.rs"),
    include_str!("spills.rs"),
    include_str!("tools.rs"),
];

/// Returns a digest of the source of the built-ins and of what rewrites modules.
pub(crate) fn digest() -> String {
    let mut hasher = blake3::Hasher::new();
    REWRITERS.iter().for_each(|text| {
        hasher.update(text.as_bytes());
    });
    hasher.update(SOURCE.as_bytes()).update(ASSEMBLY.as_bytes()).update(EXTENSIONS.as_bytes());
    hasher.finalize().to_hex().chars().take(16).collect()
}

/// Makes the library in a folder, and returns it.
///
/// # Errors
/// The refusal of the program that did not do its part.
pub(crate) fn make(
    tools: &Tools,
    surroundings: &Surroundings,
    scratch: &Path,
) -> std::result::Result<Vec<u8>, Refusal> {
    let failed =
        |step: &str, error: std::io::Error| Refusal { step: step.to_owned(), status: None, said: error.to_string() };
    let written = std::fs::write(scratch.join("builtins.cl"), SOURCE)
        .and_then(|()| std::fs::write(scratch.join("builtins.ll"), ASSEMBLY));
    written.map_err(|error| failed("writing", error))?;
    let run = |program: &Path, arguments: &[&str]| {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        tools::run(surroundings, scratch, program, &arguments)
    };
    let (libclc, libdevice) = (tools.libclc.to_string_lossy(), tools.libdevice.to_string_lossy());
    run(
        &tools.clang,
        &[
            "--target=nvptx64-nvidia-cuda",
            "-march=sm_70",
            "-Xclang",
            "-target-feature",
            "-Xclang",
            "+ptx63",
            "-Xclang",
            EXTENSIONS,
            "-x",
            "cl",
            "-cl-std=CL2.0",
            "-Xclang",
            "-finclude-default-header",
            "-nogpulib",
            "-O1",
            "-w",
            "-emit-llvm",
            "-c",
            "builtins.cl",
            "-o",
            "compiled.bc",
        ],
    )?;
    let link = |arguments: &[&str]| run(&tools.llvm_link, &[&["--suppress-warnings"], arguments].concat());
    link(&["compiled.bc", "builtins.ll", "-o", "own.bc"])?;
    // Up to LLVM 20 libclc's functions are `linkonce_odr`, which llvm-link leaves out where nothing refers to them.
    let (symbols, _) = run(&tools.llvm_nm, &["--defined-only", "--extern-only", &libclc])?;
    std::fs::write(scratch.join("kept.ll"), references(&symbols)).map_err(|error| failed("writing", error))?;
    link(&["kept.ll", &libclc, "--override=own.bc", "-o", "all.bc"])?;
    run(&tools.opt, &["-passes=forceattrs", "-force-attribute=alwaysinline", "all.bc", "-o", "inlined.bc"])?;
    link(&["--only-needed", "inlined.bc", &libdevice, "-o", "library.bc"])?;
    std::fs::read(scratch.join("library.bc")).map_err(|error| failed("reading", error))
}

/// Returns a module that refers to all functions among symbols as llvm-nm lists them.
fn references(symbols: &str) -> String {
    // Strong and weak functions.
    let function =
        |line: &str| line.rsplit_once(" T ").or(line.rsplit_once(" W ")).map(|(_, name)| quoted(name.trim()));
    let names: Vec<String> = symbols.lines().filter_map(function).collect();
    let declarations: String = names.iter().map(|name| format!("declare void @{name}()\n")).collect();
    let pointers: Vec<String> = names.iter().map(|name| format!("ptr @{name}")).collect();
    format!("{declarations}@__sycl_bundle_kept = global [{} x ptr] [{}]\n", names.len(), pointers.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_rewrites_counts() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/build/nvidia");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let sources: Vec<String> = files
            .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
            .map(|path| std::fs::read_to_string(path).unwrap())
            .collect();
        assert_eq!(sources.len(), REWRITERS.len());
        assert!(sources.iter().all(|source| REWRITERS.contains(&source.as_str())));
    }

    #[test]
    fn functions_of_libclc_are_referred_to_and_variables_not() {
        let symbols = "---------------- W _Z3sinf\n---------------- T _Z3cosf\n---------------- V TABLE\n\nfile.bc:\n";
        let expected = "declare void @\"_Z3sinf\"()\ndeclare void @\"_Z3cosf\"()\n\
                        @__sycl_bundle_kept = global [2 x ptr] [ptr @\"_Z3sinf\", ptr @\"_Z3cosf\"]\n";
        assert_eq!(references(symbols), expected);
        assert_eq!(references(""), "@__sycl_bundle_kept = global [0 x ptr] []\n");
    }
}
