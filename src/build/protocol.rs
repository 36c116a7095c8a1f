//! What do a worker and its parent say to each other?
//!
//! Both speak in frames over the worker's standard input and output:
//!
//! ```text
//! frame  = "SBw1"  kind: u8  length: u32, little-endian  payload: length bytes
//! string = length: u32, little-endian  bytes
//! ```
//!
//! The parent sends one [`Request`] and waits for its one [`Reply`]. The mark at the head tells a frame from text that a
//! driver prints, and from a worker of another version. A payload is at most [`MAX_PAYLOAD`] bytes, that of a reply fewer,
//! by what was asked ([`Request::most`]); memory grows with what arrives, not with what a header claims. Long texts of a
//! worker are cut, by both. End of input at a frame's start is the normal end.

use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use super::inventory::{Inventory, Offline};
use super::query::{KernelAnswers, Query};
use super::{Open, Places};
use crate::error::{Error, Result};
use crate::limits;

/// No module and no binary comes near this; it keeps a confused peer from asking for all memory.
pub(crate) const MAX_PAYLOAD: u32 = 1 << 30;

const MARK: [u8; 4] = *b"SBw1";

/// Request of the parent.
#[derive(Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// Find the compiler; of a device, make a context.
    Open(Open),
    /// Compile one module.
    Build {
        /// The SPIR-V module.
        il: Cow<'a, [u8]>,
        /// Options of the compiler.
        compile_options: Cow<'a, str>,
        /// Options of the linker.
        link_options: Cow<'a, str>,
    },
    /// Tell what the offline compiler that was opened consists of, and which of these devices it does not know.
    Offer(Vec<Cow<'a, str>>),
    /// Make the library of functions that kernels for NVIDIA GPUs call.
    Library,
    /// Tell what loader, platforms and devices there are.
    Inventory,
    /// Build a program and ask the driver about its kernels.
    Query(Query<'a>),
    /// Compile one module to an object.
    Compile {
        /// The SPIR-V module.
        il: Cow<'a, [u8]>,
        /// Options of the compiler.
        compile_options: Cow<'a, str>,
    },
    /// Compile one module for a GPU that need not be there.
    Offline {
        /// The SPIR-V module.
        il: Cow<'a, [u8]>,
        /// The GPU.
        device: Cow<'a, str>,
        /// Options of the compiler.
        compile_options: Cow<'a, str>,
        /// Options of the linker.
        link_options: Cow<'a, str>,
    },
    /// Link objects, and modules that are compiled first, to an executable.
    Link {
        /// Objects and SPIR-V modules.
        inputs: Vec<Cow<'a, [u8]>>,
        /// Options of the compiler, for the modules.
        compile_options: Cow<'a, str>,
        /// Options of the linker.
        link_options: Cow<'a, str>,
    },
}

/// Reply of the worker.
#[derive(Debug, PartialEq, Eq)]
pub enum Reply {
    /// The context stands; names the device and its driver.
    Ready(String),
    /// The machine lacks something; no retry will help.
    Unavailable {
        /// Description of what is missing.
        message: String,
        /// Remedy for the user.
        remedy: String,
    },
    /// Result of compiling a module, or the reason why a queried program did not build.
    Compiled(Compiled),
    /// Loader, platforms and devices.
    Inventory(Inventory),
    /// Description of the offline compiler.
    Offline(Box<Offline>),
    /// The driver's answers about each kernel, in the order asked.
    Answers {
        /// The kernels.
        kernels: Vec<KernelAnswers>,
        /// The build log.
        log: String,
    },
}

/// Result of compiling a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compiled {
    /// A device binary and the build log.
    Built {
        /// As the driver gave it.
        binary: Vec<u8>,
        /// The build log.
        log: String,
    },
    /// The driver said no.
    Refused {
        /// The OpenCL status.
        code: i32,
        /// Name of the status.
        name: String,
        /// The build log.
        log: String,
    },
    /// The driver said yes and delivered nothing usable.
    Hollow {
        /// Description of what is wrong with the delivery.
        reason: String,
        /// The build log.
        log: String,
    },
}

