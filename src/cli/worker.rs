//! `worker`, hidden: what does a process do that `build` or `doctor` starts to talk to the OpenCL driver?
//!
//! It makes itself ready to be killed by what it loads, then answers requests on its standard input.

use super::output::{Output, say};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::build::environment::{is_handed_on, is_opened};
use crate::build::ocloc::Surroundings;
use crate::build::process::READS;
use crate::build::programs::run_within;
use crate::build::serve::serve;
use crate::build::worker::Compilers;
use crate::build::{Engine, Launch, Open, Places};
use crate::device::cpu::CpuArch;
use crate::error::{Error, ErrorKind, Result};
use crate::report::text::bytes;
use crate::temporary::system_folder;
use rustix::process::{Resource, Rlimit, Signal};

use super::confine::{Confinement, confine};
use super::global::Global;
use super::{driver, process};
use crate::error::Exit;

/// The name of the verb.
const VERB: &str = "worker";
/// The option that has a process start the worker, and end all that it started.
const WATCHED: &str = "--watched";
/// The option that has a worker tell what it is not kept from.
const TELL: &str = "--tell";
/// The option that has a command run in a worker's place.
const RUN: &str = "--run";
/// The option that has a worker confine itself.
const CONFINED: &str = "--confined";

/// Answers requests of the process that started it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Do the rest in a process of its own, and end it with all that it started
    #[arg(long)]
    watched: bool,
    /// Run this command in this process's place, to end with the parent
    #[arg(long, num_args = 1.., allow_hyphen_values = true)]
    run: Vec<OsString>,
    /// Write nowhere but below the working folder, and keep to limits of memory and time
    #[arg(long)]
    confined: bool,
    /// Read what is around these files of a driver or compiler, and the system's files, and no others
    #[arg(long, num_args = 0.., requires = "confined")]
    reads: Option<Vec<PathBuf>>,
    /// Print what the kernel does not keep a confined process from, and end; on standard error what an old one does not
    #[arg(long)]
    tell: bool,
}

/// Returns what the kernel does not keep workers from: in all, and for its age.
///
/// # Errors
/// `Environment` where no worker starts.
pub(super) fn not_kept_from(patience: Duration) -> Result<[Vec<String>; 2]> {
    let mut command = Command::new(program()?);
    let ended = run_within(command.args([VERB, CONFINED, TELL]).current_dir("/"), patience);
    let ended = ended.ok().flatten().filter(|ended| ended.status.success());
    let lines = |text: &[u8]| {
        String::from_utf8_lossy(text).lines().map(str::to_owned).filter(|line| !line.is_empty()).collect()
    };
    ended
        .map(|ended| [lines(&ended.stdout), lines(&ended.stderr)])
        .ok_or_else(|| Error::new(ErrorKind::Environment, "no worker process can be confined"))
}

impl Args {
    /// Serves until the parent closes standard input or dies.
    pub(crate) fn run(self, _: &Global, out: &mut Output) -> Result<Exit> {
        let failed = |error: io::Error| Error::io("preparing the worker process", &error);
        // A driver has no business with files that the user's shell or `make` left open.
        process::close_inherited();
        // A driver that hangs would outlive a parent that was killed. Where the parent is gone already, standard
        // input is closed too.
        let word = if self.watched { Signal::TERM } else { Signal::KILL };
        rustix::process::set_parent_process_death_signal(Some(word)).map_err(|e| failed(e.into()))?;
        // Some modules kill the driver every time: nobody wants its core dumps.
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        rustix::process::setrlimit(Resource::Core, none).map_err(|e| failed(e.into()))?;
        if self.watched {
            let mut command = Command::new(program()?);
            command.arg(VERB).args(self.confined.then_some(CONFINED));
            if let Some(files) = self.reads {
                command.arg(READS).args(files);
            }
            if !self.run.is_empty() {
                command.arg(RUN).args(self.run);
            }
            return process::watch(command);
        }
        let held = if self.confined { confine(self.reads.as_deref())? } else { Confinement::default() };
        if self.tell {
            out.plain(held.free.iter().map(|what| format!("{what}\n")).collect::<String>().as_bytes())?;
            say(&held.unknown.join("\n"));
            return Ok(Exit::Done);
        }
        process::threads_that_can_be_had();
        if let Some((program, args)) = self.run.split_first() {
            return Err(failed(Command::new(program).args(args).exec()));
        }
        let output = private_stdout().map_err(failed)?;
        let runner = vec![program()?.into_os_string(), VERB.into(), RUN.into()];
        let mut compilers = Compilers::new(Surroundings {
            scratch: system_folder(),
            folders: std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect(),
            runner,
            held_to: held.memory.map(|most| format!("with {} of memory (--max-memory, ulimit -d)", bytes(most))),
        });
        serve(&mut io::stdin().lock(), &mut BufWriter::new(output), &mut compilers)?;
        Ok(Exit::Done)
    }
}

