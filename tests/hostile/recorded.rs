//! Which images would be called compatible, though the runtime reads of them something else than is judged?
//!
//! Each was seen to fail with the runtime, or the compiler that it calls: a requirement in a form that it takes for another, a
//! format that is declared and not there, a kernel that no code has, and an image that hides behind another like it.

use super::costly::put;
use super::handed::function_alone;
use super::judged::CPU;
use super::support::folder::Folder;
use object::{Object as _, ObjectSymbol as _};
use std::process::{Command, Output};
use sycl_bundle::bundle::property_text::encode_base64;

pub const GPU: &str = "intel_gpu_acm_g10";

/// A module with one kernel.
pub fn module(kernel: &str, generator: u32) -> Vec<u8> {
    decorated(kernel, generator, &[])
}

/// A module with one kernel, which is decorated.
fn decorated(kernel: &str, generator: u32, decorations: &[u32]) -> Vec<u8> {
    let mut words = vec![0x0723_0203, 0x0001_0400, generator, 50, 0];
    [4, 6, 10].iter().for_each(|capability| put(&mut words, 17, &[*capability], None, &[]));
    // Explicit SIMD.
    decorations.iter().for_each(|_| put(&mut words, 17, &[5617], None, &[]));
    put(&mut words, 14, &[2, 2], None, &[]);
    put(&mut words, 15, &[6, 3], Some(kernel), &[]);
    decorations.iter().for_each(|decoration| put(&mut words, 71, &[3, *decoration], None, &[]));
    put(&mut words, 19, &[1], None, &[]);
    put(&mut words, 33, &[2, 1], None, &[]);
    put(&mut words, 54, &[1, 3, 0, 2], None, &[]);
    put(&mut words, 248, &[20], None, &[]);
    put(&mut words, 253, &[], None, &[]);
    put(&mut words, 56, &[], None, &[]);
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// A byte array that states so many bits.
pub fn array(bytes: &[u8], bits: u64) -> String {
    format!("2|{}", encode_base64(&[&bits.to_le_bytes()[..], bytes].concat()))
}

/// A byte array, as the text of property sets has it.
pub fn bytes(bytes: &[u8]) -> String {
    array(bytes, bytes.len() as u64 * 8)
}

pub fn words(words: &[u32]) -> String {
    bytes(&words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())
}

fn sizes(sizes: &[u64]) -> String {
    bytes(&sizes.iter().flat_map(|size| size.to_le_bytes()).collect::<Vec<u8>>())
}

/// Images of a table, each of code with properties and entries.
pub fn table(folder: &Folder, rows: &[(&[u8], &str, &str)]) {
    let mut text = "[Code|Properties|Symbols]\n".to_owned();
    for (nth, (code, properties, entries)) in rows.iter().enumerate() {
        folder.put(&format!("{nth}.bin"), code);
        folder.put(&format!("{nth}.prop"), properties);
        folder.put(&format!("{nth}.sym"), entries);
        text.push_str(&format!("{nth}.bin|{nth}.prop|{nth}.sym\n"));
    }
    folder.put("m.table", text);
}

pub fn tool(folder: &Folder, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sycl-bundle")).args(arguments).current_dir(folder.path()).output().unwrap()
}

/// Whether all kernels of a file are said to run.
fn runs(folder: &Folder, file: &str, target: &str) -> bool {
    let done = tool(folder, &["check", "--strict", "-t", target, file]);
    let told = [done.stdout, done.stderr].concat();
    assert!(done.status.code().is_some_and(|code| code < 4), "{}", String::from_utf8_lossy(&told));
    done.status.success()
}

#[test]
fn requirements_in_a_form_that_the_runtime_does_not_read() {
    let code = module("k", 0);
    let judged = |requirements: &[(&str, String)], target: &str| {
        let folder = Folder::new();
        let rows: String = requirements.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        table(&folder, &[(&code, &format!("[SYCL/device requirements]\naspects={}\n{rows}", words(&[])), "k\n")]);
        runs(&folder, "m.table", target)
    };
    let no_aspects = |value: String, target: &str| {
        let folder = Folder::new();
        table(&folder, &[(&code, &format!("[SYCL/device requirements]\naspects={value}\n"), "k\n")]);
        runs(&folder, "m.table", target)
    };
    let ok = [
        ("none", judged(&[], CPU)),
        ("a size", judged(&[("reqd_work_group_size_uint64_t", sizes(&[8, 4, 1]))], CPU)),
        ("a target", judged(&[("compile_target", bytes(b"spir64_x86_64"))], CPU)),
        ("a sub-group size", judged(&[("reqd_sub_group_size", "1|16".to_owned())], GPU)),
    ];
    assert_eq!(ok.iter().filter(|(_, runs)| !runs).map(|(what, _)| *what).collect::<Vec<_>>(), [""; 0]);
    let long = sizes(&[1, 1, 100_000]);
    let wrong = [
        ("aspects that state no bits", no_aspects(array(&2u32.to_le_bytes(), 0), CPU)),
        ("aspects as a number", no_aspects("1|2".to_owned(), CPU)),
        ("aspects of three bytes", no_aspects(bytes(&[2, 0, 0]), CPU)),
        ("matrices that are no text", judged(&[("joint_matrix", bytes(b"matrix_type::fp64,use::a,8,8\xff"))], GPU)),
        ("matrices that state no bits", judged(&[("joint_matrix", array(b"matrix_type::fp64,use::a,8,8", 0))], GPU)),
        ("a size as a number", judged(&[("reqd_work_group_size_uint64_t", "1|100000".to_owned())], CPU)),
        ("fixed targets as a number", judged(&[("fixed_target", "1|3".to_owned())], CPU)),
        ("a sub-group size as bytes", judged(&[("reqd_sub_group_size", words(&[16]))], GPU)),
        ("a target as a number", judged(&[("compile_target", "1|3".to_owned())], CPU)),
        ("a target that is no text", judged(&[("compile_target", bytes(b"intel_gpu_pvc\xff"))], CPU)),
        ("a target with a NUL", judged(&[("compile_target", bytes(b"spir64_x86_64\0"))], CPU)),
        ("a target that is no device", judged(&[("compile_target", bytes(b"spir64"))], CPU)),
        (
            "a size with fewer dimensions than numbers",
            judged(&[("reqd_work_group_size_uint64_t", long), ("work_group_num_dim", "1|1".to_owned())], CPU),
        ),
        ("a size in two layouts", judged(&[("reqd_work_group_size", words(&[3, 8, 8, 100]))], CPU)),
        (
            "a sub-group size of code that is explicit SIMD and not marked so",
            judged(&[("reqd_sub_group_size", "1|64".to_owned())], GPU),
        ),
    ];
    assert_eq!(wrong.iter().filter(|(_, runs)| *runs).map(|(what, _)| *what).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn what_an_image_is_marked_as_counts() {
    let folder = Folder::new();
    const VECTOR_COMPUTE: u32 = 5626;
    let (code, vector) = (module("k", 0), decorated("k", 0, &[VECTOR_COMPUTE]));
    let properties = "[SYCL/misc properties]\nisEsimdImage=1|1\n";
    table(&folder, &[(&code, properties, "k\n")]);
    assert!(!runs(&folder, "m.table", GPU), "the vector compiler leaves out what is not decorated");
    table(&folder, &[(&vector, properties, "k\n")]);
    assert!(runs(&folder, "m.table", GPU));
    assert!(!runs(&folder, "m.table", CPU), "the runtime compiles it by the vector compiler, which no CPU has");
    table(&folder, &[(&code, "[SYCL/imported symbols]\n__devicelib_bogus=1|1\n", "k\n")]);
    assert!(!runs(&folder, "m.table", CPU), "what is listed as imported has to be exported");
}

#[test]
fn an_image_like_the_one_before_it_is_judged_by_itself() {
    const AMD: u32 = 0xffff_0000;
    let (plain, other) = (module("k", 0), module("j", AMD));
    let folder = Folder::new();
    for rows in
        [&[(&plain[..], "", "k\n"), (&other[..], "", "j\n")], &[(&other[..], "", "j\n"), (&plain[..], "", "k\n")]]
    {
        table(&folder, rows);
        assert!(!runs(&folder, "m.table", GPU));
    }
    table(&folder, &[(&plain, "", "k\n")]);
    assert!(runs(&folder, "m.table", GPU));
}

#[test]
fn kernels_that_the_runtime_does_not_find() {
    let folder = Folder::new();
    let code = module("k", 0);
    table(&folder, &[(&code, "", "other\n")]);
    assert!(!runs(&folder, "m.table", CPU), "its code has no such kernel");
    let exports = "[SYCL/exported symbols]\nk=1|1\n";
    table(&folder, &[(&module("j", 0), exports, "j\n"), (&code, "", "k\n")]);
    assert!(!runs(&folder, "m.table", CPU), "a function of its name is exported before it");
}

/// A library one of whose image structures declares another format, which stands behind its version and its kind (SYCL).
fn declaring(mut library: Vec<u8>, nth: usize, format: u8) -> Vec<u8> {
    let structure = |bytes: &[u8]| matches!(bytes[..4], [1..=3, 0, 4, 0 | 2]) && bytes[4..] == [0; 4];
    let found: Vec<usize> = (0..library.len() - 8).filter(|at| structure(&library[*at..at + 8])).collect();
    library[found[nth] + 3] = format;
    library
}

#[test]
fn a_format_that_is_declared_has_to_be_there() {
    let folder = Folder::new();
    table(&folder, &[(&module("k", 0), "", "k\n")]);
    assert!(tool(&folder, &["wrap", "m.table", "--emit", "shared", "-o", "m.so"]).status.success());
    assert!(runs(&folder, "m.so", CPU));
    let whole = std::fs::read(folder.path().join("m.so")).unwrap();
    for declared in [1, 3, 4] {
        folder.put("m.so", declaring(whole.clone(), 0, declared));
        assert!(!runs(&folder, "m.so", CPU), "format {declared}");
    }
    // The runtime takes frames that state their size alone.
    let sized = zstd::bulk::compress(&module("k", 0), 3).unwrap();
    let open = zstd::stream::encode_all(&module("k", 0)[..], 3).unwrap();
    for (frame, expected) in [(sized, true), (open, false)] {
        table(&folder, &[(&frame, "", "k\n")]);
        std::fs::remove_file(folder.path().join("m.so")).unwrap();
        let made = tool(&folder, &["wrap", "m.table", "--emit", "shared", "--as-target", "spir64", "-o", "m.so"]);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let file = std::fs::read(folder.path().join("m.so")).unwrap();
        folder.put("m.so", declaring(file, 0, 4));
        assert_eq!(runs(&folder, "m.so", CPU), expected);
    }
}

/// The runtime ends when it registers such an image, whose kernels it never asks for.
#[test]
fn a_frame_without_its_size_is_told_where_the_image_has_no_kernels() {
    let folder = Folder::new();
    let function = function_alone();
    let sized = zstd::bulk::compress(&function, 3).unwrap();
    let open = zstd::stream::encode_all(&function[..], 3).unwrap();
    for (frame, expected) in [(sized, true), (open, false)] {
        table(&folder, &[(&frame, "[SYCL/exported symbols]\nf=1|1\n", "f\n"), (&module("k", 0), "", "k\n")]);
        let made = tool(&folder, &["wrap", "m.table", "--emit", "shared", "--as-target", "spir64", "-o", "m.so"]);
        assert_eq!(made.status.code(), Some(3), "{}", String::from_utf8_lossy(&made.stderr));
        let file = std::fs::read(folder.path().join("m.so")).unwrap();
        std::fs::remove_file(folder.path().join("m.so")).unwrap();
        folder.put("m.so", declaring(file, 0, 4));
        assert_eq!(runs(&folder, "m.so", CPU), expected);
    }
}

/// The runtime is handed the address of a list, and reads its count and its array alone.
#[test]
fn lists_of_images_with_odd_fields_are_seen() {
    let folder = Folder::new();
    let needs = format!("[SYCL/device requirements]\naspects={}\n", words(&[6]));
    table(&folder, &[(&module("k", 0), &needs, "k\n")]);
    assert!(tool(&folder, &["wrap", "m.table", "--emit", "shared", "-o", "m.so"]).status.success());
    let whole = std::fs::read(folder.path().join("m.so")).unwrap();
    let head = [1, 0, 1, 0, 0, 0, 0, 0];
    let at = whole.windows(8).position(|bytes| bytes == head).unwrap();
    for field in [4, 16, 24] {
        let mut bytes = whole.clone();
        bytes[at + field] = 1;
        folder.put("odd.so", bytes);
        let done = tool(&folder, &["check", "-t", GPU, "odd.so"]);
        assert_eq!(done.status.code(), Some(1), "field at {field}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

/// The runtime asks a list for the number of its images and their address alone, and each image for no more than it needs.
#[test]
fn lists_in_other_forms_hide_no_image() {
    let folder = Folder::new();
    let needs = format!("[SYCL/device requirements]\naspects={}\n", words(&[6]));
    table(&folder, &[(&module("a", 0), "", "a\n")]);
    assert!(tool(&folder, &["wrap", "m.table", "--emit", "object", "-o", "a.o"]).status.success());
    table(&folder, &[(&module("b", 0), "", "b\n"), (&module("k", 0), &needs, "k\n")]);
    assert!(tool(&folder, &["wrap", "m.table", "--emit", "object", "-o", "b.o"]).status.success());
    let linked = Command::new("cc")
        .args(["-shared", "-nostdlib", "-Wl,--allow-shlib-undefined", "-o", "two.so", "a.o", "b.o"])
        .current_dir(folder.path())
        .status();
    assert!(linked.unwrap().success());
    let whole = std::fs::read(folder.path().join("two.so")).unwrap();
    let code = |name: &str, bytes: &[u8]| {
        folder.put(name, bytes);
        tool(&folder, &["check", "--strict", "-t", GPU, name]).status.code()
    };
    assert_eq!(code("whole.so", &whole), Some(1));
    let places = |head: &[u8]| -> Vec<usize> {
        (0..whole.len() - 8).step_by(8).filter(|at| whole[*at..].starts_with(head)).collect()
    };
    let (lists, images) = (places(&[1, 0, 2, 0, 0, 0, 0, 0]), places(&[3, 0, 4]));
    assert_eq!((lists.len(), images.len()), (1, 3));
    // The list of both: of another version, and of fewer images than stand there.
    for (at, value) in [(lists[0], 9), (lists[0] + 2, 1), (images[0], 9), (images[1], 9)] {
        let mut bytes = whole.clone();
        bytes[at] = value;
        let code = code("odd.so", &bytes);
        assert!(matches!(code, Some(1 | 3)), "{value} at {at:#x}: {code:?}");
    }
}

/// Words that a loader relocates may be a list whatever its version; others are numbers, as records of edits hold them.
#[test]
fn addresses_that_no_loader_writes_are_no_lists() {
    const SOURCE: &str = r#"
        static const unsigned code[8] = {0x07230203, 0x00010400, 0, 8};
        static const char target[] = "spir64";
        const void *const array[8] = {0, target, 0, 0, code, code + 8, code, code + 8};
        const void *list[2] = {(void *)0x10001, LIST};
    "#;
    let folder = Folder::new();
    table(&folder, &[(&module("k", 0), "", "k\n")]);
    assert!(tool(&folder, &["wrap", "m.table", "--emit", "object", "-o", "k.o"]).status.success());
    folder.put("list.c", SOURCE);
    let build = |list: &str| {
        let linked = Command::new("cc")
            .args(["-shared", "-nostdlib", "-o", "m.so", &format!("-DLIST={list}"), "list.c", "k.o"])
            .current_dir(folder.path())
            .status();
        assert!(linked.unwrap().success());
        std::fs::read(folder.path().join("m.so")).unwrap()
    };
    let code = |bytes: &[u8]| {
        folder.put("m.so", bytes);
        tool(&folder, &["check", "-t", GPU, "m.so"]).status.code()
    };
    assert_eq!(code(&build("array")), Some(3));
    // The address of the array, where no relocation is.
    let numbers = {
        let file = build("(void *)0x1122334455667788");
        let parsed = object::File::parse(&*file).unwrap();
        let array = parsed.dynamic_symbols().find(|symbol| symbol.name() == Ok("array")).unwrap().address();
        let at = file.windows(8).position(|word| word == 0x1122_3344_5566_7788u64.to_le_bytes()).unwrap();
        let mut numbers = file.clone();
        numbers[at..at + 8].copy_from_slice(&array.to_le_bytes());
        numbers
    };
    assert_eq!(code(&numbers), Some(0));
}

/// Strings that linkers merge are open, and are no images; tables of names and numbers lead to them.
#[test]
fn tables_of_merged_strings_are_no_lists() {
    const SOURCE: &str = r#"
        struct entry { const char *name; int value; };
        static const struct entry entries[] = {
            {"ABDAY_2", 0x20001}, {"THOUSEP", 0x10001}, {"D_T", 0x20028}, {"NOEXPR", 0x50001}, {"T_F", 0x2002a}, {"RA", 0x10000},
            {"YESEXPR_AAAA", 0x50000}, {"CRNCYSTR_BB", 0x4000f}, {"DAY_1_CCCC", 0x20007}, {"ABDAY_1_DDD", 0x20000},
            {"MON_1_EEEEEE", 0x2001a}, {"MON_2_FFFFFF", 0x2001b}, {0, 0},
        };
        extern int use(const struct entry *);
        int f(void) { return use(entries); }
    "#;
    let folder = Folder::new();
    table(&folder, &[(&module("k", 0), "", "k\n")]);
    assert!(tool(&folder, &["wrap", "m.table", "--emit", "object", "-o", "k.o"]).status.success());
    folder.put("names.c", SOURCE);
    let made = Command::new("cc").args(["-O2", "-fPIC", "-c", "names.c"]).current_dir(folder.path()).status();
    assert!(made.unwrap().success());
    let made = Command::new("ld").args(["-r", "names.o", "k.o", "-o", "both.o"]).current_dir(folder.path()).status();
    assert!(made.unwrap().success());
    let done = tool(&folder, &["check", "-t", GPU, "both.o"]);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
}

/// A loader may write anything into what an image says.
#[test]
fn relocations_that_are_not_followed_leave_images_open() {
    const RELATIVE: u64 = 8;
    const SIZE: u64 = 33;
    let folder = Folder::new();
    table(&folder, &[(&module("k", 0), "", "k\n")]);
    assert!(tool(&folder, &["wrap", "m.table", "--emit", "shared", "-o", "m.so"]).status.success());
    let whole = std::fs::read(folder.path().join("m.so")).unwrap();
    let relocations = (8..whole.len() - 8).step_by(8).filter(|at| whole[*at..at + 8] == RELATIVE.to_le_bytes());
    let mut codes = Vec::new();
    for at in relocations {
        let mut bytes = whole.clone();
        bytes[at..at + 8].copy_from_slice(&SIZE.to_le_bytes());
        folder.put("open.so", bytes);
        codes.push(tool(&folder, &["check", "-t", CPU, "open.so"]).status.code());
    }
    assert!(codes.iter().filter(|code| **code == Some(3)).count() >= 4, "{codes:?}");
}

/// A loader adds the address that it chose wherever a relocation says, in code and in the relocations themselves, too.
#[test]
fn relocations_of_what_is_no_pointer_leave_images_open() {
    const RELATIVE: u64 = 8;
    let folder = Folder::new();
    table(&folder, &[(&module("k", 0), "", "k\n")]);
    assert!(tool(&folder, &["wrap", "m.table", "--emit", "shared", "-o", "m.so"]).status.success());
    let whole = std::fs::read(folder.path().join("m.so")).unwrap();
    let word = |at: usize| u64::from_le_bytes(whole[at..at + 8].try_into().unwrap());
    let is_entry = |at: &usize| [8, 32, 56].iter().all(|kind| word(at + kind) == RELATIVE);
    let relocations: Vec<usize> = (0..whole.len() - 64).step_by(8).filter(is_entry).collect();
    // Segments are loaded at their offsets, or a page behind.
    let payload = whole.windows(8).position(|bytes| bytes == &module("k", 0)[..8]).unwrap();
    let (first, last) = (relocations[0], relocations[relocations.len() - 1]);
    let headers: Vec<usize> = (0..usize::from(whole[56])).map(|nth| word(32) as usize + 56 * nth).collect();
    let address = |offset: usize| {
        let holds = |at: &&usize| {
            whole[**at] == 1 && (word(**at + 8)..word(**at + 8) + word(**at + 32)).contains(&(offset as u64))
        };
        let at = *headers.iter().find(holds).unwrap();
        word(at + 16) + offset as u64 - word(at + 8)
    };
    assert_eq!(tool(&folder, &["check", "-t", CPU, "m.so"]).status.code(), Some(0));
    for place in [address(payload) + 16, address(first) + 16, 0x4000_0000] {
        let mut bytes = whole.clone();
        // The word keeps its value where a file is loaded at 0.
        bytes[last..last + 8].copy_from_slice(&place.to_le_bytes());
        folder.put("odd.so", bytes);
        let done = tool(&folder, &["check", "-t", CPU, "odd.so"]);
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(3), "{place:#x}: {told}");
        assert!(told.contains("relocation"), "{place:#x}: {told}");
    }
}

#[test]
fn code_for_cpus_is_what_their_drivers_make() {
    let folder = Folder::new();
    table(&folder, &[(&module("k", 0), "", "k\n")]);
    assert!(tool(&folder, &["wrap", "m.table", "--emit", "shared", "-o", "host.so"]).status.success());
    let of_host = std::fs::read(folder.path().join("host.so")).unwrap();
    for code in [b"junkjunkjunkjunk".to_vec(), of_host] {
        table(&folder, &[(&code, "", "k\n")]);
        let made = tool(&folder, &["wrap", "m.table", "--emit", "shared", "--as-target", CPU, "-o", "m.so"]);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        assert!(!runs(&folder, "m.so", CPU));
        std::fs::remove_file(folder.path().join("m.so")).unwrap();
    }
}

/// The runtime reads what is recorded, whatever the code says.
#[test]
fn a_split_keeps_required_sizes_that_the_code_does_not_state() {
    let folder = Folder::new();
    for size in
        ["reqd_sub_group_size=1|7\n".to_owned(), format!("reqd_work_group_size={}\n", words(&[9_000, 9_000, 9_000]))]
    {
        table(&folder, &[(&module("k", 0), &format!("[SYCL/device requirements]\n{size}"), "k\n")]);
        for mode in ["off", "per_kernel"] {
            let done = tool(&folder, &["split", "m.table", "--mode", mode, "-o", "parts.table"]);
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            for name in ["m.table", "parts.table"] {
                let done = tool(&folder, &["check", "--strict", "-t", GPU, name]);
                assert_eq!(done.status.code(), Some(1), "{name} {mode} {size}");
            }
        }
    }
}
