//! Where are the programs and libraries that make code for NVIDIA GPUs, of which versions are they, and how are they run?
//!
//! LLVM's programs come from one folder, as bitcode of a newer LLVM is not read by an older one: the folder that is named, one
//! of those in which programs are looked for, or one where distributions put them. `llvm-spirv` may be older than LLVM, whose
//! readers take what older versions wrote.

use super::super::Places;
use super::super::ocloc::Surroundings;
use super::super::process::scratch;
use super::super::programs;
use crate::error::{Error, ErrorKind, Result};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs and libraries, found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tools {
    /// Major version of LLVM.
    pub(crate) major: u32,
    /// Architectures that `llc` generates code for, as it calls them.
    pub(crate) architectures: Vec<String>,
    /// `opt`.
    pub(crate) opt: PathBuf,
    /// `llvm-link`.
    pub(crate) llvm_link: PathBuf,
    /// `llc`.
    pub(crate) llc: PathBuf,
    /// `llvm-nm`.
    pub(crate) llvm_nm: PathBuf,
    /// `clang`, which compiles the built-ins.
    pub(crate) clang: PathBuf,
    /// `llvm-spirv`.
    pub(crate) llvm_spirv: PathBuf,
    /// libclc for NVPTX.
    pub(crate) libclc: PathBuf,
    /// `ptxas`.
    pub(crate) ptxas: PathBuf,
    /// libdevice.
    pub(crate) libdevice: PathBuf,
    /// Version of each, for the user: `LLVM 22.1.8`, `llvm-spirv 22.1.8`, `ptxas 12.9`.
    pub(crate) versions: Vec<String>,
}

/// Versions of LLVM that are tried, the newest first. Before 15 pointers have types, which is another IR.
const MAJORS: std::ops::RangeInclusive<u32> = 15..=26;
/// Programs of LLVM that are used.
const PROGRAMS: [&str; 5] = ["opt", "llvm-link", "llc", "llvm-nm", "clang"];
/// Files of libclc for NVPTX, below a folder of it: as of LLVM up to 22, and since.
const LIBCLC: [&str; 3] = ["nvptx64--nvidiacl.bc", "nvptx64-nvidia-cuda/libclc.bc", "nvptx64-nvidia-cuda.bc"];
/// Folders of CUDA where it is not named.
const CUDA: [&str; 3] = ["/usr/local/cuda", "/opt/cuda", "/usr/lib/nvidia-cuda-toolkit"];
/// CUDA in a folder, as NVIDIA's installers, the package of PyPI and Debian's have it.
const CUDA_FORMS: [&str; 2] = ["", "nvidia/cuda_nvcc"];
const LIBDEVICE: [&str; 2] = ["nvvm/libdevice/libdevice.10.bc", "libdevice/libdevice.10.bc"];