/// Standard output for us alone: what the driver prints to descriptor 1 goes where its errors go.
fn private_stdout() -> io::Result<impl Write> {
    let output = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(File::from(output))
}

/// The command that starts a worker: this very program, with the driver that this user has installed or chosen. The
/// instruction set is what it compiles for, by default the machine's own.
pub(crate) fn launch(march: Option<CpuArch>) -> Result<Launch> {
    launch_with(driver::environment(), march)
}

/// The command that starts a worker, with another driver environment.
pub(super) fn launch_with(mut env: driver::Environment, march: Option<CpuArch>) -> Result<Launch> {
    if let Some(march) = march {
        env.push(("CL_CONFIG_CPU_TARGET_ARCH".into(), march.driver_name().into()));
    }
    // The worker works in another folder than the user.
    let failed = |error: io::Error| Error::io("finding the folder that the program works in", &error);
    for name in PATHS {
        let given = env.iter().find(|(known, _)| known == name).map(|(_, paths)| paths.clone());
        let Some(paths) = given.or_else(|| std::env::var_os(name)).filter(|paths| !paths.is_empty()) else { continue };
        let Some(paths) = whole_paths(name, &paths).map_err(failed)? else { continue };
        env.retain(|(known, _)| known != name);
        env.push((name.into(), paths));
    }
    let scratch = std::path::absolute(system_folder()).map_err(failed)?;
    let variables: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let opened = is_opened(&variables);
    let is_handed_on = |(name, value): &(OsString, OsString)| {
        name.to_str().is_some_and(|name| is_handed_on(name, &value.to_string_lossy(), opened))
    };
    let without = variables.into_iter().filter(|variable| !is_handed_on(variable)).map(|(name, _)| name).collect();
    Ok(Launch {
        program: program()?,
        args: [VERB, WATCHED, CONFINED].map(OsString::from).to_vec(),
        env,
        without,
        reads: None,
        scratch: Some(scratch),
    })
}

/// Compilers for devices that need not be there
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct OfflineArgs {
    /// Intel's offline compiler for GPUs, a program or library; by default libocloc.so, else the program ocloc
    #[arg(long, value_name = "FILE")]
    pub(crate) ocloc: Option<PathBuf>,
    /// The folder of LLVM, for NVIDIA GPUs: with clang, llc, llvm-link and opt in it or in its bin; by default the newest in
    /// PATH or /usr/lib
    #[arg(long, value_name = "DIR")]
    pub(crate) llvm: Option<PathBuf>,
    /// The folder of CUDA, for NVIDIA GPUs: with bin/ptxas and nvvm/libdevice, or what pip made of nvidia-cuda-nvcc-cu12; by
    /// default that of ptxas in PATH, or /usr/local/cuda
    #[arg(long, value_name = "DIR")]
    pub(crate) cuda: Option<PathBuf>,
}

