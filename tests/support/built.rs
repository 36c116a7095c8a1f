//! How does a test get a file that a compiler, assembler or linker made?
//!
//! A [`Recipe`] says inputs, commands and outputs. The outputs are checked in, packed in `fixtures/built.tar.xz` under
//! the recipe's name and a hash of all that it says: `cargo test` needs none of the programs. `fixtures/make.sh` makes
//! the pack, and `tests/real/fixtures.rs` holds it against what the programs make today.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::tools;

/// The pack of what recipes made.
pub const PACK: &str = "fixtures/built.tar.xz";

/// The variable that `fixtures/make.sh` sets: the folder in which recipes are followed.
const MAKING: &str = "SYCL_BUNDLE_FIXTURES";

/// Whether this is a test of the first tier, which has to find all that it asks for in the pack. A build with the feature
/// `real-world` does not say so: tests of the first tier are built with it too, and a fixture that the pack lacks would
/// be made there without a word.
const FIRST_TIER: bool = !matches!(env!("CARGO_CRATE_NAME").as_bytes(), b"real");

/// Inputs, commands and outputs. Every method adds one thing.
#[derive(Debug, Clone)]
pub struct Recipe {
    name: String,
    inputs: Vec<(String, Vec<u8>)>,
    needs: Vec<(Recipe, String)>,
    commands: Vec<Vec<String>>,
    outputs: Vec<String>,
}

impl Recipe {
    /// A recipe of nothing; the name is for people.
    pub fn new(name: &str) -> Self {
        let (inputs, needs, commands, outputs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Recipe { name: name.to_owned(), inputs, needs, commands, outputs }
    }

    /// Adds a file to start from.
    pub fn input(mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        self.inputs.push((name.into(), bytes.into()));
        self
    }

    /// Adds an output of another recipe to start from, under the same name.
    pub fn need(mut self, other: &Recipe, output: &str) -> Self {
        assert!(other.outputs.iter().any(|name| name == output), "{} makes no {output}", other.name);
        self.needs.push((other.clone(), output.to_owned()));
        self
    }

    /// Adds a command: a program as [`tools::named`] knows it, its arguments, and at the end perhaps `>` and the file that
    /// takes what it prints. `{here}` in an argument is the folder it runs in.
    pub fn run<S: Into<String>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.commands.push(words.into_iter().map(Into::into).collect());
        self
    }

    /// Adds a file that the commands make.
    pub fn output(mut self, name: impl Into<String>) -> Self {
        self.outputs.push(name.into());
        self
    }

    /// Returns one output's path.
    pub fn path(&self, output: &str) -> PathBuf {
        let folder = self.folder();
        let path = folder.join("out").join(output);
        assert!(path.is_file(), "{} has no {output}", self.name);
        path
    }

    /// Returns one output's bytes.
    pub fn bytes(&self, output: &str) -> Vec<u8> {
        std::fs::read(self.path(output)).unwrap()
    }

