//! What does the workers' compiler do with a module?
//!
//! What its text says: build it, crash, crash once, hang, exit, talk nonsense.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::exit, reason = "drivers print and exit")]

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::FromRawFd;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use sycl_bundle::build::protocol::Compiled;
use sycl_bundle::build::query::{KernelAnswers, Query};
use sycl_bundle::build::serve::{Asked, Compiler};
use sycl_bundle::build::{Device, Inventory, Offline, Open};
use sycl_bundle::error::{Error, ErrorKind, Result};

/// Variable with the folder in which a worker leaves its process id and its traces.
pub const DIR: &str = "BUILD_POOL_TEST_DIR";
/// Variable with the worker's behaviour at the start.
pub const START: &str = "BUILD_POOL_TEST_START";

/// The compiler.
pub struct Scripted;

impl Compiler for Scripted {
    fn open(&mut self, _what: &Open) -> Result<String> {
        let dir = std::env::var(DIR).unwrap();
        // A driver prints to descriptor 1, which is not the protocol's.
        println!("the driver says hello on standard output");
        File::create(Path::new(&dir).join(format!("pid-{}", getpid().as_raw_nonzero()))).unwrap();
        match std::env::var(START).unwrap_or_default().as_str() {
            "unavailable" => Err(Error::new(ErrorKind::Environment, "no loader").with_remedy("get one")),
            "hang" => hang(),
            "crash" => crash(Signal::ABORT),
            "crash once" if first_time("start") => crash(Signal::SEGV),
            "otherwise" => {
                protocol().write_all(&frame(3, &[&[200; 30 << 20], b""])).unwrap();
                hang()
            }
            "early" => {
                let answers = [frame(1, &[b"scripted"]), frame(3, &[b"native", b""])].concat();
                protocol().write_all(&answers).unwrap();
                hang()
            }
            _ => Ok("scripted".to_owned()),
        }
    }

    fn object(&mut self, il: &[u8], compile_options: &str) -> Compiled {
        Compiled::Built { binary: [b"object ", il].concat(), log: compile_options.to_owned() }
    }

    fn offline(&mut self, il: &[u8], device: &str, compile_options: &str, link_options: &str) -> Compiled {
        let log = format!("{compile_options}|{link_options}");
        Compiled::Built { binary: [b"native ", il, b" for ", device.as_bytes()].concat(), log }
    }

    fn link(&mut self, inputs: &[Cow<'_, [u8]>], compile_options: &str, link_options: &str) -> Compiled {
        Compiled::Built { binary: inputs.concat(), log: format!("{compile_options}|{link_options}") }
    }

    fn compile(&mut self, il: &[u8], compile_options: &str, link_options: &str) -> Compiled {
        let text = String::from_utf8_lossy(il).trim_end_matches('.').to_owned();
        let log = format!("{compile_options}|{link_options}");
        match text.as_str() {
            "crash" => {
                eprintln!("PLEASE submit a bug report");
                crash(Signal::SEGV)
            }
            "crash once" if first_time("once") => crash(Signal::SEGV),
            "hang" => hang(),
            "exit" => std::process::exit(10),
            "nonsense" => {
                protocol().write_all(b"LLVM ERROR: out of everything").unwrap();
                hang()
            }
            "otherwise" => {
                protocol().write_all(&frame(1, &[&[b'a'; 30 << 20]])).unwrap();
                hang()
            }
            "flood" => {
                // The parent may be gone before it is written.
                let _ = protocol().write_all(&frame(3, &[&vec![200; 80 << 20], b""]));
                hang()
            }
            "leave" => {
                leave();
                std::process::exit(7)
            }
            "leave and hang" => {
                leave();
                hang()
            }
            "long log" => Compiled::Refused { code: -11, name: "N".into(), log: "l".repeat(30 << 20) },
            "refuse" => Compiled::Refused { code: -11, name: "CL_BUILD_PROGRAM_FAILURE".into(), log },
            "hollow" => Compiled::Hollow { reason: "nothing inside".into(), log },
            "chatter" => {
                // More than a pipe holds, on both.
                println!("{}", "o".repeat(200_000));
                eprintln!("{}", "e".repeat(200_000));
                Compiled::Built { binary: il.to_vec(), log }
            }
            _ => Compiled::Built { binary: [b"native ", il].concat(), log },
        }
    }

    fn query(&mut self, query: &Query<'_>) -> Asked {
        let module = query.modules.first().map(|module| String::from_utf8_lossy(module).into_owned());
        match module.unwrap_or_default().as_str() {
            "crash" => crash(Signal::SEGV),
            "crash once" if first_time("once") => crash(Signal::SEGV),
            "hang" => hang(),
            "refuse" => {
                Asked::Refused { code: -11, name: "CL_BUILD_PROGRAM_FAILURE".into(), log: query.options.clone().into() }
            }
            _ => {
                let kernel = |name: &Cow<'_, str>| KernelAnswers {
                    name: name.clone().into(),
                    status: 0,
                    answers: vec![(0x11B0, Ok(vec![8; 8])), (0x11B5, Err(-30))],
                };
                Asked::Answers { kernels: query.kernels.iter().map(kernel).collect(), log: String::new() }
            }
        }
    }

    fn offline_compiler(&mut self, devices: &[Cow<'_, str>]) -> Result<Offline> {
        let unknown = devices.iter().map(|device| device.clone().into_owned()).collect();
        Ok(Offline { version: "scripted".into(), unknown, in_process: true, ..Offline::default() })
    }

    fn inventory(&mut self) -> Result<Inventory> {
        self.open(&Open::Cpu)?;
        let device = Device { name: "scripted".into(), compiles: true, ..Device::default() };
        Ok(Inventory { loader: "/lib/x".into(), devices: vec![device], ..Inventory::default() })
    }
}

fn hang() -> ! {
    loop {
        sleep(Duration::from_secs(3600));
    }
}

/// Rust's own handler of SIGSEGV takes the first for a fault that will come again, so more follow.
fn crash(signal: Signal) -> ! {
    loop {
        kill_process(getpid(), signal).unwrap();
    }
}

/// Starts a process that holds all that this one has open, and leaves its number as a worker does.
#[allow(clippy::zombie_processes, reason = "that it is left is what is tried")]
fn leave() {
    let left = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    File::create(Path::new(&std::env::var(DIR).unwrap()).join(format!("pid-{}", left.id()))).unwrap();
}

/// A reply, written as no honest worker writes it.
fn frame(kind: u8, fields: &[&[u8]]) -> Vec<u8> {
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap().to_le_bytes();
    let payload: Vec<u8> = fields.iter().flat_map(|field| [&length(field)[..], field].concat()).collect();
    [&b"SBw1"[..], &[kind], &length(&payload), &payload].concat()
}

/// Whether nobody asked before, in any worker of this test.
fn first_time(what: &str) -> bool {
    let path = Path::new(&std::env::var(DIR).unwrap()).join(what);
    OpenOptions::new().write(true).create_new(true).open(path).is_ok()
}

/// The worker's way to its parent, see `launch`: a socket, which has no name to be opened by.
#[allow(unsafe_code, reason = "the shell that started this process left it open")]
pub fn protocol() -> File {
    unsafe { File::from_raw_fd(3) }
}
