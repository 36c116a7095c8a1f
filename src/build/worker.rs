//! Which compiler does a worker hand a request to?

use super::Open;
use super::inventory::{Inventory, Offline};
use super::nvidia::Toolchain;
use super::ocloc::{Ocloc, Surroundings};
use super::opencl::Driver;
use super::protocol::Compiled;
use super::query::Query;
use super::serve::{Asked, Compiler};
use crate::error::{Context as _, Error, ErrorKind, Result};
use std::borrow::Cow;

/// The compilers of a worker, each loaded at its first use.
#[derive(Default)]
pub(crate) struct Compilers {
    opencl: Driver,
    ocloc: Option<Ocloc>,
    nvidia: Option<Toolchain>,
    surroundings: Surroundings,
}

impl Compilers {
    /// For a worker whose programs run so.
    pub(crate) fn new(surroundings: Surroundings) -> Compilers {
        Compilers { surroundings, ..Compilers::default() }
    }

    /// Names what this process is held to, of which a driver that does not load tells nothing.
    fn explained<T>(&self, result: Result<T>) -> Result<T> {
        match &self.surroundings.held_to {
            Some(held_to) => result.context(|| held_to.clone()),
            None => result,
        }
    }

    fn opened(&mut self, what: &Open) -> Result<String> {
        match what {
            Open::Cpu | Open::Device(_) => self.opencl.open(what),
            Open::Ocloc(path) => {
                self.ocloc = Some(Ocloc::find(path.as_deref(), &self.surroundings)?);
                Ok("ocloc".to_owned())
            }
            Open::Nvidia(places) => {
                self.nvidia = Some(Toolchain::find(places, &self.surroundings)?);
                Ok("ptxas".to_owned())
            }
        }
    }
}

impl Compiler for Compilers {
    fn open(&mut self, what: &Open) -> Result<String> {
        let opened = self.opened(what);
        self.explained(opened)
    }

    fn compile(&mut self, il: &[u8], compile_options: &str, link_options: &str) -> Compiled {
        self.opencl.compile(il, compile_options, link_options)
    }

    fn object(&mut self, il: &[u8], compile_options: &str) -> Compiled {
        self.opencl.object(il, compile_options)
    }

    fn offline(&mut self, il: &[u8], device: &str, compile_options: &str, link_options: &str) -> Compiled {
        let options = [compile_options, link_options].join(" ");
        if let Some(nvidia) = &self.nvidia {
            return nvidia.compile(il, device, &options);
        }
        match &self.ocloc {
            Some(ocloc) => ocloc.compile(il, device, options.trim()),
            None => Compiled::Hollow {
                reason: "a module came before the compiler was opened".to_owned(),
                log: String::new(),
            },
        }
    }

    fn link(&mut self, inputs: &[Cow<'_, [u8]>], compile_options: &str, link_options: &str) -> Compiled {
        self.opencl.link(inputs, compile_options, link_options)
    }

    fn query(&mut self, query: &Query<'_>) -> Asked {
        self.opencl.query(query)
    }

    fn offline_compiler(&mut self, devices: &[Cow<'_, str>]) -> Result<Offline> {
        if let Some(nvidia) = &self.nvidia {
            return Ok(nvidia.describe(devices));
        }
        let none = || Error::new(ErrorKind::Environment, "the offline compiler was not opened");
        Ok(self.ocloc.as_ref().ok_or_else(none)?.describe(devices))
    }

    fn library(&mut self) -> Result<Vec<u8>> {
        self.nvidia.as_ref().map_or_else(|| self.opencl.library(), Toolchain::library)
    }

    fn inventory(&mut self) -> Result<Inventory> {
        let inventory = self.opencl.inventory();
        self.explained(inventory)
    }
}

/// Whether this build loads libraries: every one but a static one.
pub(crate) const LOADS: bool = !cfg!(all(target_env = "musl", target_feature = "crt-static"));

/// Explanation that a static build gives in place of the system's message.
const STATIC_BUILD: &str = "this is a static build of the program, which loads no libraries";
/// Remedy: a build that does load libraries.
const DYNAMIC_BUILD: &str = "use a build for this system's own C library, linked dynamically";

/// The error of a static build that would have to load something for CPUs and live devices.
pub(crate) fn no_driver() -> Error {
    Error::new(ErrorKind::Environment, format!("{STATIC_BUILD}: no OpenCL loader, no driver"))
        .with_remedy(format!("{DYNAMIC_BUILD}; for Intel GPUs this one runs the program ocloc"))
}

/// Creates the error for `ocloc` as a library.
pub(super) fn no_library(path: &str) -> Error {
    Error::new(ErrorKind::Environment, format!("`{path}` cannot be loaded: {STATIC_BUILD}")).with_remedy(format!(
        "have the program ocloc in PATH, or name it (`--ocloc /usr/bin/ocloc`); or {DYNAMIC_BUILD}"
    ))
}