impl Request<'_> {
    /// The whole frame.
    ///
    /// # Errors
    /// `Input` where a field is larger than a frame can say.
    pub fn encode(&self) -> Result<Vec<u8>> {
        match self {
            Request::Open(Open::Cpu) => frame(1, &[]),
            Request::Open(Open::Device(place)) => frame(1, &[&place.to_le_bytes()]),
            Request::Open(Open::Ocloc(path)) => {
                frame(7, &[path.as_deref().map_or(&[][..], |path| path.as_os_str().as_encoded_bytes())])
            }
            Request::Open(Open::Nvidia(places)) => {
                let path = |path: &'_ Option<PathBuf>| {
                    path.as_deref().map_or_else(Vec::new, |path| path.as_os_str().as_encoded_bytes().to_vec())
                };
                frame(10, &[&path(&places.llvm), &path(&places.cuda), places.library.as_deref().unwrap_or_default()])
            }
            Request::Offline { il, device, compile_options, link_options } => {
                frame(8, &[il, device.as_bytes(), compile_options.as_bytes(), link_options.as_bytes()])
            }
            Request::Build { il, compile_options, link_options } => {
                frame(2, &[il, compile_options.as_bytes(), link_options.as_bytes()])
            }
            Request::Inventory => frame(3, &[]),
            Request::Library => frame(11, &[]),
            Request::Offer(devices) => frame(9, &devices.iter().map(|device| device.as_bytes()).collect::<Vec<_>>()),
            Request::Query(query) => frame(4, &query.fields()),
            Request::Compile { il, compile_options } => frame(5, &[il, compile_options.as_bytes()]),
            Request::Link { inputs, compile_options, link_options } => {
                let mut fields = vec![compile_options.as_bytes(), link_options.as_bytes()];
                fields.extend(inputs.iter().map(AsRef::as_ref));
                frame(6, &fields)
            }
        }
    }

    /// The most bytes that a reply may have: a binary by what it is made of, all others a bounded number.
    pub(crate) fn most(&self) -> u32 {
        let made_of = match self {
            Request::Build { il, .. } | Request::Compile { il, .. } | Request::Offline { il, .. } => il.len() as u64,
            Request::Link { inputs, .. } => inputs.iter().map(|input| input.len() as u64).sum(),
            Request::Open(_) | Request::Offer(_) | Request::Library | Request::Inventory | Request::Query(_) => 0,
        };
        let most = made_of.saturating_mul(limits::MAX_BINARY_RATIO).saturating_add(limits::MAX_WORKER_ANSWER.into());
        u32::try_from(most).unwrap_or(MAX_PAYLOAD).min(MAX_PAYLOAD)
    }

    /// The next request, or nothing at the end of input.
    ///
    /// # Errors
    /// `Io` where it cannot be read, `Input` where it is cut or of a kind that is not known.
    pub(crate) fn read(input: &mut dyn Read) -> Result<Option<Request<'static>>> {
        let Some((kind, payload)) = read_frame(input)? else { return Ok(None) };
        let mut fields = Fields(&payload);
        Ok(Some(match kind {
            1 if fields.is_empty() => Request::Open(Open::Cpu),
            1 => Request::Open(Open::Device(fields.place()?)),
            2 => Request::Build {
                il: fields.bytes()?.to_vec().into(),
                compile_options: fields.text()?.into(),
                link_options: fields.text()?.into(),
            },
            3 => Request::Inventory,
            4 => Request::Query(Query::decode(&mut fields)?),
            5 => Request::Compile { il: fields.bytes()?.to_vec().into(), compile_options: fields.text()?.into() },
            6 => {
                let (compile_options, link_options) = (fields.text()?.into(), fields.text()?.into());
                let mut inputs = Vec::new();
                while !fields.is_empty() {
                    inputs.push(fields.bytes()?.to_vec().into());
                }
                Request::Link { inputs, compile_options, link_options }
            }
            7 => {
                let path = Some(fields.text()?).filter(|path| !path.is_empty());
                Request::Open(Open::Ocloc(path.map(PathBuf::from)))
            }
            8 => Request::Offline {
                il: fields.bytes()?.to_vec().into(),
                device: fields.text()?.into(),
                compile_options: fields.text()?.into(),
                link_options: fields.text()?.into(),
            },
            9 => {
                let mut devices = Vec::new();
                while !fields.is_empty() {
                    devices.push(fields.text()?.into());
                }
                Request::Offer(devices)
            }
            10 => {
                let mut path = || Ok(Some(fields.text()?).filter(|path| !path.is_empty()).map(PathBuf::from));
                let (llvm, cuda) = (path()?, path()?);
                let library = Some(fields.bytes()?).filter(|library| !library.is_empty()).map(Arc::from);
                Request::Open(Open::Nvidia(Places { llvm, cuda, library }))
            }
            11 => Request::Library,
            other => return Err(Error::input(format!("a request of unknown kind {other}"))),
        }))
    }
}

