//! How is code for NVIDIA GPUs made of SPIR-V, where no compiler takes it?
//!
//! Out of a module come kernels for NVPTX in these steps, each a program but for the first seven:
//!
//! | step | by | of |
//! |---|---|---|
//! | decorations without groups | [`groups`] | SPIR-V |
//! | ids that are read as wholes | [`ids`] | SPIR-V |
//! | printing | [`printf`] | SPIR-V |
//! | loads that do not wait for a check of bounds | [`speculate`] | SPIR-V |
//! | kernels that take a global offset, beside the others | [`offset`] | SPIR-V |
//! | storage classes and kernels as NVPTX's LLVM IR has them | [`lower`] | SPIR-V |
//! | kernels around the code | [`shim`] | the module's kernels |
//! | LLVM IR | llvm-spirv | SPIR-V |
//! | target and data layout, functions that are called | llvm-link | kernels, code, [`library`] |
//! | optimised code | opt | all of it, with the kernels alone visible |
//! | PTX | llc | that |
//! | cubin | ptxas | PTX |
//! | a note of what kernels spill | [`spills`] | ptxas's log |
//!
//! Several architectures become one fat binary, since the runtime takes the first image for `nvptx64` and does not look at
//! its architecture.

pub mod groups;
pub mod ids;
pub(crate) mod library;
pub mod lower;
pub mod offset;
pub mod printf;
pub(crate) mod shim;
pub mod speculate;
pub(crate) mod spills;
pub mod tools;

use super::Places;
use super::inventory::Offline;
use super::ocloc::Surroundings;
use super::options::LARGE_REGISTERS;
use super::process::scratch;
use super::protocol::Compiled;
use super::target::{PTX, is_for_newer};
use crate::compat::native::not_compiled;
use crate::error::{Error, ErrorKind, Result};
use crate::native::{OF_NVIDIAS_DRIVER, fatbin};
use crate::temporary::Scratch;
use lower::Lowered;
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use tools::{Refusal, Tools, number};

/// Text of LLVM's lint on a call that it would delete, and all that comes after it. The call is in the next line.
const OTHER_CONVENTION: &str = "calling convention differ";

/// The compiler, found.
pub(crate) struct Toolchain {
    tools: Tools,
    surroundings: Surroundings,
    /// Folder of the library, where that was handed over.
    library: Option<Scratch>,
}

/// Name of the library in its folder.
const LIBRARY: &str = "library.bc";

impl Toolchain {
    /// Finds the programs.
    ///
    /// # Errors
    /// `Environment` where something is missing, or the library that is handed over cannot be written.
    pub(crate) fn find(places: &Places, surroundings: &Surroundings) -> Result<Toolchain> {
        let tools = Tools::find(places, surroundings)?;
        let written = |bytes: &Arc<[u8]>| {
            let scratch = scratch(&surroundings.scratch)?;
            let failed = |error| Error::new(ErrorKind::Environment, format!("writing the built-ins: {error}"));
            std::fs::write(scratch.path().join(LIBRARY), bytes).map_err(failed)?;
            Ok(scratch)
        };
        let library = places.library.as_ref().map(written).transpose()?;
        Ok(Toolchain { tools, surroundings: surroundings.clone(), library })
    }

    /// Makes the library of functions that kernels call.
    ///
    /// # Errors
    /// `Environment` where it cannot be made.
    pub(crate) fn library(&self) -> Result<Vec<u8>> {
        let scratch = scratch(&self.surroundings.scratch)?;
        library::make(&self.tools, &self.surroundings, scratch.path()).map_err(|Refusal { step, said, .. }| {
            let message = format!("the built-ins for NVIDIA GPUs were not compiled: {step} said: {said}");
            Error::new(ErrorKind::Environment, message)
        })
    }

