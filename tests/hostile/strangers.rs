//! Which files of strangers would be taken for the user's, and which of the user's be written or read for them?

use super::outputs::ocloc;
use super::program::{limited, module, pipe, said, tool};
use super::recorded;
use super::support::folder::Folder;
use super::support::spirv;
use std::fs::{File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, lchown, symlink};
use std::process::Command;
use zip::write::{SimpleFileOptions, ZipWriter};

/// Whoever filled the folder that is the current one is a stranger, and so may be whoever filled a folder of libraries.
#[test]
fn runtimes_are_looked_for_where_a_variable_says_and_read_to_a_limit() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("lib")).unwrap();
    folder.put("lib/libsycl.so.8", "a stranger's");
    let pipe = folder.path().join("lib/libur_loader.so.0");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let doctor = |variable: &str, prefix: &str| {
        let mut doctor = Command::new("timeout");
        doctor.args(["60", env!("CARGO_BIN_EXE_sycl-bundle"), "doctor"]).env(variable, prefix);
        let done = doctor.current_dir(folder.path()).output().unwrap();
        assert_ne!(done.status.code(), Some(124), "it waits for who writes to the pipe");
        said(&done)
    };
    for (variable, prefix) in [("VIRTUAL_ENV", ""), ("CONDA_PREFIX", "."), ("CMPLR_ROOT", "./lib/..")] {
        let text = doctor(variable, prefix);
        assert!(!text.contains("libsycl.so.8"), "{variable}={prefix}: {text}");
    }
    let whole = folder.path().canonicalize().unwrap();
    assert!(doctor("VIRTUAL_ENV", whole.to_str().unwrap()).contains("libsycl.so.8"));
    std::fs::remove_file(&pipe).unwrap();
    std::fs::File::create(&pipe).unwrap().set_len(1 << 40).unwrap();
    doctor("VIRTUAL_ENV", whole.to_str().unwrap());
}

/// A folder for outputs may be one that a stranger filled: nobody named the links in it.
#[test]
fn outputs_that_nobody_named_do_not_follow_links() {
    let folder = Folder::new();
    folder.put("m.spv", spirv::module("add_one"));
    assert!(tool(&folder, ["wrap", "m.spv", "--emit", "shared", "-o", "lib.so"]).status.success());
    std::fs::create_dir(folder.path().join("d")).unwrap();
    std::fs::create_dir(folder.path().join("in")).unwrap();
    std::fs::create_dir(folder.path().join("v")).unwrap();
    std::fs::copy(folder.path().join("lib.so"), folder.path().join("in/lib.so")).unwrap();
    for name in ["lib.so", "images.table", "x.so.d"] {
        folder.put(&format!("v/{name}"), "precious");
        symlink(format!("../v/{name}"), folder.path().join("d").join(name)).unwrap();
    }
    symlink("v", folder.path().join("out")).unwrap();
    let calls = [
        ("embed lib.so m.spv --as-target spir64_x86_64 -o d", 2),
        ("filter lib.so -t nvidia_gpu_sm_80 -o d", 2),
        ("embed in --as-target spir64_x86_64 m.spv -o d", 2),
        ("build lib.so -t intel_gpu_pvc -o d/x.so -MD --no-policy", 2),
        ("split m.spv -o d", 0),
        ("split m.spv -o d/images.table", 0),
        // A link that is named.
        ("wrap m.spv -o out/named.so --emit shared", 0),
    ];
    for (call, code) in calls {
        let done = tool(&folder, call.split(' '));
        assert_eq!(done.status.code(), Some(code), "{call}: {}", said(&done));
        assert_eq!(code == 2, said(&done).contains("is a link, which nobody named"), "{call}: {}", said(&done));
        for name in ["lib.so", "images.table", "x.so.d"] {
            assert_eq!(folder.read(&format!("v/{name}")), b"precious", "{call}");
        }
    }
    assert!(folder.path().join("v/named.so").exists());
}

