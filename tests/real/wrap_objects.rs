//! Do objects register their images whatever links them, into whatever?

use std::path::PathBuf;

use crate::support::folder::{Folder, said};
use crate::support::host::{Entries, Fixture, ImageSpec, RUNTIME, load, runtime, samples, view};
use crate::support::host::{LINUX, object};
use crate::support::tools::tool;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::structure::listed_in_tgtimg;
use sycl_bundle::container::Host;
use sycl_bundle::rewrite::image_data::{EntryForm, ImageVersion};
use sycl_bundle::rewrite::object_file::ObjectOptions;

/// The linkers that gcc drives, by the name it has for them.
const LINKERS: [&str; 3] = ["bfd", "gold", "lld"];

/// A program that sees nothing of the images; a static one has the runtime in it.
const MAIN: &str = "int main(void) { return 0; }\n";

/// Links objects with gcc; the result is the name given.
fn link(folder: &Folder, name: &str, linker: &str, options: &[&str], objects: &[&str]) -> PathBuf {
    tool(&format!("ld.{linker}"));
    folder.put("main.c", MAIN);
    let is_static = options.iter().any(|option| option.starts_with("-static"));
    let library = runtime().join("libsycl.so.9");
    folder.put("runtime.c", RUNTIME);
    let fuse = format!("-fuse-ld={linker}");
    let mut all = vec![fuse.as_str(), "-O1", "-fPIC", "-Wl,--fatal-warnings", "-o", name];
    all.extend(options);
    if !options.contains(&"-shared") {
        all.push("main.c");
    }
    all.extend(objects);
    all.push(if is_static { "runtime.c" } else { library.to_str().unwrap() });
    folder.run(tool("gcc"), all);
    folder.path().join(name)
}

#[test]
fn every_linker_makes_what_registers_the_images() {
    let images = samples::every_property();
    let expected = Fixture::new("objects").images(images.clone()).expected();
    let bytes = object(&images, &LINUX);
    std::thread::scope(|scope| {
        for linker in LINKERS {
            let (bytes, expected) = (&bytes, &expected);
            scope.spawn(move || {
                let folder = Folder::new();
                folder.put("images.o", bytes);
                for options in [
                    &["-pie"][..],
                    &["-no-pie"],
                    &["-shared"],
                    &["-shared", "-Wl,-z,now", "-Wl,-z,defs", "-Wl,-z,text"],
                    &["-pie", "-Wl,--gc-sections", "-ffunction-sections"],
                    &["-no-pie", "-Wl,--gc-sections"],
                    &["-shared", "-Wl,--gc-sections"],
                    &["-pie", "-Wl,-z,now", "-Wl,-z,relro", "-s"],
                    &["-static-pie"],
                    &["-static"],
                ] {
                    // Gold knows no static PIE.
                    if linker == "gold" && options.contains(&"-static-pie") {
                        continue;
                    }
                    let what = format!("{linker} {options:?}");
                    let file = link(&folder, "linked", linker, options, &["images.o"]);
                    assert_eq!(&load(&file), expected, "{what}");
                    let linked = std::fs::read(&file).unwrap();
                    let host = Host::read(&linked).unwrap();
                    let bundle = Bundle::read(&host).unwrap();
                    assert!(bundle.problems.is_empty(), "{what}: {:?}", bundle.problems);
                    assert_eq!(view(&bundle), expected.descriptors, "{what}");
                    assert_eq!(listed_in_tgtimg(&host).len(), expected.images().len(), "{what}");
                }
            });
        }
    });
}

#[test]
fn generations_of_the_runtime_and_forms_of_entries() {
    let images = samples::every_property();
    for (version, number) in [(ImageVersion::V1, 1), (ImageVersion::V2, 2), (ImageVersion::V3, 3)] {
        for (entries, form) in [(EntryForm::Old, Entries::Old), (EntryForm::New, Entries::New)] {
            let folder = Folder::new();
            folder.put("images.o", object(&images, &ObjectOptions { version, entries, ..LINUX }));
            let expected = Fixture::new("objects").version(number).entries(form).images(images.clone()).expected();
            assert_eq!(
                load(&link(&folder, "linked", "bfd", &["-pie"], &["images.o"])),
                expected,
                "{version:?} {form:?}"
            );
        }
    }
}

