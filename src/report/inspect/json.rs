//! What is in a file, for a script?
//!
//! The contract of `inspect --format json`. Images that nobody has examined yet are examined where they are serialised, so
//! that of each only its text is kept.

use crate::bundle::aspect::Epoch;
use crate::bundle::format::Format;
use crate::bundle::image::{Compression, State};
use crate::bundle::requirements::Requirements;
use crate::bytes::hex;
use crate::compat::examine::{Examined, examine_images};
use crate::container::kind::Kind;
use crate::demangle::demangle;
use crate::device::cpu::CpuArch;
use crate::error::Result;
use crate::native;
use crate::native::{Coverage, Driver};
use crate::report::json::writer::{Gap, push, split};
use crate::report::json::{ImageProblem, Rows, SchemaVersion, put};
use crate::report::props::json::Sets;
use crate::report::{FileFacts, json, name};
use crate::spirv::{Module, grammar};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// The JSON Schema of `inspect --format json`.
pub(crate) fn schema() -> String {
    json::schema::<Listing<Vec<File<'_, Vec<Image<'_>>>>>>()
}

/// The device images of files.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle inspect --format json")]
struct Listing<F> {
    /// The version of the form.
    schema_version: SchemaVersion,
    /// The files.
    files: F,
}

/// A file.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "File")]
struct File<'a, I> {
    /// The path as given on the command line; `-` is standard input. Through packages, the steps are parted by `!`:
    /// `a.whl!lib/x.so`.
    path: &'a str,
    /// The container format; null where the file could not be recognised, and for a package or folder that holds no
    /// device code.
    container: Option<Kind>,
    /// The device compiler that signed the file.
    producer: Option<&'a str>,
    /// N of the `libsycl.so.N` that the file is linked to.
    sycl_abi: Option<u32>,
    /// Bytes of the file.
    size: u64,
    /// The images that are selected, in the order of the file.
    images: I,
    /// Parts that could not be read.
    problems: Vec<ImageProblem>,
}

/// A device image.
#[derive(Serialize, JsonSchema)]
struct Image<'a> {
    /// The path of the file, with `--format jsonl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    /// The number of the image in its file.
    index: usize,
    /// The state in the SYCL 2020 kernel-bundle model.
    state: State,
    /// The format of the payload, by its contents.
    format: Format,
    /// The format that the structure declares.
    declared_format: String,
    /// The target, as the structure has it.
    target: &'a str,
    /// The property `compile_target`: the device that native code is for.
    compile_target: Option<&'a str>,
    /// The instruction set of native CPU code.
    march: Option<&'static str>,
    /// Bytes of the payload, inflated.
    size: u64,
    /// Bytes of the payload in the file.
    stored_size: usize,
    /// The compression of the payload.
    compression: Option<Compression>,
    /// The offset of the stored payload in the file.
    offset: u64,
    /// The place of the stored payload on disk; null where it is there only compressed, as in most packages.
    uri: Option<String>,
    /// The number of the descriptor that lists the image.
    descriptor: Option<usize>,
    /// BLAKE3 of the inflated payload.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    blake3: String,
    /// Options for the device compiler.
    compile_options: &'a str,
    /// Options for the device linker.
    link_options: &'a str,
    /// Mangled names of the kernels.
    kernels: &'a [String],
    /// Names of the kernels in the source, in the order of `kernels`.
    #[serde(serialize_with = "demangled")]
    #[schemars(with = "Vec<String>")]
    demangled: &'a [String],
    /// Symbols that are listed for the image.
    entries: &'a [&'a str],
    /// Symbols that other images may import.
    exports: &'a [String],
    /// Symbols that other images must define.
    imports: &'a [String],
    /// The requirements that the compiler recorded.
    requirements: &'a Requirements,
    /// The properties, by set and name.
    properties: Sets<'a>,
    /// Facts of a SPIR-V module.
    spirv: Option<Spirv<'a>>,
    /// Facts of compiled code; null for SPIR-V, and where nothing is known.
    native: Option<Native<'a>>,
    /// The way each Intel GPU runs the image's own code: as it is, or from the SPIR-V inside; GPUs that refuse it are
    /// not listed. Null for code that is not for Intel GPUs.
    coverage: Option<BTreeMap<String, Coverage>>,
    /// Coverage with the newest drivers, by the runtime's adapter, where they refuse the form of the code.
    #[serde(skip_serializing_if = "Option::is_none")]
    newest_coverage: Option<BTreeMap<&'static str, BTreeMap<String, Coverage>>>,
}

