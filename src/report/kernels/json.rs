//! What kernels are in a file, for a script?
//!
//! The contract of `kernels --format json`. Kernels stand one per line, and are serialised in parallel.

use super::{FileKernels, OnDevice};
use crate::compat::aspects::{Aspect, Difference, Reason};
use crate::compat::kernels::{KernelFacts, NamedConstant, SourceArgument};
use crate::demangle::demangle;
use crate::error::{Problem, Result};
use crate::native;
use crate::report::devices::Queries;
use crate::report::evidence::AspectUse;
use crate::report::json::stream::stream;
use crate::report::json::writer::{Gap, push};
use crate::report::json::{self, FileProblem, Members, Rows, SchemaVersion, put};
use crate::spirv::kernel::Value;
use crate::spirv::kernel::{self, SubGroup};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

/// The JSON Schema of `kernels --format json`.
pub(crate) fn schema() -> String {
    json::schema::<Listing<'_, Vec<Kernel<'_>>>>()
}

/// The kernels of files.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "sycl-bundle kernels --format json")]
struct Listing<'a, K> {
    /// The version of the form.
    schema_version: SchemaVersion,
    /// The kernels.
    kernels: K,
    /// Parts that could not be read.
    problems: &'a [FileProblem],
}

/// A kernel in an image.
#[derive(Serialize, JsonSchema)]
struct Kernel<'a> {
    /// The mangled name.
    name: &'a str,
    /// The name in the source.
    demangled: Cow<'a, str>,
    /// The file.
    file: &'a str,
    /// The number of the image in the file.
    image: usize,
    /// The numbers of all images of the file that hold a kernel of this name.
    images: &'a [usize],
    /// Arguments that are passed; eliminated ones are not among them. Null where they are not known: native code does not
    /// always tell, and of a module whose kernels have too many arguments, constants and symbols for its size they are left out.
    num_args: Option<usize>,
    /// The arguments.
    args: Vec<Argument<'a>>,
    /// Whether the compiler recorded which arguments of the source it removed; otherwise `index` counts what is passed.
    args_of_source: bool,
    /// The attributes.
    attributes: Attributes<'a>,
    /// The aspects.
    aspects: Aspects<'a>,
    /// Scalars that the kernel depends on; parts of one composite share its name.
    spec_constants: Vec<SpecConstant<'a>>,
    /// Bytes of local memory that the code declares, without what arguments bring at run time.
    local_memory: Option<u64>,
    /// Bytes of the variables of all functions before optimisation.
    private_variables: Option<u64>,
    /// Whether it is explicit SIMD.
    esimd: bool,
    /// Whether it can fail an assertion.
    asserts: bool,
    /// Whether it calls functions by address.
    indirect_calls: Option<bool>,
    /// Device globals that it reaches.
    device_globals: Vec<&'a str>,
    /// Symbols that it reaches and another image must define.
    imports: Vec<&'a str>,
    /// Functions and variables that it reaches and that other images may use.
    exports: Vec<&'a str>,
    /// Mangled names of other kernels of the file that are the same code, at most a thousand.
    clones: Vec<&'a String>,
    /// The native code for it, by device.
    native: Vec<Native<'a>>,
    /// Answers of live devices, by the device's name; of several of one name the second is called `NAME #2` and so on, in
    /// the order asked.
    devices: Members<&'a str, Option<Device<'a>>>,
}

/// An argument of the source.
#[derive(Serialize, JsonSchema)]
struct Argument<'a> {
    /// The position in the source, or among the arguments that are passed.
    index: usize,
    /// Whether the compiler removed it.
    eliminated: bool,
    /// The name in the source, where it was kept.
    name: Option<&'a str>,
    /// The type as in OpenCL C. Most modules lose signs: an `int` may be a `uint`.
    r#type: Option<&'a str>,
    /// The address space.
    #[schemars(extend("enum" = [null, "global", "local", "constant", "private", "generic", "code", "other"]))]
    address_space: Option<&'static str>,
    /// The access to an image or a pipe.
    #[schemars(extend("enum" = [null, "read_only", "write_only", "read_write"]))]
    access: Option<&'static str>,
    /// `const`, `restrict`, `volatile`, `pipe`; `readonly` of a pointer through which the kernel does not write.
    qualifiers: &'a [String],
    /// Bytes of the argument itself.
    size: Option<u64>,
    /// Bytes that its address is a multiple of; of a pointer, of what it points to, where the module says.
    alignment: Option<u64>,
    /// Whether it is a structure that is passed by value.
    by_value: bool,
}

