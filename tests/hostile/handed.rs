//! Which images that a runtime hands on otherwise than drivers take them would be called compatible?

use super::costly::put;
use super::formed::begun;
use super::judged::{CPU, NUMBERS, all, linked, module, runs};
use super::recorded::{array, bytes, table, tool, words};
use super::support::folder::Folder;

const GPU: &str = "intel_gpu_pvc";
const REQUIREMENTS: &str = "[SYCL/device requirements]\naspects=2|AAAAAAAAAAA\n";

/// Judges a table of modules, each with its kernel or none and its properties.
fn table_runs(images: &[(Vec<u8>, &str, String)], target: &str) -> bool {
    let folder = Folder::new();
    let owned: Vec<(&Vec<u8>, String, String)> = images
        .iter()
        .map(|(code, symbol, properties)| (code, format!("{REQUIREMENTS}{properties}"), format!("{symbol}\n")))
        .collect();
    let rows: Vec<(&[u8], &str, &str)> =
        owned.iter().map(|(code, properties, symbols)| (code.as_slice(), &**properties, &**symbols)).collect();
    table(&folder, &rows);
    let out = tool(&folder, &["check", "--strict", "-t", target, "m.table"]);
    assert!(out.status.code().is_some_and(|code| code < 3), "{}", String::from_utf8_lossy(&out.stderr));
    out.status.success()
}

/// Begins a module with what device globals need.
fn hosted(module: &[u8]) -> Vec<u8> {
    let mut extension = Vec::new();
    put(&mut extension, 10, &[], Some("SPV_INTEL_global_variable_decorations"), &[]);
    begun(&[all(&[(17, &[6146])]), extension].concat(), module)
}

/// A module with the device globals `g` and `h`, which the host knows by these names.
fn with_globals() -> Vec<u8> {
    let mut said = Vec::new();
    put(&mut said, 71, &[30, 6147, 2], Some("g"), &[]);
    put(&mut said, 71, &[31, 6147, 2], Some("h"), &[]);
    let more: &[(u32, &[u32])] = &[(32, &[11, 5, 8]), (46, &[8, 12]), (59, &[11, 30, 5, 12]), (59, &[11, 31, 5, 12])];
    hosted(&module(&said, &all(&[NUMBERS, more].concat()), &[], &[]))
}

/// Judges one module with these properties.
fn with(properties: &str, target: &str) -> bool {
    table_runs(&[(with_globals(), "k", properties.to_owned())], target)
}

/// The runtime makes an option of the number of registers, which the driver of CPUs refuses.
#[test]
fn kernels_with_a_number_of_registers_do_not_run_on_cpus() {
    let registers = |number: u32| format!("[SYCL/misc properties]\nsycl-grf-size=1|{number}\n");
    for (number, on_cpu) in [(128, true), (256, false), (0, false)] {
        assert_eq!(with(&registers(number), CPU), on_cpu, "{number}");
        assert!(with(&registers(number), GPU), "{number}");
    }
}

