//! What does the program do with inputs that lead elsewhere, change, or cost too much, and with outputs that stand in its way?

use super::costly::{Module, TIME_LIMIT, run_bounded};
use super::support::folder::Folder;
use std::fs::File;
use std::io::{Cursor, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use zip::write::{SimpleFileOptions, ZipWriter};

/// Runs the tool, which may fail.
pub fn tool<'a>(folder: &Folder, arguments: impl IntoIterator<Item = &'a str>) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sycl-bundle")).args(arguments).current_dir(folder.path()).output().unwrap()
}

/// All that a run said.
pub fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat()
}

/// A module without functions.
pub fn module() -> Vec<u8> {
    [0x0723_0203u32, 0x0001_0000, 0, 1, 0].into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Makes a pipe.
pub fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_table_opens_plain_files_below_its_folder_only() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path().join("tables/below")).unwrap();
    for name in ["outside.spv", "tables/inside.spv", "tables/below/inside.spv"] {
        folder.put(name, module());
    }
    pipe(&folder.path().join("tables/pipe"));
    std::os::unix::fs::symlink("../outside.spv", folder.path().join("tables/link.spv")).unwrap();
    let refused = ["../outside.spv", "/dev/zero", "-", "pipe", "link.spv", "/etc/passwd", "below"];
    for name in refused {
        folder.put("tables/one.table", format!("[Code]\n{name}\n"));
        let done = tool(&folder, ["inspect", "tables/one.table"]);
        assert_eq!(done.status.code(), Some(3), "{name}: {}", said(&done));
    }
    folder.put("tables/one.table", "[Code]\ninside.spv\nbelow/inside.spv\n");
    assert_eq!(tool(&folder, ["inspect", "tables/one.table"]).status.code(), Some(0));
    folder.put("tables/one.table", "[Code]\n../outside.spv\nlink.spv\n");
    let done = tool(&folder, ["inspect", "tables/one.table", "--table-root", "."]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
}

/// Lines of a file of symbols are shown as the names of kernels, and go into what is written.
#[test]
fn files_beside_a_module_that_lead_elsewhere_are_not_read() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path().join("in")).unwrap();
    folder.put("in/a.spv", module());
    folder.put("secret", "TOKEN=hunter2\n");
    let beside = folder.path().join("in/a.sym");
    for leads in ["../secret", "/proc/self/environ"] {
        symlink(leads, &beside).unwrap();
        for words in [&["inspect", "in"][..], &["kernels", "in/a.spv"], &["wrap", "in/a.spv", "-o", "out.o"]] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
            command.args(words).env("TOKEN", "hunter2").current_dir(folder.path());
            let done = command.output().unwrap();
            let all = String::from_utf8_lossy(&[&done.stdout[..], &done.stderr].concat()).into_owned();
            assert_eq!(done.status.code(), Some(3), "{words:?}: {all}");
            assert!(!all.contains("hunter2") && all.contains("outside of the module's folder"), "{words:?}: {all}");
            assert!(!folder.path().join("out.o").exists());
        }
        std::fs::remove_file(&beside).unwrap();
    }
    // Build systems make folders of links.
    folder.put("b.spv", module());
    folder.put("b.sym", "_ZTS1b\n");
    symlink("../b.spv", folder.path().join("in/b.spv")).unwrap();
    symlink("../b.sym", folder.path().join("in/b.sym")).unwrap();
    let done = tool(&folder, ["kernels", "in/b.spv"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    symlink("../secret", folder.path().join("in/a.prop")).unwrap();
    let done = tool(&folder, ["inspect", "in/a.spv"]);
    assert!(done.status.code() == Some(3) && !said(&done).contains("hunter2"), "{}", said(&done));
}

#[test]
fn thousands_of_links_that_lead_out_of_a_folder_are_followed_in_time() {
    const LINKS: u32 = 12_000;
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path().join("in")).unwrap();
    for nth in 0..LINKS {
        let outside = folder.path().join(format!("out{nth}"));
        std::fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(outside, folder.path().join(format!("in/{nth}"))).unwrap();
    }
    run_bounded(&folder, &["inspect", "in"], TIME_LIMIT, &[6]);
}

