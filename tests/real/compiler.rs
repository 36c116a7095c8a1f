//! What did the real DPC++ compiler make of the sources in `fixtures/sycl`?
//!
//! The compiler is the installation's libsycl-jit; `sycl_compiler.cpp` calls it. Each source is compiled as it stands and
//! with `-g`, with the options of each of its `// compile:` lines where it has such. What came out is kept under
//! `target/tmp`, by a hash of all that went in.

use crate::support::tools::needed;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::world::{scripts, succeed, tail, world};

/// One source, compiled one way.
pub struct Compiled {
    /// The name of the source, without its ending.
    pub source: String,
    /// The text of the source.
    pub text: String,
    /// Options that the compiler was given.
    pub options: Vec<String>,
    /// Folder of the images, with a table of them.
    pub folder: PathBuf,
    /// Output of the compiler.
    pub log: String,
    /// The images in the compiler's order.
    pub images: Vec<Made>,
}

/// An image as the compiler returned it.
pub struct Made {
    /// The SPIR-V module.
    pub module: Vec<u8>,
    /// Entries of the image.
    pub symbols: Vec<String>,
    /// Properties of the image, by set and name.
    pub properties: BTreeMap<String, BTreeMap<String, Property>>,
}

/// A property's value.
pub enum Property {
    Number(u32),
    /// Without the length that precedes them in memory.
    Bytes(Vec<u8>),
}

impl Compiled {
    /// A name for messages and tables.
    pub fn label(&self) -> String {
        std::iter::once(&self.source).chain(&self.options).cloned().collect::<Vec<_>>().join(" ")
    }

    /// Whether the optimiser ran: `-g` turns it off.
    pub fn optimised(&self) -> bool {
        !self.options.iter().any(|option| option == "-g")
    }

    /// The table of the images, which the tool reads.
    pub fn table(&self) -> PathBuf {
        self.folder.join("images.table")
    }
}

impl Made {
    /// The value of a property that is a number.
    pub fn number(&self, set: &str, name: &str) -> Option<u32> {
        match self.properties.get(set)?.get(name)? {
            Property::Number(number) => Some(*number),
            Property::Bytes(_) => panic!("{set}/{name} is no number"),
        }
    }

    /// The value of a property that is a list of bytes.
    pub fn bytes(&self, set: &str, name: &str) -> Option<&[u8]> {
        match self.properties.get(set)?.get(name)? {
            Property::Bytes(bytes) => Some(bytes),
            Property::Number(_) => panic!("{set}/{name} is a number"),
        }
    }

    /// The names in a set.
    pub fn names(&self, set: &str) -> Vec<String> {
        self.properties.get(set).map(|set| set.keys().cloned().collect()).unwrap_or_default()
    }
}

/// Every source of `fixtures/sycl`, compiled every way, by name. A source that the compiler refuses ends the test.
pub fn compiled() -> &'static [Compiled] {
    static COMPILED: OnceLock<Vec<Compiled>> = OnceLock::new();
    COMPILED.get_or_init(|| made(wanted("", ways)))
}

/// Compiles the sources of a folder there whose names are wanted, with the optimiser.
pub fn optimised_of(folder: &str, names: impl Fn(&str) -> bool) -> Vec<Compiled> {
    let mut wanted = wanted(folder, ways);
    wanted.retain(|one| names(one.path.file_stem().unwrap().to_str().unwrap()));
    wanted.retain(|one| !one.options.iter().any(|option| option == "-g"));
    made(wanted)
}

/// Every source of `fixtures/sycl`, its images split in a mode of the compiler (`off`, `per_kernel`, ...), by name. Each is
/// compiled with the options of its first way, and without debug information.
pub fn compiled_as(mode: &str) -> Vec<Compiled> {
    made(wanted("", |text| {
        let mut options = listed(text).into_iter().next().unwrap_or_default();
        options.retain(|option| !option.starts_with(SPLIT));
        options.push(format!("{SPLIT}{mode}"));
        vec![options]
    }))
}

/// The option that chooses how images are split.
const SPLIT: &str = "-fsycl-device-code-split=";

fn made(wanted: Vec<Wanted>) -> Vec<Compiled> {
    let missing: Vec<&Wanted> = wanted.iter().filter(|one| !one.folder.join("status").exists()).collect();
    compile(&missing);
    wanted.into_iter().map(read).collect()
}

/// The options of the `// compile:` lines of a source.
fn listed(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("// compile: "));
    lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

/// The ways in which a source is compiled: as it says, and each with debug information.
fn ways(text: &str) -> Vec<Vec<String>> {
    let mut ways = listed(text);
    if ways.is_empty() {
        ways.push(Vec::new());
    }
    let with_debug = ways.iter().map(|way| [way.as_slice(), &["-g".to_owned()]].concat()).collect::<Vec<_>>();
    ways.extend(with_debug);
    ways
}