#[test]
fn properties_that_a_runtime_does_not_survive_are_not_compatible() {
    let (four, eight) = (bytes(&[0; 4]), words(&[4, 0]));
    // A constant of four bytes, and one that is far behind.
    let (near, far) = (words(&[0, 0, 4]), words(&[0, 0xffff_fff0, 4]));
    let constants = |value: &str, defaults: &str| {
        format!(
            "[SYCL/specialization constants]\nuid={value}\n[SYCL/specialization constants default values]\nall={defaults}\n"
        )
    };
    for properties in [
        format!("[SYCL/kernel param opt]\nk={}\n", bytes(&[255])),
        "[SYCL/work group dynamic local mem]\nk=1|1\n".to_owned(),
        format!("[SYCL/virtual functions]\nuses-virtual-functions-set={}\n", bytes(b"s")),
        format!("[SYCL/device globals]\ng={eight}\n"),
        constants(&near, &four),
    ] {
        assert!(with(&properties, CPU), "{properties}");
    }
    let cases = [
        "[SYCL/kernel param opt]\nk=1|5\n".to_owned(),
        // Arguments that the kernel does not have.
        format!("[SYCL/kernel param opt]\nk={}\n", bytes(&[254])),
        "[SYCL/implicit local arg]\nk=1|0\n".to_owned(),
        // More bits than there are, of another kernel.
        format!("[SYCL/kernel param opt]\nother={}\n", array(&[0], 1 << 20)),
        // Of a kernel that the image does not have.
        "[SYCL/implicit local arg]\nother=1|0\n".to_owned(),
        "[SYCL/work group dynamic local mem]\nother=1|1\n".to_owned(),
        "[SYCL/virtual functions]\nuses-virtual-functions-set=1|3\n".to_owned(),
        "[SYCL/misc properties]\nsanUsed=1|3\n".to_owned(),
        "[SYCL/misc properties]\nisEsimdImage=1|7\n".to_owned(),
        "[SYCL/devicelib metadata]\nbfloat16=1|1\n".to_owned(),
        "[SYCL/device globals]\ng=1|4\n".to_owned(),
        format!("[SYCL/device globals]\ng={four}\n"),
        "[SYCL/specialization constants]\nuid=1|3\n".to_owned(),
        format!("[SYCL/specialization constants]\nuid={eight}\n"),
        format!("[SYCL/specialization constants]\nuid={far}\n"),
        constants(&near, "1|3"),
        constants(&near, &four) + "[SYCL/specialization constants set values]\nall=1|3\n",
    ];
    let judged: Vec<&String> = cases.iter().filter(|properties| with(properties, CPU)).collect();
    assert_eq!(judged, Vec::<&String>::new());
}

/// DPC++ writes that a kernel has no such argument, and programs that are compiled at run time have two names for each kernel.
#[test]
fn forms_that_compilers_write_are_compatible() {
    assert!(with("[SYCL/implicit local arg]\nk=1|4294967295\n", CPU));
    let folder = Folder::new();
    for (names, is_taken) in [("k\nrtc_0$k\n", true), ("k\nrtc_0$o\n", false), ("k\nrtc_x$k\n", false)] {
        table(&folder, &[(&module(&[], &[], &[], &[]), REQUIREMENTS, names)]);
        let out = tool(&folder, &["check", "--strict", "-t", CPU, "m.table"]);
        assert_eq!(out.status.success(), is_taken, "{names}: {}", String::from_utf8_lossy(&out.stderr));
    }
}

/// A SYCLBIN's kernels are those of its list, and a program's kernels those that no image exports: what is a kernel by its code is no
/// function for others, and is judged.
#[test]
fn kernels_that_are_listed_as_functions_are_judged() {
    let set = bytes(b"s");
    for properties in [
        "[SYCL/exported symbols]\no=1|1\n".to_owned(),
        format!("[SYCL/virtual functions]\nvirtual-functions-set={set}\n"),
    ] {
        let images = [(module(&[], &[], &[], &[]), "k", String::new()), (other_kernel(), "o", properties.clone())];
        assert!(!table_runs(&images, CPU), "{properties}");
    }
    let sound = [(module(&[], &[], &[], &[]), "k", String::new()), (other_kernel(), "o", String::new())];
    assert!(table_runs(&sound, CPU));
}

/// A module with a kernel `o`.
fn other_kernel() -> Vec<u8> {
    let mut bytes = module(&[], &[], &[], &[]);
    let name = bytes.windows(4).position(|four| four == b"k\0\0\0").unwrap();
    bytes[name] = b'o';
    bytes
}

/// The runtime registers all images of a file before any of its kernels is launched.
#[test]
fn images_without_kernels_that_end_the_runtime_leave_no_kernel_compatible() {
    let runs_with = |properties: &str| {
        let folder = Folder::new();
        let function = format!("{REQUIREMENTS}[SYCL/exported symbols]\nf=1|1\n{properties}");
        let (kernel, other) = (module(&[], &[], &[], &[]), function_alone());
        table(&folder, &[(&kernel, REQUIREMENTS, "k\n"), (&other, &function, "f\n")]);
        let wrapped = tool(&folder, &["wrap", "m.table", "--emit", "shared", "-o", "m.so"]);
        assert!(wrapped.status.success(), "{}", String::from_utf8_lossy(&wrapped.stderr));
        let out = tool(&folder, &["check", "--strict", "-t", CPU, "m.so"]);
        assert!(out.status.code().is_some_and(|code| code < 3), "{}", String::from_utf8_lossy(&out.stderr));
        out.status.success()
    };
    assert!(runs_with(""));
    for properties in [
        "[SYCL/misc properties]\nsanUsed=1|3\n",
        "[SYCL/device globals]\ng=1|3\n",
        "[SYCL/virtual functions]\nuses-virtual-functions-set=1|3\n",
        "[SYCL/implicit local arg]\nother=1|0\n",
        &format!("[SYCL/kernel param opt]\nother={}\n", array(&[0], 1 << 20)),
    ] {
        assert!(!runs_with(properties), "{properties}");
    }
}