#[test]
fn a_table_names_one_file_as_often_as_it_likes_for_no_more() {
    let folder = Folder::new();
    folder.put("m.spv", module());
    folder.put("many.table", format!("[Code]\n{}", "m.spv\n".repeat(65_500)));
    let done = tool(&folder, ["inspect", "many.table"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    // 1 MiB named 1,000 times would be a gigabyte of work.
    folder.put("large.spv", [module(), vec![0; 1 << 20]].concat());
    folder.put("many.table", format!("[Code]\n{}", "large.spv\n".repeat(1000)));
    let done = tool(&folder, ["inspect", "many.table"]);
    assert!(said(&done).contains("the rows repeat files"), "{}", said(&done));
    // Ten thousand properties named 500 times would be millions.
    folder.put("m.prop", format!("[SYCL/x]\n{}", (0..10_000).map(|nth| format!("p{nth}=1|1\n")).collect::<String>()));
    folder.put("many.table", format!("[Code|Properties]\n{}", "m.spv|m.prop\n".repeat(500)));
    for verb in [&["inspect", "many.table"][..], &["diff", "many.table", "many.table"]] {
        let done = limited(&folder, 640 << 10, verb.iter().copied());
        assert_eq!(done.status.code(), Some(3), "{}", said(&done));
        assert!(said(&done).contains("1048576 properties together"), "{}", said(&done));
    }
}

#[test]
fn a_gigabyte_of_zeros_costs_nothing() {
    let folder = Folder::new();
    let sparse = |name: &str, head: &[u8]| {
        let mut file = File::create(folder.path().join(name)).unwrap();
        file.write_all(head).unwrap();
        file.set_len(1 << 30).unwrap();
    };
    let bundle = |count: u64| [&b"__CLANG_OFFLOAD_BUNDLE__"[..], &count.to_le_bytes()].concat();
    sparse("forged.bundle", &bundle(1 << 40));
    sparse("zeros.bundle", &bundle(100_000));
    sparse("zeros.table", b"[Code\n");
    for (name, code) in [("forged.bundle", 3), ("zeros.bundle", 6), ("zeros.table", 3)] {
        let done = limited(&folder, 512 << 10, ["inspect", name]);
        assert_eq!(done.status.code(), Some(code), "{name}: {}", said(&done));
    }
}

/// Runs the tool with so many KiB of memory of its own, and with 30 seconds of the processor.
pub fn limited<'a>(folder: &Folder, kib: u64, arguments: impl IntoIterator<Item = &'a str>) -> Output {
    let mut command = Command::new("sh");
    let script = format!("ulimit -d {kib}; ulimit -t 30; exec \"$@\"");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_sycl-bundle")]).args(arguments);
    command.current_dir(folder.path()).output().unwrap()
}

#[test]
fn properties_without_end_are_refused() {
    let folder = Folder::new();
    folder.put("m.spv", module());
    let rows: String = (0..1_500_000).map(|row| format!("p{row}=1|1\n")).collect();
    folder.put("m.prop", format!("[SYCL/x]\n{rows}"));
    let done = limited(&folder, 256 << 10, ["inspect", "m.spv"]);
    assert!(said(&done).contains("262144 properties"), "{}", said(&done));
}

#[test]
fn a_small_package_that_inflates_without_end_is_left_early() {
    let folder = Folder::new();
    let mut head = tar::Header::new_gnu();
    head.set_path("a.so").unwrap();
    head.set_size(1 << 32);
    head.set_cksum();
    let mut bytes = head.as_bytes().to_vec();
    bytes.extend(b"\x7fELF\x02\x01\x01");
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    encoder.write_all(&bytes).unwrap();
    (0..300).for_each(|_| encoder.write_all(&[0; 1 << 20]).unwrap());
    folder.put("bomb.tar.bz2", encoder.finish().unwrap());
    let done = tool(&folder, ["inspect", "bomb.tar.bz2"]);
    assert_eq!(done.status.code(), Some(3));
    assert!(said(&done).contains("of the limit for the whole package"), "{}", said(&done));
}

#[test]
fn a_compressed_file_beyond_the_limit_is_not_called_damaged() {
    let folder = Folder::new();
    let module = [module(), vec![0; 65 << 20]].concat();
    let mut writer = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(0)).unwrap();
    writer.write_all(&module).unwrap();
    folder.put("m.spv.xz", writer.finish().unwrap());
    let done = tool(&folder, ["inspect", "m.spv.xz"]);
    assert_eq!(done.status.code(), Some(3));
    assert!(said(&done).contains("inflates beyond the limit of"), "{}", said(&done));
}

