//! What do loaders take of a file that stands elsewhere in it, or in another file?

use super::linked::{
    ABSOLUTE, COPY, GLOBAL, LOCAL, Places, STRINGS, TLS_DESCRIPTOR, checked, image, relocated, second, with_entries,
};
use super::program::tool;
use super::recorded::module;
use super::repeated::{BASE, Linked, words};
use super::support::folder::Folder;
use std::process::Command;

/// Programs have constants and flags of libraries, of less than a word.
#[test]
fn copies_of_small_symbols_reach_no_further() {
    for (size, before, code) in [(1, 1, 0), (1, 0, 3), (4, 4, 0), (4, 3, 3), (12, 12, 0), (12, 11, 3)] {
        let (mut file, Places { target, .. }) = image();
        let (payload, ..) = second(&mut file, target);
        let relocations = [payload - before, 1 << 32 | COPY, 0];
        let (seen, told) = checked(relocated(file, &relocations, true, &[2 | GLOBAL, 0, size]));
        assert_eq!(seen, Some(code), "{size} {before}: {told}");
    }
}

/// A loader copies a symbol as far as it goes.
#[test]
fn copies_reach_into_the_next_segment() {
    for (size, code) in [(16, 0), (17, 3)] {
        let (mut file, places) = image();
        let (payload, ..) = second(&mut file, places.target);
        let relocations = [payload - 16, 1 << 32 | COPY, 0];
        let mut file = relocated(file, &relocations, true, &[2 | GLOBAL, 0, size]);
        let (len, cut) = (file.len() as u64, payload - BASE);
        let segment = |begin: u64, end: u64| {
            words(&[1 | 6 << 32, begin, BASE + begin, BASE + begin, end - begin, end - begin, 0x1000])
        };
        let headers = [segment(0, cut), segment(cut, len), file[64 + 56..64 + 112].to_vec()].concat();
        file[32..40].copy_from_slice(&len.to_le_bytes());
        file[56] = 3;
        let (seen, told) = checked([file, headers].concat());
        assert_eq!(seen, Some(code), "{size}: {told}");
    }
}

/// The heads of the list and of its structure come from another file.
#[test]
fn copied_heads_are_told() {
    for (kind, size) in [(COPY, 4), (COPY, 1), (COPY, 8), (COPY, 16), (TLS_DESCRIPTOR, 0)] {
        let (mut file, places) = image();
        let (_, structure, descriptor) = second(&mut file, places.target);
        let relocations = [descriptor, 1 << 32 | kind, 0, structure, 1 << 32 | kind, 0];
        let mut file = relocated(file, &relocations, true, &[2 | GLOBAL, 0, size]);
        [descriptor, structure].iter().for_each(|place| file[(place - BASE) as usize] = 0);
        let (seen, told) = checked(file);
        assert!(seen == Some(3) && told.contains("in no known list"), "{kind} {size}: {told}");
    }
}

/// A loader may write another address into the pointer of the one than into that of the other.
#[test]
fn a_copy_does_not_stand_for_a_list_whose_pointer_varies() {
    for (symbol, code) in [(LOCAL, 0), (GLOBAL, 1)] {
        let (mut file, places) = image();
        let list = file.add(&words(&[1 | 1 << 16, places.structure, 0, 0]));
        let relocations = [list + 8, 1 << 32 | ABSOLUTE, 0];
        let (seen, told) = checked(relocated(file, &relocations, true, &[symbol, places.structure, 8]));
        assert_eq!(seen, Some(code), "{symbol:#x}: {told}");
    }
}

/// The size of what is copied is another file's word.
#[test]
fn a_symbol_that_is_copied_is_the_files_own() {
    for (at, code) in [(16, 3), (-8, 0)] {
        let (mut file, _) = image();
        // The symbols stand behind the table and the strings.
        let table = file.add(&[]);
        let symbol = table + 48 + (STRINGS.len() as u64).next_multiple_of(8) + 24;
        let place = symbol.wrapping_add_signed(at);
        let relocations = [place, 1 << 32 | COPY, 0, place, 0, 0];
        let (seen, told) = checked(relocated(file, &relocations, true, &[2 | GLOBAL, 0, 8]));
        assert_eq!(seen, Some(code), "{at}: {told}");
    }
    let (file, places) = image();
    let relocations = [places.descriptor + 32, 1 << 60 | COPY, 0];
    let (seen, told) = checked(relocated(file, &relocations, true, &[2 | GLOBAL, 0, 8]));
    assert_eq!(seen, Some(3), "{told}");
}