/// In a folder that all may write to, as `/tmp`, anybody leaves a policy for those who work below.
#[test]
fn a_policy_that_was_found_is_no_strangers() {
    let folder = Folder::new();
    let at = |name: &str| folder.path().join(name);
    let allow = |name: &str, mode| std::fs::set_permissions(at(name), Permissions::from_mode(mode)).unwrap();
    std::fs::create_dir_all(at("st/job/build")).unwrap();
    allow("st", 0o1777);
    folder.put("st/job/m.spv", spirv::module("add_one"));
    folder.put("mine.toml", "check.kernels = [\"nothing*\"]\n");
    let policy = at("st/sycl-bundle.toml");
    let check = |more: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        command.args(["check", "../m.spv", "-t", "spir64_x86_64"]).args(more.split_terminator(' '));
        let done = command.current_dir(at("st/job/build")).env_remove("SYCL_BUNDLE_CONFIG").output().unwrap();
        (done.status.code(), said(&done))
    };
    let counts = || {
        let (code, said) = check("");
        assert!(code == Some(0) && said.contains("policy: ../../sycl-bundle.toml"), "{code:?} {said}");
    };
    std::fs::copy(at("mine.toml"), &policy).unwrap();
    counts();
    // Only root gives files away.
    if chown(&policy, Some(65534), None).is_ok() {
        let refused = || {
            let (code, said) = check("");
            assert!(
                code == Some(3) && said.contains("belongs to user 65534") && said.contains("--policy"),
                "{code:?} {said}"
            );
            assert_eq!(check("--no-policy").0, Some(0));
            assert_eq!(check("--policy ../../sycl-bundle.toml").0, Some(0));
        };
        refused();
        std::fs::remove_file(&policy).unwrap();
        symlink(at("mine.toml"), &policy).unwrap();
        counts();
        lchown(&policy, Some(65534), None).unwrap();
        refused();
        // As in a container, where the project is of whoever began it.
        chown(at("st/job/build"), Some(65534), None).unwrap();
        counts();
        chown(at("st/job/build"), Some(0), None).unwrap();
        chown(at("st"), Some(65534), None).unwrap();
        counts();
    }
    // Of a folder that is gone nobody knows what is above it.
    let script = "rmdir ../gone && \"$1\" check ../m.spv -t spir64_x86_64";
    let mut gone = Command::new("sh");
    std::fs::create_dir(at("st/job/gone")).unwrap();
    gone.args(["-c", script, "sh", env!("CARGO_BIN_EXE_sycl-bundle")]).current_dir(at("st/job/gone"));
    let done = gone.env_remove("SYCL_BUNDLE_CONFIG").output().unwrap();
    assert!(done.status.code() == Some(3) && said(&done).contains("cannot look for a policy"), "{}", said(&done));
}

/// In a folder that all may write to, anybody leaves a list of entries beside a module, which would leave kernels out.
#[test]
fn what_lies_beside_a_module_is_no_strangers() {
    let folder = Folder::new();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("st")).unwrap();
    std::fs::set_permissions(at("st"), Permissions::from_mode(0o1777)).unwrap();
    folder.put("st/m.spv", spirv::module("two_kernels"));
    folder.put("host.spv", spirv::module("add_one"));
    assert!(tool(&folder, "wrap host.spv --emit shared -o host.so".split(' ')).status.success());
    let calls = ["inspect st/m.spv", "inspect st", "wrap st/m.spv -o m.o", "embed host.so st/m.spv -o o.so"];
    let run = |code: i32| {
        for call in calls {
            let done = tool(&folder, call.split(' '));
            assert_eq!(done.status.code(), Some(code), "{call}: {}", said(&done));
            assert_eq!(code == 3, said(&done).contains("belongs to user 65534"), "{call}: {}", said(&done));
        }
    };
    for (name, text) in [("m.sym", "add_two\n"), ("m.prop", "[SYCL/device requirements]\n")] {
        let path = at("st").join(name);
        std::fs::write(&path, text).unwrap();
        run(0);
        // Only root gives files away.
        if chown(&path, Some(65534), None).is_ok() {
            run(3);
            chown(at("st/m.spv"), Some(65534), None).unwrap();
            run(0);
            chown(at("st/m.spv"), Some(0), None).unwrap();
            // A link of another user to a file of this one.
            std::fs::rename(&path, at("st/own")).unwrap();
            chown(at("st/own"), Some(0), None).unwrap();
            symlink("own", &path).unwrap();
            run(0);
            lchown(&path, Some(65534), None).unwrap();
            run(3);
            chown(at("st"), Some(65534), None).unwrap();
            run(0);
            chown(at("st"), Some(0), None).unwrap();
        }
        std::fs::remove_file(&path).unwrap();
    }
}

