//! What did a program's runtime compile just in time?
//!
//! The document of `record`, which `build --profile` and other verbs read again. Programs are the runtime's: one or more
//! modules, compiled together for one device with one set of options.

use super::document::{Document, Form, Sink};
use super::json::{SCHEMA_VERSION, SchemaVersion};
use super::name::shorten_path;
use super::text::Shown;
use super::text::{bytes, counted};
use crate::build::record::{Recorded, RecordedTarget};
use crate::build::target::CPU_SPEC;
use crate::bytes::hex;
use crate::container::inflate;
use crate::error::{Error, Result};
use crate::limits;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The JSON Schema of the document.
pub(crate) fn schema() -> String {
    super::json::schema::<Profile>()
}

/// Programs that a runtime compiled just in time.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "sycl-bundle record")]
pub struct Profile {
    /// The version of the form.
    pub(crate) schema_version: SchemaVersion,
    /// The command that was run.
    pub(crate) command: Vec<String>,
    /// Seconds that the command ran.
    pub(crate) seconds: f64,
    /// The exit status of the command, 128 and the number of the signal that ended it.
    pub(crate) exit_status: u8,
    /// The programs, in the order in which they were compiled.
    pub(crate) programs: Vec<Program>,
}

/// A program that was compiled just in time.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RecordedProgram")]
pub(crate) struct Program {
    /// The device that it was compiled for.
    pub(crate) device: Device,
    /// Options that the device's compiler got.
    pub(crate) options: String,
    /// Bytes of values that the program had set for specialization constants.
    pub(crate) constant_bytes: usize,
    /// The images that it was made of: several where one imports from the others.
    pub(crate) images: Vec<RecordedImage>,
    /// Seconds that compiling took, where it was measured; the persistent cache of libsycl does not tell, so null with it.
    pub(crate) seconds: Option<f64>,
    /// The driver's code; null where it was not kept.
    pub(crate) native: Option<Native>,
}

impl Program {
    /// Native code as it is stored, where it was kept.
    fn code(&self) -> Option<&str> {
        self.native.as_ref()?.code.as_deref()
    }
}

/// A device, by the words of its driver.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RecordedDevice")]
pub(crate) struct Device {
    /// The platform.
    pub platform: String,
    /// The device.
    pub name: String,
    /// The version of the device.
    pub(crate) version: String,
    /// The version of the driver.
    pub driver: String,
}

/// An image of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RecordedImage {
    /// BLAKE3 of the module, as `inspect --format json` has it.
    pub(crate) blake3: String,
    /// Bytes of the module.
    pub(crate) size: u64,
    /// Kernels of the module, mangled.
    pub(crate) kernels: Vec<String>,
    /// Files that hold the image, as far as they were found.
    pub(crate) files: Vec<Place>,
}

/// A file that holds an image.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RecordedPlace")]
pub(crate) struct Place {
    /// Path of the file, through packages too.
    pub(crate) file: String,
    /// The number of the image there.
    pub(crate) image: usize,
}

/// Code that a driver made.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RecordedCode")]
pub(crate) struct Native {
    /// Bytes of the code.
    pub(crate) size: u64,
    /// The instruction set that code for CPUs is for, or the name of the Intel GPU; null where the code does not tell.
    pub(crate) target: Option<String>,
    /// The code, as base64 of a zstd frame; null where it was not kept.
    pub(crate) code: Option<String>,
}

/// Level of compression of kept code: more takes long and gains little.
const LEVEL: i32 = 9;

impl Native {
    /// Describes code, and keeps it where it is asked to.
    ///
    /// # Errors
    /// `Io` where it cannot be compressed.
    pub(crate) fn new(recorded: &Recorded, keep: bool) -> Result<Native> {
        let target = recorded.target().map(|target| match target {
            RecordedTarget::Cpu(march) => march.name().to_owned(),
            RecordedTarget::Gpu(name) => name,
        });
        let code = keep.then(|| inflate::zstd_frame(&recorded.binary, LEVEL)).transpose()?;
        let size = recorded.binary.len() as u64;
        Ok(Native { size, target, code: code.map(|code| STANDARD.encode(code)) })
    }
}