    /// Returns what it is like, and which of these architectures ptxas does not know.
    pub(crate) fn describe(&self, architectures: &[Cow<'_, str>]) -> Offline {
        let known = tools::said(&self.tools.ptxas, "--help").unwrap_or_default();
        let is_known = |name: &str| name == PTX || known.contains(&format!("'{name}'"));
        let lists = |list: &str| list.split(',').all(is_known);
        let unknown = architectures.iter().filter(|list| !lists(list)).map(|list| list.clone().into_owned()).collect();
        let version = format!("{}, built-ins {}", self.tools.versions.join(", "), library::digest());
        let about = Offline { version, unknown, ..Offline::default() };
        if !architectures.is_empty() {
            return about;
        }
        let libraries = self.tools.libraries(&self.surroundings);
        let unsure = libraries.is_none();
        let files = self.tools.files().into_iter().chain(libraries.unwrap_or_default()).collect();
        Offline { files, loaded: self.tools.programs(), unsure, ..about }
    }

    /// Compiles a module for architectures, which are separated by commas, with options as
    /// [`for_nvidia`](super::options::for_nvidia) leaves them.
    pub(crate) fn compile(&self, il: &[u8], architectures: &str, options: &str) -> Compiled {
        // The file may have changed since whoever sent the module looked.
        if let Some(why) = not_compiled(il) {
            return refused("the module is not compiled", why);
        }
        let lowered = match lowered(il) {
            Ok(lowered) => lowered,
            Err(error) => return refused("the module cannot be lowered", error.to_string()),
        };
        if let Some(kernel) = lowered.kernels.iter().find(|kernel| !shim::is_symbol(&kernel.name)) {
            return refused("a kernel's name is none in PTX", kernel.name.clone());
        }
        match scratch(&self.surroundings.scratch) {
            Ok(scratch) => self
                .compile_in(scratch.path(), &lowered, architectures, Modes::read(options))
                .unwrap_or_else(|stopped| stopped.0),
            Err(error) => hollow(format!("no folder for intermediate files: {error}"), String::new()),
        }
    }

    fn compile_in(
        &self,
        folder: &Path,
        lowered: &Lowered,
        architectures: &str,
        modes: Modes,
    ) -> std::result::Result<Compiled, Stopped> {
        let write = |name: &str, bytes: &[u8]| {
            std::fs::write(folder.join(name), bytes)
                .map_err(|error| Stopped::hollow(format!("writing {name}: {error}")))
        };
        let read = |name: &str| {
            std::fs::read(folder.join(name)).map_err(|error| Stopped::hollow(format!("reading {name}: {error}")))
        };
        let run = |program: &Path, arguments: &[&str]| {
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            tools::run(&self.surroundings, folder, program, &arguments).map_err(Stopped::from)
        };
        write("module.spv", &lowered.module)?;
        write("kernels.ll", shim::module(&lowered.kernels, &lowered.variables, self.tools.major, modes).as_bytes())?;
        run(&self.tools.llvm_spirv, &["-r", "--spirv-target-env=CL2.0", "module.spv", "-o", "module.bc"])?;
        let Some(library) = self.library.as_ref().map(|folder| folder.path().join(LIBRARY)) else {
            return Err(Stopped::hollow("a module came before the built-ins".to_owned()));
        };
        let library = library.to_string_lossy();
        // The first file's target and data layout are those of the result; of the others comes what is needed.
        let linked = ["--suppress-warnings", "--only-needed", "kernels.ll", "module.bc", &library, "-o", "linked.bc"];
        run(&self.tools.llvm_link, &linked)?;
        let kernels = lowered.kernels.iter().map(|kernel| kernel.name.as_str());
        let names: Vec<&str> = kernels.chain(lowered.variables.iter().map(String::as_str)).collect();
        // An argument has an end that the names of a few hundred kernels pass.
        write("public.txt", names.join("\n").as_bytes())?;
        let (mut parts, mut log, mut newest) = (Vec::new(), String::new(), None);
        for architecture in architectures.split(',').filter(|architecture| *architecture != PTX) {
            let cpu = format!("-mcpu={}", self.tools.generated(architecture));
            // Inlining comes first: see `library`. What is not inlined then is a call that LLVM would delete with all after it.
            // Functions without a name have parameters of another in the PTX of LLVM 15 and 16.
            let passes = "-passes=internalize,always-inline,globaldce,function(lint),default<O3>,name-anon-globals";
            let optimise = [&cpu, passes, "-internalize-public-api-file=public.txt", "linked.bc", "-o", "optimised.bc"];
            let (_, said) = run(&self.tools.opt, &[&optimise, modes.for_both()].concat())?;
            if let Some(call) = other_convention(&said) {
                return Err(Stopped(refused(
                    "the module calls a function with other types than the library has",
                    call,
                )));
            }
            self.check_undefined(folder)?;
            let generate = ["-O3", &cpu, "optimised.bc", "-o", "code.ptx"];
            run(&self.tools.llc, &[&generate, modes.for_both(), modes.for_llc()].concat())?;
            let gpu = format!("-arch={architecture}");
            let (_, said) = run(&self.tools.ptxas, &[&gpu, "-v", "code.ptx", "-o", "code.cubin"])?;
            let cubin = read("code.cubin")?;
            let cubin = spills::recorded(&cubin, &said).unwrap_or(cubin);
            log.push_str(&said);
            log.push('\n');
            parts.push((fatbin::Kind::Cubin, number(architecture), cubin));
            // No newer GPU takes PTX of the others (`sm_90a`).
            if !is_for_newer(architecture) {
                continue;
            }
            newest = newest.max(Some(number(architecture)));
            if newest == Some(number(architecture)) && architectures.split(',').any(|word| word == PTX) {
                let mut text = read("code.ptx")?;
                text.push(0);
                parts.retain(|(kind, _, _)| *kind != fatbin::Kind::Ptx);
                parts.push((fatbin::Kind::Ptx, number(architecture), text));
            }
        }
        let binary = match parts.as_slice() {
            [(fatbin::Kind::Cubin, _, cubin)] => cubin.clone(),
            _ => fatbin::write(&parts),
        };
        Ok(Compiled::Built { binary, log: log.trim_end().to_owned() })
    }

    /// Names functions that nothing defines, before ptxas does so by line numbers.
    fn check_undefined(&self, folder: &Path) -> std::result::Result<(), Stopped> {
        let arguments = ["-u", "optimised.bc"].map(OsString::from);
        let (text, _) = tools::run(&self.surroundings, folder, &self.tools.llvm_nm, &arguments)?;
        let names = text.lines().filter_map(|line| line.split_whitespace().last());
        let missing: Vec<&str> =
            names.filter(|name| !OF_NVIDIAS_DRIVER.contains(name) && *name != shim::SHARED).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(Stopped(refused("the module calls functions that no library has", missing.join(", "))))
    }
}

/// Returns the first call by another convention than the function's among what LLVM's lint says.
fn other_convention(said: &str) -> Option<String> {
    let mut lines = said.lines().skip_while(|line| !line.contains(OTHER_CONVENTION));
    lines.next()?;
    Some(lines.next().unwrap_or_default().trim().to_owned())
}

/// Rewrites a module for llvm-spirv.
fn lowered(il: &[u8]) -> Result<Lowered> {
    let ungrouped = groups::write_out(il)?;
    let il = ungrouped.as_deref().unwrap_or(il);
    let whole = ids::read_whole(il)?;
    let il = whole.as_deref().unwrap_or(il);
    let printed = printf::print(il)?;
    let il = printed.as_deref().unwrap_or(il);
    let moved = speculate::speculate(il)?;
    let il = moved.as_deref().unwrap_or(il);
    let added = offset::add(il)?;
    lower::lower(added.as_deref().unwrap_or(il))
}

/// Arithmetic and registers that options ask for. Whether multiplications and additions are fused follows from the code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Modes {
    /// Division and square roots of `float` may be approximate.
    pub(crate) approximate: bool,
    /// Denormal numbers of `float` are taken for zeros.
    pub(crate) flush_denormals: bool,
    /// Kernels may use twice the registers, in smaller work-groups.
    pub(crate) large_registers: bool,
}