/// The kernel's rule for what is opened in a folder that all may write to, as `/tmp`.
#[test]
fn outputs_follow_no_links_and_pipes_of_strangers_where_all_may_write() {
    let folder = Folder::new();
    let at = |name: &str| folder.path().join(name);
    for name in ["st", "own", "in"] {
        std::fs::create_dir(at(name)).unwrap();
    }
    std::fs::set_permissions(at("st"), Permissions::from_mode(0o1777)).unwrap();
    folder.put("m.spv", spirv::module("add_one"));
    let build = format!("build m.spv -t pvc {} -o own/x.table --no-policy --stamp st/out.o", ocloc(&folder));
    let temps = format!("build m.spv -t pvc {} -o own/x.table --no-policy --save-temps st/out.o", ocloc(&folder));
    let calls = [
        (temps.as_str(), "in"),
        ("wrap m.spv -o st/out.o", "own/file"),
        ("wrap m.spv -o own/link.o", "own/file"),
        ("inspect m.spv --html st/out.o", "own/file"),
        ("extract m.spv -o st/out.o/", "in"),
        (build.as_str(), "own/file"),
    ];
    symlink("../st/out.o", at("own/link.o")).unwrap();
    for (call, leads) in calls {
        let place = |link: bool| {
            let _ = std::fs::remove_file(at("st/out.o"));
            folder.put("own/file", "precious");
            if link { symlink(format!("../{leads}"), at("st/out.o")).unwrap() } else { pipe(&at("st/out.o")) }
        };
        place(true);
        if !call.starts_with("build") {
            let done = tool(&folder, call.split(' '));
            assert_eq!(done.status.code(), Some(0), "one's own: {call}: {}", said(&done));
        }
        // Only root gives files away.
        for link in [true, false] {
            place(link);
            // A pipe is no folder to anybody.
            if !link && leads == "in" || lchown(at("st/out.o"), Some(65534), None).is_err() {
                continue;
            }
            let done = tool(&folder, call.split(' '));
            assert_eq!(done.status.code(), Some(5), "{call}: {}", said(&done));
            assert!(said(&done).contains("belongs to another user (65534)"), "{call}: {}", said(&done));
            assert!(folder.read("own/file") == b"precious", "{call}");
            // The owner of a folder may put into it what he likes.
            if link && !call.starts_with("build") {
                chown(at("st"), Some(65534), None).unwrap();
                let done = tool(&folder, call.split(' '));
                assert_eq!(done.status.code(), Some(0), "{call}: {}", said(&done));
                chown(at("st"), Some(0), None).unwrap();
            }
        }
    }
    // A file of a stranger that has the bytes already is his to change.
    let _ = std::fs::remove_file(at("st/out.o"));
    assert!(tool(&folder, "wrap m.spv -o st/out.o".split(' ')).status.success());
    if chown(at("st/out.o"), Some(65534), None).is_ok() {
        assert!(tool(&folder, "wrap m.spv -o st/out.o".split(' ')).status.success());
        assert_eq!(std::fs::metadata(at("st/out.o")).unwrap().uid(), 0);
    }
}