/// A module without a kernel that exports a function `f`.
pub(super) fn function_alone() -> Vec<u8> {
    let mut words = vec![0x0723_0203, 0x0001_0400, 0, 50, 0];
    [4, 5, 6].iter().for_each(|capability| put(&mut words, 17, &[*capability], None, &[]));
    put(&mut words, 14, &[2, 2], None, &[]);
    put(&mut words, 71, &[3, 41], Some("f"), &[0]);
    words.extend(all(&[(19, &[1]), (33, &[2, 1]), (54, &[1, 3, 0, 2]), (248, &[4]), (253, &[]), (56, &[])]));
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// The host writes to the device globals of the first image that has them.
#[test]
fn device_globals_of_two_images_are_not_compatible() {
    let has = |name: &str, of_image: u32| format!("[SYCL/device globals]\n{name}={}\n", words(&[4, of_image]));
    let pair = |first: String, second: String| {
        let image = |kernel, properties| (with_globals(), kernel, properties);
        table_runs(&[image("k", first), image("k", second)], CPU)
    };
    assert!(pair(has("g", 1), has("h", 1)));
    assert!(!pair(has("g", 1), has("none", 1)), "the host finds none of that name");
    assert!(pair(has("g", 1), has("rtc_0$h", 1)), "a program that is compiled at run time");
    assert!(pair(has("g", 0), has("g", 0)));
    assert!(!pair(has("g", 1), has("g", 1)));
}

/// Static device globals: the host finds them by name in each image that lists them, and by one name one alone.
#[test]
fn device_globals_of_one_module_stay_whole() {
    let folder = Folder::new();
    let own = |kernel: &str| {
        let mut said = Vec::new();
        put(&mut said, 71, &[30, 6147, 2], Some("g"), &[]);
        let more: &[(u32, &[u32])] = &[(32, &[11, 5, 8]), (46, &[8, 12]), (59, &[11, 30, 5, 12])];
        let second: &[(u32, &[u32])] = &[(54, &[1, 40, 0, 2]), (248, &[41]), (61, &[8, 42, 30]), (253, &[]), (56, &[])];
        let mut modes = Vec::new();
        put(&mut modes, 15, &[6, 40], Some(&format!("{kernel}2")), &[]);
        let mut bytes = module(&[modes, said].concat(), &all(&[NUMBERS, more].concat()), &[], &all(second));
        let at = bytes.windows(4).position(|word| word == b"k\0\0\0").unwrap();
        bytes[at] = kernel.as_bytes()[0];
        hosted(&bytes)
    };
    let hosts = |path: &str| {
        let bytes = folder.read(path);
        bytes.windows(4).filter(|word| *word == b"g\0\0\0").count()
    };
    let globals = format!("{REQUIREMENTS}[SYCL/device globals]\ng={}\n", words(&[4, 0]));
    table(&folder, &[(&own("k"), &globals, "k\nk2\n"), (&own("j"), &globals, "j\nj2\n")]);
    let runs = |file: &str| {
        let done = tool(&folder, &["check", "--strict", "-t", CPU, file]);
        assert!(
            done.status.success(),
            "{file}: {}{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        );
    };
    runs("m.table");
    // The first kernels do not use it.
    let done = tool(&folder, &["split", "m.table", "--mode", "per_kernel", "-o", "s/images.table"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    runs("s/images.table");
    for number in 0..4 {
        assert_eq!(hosts(&format!("s/images_{number}.spv")), 1, "{number}");
    }
    let done = tool(&folder, &["link", "m.table", "-o", "l.spv"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(hosts("l.spv"), 1);
}

/// The runtime ends at kernels of a SYCLBIN that reach device globals of all images.
#[test]
fn device_globals_in_a_syclbin_are_not_compatible() {
    let folder = Folder::new();
    let plain = with_globals();
    let mut other = plain.clone();
    other[plain.windows(4).position(|word| word == b"k\0\0\0").unwrap()] = b'j';
    let globals = |of_image: u32| format!("[SYCL/device globals]\ng={}\n", words(&[4, of_image]));
    let judged = |properties: [&str; 2]| {
        let [first, second] = properties.map(|properties| format!("{REQUIREMENTS}{properties}"));
        table(&folder, &[(&plain, &first, "k\n"), (&other, &second, "j\n")]);
        let wrapped = tool(&folder, &["wrap", "m.table", "--emit", "syclbin", "-o", "m.syclbin"]);
        assert!(wrapped.status.success(), "{}", String::from_utf8_lossy(&wrapped.stderr));
        tool(&folder, &["check", "--strict", "-t", CPU, "m.syclbin"]).status.code()
    };
    assert_eq!(judged(["", ""]), Some(0));
    assert_eq!(judged([&globals(1), ""]), Some(0));
    assert_eq!(judged([&globals(0), ""]), Some(1));
    // Images that are alike but for this are not judged as one.
    assert_eq!(judged(["", &globals(0)]), Some(1));
}

/// The runtime finds no kernel of a SYCLBIN by its code.
#[test]
fn kernels_that_a_syclbin_does_not_list_are_not_compatible() {
    let folder = Folder::new();
    table(&folder, &[(&module(&[], &[], &[], &[]), REQUIREMENTS, "k\n")]);
    let wrapped = tool(&folder, &["wrap", "m.table", "--emit", "syclbin", "-o", "m.syclbin"]);
    assert!(wrapped.status.success(), "{}", String::from_utf8_lossy(&wrapped.stderr));
    let judged = || tool(&folder, &["check", "--strict", "-t", CPU, "m.syclbin"]).status.code();
    assert_eq!(judged(), Some(0));
    let path = folder.path().join("m.syclbin");
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(17).position(|word| word == b"SYCL/kernel names").unwrap();
    bytes[at] = b'X';
    std::fs::write(path, bytes).unwrap();
    assert_eq!(judged(), Some(1));
}

/// The runtime links all images of a set of virtual functions, whatever they list as imports.
#[test]
fn images_of_a_set_of_virtual_functions_define_what_others_call() {
    let calling = || {
        let types = all(&[(21, &[8, 32, 0]), (33, &[10, 8])]);
        let code = all(&[(57, &[8, 30, 40])]);
        let declared = all(&[(54, &[8, 40, 0, 10]), (56, &[])]);
        let module = module(&linked(40, "_ZN1a1fEv", 1), &[types, declared].concat(), &code, &[]);
        (module, "k", format!("[SYCL/virtual functions]\nuses-virtual-functions-set={}\n", bytes(b"s")))
    };
    let defining = |set: &[u8]| {
        let function: &[(u32, &[u32])] = &[(54, &[8, 40, 0, 10]), (248, &[41]), (254, &[9]), (56, &[])];
        let code = module(&linked(40, "_ZN1a1fEv", 0), &all(NUMBERS), &[], &all(function));
        (code, "_ZN1a1fEv", format!("[SYCL/virtual functions]\nvirtual-functions-set={}\n", bytes(set)))
    };
    assert!(table_runs(&[calling(), defining(b"s")], CPU));
    assert!(!table_runs(&[calling(), defining(b"t")], CPU));
    assert!(!table_runs(&[calling()], CPU));
}

/// The runtime gives devices with conversions of bfloat16 of their own one form of those of the device library, and others the other.
#[test]
fn each_device_needs_its_form_of_the_conversions_of_bfloat16() {
    const NAME: &str = "__devicelib_ConvertFToBF16INTEL";
    let types = all(&[(21, &[8, 32, 0]), (33, &[10, 8]), (54, &[8, 40, 0, 10]), (56, &[])]);
    let calling = module(&linked(40, NAME, 1), &types, &all(&[(57, &[8, 30, 40])]), &[]);
    let function: &[(u32, &[u32])] = &[(54, &[8, 40, 0, 10]), (248, &[41]), (254, &[9]), (56, &[])];
    let mut defining = module(&linked(40, NAME, 0), &all(NUMBERS), &[], &all(function));
    // A kernel of another name, which nothing lists.
    let at = defining.windows(4).position(|word| word == b"k\0\0\0").unwrap();
    defining[at] = b'j';
    let importing = format!("{REQUIREMENTS}[SYCL/imported symbols]\n{NAME}=1|1\n");
    let exporting = |form: u32| {
        format!("{REQUIREMENTS}[SYCL/exported symbols]\n{NAME}=1|1\n[SYCL/devicelib metadata]\nbfloat16=1|{form}\n")
    };
    let forms = [exporting(0), exporting(1)];
    let symbols = format!("{NAME}\n");
    let folder = Folder::new();
    for (given, on_cpu, on_gpu) in
        [(&[0, 1][..], true, true), (&[0], true, false), (&[1], false, true), (&[], false, false)]
    {
        let rows = given.iter().map(|form| (defining.as_slice(), forms[*form].as_str(), symbols.as_str()));
        let rows: Vec<_> = [(calling.as_slice(), importing.as_str(), "k\n")].into_iter().chain(rows).collect();
        table(&folder, &rows);
        for (target, expected) in [(CPU, on_cpu), (GPU, on_gpu)] {
            let done = tool(&folder, &["check", "--strict", "-t", target, "m.table"]);
            assert_eq!(done.status.success(), expected, "{given:?} on {target}");
        }
        let done = tool(&folder, &["link", "m.table", "-o", "all.spv"]);
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.success(), !given.is_empty(), "{given:?}: {told}");
        assert_eq!(told.contains("are for some devices"), given.len() > 1, "{told}");
    }
    // Symbols that go with an image are told, where the other form stays.
    table(
        &folder,
        &[
            (calling.as_slice(), importing.as_str(), "k\n"),
            (&defining, &forms[0], &symbols),
            (&defining, &forms[1], &symbols),
        ],
    );
    assert!(tool(&folder, &["wrap", "m.table", "--emit", "shared", "-o", "l.so"]).status.success());
    for image in ["1", "2"] {
        let done = tool(&folder, &["prune", "l.so", "--image", image, "-o", "p.so"]);
        let told = String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && told.contains("no image defines any more: 1"), "{told}");
    }
}

/// Linkers of devices refuse a function that two modules define, and the runtime hands them all of a set.
#[test]
fn functions_that_two_images_of_a_set_define_are_refused() {
    let calling = |set: &str| {
        (module(&[], &[], &[], &[]), "k", format!("[SYCL/virtual functions]\nuses-virtual-functions-set={set}\n"))
    };
    let defining = |name: &str, kind: u32, set: &str| {
        let function: &[(u32, &[u32])] = &[(54, &[8, 40, 0, 10]), (248, &[41]), (254, &[9]), (56, &[])];
        let code = module(&linked(40, name, kind), &all(NUMBERS), &[], &all(function));
        (code, "_ZN1a1fEv", format!("[SYCL/virtual functions]\nvirtual-functions-set={set}\n"))
    };
    let [s, t] = [bytes(b"s"), bytes(b"t")];
    for (what, one, other, runs) in [
        ("two functions", defining("f", 0, &s), defining("g", 0, &s), true),
        ("one of two sets", defining("f", 0, &s), defining("f", 0, &t), true),
        ("one twice", defining("f", 0, &s), defining("f", 0, &s), false),
        ("one that linkers unite", defining("f", 2, &s), defining("f", 2, &s), true),
        ("an intrinsic's", defining("spirv.llvm_fshl_i32", 0, &s), defining("spirv.llvm_fshl_i32", 0, &s), true),
    ] {
        for target in [CPU, GPU] {
            assert_eq!(table_runs(&[calling(&s), one.clone(), other.clone()], target), runs, "{what} on {target}");
        }
    }
}

/// The runtime inflates the kernel's own image, and those that define imported symbols, but none of a set of virtual functions.
#[test]
fn compressed_images_of_a_set_of_virtual_functions_are_refused() {
    let padded = |modes: Vec<u32>, function: &[(u32, &[u32])]| {
        let mut said = Vec::new();
        put(&mut said, 7, &[35], Some(&"a".repeat(2000)), &[]);
        module(&[said, modes].concat(), &all(NUMBERS), &[], &all(function))
    };
    let function: &[(u32, &[u32])] = &[(54, &[8, 40, 0, 10]), (248, &[41]), (254, &[9]), (56, &[])];
    let folder = Folder::new();
    let code = [padded(Vec::new(), &[]), padded(linked(40, "_ZN1a1fEv", 0), function)];
    // The name is made right once the images are compressed.
    let sets = ["uses-virtual-functions-set", "virtual-functions-set"]
        .map(|key| format!("{REQUIREMENTS}[SYCL/virtual functionz]\n{key}={}\n", bytes(b"s")));
    for (name, is_compressed) in [("SYCL/virtual functions", false), ("SYCL/virtual functionz", true)] {
        let sets = sets.each_ref().map(|text| text.replace("SYCL/virtual functionz", name));
        table(&folder, &[(code[0].as_slice(), &sets[0], "k\n"), (code[1].as_slice(), &sets[1], "_ZN1a1fEv\n")]);
        for (options, compressed) in [(&[][..], false), (&["--compress"], is_compressed)] {
            let out = tool(&folder, &[&["wrap", "m.table", "--emit", "shared", "-o", "l.so"], options].concat());
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
            let told = String::from_utf8_lossy(&out.stderr).contains("are not compressed");
            assert_eq!(told, !options.is_empty() && !is_compressed);
            let mut file = folder.read("l.so");
            while let Some(at) = file.windows(22).position(|text| text == b"SYCL/virtual functionz") {
                file[at + 21] = b's';
            }
            folder.put("l.so", file);
            let out = tool(&folder, &["check", "--strict", "-t", CPU, "l.so"]);
            assert_eq!(
                out.status.code(),
                Some(i32::from(compressed)),
                "{}{}",
                String::from_utf8_lossy(&out.stdout),
                String::from_utf8_lossy(&out.stderr)
            );
        }
    }
}

/// Intel's compiler for CPUs looks for functions of OpenCL C by name alone.
#[test]
fn functions_under_names_of_opencl_c_are_unknown_on_cpus() {
    let own = |name: &str, language: u32, parameters: usize| {
        let mut said = Vec::new();
        put(&mut said, 3, &[language, 200_000], None, &[]);
        put(&mut said, 5, &[40], Some(name), &[]);
        let signature = [vec![15], vec![8; parameters + 1]].concat();
        let types = [all(NUMBERS), all(&[(33, &signature[..])])].concat();
        let mut function = all(&[(54, &[8, 40, 0, 15])]);
        for at in 0..parameters {
            function.extend(all(&[(55, &[8, 46 + at as u32])]));
        }
        function.extend(all(&[(248, &[41]), (254, &[9]), (56, &[])]));
        module(&said, &types, &[], &function)
    };
    const C: u32 = 3;
    const CPP: u32 = 4;
    for (name, language, parameters, on_cpu) in [
        ("_Z3powii", C, 2, false),
        ("_Z6rotateii", C, 2, false),
        ("_Z3powii", CPP, 2, true),
        ("_Z8prefetchii", CPP, 2, false),
        ("_Z3anyii", CPP, 2, false),
        ("_Z3anyi", CPP, 1, true),
        ("_Z21work_group_reduce_addi", CPP, 1, false),
        ("_Z7largestii", C, 2, true),
    ] {
        let bytes = own(name, language, parameters);
        assert_eq!(runs("m.spv", &bytes, CPU), on_cpu, "{name} of {language}");
        assert!(runs("m.spv", &bytes, GPU), "{name} of {language}");
    }
}

/// One image needs what each kernel of several needed.
#[test]
fn kernels_that_a_link_takes_from_devices_are_told() {
    let folder = Folder::new();
    let plain = module(&[], &[], &[], &[]);
    let at = plain.windows(4).position(|word| word == b"k\0\0\0").unwrap();
    let mut other = plain.clone();
    other[at] = b'j';
    let aspects = |numbers: &[u32]| format!("[SYCL/device requirements]\naspects={}\n", words(numbers));
    for (second, told) in [(aspects(&[6]), true), (aspects(&[5]), false)] {
        table(&folder, &[(&plain, &aspects(&[5]), "k\n"), (&other, &second, "j\n")]);
        let out = tool(&folder, &["link", "m.table", "-o", "linked.table"]);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.success(), "{said}");
        let note = "kernels of 2 images run on fewer devices now: one image needs all of fp16, fp64";
        assert_eq!(said.contains(note), told, "{said}");
    }
}
