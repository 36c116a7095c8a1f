//! Which images that a runtime hands on otherwise than drivers take them would be called compatible?

use super::costly::put;
use super::judged::{NUMBERS, all, linked, module, runs};
use super::support::folder::Folder;
use std::process::Command;

const CPU: &str = "spir64_x86_64";
const GPU: &str = "intel_gpu_pvc";
const REQUIREMENTS: &str = "[SYCL/device requirements]\naspects=2|AAAAAAAAAAA\n";

/// Judges a table of modules, each with its kernel or none and its properties.
fn table_runs(images: &[(Vec<u8>, &str, String)], target: &str) -> bool {
    let folder = Folder::new();
    let mut text = "[Code|Properties|Symbols]\n".to_owned();
    for (at, (bytes, symbol, properties)) in images.iter().enumerate() {
        folder.put(&format!("{at}.spv"), bytes);
        folder.put(&format!("{at}.prop"), format!("{REQUIREMENTS}{properties}"));
        folder.put(&format!("{at}.sym"), format!("{symbol}\n"));
        text += &format!("{at}.spv|{at}.prop|{at}.sym\n");
    }
    folder.put("t.table", text);
    let mut command = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
    let out = command.args(["check", "--strict", "-t", target, "t.table"]).current_dir(folder.path()).output().unwrap();
    assert!(out.status.code().is_some_and(|code| code < 3), "{}", String::from_utf8_lossy(&out.stderr));
    out.status.success()
}

/// Judges one module with these properties.
fn with(properties: &str, target: &str) -> bool {
    table_runs(&[(module(&[], &[], &[], &[]), "k", properties.to_owned())], target)
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
    // The number of bits in eight bytes, and the bytes: four, eight, and twelve, a constant of four bytes; one far behind.
    let (four, eight, twelve) = ("gAAAAAAAAAAAAAAA", "ABAAAAAAAAABAAAAAAAAAA", "gBAAAAAAAAAAAAAAAAAAAQAAAAA");
    let huge = "gBAAAAAAAAAAAAAAw////TAAAAA";
    let constants = |value: &str, defaults: &str| {
        format!(
            "[SYCL/specialization constants]\nuid=2|{value}\n[SYCL/specialization constants default values]\nall={defaults}\n"
        )
    };
    for properties in [
        format!("[SYCL/kernel param opt]\nk=2|{four}\n"),
        "[SYCL/virtual functions]\nuses-virtual-functions-set=2|IAAAAAAAAAwc\n".to_owned(),
        format!("[SYCL/device globals]\ng=2|{eight}\n"),
        constants(twelve, &format!("2|{four}")),
    ] {
        assert!(with(&properties, CPU), "{properties}");
    }
    let cases = [
        "[SYCL/kernel param opt]\nk=1|5\n".to_owned(),
        "[SYCL/virtual functions]\nuses-virtual-functions-set=1|3\n".to_owned(),
        "[SYCL/misc properties]\nsanUsed=1|3\n".to_owned(),
        "[SYCL/devicelib metadata]\nbfloat16=1|1\n".to_owned(),
        "[SYCL/device globals]\ng=1|4\n".to_owned(),
        format!("[SYCL/device globals]\ng=2|{four}\n"),
        "[SYCL/specialization constants]\nuid=1|3\n".to_owned(),
        format!("[SYCL/specialization constants]\nuid=2|{eight}\n"),
        format!("[SYCL/specialization constants]\nuid=2|{huge}\n"),
        constants(twelve, "1|3"),
        constants(twelve, &format!("2|{four}")) + "[SYCL/specialization constants set values]\nall=1|3\n",
    ];
    let judged: Vec<&String> = cases.iter().filter(|properties| with(properties, CPU)).collect();
    assert_eq!(judged, Vec::<&String>::new());
}

/// The runtime links all images of a set of virtual functions, whatever they list as imports.
#[test]
fn images_of_a_set_of_virtual_functions_define_what_others_call() {
    let calling = || {
        let types = all(&[(21, &[8, 32, 0]), (33, &[10, 8])]);
        let code = all(&[(57, &[8, 30, 40])]);
        let declared = all(&[(54, &[8, 40, 0, 10]), (56, &[])]);
        let bytes = module(&linked(40, "_ZN1a1fEv", 1), &[types, declared].concat(), &code, &[]);
        (bytes, "k", "[SYCL/virtual functions]\nuses-virtual-functions-set=2|IAAAAAAAAAwc\n".to_owned())
    };
    let defining = |set: &str| {
        let function: &[(u32, &[u32])] = &[(54, &[8, 40, 0, 10]), (248, &[41]), (254, &[9]), (56, &[])];
        let bytes = module(&linked(40, "_ZN1a1fEv", 0), &all(NUMBERS), &[], &all(function));
        (bytes, "_ZN1a1fEv", format!("[SYCL/virtual functions]\nvirtual-functions-set=2|{set}\n"))
    };
    assert!(table_runs(&[calling(), defining("IAAAAAAAAAwc")], CPU));
    assert!(!table_runs(&[calling(), defining("IAAAAAAAAAAd")], CPU));
    assert!(!table_runs(&[calling()], CPU));
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