impl Profile {
    /// Reads the document of an earlier run.
    ///
    /// # Errors
    /// `Input` where it is none, or of another version.
    pub fn parse(text: &[u8]) -> Result<Profile> {
        /// The member that tells what the rest is.
        #[derive(Deserialize)]
        struct Head {
            schema_version: u32,
            programs: Option<serde::de::IgnoredAny>,
        }
        let remedy = "`sycl-bundle record -o app.profile -- ./app` writes one";
        // Commas in texts count, too: names of kernels have few.
        let values = text.iter().filter(|byte| **byte == b',').count();
        if values > (text.len() / limits::MIN_JSON_VALUE).saturating_add(limits::MANY_JSON_VALUES) {
            let message = format!("this is no profile of `record`: it has {values} values in {} bytes", text.len());
            return Err(Error::input(message).with_remedy(remedy));
        }
        let head: Head = serde_json::from_slice(text)
            .map_err(|error| Error::input(format!("this is no profile of `record`: {error}")).with_remedy(remedy))?;
        if head.programs.is_none() {
            return Err(Error::input("this is no profile of `record`: it has no `programs`").with_remedy(remedy));
        }
        if head.schema_version != SCHEMA_VERSION {
            let message =
                format!("a profile of form {}, and this program reads form {SCHEMA_VERSION}", head.schema_version);
            return Err(Error::input(message).with_remedy("use the sycl-bundle that wrote it, or record again"));
        }
        serde_json::from_slice(text).map_err(|error| Error::input(format!("the profile is malformed: {error}")))
    }

    /// The document as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Images of all programs, each once.
    pub(crate) fn images(&self) -> Vec<&RecordedImage> {
        let mut seen = HashSet::new();
        let all = self.programs.iter().flat_map(|program| &program.images);
        all.filter(|image| seen.insert(image.blake3.as_str())).collect()
    }

    /// Digests of all images.
    ///
    /// # Errors
    /// `Input` where one is malformed.
    pub(crate) fn digests(&self) -> Result<Vec<[u8; 32]>> {
        self.images().into_iter().map(|image| digest(&image.blake3)).collect()
    }

    /// Digests of images, each with the name of a device that it was compiled for.
    ///
    /// # Errors
    /// `Input` where a digest is malformed.
    pub(crate) fn devices_by_image(&self) -> Result<Vec<([u8; 32], &str)>> {
        let programs = self.programs.iter();
        let images =
            programs.flat_map(|program| program.images.iter().map(|image| (image, program.device.name.as_str())));
        images.map(|(image, device)| Ok((digest(&image.blake3)?, device))).collect()
    }

    /// Names of the devices that programs were compiled for.
    pub(crate) fn devices(&self) -> BTreeSet<&Device> {
        self.programs.iter().map(|program| &program.device).collect()
    }

    /// Names of the targets that programs were compiled for, as far as the driver's code tells.
    pub(crate) fn targets(&self) -> Vec<String> {
        let natives = self.programs.iter().filter_map(|program| program.native.as_ref()?.target.as_deref());
        let names = natives.map(|name| if name.starts_with("intel_gpu_") { name } else { CPU_SPEC });
        let mut seen = HashSet::new();
        names.filter(|name| seen.insert(*name)).map(str::to_owned).collect()
    }