/// Directives of inline assembly (`.incbin`) have the assembler of a CPU's driver read what whoever compiles it may read.
#[test]
fn inline_assembly_is_given_to_no_cpu_compiler() {
    let folder = Folder::new();
    let text = "; Version: 1.4\nOpCapability Addresses\nOpCapability Kernel\nOpCapability AsmINTEL\n\
                OpExtension \"SPV_INTEL_inline_assembly\"\nOpMemoryModel Physical64 OpenCL\nOpEntryPoint Kernel %1 \"k\"\n\
                %2 = OpTypeVoid\n%3 = OpTypeFunction %2\n%1 = OpFunction %2 None %3\n%4 = OpLabel\nOpReturn\nOpFunctionEnd\n";
    folder.put("m.spv", spirv::assemble(text).unwrap());
    let done = tool(&folder, ["build", "m.spv", "-t", "spir64_x86_64", "-o", "o.table", "--no-policy"]);
    assert!(said(&done).contains("0 of 1 image compiled"), "{}", said(&done));
    assert!(said(&done).contains("it has inline assembly"), "{}", said(&done));
    // Intel's translator needs no capability, and the text need not have an instruction that is known as such: `OpAsmTargetINTEL`,
    // `OpAsmINTEL`, `OpAsmCallINTEL`.
    let sound = spirv::assemble(&text.replace("OpCapability AsmINTEL\n", "")).unwrap();
    let text = |text: &str| {
        let bytes: Vec<u8> = text.bytes().chain([0]).collect();
        bytes
            .chunks(4)
            .map(|word| word.iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte)))
            .collect::<Vec<u32>>()
    };
    for (opcode, operands) in [
        (5609, [vec![9], text("")].concat()),
        (5610, [vec![2, 9, 3, 8], text("x/**/y:"), text("")].concat()),
        (5610, [vec![2, 9, 3, 8], text("//\r.incbin \"/etc/passwd\""), text("")].concat()),
        (5611, vec![2, 9, 8]),
    ] {
        let mut words: Vec<u32> = sound.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        // Before the types, where `OpTypeVoid` begins.
        let at = words.iter().position(|word| *word == 2 << 16 | 19).unwrap();
        let head = u32::try_from(operands.len() + 1).unwrap() << 16 | opcode;
        words.splice(at..at, [vec![head], operands].concat());
        folder.put("m.spv", words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>());
        let done = tool(&folder, ["build", "m.spv", "-t", "spir64_x86_64", "-o", "o.table", "--no-policy"]);
        assert!(said(&done).contains("it has inline assembly"), "{opcode}: {}", said(&done));
    }
}

/// A CPU's driver calls constructors once it has compiled them: code of a file would run without a launch.
#[test]
fn constructors_are_given_to_no_cpu_compiler() {
    let module = |modes: &str, names: &str, variable: &str| {
        format!(
            "; Version: 1.4\nOpCapability Addresses\nOpCapability Kernel\nOpCapability Linkage\n\
             OpMemoryModel Physical64 OpenCL\nOpEntryPoint Kernel %1 \"k\"\n{modes}{names}\
             %2 = OpTypeVoid\n%3 = OpTypeFunction %2\n%5 = OpTypeInt 32 0\n%6 = OpTypePointer CrossWorkgroup %5\n\
             %7 = OpConstant %5 1\n{variable}%1 = OpFunction %2 None %3\n%4 = OpLabel\nOpReturn\nOpFunctionEnd\n"
        )
    };
    let variable = "%8 = OpVariable %6 CrossWorkgroup %7\n";
    let linkage = |name: &str| format!("OpDecorate %8 LinkageAttributes \"{name}\" Export\n");
    let folder = Folder::new();
    for (text, stays) in [
        (module("", "OpName %8 \"llvm.global_ctors\"\n", variable), true),
        (module("", "OpName %8 \"llvm.global_dtors\"\n", variable), true),
        (module("", &linkage("llvm.global_ctors"), variable), true),
        (module("OpExecutionMode %1 Initializer\n", "", ""), true),
        (module("OpExecutionMode %1 Finalizer\n", "", ""), true),
        (module("OpExecutionModeId %1 Initializer\n", "", ""), true),
        (module("OpEntryPoint Kernel %8 \"llvm.global_ctors\"\n", "", variable), true),
        (module("", "OpName %8 \"global_ctors\"\n", variable), false),
    ] {
        folder.put("m.spv", spirv::assemble(&text).unwrap());
        let done =
            tool(&folder, ["build", "m.spv", "-t", "spir64_x86_64", "-o", "o.table", "--no-policy", "--dry-run"]);
        assert_eq!(said(&done).contains("it has constructors"), stays, "{text}\n{}", said(&done));
    }
}

