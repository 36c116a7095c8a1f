//! Does `devices --probe` find what a C program finds that builds the same kernels, written by hand and assembled by
//! `spirv-as`? And is what `--save` writes the device that the driver tells of?
//!
//! `build_modules.c` builds each module in a process of its own, on the first device that takes SPIR-V.

use crate::support::tools::needed;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::tool::tool;
use crate::world::{scripts, succeed, world};

/// Capabilities that the probe's kernel for one declares besides, by number (SPIR-V unified1, "implicitly declares").
const IMPLIED: [(u64, &[u64]); 22] = [
    (12, &[11]),
    (14, &[13]),
    (15, &[13]),
    (44, &[43]),
    (47, &[46]),
    (58, &[19]),
    (60, &[17]),
    (62, &[61]),
    (63, &[61]),
    (64, &[61]),
    (65, &[61]),
    (66, &[61]),
    (67, &[61]),
    (5613, &[10]),
    (5616, &[9]),
    (5617, &[5619]),
    (6017, &[39]),
    (6026, &[61]),
    (6034, &[10]),
    (6095, &[9]),
    (6229, &[6228]),
    (6230, &[6228]),
];

/// Capabilities of which the implied ones have extensions of their own.
const MATRIX: [(u64, &[u64]); 4] =
    [(4213, &[4212, 6022]), (5114, &[5112, 6022]), (5117, &[5116]), (5118, &[5116, 6022])];

/// The type and the instructions of kernels whose code uses the capability: `%v` is a value of `%t` loaded from `%p`.
fn code(number: u64) -> Option<(&'static str, &'static str)> {
    let multiply = "%r = OpFMul %t %v %v\nOpStore %p %r Aligned ";
    Some(match number {
        9 => ("OpTypeFloat 16", multiply),
        10 => ("OpTypeFloat 64", multiply),
        11 => ("OpTypeInt 64 0", "%r = OpIAdd %t %v %v\nOpStore %p %r Aligned "),
        22 => ("OpTypeInt 16 0", "%r = OpIAdd %t %v %v\nOpStore %p %r Aligned "),
        39 => ("OpTypeInt 8 0", "%r = OpIAdd %t %v %v\nOpStore %p %r Aligned "),
        12 => ("OpTypeInt 64 0", "%r = OpAtomicExchange %t %p %one %zero %v"),
        5612 => ("OpTypeFloat 32", "%r = OpAtomicFMaxEXT %t %p %one %zero %v"),
        5613 => ("OpTypeFloat 64", "%r = OpAtomicFMaxEXT %t %p %one %zero %v"),
        5616 => ("OpTypeFloat 16", "%r = OpAtomicFMaxEXT %t %p %one %zero %v"),
        6033 => ("OpTypeFloat 32", "%r = OpAtomicFAddEXT %t %p %one %zero %v"),
        6034 => ("OpTypeFloat 64", "%r = OpAtomicFAddEXT %t %p %one %zero %v"),
        6095 => ("OpTypeFloat 16", "%r = OpAtomicFAddEXT %t %p %one %zero %v"),
        _ => return None,
    })
}

/// The version that has a capability without an extension.
fn version(number: u64) -> &'static str {
    match number {
        58..=60 => "1.1",
        61..=67 | 6026 => "1.3",
        71 => "1.6",
        _ => "1.0",
    }
}

