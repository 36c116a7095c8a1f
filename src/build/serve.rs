//! What does a worker do with what it is told?
//!
//! The caller is a process of its own whose standard output nobody else writes to: a driver prints to descriptor 1
//! when it likes, so the caller keeps a private duplicate for `output` and points descriptor 1 elsewhere.

use std::borrow::Cow;
use std::io::{Read, Write};

use super::Open;
use super::inventory::{Inventory, Offline};
use super::protocol::{Compiled, Reply, Request};
use super::query::{KernelAnswers, Query};
use crate::error::{Error, ErrorKind, Result};

/// A compiler: the OpenCL driver, or something else that answers the same questions.
pub trait Compiler {
    /// Finds the compiler, and of a device makes a context; called before anything is compiled or asked. Answers with
    /// the names of the device and its driver.
    ///
    /// # Errors
    /// `Environment` where the machine lacks something.
    fn open(&mut self, what: &Open) -> Result<String>;

    /// Compiles one module.
    fn compile(&mut self, il: &[u8], compile_options: &str, link_options: &str) -> Compiled;

    /// Compiles one module to an object, whose imports stay open.
    fn object(&mut self, il: &[u8], compile_options: &str) -> Compiled;

    /// Compiles one module for a GPU that need not be there, by the name that ocloc knows it by.
    fn offline(&mut self, il: &[u8], device: &str, compile_options: &str, link_options: &str) -> Compiled;

    /// Links objects, and modules that are compiled first.
    fn link(&mut self, inputs: &[Cow<'_, [u8]>], compile_options: &str, link_options: &str) -> Compiled;

    /// Builds a program and asks about its kernels.
    fn query(&mut self, query: &Query<'_>) -> Asked;

    /// Tells what the offline compiler that was opened is like, and which of these devices it does not know.
    ///
    /// # Errors
    /// `Environment` where there is none.
    fn offline_compiler(&mut self, devices: &[Cow<'_, str>]) -> Result<Offline>;

    /// Makes the library of functions that kernels for NVIDIA GPUs call.
    ///
    /// # Errors
    /// `Environment` where it cannot be made.
    fn library(&mut self) -> Result<Vec<u8>> {
        Err(Error::new(ErrorKind::Environment, "the compiler for NVIDIA GPUs was not opened"))
    }

    /// Tells what loader, platforms and devices there are.
    ///
    /// # Errors
    /// `Environment` where there is no loader or no driver.
    fn inventory(&mut self) -> Result<Inventory>;
}

/// Result of a [`Query`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// The program built.
    Answers {
        /// The driver's answers, in the order asked.
        kernels: Vec<KernelAnswers>,
        /// The build log.
        log: String,
    },
    /// The program did not build.
    Refused {
        /// The OpenCL status.
        code: i32,
        /// Name of the status.
        name: String,
        /// The build log.
        log: String,
    },
}

/// Answers requests until the parent closes `input`.
///
/// # Errors
/// Errors of reading from the parent and writing to it.
pub fn serve(input: &mut dyn Read, output: &mut dyn Write, compiler: &mut dyn Compiler) -> Result<()> {
    while let Some(request) = Request::read(input)? {
        let reply = match request {
            Request::Open(what) => compiler.open(&what).map_or_else(unavailable, Reply::Ready),
            Request::Offline { il, device, compile_options, link_options } => {
                Reply::Compiled(compiler.offline(&il, &device, &compile_options, &link_options))
            }
            Request::Offer(devices) => compiler
                .offline_compiler(&devices)
                .map_or_else(unavailable, |offline| Reply::Offline(Box::new(offline))),
            Request::Library => compiler
                .library()
                .map_or_else(unavailable, |binary| Reply::Compiled(Compiled::Built { binary, log: String::new() })),
            Request::Inventory => compiler.inventory().map_or_else(unavailable, Reply::Inventory),
            Request::Query(query) => match compiler.query(&query) {
                Asked::Answers { kernels, log } => Reply::Answers { kernels, log },
                Asked::Refused { code, name, log } => Reply::Compiled(Compiled::Refused { code, name, log }),
            },
            Request::Build { il, compile_options, link_options } => {
                Reply::Compiled(compiler.compile(&il, &compile_options, &link_options))
            }
            Request::Compile { il, compile_options } => Reply::Compiled(compiler.object(&il, &compile_options)),
            Request::Link { inputs, compile_options, link_options } => {
                Reply::Compiled(compiler.link(&inputs, &compile_options, &link_options))
            }
        };
        reply.write(output)?;
    }
    Ok(())
}

fn unavailable(error: Error) -> Reply {
    Reply::Unavailable { message: error.to_string(), remedy: error.remedy().unwrap_or_default().to_owned() }
}