impl Modes {
    /// Reads options as [`for_nvidia`](super::options::for_nvidia) leaves them. What the words mean for CUDA's compiler is what DPC++ makes of
    /// `-ffast-math` there (`-use_fast_math` of nvcc: both of the first).
    pub(crate) fn read(options: &str) -> Modes {
        let mut modes = Modes::default();
        for word in options.split_whitespace() {
            match word {
                "-cl-fast-relaxed-math" => (modes.approximate, modes.flush_denormals) = (true, true),
                "-cl-denorms-are-zero" => modes.flush_denormals = true,
                word if LARGE_REGISTERS.contains(&word) => modes.large_registers = true,
                _ => {}
            }
        }
        modes
    }

    /// Returns options of opt and llc alike.
    fn for_both(self) -> &'static [&'static str] {
        if self.flush_denormals { &["-denormal-fp-math-f32=preserve-sign"] } else { &[] }
    }

    /// Returns further options of llc.
    fn for_llc(self) -> &'static [&'static str] {
        if self.approximate { &["-nvptx-prec-divf32=0", "-nvptx-prec-sqrtf32=0"] } else { &[] }
    }
}

/// The end of a compilation before there is code.
struct Stopped(Compiled);

impl Stopped {
    fn hollow(reason: String) -> Stopped {
        Stopped(hollow(reason, String::new()))
    }
}

impl From<Refusal> for Stopped {
    fn from(refusal: Refusal) -> Stopped {
        let Refusal { step, status, said } = refusal;
        Stopped(match status {
            Some(status) => Compiled::Refused { code: status, name: step, log: said },
            None => hollow(format!("{step} ended by a signal"), said),
        })
    }
}

fn refused(why: &str, log: String) -> Compiled {
    Compiled::Refused { code: 1, name: why.to_owned(), log }
}

fn hollow(reason: String, log: String) -> Compiled {
    Compiled::Hollow { reason, log }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_llvm_would_delete_are_told_from_what_else_lint_says() {
        let other = "Unusual: Allocating a zero-sized object\n  %1 = alloca {}, align 8\n";
        let call = "Undefined behavior: Caller and callee calling convention differ\n  %2 = call spir_func i64 @_Z1fm(i64 %0) #7\n";
        assert_eq!(other_convention(other), None);
        assert_eq!(
            other_convention(&[other, call].concat()).as_deref(),
            Some("%2 = call spir_func i64 @_Z1fm(i64 %0) #7")
        );
    }
}