    /// The name and a hash of all that decides the outputs.
    fn key(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.document().to_string().as_bytes());
        for (name, bytes) in &self.inputs {
            hasher.update(name.as_bytes()).update(&[0]).update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        }
        format!("{}-{}", self.name, &hasher.finalize().to_hex()[..16])
    }

    /// Document that is written beside the outputs, for the recipe to be followed again.
    fn document(&self) -> Value {
        let needs: Vec<Value> = self.needs.iter().map(|(recipe, output)| json!([recipe.key(), output])).collect();
        json!({ "needs": needs, "commands": self.commands, "outputs": self.outputs })
    }

    /// The folder with the outputs: unpacked, or made here where that is asked for.
    fn folder(&self) -> PathBuf {
        let key = self.key();
        let making = std::env::var_os(MAKING).map(PathBuf::from);
        let root = making.clone().unwrap_or_else(|| unpacked().to_owned());
        let mut folder = root.join(&key);
        if folder.is_dir() {
            return folder;
        }
        if making.is_none() {
            if FIRST_TIER {
                panic!(
                    "{PACK} has no {key}: the fixture is new or was changed; run fixtures/make.sh, see CONTRIBUTING.md"
                );
            }
            let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("made");
            folder = made.join(&key);
            if folder.is_dir() {
                return folder;
            }
        }
        self.make(&folder);
        folder
    }

    fn make(&self, folder: &Path) {
        let root = folder.parent().unwrap();
        std::fs::create_dir_all(root).unwrap();
        let building = tempfile::tempdir_in(root).unwrap();
        let at = |name: &str| building.path().join(name);
        for name in ["in", "out"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        for (name, bytes) in &self.inputs {
            std::fs::write(at("in").join(name), bytes).unwrap();
        }
        let document = self.document();
        writeln!(std::fs::File::create(at("recipe.json")).unwrap(), "{document:#}").unwrap();
        let needs: Vec<PathBuf> = self.needs.iter().map(|(recipe, output)| recipe.path(output)).collect();
        follow(&document, &at("in"), &needs, &at("out"));
        let building = building.keep();
        // Another test may have been faster; what it made is the same.
        if std::fs::rename(&building, folder).is_err() {
            std::fs::remove_dir_all(&building).unwrap();
        }
    }
}

/// Follows a recipe's document, with the files of a folder and some others, and puts the outputs into another folder.
pub fn follow(document: &Value, inputs: &Path, needs: &[PathBuf], outputs: &Path) {
    let work = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let files = std::fs::read_dir(inputs).unwrap().map(|entry| entry.unwrap().path());
    for file in files.chain(needs.iter().cloned()) {
        std::fs::copy(&file, work.path().join(file.file_name().unwrap())).unwrap();
    }
    let list = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    for words in document["commands"].as_array().unwrap() {
        let words = list(words);
        let (program, mut arguments) = words.split_first().unwrap();
        let mut printed = None;
        if let [rest @ .., sign, file] = arguments
            && sign == ">"
        {
            (arguments, printed) = (rest, Some(file));
        }
        let here = work.path().to_str().unwrap();
        let mut command = Command::new(tools::named(program));
        command.args(arguments.iter().map(|word| word.replace("{here}", here))).current_dir(work.path());
        let output = tools::run(command.env("LC_ALL", "C").env("PWD", here));
        if let Some(file) = printed {
            std::fs::write(work.path().join(file), output.stdout).unwrap();
        }
    }
    for output in list(&document["outputs"]) {
        std::fs::rename(work.path().join(&output), outputs.join(&output))
            .or_else(|_| std::fs::copy(work.path().join(&output), outputs.join(&output)).map(drop))
            .unwrap_or_else(|error| panic!("{output}: {error}"));
    }
}

/// Reads the pack.
pub fn pack() -> tar::Archive<impl std::io::Read> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PACK);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    tar::Archive::new(lzma_rust2::XzReader::new(std::io::Cursor::new(bytes), true))
}

/// The folder with the outputs of all recipes of the pack, unpacked once.
fn unpacked() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(PACK)).unwrap();
        let root = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let folder = root.join(format!("fixtures-{}", &blake3::hash(&bytes).to_hex()[..16]));
        if !folder.is_dir() {
            let unpacking = tempfile::tempdir_in(root).unwrap();
            for entry in pack().entries().unwrap() {
                let mut entry = entry.unwrap();
                // The sources are for those who make the fixtures again.
                if !entry.path().unwrap().components().any(|part| part.as_os_str() == "in") {
                    entry.unpack_in(unpacking.path()).unwrap();
                }
            }
            let unpacking = unpacking.keep();
            // Another test program may have been faster.
            if std::fs::rename(&unpacking, &folder).is_err() {
                std::fs::remove_dir_all(&unpacking).unwrap();
            }
        }
        folder
    })
}