#[test]
fn texts_and_devices_without_end_are_left_early() {
    let folder = Folder::new();
    folder.put("m.spv", module());
    for arguments in [
        vec!["check", "m.spv", "-t", "pvc", "--policy", "/dev/zero"],
        vec!["check", "m.spv", "-t", "pvc", "--baseline", "/dev/zero"],
        vec!["check", "m.spv", "-t", "pvc", "--device-config", "/dev/zero"],
        vec!["targets", "--validate", "/dev/zero"],
        vec!["build", "m.spv", "-t", "pvc", "-o", "out.table", "--policy", "/dev/zero"],
        vec!["inspect", "m.spv", "--profile", "/dev/zero"],
        vec!["wrap", "m.spv", "-o", "m.o", "--properties", "/dev/zero"],
        vec!["inspect", "/dev/zero"],
    ] {
        let done = limited(&folder, 512 << 10, arguments.iter().copied());
        assert_eq!(done.status.code(), Some(3), "{arguments:?}: {}", said(&done));
        assert!(said(&done).contains("it has more than"), "{arguments:?}: {}", said(&done));
    }
    // Pipes of other programs are read, and an empty device.
    pipe(&folder.path().join("policy"));
    let policy = folder.path().join("policy");
    let writer = std::thread::spawn(move || std::fs::write(policy, "[targets]\n"));
    let done = tool(&folder, ["check", "m.spv", "-t", "pvc", "--policy", "policy"]);
    assert!(!said(&done).contains("cannot read"), "{}", said(&done));
    // A writer that nobody reads from would wait for ever.
    let begin = Instant::now();
    while !writer.is_finished() {
        assert!(begin.elapsed() < Duration::from_secs(60), "the policy was not opened");
        std::thread::sleep(Duration::from_millis(10));
    }
    writer.join().unwrap().unwrap();
    assert!(said(&tool(&folder, ["inspect", "/dev/null"])).contains("empty"));
}

/// A pipe into which nobody writes is given up, whatever option names it.
#[test]
fn an_input_that_nobody_writes_is_given_up() {
    let folder = Folder::new();
    folder.put("m.spv", module());
    folder.put("l.table", "[Code]\nm.spv\n");
    pipe(&folder.path().join("pipe"));
    let calls = [
        "inspect pipe",
        "check m.spv -t pvc --policy pipe",
        "check m.spv -t pvc --baseline pipe",
        "check m.spv -t pvc --device-config pipe",
        "targets --validate pipe",
        "targets --of pipe",
        "inspect m.spv --profile pipe",
        "wrap m.spv -o m.o --properties pipe",
        "wrap m.spv -o m.o --symbols pipe",
        "embed pipe m.spv -o o.so",
        "build m.spv -t pvc -o out.table --ocloc pipe",
        "diff m.spv pipe",
    ];
    let begin = |call: &str, configuration: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        command.args(call.split(' ')).current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.envs(configuration.map(|path| ("SYCL_BUNDLE_CONFIG", path)));
        (call.to_owned(), command.spawn().unwrap())
    };
    let mut begun: Vec<_> = calls.iter().map(|call| begin(call, None)).collect();
    begun.push(begin("check m.spv -t pvc", Some("pipe")));
    for (call, child) in begun {
        let done = child.wait_with_output().unwrap();
        assert!(matches!(done.status.code(), Some(2 | 3 | 5)), "{call}: {}: {}", done.status, said(&done));
    }
    // A writer that has gone has written all: nothing is waited for.
    let script = "true | \"$0\" inspect /dev/stdin";
    let mut command = Command::new("sh");
    let done = command.args(["-c", script, env!("CARGO_BIN_EXE_sycl-bundle")]).output().unwrap();
    assert!(said(&done).contains("empty"), "{}", said(&done));
}

