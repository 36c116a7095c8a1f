//! Do LLVM's tools take a library for Windows to which images were added for a sound one?

use std::collections::HashSet;

use crate::support::folder::Folder;
use crate::support::host::{Fixture, out_images, raw_values, samples};
use crate::support::tools::tool;
use sycl_bundle::rewrite::layers;

/// Few base relocations find room in the slack of `.reloc`, many do not.
#[test]
fn readers_complain_of_nothing() {
    let original = std::fs::read(Fixture::new("slack").images(vec![samples::image("halve")]).build_dll()).unwrap();
    for count in [1, 300] {
        let images = vec![samples::add_one(); count];
        let raw = raw_values(&images);
        let edited = layers::edit(&original, &HashSet::new(), &out_images(&images, &raw), &[]).unwrap();
        let folder = Folder::new();
        folder.put("joined.dll", &edited.bytes);
        for (program, option) in
            [("llvm-readobj", "--coff-basereloc"), ("llvm-objdump", "-p"), ("llvm-readobj", "--all")]
        {
            let output = folder.run(tool(program), [option, "joined.dll"]);
            assert!(output.stderr.is_empty(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