/// Attributes of a kernel.
#[derive(Serialize, JsonSchema)]
struct Attributes<'a> {
    /// The text of `sycl::info::kernel::attributes` and `CL_KERNEL_ATTRIBUTES`, in OpenCL's order of dimensions.
    text: String,
    /// The required work-group size in the order of the source: the slowest dimension of a SYCL range first.
    reqd_work_group_size: Option<&'a [u64]>,
    /// The hinted work-group size, likewise.
    work_group_size_hint: Option<&'a [u64]>,
    /// The required sub-group size: a number, or `primary`.
    reqd_sub_group_size: Option<SubGroup>,
    /// The vector type that the source hints at.
    vec_type_hint: Option<&'a str>,
    /// The largest work-group size that it is launched with.
    max_work_group_size: Option<[u32; 3]>,
    /// The most dimensions of a launch.
    max_work_dim: Option<u32>,
    /// The number of sub-groups that a work-group must have.
    sub_groups_per_work_group: Option<u32>,
    /// Work-items that run as one.
    simd_work_items: Option<u32>,
    /// Bytes of local memory that an explicit SIMD kernel sets aside.
    slm_size: Option<u32>,
    /// The number of named barriers.
    named_barriers: Option<u32>,
    /// The most registers that a thread may use.
    maximum_registers: Option<u32>,
}

/// Aspects of a kernel.
#[derive(Serialize, JsonSchema)]
struct Aspects<'a> {
    /// Aspects that the code of the kernel and all it calls shows; null for native code.
    used: Option<&'a [String]>,
    /// Aspects that the code may need, since several leave the same instructions; null for native code.
    possible: Option<&'a [String]>,
    /// Aspects that the compiler recorded for the image.
    declared: &'a [String],
    /// Aspects that capabilities and types of the module declare, used or not; null for native code.
    capabilities: Option<Vec<&'static str>>,
    /// The way to the first use of each aspect that is or may be used.
    evidence: Vec<AspectUse<'a>>,
    /// Aspects that not all three have: declared, capabilities, used.
    differences: Vec<Differing<'a>>,
}

/// An aspect that is not everywhere.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Difference")]
struct Differing<'a> {
    /// The aspect.
    aspect: &'a str,
    /// The reason.
    reason: Reason,
    /// The reason as a clause that follows the aspect's name.
    message: &'static str,
}

/// A specialization constant.
#[derive(Serialize, JsonSchema)]
struct SpecConstant<'a> {
    /// `SpecId`.
    id: u32,
    /// The symbolic name, where the properties know the id.
    name: Option<&'a str>,
    /// The type as in OpenCL C.
    r#type: &'a str,
    /// The value unless it is set; text where it is no finite number or of another type than OpenCL's.
    default: Value,
    /// The byte of the named value at which this part stands.
    offset: Option<u32>,
    /// Bytes of the part.
    size: Option<u64>,
}

/// Native code for a kernel.
#[derive(Serialize, JsonSchema)]
struct Native<'a> {
    /// The device, by the name of a target.
    device: &'a str,
    /// Facts of the kernel in that code, as `inspect` has them.
    #[serde(flatten)]
    kernel: &'a native::Kernel,
}

/// A kernel on a device.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Device<'a> {
    /// Answers of a device on which it was built.
    Built(Built<'a>),
    /// The error of a device on which it was not built.
    NotBuilt {
        /// The error.
        error: NotBuilt<'a>,
    },
}

/// Answers of a device.
#[derive(Serialize, JsonSchema)]
struct Built<'a> {
    /// Answers to SYCL's queries.
    #[serde(flatten)]
    queries: Queries<'a>,
    /// Bytes of local memory.
    local_mem_size: Option<u64>,
    /// Registers.
    registers: Option<u64>,
    /// Bytes of registers spilled to memory.
    spill: Option<u64>,
    /// The number of arguments that the driver tells, also where SYCL's `num_args` throws.
    opencl_num_args: Option<u64>,
    /// Nothing.
    error: (),
}

