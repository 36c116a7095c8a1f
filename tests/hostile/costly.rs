//! Which small modules would cost the square of their size, were everything looked at from everywhere?
//!
//! Each is sound, has tens of thousands of one thing, and is read by the program with a bounded time, memory and output.

use super::program::tool;
use super::repeated::of_device;
use super::support::folder::Folder;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use sycl_bundle::bundle::property_text::encode_base64;

/// Seconds of processor time for one command, unoptimised. What is linear takes a tenth of it, what is not takes minutes.
const SECONDS: u64 = 60;
/// Seconds of processor time for files of a few megabytes.
pub const TIME_LIMIT: u64 = 30;
/// Time for one command on a busy machine.
const TIME: Duration = Duration::from_secs(600);
/// KiB of memory.
const MEMORY: u64 = 1 << 20;
/// Bytes of output.
const OUTPUT: usize = 256 << 20;

/// Runs the tool, which has to end well within the bounds.
fn bounded(folder: &Folder, arguments: &[&str]) {
    run_bounded(folder, arguments, SECONDS, &[0, 1]);
}

/// Runs the tool, which has to end with one of these codes within so many seconds of processor time.
pub fn run_bounded(folder: &Folder, arguments: &[&str], seconds: u64, codes: &[i32]) {
    let script = format!("ulimit -d {MEMORY}; ulimit -t {seconds}; exec \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_sycl-bundle")]).args(arguments);
    // Threads have memory of their own.
    command.env("RAYON_NUM_THREADS", "2");
    let mut child = command.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    let mut stdout = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let (mut read, mut piece) = (0usize, vec![0; 1 << 16]);
        while let Ok(count @ 1..) = stdout.read(&mut piece) {
            read += count;
            if read > OUTPUT {
                break;
            }
        }
        read
    });
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begin.elapsed() > TIME {
            child.kill().unwrap();
            panic!("{arguments:?} takes more than {TIME:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let written = reader.join().unwrap();
    assert!(written <= OUTPUT, "{arguments:?} writes more than {OUTPUT} bytes");
    assert!(status.code().is_some_and(|code| codes.contains(&code)), "{arguments:?}: {status}");
}

/// A module under construction. Function `n` has the id `FUNCTIONS + 8 * n`.
#[derive(Default)]
pub struct Module {
    pub capabilities: Vec<u32>,
    imports: Vec<u32>,
    entries: Vec<u32>,
    pub texts: Vec<u32>,
    pub decorations: Vec<u32>,
    pub globals: Vec<u32>,
    code: Vec<u32>,
    functions: u32,
}

pub const FUNCTIONS: u32 = 100;
const VOID: u32 = 1;
const SIGNATURE: u32 = 2;
const DOUBLE: u32 = 3;

/// An instruction; a text follows its first operands, and others follow that.
pub fn put(out: &mut Vec<u32>, code: u32, first: &[u32], text: Option<&str>, last: &[u32]) {
    let mut words = first.to_vec();
    if let Some(text) = text {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize((bytes.len() / 4 + 1) * 4, 0);
        words.extend(bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())));
    }
    words.extend(last);
    out.push((words.len() as u32 + 1) << 16 | code);
    out.extend(words);
}

impl Module {
    /// Adds a function that calls another, adds numbers in double precision, or does nothing.
    fn function(&mut self, calls: Option<u32>, doubles: bool) -> u32 {
        let id = FUNCTIONS + 8 * self.functions;
        self.functions += 1;
        put(&mut self.code, 54, &[VOID, id, 0, SIGNATURE], None, &[]);
        put(&mut self.code, 248, &[id + 1], None, &[]);
        if let Some(callee) = calls {
            put(&mut self.code, 57, &[VOID, id + 2, callee], None, &[]);
        }
        if doubles {
            put(&mut self.code, 1, &[DOUBLE, id + 3], None, &[]);
            put(&mut self.code, 129, &[DOUBLE, id + 4, id + 3, id + 3], None, &[]);
        }
        put(&mut self.code, 253, &[], None, &[]);
        put(&mut self.code, 56, &[], None, &[]);
        id
    }