/// A name that is longer than any file's may be costs only itself, and that not either.
#[test]
fn a_member_of_a_wheel_may_have_any_name() {
    let folder = Folder::new();
    folder.put("m.spv", module());
    folder.put("n.spv", [module(), vec![0, 0, 1, 0]].concat());
    let wrapped = tool(&folder, ["wrap", "m.spv", "n.spv", "--emit", "shared", "-o", "l.so"]);
    assert_eq!(wrapped.status.code(), Some(0), "{}", said(&wrapped));
    let library = std::fs::read(folder.path().join("l.so")).unwrap();
    let long = format!("f/{}\u{e9}{}.so", "x".repeat(300), "y".repeat(194));
    let names = ["f/a.so", long.as_str(), "f/b.so"];
    let mut writer = zip::ZipWriter::new(File::create(folder.path().join("f-1-py3-none-any.whl")).unwrap());
    for name in names {
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(&library).unwrap();
    }
    writer.start_file("f-1.dist-info/RECORD", zip::write::SimpleFileOptions::default()).unwrap();
    writer.write_all(names.map(|name| format!("{name},,\n")).concat().as_bytes()).unwrap();
    writer.finish().unwrap();
    let done = tool(&folder, ["prune", "f-1-py3-none-any.whl", "-o", "out/", "--image", "0"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    // Three libraries of one image each.
    let record = tool(&folder, ["inspect", "out/f-1-py3-none-any.whl"]);
    assert_eq!(said(&record).matches("is the same as").count(), 2, "{}", said(&record));
}

#[test]
fn where_memory_has_no_place_for_threads_one_does_the_work() {
    let folder = Folder::new();
    folder.put("m.spv", module());
    // The stacks of 16 threads have 32 MiB, and their heaps have 64 MiB of addresses each.
    let addresses = (140_000..700_000).step_by(40_000).map(|most| format!("-v {most}"));
    for limit in ["-d 40000".to_owned()].into_iter().chain(addresses) {
        let script = format!("ulimit {limit}; RAYON_NUM_THREADS=16 exec \"$0\" kernels m.spv");
        let mut command = Command::new("timeout");
        command.args(["60", "sh", "-c", &script, env!("CARGO_BIN_EXE_sycl-bundle")]).current_dir(folder.path());
        let done = command.output().unwrap();
        assert!(done.status.success(), "{limit}: {}: {}", done.status, said(&done));
    }
}

/// Rust aborts where an allocation fails.
#[test]
fn limits_of_memory_of_the_shell_end_a_verb_in_order() {
    let folder = Folder::new();
    let nops = [0x0723_0203u32, 0x0001_0300, 0, 10, 0].into_iter().chain(std::iter::repeat_n(0x0001_0000, 6_000_000));
    folder.put("nops.spv", nops.flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    for arguments in [&["kernels", "nops.spv"][..], &["split", "nops.spv", "-o", "o.table"]] {
        let done = limited(&folder, 20 << 10, arguments.iter().copied());
        assert_eq!(done.status.code(), Some(5), "{arguments:?}: {} {}", done.status, said(&done));
        assert!(said(&done).contains("the memory that this process may have"), "{}", said(&done));
    }
}

#[test]
fn more_threads_than_processors_can_use_are_not_begun() {
    let folder = Folder::new();
    folder.put("m.spv", module());
    let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    command.args(["kernels", "m.spv"]).env("RAYON_NUM_THREADS", "100000").current_dir(folder.path());
    let begin = std::time::Instant::now();
    assert!(command.output().unwrap().status.success());
    assert!(begin.elapsed().as_secs() < 30, "{:?}", begin.elapsed());
}

/// Many sections that are the same zeros are not walked one after the other.
#[test]
fn sections_of_gpu_code_that_overlap_are_left_early() {
    const SECTIONS: u16 = 60_000;
    const ZEROS: u64 = 8 << 20;
    let folder = Folder::new();
    let names = b"\0.nv_fatbin\0.hip_fatbin\0.shstrtab\0";
    let table = 128u64;
    let data = table + 64 * u64::from(SECTIONS);
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend([3u16, 62].map(u16::to_le_bytes).concat());
    file.extend(1u32.to_le_bytes());
    file.extend([0, 0, table].map(u64::to_le_bytes).concat());
    file.extend(0u32.to_le_bytes());
    file.extend([64, 56, 0, 64, SECTIONS, 1].map(u16::to_le_bytes).concat());
    file.extend(names);
    file.resize(table as usize, 0);
    let mut section = |name: u32, kind: u32, offset: u64, size: u64| {
        file.extend([name, kind].map(u32::to_le_bytes).concat());
        file.extend([2, 0, offset, size, 0, 1, 0].map(u64::to_le_bytes).concat());
    };
    section(0, 0, 0, 0);
    section(24, 3, 64, names.len() as u64);
    (2..SECTIONS).for_each(|nth| section(1 + 11 * u32::from(nth % 2), 1, data, ZEROS));
    let path = folder.path().join("m.so");
    std::fs::write(&path, file).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(data + ZEROS).unwrap();
    let done = limited(&folder, 1 << 20, ["inspect", "m.so"]);
    assert!(done.status.code() == Some(3) && said(&done).contains("overlap"), "{}: {}", done.status, said(&done));
}

/// A policy of thousands of globs is held against thousands of kernels, of which each is in none.
#[test]
fn globs_times_kernels_are_bounded() {
    let folder = Folder::new();
    folder.put("m.spv", Module::kernels(8_000).bytes());
    let globs: String = (0..6_000).map(|nth| format!("\"*x{nth}*y\",\n")).collect();
    let exceptions: String = (0..3_000)
        .map(|nth| {
            let what = "[[check.exception]]\nrule=\"not-native\"\nreason=\"r\"\nuntil=2090-01-01";
            format!("{what}\nkernel=\"*x{nth}*y\"\n")
        })
        .collect();
    let head = "[check]\ntargets=[\"intel_gpu_pvc\"]\n";
    folder.put("globs.toml", format!("{head}kernels=[\n{globs}\"*\"]\n"));
    folder.put("exceptions.toml", format!("{head}require-native=true\n{exceptions}"));
    // Fewer, of which each takes longer.
    let stars = exceptions.replace("kernel=\"*x", "kernel=\"*k*e*r*n*e*l*");
    let few: Vec<&str> = stars.split_inclusive("y\"\n").take(400).collect();
    folder.put("stars.toml", format!("{head}require-native=true\n{}", few.concat()));
    for policy in ["globs.toml", "exceptions.toml", "stars.toml"] {
        let done = limited(&folder, 1 << 20, ["check", "m.spv", "--policy", policy]);
        assert_eq!(done.status.code(), Some(2), "{policy}: {}", said(&done));
        assert!(said(&done).contains("globs are too many for 8000 kernels"), "{}", said(&done));
    }
}

/// Answers that a shell puts on the command line as they are: names of files and kernels that a stranger chose.
#[test]
fn completions_are_words_and_no_commands() {
    let folder = Folder::new();
    let mut module = Module::default();
    module.kernel("gemm;touch${IFS}x;:", None);
    module.kernel("_ZTS4gemm", None);
    folder.put("m.spv", module.bytes());
    folder.put("m;touch x;.spv", b"");
    let answers = |shell: &str, words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        command.current_dir(folder.path()).env("SYCL_BUNDLE_COMPLETE", shell).env("_CLAP_IFS", "\u{b}");
        command.env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string()).arg("--").args(words);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    for shell in ["bash", "powershell"] {
        let names = answers(shell, &["sycl-bundle", "kernels", "m.spv", "--kernel", ""]);
        assert!(names.contains("_ZTS4gemm") && !names.contains("touch"), "{shell}: {names}");
        let files = answers(shell, &["sycl-bundle", "inspect", "m"]);
        assert!(files.contains("m.spv") && !files.contains("touch"), "{shell}: {files}");
    }
}

#[test]
fn braces_in_braces_are_refused() {
    let folder = Folder::new();
    folder.put("m.spv", module());
    let glob = format!("{}a{}", "{".repeat(200), "}".repeat(200));
    let done = tool(&folder, ["inspect", "m.spv", "--kernel", &glob]);
    assert_eq!(done.status.code(), Some(2), "{}", said(&done));
}

#[test]
fn an_input_that_is_cut_short_meanwhile_is_an_error_and_no_signal() {
    let folder = Folder::new();
    let path = folder.put("m.spv", [module(), vec![0; 64 << 20]].concat());
    // The copy waits for a reader, which comes once the input is short: the page that it begins with is gone then.
    let out = folder.path().join("out");
    pipe(&out);
    let mut child = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"))
        .args(["extract", "m.spv", "--emit", "spirv", "-o", "out"])
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    File::options().write(true).open(&path).unwrap().set_len(4096).unwrap();
    let reader = std::thread::spawn(move || std::fs::read(out));
    let code = child.wait().unwrap().code();
    let mut text = String::new();
    std::io::Read::read_to_string(child.stderr.as_mut().unwrap(), &mut text).unwrap();
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("another process"), "{text}");
    drop(File::options().write(true).read(true).open(folder.path().join("out")));
    drop(reader);
}

#[test]
fn an_output_that_nobody_reads_is_given_up() {
    let folder = Folder::new();
    folder.put("m.spv", module());
    pipe(&folder.path().join("out"));
    let begin = Instant::now();
    let done = tool(&folder, ["extract", "m.spv", "--emit", "spirv", "-o", "out"]);
    assert_eq!(done.status.code(), Some(5), "{}", said(&done));
    assert!(begin.elapsed() < Duration::from_secs(60));
}

#[test]
fn folders_of_outputs_are_made() {
    let folder = Folder::new();
    folder.put("m.spv", module());
    for arguments in [
        vec!["extract", "m.spv", "--emit", "spirv", "-o", "a/b/m.spv"],
        vec!["extract", "m.spv", "-o", "c/d"],
        vec!["split", "m.spv", "--mode", "off", "-o", "e/f/m.table"],
        vec!["wrap", "m.spv", "-o", "g/h/m.o"],
    ] {
        let done = tool(&folder, arguments.iter().copied());
        assert_eq!(done.status.code(), Some(0), "{arguments:?}: {}", said(&done));
        assert!(folder.path().join(arguments.last().unwrap()).exists());
    }
}

#[test]
fn what_a_killed_split_left_stops_nothing_and_goes() {
    let folder = Folder::new();
    folder.put("m.spv", module());
    let split = ["split", "m.spv", "--mode", "off", "-o", "t.table"];
    // As a split leaves it that is killed between the first part and the last: no process has this number.
    let left = folder.path().join(".sycl-bundle-4194305-abcdefabcdef");
    std::fs::create_dir(&left).unwrap();
    std::fs::set_permissions(&left, std::os::unix::fs::PermissionsExt::from_mode(0o1700)).unwrap();
    folder.put("Makefile", b"mine");
    std::fs::write(left.join("t.table"), "").unwrap();
    std::fs::write(left.join(".files"), " t_0.spv\n Makefile\nMakefile\nmine\n t.table\nt.table").unwrap();
    // A file that comes later and is older, as `cp -p`, `mv` and `tar` leave it.
    std::thread::sleep(Duration::from_millis(50));
    let mine = File::create(folder.path().join("mine")).unwrap();
    mine.set_modified(std::time::SystemTime::now() - Duration::from_secs(3600)).unwrap();
    let done = tool(&folder, split);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.iter().all(|name| !name.starts_with(".sycl-bundle")), "{names:?}");
    assert!(["t.table", "Makefile", "mine"].iter().all(|name| folder.path().join(name).exists()), "{names:?}");
}