/// The error of a device on which a kernel was not built.
#[derive(Serialize, JsonSchema)]
struct NotBuilt<'a> {
    /// The name in `sycl::errc` of what a SYCL program would meet; null where only the tool could not ask.
    errc: Option<&'static str>,
    /// The reason.
    message: &'a str,
}

impl<'a> Kernel<'a> {
    fn new(file: &'a FileKernels<'_>, keys: &'a [String], kernel: &'a KernelFacts) -> Kernel<'a> {
        let module = kernel.module.as_ref();
        let answers = keys.iter().zip(&file.devices);
        let symbols = |of: fn(&'a kernel::Kernel) -> &'a Vec<Arc<str>>| {
            module.into_iter().flat_map(|module| of(module).iter().map(|name| &**name)).collect()
        };
        Kernel {
            name: &kernel.name,
            demangled: demangle(&kernel.name),
            file: file.path,
            image: kernel.image,
            images: kernel.holders(),
            num_args: kernel.known_args(),
            args: kernel.arguments.iter().map(Argument::from).collect(),
            args_of_source: kernel.from_source,
            attributes: kernel.into(),
            aspects: kernel.into(),
            spec_constants: kernel.spec_constants.iter().map(SpecConstant::from).collect(),
            local_memory: kernel.local_memory(),
            private_variables: module.map(|module| module.private_memory),
            esimd: kernel.esimd,
            asserts: kernel.asserts,
            indirect_calls: module.map(|module| module.indirect_calls),
            device_globals: symbols(|module| &module.device_globals),
            imports: symbols(|module| &module.imports),
            exports: symbols(|module| &module.exports),
            clones: kernel.clones().collect(),
            native: kernel.native.iter().map(|(device, kernel)| Native { device, kernel }).collect(),
            devices: Members(
                answers.map(|(key, one)| (key.as_str(), one.on_kernel(kernel).map(Device::from))).collect(),
            ),
        }
    }
}

impl<'a> From<&'a SourceArgument> for Argument<'a> {
    fn from(one: &'a SourceArgument) -> Self {
        let argument = one.argument.as_ref();
        Argument {
            index: one.index,
            eliminated: argument.is_none(),
            name: argument.and_then(|argument| argument.name.as_deref()),
            r#type: argument.map(|argument| &*argument.type_name),
            address_space: argument.map(|argument| argument.address_space),
            access: argument.and_then(|argument| argument.access),
            qualifiers: argument.map(|argument| argument.qualifiers.as_slice()).unwrap_or_default(),
            size: argument.and_then(|argument| argument.size),
            alignment: argument.and_then(|argument| argument.alignment),
            by_value: argument.is_some_and(|argument| argument.by_value),
        }
    }
}

impl<'a> From<&'a KernelFacts> for Attributes<'a> {
    fn from(kernel: &'a KernelFacts) -> Self {
        let own = kernel.module.as_ref().map(|module| &module.attributes);
        Attributes {
            text: kernel.attributes(),
            reqd_work_group_size: kernel.reqd_work_group_size.as_deref(),
            work_group_size_hint: kernel.work_group_size_hint.as_deref(),
            reqd_sub_group_size: kernel.reqd_sub_group_size,
            vec_type_hint: own.and_then(|own| own.vec_type_hint.as_deref()),
            max_work_group_size: own.and_then(|own| own.max_work_group_size),
            max_work_dim: own.and_then(|own| own.max_work_dim),
            sub_groups_per_work_group: own.and_then(|own| own.sub_groups_per_work_group),
            simd_work_items: own.and_then(|own| own.simd_work_items),
            slm_size: own.and_then(|own| own.slm_size),
            named_barriers: own.and_then(|own| own.named_barriers),
            maximum_registers: own.and_then(|own| own.maximum_registers),
        }
    }
}

impl<'a> From<&'a KernelFacts> for Aspects<'a> {
    fn from(kernel: &'a KernelFacts) -> Self {
        let known = kernel.module.is_some();
        let comparison = kernel.comparison.as_ref();
        let differing =
            |one: &'a Difference| Differing { aspect: &one.aspect, reason: one.reason, message: one.reason.text() };
        Aspects {
            used: known.then_some(&kernel.used),
            possible: known.then_some(&kernel.possible),
            declared: &kernel.declared,
            capabilities: comparison.map(|one| one.declared.iter().map(|aspect| Aspect::name(*aspect)).collect()),
            evidence: kernel.evidence.iter().map(AspectUse::new).collect(),
            differences: comparison.iter().flat_map(|one| &one.differences).map(differing).collect(),
        }
    }
}