/// Loaders read the names before they relocate, and do not ask how long the strings are.
#[test]
fn names_of_libraries_are_among_the_strings() {
    for (at, code) in [(3, 0), (STRINGS.len() as u64 - 1, 0), (STRINGS.len() as u64, 3), (1 << 40, 3)] {
        let (seen, told) = checked(with_entries(image().0, &[0, 0, 0], true, &[LOCAL, 0, 8], &[1, at]));
        assert_eq!(seen, Some(code), "{at}: {told}");
    }
}

/// The runtime asks for no version.
#[test]
fn structures_are_of_the_layout_that_the_runtime_has() {
    let needs = |name: &str| {
        let strings = STRINGS.split(|byte| *byte == 0).scan(0, |at, text| {
            let begin = *at;
            *at += text.len() as u64 + 1;
            Some((begin, text))
        });
        strings.into_iter().find(|(_, text)| *text == name.as_bytes()).unwrap().0
    };
    let with_manifest = || {
        let mut file = Linked::new();
        let code = module("k", 0);
        let (target, name, payload) = (file.add(b"spir64\0"), file.add(b"k\0"), file.add(&code));
        let entry = file.add(&words(&[name, name, 0, 0]));
        let end = payload + code.len() as u64;
        let structure =
            file.add(&words(&[2 | 4 << 16 | 2 << 24, target, 0, 0, 0, 0, payload, end, entry, entry + 32, 0, 0]));
        file.add(&words(&[1 | 1 << 16, structure, 0, 0]));
        file
    };
    for (name, of_3, of_2) in
        [("libsycl.so.9", 0, 3), ("libsycl.so.8", 3, 0), ("libsycl-preview.so.8", 0, 0), ("x", 0, 0)]
    {
        for (file, code) in [(image().0, of_3), (with_manifest(), of_2)] {
            let (seen, told) = checked(with_entries(file, &[0, 0, 0], true, &[LOCAL, 0, 8], &[1, needs(name)]));
            assert_eq!(seen, Some(code), "{name}: {told}");
        }
    }
}

/// `objcopy` gives the segments no bytes, `eu-strip` leaves program headers as they were.
#[test]
fn files_of_debugging_information_have_no_device_code() {
    let folder = Folder::new();
    folder.put("a.c", "int main(void) { return 0; }");
    let run = |line: &str| {
        let mut words = line.split(' ');
        let done = Command::new(words.next().unwrap()).args(words).current_dir(folder.path()).status();
        assert!(done.unwrap().success(), "{line}");
    };
    for options in ["-fPIE -pie", "-fPIC -shared", "-static"]
        .into_iter()
        .flat_map(|kind| [kind.to_owned(), format!("{kind} -Wl,-z,noseparate-code")])
    {
        run(&format!("cc -g {options} -o a a.c"));
        run("objcopy --only-keep-debug a a.debug");
        // A static program has no such table.
        if options.contains("-static") {
            let done = tool(&folder, ["inspect", "a.debug"]);
            assert_eq!(done.status.code(), Some(6), "{}", String::from_utf8_lossy(&done.stderr));
            continue;
        }
        let (program, mut file) = (folder.read("a"), folder.read("a.debug"));
        let headers = 64..64 + 56 * usize::from(program[56]);
        for _ in 0..2 {
            folder.put("a.debug", &file);
            let done = tool(&folder, ["inspect", "a.debug"]);
            let told = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(done.status.code() == Some(6) && told.contains("no device code"), "{options}: {told}");
            file[headers.clone()].copy_from_slice(&program[headers.clone()]);
        }
        // No loader takes a segment that is elsewhere on its page.
        let mut file = folder.read("a.debug");
        let loaded: Vec<usize> = headers.clone().step_by(56).filter(|at| program[*at] == 1).collect();
        file[headers.clone()].copy_from_slice(&program[headers.clone()]);
        file[loaded[loaded.len() - 1] + 8] ^= 8;
        folder.put("a.debug", &file);
        assert_eq!(tool(&folder, ["inspect", "a.debug"]).status.code(), Some(6), "{options}");
        // Only loaders say what is a library.
        let mut file = program.clone();
        let sections = u64::from_le_bytes(file[40..48].try_into().unwrap()) as usize;
        let dynamic = (sections..file.len()).step_by(64).find(|at| file[at + 4] == 6).unwrap();
        file[dynamic + 4] = 8;
        let header = headers.clone().step_by(56).find(|at| file[*at] == 2).unwrap();
        file[header + 8..header + 16].copy_from_slice(&(program.len() as u64 - 64).to_le_bytes());
        folder.put("a.debug", &file);
        assert_eq!(tool(&folder, ["inspect", "a.debug"]).status.code(), Some(3), "{options}");
    }
}

