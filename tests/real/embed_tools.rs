//! Do other tools take a rewritten file for a sound one, and does it survive what they do to it?

use std::path::Path;
use std::process::Command;

use crate::support::embedding::{embedded, expected, natives, pruned, read, same, shrunk, without};
use crate::support::folder::Folder;
use crate::support::host::{Fixture, ImageSpec, Linker, Loaded, load, load_result, matrix};
use crate::support::tools::tool;

/// Complaints of a tool: the lines that a pattern accepts, without the file's name and with `#` for each number, since
/// offsets and sizes differ.
fn complaints(program: &str, arguments: &[&str], file: &Path, is_complaint: fn(&str) -> bool) -> Vec<String> {
    let output = Command::new(tool(program)).args(arguments).arg(file).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).replace(&file.display().to_string(), "FILE");
    text.lines().filter(|line| is_complaint(line)).map(without_numbers).collect()
}

fn without_numbers(line: &str) -> String {
    let word = |word: &str| {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        let is_number = word.starts_with(|first: char| first.is_ascii_digit())
            && !digits.is_empty()
            && digits.chars().all(|digit| digit.is_ascii_hexdigit());
        if is_number { "#".to_owned() } else { word.to_owned() }
    };
    let (mut out, mut rest) = (String::new(), line);
    while !rest.is_empty() {
        let end = rest.find(|next: char| !next.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (head, tail) = rest.split_at(end);
        out.push_str(&word(head));
        let next = tail.chars().next().map_or(0, char::len_utf8);
        out.push_str(&tail[..next]);
        rest = &tail[next..];
    }
    out
}

fn lint(file: &Path) -> Vec<String> {
    complaints("eu-elflint", &["--gnu-ld"], file, |line| line != "No errors")
}

fn readelf(file: &Path) -> Vec<String> {
    complaints("llvm-readelf", &["-a"], file, |line| line.contains("warning:") || line.contains("error:"))
}

#[test]
fn readers_complain_of_nothing_new() {
    matrix::each(&[matrix::loadable(), matrix::layouts()].concat(), |form| {
        let file = form.build();
        let original = read(&file);
        let folder = Folder::new();
        let rewritten = folder.file("rewritten", &embedded(&original, &natives(&original)));
        for reader in [lint, readelf] {
            let (mut before, mut after) = (reader(&file), reader(&rewritten));
            // Symbols of sections, which only --emit-relocs leaves in a linked file, keep the old address of the moved
            // relocation table. No byte of a symbol table is changed for that.
            let moved =
                after.iter().position(|line| form.emits_relocations() && line.contains("st_value out of bounds"));
            if let Some(moved) = moved {
                after.remove(moved);
            }
            // Each as often as before: a new one cannot hide behind one that is gone.
            after.retain(|line| {
                let known = before.iter().position(|known| known == line);
                known.map(|known| before.swap_remove(known)).is_none()
            });
            assert!(after.is_empty(), "{}:\nnew: {after:#?}\ngone: {before:#?}", file.display());
        }
    });
}

/// Tools that rewrite a file in place.
const TOOLS: [(&str, &[&str]); 5] = [
    ("strip", &[]),
    ("strip", &["--strip-debug"]),
    ("llvm-strip", &[]),
    ("llvm-objcopy", &["--strip-sections"]),
    ("patchelf", &["--set-rpath", "/a/path/that/is/longer/than/whatever/room/there/may/be/in/the/file"]),
];

/// Applies a tool to a copy; what the runtime then sees of it, or why it sees nothing.
fn after(program: &str, arguments: &[&str], file: &Path) -> Result<Loaded, String> {
    let output = Command::new(tool(program)).args(arguments).arg(file).output().unwrap();
    if output.status.success() {
        load_result(&[file])
    } else {
        Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr)))
    }
}

#[test]
fn rewritten_files_survive_other_tools() {
    let mut forms: Vec<Fixture> = matrix::loadable().into_iter().filter(Fixture::has_sections).collect();
    forms.extend(matrix::layouts());
    matrix::each(&forms, |form| {
        let file = form.build();
        let (original, before) = (read(&file), load(&file));
        let natives = natives(&original);
        let (rewritten, expected) = (embedded(&original, &natives), expected(&before, &natives));
        let folder = Folder::new();
        for (program, arguments) in TOOLS {
            for (name, bytes, expected) in [("original", &original, &before), ("rewritten", &rewritten, &expected)] {
                let what = format!("{program} {arguments:?} on the {name} of {}", file.display());
                let seen = after(program, arguments, &folder.file(name, bytes));
                same(&seen.unwrap_or_else(|error| panic!("{what}: {error}")), expected, &what);
            }
        }
    });
}

