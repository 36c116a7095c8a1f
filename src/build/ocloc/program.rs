//! How is the program `ocloc` used, where there is no library of it?
//!
//! One process per module, with the module and the binary as files. Its exit status is the low byte of the library's.

use super::{INPUT, REMEDY, Surroundings, arguments, device_binary, outcome, said};
use crate::build::failure::Death;
use crate::build::process::Scratch;
use crate::build::protocol::Compiled;
use crate::error::{Error, ErrorKind, Result};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The program.
#[derive(Debug, Clone)]
pub struct Program {
    path: PathBuf,
    surroundings: Surroundings,
}

impl Program {
    /// The program at a path or by its name.
    ///
    /// # Errors
    /// `Environment` where it does not start.
    pub fn find(path: &Path, surroundings: &Surroundings) -> Result<Program> {
        let named = path.components().count() == 1;
        let in_folder = |folder: &PathBuf| Some(folder.join(path)).filter(|path| path.is_file());
        let path = surroundings.folders.iter().filter(|_| named).find_map(in_folder).unwrap_or(path.to_owned());
        // Started as it is, so that what is missing is told by the system.
        let started =
            Command::new(&path).arg("--help").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        match started {
            Ok(_) => Ok(Program { path, surroundings: surroundings.clone() }),
            Err(error) => {
                let message = format!("the program `{}` does not start: {error}", path.display());
                Err(Error::new(ErrorKind::Environment, message).with_remedy(REMEDY))
            }
        }
    }

    /// Returns the program's path or name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it knows a device.
    pub fn knows(&self, device: &str) -> bool {
        let asked = Scratch::new(&self.surroundings.scratch, "ocloc")
            .and_then(|scratch| self.run(&scratch, &["ids".to_owned(), device.to_owned()]));
        asked.is_ok_and(|done| done.status.success())
    }

    /// The version, as it tells it.
    pub fn version(&self) -> String {
        // ocloc writes the answer to a file of that name, beside printing it.
        let asked = Scratch::new(&self.surroundings.scratch, "ocloc").and_then(|scratch| {
            self.run(&scratch, &["query".to_owned(), "OCL_DRIVER_VERSION".to_owned()])
                .map(|_| std::fs::read_to_string(scratch.path().join("OCL_DRIVER_VERSION")).unwrap_or_default())
        });
        asked.unwrap_or_default().trim_matches(['\0', '\n', ' ']).to_owned()
    }

    /// The help of its compiling, which lists the options that it knows.
    pub fn help(&self) -> String {
        let asked = Scratch::new(&self.surroundings.scratch, "ocloc")
            .and_then(|scratch| self.run(&scratch, &["compile".to_owned(), "--help".to_owned()]));
        asked.map(|done| String::from_utf8_lossy(&done.stdout).into_owned()).unwrap_or_default()
    }

    /// Compiles a module for a GPU; `bindful` asks for kernels that the OpenCL driver takes, too.
    pub fn compile(&self, il: &[u8], device: &str, options: &str, bindful: bool) -> Compiled {
        self.try_compile(il, device, options, bindful).unwrap_or_else(|error| Compiled::Hollow {
            reason: format!("`{}` could not be run: {error}", self.path.display()),
            log: String::new(),
        })
    }

    fn try_compile(&self, il: &[u8], device: &str, options: &str, bindful: bool) -> Result<Compiled> {
        let scratch = Scratch::new(&self.surroundings.scratch, "ocloc")?;
        let module = scratch.path().join(INPUT);
        std::fs::write(&module, il).map_err(|error| Error::io("writing the module", &error))?;
        let mut args = arguments(device, options, &module.to_string_lossy(), bindful);
        args.remove(0);
        args.extend(["-out_dir".to_owned(), scratch.path().to_string_lossy().into_owned()]);
        let done = self.run(&scratch, &args)?;
        let said = said(&[done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat());
        let binary = device_binary(outputs(scratch.path()));
        let status = match done.status.code() {
            Some(0) => 0,
            // The library's statuses are negative; of this one only the low byte is left.
            Some(code) => code.saturating_sub(256),
            None => {
                let death = done.status.signal().map_or(Death::Unknown, Death::Signal);
                let reason = format!("`{}` {death}", self.path.display());
                return Ok(Compiled::Hollow { reason, log: said });
            }
        };
        Ok(outcome(status, binary, said))
    }

    /// Runs it in a folder, so that it ends with this process.
    fn run(&self, scratch: &Scratch, args: &[String]) -> Result<Output> {
        self.surroundings
            .command(&self.path, scratch.path())
            .args(args)
            .output()
            .map_err(|error| Error::io("running ocloc", &error))
    }
}

/// The plain files in a folder but for the module, by name, with their contents.
fn outputs(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let plain = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let named = plain.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()));
    named
        .filter(|(name, _)| name != INPUT)
        .filter_map(|(name, path)| std::fs::read(path).ok().map(|bytes| (name, bytes)))
        .collect()
}