/// The runtime asks for no version, and the payload or the target is another file's.
#[test]
fn structures_of_no_known_version_may_have_fields_of_other_files() {
    for (version, field, code) in [(3, 8, 3), (7, 8, 3), (7, 32, 3), (7, 40, 3)] {
        let (mut file, Places { target, .. }) = image();
        let (_, structure, _) = second(&mut file, target);
        let relocations = [structure + field, 1 << 32 | ABSOLUTE, 0];
        let mut file = relocated(file, &relocations, true, &[2 | 0x11 << 32, 0, 8]);
        file[(structure - BASE) as usize] = version;
        let (seen, told) = checked(file);
        assert_eq!(seen, Some(code), "{version} {field}: {told}");
    }
}

/// A library whose list the linker put where pointers are relocated, beside a copy that only the linker has filled in.
#[test]
fn pointers_that_no_relocation_writes_are_told() {
    let folder = Folder::new();
    let code: Vec<String> = module("k", 0).iter().map(u8::to_string).collect();
    folder.put("code.h", code.join(","));
    folder.put(
        "a.c",
        "static const unsigned char code[] = {\n#include \"code.h\"\n};\n\
         struct entry { const void *address; const char *name; unsigned long size; long flags; };\n\
         static struct entry entries[] = {{code, \"k\", 0, 0}};\n\
         struct image { unsigned head; const char *target, *options, *more; const void *begin, *end;\n\
         struct entry *first, *last; void *sets[2]; };\n\
         static struct image images[] = {{3 | 4 << 16 | 2 << 24, \"spir64\", \"\", \"\", code, code + sizeof code,\n\
         entries, entries + 1, {0, 0}}};\n\
         struct list { unsigned short version, count; struct image *images; void *hosts[2]; };\n\
         struct list list[1 + COPIES] = {[COPIES] = {1, 1, images, {0, 0}}};\n",
    );
    let build = |copies: &str| {
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-nostdlib", "-o", "a.so", "a.c"]).arg(format!("-DCOPIES={copies}"));
        assert!(cc.current_dir(folder.path()).status().unwrap().success());
        folder.read("a.so")
    };
    let mut file = build("0");
    // Loaders apply those that are counted as relative whatever they are.
    let count = file.windows(8).position(|word| word == 0x6fff_fff9u64.to_le_bytes()).unwrap();
    file[count + 8] = 0;
    assert_eq!(checked(file.clone()).0, Some(0));
    let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    let headers: Vec<usize> = (64..64 + 56 * usize::from(file[56])).step_by(56).collect();
    let at = |address: u64| {
        let holds =
            |at: &&usize| file[**at] == 1 && (word(**at + 16)..word(**at + 16) + word(**at + 32)).contains(&address);
        let header = headers.iter().find(holds).unwrap();
        (address - word(header + 16) + word(header + 8)) as usize
    };
    let dynamic = word(headers.iter().find(|at| file[**at] == 2).unwrap() + 8) as usize;
    let tag = |tag: u64| (dynamic..).step_by(16).find(|at| word(*at) == tag).map(|at| word(at + 8)).unwrap();
    let table = at(tag(7));
    let mut told = 0;
    for entry in
        (table..table + tag(8) as usize).step_by(24).filter(|at| word(at + 8) == 8 || word(at + 8) & 0xffff_ffff == 1)
    {
        let mut changed = file.clone();
        // The value that a linker may leave in place.
        let value = if word(entry + 8) == 8 { word(entry + 16) } else { 0 };
        let place = at(word(entry));
        if value > 0 {
            changed[place..place + 8].copy_from_slice(&value.to_le_bytes());
            changed[entry + 8..entry + 24].fill(0);
            let (code, said) = checked(changed);
            // The address of an entry is nobody's.
            told += u32::from(code == Some(3));
            assert!(matches!(code, Some(0 | 3)), "{:#x}: {said}", word(entry));
        }
    }
    assert_eq!(told, 9);
    // `patchelf` leaves copies of data where it was. As many as lists are looked at do not hide the list behind them.
    for copies in [1, 1 << 16] {
        let mut file = build(&copies.to_string());
        let head = (1u64 | 1 << 16).to_le_bytes();
        let list = file.windows(8).rposition(|word| word == head).unwrap();
        let copy = [&head[..], &value_of(&file, list + 8), &[0; 16]].concat();
        file[list - 32 * copies..list].copy_from_slice(&copy.repeat(copies));
        let (code, said) = checked(file);
        assert!(code == Some(0) && said.contains("spir64_x86_64    1 "), "{copies}: {said}");
    }
}