    /// Adds a kernel of a function type, without parameters, and gives its id.
    pub fn kernel_of(&mut self, kind: u32, name: &str) -> u32 {
        let id = FUNCTIONS + 8 * self.functions;
        self.functions += 1;
        put(&mut self.code, 54, &[VOID, id, 0, kind], None, &[]);
        put(&mut self.code, 248, &[id + 1], None, &[]);
        put(&mut self.code, 253, &[], None, &[]);
        put(&mut self.code, 56, &[], None, &[]);
        put(&mut self.entries, 15, &[6, id], Some(name), &[]);
        id
    }

    /// Adds a kernel with one parameter of a type, and gives its id.
    pub fn kernel_with(&mut self, parameter: u32, name: &str) -> u32 {
        let id = FUNCTIONS + 8 * self.functions;
        self.functions += 1;
        put(&mut self.globals, 33, &[id + 3, VOID, parameter], None, &[]);
        put(&mut self.code, 54, &[VOID, id, 0, id + 3], None, &[]);
        put(&mut self.code, 55, &[parameter, id + 2], None, &[]);
        put(&mut self.code, 248, &[id + 1], None, &[]);
        put(&mut self.code, 253, &[], None, &[]);
        put(&mut self.code, 56, &[], None, &[]);
        put(&mut self.entries, 15, &[6, id], Some(name), &[]);
        id
    }

    pub fn kernel(&mut self, name: &str, calls: Option<u32>) {
        let id = self.function(calls, false);
        put(&mut self.entries, 15, &[6, id], Some(name), &[]);
    }

    pub fn import(&mut self, name: &str) {
        let id = FUNCTIONS + 8 * self.functions;
        self.functions += 1;
        put(&mut self.decorations, 71, &[id, 41], Some(name), &[1]);
        put(&mut self.code, 54, &[VOID, id, 0, SIGNATURE], None, &[]);
        put(&mut self.code, 56, &[], None, &[]);
    }

    /// Adds a function that others may import.
    pub fn export(&mut self, name: &str) {
        let id = self.function(None, false);
        put(&mut self.decorations, 71, &[id, 41], Some(name), &[0]);
    }

    pub fn kernels(count: u32) -> Module {
        let mut module = Module::default();
        (0..count).for_each(|nth| module.kernel(&format!("kernel{nth}"), None));
        module
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut words = vec![0x0723_0203, 0x0001_0400, 0, FUNCTIONS + 8 * self.functions, 0];
        [4, 5, 6, 10].iter().for_each(|capability| put(&mut words, 17, &[*capability], None, &[]));
        words.extend(self.capabilities.iter().chain(&self.imports));
        put(&mut words, 14, &[2, 2], None, &[]);
        words.extend([&self.entries[..], &self.texts, &self.decorations].concat());
        put(&mut words, 19, &[VOID], None, &[]);
        put(&mut words, 33, &[SIGNATURE, VOID], None, &[]);
        put(&mut words, 22, &[DOUBLE, 64], None, &[]);
        words.extend([&self.globals[..], &self.code].concat());
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }
}

/// A byte array of property sets' text.
fn array(words: impl Iterator<Item = u32>) -> String {
    let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    encode_base64(&[&(bytes.len() as u64 * 8).to_le_bytes()[..], &bytes].concat())
}

#[test]
fn many_imports() {
    let folder = Folder::new();
    let mut module = Module::kernels(1);
    (0..60_000).for_each(|nth| module.import(&format!("function{nth}")));
    folder.put("m.spv", module.bytes());
    bounded(&folder, &["inspect", "m.spv"]);
    bounded(&folder, &["check", "m.spv", "-t", "dg1"]);
}