#[test]
fn an_interrupted_write_leaves_nothing() {
    let folder = Folder::new();
    // Large enough to be met while it is written.
    let mut file = File::create(folder.path().join("m.spv")).unwrap();
    file.write_all(&module()).unwrap();
    file.seek(SeekFrom::Start((192 << 20) - 1)).unwrap();
    file.write_all(&[0]).unwrap();
    let mut met = false;
    for _ in 0..20 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"))
            .args(["extract", "m.spv", "--emit", "spirv", "-o", "new/folder/out.spv"])
            .current_dir(folder.path())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let temporary = || {
            let entries = std::fs::read_dir(folder.path().join("new/folder")).into_iter().flatten().flatten();
            entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(".sycl-bundle-")).count()
        };
        while temporary() == 0 && child.try_wait().unwrap().is_none() {}
        let _ = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
        met |= child.wait().unwrap().code().is_none();
        assert_eq!(temporary(), 0);
        // Folders that were made for it go with it.
        assert!(!met || folder.path().join("new/folder/out.spv").exists() || !folder.path().join("new").exists());
        std::fs::remove_dir_all(folder.path().join("new")).ok();
        if met {
            return;
        }
    }
    assert!(met, "no run was met while it wrote");
}

/// The standard library takes the error of a descriptor that is open for reading alone for success.
#[test]
fn what_standard_output_does_not_take_is_told() {
    let folder = Folder::new();
    folder.put("m.spv", module());
    for call in ["extract m.spv --emit spirv -o -", "inspect m.spv --format json", "inspect m.spv"] {
        for (output, code) in [("1</dev/null", 5), (">/dev/null", 0), ("1<>/dev/null", 0)] {
            let script = format!("exec \"$0\" {call} {output}");
            let mut command = Command::new("sh");
            command.args(["-c", &script, env!("CARGO_BIN_EXE_sycl-bundle")]).current_dir(folder.path());
            let done = command.output().unwrap();
            assert_eq!(done.status.code(), Some(code), "{call} {output}: {}", said(&done));
        }
    }
}