/// The value that a relative relocation writes at a place of a file that is mapped as it is, with pages between.
fn value_of(file: &[u8], place: usize) -> [u8; 8] {
    let entries = (0..file.len() - 24).step_by(8).filter(|at| file[at + 8..at + 16] == 8u64.to_le_bytes());
    let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    let entry = entries.into_iter().find(|at| word(*at) & 0xfff == place as u64 & 0xfff).unwrap();
    file[entry + 16..entry + 24].try_into().unwrap()
}

/// Tables of addresses of other files' symbols are no structures, though two of them may be around bitcode.
#[test]
fn addresses_of_symbols_around_bitcode_are_no_structures() {
    let folder = Folder::new();
    let table = "extern char a, b; const char code[] = \"BC\\xc0\\xde\" \"0123456789abcdef\";\n\
                 const void *table[] = { &a, &b, &a, &b, code, code + sizeof code };\n";
    for (pointed, code) in [("", 6), ("const void *list[] = { (void *)0x100000001, table };", 3)] {
        folder.put("a.c", format!("{table}{pointed}\n"));
        let mut compiler = Command::new("gcc");
        let built =
            compiler.args(["-shared", "-fPIC", "-o", "a.so", "a.c"]).current_dir(folder.path()).status().unwrap();
        assert!(built.success());
        let done = tool(&folder, ["inspect", "a.so"]);
        assert_eq!(done.status.code(), Some(code), "{pointed}: {}", String::from_utf8_lossy(&done.stderr));
    }
}

/// Code before the relocated words of a library may look like a list of thousands: `.plt` of LLD ends there, and the first word is the
/// address of itself. Descriptions of C++ types follow, which are other files' pointers around texts.
#[test]
fn code_before_types_is_no_list_of_thousands() {
    let folder = Folder::new();
    for (head, code) in [("0xffffed60e9000001", 6), ("0xffffed6000010001", 3), ("0x30001", 3)] {
        let row = "vtable + 16, name, ".repeat(16);
        let types = format!(
            "extern char vtable[]; static const char name[] = \"N4mlir5ErrorE\";\n\
             struct types {{ unsigned long head; const void *self; const void *rows[32]; }};\n\
             extern const struct types types; const struct types types = {{ {head}, &types.self, {{ {row} }} }};\n"
        );
        folder.put("a.c", types);
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-nostdlib", "-Wl,--allow-shlib-undefined,-Bsymbolic", "-o", "a.so", "a.c"]);
        assert!(compiler.current_dir(folder.path()).status().unwrap().success());
        let done = tool(&folder, ["inspect", "a.so"]);
        assert_eq!(done.status.code(), Some(code), "{head}: {}", String::from_utf8_lossy(&done.stderr));
    }
}