    /// Code that was kept. `floor` is the number of bytes that all profiles of a run may inflate to beyond a multiple of their
    /// sizes, which this one takes from.
    ///
    /// # Errors
    /// `Input` where it is malformed.
    pub fn recorded(&self, floor: &mut u64) -> Result<Vec<Recorded>> {
        let mut all = Vec::new();
        let stored: usize = self.programs.iter().filter_map(|program| Some(program.code()?.len())).sum();
        let most = (stored as u64).saturating_mul(limits::MAX_RECORDED_RATIO).saturating_add(*floor);
        let mut room = most;
        for program in &self.programs {
            let Some(code) = program.code() else { continue };
            let damaged = |error: &dyn std::fmt::Display| {
                Error::input(format!("code in the profile is malformed: {error}"))
                    .with_remedy("record the program again")
            };
            let stored = STANDARD.decode(code).map_err(|error| damaged(&error))?;
            let beyond =
                || Error::input(format!("code in the profile has more than {most} bytes, the limit for its size"));
            if inflate::zstd_size(&stored).is_some_and(|size| size > room) {
                return Err(beyond());
            }
            let binary = inflate::zstd(&stored).map_err(|error| damaged(&error))?.into_vec();
            room = room.checked_sub(binary.len() as u64).ok_or_else(beyond)?;
            all.push(Recorded {
                modules: program.images.iter().map(|image| digest(&image.blake3)).collect::<Result<_>>()?,
                options: program.options.clone(),
                has_constants: program.constant_bytes > 0,
                binary,
            });
        }
        *floor = room.min(*floor);
        Ok(all)
    }

    /// Shows the document to a person in lines of this width.
    fn summary(&self, width: usize) -> String {
        let images = self.images();
        let mut lines = Vec::new();
        for device in self.devices() {
            let own = || self.programs.iter().filter(|program| program.device == *device);
            let code: u64 = own().filter_map(|program| Some(program.native.as_ref()?.size)).sum();
            let targets: BTreeSet<&str> =
                own().filter_map(|program| program.native.as_ref()?.target.as_deref()).collect();
            let targets = match targets.len() {
                0 => String::new(),
                _ => format!(" for {}", targets.into_iter().collect::<Vec<_>>().join(", ")),
            };
            lines.push(format!(
                "{} compiled just in time by {} ({}): {} of native code{targets}",
                counted(own().count(), "program"),
                device.name,
                device.platform,
                bytes(code)
            ));
        }
        let mut files: BTreeMap<&str, (usize, usize, u64)> = BTreeMap::new();
        let mut lost = 0usize;
        for image in &images {
            // Copies in several files are one image.
            let Some(place) = image.files.first() else {
                lost = lost.saturating_add(1);
                continue;
            };
            let counts = files.entry(&place.file).or_default();
            counts.0 = counts.0.saturating_add(1);
            counts.1 = counts.1.saturating_add(image.kernels.len());
            counts.2 = counts.2.saturating_add(image.size);
        }
        for (file, (images, kernels, size)) in files {
            let counts = format!("{}, {}, {}", counted(images, "image"), counted(kernels, "kernel"), bytes(size));
            let room = width.saturating_sub(counts.len()).saturating_sub(4);
            lines.push(format!("  {}: {counts}", shorten_path(file, room.max(20))));
        }
        if lost > 0 {
            lines.push(format!("  {} in no file that was found; name it with --in", counted(lost, "image")));
        }
        if images.is_empty() {
            lines.push("nothing was compiled just in time".to_owned());
        }
        lines.join("\n")
    }
}

/// Reads a digest in hexadecimal.
fn digest(text: &str) -> Result<[u8; 32]> {
    let malformed = || Error::input(format!("`{}` in the profile is no digest", shorten_path(text, 80)));
    let mut digest = [0; 32];
    if text.len() != digest.len().saturating_mul(2) || !text.is_ascii() {
        return Err(malformed());
    }
    for (at, byte) in digest.iter_mut().enumerate() {
        let begin = at.saturating_mul(2);
        let pair = text.get(begin..begin.saturating_add(2)).ok_or_else(malformed)?;
        *byte = u8::from_str_radix(pair, 16).map_err(|_| malformed())?;
    }
    Ok(digest)
}