struct Wanted {
    path: PathBuf,
    text: String,
    options: Vec<String>,
    folder: PathBuf,
}

fn wanted(folder: &str, ways: impl Fn(&str) -> Vec<Vec<String>>) -> Vec<Wanted> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/sycl");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(sources.join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "cpp"));
    paths.sort();
    // Every compilation depends on the compiler's version, how it is called, and the common header.
    let common = [scripts().join("requirements.txt"), scripts().join("sycl_compiler.cpp"), sources.join("kernel.hpp")];
    let common = common.map(|file| std::fs::read_to_string(file).unwrap()).join("\0");
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sycl");
    let mut wanted = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        for options in ways(&text) {
            let all = [path.to_str().unwrap(), &common, &text, &options.join("\t")].join("\0");
            let folder = cache.join(blake3::hash(all.as_bytes()).to_hex().as_str());
            wanted.push(Wanted { path: path.clone(), text: text.clone(), options, folder });
        }
    }
    wanted
}

/// Compiles, in as many processes as there are processors: the compiler uses one, and takes about half a second a source.
fn compile(missing: &[&Wanted]) {
    if missing.is_empty() {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = folder.path().join("sycl_compiler");
    let source = scripts().join("sycl_compiler.cpp");
    let flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror"];
    succeed(needed("g++").args(flags).arg(&source).arg("-o").arg(&program).arg("-ldl"));
    let library = world().root().join("venv/lib/libsycl-jit.so");
    let processes = std::thread::available_parallelism().map_or(1, usize::from).min(missing.len());
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/sycl");
    let place = |number: usize| folder.path().join(number.to_string());
    let lists: Vec<PathBuf> = (0..processes).map(|process| folder.path().join(format!("list{process}"))).collect();
    for (process, list) in lists.iter().enumerate() {
        let mine = missing.iter().enumerate().skip(process).step_by(processes);
        let lines = mine.map(|(number, one)| {
            std::fs::create_dir(place(number)).unwrap();
            let (to, from) = (place(number).display().to_string(), one.path.display().to_string());
            let fixed = [to, from, "-I".to_owned(), headers.display().to_string()];
            format!("{}\n", fixed.iter().chain(&one.options).cloned().collect::<Vec<_>>().join("\t"))
        });
        std::fs::write(list, lines.collect::<String>()).unwrap();
    }
    let run = |list: &PathBuf| world().command(&program).arg(&library).arg(list).output().unwrap();
    let outputs: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = lists.iter().map(|list| scope.spawn(move || run(list))).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (number, one) in missing.iter().enumerate() {
        let output = &outputs[number % processes];
        let (name, options) = (one.path.display(), one.options.join(" "));
        let status = std::fs::read_to_string(place(number).join("status"));
        let log = std::fs::read_to_string(place(number).join("log")).unwrap_or_default();
        assert!(
            status.is_ok_and(|status| status == "ok"),
            "{name} {options} did not compile ({}): {log}\n{}",
            output.status,
            tail(&output.stderr)
        );
        std::fs::create_dir_all(one.folder.parent().unwrap()).unwrap();
        // Another process may have put the same there meanwhile.
        if let Err(error) = std::fs::rename(place(number), &one.folder) {
            assert!(one.folder.join("status").exists(), "{}: {error}", one.folder.display());
        }
    }
}

fn read(one: Wanted) -> Compiled {
    let file = |name: String| std::fs::read(one.folder.join(name));
    let mut images = Vec::new();
    while let Ok(module) = file(format!("{}.spv", images.len())) {
        let part = |ending: &str| String::from_utf8(file(format!("{}.{ending}", images.len())).unwrap()).unwrap();
        let mut properties: BTreeMap<String, BTreeMap<String, Property>> = BTreeMap::new();
        for line in part("raw").lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let [set, name, kind, value] = fields[..] else { panic!("{line}") };
            let value = if kind == "number" { Property::Number(value.parse().unwrap()) } else { bytes(value) };
            properties.entry(set.to_owned()).or_default().insert(name.to_owned(), value);
        }
        let symbols = part("sym").lines().map(str::to_owned).collect();
        images.push(Made { module, symbols, properties });
    }
    let log = String::from_utf8(file("log".to_owned()).unwrap()).unwrap();
    let source = one.path.file_stem().unwrap().to_str().unwrap().to_owned();
    Compiled { source, text: one.text, options: one.options, folder: one.folder, log, images }
}

fn bytes(hexadecimal: &str) -> Property {
    let digits = (0..hexadecimal.len()).step_by(2).map(|at| u8::from_str_radix(&hexadecimal[at..at + 2], 16).unwrap());
    let all: Vec<u8> = digits.collect();
    let (bits, bytes) = all.split_at(8);
    // A mask of arguments need not fill its last byte.
    assert_eq!(u64::from_le_bytes(bits.try_into().unwrap()).div_ceil(8), bytes.len() as u64, "{hexadecimal}");
    Property::Bytes(bytes.to_vec())
}
