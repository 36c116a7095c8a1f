//! Does the runtime take an image whose specialization constants have values, and still set them where a program asks for it?

use crate::support::tools::needed;
use std::path::{Path, PathBuf};

use sycl_bundle::bundle::property::{Properties, Property, PropertySet, Value};
use sycl_bundle::bundle::property_sets::set;
use sycl_bundle::bundle::property_text;

use crate::support::spirv;
use crate::tool::{inspect, tool};
use crate::world::{scripts, succeed, world};

/// Names as a compiler writes them, with number, offset and size of each part; and the defaults of all.
const CONSTANTS: [(&str, &[u32]); 4] = [
    ("uid0123456789abcdef____ZL4gain", &[0, 0, 4]),
    ("uid0123456789abcdef____ZN4acme5shapeE", &[1, 0, 4, 2, 4, 4]),
    ("uid0123456789abcdef____ZN4acme4flagE", &[3, 0, 1]),
    ("uid0123456789abcdef____ZN4acme6unusedE", &[4, 0, 8]),
];
const DEFAULTS: [u8; 21] = [2, 0, 0, 0, 0, 0, 0xc0, 0x3f, 7, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0];

/// Results of the kernel for 0, 1, 2 and 3 with `gain` 2, 5 and 11: 15 and as many times the number.
const USUAL: &str = "15 17 19 21";
const FIVE: &str = "15 20 25 30";
const ELEVEN: &str = "15 26 37 48";

fn array(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u64 * 8).to_le_bytes()[..], bytes].concat()
}

/// A library with the kernel as SPIR-V, as a compiler would leave it.
fn library(folder: &Path) {
    let parts =
        CONSTANTS.map(|(_, words)| array(&words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()));
    let named = CONSTANTS.iter().zip(&parts);
    let constants = named.map(|((name, _), parts)| Property { name, value: Value::Bytes(parts) }).collect();
    let defaults = array(&DEFAULTS);
    let sets = vec![
        PropertySet { name: set::SPEC_CONSTANTS, properties: constants },
        PropertySet {
            name: set::SPEC_DEFAULTS,
            properties: vec![Property { name: "all", value: Value::Bytes(&defaults) }],
        },
    ];
    std::fs::write(folder.join("m.spv"), spirv::module("specialized")).unwrap();
    std::fs::write(folder.join("m.prop"), property_text::write(&Properties { sets }).unwrap()).unwrap();
    std::fs::write(folder.join("m.sym"), "specialized\n").unwrap();
    succeed(tool().current_dir(folder).args(["wrap", "m.spv", "--emit", "shared", "-o", "plain.so"]));
}

fn build(folder: &Path, output: &str, more: &[&str]) {
    let mut command = tool();
    command.current_dir(folder).args(["build", "plain.so", "-t", "spir64_x86_64", "--no-policy", "-o", output]);
    succeed(command.args(more).env("SYCL_BUNDLE_CACHE_DIR", folder.join("cache")));
}

fn program(folder: &Path) -> PathBuf {
    let program = folder.join("set_constant");
    let mut command = needed("g++");
    command.args(["-std=c++17", "-w", "-o"]).arg(&program).arg(scripts().join("set_constant.cpp"));
    command.arg("-I").arg(world().root().join("venv/include")).arg("-L").arg(world().root().join("venv/lib"));
    succeed(command.args(["-l:libsycl.so.9", "-ldl"]));
    program
}

/// Result of each kind of launch.
fn launches(program: &Path, library: &Path) -> Vec<(String, String)> {
    let output = world().command(program).arg(library).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split_once(": ")).map(|(how, what)| (how.to_owned(), what.to_owned())).collect()
}

#[test]
fn values_hold_where_a_program_sets_none() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    library(folder);
    let program = program(folder);
    let expected = |executable: &str| {
        [
            ("launched", USUAL),
            ("launched with 11", ELEVEN),
            ("executable", executable),
            ("built", USUAL),
            ("built with 11", ELEVEN),
        ]
        .map(|(how, what)| (how.to_owned(), what.to_owned()))
    };
    assert_eq!(launches(&program, &folder.join("plain.so")), expected(USUAL));
    // A kernel that takes a kernel_handler is launched from SPIR-V as long as there is some; an executable bundle takes the
    // native code.
    build(folder, "default.so", &["--spec-defaults"]);
    assert_eq!(launches(&program, &folder.join("default.so")), expected(USUAL));
    build(folder, "five.so", &["--spec-defaults", "--spec", "gain=5"]);
    assert_eq!(launches(&program, &folder.join("five.so")), expected(FIVE));
    let images = inspect(&folder.join("five.so"))["images"].clone();
    let sets = images[1]["properties"].as_object().unwrap();
    assert!(sets.contains_key(set::SPEC_VALUES), "{images}");
    let default = inspect(&folder.join("default.so"))["images"].clone();
    assert_eq!(default[1]["properties"][set::MISC]["specConstsReplacedWithDefault"]["value"], 1, "{default}");
    // Without SPIR-V every launch has the values, and what a program sets is ignored.
    build(folder, "bare.so", &["--spec-defaults", "--spec", "gain=5", "--no-spirv"]);
    let expected = ["launched", "launched with 11", "executable"].map(|how| (how.to_owned(), FIVE.to_owned()));
    assert_eq!(launches(&program, &folder.join("bare.so")), expected);
}

/// The rules of a file do what the command line does.
#[test]
fn rules_of_a_file_set_values() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    library(folder);
    std::fs::write(
        folder.join("sycl-bundle.toml"),
        "[build]\ntargets = [\"spir64_x86_64\"]\nspec-defaults = true\n[build.spec]\n\"acme::shape\" = [1.5, 7]\n\
         [[build.rule]]\nkernels = [\"spec*\"]\nspec = { gain = 5 }\noptions = \"-cl-mad-enable\"\n\
         [[build.rule]]\nkernels = [\"other\"]\nnative = false\n",
    )
    .unwrap();
    let mut command = tool();
    command.current_dir(folder).args(["build", "plain.so", "-o", "ruled.so"]);
    let output = succeed(command.env("SYCL_BUNDLE_CACHE_DIR", folder.join("cache")));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("sycl-bundle.toml:10:1: the rule is for no image"), "{said}");
    assert_eq!(launches(&program(folder), &folder.join("ruled.so"))[2], ("executable".to_owned(), FIVE.to_owned()));
}