impl<'a> From<&'a NamedConstant> for SpecConstant<'a> {
    fn from(one: &'a NamedConstant) -> Self {
        SpecConstant {
            id: one.constant.id,
            name: one.name.as_deref(),
            r#type: &one.constant.type_name,
            default: one.constant.default,
            offset: one.offset,
            size: one.constant.size,
        }
    }
}

impl<'a> From<&'a OnDevice> for Device<'a> {
    fn from(answer: &'a OnDevice) -> Self {
        match answer {
            OnDevice::Answers { sycl, beyond } => {
                let of = |name: &str| beyond.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
                Device::Built(Built {
                    queries: Queries::from(sycl.as_slice()),
                    local_mem_size: of("local_mem_size"),
                    registers: of("registers"),
                    spill: of("spill_mem_size"),
                    opencl_num_args: of("num_args"),
                    error: (),
                })
            }
            OnDevice::None { errc, reason } => Device::NotBuilt { error: NotBuilt { errc: *errc, message: reason } },
        }
    }
}

/// Writes one document about any number of files, one file at a time.
pub(crate) struct Document<W> {
    rows: Rows<W>,
    problems: Vec<FileProblem>,
}

fn listing(problems: &[FileProblem]) -> Listing<'_, Gap> {
    Listing { schema_version: SchemaVersion, kernels: Gap, problems }
}

impl<W: Write> Document<W> {
    /// Opens the document.
    ///
    /// # Errors
    /// `Io` where the writer fails.
    pub(crate) fn open(out: W) -> Result<Self> {
        Ok(Document { rows: Rows::open(out, &listing(&[]))?, problems: Vec::new() })
    }

    /// Adds kernels of a file.
    ///
    /// # Errors
    /// `Io` where the writer fails.
    pub(crate) fn kernels(&mut self, file: &FileKernels<'_>) -> Result<()> {
        if !file.kernels.is_empty() {
            let out = self.rows.next()?;
            let mut first = true;
            each(file, (",\n", ""), &mut |text| {
                // The comma before the first kernel stands there already.
                let text = if std::mem::take(&mut first) { text.strip_prefix(",\n").unwrap_or(text) } else { text };
                put(out, text)
            })?;
        }
        Ok(())
    }

    /// Adds parts of a file that could not be read.
    pub(crate) fn problems(&mut self, path: &str, problems: &[Problem]) {
        self.problems.extend(problems.iter().map(|problem| FileProblem::new(path, problem)));
    }

    /// Closes the document and gives the writer back.
    ///
    /// # Errors
    /// `Io` where the writer fails.
    pub(crate) fn close(self) -> Result<W> {
        self.rows.close(&listing(&self.problems))
    }
}

/// Writes the kernels of a file one per line.
///
/// # Errors
/// `Io` where the writer fails.
pub(crate) fn lines(out: &mut impl Write, file: &FileKernels<'_>) -> Result<()> {
    each(file, ("", "\n"), &mut |text| put(out, text))
}

/// Writes the kernels of a file in order, each between two texts.
fn each(file: &FileKernels<'_>, around: (&str, &str), out: &mut impl FnMut(&str) -> Result<()>) -> Result<()> {
    let keys = keys(file);
    let write = |text: &mut String, kernels: &[KernelFacts]| {
        for kernel in kernels {
            text.push_str(around.0);
            push(text, &Kernel::new(file, &keys, kernel));
            text.push_str(around.1);
        }
        Vec::new()
    };
    stream(&file.kernels, write, out).map(drop)
}