/// Held at once, facts about so many kernels would take 300 MB.
#[test]
fn many_kernels_are_not_held_at_once() {
    let folder = Folder::new();
    folder.put("m.spv", Module::kernels(100_000).bytes());
    for form in ["table", "json"] {
        bounded(&folder, &["kernels", "m.spv", "--format", form, "--max-memory", "192MiB"]);
    }
    bounded(&folder, &["diff", "m.spv", "m.spv", "--max-memory", "128MiB"]);
}

/// A row for each property, or the text of all, would take 110 to 220 MB.
#[test]
fn many_properties_are_not_held_twice() {
    let folder = Folder::new();
    folder.put("m.spv", Module::kernels(1).bytes());
    let lines = (0..250_000).map(|nth| format!("property_with_a_name_of_some_length_{nth:08}=1|{nth}\n"));
    folder.put("m.prop", format!("[SYCL/misc properties]\n{}", lines.collect::<String>()));
    for form in ["table", "json", "jsonl", "text"] {
        bounded(&folder, &["props", "m.spv", "--format", form, "--max-memory", "80MiB"]);
    }
}

/// With a text of its own for the name of each kernel wherever it is held, and a list for its images and parameters, these
/// take a fifth more at least.
#[test]
fn many_kernels_are_held_in_little() {
    let folder = Folder::new();
    folder.put("m.spv", Module::kernels(300_000).bytes());
    bounded(&folder, &["inspect", "m.spv", "--max-memory", "48MiB"]);
    bounded(&folder, &["check", "m.spv", "-t", "dg1", "--max-memory", "180MiB"]);
    bounded(&folder, &["kernels", "m.spv", "--max-memory", "192MiB"]);
    bounded(&folder, &["diff", "m.spv", "m.spv", "--max-memory", "304MiB"]);
}

/// The text of the page, made of copies of all names, and a list for each row would take 290 MB.
#[test]
fn pages_of_many_kernels_are_not_held() {
    let folder = Folder::new();
    folder.put("m.spv", Module::kernels(300_000).bytes());
    bounded(&folder, &["inspect", "m.spv", "--html", "page.html", "--max-memory", "192MiB"]);
}

#[test]
fn many_kernels_of_the_same_code() {
    let folder = Folder::new();
    folder.put("m.spv", Module::kernels(40_000).bytes());
    bounded(&folder, &["kernels", "m.spv", "--format", "json"]);
}