impl Tools {
    /// Finds everything.
    ///
    /// # Errors
    /// `Environment` that names all that is missing, and the packages that have it.
    pub(crate) fn find(places: &Places, surroundings: &Surroundings) -> Result<Tools> {
        let (mut missing, mut remedies) = (Vec::new(), Vec::new());
        let mut lack = |what: String, remedy: String| {
            missing.push(what);
            remedies.push(remedy);
        };
        let llvm = llvm(places, surroundings);
        let major = llvm.as_ref().map_or(0, |llvm| llvm.major);
        let wanted = if major == 0 { 22 } else { major };
        if llvm.is_none() {
            let named = places.llvm.as_ref().map(|folder| format!(" in `{}`", folder.display())).unwrap_or_default();
            lack(
                format!("LLVM 15 or newer ({}){named}", PROGRAMS.join(", ")),
                format!("packages llvm-{wanted} and clang-{wanted}, or --llvm DIR"),
            );
        }
        let spirv = llvm_spirv(llvm.as_ref(), major, surroundings);
        if spirv.is_none() {
            lack("llvm-spirv".to_owned(), format!("package llvm-spirv-{wanted}"));
        }
        let libclc = llvm.as_ref().and_then(libclc);
        if libclc.is_none() {
            lack("libclc for NVPTX".to_owned(), format!("package libclc-{wanted}"));
        }
        let cuda = cuda(places, surroundings);
        if cuda.is_none() {
            let named = places.cuda.as_ref().map(|folder| format!(" in `{}`", folder.display())).unwrap_or_default();
            lack(
                format!("ptxas and libdevice of CUDA{named}"),
                "`pip install --target DIR nvidia-cuda-nvcc-cu12` and --cuda DIR, or the package nvidia-cuda-toolkit"
                    .to_owned(),
            );
        }
        let (Some(llvm), Some(llvm_spirv), Some(libclc), Some((ptxas, libdevice))) = (llvm, spirv, libclc, cuda) else {
            let message = format!("code for NVIDIA GPUs needs {}, not found", missing.join("; "));
            return Err(Error::new(ErrorKind::Environment, message).with_remedy(remedies.join("; ")));
        };
        let mut tools = Tools {
            major: llvm.major,
            architectures: architectures(&said_of(&llvm.program("llc"), &["-mtriple=nvptx64", "-mcpu=help"])?),
            opt: llvm.program("opt"),
            llvm_link: llvm.program("llvm-link"),
            llc: llvm.program("llc"),
            llvm_nm: llvm.program("llvm-nm"),
            clang: llvm.clang.clone(),
            llvm_spirv,
            libclc,
            ptxas,
            libdevice,
            versions: Vec::new(),
        };
        let version = |program: &Path| said(program, "--version");
        let (spirv, ptxas) = (version(&tools.llvm_spirv)?, version(&tools.ptxas)?);
        let after = |text: &str, word: &str| {
            let rest = text.split_once(word).map_or("", |(_, rest)| rest).trim_start();
            rest.split([' ', '\n', ',']).next().unwrap_or_default().to_owned()
        };
        // One number where all are of one LLVM: any of them may be a script that finds another.
        let of_llvm =
            [&tools.opt, &tools.llc, &tools.llvm_link, &tools.llvm_nm].map(|program| (program, "LLVM version"));
        let of_llvm = of_llvm.into_iter().chain([(&tools.clang, "clang version")]);
        let mut numbers =
            of_llvm.map(|(program, word)| Ok(after(&version(program)?, word))).collect::<Result<Vec<_>>>()?;
        numbers.dedup();
        tools.versions = vec![
            format!("LLVM {}", numbers.join(" and ")),
            format!("llvm-spirv {}", after(&spirv, "LLVM version")),
            format!("ptxas {}", after(&ptxas, "release")),
        ];
        Ok(tools)
    }

    /// Returns the architecture that LLVM generates PTX for where ptxas makes code for another: that one, or the newest
    /// before it that LLVM knows, whose PTX ptxas takes.
    pub(crate) fn generated<'a>(&'a self, architecture: &'a str) -> &'a str {
        let own = self.architectures.iter().find(|known| *known == architecture);
        // Names with a letter have PTX that no other takes.
        let plain = self.architectures.iter().filter(|known| known.ends_with(|end: char| end.is_ascii_digit()));
        let older = plain.filter(|known| number(known) <= number(architecture)).max_by_key(|known| number(known));
        own.or(older).map_or(architecture, String::as_str)
    }

    /// Returns the other programs.
    pub(crate) fn programs(&self) -> Vec<PathBuf> {
        vec![self.llvm_nm.clone()]
    }