/// A SPIR-V module.
#[derive(Serialize, JsonSchema)]
struct Spirv<'a> {
    /// The version of SPIR-V.
    #[serde(serialize_with = "version")]
    #[schemars(with = "String", regex(pattern = "^[0-9]+[.][0-9]+$"))]
    version: (u8, u8),
    /// The program that wrote the module.
    generator: String,
    /// Declared capabilities, in the order of the module.
    #[serde(serialize_with = "capabilities")]
    #[schemars(with = "Vec<String>")]
    capabilities: &'a [u32],
    /// Declared extensions, in the order of the module.
    extensions: &'a [String],
    /// Aspects that the module's types and instructions show.
    used_aspects: &'a BTreeSet<&'static str>,
}

/// Compiled code.
#[derive(Serialize, JsonSchema)]
struct Native<'a> {
    /// The container of the parts, where there is one: `ar`, `fatbin`, `offload-bundle`, `opencl-elf`.
    container: Option<&'static str>,
    /// The devices of all parts, by the names of targets; several where the code tells a family only.
    devices: Vec<&'a str>,
    /// The parts, in order.
    parts: &'a [native::Part],
}

/// Serialises names as the source has them.
fn demangled<S: Serializer>(names: &[String], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_seq(names.iter().map(|name| demangle(name)))
}

/// Serialises capabilities by name.
fn capabilities<S: Serializer>(numbers: &[u32], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_seq(numbers.iter().map(|&number| grammar::capability_name(number)))
}

/// Serialises a version as text.
fn version<S: Serializer>((major, minor): &(u8, u8), serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{major}.{minor}"))
}

impl<'a> From<&'a Module> for Spirv<'a> {
    fn from(module: &'a Module) -> Self {
        Spirv {
            version: module.version,
            generator: grammar::generator_name(module.generator),
            capabilities: &module.capabilities,
            extensions: &module.extensions,
            used_aspects: &module.used_aspects,
        }
    }
}

impl<'a> From<&'a native::Native> for Native<'a> {
    fn from(native: &'a native::Native) -> Self {
        Native { container: native.container, devices: native.devices(), parts: &native.parts }
    }
}

impl<'a> Image<'a> {
    /// All that is known of an image; `base` is the URI of the file on disk.
    fn new(facts: &FileFacts<'a>, path: Option<&'a str>, base: Option<&str>, examined: &'a Examined<'_, '_>) -> Self {
        let image = examined.image;
        let epoch = facts.bundle.map_or(Epoch::From2026, |bundle| bundle.epoch);
        let at = facts.base.saturating_add(image.offset);
        Image {
            path,
            index: image.index,
            state: examined.state,
            format: examined.format,
            declared_format: image.declared.name(),
            target: image.target,
            compile_target: image.compile_target(),
            march: examined.march.map(CpuArch::name),
            size: examined.size,
            stored_size: image.stored.len(),
            compression: image.compression(),
            offset: image.offset,
            uri: base.filter(|_| !image.inflated).map(|base| name::uri_at(base, at, image.stored.len())),
            descriptor: image.origin.map(|origin| origin.descriptor),
            blake3: hex(&examined.blake3),
            compile_options: image.compile_options,
            link_options: image.link_options,
            kernels: &examined.kernels,
            demangled: &examined.kernels,
            entries: &image.entries,
            exports: &examined.exports,
            imports: &examined.imports,
            requirements: &examined.requirements,
            properties: Sets::new(&image.properties, epoch),
            spirv: examined.module.as_ref().map(Spirv::from),
            native: examined.native.as_ref().map(Native::from),
            coverage: examined
                .native
                .as_ref()
                .map(|native| native.coverage_by_gpu(Driver::ANY))
                .filter(|gpus| !gpus.is_empty()),
            newest_coverage: examined.native.as_ref().and_then(newest_coverage),
        }
    }
}