/// A descriptor holds no more images, and each takes a hundred times the bytes of an empty kernel.
#[test]
fn a_module_of_more_kernels_than_a_descriptor_holds_images_stays_whole() {
    let folder = Folder::new();
    folder.put("m.spv", Module::kernels(70_000).bytes());
    run_bounded(&folder, &["split", "m.spv", "--mode", "per_kernel", "-o", "out.table"], TIME_LIMIT, &[3]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Each has its own reason why a target does not run it.
#[test]
fn many_kernels_that_use_an_aspect_themselves() {
    let folder = Folder::new();
    let mut module = Module::default();
    for nth in 0..100_000 {
        let id = module.function(None, true);
        put(&mut module.entries, 15, &[6, id], Some(&format!("k{nth}")), &[]);
    }
    folder.put("m.spv", module.bytes());
    bounded(&folder, &["check", "m.spv", "-t", "dg1", "--format", "json"]);
}

#[test]
fn many_kernels_beside_one_that_uses_the_recorded_aspect() {
    let folder = Folder::new();
    let mut module = Module::kernels(100_000);
    module.function(None, true);
    folder.put("m.spv", module.bytes());
    let names: String = (0..100_000).map(|nth| format!("kernel{nth}\n")).collect();
    folder.put("m.sym", names);
    folder.put("m.prop", format!("[SYCL/device requirements]\naspects=2|{}\n", array(std::iter::once(6))));
    folder.put("m.table", "[Code|Properties|Symbols]\nm.spv|m.prop|m.sym\n");
    bounded(&folder, &["explain", "-m", "Required aspect fp64 is not supported on the device", "m.table"]);
}

#[test]
fn many_kernels_that_reach_a_use_by_a_long_way() {
    let folder = Folder::new();
    let mut module = Module::default();
    let mut callee = module.function(None, true);
    for _ in 0..40_000 {
        callee = module.function(Some(callee), false);
    }
    (0..8_000).for_each(|nth| module.kernel(&format!("kernel{nth}"), Some(callee)));
    folder.put("m.spv", module.bytes());
    bounded(&folder, &["kernels", "m.spv", "--format", "json"]);
    bounded(&folder, &["check", "m.spv", "-t", "dg1", "--format", "json"]);
}

#[test]
fn many_kernels_that_reach_functions_which_call_each_other() {
    const RING: u32 = 100;
    let folder = Folder::new();
    let mut module = Module::default();
    for nth in 0..RING {
        let next = FUNCTIONS + 8 * ((nth + 1) % RING);
        let id = module.function(Some(next), true);
        put(&mut module.texts, 5, &[id], Some(&format!("f{nth}{}", "x".repeat(1900))), &[]);
    }
    (0..4_000).for_each(|nth| module.kernel(&format!("kernel{nth}"), Some(FUNCTIONS)));
    folder.put("m.spv", module.bytes());
    for form in ["json", "junit", "sarif"] {
        bounded(&folder, &["check", "m.spv", "-t", "dg1", "--format", form]);
    }
}

#[test]
fn many_kernels_of_one_name() {
    let folder = Folder::new();
    let mut module = Module::default();
    (0..60_000).for_each(|_| module.kernel("k", None));
    folder.put("m.spv", module.bytes());
    bounded(&folder, &["inspect", "m.spv", "--html", "o.html"]);
}

/// Debug information of a hostile module: names of 200,000 letters, 40 calls inlined into each other, scopes in scopes,
/// scopes in a circle.
fn scoped(circle: bool) -> Module {
    let [set, file, name, source, unit, scope] = [10, 11, 12, 13, 14, 15];
    let mut module = Module::default();
    let long = "f".repeat(200_000);
    put(&mut module.imports, 11, &[set], Some("OpenCL.DebugInfo.100"), &[]);
    put(&mut module.texts, 7, &[file], Some(&long), &[]);
    put(&mut module.texts, 7, &[name], Some(&long), &[]);
    let extended = |out: &mut Vec<u32>, id: u32, of: u32, operands: &[u32]| {
        put(out, 12, &[&[VOID, id, set, of], operands].concat(), None, &[]);
    };
    extended(&mut module.globals, source, 35, &[file]);
    extended(&mut module.globals, unit, 1, &[1, 4, source, 0]);
    extended(&mut module.globals, scope, 20, &[name, 0, source, 1, 1, unit, name, 0, 1]);
    let (blocks, calls) = (16..58, 58..98);
    for id in blocks.clone() {
        let parent = if circle && id == 16 { 57 } else { id - 1 };
        extended(&mut module.globals, id, 21, &[source, 1, 1, parent]);
    }
    for id in calls.clone() {
        let next = if id == calls.start { if circle { 97 } else { 0 } } else { id - 1 };
        extended(&mut module.globals, id, 25, &[1, 57, next]);
    }
    for nth in 0..1500 {
        let id = FUNCTIONS + 8 * module.functions;
        module.functions += 1;
        put(&mut module.code, 54, &[VOID, id, 0, SIGNATURE], None, &[]);
        put(&mut module.code, 248, &[id + 1], None, &[]);
        extended(&mut module.code, id + 5, 23, &[57, 97]);
        put(&mut module.code, 8, &[file, 1, 1], None, &[]);
        put(&mut module.code, 1, &[DOUBLE, id + 3], None, &[]);
        put(&mut module.code, 129, &[DOUBLE, id + 4, id + 3, id + 3], None, &[]);
        put(&mut module.code, 253, &[], None, &[]);
        put(&mut module.code, 56, &[], None, &[]);
        put(&mut module.entries, 15, &[6, id], Some(&format!("kernel{nth}")), &[]);
    }
    module
}

#[test]
fn many_uses_in_deep_scopes_of_long_names() {
    let folder = Folder::new();
    for circle in [false, true] {
        folder.put("m.spv", scoped(circle).bytes());
        bounded(&folder, &["kernels", "m.spv", "--format", "json"]);
        bounded(&folder, &["check", "m.spv", "-t", "dg1", "--format", "json"]);
    }
}

#[test]
fn many_properties_beside_many_kernels() {
    let folder = Folder::new();
    const MANY: u32 = 30_000;
    folder.put("m.spv", Module::kernels(MANY).bytes());
    let rows = |row: &dyn Fn(u32) -> String| (0..MANY).map(row).collect::<String>();
    for text in [
        format!("[SYCL/assert used]\n{}", rows(&|nth| format!("other{nth}=1|1\n"))),
        format!("[SYCL/kernel param opt]\n{}", rows(&|nth| format!("other{nth}=2|{}\n", array([0].into_iter())))),
        format!(
            "[SYCL/specialization constants]\n{}",
            rows(&|nth| format!("constant{nth}=2|{}\n", array([nth, 0, 4].into_iter())))
        ),
        format!("[SYCL/device requirements]\n{}", rows(&|nth| format!("other{nth}=1|1\n"))),
        // Recorded and not used by any kernel: whether other functions use it is asked of the module once.
        format!("[SYCL/device requirements]\naspects=2|{}\n", array([6].into_iter())),
    ] {
        folder.put("m.prop", text);
        bounded(&folder, &["kernels", "m.spv"]);
        bounded(&folder, &["props", "m.spv"]);
    }
}

#[test]
fn requirements_that_name_many_numbers() {
    let folder = Folder::new();
    folder.put("m.spv", Module::kernels(1_000).bytes());
    for name in ["aspects", "reqd_sub_group_size", "reqd_work_group_size", "fixed_target"] {
        folder.put("m.prop", format!("[SYCL/device requirements]\n{name}=2|{}\n", array(1000..200_000)));
        bounded(&folder, &["kernels", "m.spv"]);
        bounded(&folder, &["check", "m.spv", "-t", "dg1"]);
    }
}

/// Whether they were SYCL, by which sizes are turned round, only their names could tell.
#[test]
fn many_kernels_with_sizes_and_without_a_language() {
    let folder = Folder::new();
    let mut module = Module::kernels(40_000);
    for nth in 0..40_000 {
        put(&mut module.entries, 16, &[FUNCTIONS + 8 * nth, 17, nth + 1, 1, 1], None, &[]);
    }
    folder.put("m.spv", module.bytes());
    bounded(&folder, &["check", "m.spv", "-t", "dg1"]);
    bounded(&folder, &["kernels", "m.spv", "--format", "json"]);
}

#[test]
fn many_images_with_one_kernel() {
    let folder = Folder::new();
    folder.put("m.spv", Module::kernels(1).bytes());
    folder.put("m.table", format!("[Code]\n{}", "m.spv\n".repeat(20_000)));
    bounded(&folder, &["kernels", "m.table", "--format", "json"]);
}

/// Images that share a module whose kernels are all the same code: each would list all others in each image.
#[test]
fn many_images_with_the_same_kernels() {
    let folder = Folder::new();
    let mut module = Module::default();
    for nth in 0..100 {
        let function = module.function(None, false);
        module.kernel(&format!("{nth}{}", "k".repeat(500)), Some(function));
    }
    folder.put("m.spv", module.bytes());
    folder.put("m.table", format!("[Code]\n{}", "m.spv\n".repeat(300)));
    bounded(&folder, &["kernels", "m.table", "--format", "json"]);
}

/// Kernels that each use double precision, and such as only stand beside one that does.
#[test]
fn many_kernels_that_need_an_aspect() {
    let folder = Folder::new();
    let mut beside = Module::kernels(30_000);
    let last = beside.function(None, true);
    beside.kernel("last", Some(last));
    let mut each = Module::default();
    for nth in 0..30_000 {
        let function = each.function(None, true);
        each.kernel(&format!("kernel{nth}"), Some(function));
    }
    for module in [beside, each] {
        folder.put("m.spv", module.bytes());
        bounded(&folder, &["check", "m.spv", "-t", "dg1", "--format", "json"]);
    }
}

/// Native kernels of which each spills another number of bytes, so that no two findings are alike.
#[test]
fn many_kernels_that_spill_differently() {
    let folder = Folder::new();
    let kernel = |nth| format!("  - name: k{nth}\n    execution_env:\n      simd_size: 16\n      spill_size: {nth}\n");
    let kernels: String = (2_000..82_000).map(kernel).collect();
    let info = format!("---\nversion: '1.22'\nkernels:\n{kernels}...\n");
    let note = [&8u32.to_le_bytes()[..], &[4, 0, 0, 0, 2, 0, 0, 0], b"IntelGT\0", &[8, 12, 0, 0]].concat();
    folder.put(
        "z.bin",
        of_device(205, 0, &[(".ze_info", 0xff00_0011, info.as_bytes(), 0), (".note.intelgt.compat", 7, &note, 0)]),
    );
    let budget = "[check]\ntargets=[\"intel_gpu_pvc\"]\n[check.target.intel_gpu_pvc]\nbudget={spill=\"1 KiB\"}\n";
    folder.put("p.toml", budget);
    // None has code, which is told.
    run_bounded(&folder, &["check", "z.bin", "--policy", "p.toml"], TIME_LIMIT, &[3]);
}

/// Images of which each calls into the next, and the last into none that is there.
#[test]
fn many_images_that_import_from_each_other() {
    const IMAGES: u32 = 2_000;
    let folder = Folder::new();
    for nth in 0..IMAGES {
        let mut module = Module::kernels(0);
        let function = module.function(None, false);
        put(&mut module.decorations, 71, &[function, 41], Some(&format!("function{nth}")), &[0]);
        module.import(&format!("function{}", nth + 1));
        module.kernel(&format!("kernel{nth}"), Some(function + 8));
        folder.put(&format!("m{nth}.spv"), module.bytes());
    }
    folder.put("m.table", format!("[Code]\n{}", (0..IMAGES).map(|nth| format!("m{nth}.spv\n")).collect::<String>()));
    bounded(&folder, &["check", "m.table", "-t", "pvc", "--format", "json"]);
    bounded(&folder, &["explain", "m.table", "-t", "pvc"]);
    bounded(&folder, &["has", "m.table", "-t", "pvc"]);
}

/// Each takes in all behind it, where each is linked with what it needs: four million and a half modules would be read.
#[test]
fn many_images_that_each_need_all_others() {
    const IMAGES: u32 = 3_000;
    let folder = Folder::new();
    let mut table = "[Code|Properties|Symbols]\n".to_owned();
    for nth in 0..IMAGES {
        let mut module = Module::kernels(0);
        let function = module.function(None, false);
        put(&mut module.decorations, 71, &[function, 41], Some(&format!("function{nth}")), &[0]);
        if nth + 1 < IMAGES {
            module.import(&format!("function{}", nth + 1));
        }
        module.kernel(&format!("kernel{nth}"), Some(function));
        folder.put(&format!("m{nth}.spv"), module.bytes());
        folder.put(&format!("m{nth}.sym"), format!("kernel{nth}\nfunction{nth}\n"));
        let imported = format!("[SYCL/imported symbols]\nfunction{}=1|1\n", nth + 1);
        let imported = if nth + 1 < IMAGES { imported } else { String::new() };
        folder.put(&format!("m{nth}.prop"), format!("{imported}[SYCL/exported symbols]\nfunction{nth}=1|1\n"));
        table.push_str(&format!("m{nth}.spv|m{nth}.prop|m{nth}.sym\n"));
    }
    folder.put("m.table", table);
    run_bounded(&folder, &["link", "--each", "m.table", "-o", "out.table", "--max-memory", "192MiB"], TIME_LIMIT, &[4]);
}

/// Each of the kernels may call each of the imports: lists of all would have four million names.
#[test]
fn many_kernels_that_reach_many_imports() {
    const MANY: u32 = 2_000;
    let folder = Folder::new();
    let mut module = Module::default();
    (0..MANY).for_each(|nth| module.import(&format!("function{nth}")));
    let through = FUNCTIONS + 8 * module.functions;
    module.functions += 1 + MANY;
    put(&mut module.code, 54, &[VOID, through, 0, SIGNATURE], None, &[]);
    put(&mut module.code, 248, &[through + 1], None, &[]);
    for nth in 0..MANY {
        put(&mut module.code, 57, &[VOID, through + 2 + nth, FUNCTIONS + 8 * nth], None, &[]);
    }
    put(&mut module.code, 253, &[], None, &[]);
    put(&mut module.code, 56, &[], None, &[]);
    (0..MANY).for_each(|nth| module.kernel(&format!("kernel{nth}"), Some(through)));
    folder.put("m.spv", module.bytes());
    for form in ["table", "json"] {
        bounded(&folder, &["check", "--link", "m.spv", "--format", form, "--max-memory", "128MiB"]);
    }
}

/// Each has all parameters, and so has a row for each of its constants.
#[test]
fn many_entry_points_of_a_function_with_many_parameters() {
    const MANY: u32 = 1_200;
    let folder = Folder::new();
    let mut module = Module::default();
    let id = FUNCTIONS + 8 * module.functions;
    module.functions += 1 + MANY;
    put(&mut module.globals, 21, &[10, 32, 0], None, &[]);
    put(&mut module.globals, 33, &[11, VOID, 10], None, &[]);
    put(&mut module.code, 54, &[VOID, id, 0, 11], None, &[]);
    (0..MANY).for_each(|nth| put(&mut module.code, 55, &[10, id + 2 + nth], None, &[]));
    put(&mut module.code, 248, &[id + 1], None, &[]);
    put(&mut module.code, 253, &[], None, &[]);
    put(&mut module.code, 56, &[], None, &[]);
    (0..MANY).for_each(|nth| put(&mut module.entries, 15, &[6, id], Some(&format!("k{nth}")), &[]));
    (0..MANY).for_each(|nth| put(&mut module.entries, 16, &[id, 10_000 + nth], None, &[]));
    folder.put("m.spv", module.bytes());
    // Lists that are left out are a problem.
    run_bounded(&folder, &["kernels", "m.spv", "--max-memory", "96MiB"], TIME_LIMIT, &[3]);
    run_bounded(&folder, &["kernels", "m.spv", "--format", "json", "--max-memory", "96MiB"], TIME_LIMIT, &[3]);
    run_bounded(&folder, &["diff", "m.spv", "m.spv", "--max-memory", "96MiB"], TIME_LIMIT, &[3]);
}

/// Each would have a copy of the name of the file.
#[test]
fn many_calls_in_a_file_of_a_long_name() {
    const MANY: u32 = 40_000;
    let folder = Folder::new();
    let mut module = Module::default();
    put(&mut module.texts, 7, &[10], Some(&"f".repeat(4_000)), &[]);
    let id = FUNCTIONS + 8 * module.functions;
    module.functions += 1 + MANY;
    put(&mut module.code, 54, &[VOID, id, 0, SIGNATURE], None, &[]);
    put(&mut module.code, 248, &[id + 1], None, &[]);
    put(&mut module.code, 8, &[10, 1, 1], None, &[]);
    (0..MANY).for_each(|nth| put(&mut module.code, 57, &[VOID, id + 8 + nth, id + 8 + nth], None, &[]));
    put(&mut module.code, 253, &[], None, &[]);
    put(&mut module.code, 56, &[], None, &[]);
    put(&mut module.entries, 15, &[6, id], Some("kernel"), &[]);
    folder.put("m.spv", module.bytes());
    bounded(&folder, &["kernels", "m.spv", "--max-memory", "96MiB"]);
}

/// Each finding would repeat the symbol.
#[test]
fn many_kernels_that_reach_an_import_of_a_long_name() {
    let folder = Folder::new();
    let mut module = Module::default();
    module.import(&"s".repeat(200_000));
    (0..1_000).for_each(|nth| module.kernel(&format!("kernel{nth}"), Some(FUNCTIONS)));
    folder.put("m.spv", module.bytes());
    bounded(&folder, &["check", "m.spv", "-t", "intel_gpu_pvc,spir64_x86_64", "--format", "json"]);
    run_bounded(&folder, &["kernels", "m.spv", "--format", "json"], TIME_LIMIT, &[3]);
}

/// Each dot may be the end of a kernel's name.
#[test]
fn a_text_of_many_dots() {
    let folder = Folder::new();
    let mut module = Module::kernels(2);
    put(&mut module.texts, 7, &[10], Some(&format!("kernel_arg_type.{}", ".".repeat(250_000))), &[]);
    folder.put("m.spv", module.bytes());
    let split = ["split", "--mode", "per_kernel", "--emit", "offload-binary", "-o", "o", "m.spv"];
    run_bounded(&folder, &split, TIME_LIMIT, &[0]);
}

/// Each kernel of a module of 800 KB needs nearly all of it.
#[test]
fn parts_that_come_to_many_times_the_module_are_not_all_in_memory() {
    let folder = Folder::new();
    let mut module = Module::default();
    let reached = (0..4).fold(None, |next, _| {
        let id = module.function(next, false);
        put(&mut module.texts, 5, &[id], Some(&format!("{}{id}", "f".repeat(200_000))), &[]);
        Some(id)
    });
    (0..70).for_each(|nth| module.kernel(&format!("kernel{nth}"), reached));
    folder.put("m.spv", module.bytes());
    for form in ["offload-binary", "offload-bundle", "object", "shared", "syclbin", "table"] {
        let bounds = ["--max-memory", "96MiB", "--emit", form, "-o", form];
        let split = [&["split", "m.spv", "--mode", "per_kernel"][..], &bounds].concat();
        run_bounded(&folder, &split, TIME_LIMIT, &[0]);
    }
}

/// The bound is that of all modules together: each alone may have parts of 64 MB.
#[test]
fn parts_of_many_modules_have_one_bound() {
    let folder = Folder::new();
    let names: Vec<String> = (0..3).map(|nth| format!("{nth}.spv")).collect();
    for name in &names {
        let mut module = Module::default();
        let reached = module.function(None, false);
        put(&mut module.texts, 5, &[reached], Some(&name.repeat(40_000)), &[]);
        (0..190).for_each(|nth| module.kernel(&format!("{name}_{nth}"), Some(reached)));
        folder.put(name, module.bytes());
    }
    let split = |files: &[String]| {
        let mut command = vec!["split", "--mode", "per_kernel", "--emit", "offload-binary", "-o", "o"];
        command.extend(files.iter().map(String::as_str));
        tool(&folder, command)
    };
    assert_eq!(split(&names[..1]).status.code(), Some(0));
    let refused = split(&names);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(3), "{told}");
    assert!(told.contains("more than 64 times the input"), "{told}");
}