    /// Returns the files that decide what is made.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let others = [&self.libclc, &self.ptxas, &self.libdevice];
        self.of_llvm().into_iter().chain(others).cloned().collect()
    }

    fn of_llvm(&self) -> [&PathBuf; 5] {
        [&self.opt, &self.llc, &self.llvm_link, &self.clang, &self.llvm_spirv]
    }

    /// Returns the libraries of LLVM that its programs load. None where one of them does not tell.
    pub(crate) fn libraries(&self, surroundings: &Surroundings) -> Option<BTreeSet<PathBuf>> {
        let is_of_llvm = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            ["LLVM", "clang"].iter().any(|part| name.contains(part))
        };
        let mut all = BTreeSet::new();
        for program in self.of_llvm() {
            let scratch = scratch(&surroundings.scratch).ok()?;
            let mut command = surroundings.command(program, scratch.path());
            let found = programs::libraries_of(command.arg("--version"), scratch.path())?;
            all.extend(found.into_iter().filter(is_of_llvm));
        }
        Some(all)
    }
}

/// Returns the architectures among what llc lists as processors, each with a line of its own.
fn architectures(listed: &str) -> Vec<String> {
    let words = listed.lines().filter_map(|line| line.split_whitespace().next());
    words.filter(|word| word.starts_with("sm_")).map(str::to_owned).collect()
}

/// Returns the number of an architecture: 90 of `sm_90a`.
pub(crate) fn number(architecture: &str) -> u32 {
    let digits: String = architecture.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// LLVM's programs in a folder.
struct Llvm {
    major: u32,
    folder: PathBuf,
    /// `-22` where the names of the programs end so.
    suffix: String,
    clang: PathBuf,
}

impl Llvm {
    fn program(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{}", self.suffix))
    }

    /// LLVM of a version (or of one that is still to be asked) in a folder, where all of it is there.
    fn in_folder(folder: &Path, suffix: String) -> Option<Llvm> {
        let mut llvm = Llvm { major: 0, folder: folder.to_owned(), suffix, clang: PathBuf::new() };
        llvm.clang = llvm.program("clang");
        if !PROGRAMS.iter().all(|name| llvm.program(name).is_file()) {
            return None;
        }
        let text = said(&llvm.program("llvm-link"), "--version").ok()?;
        let (_, version) = text.split_once("LLVM version ")?;
        llvm.major = version.split(['.', ' ', '\n']).next()?.parse().ok()?;
        MAJORS.contains(&llvm.major).then_some(llvm)
    }
}

fn llvm(places: &Places, surroundings: &Surroundings) -> Option<Llvm> {
    if let Some(folder) = &places.llvm {
        return [folder.join("bin"), folder.clone()].iter().find_map(|folder| Llvm::in_folder(folder, String::new()));
    }
    for major in MAJORS.rev() {
        let suffixed = surroundings.folders.iter().map(|folder| (folder.clone(), format!("-{major}")));
        let own = (PathBuf::from(format!("/usr/lib/llvm-{major}/bin")), String::new());
        let found = suffixed.chain([own]).find_map(|(folder, suffix)| Llvm::in_folder(&folder, suffix));
        if found.is_some() {
            return found;
        }
    }
    surroundings.folders.iter().find_map(|folder| Llvm::in_folder(folder, String::new()))
}

/// Finds llvm-spirv: beside LLVM, else that of the nearest version which is not newer.
fn llvm_spirv(llvm: Option<&Llvm>, major: u32, surroundings: &Surroundings) -> Option<PathBuf> {
    let beside = llvm.map(|llvm| llvm.folder.join("llvm-spirv"));
    let folders = || surroundings.folders.iter();
    let versions = MAJORS.rev().filter(|version| *version <= major.max(*MAJORS.start()));
    let named = versions.flat_map(|version| folders().map(move |folder| folder.join(format!("llvm-spirv-{version}"))));
    let plain = folders().map(|folder| folder.join("llvm-spirv"));
    beside.into_iter().chain(named).chain(plain).find(|path| path.is_file())
}

/// Finds libclc: that of this LLVM, whose bitcode it reads.
fn libclc(llvm: &Llvm) -> Option<PathBuf> {
    let real = llvm.program("opt").canonicalize().ok()?;
    let prefix = real.parent()?.parent()?;
    let major = llvm.major;
    let folders = [
        prefix.join("share/clc"),
        prefix.join("lib/clc"),
        prefix.join(format!("lib/clang/{major}/lib")),
        PathBuf::from(format!("/usr/lib/clc-{major}")),
        PathBuf::from("/usr/lib/clc"),
        PathBuf::from("/usr/share/clc"),
        PathBuf::from("/usr/local/share/clc"),
    ];
    folders.iter().flat_map(|folder| LIBCLC.iter().map(|file| folder.join(file))).find(|path| path.is_file())
}

/// Finds ptxas and libdevice.
fn cuda(places: &Places, surroundings: &Surroundings) -> Option<(PathBuf, PathBuf)> {
    let mut roots: Vec<PathBuf> = places.cuda.clone().into_iter().collect();
    if places.cuda.is_none() {
        let parents = surroundings.folders.iter().filter(|folder| folder.join("ptxas").is_file());
        roots.extend(
            parents
                .filter_map(|folder| folder.join("ptxas").canonicalize().ok()?.parent()?.parent().map(Path::to_owned)),
        );
        roots.extend(CUDA.map(PathBuf::from));
    }
    let forms = roots.iter().flat_map(|root| CUDA_FORMS.iter().map(|form| root.join(form)));
    let roots: Vec<PathBuf> = forms.collect();
    let ptxas = roots.iter().map(|root| root.join("bin/ptxas")).find(|path| path.is_file()).or_else(|| {
        let on_path = surroundings.folders.iter().map(|folder| folder.join("ptxas")).find(|path| path.is_file());
        on_path.filter(|_| places.cuda.is_none())
    })?;
    let device = |root: &PathBuf| LIBDEVICE.iter().map(|file| root.join(file)).find(|path| path.is_file());
    Some((ptxas, roots.iter().find_map(device)?))
}

/// Failure of a program that was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The step, as messages name it: the program's name.
    pub(crate) step: String,
    /// Exit status; none where a signal ended it.
    pub(crate) status: Option<i32>,
    /// Text that the program wrote to standard error.
    pub(crate) said: String,
}

