//! Does text of a file, of its name, of a compiler or of a configuration reach a terminal, a CI or a page as it is?
//!
//! Verbs and formats are those that the program's help lists: one that is added is held to this, and fails here until
//! somebody says how it is called.

use super::support::folder::Folder;
use super::support::spirv::assemble;
use std::process::{Command, Output};

/// Commands to a terminal, a GitHub workflow, Azure's pipelines and a browser, a letter that turns the direction of
/// writing, one of the second set of controls, and what Markdown takes for markup.
const WICKED: &str = "evil\x1b[2J\x1b]0;t\x07\r\n::error file=x::pwned\n##[error]y ##vso[task.z]\u{202e}\u{9b}31m|`<script>alert(1)</script>";

/// The words as a property, a path or a line can hold them.
fn line() -> String {
    WICKED.replace(['\n', '\r', '/', '='], "")
}

/// The ways to call a verb: `FILE` is a hostile input, `OTHER` a hostile one of another content.
fn calls(verb: &str) -> &'static [&'static str] {
    match verb {
        "inspect" => &[
            "FILE",
            "FILE --image 0",
            "FILE --all",
            "FILE --sizes",
            "FILE --clones",
            "FILE --html o.html",
            "FILE OTHER -v",
            "FILE --where kernels=NAME",
        ],
        "kernels" => &["FILE", "FILE --all", "FILE --kernel *", "FILE --kernel NAME", "FILE --no-demangle"],
        "props" => &["FILE", "FILE --raw --all", "FILE --name NAME"],
        "check" => &[
            "FILE -t pvc,dg1,nvidia_gpu_sm_90,amd_gpu_gfx90a",
            "FILE OTHER --link",
            "FILE --declared fp16",
            "FILE --fixed-targets dg1",
            "FILE --external",
            "FILE -t dg1 --write-baseline o.json",
            "FILE -t NAME",
            "FILE -t dg1 --policy evil.toml",
            "FILE -t dg1 --device-config evil.yaml",
            "FILE OTHER -t dg1 --kernel *",
        ],
        "has" => &["FILE -t dg1,spir64_x86_64", "FILE -t dg1 --kernel NAME"],
        "explain" => &["FILE -t dg1", "FILE -t dg1 --message LOG", "--message LOG", "FILE -t dg1 --kernel NAME"],
        "diff" => &["FILE OTHER", "OTHER FILE --all", "FILE OTHER --max-growth 1%", "FILE OTHER --html o.html"],
        "targets" => &["FILE", "NAME", "--validate evil.yaml", "--device-config evil.yaml", "--diff NAME dg1"],
        "devices" => &["", "--device NAME"],
        "extract" => &["FILE -o o.d", "FILE -o -", "FILE -o o.d -v"],
        "filter" => &["FILE -t dg1 -o o.table", "FILE -o dg1,o.table -v"],
        "build" => &[
            "FILE -t pvc -o o.table --ocloc ./ocloc --no-cache",
            "FILE -t pvc -o o.table --ocloc ./ocloc --no-cache -v",
            "FILE -t dg1,spir64_x86_64 -o o.table --dry-run -v",
            "FILE -t pvc -o o.table --ocloc ./ocloc --no-cache -MD --report o.json --time-trace o2.json",
            "FILE -t pvc -o o.table --dry-run --options NAME",
            "FILE -t pvc -o o.table --policy evil.toml --dry-run",
        ],
        "plan" => &["FILE -t pvc -o o.table", "--to o.ninja FILE -t pvc -o o.table"],
        "compile" => &["FILE -t spir64_x86_64 -o o.table -v"],
        "link" => &["FILE OTHER -o o.table -v", "FILE OTHER -o o.table --for dg1 -v"],
        "join" => &["FILE OTHER -o o.table -v"],
        "split" => &["FILE -o o.table --mode per_kernel -v", "FILE -o o.table --entry NAME"],
        "wrap" => &["FILE -o o.so -v", "FILE -o o.syclbin -v"],
        "embed" => &["FILE OTHER -o o.so -v"],
        "prune" => &["FILE -o o.so --kernel * -v", "FILE -o o.so --restore"],
        "record" => &["-o o.profile --in FILE -- true", "-o o.profile --in FILE -v -- NAME"],
        "cache" => &["stats"],
        "doctor" => &["--ocloc ./ocloc"],
        "completions" => &["bash", "fish"],
        "man" => &["inspect", "NAME"],
        "help" => &["inspect"],
        _ => panic!("{verb} is new: say here how it is called with a hostile file"),
    }
}

