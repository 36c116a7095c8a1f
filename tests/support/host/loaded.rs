//! What does the runtime see when a file is loaded?

use std::path::Path;
use std::process::Command;

use super::{Entries, ImageSpec, Value, toolchain};

/// Registrations of one process with the runtime, from its start to its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Loaded {
    /// The images of each descriptor, in order of registration.
    pub descriptors: Vec<Vec<LoadedImage>>,
    /// Indices of descriptors in the order in which they were unregistered.
    pub unregistered: Vec<usize>,
}

/// One image as the runtime sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedImage {
    /// Of the image structure.
    pub version: u16,
    /// Always 4, SYCL.
    pub kind: u8,
    /// See [`ImageSpec::format`].
    pub format: u8,
    /// See [`ImageSpec::target`].
    pub target: String,
    /// For the device compiler.
    pub compile_options: String,
    /// For the device linker.
    pub link_options: String,
    /// In bytes.
    pub payload_size: usize,
    /// [`fnv1a`] of the payload.
    pub payload_digest: u64,
    /// With the form of each.
    pub entries: Vec<(Entries, String)>,
    /// Names of sets; names and values of their properties.
    pub sets: Vec<(String, Vec<(String, Value)>)>,
}

impl Loaded {
    /// All images of all descriptors.
    pub fn images(&self) -> Vec<&LoadedImage> {
        self.descriptors.iter().flatten().collect()
    }

    pub(super) fn expected(units: &[Vec<ImageSpec>], version: u16, entries: Entries) -> Self {
        let image = |image: &ImageSpec| LoadedImage::expected(image, version, entries);
        Loaded {
            descriptors: units.iter().map(|unit| unit.iter().map(image).collect()).collect(),
            unregistered: (0..units.len()).rev().collect(),
        }
    }

    /// Reads what the stand-in for the runtime wrote.
    pub fn parse(dump: &str) -> Self {
        let mut loaded = Loaded::default();
        for line in dump.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            if let ["descriptor", _count] = words[..] {
                loaded.descriptors.push(Vec::new());
                continue;
            } else if let ["unregister", index] = words[..] {
                loaded.unregistered.push(index.parse().unwrap());
                continue;
            }
            let images = loaded.descriptors.last_mut().unwrap();
            if let ["image", version, kind, format, target] = words[..] {
                images.push(LoadedImage {
                    version: version.parse().unwrap(),
                    kind: kind.parse().unwrap(),
                    format: format.parse().unwrap(),
                    target: unescape(target),
                    compile_options: String::new(),
                    link_options: String::new(),
                    payload_size: 0,
                    payload_digest: 0,
                    entries: Vec::new(),
                    sets: Vec::new(),
                });
            } else {
                images.last_mut().unwrap().read(&words);
            }
        }
        loaded
    }
}

impl LoadedImage {
    fn expected(image: &ImageSpec, version: u16, entries: Entries) -> Self {
        let set = |set: &super::SetSpec| {
            let properties = set.properties.iter().map(|property| (property.name.clone(), property.value.clone()));
            (set.name.clone(), properties.collect())
        };
        LoadedImage {
            version,
            kind: 4,
            format: image.format,
            target: image.target.clone(),
            compile_options: image.compile_options.clone(),
            link_options: image.link_options.clone(),
            payload_size: image.payload.len(),
            payload_digest: fnv1a(&image.payload),
            entries: image.entries.iter().map(|name| (entries, name.clone())).collect(),
            sets: image.sets.iter().map(set).collect(),
        }
    }

    fn read(&mut self, words: &[&str]) {
        match *words {
            ["compile", options] => self.compile_options = unescape(options),
            ["link", options] => self.link_options = unescape(options),
            ["payload", size, digest] => {
                self.payload_size = size.parse().unwrap();
                self.payload_digest = u64::from_str_radix(digest, 16).unwrap();
            }
            ["entry", form, name] => {
                let form = if form == "new" { Entries::New } else { Entries::Old };
                self.entries.push((form, unescape(name)));
            }
            ["set", name] => self.sets.push((unescape(name), Vec::new())),
            [kind @ ("u32" | "bytes"), name, value] => {
                let value = if kind == "u32" { Value::U32(value.parse().unwrap()) } else { bits(value) };
                self.sets.last_mut().unwrap().1.push((unescape(name), value));
            }
            _ => panic!("a line of the dump that none of its forms matches: {words:?}"),
        }
    }
}

fn bits(hex: &str) -> Value {
    let bytes: Vec<u8> =
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
    let (prefix, content) = bytes.split_first_chunk::<8>().expect("a byte array has a length");
    Value::Bits(u64::from_le_bytes(*prefix), content.to_vec())
}

fn unescape(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first == b'%' {
            bytes.push(u8::from_str_radix(std::str::from_utf8(&tail[..2]).unwrap(), 16).unwrap());
            rest = &tail[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// FNV-1a with 64 bits, the digest that the stand-in for the runtime computes.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// Runs an executable, or loads and unloads a library, and returns what the runtime saw.
pub fn load(file: &Path) -> Loaded {
    load_result(&[file]).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Loads several libraries into one process, in this order.
pub fn load_all(files: &[&Path]) -> Loaded {
    load_result(files).unwrap_or_else(|error| panic!("{files:?}: {error}"))
}

/// As [`load_all`], for files that may not load: the error holds what the process said.
pub fn load_result(files: &[&Path]) -> Result<Loaded, String> {
    let dump = tempfile::NamedTempFile::new().unwrap();
    let mut command = if let [file] = files
        && is_executable(file)
    {
        Command::new(file)
    } else {
        let mut loader = Command::new(toolchain::loader());
        loader.args(files);
        loader
    };
    command.env("LD_LIBRARY_PATH", toolchain::runtime()).env("SYCL_STUB_DUMP", dump.path());
    let output = patient(&mut command).map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    Ok(Loaded::parse(&std::fs::read_to_string(dump.path()).unwrap()))
}

/// Runs a command. A program just written is busy as long as a process that another thread is starting has it open.
fn patient(command: &mut Command) -> std::io::Result<std::process::Output> {
    let begun = std::time::Instant::now();
    loop {
        match command.output() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy && begun.elapsed().as_secs() < 20 => {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            outcome => return outcome,
        }
    }
}

fn is_executable(file: &Path) -> bool {
    let bytes = std::fs::read(file).unwrap();
    let elf = goblin::elf::Elf::parse(&bytes).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    // A PIE and a library have the same type of file; the former names an interpreter, or says what it is.
    let says = |dynamic: &goblin::elf::Dynamic| dynamic.info.flags_1 & goblin::elf::dynamic::DF_1_PIE != 0;
    elf.interpreter.is_some() || elf.dynamic.as_ref().is_none_or(says)
}