/// A kernel as assembly, and its version.
fn kernel(result: &Value) -> (String, String) {
    let number = result["number"].as_u64();
    let implied = IMPLIED.iter().chain(&MATRIX).find(|(of, _)| Some(*of) == number).map_or(&[][..], |(_, all)| all);
    let mut text = "OpCapability Addresses\nOpCapability Kernel\n".to_owned();
    // By number, as some are newer than the assembler.
    text.extend(implied.iter().chain(&number).map(|one| format!("OpCapability !{one}\n")));
    let mut extensions: Vec<&str> = result["extension"].as_str().into_iter().collect();
    if result["kind"] == "extension" {
        extensions.extend(result["name"].as_str());
    }
    if implied.contains(&6022) {
        extensions.push("SPV_KHR_cooperative_matrix");
    }
    text.extend(extensions.iter().map(|name| format!("OpExtension \"{name}\"\n")));
    text += "OpMemoryModel Physical64 OpenCL\nOpEntryPoint Kernel %main \"probe\"\n%void = OpTypeVoid\n";
    match number.and_then(code) {
        None => text += "%kind = OpTypeFunction %void\n%main = OpFunction %void None %kind\n%label = OpLabel\n",
        Some((kind, code)) => {
            let bytes = kind.split(' ').nth(1).unwrap().parse::<u32>().unwrap() / 8;
            let end = if code.ends_with("Aligned ") { bytes.to_string() } else { String::new() };
            text += &format!(
                "%int = OpTypeInt 32 0\n%t = {kind}\n%one = OpConstant %int 1\n%zero = OpConstant %int 0\n\
                 %pointer = OpTypePointer CrossWorkgroup %t\n%kind = OpTypeFunction %void %pointer\n\
                 %main = OpFunction %void None %kind\n%p = OpFunctionParameter %pointer\n%label = OpLabel\n\
                 %v = OpLoad %t %p Aligned {bytes}\n{code}{end}\n"
            );
        }
    }
    text += "OpReturn\nOpFunctionEnd\n";
    let version = match result["kind"].as_str() {
        Some("version") => result["name"].as_str().unwrap(),
        _ => number.map_or("1.0", version),
    };
    (text, version.to_owned())
}

fn assemble(folder: &Path, name: &str, text: &str, version: &str) -> PathBuf {
    let (source, module) = (folder.join(format!("{name}.spvasm")), folder.join(format!("{name}.spv")));
    std::fs::write(&source, text).unwrap();
    succeed(needed("spirv-as").args(["--target-env", &format!("spv{version}")]).arg(source).arg("-o").arg(&module));
    module
}

#[test]
fn the_probe_finds_what_a_c_program_finds() {
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("cpu.yaml");
    let output = succeed(tool().args(["devices", "--device", "cpu", "--probe", "--format", "json"]));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let device = &report["devices"][0];
    let results = device["probe"]["results"].as_array().unwrap();
    assert!(results.len() > 100, "{}", results.len());
    let mut files = BTreeMap::new();
    for result in results {
        let (text, version) = kernel(result);
        let name = format!("{}-{}", result["kind"].as_str().unwrap(), result["name"].as_str().unwrap());
        files.insert(assemble(folder.path(), &name, &text, &version), result);
    }
    let program = folder.path().join("build_modules");
    let source = scripts().join("build_modules.c");
    succeed(needed("cc").args(["-O1", "-Wall", "-Werror"]).arg(source).arg("-o").arg(&program).arg("-ldl"));
    let loader = world().root().join("venv/lib/libOpenCL.so.1");
    let output = succeed(world().command(&program).arg(loader).args(files.keys()));
    let said = String::from_utf8(output.stdout).unwrap();
    let (mut yes, mut wrong) = (0, Vec::new());
    for line in said.lines() {
        let (word, rest) = line.split_once(' ').unwrap();
        let (_, path) = rest.split_once(' ').unwrap();
        let result = files.remove(Path::new(path)).unwrap();
        let answer = match word {
            "no" => "refused",
            other => other,
        };
        yes += usize::from(answer == "yes");
        if result["answer"] != answer {
            wrong.push(format!("{path}: {answer}, the probe says {result}"));
        }
    }
    println!("{} taken of {}", yes, results.len());
    assert!(files.is_empty(), "{files:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(yes > 40 && yes < results.len(), "{yes}");

    // The saved file is a target that other verbs take, and holds the answers.
    succeed(tool().args(["devices", "--device", "cpu", "--save"]).arg(&saved));
    succeed(tool().args(["targets", "--validate"]).arg(&saved));
    let text = std::fs::read_to_string(&saved).unwrap();
    let name = text.lines().find_map(|line| line.strip_suffix(':').filter(|name| !name.starts_with(' '))).unwrap();
    assert!(text.contains(device["driver"].as_str().unwrap()), "{text}");
    let output = succeed(tool().args(["targets", name, "--format", "json", "--device-config"]).arg(&saved));
    let target: Value = serde_json::from_slice(&output.stdout).unwrap();
    let target = &target["targets"][0];
    assert_eq!((&target["aspects"], &target["sub_group_sizes"]), (&device["aspects"], &device["sub_group_sizes"]));
    assert_eq!(target["max_work_group_size"], device["max_work_group_size"]);
    let library = world().window();
    let output = tool().args(["check", "-t", name, "--device-config"]).arg(&saved).arg(&library).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
}