fn module(text: &str) -> Vec<u8> {
    assemble(text).unwrap()
}

/// A kernel of a wicked name that uses `double` and calls a function of a wicked name, from a file of a wicked name.
fn wicked_module(kernel: &str) -> Vec<u8> {
    let text = "OpCapability Addresses\nOpCapability Linkage\nOpCapability Kernel\nOpCapability Float64\n\
         OpMemoryModel Physical64 OpenCL\n\
         OpEntryPoint Kernel %kernel \"kernel_name\"\n\
         %file = OpString \"file_name\"\n\
         OpDecorate %callee LinkageAttributes \"import_name\" Import\n\
         OpDecorate %constant SpecId 3\n\
         OpName %constant \"constant_name\"\n\
         %void = OpTypeVoid\n%double = OpTypeFloat 64\n%type = OpTypeFunction %void %double\n\
         %constant = OpSpecConstant %double 1\n\
         %callee = OpFunction %void None %type\n%a = OpFunctionParameter %double\nOpFunctionEnd\n\
         %kernel = OpFunction %void None %type\n%b = OpFunctionParameter %double\n%label = OpLabel\n\
         OpLine %file 3 4\n%c = OpFMul %double %b %constant\n\
         %d = OpFunctionCall %void %callee %c\nOpReturn\nOpFunctionEnd\n";
    let mut out = Vec::new();
    let words: Vec<u32> =
        module(text).chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    out.extend(&words[..5]);
    // Names take the place of those that the assembler's text can hold.
    let mut at = 5;
    while let Some(&first) = words.get(at) {
        let count = (first >> 16) as usize;
        let whole = &words[at..at + count];
        let bytes: Vec<u8> = whole.iter().flat_map(|word| word.to_le_bytes()).collect();
        let place = ["kernel_name", "file_name", "import_name", "constant_name"].iter().find_map(|name| {
            bytes
                .windows(name.len())
                .position(|window| window == name.as_bytes())
                .map(|place| (place / 4, name.len() / 4 + 1))
        });
        match place {
            None => out.extend(whole),
            Some((place, length)) => {
                let mut name = kernel.as_bytes().to_vec();
                name.resize((name.len() / 4 + 1) * 4, 0);
                let name = name.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
                let new = whole[1..place].iter().copied().chain(name).chain(whole[place + length..].iter().copied());
                let new: Vec<u32> = new.collect();
                out.push(u32::try_from(new.len() + 1).unwrap() << 16 | first & 0xffff);
                out.extend(new);
            }
        }
        at += count;
    }
    out.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// The inputs, each with one of another content beside it.
fn inputs(folder: &Folder) -> Vec<[String; 2]> {
    let wicked = wicked_module(WICKED);
    let other = wicked_module(&format!("other{WICKED}"));
    let line = line();
    folder.put("a.spv", &wicked);
    folder.put("b.spv", &other);
    folder.put(&format!("{line}.spv"), &wicked);
    folder.put(&format!("{}b.spv", WICKED.replace('/', "")), &other);
    folder.put("t.spv", &wicked);
    let base64 = "2|CAAAAAAAAAAA";
    let properties = format!(
        "[SYCL/device requirements]\naspects={base64}\n[SYCL/program metadata]\n{line}@reqd_work_group_size={base64}\n\
         [SYCL/{line}]\n{line}=1|1\n{line}2={base64}\n[SYCL/kernel names]\n{line}=1|1\n[SYCL/exported symbols]\n{line}=1|1\n\
         [SYCL/imported symbols]\n{line}=1|1\n[SYCL/misc properties]\n{line}=1|1\n"
    );
    folder.put("t.prop", properties);
    folder.put("t.sym", format!("{line}\n"));
    folder.put("t.table", format!("[Code|Properties|Symbols]\nt.spv|t.prop|t.sym\n{line}.spv||\n{line}.none||\n"));
    folder.put("w.table", "[Code|Properties|Symbols]\nt.spv|t.prop|t.sym\n");
    for (name, form) in [("l.so", "shared"), ("l.syclbin", "syclbin"), ("l.o", "object")] {
        let done = tool(folder, &["wrap", "w.table", "--emit", form, "-o", name]);
        assert!(done.status.success(), "{done:?}");
    }
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in [format!("{WICKED}.spv"), "cut.so".to_owned()] {
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut writer, &wicked).unwrap();
    }
    folder.put("p.whl", writer.finish().unwrap().into_inner());
    folder.put("cut.spv", &wicked[..wicked.len() - 6]);
    let pairs = [
        ["a.spv", "b.spv"],
        [&format!("{line}.spv"), &format!("{}b.spv", WICKED.replace('/', ""))],
        ["t.table", "a.spv"],
        ["l.so", "b.spv"],
        ["l.syclbin", "l.o"],
        ["p.whl", "a.spv"],
        ["cut.spv", "a.spv"],
    ];
    pairs.map(|pair| pair.map(|name| name.to_owned())).into()
}