/// A layer on another that no run takes off, whose payloads end at odd addresses.
#[test]
fn files_of_two_layers_survive_other_tools() {
    let forms: Vec<Fixture> = matrix::loadable().into_iter().filter(Fixture::has_sections).step_by(2).collect();
    matrix::each(&forms, |form| {
        let original = read(&form.build());
        let odd = |file: &[u8]| {
            let mut natives = natives(file);
            natives.iter_mut().for_each(|native| native.payload.extend([1, 2, 3]));
            natives
        };
        let once = odd(&original);
        let source = once.iter().map(|native| native.source).min().unwrap();
        let fewer = pruned(&embedded(&original, &once), &|index, _| index == source).bytes;
        let twice = embedded(&fewer, &odd(&fewer));
        let folder = Folder::new();
        let expected = load(&folder.file("twice", &twice));
        for (program, arguments) in TOOLS {
            let what = format!("{program} {arguments:?} on {}", form.build().display());
            let seen = after(program, arguments, &folder.file("treated", &twice));
            same(&seen.unwrap_or_else(|error| panic!("{what}: {error}")), &expected, &what);
        }
    });
}

#[test]
fn what_other_tools_made_is_rewritten() {
    let forms: Vec<Fixture> = matrix::loadable().into_iter().filter(Fixture::has_sections).step_by(3).collect();
    matrix::each(&forms, |form| {
        let file = form.build();
        let folder = Folder::new();
        for (program, arguments) in TOOLS {
            let treated = folder.file("treated", &read(&file));
            let before = after(program, arguments, &treated).unwrap();
            let treated = read(&treated);
            let natives = natives(&treated);
            let rewritten = folder.file("rewritten", &embedded(&treated, &natives));
            same(&load(&rewritten), &expected(&before, &natives), &format!("{program} {}", file.display()));
        }
    });
}

#[test]
fn a_changed_file_is_pruned_in_place() {
    let original = read(&matrix::units(Fixture::new("stripped"), 0).build());
    let natives = natives(&original);
    let folder = Folder::new();
    let stripped = folder.file("stripped", &embedded(&original, &natives));
    let before = after("strip", &[], &stripped).unwrap();
    let gone = |_: usize, target: &str| target == "spir64_gen";
    let edited = pruned(&read(&stripped), &gone);
    assert!(edited.changed && edited.zeroed > 0);
    same(&load(&folder.file("pruned", &edited.bytes)), &without(&before, &gone), "stripped");
}

/// Images of which each fills some pages.
fn large(form: Fixture) -> Fixture {
    let image = |number: u8| {
        let payload: Vec<u8> = (0..60_000u32).map(|at| (at as u8).wrapping_mul(number).wrapping_add(number)).collect();
        ImageSpec::new(payload).entry(&format!("k{number}"))
    };
    form.images((1..=12).map(image).collect())
}

#[test]
fn what_leaves_a_library_gives_its_pages_back_and_the_rest_survives_other_tools() {
    for linker in [Linker::Gnu, Linker::Lld] {
        let file = large(Fixture::new("large")).linker(linker).build();
        let (original, before) = (read(&file), load(&file));
        let folder = Folder::new();
        let choices: [&[usize]; 4] = [&[0, 1, 2], &[11], &[1, 4, 5, 9], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]];
        for gone in choices {
            let gone = |index: usize, _: &str| gone.contains(&index);
            let edited = shrunk(&original, &gone);
            let expected = without(&before, &gone);
            let what = format!("{} without {} bytes", file.display(), edited.cut);
            let removed: u64 = (0..12).filter(|index| gone(*index, "")).count() as u64 * 60_000;
            assert!(edited.cut * 100 >= (removed - 8192) * 95, "{what} of {removed}");
            let shrunk = folder.file("shrunk", &edited.bytes);
            same(&load(&shrunk), &expected, &what);
            let new = |reader: fn(&Path) -> Vec<String>| {
                let known = reader(&file);
                reader(&shrunk).into_iter().find(|line| !known.contains(line))
            };
            assert_eq!((new(lint), new(readelf)), (None, None), "{what}");
            for (program, arguments) in TOOLS {
                let what = format!("{program} {arguments:?} on {what}");
                let seen = after(program, arguments, &folder.file("treated", &edited.bytes));
                same(&seen.unwrap_or_else(|error| panic!("{what}: {error}")), &expected, &what);
            }
            // A file that shrank is changed again like any other.
            let natives = natives(&edited.bytes);
            same(
                &load(&folder.file("again", &embedded(&edited.bytes, &natives))),
                &crate::support::embedding::expected(&expected, &natives),
                &what,
            );
        }
    }
}