/// Returns paths as lines, but for those that are not UTF-8.
pub(super) fn path_lines(paths: &[PathBuf]) -> String {
    paths.iter().filter_map(|path| path.to_str()).collect::<Vec<_>>().join("\n")
}

impl Reply {
    /// The whole frame.
    ///
    /// # Errors
    /// `Input` where a field is larger than a frame can say.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        match self {
            Reply::Ready(device) => frame(1, &[cut(device).as_bytes()]),
            Reply::Unavailable { message, remedy } => frame(2, &[cut(message).as_bytes(), cut(remedy).as_bytes()]),
            Reply::Compiled(Compiled::Built { binary, log }) => frame(BUILT, &[binary, cut(log).as_bytes()]),
            Reply::Compiled(Compiled::Refused { code, name, log }) => {
                frame(4, &[&code.to_le_bytes(), cut(name).as_bytes(), cut(log).as_bytes()])
            }
            Reply::Compiled(Compiled::Hollow { reason, log }) => {
                frame(5, &[cut(reason).as_bytes(), cut(log).as_bytes()])
            }
            Reply::Inventory(inventory) => frame(6, &slices(&inventory.encode())),
            Reply::Offline(offline) => {
                let [files, loaded] = [&offline.files, &offline.loaded].map(|files| path_lines(files));
                let [unknown, added] = [&offline.unknown, &offline.added].map(|list| list.join("\n"));
                let [files, loaded, unknown, added] = [&files, &loaded, &unknown, &added].map(|text| text.as_bytes());
                let how: &[u8] = if offline.in_process { b"library" } else { b"program" };
                let known: &[u8] = if offline.unsure { b"unsure" } else { b"known" };
                frame(8, &[offline.version.as_bytes(), files, loaded, unknown, added, how, known])
            }
            Reply::Answers { kernels, log } => {
                let kernels: Vec<Vec<u8>> = kernels.iter().flat_map(KernelAnswers::fields).collect();
                let log = cut(log);
                let mut fields = vec![log.as_bytes()];
                fields.extend(slices(&kernels));
                frame(7, &fields)
            }
        }
    }

    /// Writes the frame and flushes.
    ///
    /// # Errors
    /// Errors of [`Reply::encode`]; `Io` where it cannot be written.
    pub(crate) fn write(&self, output: &mut dyn Write) -> Result<()> {
        let failed = |error: io::Error| Error::io("writing to the parent process", &error);
        output.write_all(&self.encode()?).map_err(failed)?;
        output.flush().map_err(failed)
    }

    /// The length of the reply that bytes begin with; none where they end before its own head does.
    ///
    /// # Errors
    /// `Input` where it is none, or longer than one of its kind may be; one with a binary has `most` bytes at most.
    fn length(bytes: &[u8], most: u32) -> Result<Option<usize>> {
        let Some(head) = bytes.first_chunk::<HEAD>() else { return Ok(None) };
        let (kind, length) = read_head(head)?;
        if length > if kind == BUILT { most } else { limits::MAX_WORKER_ANSWER } {
            return Err(Error::input(format!("an answer of {length} bytes")));
        }
        Ok(Some(HEAD.saturating_add(length as usize)))
    }

    /// Whether bytes hold a whole reply, or something else than the beginning of one.
    pub(crate) fn is_whole(bytes: &[u8], most: u32) -> bool {
        Reply::length(bytes, most).map_or(true, |length| length.is_some_and(|length| length <= bytes.len()))
    }

    /// The reply that bytes begin with, and its length there; none where they end before it does.
    ///
    /// # Errors
    /// `Input` where it is none, of a kind that is not known, or longer than one may be ([`Request::most`]).
    pub(crate) fn first(bytes: &[u8], most: u32) -> Result<Option<(Reply, usize)>> {
        let Some(length) = Reply::length(bytes, most)? else { return Ok(None) };
        let Some([_, _, _, _, kind, _, _, _, _, payload @ ..]) = bytes.get(..length) else { return Ok(None) };
        Ok(Some((Reply::decode(*kind, payload)?, length)))
    }

    /// The next reply, or nothing at the end of input.
    ///
    /// # Errors
    /// `Io` where it cannot be read, `Input` where it is cut or of a kind that is not known.
    pub fn read(input: &mut dyn Read) -> Result<Option<Reply>> {
        read_frame(input)?.map(|(kind, payload)| Reply::decode(kind, &payload)).transpose()
    }

    fn decode(kind: u8, payload: &[u8]) -> Result<Reply> {
        let mut fields = Fields(payload);
        Ok(match kind {
            1 => Reply::Ready(fields.said()?),
            2 => Reply::Unavailable { message: fields.said()?, remedy: fields.said()? },
            BUILT => Reply::Compiled(Compiled::Built { binary: fields.bytes()?.to_vec(), log: fields.said()? }),
            4 => Reply::Compiled(Compiled::Refused { code: fields.code()?, name: fields.said()?, log: fields.said()? }),
            5 => Reply::Compiled(Compiled::Hollow { reason: fields.said()?, log: fields.said()? }),
            6 => Reply::Inventory(Inventory::decode(&mut fields)?),
            7 => {
                let (log, mut kernels) = (fields.said()?, Vec::new());
                while !fields.is_empty() {
                    kernels.push(KernelAnswers::decode(&mut fields)?);
                }
                Reply::Answers { kernels, log }
            }
            8 => Reply::Offline(Box::new(Offline {
                version: fields.said()?,
                files: fields.paths()?,
                loaded: fields.paths()?,
                unknown: fields.names()?,
                added: fields.names()?,
                in_process: fields.bytes()? == b"library",
                unsure: fields.bytes()? == b"unsure",
            })),
            other => return Err(Error::input(format!("a reply of unknown kind {other}"))),
        })
    }

    /// Explains that the reply is none to what was asked.
    pub(crate) fn unexpected(&self) -> String {
        let subject = match self {
            Reply::Ready(_) => "that it is ready",
            Reply::Unavailable { .. } => "what the machine lacks",
            Reply::Compiled(_) => "how compiling a module went",
            Reply::Inventory(_) => "which devices there are",
            Reply::Offline(_) => "what its compiler is like",
            Reply::Answers { .. } => "what kernels are like",
        };
        format!("the worker process answered otherwise than asked: {subject}")
    }
}