/// Writes a digest in hexadecimal.
pub(crate) fn digest_text(digest: &[u8; 32]) -> String {
    hex(digest)
}

impl Document for Profile {
    fn write(&self, form: Form, out: &mut dyn Sink) -> Result<()> {
        if form == Form::Json {
            return out.made(&self.to_json());
        }
        let width = out.look().stderr_width;
        out.say(&Shown::of_lines(&self.summary(width)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn profile() -> Profile {
        let recorded = Recorded {
            modules: BTreeSet::from([[7; 32]]),
            options: "-g".to_owned(),
            has_constants: false,
            binary: b"code".repeat(100),
        };
        let place = Place { file: "lib/libfoo.so".to_owned(), image: 3 };
        let device = ["Intel(R) OpenCL", "AMD EPYC", "OpenCL 3.1", "2026.22"].map(str::to_owned);
        let [platform, name, version, driver] = device;
        Profile {
            command: vec!["./app".to_owned()],
            programs: vec![Program {
                device: Device { platform, name, version, driver },
                options: recorded.options.clone(),
                constant_bytes: 0,
                images: vec![RecordedImage {
                    blake3: digest_text(&[7; 32]),
                    size: 2048,
                    kernels: vec!["_ZTS3add".to_owned()],
                    files: vec![place],
                }],
                seconds: None,
                native: Some(Native::new(&recorded, true).unwrap()),
            }],
            ..Profile::default()
        }
    }

    #[test]
    fn a_profile_comes_back_as_it_was_written() {
        let profile = profile();
        let read = Profile::parse(profile.to_json().as_bytes()).unwrap();
        assert_eq!(read.digests().unwrap(), [[7; 32]]);
        let recorded = read.recorded(&mut { limits::MAX_INFLATED_FLOOR }).unwrap();
        assert_eq!(recorded.len(), 1);
        assert_eq!((recorded[0].binary.len(), recorded[0].options.as_str()), (400, "-g"));
        assert!(recorded[0].modules.contains(&[7; 32]));
        assert_eq!(
            read.summary(80),
            "1 program compiled just in time by AMD EPYC (Intel(R) OpenCL): 400 B of native code\n  \
             lib/libfoo.so: 1 image, 1 kernel, 2.00 KiB"
        );
    }

    #[test]
    fn code_that_inflates_without_end_is_refused() {
        let mut profile = profile();
        let zeros = zstd::bulk::compress(&vec![0; 48 << 20], 3).unwrap();
        let one = profile.programs.first_mut().unwrap();
        one.native.as_mut().unwrap().code = Some(STANDARD.encode(&zeros));
        let mut floor = limits::MAX_INFLATED_FLOOR;
        assert_eq!(profile.recorded(&mut floor).unwrap().len(), 1);
        // Another profile of the run has what is left.
        assert!(profile.recorded(&mut floor).is_err());
        profile.programs.push(profile.programs[0].clone());
        let error = profile.recorded(&mut { limits::MAX_INFLATED_FLOOR }).unwrap_err();
        assert!(error.to_string().contains("the limit for its size"), "{error}");
    }

    #[test]
    fn what_is_no_profile_is_refused() {
        let kind = |text: &str| Profile::parse(text.as_bytes()).unwrap_err().kind();
        for text in ["", "{}", "[]", r#"{"schema_version":1}"#, r#"{"schema_version":2,"programs":[]}"#] {
            assert_eq!(kind(text), ErrorKind::Input, "{text}");
        }
        let bad = profile().to_json().replace(&digest_text(&[7; 32]), "zz");
        assert!(Profile::parse(bad.as_bytes()).unwrap().digests().is_err());
        let bad = profile().to_json().replace("\"code\": \"", "\"code\": \"!");
        assert!(Profile::parse(bad.as_bytes()).unwrap().recorded(&mut 0).is_err());
    }
}
