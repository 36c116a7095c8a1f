//! Do LLVM's own tools take what is written, and is what they write taken?
//!
//! Debian's LLVM 19 and LLVM 22. Neither knows SYCL's kind in bundles, so bundles are judged by HIP's.

use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::image::Image;
use sycl_bundle::container::Host;

use crate::support::folder::{Folder, said};
use crate::support::spirv;
use crate::support::tools::llvm;

const VERSIONS: [u32; 2] = [19, 22];

/// The tool that writes and reads OffloadBinaries, which has had two names.
fn packager(version: u32) -> std::path::PathBuf {
    llvm(version, if version < 20 { "clang-offload-packager" } else { "llvm-offload-binary" })
}

/// Reads a file and hands its images on.
fn images<R>(folder: &Folder, file: &str, check: impl FnOnce(&[Image<'_>]) -> R) -> R {
    let bytes = folder.read(file);
    let host = Host::read(&bytes).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    assert!(bundle.problems.is_empty(), "{file}: {:?}", bundle.problems);
    check(&bundle.images)
}

#[test]
fn offload_binaries_are_read_by_both() {
    for version in VERSIONS {
        let folder = Folder::new();
        folder.put("one.spv", spirv::module("add_one"));
        folder.put("two.spv", spirv::module("halve"));
        folder.put("two.prop", "[SYCL/misc properties]\noptLevel=1|2\n");
        folder.tool(["wrap", "one.spv", "--emit", "offload-binary", "-o", "one"]);
        folder.tool(["wrap", "two.spv", "--as-target", "intel_gpu_pvc", "--emit", "offload-binary", "-o", "two"]);
        folder.tool(["wrap", "one", "two", "--emit", "offload-binary", "-o", "both"]);
        let listed = said(&folder.run(llvm(version, "llvm-objdump"), ["--offloading", "both"]));
        for line in [
            "triple          spir64-unknown-unknown",
            "triple          spir64_gen-unknown-unknown",
            "arch            intel_gpu_pvc",
        ] {
            assert!(listed.contains(line), "LLVM {version}: {listed}");
        }
        let one = "--image=file=out1,triple=spir64-unknown-unknown,arch=generic";
        let two = "--image=file=out2,triple=spir64_gen-unknown-unknown,arch=intel_gpu_pvc";
        folder.run(packager(version), ["both", one, two]);
        assert_eq!(folder.read("out1"), spirv::module("add_one"));
        assert_eq!(folder.read("out2"), spirv::module("halve"));
    }
}

#[test]
fn theirs_are_read_and_written_anew() {
    for version in VERSIONS {
        let folder = Folder::new();
        folder.put("one.spv", spirv::module("add_one"));
        folder.put("native.o", b"native code of a GPU");
        let one = "--image=file=one.spv,triple=spir64-unknown-unknown,arch=generic,kind=openmp";
        let two = "--image=file=native.o,triple=amdgcn-amd-amdhsa,arch=gfx906,kind=hip";
        folder.run(packager(version), ["-o", "theirs", one, two]);
        let check = |images: &[Image<'_>]| {
            let seen: Vec<_> = images.iter().map(|image| (image.target, image.arch, image.stored.to_vec())).collect();
            let expected =
                [("spir64", "", spirv::module("add_one")), ("amdgcn", "gfx906", b"native code of a GPU".to_vec())];
            assert_eq!(seen, expected, "LLVM {version}");
        };
        images(&folder, "theirs", check);
        folder.tool(["wrap", "theirs", "--emit", "offload-binary", "-o", "ours"]);
        images(&folder, "ours", check);
        let list = |file: &str| {
            let listed = said(&folder.run(llvm(version, "llvm-objdump"), ["--offloading", file]));
            listed.replace(file, "")
        };
        // LLVM 19 numbers the models one after the other, later ones by bits: HIP is 3 there, and 4 here.
        if version > 19 {
            assert_eq!(list("ours"), list("theirs"));
        }
        folder.run(packager(version), ["ours", "--image=file=back,triple=amdgcn-amd-amdhsa,arch=gfx906"]);
        assert_eq!(folder.read("back"), b"native code of a GPU");
    }
}

#[test]
fn bundles_in_both_directions() {
    for version in VERSIONS {
        let bundler = llvm(version, "clang-offload-bundler");
        let folder = Folder::new();
        folder.put("host", "host code");
        folder.put("one", spirv::module("add_one"));
        folder.put("two", spirv::module("halve"));
        let targets =
            "--targets=host-x86_64-unknown-linux-gnu-,hip-amdgcn-amd-amdhsa--gfx906,hip-amdgcn-amd-amdhsa--gfx90a";
        for compress in [false, true] {
            let mut bundle =
                vec!["--type=bc", "--input=host", "--input=one", "--input=two", "--output=theirs", targets];
            bundle.extend(compress.then_some("--compress"));
            folder.run(&bundler, bundle);
            images(&folder, "theirs", |images| {
                let seen: Vec<_> = images.iter().map(|image| (image.target, image.arch, image.offload_kind)).collect();
                assert_eq!(seen, [("amdgcn", "gfx906", "hip"), ("amdgcn", "gfx90a", "hip")]);
            });
            let mut wrap = vec!["wrap", "theirs", "--emit", "offload-bundle", "-o", "ours"];
            wrap.extend(compress.then_some("--compress"));
            folder.tool(wrap);
            assert_eq!(folder.read("ours").starts_with(b"CCOB"), compress);
            let listed = said(&folder.run(&bundler, ["--list", "--type=bc", "--input=ours"]));
            assert_eq!(
                listed.lines().filter(|line| line.starts_with("hip-amdgcn-amd-amdhsa--gfx90")).count(),
                2,
                "{listed}"
            );
            for (target, module) in [("gfx906", "add_one"), ("gfx90a", "halve")] {
                let target = format!("--targets=hip-amdgcn-amd-amdhsa--{target}");
                folder.run(&bundler, ["--unbundle", "--type=bc", "--input=ours", "--output=back", &target]);
                assert_eq!(folder.read("back"), spirv::module(module), "LLVM {version}, {compress}");
            }
            if compress {
                let verbose = folder.run(&bundler, ["--list", "--type=bc", "--input=ours", "-verbose"]);
                let told = String::from_utf8(verbose.stderr).unwrap();
                assert!(told.contains("Hashes match: Yes"), "LLVM {version}: {told}");
            }
        }
        // SYCL's kind is listed, if nothing else.
        folder.put("one.spv", spirv::module("add_one"));
        folder.tool(["wrap", "one.spv", "--emit", "offload-bundle", "-o", "sycl"]);
        let listed = said(&folder.run(&bundler, ["--list", "--type=bc", "--input=sycl"]));
        assert!(listed.contains("sycl-spir64-unknown-unknown"), "{listed}");
    }
}

/// A fat object of theirs.
#[test]
fn fat_objects_are_unpacked() {
    for version in VERSIONS {
        let folder = Folder::new();
        folder.put("host.c", "int main(void) { return 0; }\n");
        folder.run(llvm(version, "clang"), ["-c", "host.c", "-o", "host.o"]);
        folder.put("one", spirv::module("add_one"));
        let targets = "--targets=host-x86_64-unknown-linux-gnu-,hip-amdgcn-amd-amdhsa--gfx906";
        let bundle = ["--type=o", "--input=host.o", "--input=one", "--output=fat.o", targets];
        folder.run(llvm(version, "clang-offload-bundler"), bundle);
        folder.tool(["wrap", "fat.o", "--emit", "offload-binary", "-o", "ours"]);
        images(&folder, "ours", |images| {
            let seen: Vec<_> = images.iter().map(|image| (image.target, image.arch, image.offload_kind)).collect();
            assert_eq!(seen, [("amdgcn", "gfx906", "hip")], "LLVM {version}");
        });
        folder.run(packager(version), ["ours", "--image=file=back,triple=amdgcn-amd-amdhsa,arch=gfx906"]);
        assert_eq!(folder.read("back"), spirv::module("add_one"));
    }
}

/// An OffloadBinary in an object, as the new offload driver has it.
#[test]
fn objects_carry_them_to_the_linker_wrapper() {
    for version in VERSIONS {
        let folder = Folder::new();
        folder.put("one.spv", spirv::module("add_one"));
        folder.tool(["wrap", "one.spv", "--emit", "offload-binary", "-o", "one"]);
        folder.put("host.c", "int main(void) { return 0; }\n");
        let embed = "-fembed-offload-object=one";
        folder.run(llvm(version, "clang"), ["-c", "host.c", "-Xclang", embed, "-o", "host.o"]);
        images(&folder, "host.o", |images| assert_eq!(images[0].stored, spirv::module("add_one")));
        let listed = said(&folder.run(llvm(version, "llvm-objdump"), ["--offloading", "host.o"]));
        assert!(listed.contains("triple          spir64-unknown-unknown"), "{listed}");
        // clang-linker-wrapper takes the image out to link it, and then knows no linker for SPIR-V of DPC++'s name.
        let mut wrapper = std::process::Command::new(llvm(version, "clang-linker-wrapper"));
        let output = wrapper
            .current_dir(folder.path())
            .args(["--host-triple=x86_64-unknown-linux-gnu", "--linker-path=/usr/bin/ld", "--save-temps"])
            .args(["host.o", "-o", "linked"])
            .output()
            .unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains("spir64 linking is not supported"), "LLVM {version}: {told}");
        let taken = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let taken = taken.filter(|path| path.to_string_lossy().contains("host-spir64-unknown-unknown-generic"));
        assert_eq!(std::fs::read(taken.last().unwrap()).unwrap(), spirv::module("add_one"));
    }
}

/// LLVM 22 links SYCL: bitcode from us through its whole chain to a library, and what it made comes back.
#[test]
fn the_linker_wrapper_links_what_it_gets() {
    let folder = Folder::new();
    folder.put("device.ll", "target triple = \"spirv64-unknown-unknown\"\ndefine spir_kernel void @one() { ret void }\ndefine spir_kernel void @two() { ret void }\n");
    folder.run(llvm(22, "llvm-as"), ["device.ll", "-o", "device.bc"]);
    folder.run(llvm(22, "clang-sycl-linker"), ["--triple=spirv64-unknown-unknown", "device.bc", "-o", "theirs"]);
    images(&folder, "theirs", |images| {
        assert_eq!((images[0].target, images[0].entries.as_slice()), ("spirv64", &["one", "two"][..]));
    });
    folder.tool(["wrap", "theirs", "-o", "theirs.o"]);
    folder.tool([
        "wrap",
        "device.bc",
        "--as-target",
        "spirv64-unknown-unknown",
        "--emit",
        "offload-binary",
        "-o",
        "ours",
    ]);
    folder.put("host.c", "int main(void) { return 0; }\n");
    let embed = "-fembed-offload-object=ours";
    folder.run(llvm(22, "clang"), ["-c", "host.c", "-fPIC", "-Xclang", embed, "-o", "host.o"]);
    let clang = llvm(22, "clang");
    let path = std::env::join_paths(
        std::iter::once(clang.parent().unwrap().to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    let mut wrapper = std::process::Command::new(llvm(22, "clang-linker-wrapper"));
    let output = wrapper
        .current_dir(folder.path())
        .env("PATH", path.unwrap())
        .args([
            "--host-triple=x86_64-unknown-linux-gnu",
            "--linker-path=/usr/bin/ld",
            "host.o",
            "-shared",
            "-o",
            "linked.so",
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    images(&folder, "linked.so", |images| {
        let [image] = images else { panic!("{} images", images.len()) };
        assert_eq!((image.target, image.entries.as_slice()), ("spirv64-unknown-unknown", &["one", "two"][..]));
    });
    // From there into a form that DPC++'s runtime reads.
    folder.tool(["wrap", "linked.so", "--as-target", "spir64", "-o", "anew.o"]);
    images(&folder, "anew.o", |images| assert_eq!((images[0].target, images[0].entries.len()), ("spir64", 2)));
}