/// The kind of a reply with a binary, the only one that may be large.
const BUILT: u8 = 3;

/// Bytes of the sentence that stands in the place of what is cut out of a text.
const CUT_ROOM: usize = 64;

/// Cuts the middle out of a long text, and says so there. What was cut once is not cut again.
fn cut(text: &str) -> Cow<'_, str> {
    shortened(text.as_bytes()).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The beginning and the end of a text that is too long; none where it is not.
fn shortened(text: &[u8]) -> Option<String> {
    const SIDE: usize = limits::MAX_WORKER_TEXT;
    let left = text.len().checked_sub(2 * SIDE).filter(|more| *more > CUT_ROOM)?;
    let (head, rest) = text.split_at_checked(SIDE)?;
    let (_, tail) = rest.split_at_checked(left)?;
    let [head, tail] = [head, tail].map(String::from_utf8_lossy);
    Some(format!("{head}\n[{left} bytes are left out here]\n{tail}"))
}

fn frame(kind: u8, fields: &[&[u8]]) -> Result<Vec<u8>> {
    let too_large = || Error::input(format!("more than {MAX_PAYLOAD} bytes for one worker"));
    let length = fields.iter().try_fold(0u32, |sum, field| {
        let field = u32::try_from(field.len()).ok()?.checked_add(4)?;
        sum.checked_add(field).filter(|sum| *sum <= MAX_PAYLOAD)
    });
    let length = length.ok_or_else(too_large)?;
    let mut out = Vec::with_capacity(length as usize + 9);
    out.extend_from_slice(&MARK);
    out.push(kind);
    out.extend_from_slice(&length.to_le_bytes());
    for field in fields {
        out.extend_from_slice(&u32::try_from(field.len()).map_err(|_| too_large())?.to_le_bytes());
        out.extend_from_slice(field);
    }
    Ok(out)
}