impl OfflineArgs {
    /// Returns where LLVM and CUDA are looked for.
    pub(crate) fn places(&self) -> Places {
        let whole =
            |path: &Option<PathBuf>| path.as_ref().map(|path| std::path::absolute(path).unwrap_or(path.clone()));
        Places { llvm: whole(&self.llvm), cuda: whole(&self.cuda), library: None }
    }
}

/// Variables with paths, which a worker reads in a folder of its own.
const PATHS: [&str; 3] = ["LD_LIBRARY_PATH", VENDORS, FILENAMES];
const VENDORS: &str = "OCL_ICD_VENDORS";
const FILENAMES: &str = "OCL_ICD_FILENAMES";

/// Returns a variable's paths, whole, and without those that are empty: these are the folder that the user happens to work in. None
/// where they cannot be joined again, which those that were split at colons can.
fn whole_paths(variable: &str, paths: &OsStr) -> io::Result<Option<OsString>> {
    let paths = std::env::split_paths(paths).filter(|path| !path.as_os_str().is_empty());
    let paths = paths.map(|path| whole(variable, &path)).collect::<io::Result<Vec<PathBuf>>>()?;
    Ok(std::env::join_paths(paths).ok())
}

/// Returns the whole path of a variable's. A driver's name alone is looked for
/// where libraries are, and that of a list where the system's lists are, whatever file of that name lies here.
fn whole(variable: &str, path: &Path) -> io::Result<PathBuf> {
    let is_name = path.is_relative() && path.components().count() == 1;
    match variable {
        FILENAMES if is_name => Ok(path.to_path_buf()),
        VENDORS if is_name && !path.is_dir() => Ok(path.to_path_buf()),
        _ => std::path::absolute(path),
    }
}

/// A worker that calls an offline compiler. The graphics compiler writes what is wrong with an explicit-SIMD kernel to
/// `KERNEL.errors.txt` in the folder it works in.
///
/// # Errors
/// `Io` where this program's own file, or the folder that it works in, cannot be found.
pub(crate) fn offline(open: Open) -> Result<Engine> {
    let failed = |error: io::Error| Error::io("finding the folder that the program works in", &error);
    let launch = launch(None)?;
    let open = match open {
        // A name alone is looked for where libraries and programs are.
        Open::Ocloc(Some(path)) if path.components().count() > 1 => {
            Open::Ocloc(Some(std::path::absolute(path).map_err(failed)?))
        }
        other => other,
    };
    Ok(Engine { launch, open })
}

/// The running program, also where its file has been replaced since.
pub(super) fn program() -> Result<PathBuf> {
    if cfg!(target_os = "linux") {
        let own = Path::new("/proc/self/exe");
        // Seen in a folder that was made the root with this program alone in it.
        let unmounted = || {
            let message = "no worker process can be started: /proc, by which this program finds itself, is not there";
            Error::new(ErrorKind::Environment, message).with_remedy("mount it: `mount -t proc proc /proc`")
        };
        return own.symlink_metadata().map(|_| own.to_path_buf()).map_err(|_| unmounted());
    }
    std::env::current_exe().map_err(|error| Error::io("finding the path of this program", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_variables_are_whole() {
        let here = std::env::current_dir().unwrap();
        let whole = |variable, paths| whole_paths(variable, OsStr::new(paths)).unwrap().unwrap().into_string().unwrap();
        for paths in ["/opt/lib", "/opt/lib:", ":/opt/lib", "::/opt/lib::"] {
            assert_eq!(whole("LD_LIBRARY_PATH", paths), "/opt/lib", "{paths}");
        }
        assert_eq!(whole("LD_LIBRARY_PATH", ":"), "");
        assert_eq!(whole("LD_LIBRARY_PATH", "lib:."), format!("{0}/lib:{0}", here.display()));
        assert_eq!(
            whole(FILENAMES, "libintelocl.so:./other.so"),
            format!("libintelocl.so:{}/other.so", here.display())
        );
    }
}