/// The names of the devices: from the second of the same name on with its number among these.
fn keys(file: &FileKernels<'_>) -> Vec<String> {
    let mut keys: Vec<String> = Vec::with_capacity(file.devices.len());
    for answers in &file.devices {
        let name = &answers.device.name;
        let numbered = (2u32..).map(|number| format!("{name} #{number}"));
        let key = std::iter::once(name.clone()).chain(numbered).find(|key| !keys.contains(key));
        keys.extend(key);
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::Device;
    use crate::build::query::KernelAnswers;
    use crate::build::query::sycl::answers;
    use crate::bundle::Bundle;
    use crate::compat::examine::examine;
    use crate::compat::kernels::{Depth, kernels};
    use crate::container::Host;
    use crate::error::Error;
    use crate::report::json::tests::against;
    use crate::report::kernels::Answers;
    use serde_json::{Value, json};
    use std::collections::HashMap;

    /// A kernel `k` with a pointer to global memory and a 32-bit integer, a work-group size and a specialization constant.
    fn module() -> Vec<u8> {
        let name = |text: &[u8; 4]| u32::from_le_bytes(*text);
        let instructions: Vec<Vec<u32>> = vec![
            vec![17, 6],
            vec![14, 2, 2],
            vec![15, 6, 1, name(b"k\0\0\0")],
            vec![16, 1, 17, 8, 4, 2],
            vec![5, 2, name(b"out\0")],
            vec![71, 9, 1, 7],
            vec![19, 3],
            vec![21, 4, 32, 0],
            vec![32, 5, 5, 4],
            vec![33, 6, 3, 5, 4],
            vec![50, 4, 9, 3],
            vec![54, 3, 1, 0, 6],
            vec![55, 5, 2],
            vec![55, 4, 7],
            vec![248, 8],
            vec![128, 4, 10, 7, 9],
            vec![253],
            vec![56],
        ];
        let mut words = vec![0x0723_0203, 0x0001_0200, 0, 11, 0];
        for instruction in instructions {
            words.push((instruction.len() as u32) << 16 | instruction[0]);
            words.extend(&instruction[1..]);
        }
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    #[test]
    fn what_is_written_fulfils_the_schema() {
        let bytes = module();
        let host = Host::read(&bytes).unwrap();
        let bundle = Bundle::read(&host).unwrap();
        let images = examine(&bundle);
        let found = kernels(&bundle, &images, Depth { clones: true, evidence: true });
        let device = Device { name: "CPU".into(), kind: "cpu".into(), ..Device::default() };
        let raw = KernelAnswers { answers: vec![(0x11B0, Ok(vec![8; 8]))], ..KernelAnswers::default() };
        let on = |answer| Answers { device: &device, kernels: HashMap::from([((0, "k".to_owned()), answer)]) };
        let answered = on(OnDevice::Answers { sycl: answers(&raw, &device, false), beyond: vec![("registers", 128)] });
        let other = Device { name: "GPU".into(), ..Device::default() };
        let none = OnDevice::None { errc: Some("invalid"), reason: "no".into() };
        let none = Answers { device: &other, kernels: HashMap::from([((0, "k".to_owned()), none)]) };
        let problems = vec![Problem::of_image(0, Error::at(8, "cut"))];
        let file = FileKernels { path: "k.spv", kernels: found, devices: vec![answered, none] };
        let mut document = Document::open(Vec::new()).unwrap();
        document.kernels(&file).unwrap();
        document.kernels(&FileKernels::default()).unwrap();
        document.problems("k.spv", &problems);
        let document: Value = serde_json::from_slice(&document.close().unwrap()).unwrap();
        assert_eq!(against(&schema(), &document), Vec::<String>::new());

        let kernel = &document["kernels"][0];
        assert_eq!(kernel["num_args"], 2);
        assert_eq!(kernel["args"][0]["name"], "out");
        assert_eq!(kernel["args"][0]["type"], "int*");
        assert_eq!(kernel["args"][0]["address_space"], "global");
        assert_eq!(kernel["args"][1]["size"], 4);
        assert_eq!(kernel["attributes"]["text"], "reqd_work_group_size(8,4,2)");
        assert_eq!(kernel["attributes"]["reqd_work_group_size"], json!([8, 4, 2]));
        let constant = &kernel["spec_constants"][0];
        assert_eq!((&constant["id"], &constant["default"]), (&json!(7), &json!(3)));
        assert_eq!(kernel["devices"]["CPU"]["errors"]["global_work_size"]["errc"], "invalid");
        assert_eq!(kernel["devices"]["CPU"]["registers"], 128);
        assert_eq!(kernel["devices"]["GPU"]["error"]["errc"], "invalid");
        let mut broken = document;
        broken["kernels"][0]["args"][0]["index"] = json!("x");
        assert_eq!(against(&schema(), &broken).len(), 1);
    }
}