/// Intel's translator takes what stands behind the operands of an instruction, or behind its text, for the next instruction.
#[test]
fn what_stands_behind_an_instruction_is_given_to_no_cpu_compiler() {
    let text = "; Version: 1.4\nOpCapability Addresses\nOpCapability Kernel\nOpCapability Linkage\n\
                OpMemoryModel Physical64 OpenCL\nOpEntryPoint Kernel %1 \"k\"\n%9 = OpString \"abc\"\nOpName %8 \"abc\"\n\
                OpDecorate %8 LinkageAttributes \"abc\" Export\nOpDecorate %8 UserSemantic \"abc\"\n\
                %2 = OpTypeVoid\n%3 = OpTypeFunction %2\n%5 = OpTypeInt 32 0\n%6 = OpTypePointer CrossWorkgroup %5\n\
                %7 = OpConstant %5 1\n%8 = OpVariable %6 CrossWorkgroup %7\n%1 = OpFunction %2 None %3\n%4 = OpLabel\n\
                OpReturn\nOpFunctionEnd\n";
    let sound = spirv::assemble(text).unwrap();
    let words: Vec<u32> = sound.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    let folder = Folder::new();
    let build = |words: &[u32]| {
        folder.put("m.spv", words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>());
        let done =
            tool(&folder, ["build", "m.spv", "-t", "spir64_x86_64", "-o", "o.table", "--no-policy", "--dry-run"]);
        said(&done)
    };
    assert!(!build(&words).contains("another length"), "{}", build(&words));
    let mut at = 5;
    let mut seen = std::collections::BTreeSet::new();
    while let Some(head) = words.get(at) {
        let (opcode, len) = (head & 0xffff, (head >> 16) as usize);
        // Of a module's texts and of what has no list of operands: `OpString`, `OpName`, `OpDecorate`, `OpCapability`, types.
        if [5, 7, 17, 19, 21, 32, 71, 253, 56].contains(&opcode) {
            let mut longer = words.clone();
            longer[at] = head + (1 << 16);
            longer.insert(at + len, 1 << 16);
            assert!(build(&longer).contains("another length"), "{opcode} at {at}: {}", build(&longer));
            seen.insert(opcode);
        }
        if opcode == 5 {
            // A text without an end goes on into the next instruction.
            let mut endless = words.clone();
            endless[at + len - 1] = u32::from_le_bytes(*b"abcd");
            assert!(build(&endless).contains("another length"), "{}", build(&endless));
        }
        at += len;
    }
    assert_eq!(seen.len(), 9);
    // Modes with other numbers of operands in one or another translator (0, 26), or of none that is known; operands that older ones take
    // for a head; texts of functions for several devices; an instruction of no grammar; an encoding of floats that is a head.
    let head = |opcode: u32, operands: &[u32]| [&[(operands.len() as u32 + 1) << 16 | opcode], operands].concat();
    let at_types = words.iter().position(|word| *word == 2 << 16 | 19).unwrap();
    for (inserted, stays) in [
        (head(16, &[1, 31]), false),
        (head(16, &[1, 6461, 128]), false),
        (head(16, &[1, 0]), true),
        (head(16, &[1, 26]), true),
        (head(16, &[1, 9999]), true),
        (head(331, &[1, 0]), true),
        (head(16, &[1, 6461, 1 << 16 | 56]), true),
        (head(6248, &[9, 0x6261, 0]), true),
        (head(4095, &[1]), true),
        (head(22, &[20, 16, 0]), false),
        (head(22, &[20, 16, 1 << 16 | 56]), true),
    ] {
        let mut changed = words.clone();
        changed.splice(at_types..at_types, inserted.clone());
        assert_eq!(build(&changed).contains("another length"), stays, "{inserted:?}: {}", build(&changed));
    }
}