fn command(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    command.args(arguments).current_dir(folder.path()).env_clear();
    // No driver, and no compiler but the one here.
    command.envs([("OPENCL_DYLIB_PATH", "libm.so.6"), ("PATH", "nowhere"), ("COLUMNS", "80"), ("HOME", "home")]);
    command
}

fn tool(folder: &Folder, arguments: &[&str]) -> Output {
    command(folder, arguments).output().unwrap()
}

/// The words of a list in a verb's help: those behind `- ` after an option, or of `[possible values: a, b]`.
fn formats(folder: &Folder, verb: &str) -> Vec<String> {
    let help = String::from_utf8(tool(folder, &[verb, "-h"]).stdout).unwrap();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((_, rest)) = help.split_once(" --format ") else { return Vec::new() };
    let rest = rest.split(" --").next().unwrap();
    let Some((_, values)) = rest.split_once("[possible values: ") else { return Vec::new() };
    values.split(']').next().unwrap().split(", ").map(str::to_owned).collect()
}

fn verbs(folder: &Folder) -> Vec<String> {
    let help = String::from_utf8(tool(folder, &["-h"]).stdout).unwrap();
    let listed = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let begins = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    listed.lines().filter(begins).map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

/// Says what is wrong with a text, if anything.
fn fault(bytes: &[u8], colored: bool) -> Option<String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Some("no UTF-8".to_owned()) };
    let mut text = text.to_owned();
    if colored {
        for code in ["0", "1", "4", "1;31", "1;36", "31", "32", "33", "36"] {
            text = text.replace(&format!("\x1b[{code}m"), "");
        }
    }
    let shows = |c: char| matches!(c, '\n' | '\t') || (!c.is_control() && c != '\u{202e}');
    for line in text.lines() {
        let command =
            line.trim_start().starts_with("::error file=x") || line.contains("##[") || line.contains("##vso[");
        if command || !line.chars().all(shows) {
            return Some(line.escape_debug().to_string());
        }
    }
    None
}

/// Runs a command line and says what of its outputs does what it must not.
fn run(folder: &Folder, call: &[String], colored: bool) -> Vec<String> {
    let words: Vec<&str> = call.iter().map(String::as_str).collect();
    let mut command = command(folder, &words);
    if colored {
        command.env("CLICOLOR_FORCE", "1");
    }
    let done = command.output().unwrap();
    let mut faults = Vec::new();
    let shown = || call.join(" ").escape_debug().to_string();
    if done.status.code().is_none_or(|code| code > 6) {
        faults.push(format!("{}: {:?}: {}", shown(), done.status, String::from_utf8_lossy(&done.stderr)));
    }
    let bytes = call.iter().any(|word| word == "-") && call[0] == "extract";
    for (name, text) in [("stdout", &done.stdout), ("stderr", &done.stderr)] {
        if let Some(line) = fault(text, colored).filter(|_| !bytes || name == "stderr") {
            faults.push(format!("{} on {name}: {line}", shown()));
        }
    }
    for name in ["o.html", "o.json", "o2.json", "o.ninja"] {
        let path = folder.path().join(name);
        let Ok(text) = std::fs::read(&path) else { continue };
        let script = name == "o.html" && String::from_utf8_lossy(&text).contains("<script>alert(1)");
        if let Some(line) = fault(&text, false).or(script.then(|| "a script of the file's".to_owned())) {
            faults.push(format!("{} in {name}: {line}", shown()));
        }
        std::fs::remove_file(path).unwrap();
    }
    let _ = std::fs::remove_dir_all(folder.path().join("o.d"));
    faults
}