/// The coverage with the newest drivers, of code in a form that some refuse.
fn newest_coverage(native: &native::Native) -> Option<BTreeMap<&'static str, BTreeMap<String, Coverage>>> {
    native.parts.iter().find_map(|part| part.old_form)?;
    Some(Driver::NEWEST.into_iter().map(|(adapter, driver)| (adapter, native.coverage_by_gpu(driver))).collect())
}

/// Writes one document about any number of files, one file at a time.
pub(crate) struct Document<W>(Rows<W>);

const EMPTY: Listing<Gap> = Listing { schema_version: SchemaVersion, files: Gap };

impl<W: Write> Document<W> {
    /// Opens the document.
    ///
    /// # Errors
    /// `Io` where the writer fails.
    pub(crate) fn open(out: W) -> Result<Self> {
        Rows::open(out, &EMPTY).map(Document)
    }

    /// Adds a file, and to the file what was found wrong with images that had not been examined.
    ///
    /// # Errors
    /// `Io` where the writer fails.
    pub(crate) fn file(&mut self, facts: &mut FileFacts<'_>) -> Result<()> {
        let out = self.0.next()?;
        let [head, _] = split(&File::new(facts));
        put(out, &format!("{head}["))?;
        images(facts, out, None, (",\n", ""))?;
        // The problems of images are known now that they are examined.
        let [_, tail] = split(&File::new(facts));
        put(out, &format!("\n]{tail}"))
    }

    /// Closes the document and gives the writer back.
    ///
    /// # Errors
    /// `Io` where the writer fails.
    pub(crate) fn close(self) -> Result<W> {
        self.0.close(&EMPTY)
    }
}

impl<'a> File<'a, Gap> {
    fn new(facts: &'a FileFacts<'_>) -> Self {
        File {
            path: facts.path,
            container: facts.host.map(|host| host.kind),
            producer: facts.host.and_then(|host| host.producer.as_ref()).map(|producer| producer.name.as_str()),
            sycl_abi: facts.host.and_then(|host| host.sycl_abi),
            size: facts.bytes,
            images: Gap,
            problems: facts.problems.iter().map(ImageProblem::from).collect(),
        }
    }
}

/// Writes the images of a file one per line, each with the file's path.
///
/// # Errors
/// `Io` where the writer fails.
pub(crate) fn lines(out: &mut impl Write, facts: &mut FileFacts<'_>) -> Result<()> {
    images(facts, out, Some(facts.path), ("", "\n"))
}