/// A kernel package whose table lists, for a host file with this path, the one code object for so many architectures.
fn kernel_package(path: &str, architectures: u32, ordinal: u8) -> Vec<u8> {
    let text = |text: &str| [&[0xdb][..], &u32::try_from(text.len()).unwrap().to_be_bytes(), text.as_bytes()].concat();
    let map = |entries: u32| [&[0xdf][..], &entries.to_be_bytes()].concat();
    let blob = [map(2), text("offset"), vec![64], text("size"), vec![16]].concat();
    let entry = [text("gfx90a"), map(1), text("ordinal"), vec![ordinal]].concat();
    let mut file = [&b"KPAK"[..], &1u32.to_le_bytes(), &80u64.to_le_bytes()].concat();
    file.resize(64, 0);
    file.extend(b"\x7fELFabcdefghijkl");
    file.extend([map(3), text("compression_scheme"), text("none"), text("blobs"), vec![0x91], blob].concat());
    file.extend([text("toc"), map(1), text(path), map(architectures), entry.repeat(architectures as usize)].concat());
    file
}

/// Members that share one long name, and members of an archive with a long name in an archive.
#[test]
fn members_with_long_paths_cost_what_they_weigh() {
    let folder = Folder::new();
    let member = |name: &str, bytes: &[u8]| {
        let head = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, bytes.len());
        [head.as_bytes(), bytes, &b"\n"[..bytes.len() % 2]].concat()
    };
    let names = member("//", format!("{}/\n", "x".repeat(9_998)).as_bytes());
    let shared = [b"!<arch>\n".to_vec(), names.clone(), member("/0", &module()).repeat(60_000)].concat();
    let inner = [b"!<arch>\n".to_vec(), member("m/", &module()).repeat(60_000)].concat();
    let within = [b"!<arch>\n".to_vec(), names, member("/0", &inner)].concat();
    // As above, and none of them can be read.
    let damaged = (0..5000).fold(ZipWriter::new(Cursor::new(Vec::new())), |mut zip, number| {
        zip.start_file(format!("{number:>4090}"), SimpleFileOptions::default()).unwrap();
        zip.write_all(&module()).unwrap();
        zip
    });
    let mut damaged = damaged.finish().unwrap().into_inner();
    let listed = damaged.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    let mut at = listed;
    while damaged[at..].starts_with(b"PK\x01\x02") {
        damaged[at + 16] ^= 1;
        at += 46 + 4090;
    }
    let damaged = (0..4).fold(damaged, |inner, _| {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        zip.start_file("x".repeat(4090), SimpleFileOptions::default()).unwrap();
        zip.write_all(&inner).unwrap();
        zip.finish().unwrap().into_inner()
    });
    for archive in [shared, within, damaged] {
        folder.put("m.a", archive);
        let done = limited(&folder, 640 << 10, ["inspect", "m.a"]);
        let said = said(&done);
        assert!(done.status.code() == Some(3) && said.contains("than its size warrants"), "{}", said.len());
    }
}