/// A folder with the inputs, and what the calls name beside them.
fn prepared() -> (Folder, Vec<[String; 2]>) {
    let folder = Folder::new();
    let inputs = inputs(&folder);
    folder.put("log", WICKED);
    folder.put("evil.yaml", format!("intel_gpu_evil:\n  aspects: [\"{}\"]\n", line().escape_default()));
    folder.put(
        "evil.toml",
        format!("[[exempt]]\nreason = \"{0}\"\nkernel = \"*\"\n[\"{0}\"]\nx = 1\n", line().escape_default()),
    );
    folder.file("ocloc", b"#!/bin/sh\n/bin/cat log\n/bin/cat log >&2\nexit 1\n");
    (folder, inputs)
}

#[test]
fn nothing_of_a_file_commands_a_terminal_a_ci_or_a_browser() {
    let (folder, inputs) = prepared();
    let line = line();
    let mut all = Vec::new();
    for verb in verbs(&folder) {
        let formats = formats(&folder, &verb);
        for template in calls(&verb) {
            let uses = template.contains("FILE");
            for pair in inputs.iter().take(if uses { usize::MAX } else { 1 }) {
                let word = |word: &str| match word {
                    "FILE" => pair[0].clone(),
                    "OTHER" => pair[1].clone(),
                    "NAME" => line.clone(),
                    "LOG" => WICKED.to_owned(),
                    word => word.to_owned(),
                };
                let words = std::iter::once(verb.as_str()).chain(template.split(' ')).filter(|word| !word.is_empty());
                let call: Vec<String> = words.map(word).collect();
                for format in &formats {
                    all.push(([&call[..], &["--format".to_owned(), format.clone()]].concat(), false));
                }
                all.push((call, true));
            }
        }
    }
    assert!(all.len() > 1000, "{} calls", all.len());
    let share = all.len().div_ceil(4);
    let faults: Vec<String> = std::thread::scope(|scope| {
        let work = |calls: &[(Vec<String>, bool)]| {
            let (folder, _) = prepared();
            calls.iter().flat_map(|(call, colored)| run(&folder, call, *colored)).collect::<Vec<_>>()
        };
        let shares: Vec<_> = all.chunks(share).map(|calls| scope.spawn(move || work(calls))).collect();
        shares.into_iter().flat_map(|share| share.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), all.len(), faults.join("\n"));
    // The fixture is what it claims: the same words are in what is printed, spelled out.
    let said = tool(&folder, &["kernels", "a.spv", "--all"]);
    assert!(String::from_utf8_lossy(&said.stdout).contains("evil\\u{1b}[2J"), "{said:?}");
    assert!(["l.so", "l.syclbin", "l.o"].iter().all(|name| folder.path().join(name).exists()));
}

/// Rules are for `make`, which runs what stands below them.
#[test]
fn a_name_begins_no_rule() {
    let folder = Folder::new();
    for name in ["x\nall:\n\ttouch pwned\n.spv", "x;touch pwned;.spv", "x[1].spv", "x|y.spv", "a=x.spv"] {
        folder.put(name, wicked_module("k"));
        for more in [&["-MD"][..], &["-MF", "o.d"]] {
            let call = [&["build", name, "-t", "pvc", "-o", "o.table", "--ocloc", "./ocloc"], more].concat();
            let done = tool(&folder, &call);
            assert_eq!(done.status.code(), Some(2), "{done:?}");
            assert!(!folder.path().join("o.table.d").exists() && !folder.path().join("o.d").exists());
        }
        // The last command of a plan for ninja writes such a rule, too.
        for engine in ["make", "ninja"] {
            let plan = ["plan", "--format", engine, name, "-t", "pvc", "-o", "o.table", "--ocloc", "./ocloc"];
            let done = tool(&folder, &plan);
            assert_eq!(done.status.code(), Some(2), "{name:?} {engine}: {done:?}");
        }
    }
}

/// Every verb is held to the memory that it is given, and ends in order where that does not suffice.
#[test]
fn memory_is_what_is_allowed() {
    let (folder, _) = prepared();
    // The file is a hole: nothing of it but its name is stored.
    let large = std::fs::File::create(folder.path().join("large.so")).unwrap();
    large.set_len(96 << 20).unwrap();
    let nops = [0x0723_0203u32, 0x0001_0300, 0, 10, 0].into_iter().chain(std::iter::repeat_n(0x0001_0000, 6_000_000));
    folder.put("nops.spv", nops.flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    let (mut asked, mut ended) = (0, 0);
    for verb in verbs(&folder) {
        let Some(call) = calls(&verb).iter().find(|call| call.starts_with("FILE ") || **call == "FILE") else {
            continue;
        };
        let large = call.replace("FILE", "large.so").replace("OTHER", "large.so");
        // Options stand before or after the verb's name.
        let run = |words: &str, flags: &[&str], first: bool| {
            let words = words.replace("NAME", "*");
            let words: Vec<&str> = words.split(' ').collect();
            let name = [verb.as_str()];
            let line = if first { [flags, &name, &words].concat() } else { [&name, flags, &words].concat() };
            let done = command(&folder, &line).output().unwrap();
            (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
        };
        for first in [true, false] {
            let (status, said) = run(&large, &["--no-mmap", "--max-memory", "64MiB"], first);
            assert!(status == Some(3) && said.contains("there is no memory for its 100663296 bytes"), "{verb}: {said}");
        }
        // Less than the tables of so many instructions take.
        let (status, said) =
            run(&call.replace("FILE", "nops.spv").replace("OTHER", "nops.spv"), &["--max-memory", "32MiB"], false);
        assert!(matches!(status, Some(0..=6)), "{verb}: {status:?}: {said}");
        ended += usize::from(status == Some(5) && said.contains("the memory of --max-memory does not suffice"));
        // Enough for the file: what is wrong with it is told.
        let (status, said) = run(&large, &["--no-mmap", "--max-memory", "1GiB"], true);
        assert!(matches!(status, Some(2 | 3 | 6)) && !said.contains("memory"), "{verb}: {status:?}: {said}");
        asked += 1;
    }
    assert!(asked > 12 && ended > 3, "{asked}, {ended}");
}

/// A verb that reads another's command line is held to the memory once.
#[test]
fn a_plan_ends_in_order_without_memory() {
    const KERNELS: u32 = 200_000;
    let (folder, _) = prepared();
    let mut words = vec![0x0723_0203, 0x0001_0400, 0, 3 + 2 * KERNELS, 0];
    let mut put = |opcode: u32, operands: &[u32]| {
        words.push((operands.len() as u32 + 1) << 16 | opcode);
        words.extend_from_slice(operands);
    };
    put(17, &[6]);
    put(14, &[2, 2]);
    for kernel in 0..KERNELS {
        let name = format!("kernel{kernel:010}");
        let name = name.as_bytes().as_chunks::<4>().0.iter().map(|part| u32::from_le_bytes(*part));
        put(15, &[6, 3 + kernel].into_iter().chain(name).chain([0]).collect::<Vec<u32>>());
    }
    put(19, &[1]);
    put(33, &[2, 1]);
    for kernel in 0..KERNELS {
        put(54, &[1, 3 + kernel, 0, 2]);
        put(248, &[3 + KERNELS + kernel]);
        put(253, &[]);
        put(56, &[]);
    }
    folder.put("many.spv", words.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    let call = ["--max-memory", "32MiB", "plan", "many.spv", "-t", "intel_gpu_pvc", "-o", "o.table"];
    let done = command(&folder, &call).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(5) && said.contains("memory of --max-memory does not suffice"), "{done:?}");
}

/// The shell takes arguments from the names of files.
#[test]
fn arguments_that_nobody_takes_command_no_ci() {
    let folder = Folder::new();
    for name in ["b##vso[task.setvariable variable=PATH;]evil", "b##[error]x", "a##teamcity[b"] {
        let options = format!("--{name}");
        for call in [&["extract", "a", name][..], &["inspect", &options], &[name], &["split", "a", "--mode", name]] {
            let done = command(&folder, call).output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.code() == Some(2) && said.contains("\\u{"), "{call:?}: {said}");
            assert!(!said.contains("##"), "{call:?}: {said}");
        }
    }
}

/// A CI logs texts for programs, too, whose lines are names of files.
#[test]
fn texts_for_programs_command_no_ci() {
    let folder = Folder::new();
    folder.put("m.spv", super::judged::module(&[], &[], &[], &[]));
    for name in ["::error::pwned", "  ::add-mask::e", "##vso[task.complete]", "a##[error]b", "a##teamcity[b", "--- a"] {
        folder.put("m.prop", format!("[SYCL/x]\n{name}=1|1\n"));
        let done = command(&folder, &["props", "m.spv", "--format", "text"]).output().unwrap();
        let (status, text) =
            (done.status.code(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned());
        assert!(status == Some(3) && text.contains("would command a terminal or a CI"), "{name}: {text}");
        assert!(
            !text.contains("##")
                && !text.lines().any(|line| line.trim_start().starts_with("::") || line.starts_with("---")),
            "{name}: {text}"
        );
    }
}