/// Bytes before a payload.
const HEAD: usize = 9;

/// The kind and the length of a frame.
fn read_head(head: &[u8; HEAD]) -> Result<(u8, u32)> {
    let [m0, m1, m2, m3, kind, l0, l1, l2, l3] = *head;
    if [m0, m1, m2, m3] != MARK {
        return Err(Error::input(format!("no frame but {:?}", String::from_utf8_lossy(head))));
    }
    let length = u32::from_le_bytes([l0, l1, l2, l3]);
    if length > MAX_PAYLOAD { Err(Error::input(format!("a frame of {length} bytes"))) } else { Ok((kind, length)) }
}

fn read_frame(input: &mut dyn Read) -> Result<Option<(u8, Vec<u8>)>> {
    let failed = |error: io::Error| Error::io("reading a frame", &error);
    let mut head = Vec::with_capacity(HEAD);
    input.take(HEAD as u64).read_to_end(&mut head).map_err(failed)?;
    if head.is_empty() {
        return Ok(None);
    }
    let Some(head) = head.first_chunk() else {
        return Err(Error::input(format!("a frame cut short after {:?}", String::from_utf8_lossy(&head))));
    };
    let (kind, length) = read_head(head)?;
    let mut payload = Vec::new();
    input.take(u64::from(length)).read_to_end(&mut payload).map_err(failed)?;
    if payload.len() as u64 != u64::from(length) {
        return Err(Error::input(format!("a frame cut short: {} of {length} bytes", payload.len())));
    }
    Ok(Some((kind, payload)))
}

fn slices(fields: &[Vec<u8>]) -> Vec<&[u8]> {
    fields.iter().map(Vec::as_slice).collect()
}