#[test]
fn kernel_packages_with_one_long_path_cost_what_they_weigh() {
    let folder = Folder::new();
    let path = "x".repeat(1 << 20);
    for (ordinal, what) in [(0, "many times the size of the file"), (7, "is not where the table says")] {
        folder.put("k.kpack", kernel_package(&path, 20_000, ordinal));
        for verb in [&["inspect"][..], &["kernels", "--format", "json"]] {
            let done = limited(&folder, 512 << 10, verb.iter().copied().chain(["k.kpack"]));
            assert_eq!(done.status.code(), Some(3), "{}", said(&done).chars().take(400).collect::<String>());
            assert!(said(&done).contains(what), "{}", said(&done).chars().take(400).collect::<String>());
            assert!(done.stdout.len() + done.stderr.len() < 1 << 20, "{verb:?}");
        }
    }
    folder.put("k.kpack", kernel_package("lib/libfoo.so", 3, 0));
    let done = tool(&folder, ["inspect", "k.kpack"]);
    assert!(said(&done).contains("gfx90a"), "{}", said(&done));
}

/// A process that pip leaves running may hold its output for as long as it likes, and the current folder has no say in which pip it is.
#[test]
fn pip_is_asked_elsewhere_and_not_waited_for() {
    let folder = Folder::new();
    let python = folder.put("python3", "#!/bin/sh\necho \"pip in $(pwd)\"\nsleep 60 &\n");
    std::fs::set_permissions(python, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let begin = Instant::now();
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let done = doctor.arg("doctor").env("PATH", path).current_dir(folder.path()).output().unwrap();
    assert!(said(&done).contains("-I -m pip: pip in /\n"), "{}", said(&done));
    assert!(begin.elapsed() < Duration::from_secs(50), "{:?}", begin.elapsed());
}