/// Writes images in order, each between two texts; examines them on the way where that is still to be done.
fn images(facts: &mut FileFacts<'_>, out: &mut impl Write, path: Option<&str>, around: (&str, &str)) -> Result<()> {
    let base = facts.absolute.map(name::uri);
    let base = base.as_deref();
    let one = |text: &mut String, examined: &Examined<'_, '_>| {
        text.push_str(around.0);
        push(text, &Image::new(facts, path, base, examined));
        text.push_str(around.1);
    };
    let mut first = true;
    let write = |text: &str| {
        // The first image goes without the comma that would part it from the one before.
        let text = if std::mem::take(&mut first) { text.strip_prefix(',').unwrap_or(text) } else { text };
        put(out, text)
    };
    let problems = match facts.bundle.filter(|_| facts.deferred) {
        Some(bundle) => json::stream::stream(
            &bundle.images,
            |text, images| {
                let examined = examine_images(images, bundle.epoch, &bundle.allowance);
                examined.iter().for_each(|image| one(text, image));
                examined.iter().flat_map(Examined::problems).collect()
            },
            write,
        )?,
        None => json::stream::stream(
            &facts.images,
            |text, images| {
                images.iter().for_each(|image| one(text, image));
                Vec::new()
            },
            write,
        )?,
    };
    facts.problems.extend(problems);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::Bundle;
    use crate::bundle::property::{Properties, Property, PropertySet, Value as Stored};
    use crate::compat::examine::examine;
    use crate::container::Host;
    use crate::error::{Error, Problem};
    use crate::report::json::tests::against;
    use serde_json::Value;

    fn validate(document: &Value) -> Vec<String> {
        against(&schema(), document)
    }

    #[test]
    fn what_is_written_fulfils_the_schema() {
        // OpCapability Kernel; OpEntryPoint Kernel %1 "k"
        let words =
            [0x0723_0203, 0x0001_0200, 0, 10, 0, 0x0002_0011, 6, 0x0004_000f, 6, 1, u32::from_le_bytes(*b"k\0\0\0")];
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        let host = Host::read(&bytes).unwrap();
        let mut bundle = Bundle::read(&host).unwrap();
        let array = [32, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0];
        let property = |name, value| Property { name, value };
        let requirements = vec![
            property("aspects", Stored::Bytes(&array)),
            property("reqd_work_group_size", Stored::Bytes(&array)),
            property("reqd_sub_group_size", Stored::U32(16)),
            property("fixed_target", Stored::Bytes(&array)),
            property("strange", Stored::Unknown { kind: 9, bytes: b"x" }),
        ];
        let twice =
            PropertySet { name: "SYCL/kernel param opt", properties: vec![property("k", Stored::Bytes(&array)); 2] };
        let sets = vec![PropertySet { name: "SYCL/device requirements", properties: requirements }, twice];
        bundle.images[0].properties = Properties { sets };
        let mut facts = FileFacts {
            path: "a \"quoted\" path",
            absolute: Some("/tmp/a b.spv"),
            base: 0,
            bytes: bytes.len() as u64,
            host: Some(&host),
            bundle: Some(&bundle),
            images: examine(&bundle),
            deferred: false,
            problems: vec![Problem::of_image(0, Error::at(8, "cut"))],
        };
        let mut document = Document::open(Vec::new()).unwrap();
        document.file(&mut facts).unwrap();
        document
            .file(&mut FileFacts {
                path: "-",
                problems: vec![Problem::general(Error::input("no"))],
                ..FileFacts::default()
            })
            .unwrap();
        let text = document.close().unwrap();
        let document: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(validate(&document), Vec::<String>::new());
        let image = &document["files"][0]["images"][0];
        assert_eq!(image["requirements"]["aspects"], serde_json::json!(["fp64"]));
        assert_eq!(image["requirements"]["reqd_sub_group_size"], serde_json::json!([16]));
        assert_eq!(image["kernels"], serde_json::json!(["k"]));
        let mut broken = document;
        broken["files"][0]["images"][0]["blake3"] = Value::from("x");
        assert_eq!(validate(&broken).len(), 1);
    }

    #[test]
    fn compiled_code_fulfils_the_schema() {
        let text =
            b".version 8.6\n.target sm_80\n.visible .entry k(.param .u64 .ptr .global .align 4 a)\n.reqntid 64\n{ ret; }\n";
        let host = Host::read(text).unwrap();
        let bundle = Bundle::read(&host).unwrap();
        let mut facts = FileFacts {
            path: "k.ptx",
            host: Some(&host),
            bundle: Some(&bundle),
            images: examine(&bundle),
            ..FileFacts::default()
        };
        let mut document = Document::open(Vec::new()).unwrap();
        document.file(&mut facts).unwrap();
        let document: Value = serde_json::from_slice(&document.close().unwrap()).unwrap();
        assert_eq!(validate(&document), Vec::<String>::new());
        let image = &document["files"][0]["images"][0];
        assert_eq!(image["kernels"], serde_json::json!(["k"]));
        assert_eq!(image["native"]["devices"], serde_json::json!(["nvidia_gpu_sm_80"]));
        let kernel = &image["native"]["parts"][0]["kernels"][0];
        assert_eq!(kernel["reqd_work_group_size"], serde_json::json!([64, 1, 1]));
        assert_eq!((&kernel["registers"], &kernel["arguments"][0]["size"]), (&Value::Null, &Value::from(8)));
    }
}