/// The fields of a payload that are still to be read.
pub(super) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8]> {
        let short = || Error::input("a frame with a field missing");
        let (length, rest) = self.0.split_first_chunk::<4>().ok_or_else(short)?;
        let (field, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(short)?;
        self.0 = rest;
        Ok(field)
    }

    /// A text that counts as it is.
    pub(crate) fn text(&mut self) -> Result<String> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    /// A text for people, cut where it is long.
    pub(crate) fn said(&mut self) -> Result<String> {
        let bytes = self.bytes()?;
        Ok(shortened(bytes).unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned()))
    }

    /// Names, one per line.
    pub(crate) fn names(&mut self) -> Result<Vec<String>> {
        let text = self.text()?;
        if text.len() > 2 * limits::MAX_WORKER_TEXT {
            return Err(Error::input(format!("names of {} bytes", text.len())));
        }
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Paths, as [`path_lines`] writes them.
    pub(crate) fn paths(&mut self) -> Result<Vec<PathBuf>> {
        Ok(self.names()?.into_iter().map(PathBuf::from).collect())
    }

    /// 64-bit numbers.
    pub(crate) fn numbers(&mut self) -> Result<Vec<u64>> {
        let bytes = self.bytes()?;
        let (numbers, []) = bytes.as_chunks::<8>() else {
            return Err(Error::input(format!("numbers of eight bytes in a field of {}", bytes.len())));
        };
        Ok(numbers.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
    }

    pub(crate) fn code(&mut self) -> Result<i32> {
        let bytes = self.bytes()?;
        let code = bytes.try_into().map_err(|_| Error::input("a status that is not four bytes"))?;
        Ok(i32::from_le_bytes(code))
    }

    pub(crate) fn place(&mut self) -> Result<u32> {
        Ok(self.code()?.cast_unsigned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::inventory::Device;

    #[test]
    fn what_is_written_is_read() {
        let query = Request::Query(Query {
            modules: vec![vec![1, 2].into(), vec![3].into()],
            native: true,
            options: "-g".into(),
            kernels: vec!["k".into(), "l".into()],
        });
        let build =
            Request::Build { il: vec![3, 2, 35, 7].into(), compile_options: "-g".into(), link_options: "".into() };
        let compile = Request::Compile { il: vec![7].into(), compile_options: "-w".into() };
        let inputs = vec![vec![1].into(), vec![2, 3].into()];
        let link = Request::Link { inputs, compile_options: "-g".into(), link_options: "".into() };
        let opens = [
            Open::Cpu,
            Open::Device(7),
            Open::Ocloc(None),
            Open::Ocloc(Some("/x/libocloc.so".into())),
            Open::Nvidia(Places { cuda: Some("/c".into()), ..Places::default() }),
            Open::Nvidia(Places { library: Some([7, 8].into()), ..Places::default() }),
        ];
        let (il, device) = (vec![7].into(), "pvc".into());
        let offline = Request::Offline { il, device, compile_options: "-g".into(), link_options: "-h".into() };
        let offer = Request::Offer(vec!["pvc".into(), "dg1".into()]);
        let others = [build, Request::Inventory, Request::Library, query, compile, link, offline, offer];
        for request in opens.map(Request::Open).into_iter().chain(others) {
            let bytes = request.encode().unwrap();
            assert_eq!(Request::read(&mut bytes.as_slice()).unwrap(), Some(request));
            for cut in 1..bytes.len() {
                assert!(Request::read(&mut bytes.get(..cut).unwrap()).is_err(), "cut at {cut}");
            }
        }
        let device = Device {
            name: "AMD EPYC".into(),
            compiles: true,
            aspects: vec!["cpu".into(), "fp64".into()],
            sub_group_sizes: vec![4, 64],
            max_parameter_size: 3840,
            gmdid: 0x0500_4000,
            ..Device::default()
        };
        let problems = vec!["broken".into()];
        let files = vec!["/a/libintelocl.so".into(), "/a/cl.cfg".into()];
        let (devices, loaded) = (vec![device, Device::default()], vec!["/b/libLLVM.so".into()]);
        let inventory = Inventory { loader: "/x".into(), devices, problems, files, loaded: loaded.clone() };
        let answers =
            KernelAnswers { name: "k".into(), status: 0, answers: vec![(0x11B0, Ok(vec![1; 8])), (7, Err(-30))] };
        let none = KernelAnswers { name: "l".into(), status: -46, answers: Vec::new() };
        let offline = Offline {
            version: "22.43".into(),
            files: vec!["/a/libocloc.so".into(), "/b/libigc.so".into()],
            loaded,
            unknown: vec!["bmg-g21".into()],
            added: vec!["dg2 --format zebin".into()],
            in_process: true,
            unsure: true,
        };
        for reply in [
            Reply::Ready("x".into()),
            Reply::Compiled(Compiled::Built { binary: vec![0; 70000], log: "ü".into() }),
            Reply::Compiled(Compiled::Refused { code: -43, name: "N".into(), log: String::new() }),
            Reply::Inventory(inventory),
            Reply::Offline(Box::new(offline)),
            Reply::Answers { kernels: vec![answers, none], log: "l".into() },
        ] {
            let bytes = reply.encode().unwrap();
            assert_eq!(Reply::read(&mut bytes.as_slice()).unwrap(), Some(reply));
        }
        assert_eq!(Reply::read(&mut [].as_slice()).unwrap(), None);
    }

    #[test]
    fn other_text_is_not_a_frame() {
        let error = Reply::read(&mut b"warning: LLVM says hello".as_slice()).unwrap_err();
        assert_eq!(error.message(), "no frame but \"warning: \"");
        // A header that claims 4 GB costs nothing.
        assert!(Reply::read(&mut b"SBw1\x03\xff\xff\xff\xff".as_slice()).is_err());
        assert!(Reply::read(&mut b"SBw1\x03\x00\x00\x00\x40".as_slice()).is_err());
        assert!(Reply::read(&mut b"SBw1\x03\x04\x00\x00\x00\xff\xff\xff\xff".as_slice()).is_err());
    }

    #[test]
    fn long_texts_are_cut_once_and_say_so() {
        let long = format!("{}{}", "a".repeat(1 << 20), "z".repeat(1 << 20));
        let short = cut(&long).into_owned();
        assert!(
            short.starts_with("aaa") && short.ends_with("zzz") && short.contains("[1966080 bytes are left out here]")
        );
        assert!(short.len() <= 2 * limits::MAX_WORKER_TEXT + CUT_ROOM);
        assert_eq!(cut(&short), short);
        let all = [
            Reply::Ready(long.clone()),
            Reply::Unavailable { message: long.clone(), remedy: long.clone() },
            Reply::Compiled(Compiled::Built { binary: vec![1; 9], log: long.clone() }),
            Reply::Compiled(Compiled::Refused { code: 1, name: long.clone(), log: long.clone() }),
            Reply::Compiled(Compiled::Hollow { reason: long.clone(), log: long.clone() }),
            Reply::Answers { kernels: Vec::new(), log: long.clone() },
        ];
        for reply in all {
            let bytes = reply.encode().unwrap();
            assert!(bytes.len() < 300_000);
            let (read, length) = Reply::first(&bytes, MAX_PAYLOAD).unwrap().unwrap();
            assert!(length == bytes.len() && format!("{read:?}").contains("left out here"));
        }
        // A worker that does not keep to it is cut here.
        let frame = frame(2, &[long.as_bytes(), b""]).unwrap();
        assert_eq!(
            Reply::first(&frame, MAX_PAYLOAD).unwrap().unwrap().0,
            Reply::Unavailable { message: short, remedy: String::new() }
        );
    }

    #[test]
    fn only_what_holds_a_binary_is_large() {
        let head = |kind: u8| [&MARK[..], &[kind], &(limits::MAX_WORKER_ANSWER + 1).to_le_bytes()].concat();
        assert_eq!(Reply::first(&head(BUILT), MAX_PAYLOAD).unwrap(), None);
        // Where nothing is compiled, none is; and by a module only so large a one.
        for request in [Request::Open(Open::Cpu), Request::Inventory, Request::Library, Request::Offer(Vec::new())] {
            assert!(Reply::first(&head(BUILT), request.most()).is_err(), "{request:?}");
        }
        let build =
            |il: &'static [u8]| Request::Build { il: il.into(), compile_options: "".into(), link_options: "".into() };
        assert!(Reply::first(&head(BUILT), build(b"").most()).is_err());
        assert_eq!(Reply::first(&head(BUILT), build(b"1").most()).unwrap(), None);
        assert_eq!(build(&[0; 64 << 20]).most(), MAX_PAYLOAD);
        for kind in [1, 2, 4, 5, 6, 7, 8] {
            assert!(Reply::first(&head(kind), MAX_PAYLOAD).is_err(), "{kind}");
        }
        let names = "n\n".repeat(1 << 20);
        assert!(Reply::first(&frame(8, &[b"", names.as_bytes(), b"", b"", b""]).unwrap(), MAX_PAYLOAD).is_err());
    }

    #[test]
    fn sizes_that_are_none_are_errors() {
        // Numbers are eight bytes each, and an answer has a head of twelve.
        assert!(Fields(&[4, 0, 0, 0, 1, 2, 3, 4]).numbers().is_err());
        assert_eq!(Fields(&[8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]).numbers().unwrap(), [1]);
        let inventory = Inventory { devices: vec![Device::default()], ..Inventory::default() };
        let mut fields = inventory.encode();
        fields.last_mut().unwrap().truncate(40);
        let damaged = frame(6, &slices(&fields)).unwrap();
        assert!(Reply::read(&mut damaged.as_slice()).is_err());
        let answers: [&[u8]; 4] = [b"log", b"kernel", &[0; 4], &[0; 5]];
        assert!(Reply::read(&mut frame(7, &answers).unwrap().as_slice()).is_err());
    }
}