/// Making something of each member costs more than its bytes, of which a package may have next to none.
#[test]
fn members_without_number_are_left_early() {
    let folder = Folder::new();
    let mut archive = b"!<arch>\n".to_vec();
    for _ in 0..390_000 {
        archive.extend(format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "a/", 0, 0, 0, 644, 36).as_bytes());
        archive.extend(module());
        archive.extend([0; 16]);
    }
    let mut zip = ZipWriter::new(File::create(folder.path().join("m.zip")).unwrap());
    zip.start_file("m.a", SimpleFileOptions::default()).unwrap();
    zip.write_all(&archive).unwrap();
    zip.finish().unwrap();
    let done = limited(&folder, 400 << 10, ["inspect", "m.zip", "--html", "o.html"]);
    assert_eq!(done.status.code(), Some(3), "{}", said(&done));
    assert!(said(&done).contains("more members"), "{}", said(&done));
}

/// Root changes the files of others as `strip` does: they stay theirs, with the permissions that they gave, but where all may write.
#[test]
fn files_of_others_that_are_changed_in_place_stay_theirs() {
    let folder = Folder::new();
    recorded::table(&folder, &[(&recorded::module("k", 0), "", "k\n"), (&recorded::module("j", 0), "", "j\n")]);
    folder.tool(["wrap", "m.table", "--emit", "shared", "-o", "whole.so"]);
    for (of_folder, stays) in [(0o755, true), (0o777, false)] {
        std::fs::create_dir_all(folder.path().join("in")).unwrap();
        let place = folder.path().join("in/k.so");
        std::fs::copy(folder.path().join("whole.so"), &place).unwrap();
        std::fs::set_permissions(&place, Permissions::from_mode(0o640)).unwrap();
        std::fs::set_permissions(folder.path().join("in"), Permissions::from_mode(of_folder)).unwrap();
        // Only root gives files away; whoever else runs this has a file of his own, which stays his.
        let is_given = chown(&place, Some(65534), Some(65534)).is_ok();
        let before = std::fs::metadata(&place).unwrap();
        folder.tool(["prune", "in/k.so", "--image", "1", "--lose-kernels", "--in-place"]);
        let after = std::fs::metadata(&place).unwrap();
        assert_ne!(before.ino(), after.ino());
        let of = |file: &std::fs::Metadata| (file.uid(), file.gid(), file.mode() & 0o777);
        assert_eq!(of(&after) == of(&before), stays || !is_given, "{of_folder:o}");
        std::fs::remove_file(place).unwrap();
    }
}

/// Programs of which a folder has several names (package managers that link to a store) have one of them changed.
#[test]
fn other_names_of_a_file_that_is_changed_in_place_are_told_of() {
    let folder = Folder::new();
    folder.put("m.spv", spirv::module("add_one"));
    assert!(tool(&folder, ["wrap", "m.spv", "--emit", "shared", "-o", "lib.so"]).status.success());
    let call = ["embed", "lib.so", "m.spv", "--as-target", "spir64_x86_64", "--in-place"];
    let told = |folder: &Folder| {
        let done = tool(folder, call);
        assert!(done.status.success(), "{}", said(&done));
        said(&done).contains("lib.so: other names of the file (hard links) keep what it was before")
    };
    let before = folder.read("lib.so");
    std::fs::hard_link(folder.path().join("lib.so"), folder.path().join("store")).unwrap();
    assert!(told(&folder));
    assert_eq!(folder.read("store"), before);
    assert_ne!(folder.read("lib.so"), before);
    assert!(!told(&folder), "it has one name now");
    // Bits and attributes that say of the very bytes who may do what are told, too.
    std::fs::set_permissions(folder.path().join("lib.so"), Permissions::from_mode(0o4755)).unwrap();
    let path = folder.path().join("lib.so");
    let has_attributes = rustix::fs::setxattr(&path, "user.origin", b"x", rustix::fs::XattrFlags::empty()).is_ok();
    let done = tool(&folder, call);
    assert!(said(&done).contains("lib.so: its set-user-id or set-group-id bit is not kept"), "{}", said(&done));
    assert_eq!(said(&done).contains("lib.so: its attributes (user.*) are not kept"), has_attributes, "{}", said(&done));
    assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o755);
}
