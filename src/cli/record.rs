//! `record`: what does a program's runtime compile just in time?
//!
//! The program runs with the persistent cache of its runtime in an empty folder; what is there in the end was compiled. The
//! files that its processes have mapped as code are looked up from time to time meanwhile, to tell which of them hold it.

use super::global::Global;
use super::output::Output;
use super::process::{Forwarding, descendants};
use crate::device::cpu::CpuArch;
use crate::error::{Error, ErrorKind, Exit, Result};
use crate::files::package::kind_of;
use crate::files::sources::{lies_below, replaces_other, spare_opened_by, spare_others};
use crate::files::write::write_atomically;
use crate::files::{mapped_code, record};
use crate::report::document::Form;
use crate::report::json::SchemaVersion;
use crate::report::profile::{self, Profile};
use crate::report::text::documented;
use crate::temporary::Scratch;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

const AFTER_HELP: &str = "\
The program runs as it would alone: with its input and output, its signals and its exit status,
which is the exit status here too. Only its SYCL runtime (libsycl of 2023 or newer) gets a folder
of its own for its persistent cache, so that what it compiles just in time stands there in the end;
its other caches are left alone. Processes that it starts are recorded too.

The profile is JSON: for each program of the runtime its device, options and images, by digest and
kernel, with the files that hold them, among the libraries that the processes had mapped and those
of --in; and the driver's code. How long each took to compile is null: the runtime's cache does not
tell, and a trace of its calls would, but that doubles the time of a launch and writes 2 KiB for
each, and the program would not run as it does alone. Every verb with selectors reads it:
  sycl-bundle build foo.whl --profile app.profile -t spir64_x86_64 -o out/   compiles these alone
  sycl-bundle build foo.whl --profile app.profile --harvest -o out/          takes the driver's code
  sycl-bundle inspect libfoo.so --profile app.profile --html used.html       shows them

The CPU driver's code is for the machine's own instruction set, and not for older machines; with
--march avx2 it is portable, and the program runs with that meanwhile. Images that were native
already are not compiled, and not recorded.

Examples:
  sycl-bundle record -o app.profile -- ./app --size 100
  sycl-bundle record -o app.profile --in foo-1.0-py3-none-linux_x86_64.whl -- python3 app.py
  sycl-bundle record -o app.profile --march avx2 -- python3 -m pytest tests

Exit status:
  that of the program, or 128 and the number of the signal that ended it; and
  2  the command line makes no sense
  5  the program cannot be run, or the profile not be written";

/// Run a program and write which images its runtime compiles just in time
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The program and its arguments
    #[arg(
        value_name = "COMMAND",
        required_unless_present = "schema",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    command: Vec<OsString>,
    /// The profile to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", required_unless_present = "schema")]
    output: Option<PathBuf>,
    /// Look for the images in this file, package or folder too (repeatable)
    #[arg(long = "in", value_name = "FILE")]
    within: Vec<PathBuf>,
    /// The instruction set that the CPU driver compiles for meanwhile, by the names of `build --march`
    #[arg(long, value_name = "NAME", value_parser = CpuArch::parse)]
    march: Option<CpuArch>,
    /// Do not keep the driver's code: the profile is small, and `build --harvest` cannot take it
    #[arg(long)]
    no_code: bool,
    /// Print the JSON Schema of the profile and end
    #[arg(long)]
    schema: bool,
}

/// Settings of the runtime's cache, which would hide what is compiled.
const CACHE_SETTINGS: [&str; 6] = [
    "SYCL_CACHE_DISABLE_PERSISTENT",
    "SYCL_CACHE_THRESHOLD",
    "SYCL_CACHE_MAX_SIZE",
    "SYCL_CACHE_MIN_DEVICE_IMAGE_SIZE",
    "SYCL_CACHE_MAX_DEVICE_IMAGE_SIZE",
    "SYCL_CACHE_EVICTION_DISABLE",
];