/// Returns what a program prints when asked so.
///
/// # Errors
/// `Environment` where it does not start.
pub(crate) fn said(program: &Path, argument: &str) -> Result<String> {
    said_of(program, &[argument])
}

fn said_of(program: &Path, arguments: &[&str]) -> Result<String> {
    let failed = |error| {
        Error::new(ErrorKind::Environment, format!("the program `{}` does not start: {error}", program.display()))
    };
    let done = programs::run(Command::new(program).args(arguments)).map_err(failed)?;
    Ok(String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
}

/// Runs a program in a folder. Returns what it wrote to standard output and to standard error.
///
/// # Errors
/// The refusal where it does not start, or ends with another status than 0.
pub fn run(
    surroundings: &Surroundings,
    folder: &Path,
    program: &Path,
    arguments: &[OsString],
) -> std::result::Result<(String, String), Refusal> {
    let step = program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let done = match programs::run(surroundings.command(program, folder).args(arguments)) {
        Ok(done) => done,
        Err(error) => return Err(Refusal { step, status: None, said: error.to_string() }),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    if done.status.success() {
        return Ok((text(&done.stdout), text(&done.stderr)));
    }
    Err(Refusal { step, status: done.status.code(), said: text(&done.stderr) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_that_llvm_does_not_know_are_generated_as_older_ones() {
        let listed = "Available CPUs for this target:\n\n  sm_20  - Select the sm_20 processor.\n  sm_86  - Select\n  \
                      sm_90a - Select\n\nAvailable features for this target:\n\n  ptx32 - Use PTX version 3.2.\n";
        let tools = Tools { architectures: architectures(listed), ..Tools::default() };
        assert_eq!(tools.architectures, ["sm_20", "sm_86", "sm_90a"]);
        assert_eq!(
            ["sm_86", "sm_90", "sm_90a", "sm_120", "sm_10"].map(|it| tools.generated(it)),
            ["sm_86", "sm_86", "sm_90a", "sm_86", "sm_10"]
        );
    }
}