#[test]
fn several_objects_link_together_and_partially() {
    let (first, second) = (vec![samples::add_one()], samples::every_property());
    for linker in LINKERS {
        let folder = Folder::new();
        folder.put("first.o", object(&first, &LINUX));
        folder.put("second.o", object(&second, &LINUX));
        let ld = tool(&format!("ld.{linker}"));
        folder.run(ld, ["-r", "first.o", "second.o", "-o", "both.o"]);
        let expected = Fixture::new("several").images(first.clone()).images(second.clone()).expected();
        for objects in [&["first.o", "second.o"][..], &["both.o"]] {
            let mut loaded = load(&link(&folder, "linked", linker, &["-pie"], objects));
            // In which order objects register is the linker's to choose; they unregister in the reverse.
            assert_eq!(loaded.unregistered, expected.unregistered, "{linker} {objects:?}");
            loaded.descriptors.sort_by_key(Vec::len);
            assert_eq!(loaded.descriptors, expected.descriptors, "{linker} {objects:?}");
        }
        let both = folder.read("both.o");
        let host = Host::read(&both).unwrap();
        assert_eq!(Bundle::read(&host).unwrap().images.len(), first.len() + second.len());
    }
}

/// A constructor of the program may use the images already, and a destructor still.
#[test]
fn images_are_there_for_all_of_the_program() {
    let folder = Folder::new();
    folder.put("images.o", object(&[samples::add_one()], &LINUX));
    folder.put(
        "early.c",
        "#include <stdio.h>\n#include <stdlib.h>\n\
         static void say(const char *what) { FILE *out = fopen(getenv(\"SYCL_STUB_DUMP\"), \"a\"); fputs(what, out); fclose(out); }\n\
         __attribute__((constructor(101))) static void begin(void) { say(\"begin\\n\"); }\n\
         __attribute__((destructor(101))) static void end(void) { say(\"end\\n\"); }\n",
    );
    for linker in LINKERS {
        let file = link(&folder, "linked", linker, &["-pie"], &["early.c", "images.o"]);
        let dump = folder.path().join(format!("dump-{linker}"));
        let mut command = std::process::Command::new(file);
        let status = command.env("LD_LIBRARY_PATH", runtime()).env("SYCL_STUB_DUMP", &dump).status().unwrap();
        assert!(status.success());
        let lines = std::fs::read_to_string(dump).unwrap();
        let order: Vec<&str> = lines
            .lines()
            .filter_map(|line| line.split(' ').next())
            .filter(|word| ["descriptor", "unregister", "begin", "end"].contains(word))
            .collect();
        assert_eq!(order, ["descriptor", "begin", "end", "unregister"], "{linker}");
    }
}

#[test]
fn tools_find_nothing_wrong_and_symbols_are_local() {
    let folder = Folder::new();
    let bytes = object(&samples::every_property(), &LINUX);
    assert_eq!(bytes, object(&samples::every_property(), &LINUX), "the same images give the same bytes");
    folder.put("images.o", &bytes);
    let lint = folder.run(tool("eu-elflint"), ["--gnu-ld", "images.o"]);
    assert_eq!(said(&lint), "No errors\n");
    let symbols = said(&folder.run(tool("nm"), ["--format=posix", "images.o"]));
    let global: Vec<&str> = symbols
        .lines()
        .filter(|line| line.split(' ').nth(1).is_some_and(|kind| kind.chars().all(char::is_uppercase)))
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(global, ["__sycl_register_lib", "__sycl_unregister_lib"], "{symbols}");
    // A note that marks functions as targets of indirect calls must hold for all of a program.
    let notes = said(&folder.run(tool("readelf"), ["--notes", "images.o"]));
    assert!(notes.contains("IBT, SHSTK"), "{notes}");
}

#[test]
fn more_images_than_a_descriptor_holds_make_two() {
    let folder = Folder::new();
    let image = ImageSpec::new(*b"shared by all").entry("kernel").aspects(&[6]);
    folder.put("many.o", object(&vec![image.clone(); 65_537], &LINUX));
    let loaded = load(&link(&folder, "linked", "bfd", &["-pie"], &["many.o"]));
    assert_eq!(loaded.descriptors.iter().map(Vec::len).collect::<Vec<_>>(), [65_535, 2]);
    assert_eq!(loaded.unregistered, [1, 0]);
    let expected = Fixture::new("many").images(vec![image]).expected();
    assert!(loaded.images().iter().all(|image| *image == &expected.descriptors[0][0]));
}

/// Objects of the verb `wrap` link as those of the library do.
#[test]
fn what_is_wrapped_links_and_registers() {
    let folder = Folder::new();
    let file = Fixture::new("verb").images(samples::every_property()).build();
    std::fs::copy(&file, folder.path().join("lib.so")).unwrap();
    folder.tool(["wrap", "lib.so", "-o", "images.o"]);
    assert_eq!(load(&link(&folder, "program", "bfd", &["-pie"], &["images.o"])), load(&file));
}