impl Args {
    /// Runs the verb.
    pub(crate) fn run(self, global: &Global, out: &mut Output) -> Result<Exit> {
        let Some(output) = self.output.as_ref().filter(|_| !self.schema) else {
            return out.schema(&profile::schema());
        };
        let program = self.command.first().and_then(|program| found(program));
        // A script may be what an interpreter is given.
        let given = self.command.iter().skip(1).map(Path::new).filter(|path| path.is_file());
        let others = self.within.iter().chain(&program).map(PathBuf::as_path);
        spare_others(others.chain(given), "-o", output)?;
        // A library of such a folder may be the only copy; a profile there may be an earlier one.
        if self.within.iter().any(|folder| lies_below(output, folder)) && kind_of(output).is_some() {
            return Err(replaces_other("-o", output));
        }
        // Told before the program runs, which may take hours.
        for path in self.within.iter().filter(|path| !path.exists()) {
            global.note(&format!(
                "`{}` is not there: images are looked for in it if the program makes it",
                path.display()
            ));
        }
        let failed = |error| Error::new(ErrorKind::Environment, format!("cannot make a temporary folder: {error}"));
        let temporary = Scratch::temporary().map_err(failed)?;
        // Whatever the program puts in its place is removed with what is around it.
        let cache = temporary.path().join("cache");
        std::fs::create_dir(&cache).map_err(failed)?;
        let begun = Instant::now();
        let (status, mapped) = self.run_program(&cache)?;
        has_room(&cache)?;
        let status = status.code().or_else(|| status.signal().and_then(|signal| signal.checked_add(128)));
        let status = status.and_then(|status| u8::try_from(status).ok()).unwrap_or(u8::MAX);
        let mut profile = Profile {
            schema_version: SchemaVersion,
            command: self.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            seconds: begun.elapsed().as_secs_f64(),
            exit_status: status,
            programs: record::programs(global, &cache, !self.no_code),
        };
        let files = self.within.iter().cloned().chain(mapped).collect::<Vec<_>>();
        record::find_files(global, &files, &mut profile)?;
        spare_others(files.iter().map(PathBuf::as_path), "-o", output)?;
        spare_opened_by("-o", output)?;
        if output.as_os_str() == "-" {
            out.put(Form::Json, &profile)?;
        } else {
            write_atomically(output, documented(&profile.to_json()).as_bytes(), None)?;
        }
        out.put(Form::Text, &profile)?;
        if profile.programs.is_empty() {
            global.note("all of it was native, the program launched nothing, or its runtime is older than 2023");
        }
        Ok(Exit::Program(status))
    }

    /// Runs the program, and tells how it ended and which files its processes had mapped as code.
    fn run_program(&self, cache: &Path) -> Result<(ExitStatus, BTreeSet<PathBuf>)> {
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(Error::new(ErrorKind::Usage, "no program is named"));
        };
        let mut command = Command::new(program);
        command.args(arguments).env("SYCL_CACHE_PERSISTENT", "1").env("SYCL_CACHE_DIR", cache);
        CACHE_SETTINGS.iter().for_each(|name| _ = command.env_remove(name));
        if let Some(march) = self.march {
            command.env("CL_CONFIG_CPU_TARGET_ARCH", march.driver_name());
        }
        let forwarding = Forwarding::begin();
        let mut child = command.spawn().map_err(|error| {
            let name = program.to_string_lossy();
            let failed = Error::new(ErrorKind::Environment, format!("cannot run `{name}`: {error}"));
            failed.with_remedy("name a program as a shell would find it: `sycl-bundle record -o app.profile -- ./app`")
        })?;
        forwarding.to(child.id());
        let (status, mapped) = watch(&mut child);
        drop(forwarding);
        let status = status
            .map_err(|error| Error::new(ErrorKind::Environment, format!("cannot wait for the program: {error}")))?;
        Ok((status, mapped))
    }
}

/// Checks that the runtime could keep what it compiled: a profile that lacks some would say that it was not compiled.
///
/// # Errors
/// `Environment` where the file system of its cache is full.
fn has_room(cache: &Path) -> Result<()> {
    const ROOM: u64 = 1 << 20;
    // The folder around it: whatever the program has put there may lead elsewhere.
    let Ok(there) = rustix::fs::statvfs(cache.parent().unwrap_or(cache)) else { return Ok(()) };
    // File systems that count no files, or no blocks, say that they have none.
    let has_files = there.f_files == 0 || there.f_favail > 0;
    let has_blocks = there.f_blocks == 0 || there.f_bavail.saturating_mul(there.f_frsize) >= ROOM;
    if has_files && has_blocks {
        return Ok(());
    }
    let message = "the program has ended, but there is no room for all that its runtime compiled: the folder for temporary \
                   files is full, and no profile is written";
    Err(Error::new(ErrorKind::Environment, message).with_remedy("name another folder (TMPDIR), and run it again"))
}

/// Returns the file of a program, as a shell finds it.
fn found(program: &OsStr) -> Option<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(program));
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Longest pause between two looks at what the processes have mapped: libraries stay mapped for long, and a look costs a
/// part of a millisecond.
const PAUSE: Duration = Duration::from_millis(100);

/// Waits for a process, and collects the files that it and those it starts map as code.
fn watch(child: &mut Child) -> (std::io::Result<ExitStatus>, BTreeSet<PathBuf>) {
    let (mut mapped, mut pause) = (BTreeSet::new(), Duration::from_millis(2));
    loop {
        for process in descendants(child.id()) {
            let new = mapped_code(process, &mapped);
            mapped.extend(new);
        }
        match child.try_wait().transpose() {
            Some(status) => return (status, mapped),
            None => std::thread::sleep(pause),
        }
        pause = pause.saturating_mul(2).min(PAUSE);
    }
}
