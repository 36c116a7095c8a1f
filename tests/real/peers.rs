//! Do the other tools say of a shipped library what the guide `benchmarks` says that they do?

use std::path::Path;
use std::process::{Command, Output};

use crate::tool::tool;
use crate::world::{succeed, tail, world};

fn llvm(name: &str, arguments: &[&str], file: &Path) -> Output {
    let program = Path::new("/usr/lib/llvm-22/bin").join(name);
    let output = Command::new(&program).args(arguments).arg(file).output();
    output.unwrap_or_else(|error| panic!("{}: {error} (packages llvm-22 and clang-tools-22)", program.display()))
}

#[test]
fn other_tools_do_not_list_the_images_of_a_library() {
    let name = "dpnp/tensor/_tensor_linalg_impl.cpython-311-x86_64-linux-gnu.so";
    let (library, none) = (world().site_packages().join(name), Path::new("/bin/ls"));
    for file in [&library, none] {
        let output = llvm("llvm-objdump", &["--offloading"], file);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        assert!(output.status.success() && said.len() == 1 && said[0].contains("file format"), "{text}");
        let output = llvm("llvm-offload-binary", &[], file);
        assert!(output.status.success() && output.stdout.is_empty(), "{}", tail(&output.stdout));
    }
    let input = format!("--input={}", library.display());
    let bundler = Path::new("/usr/lib/llvm-22/bin/clang-offload-bundler");
    let listed = succeed(Command::new(bundler).args(["--list", "--type=o", &input]));
    assert_eq!(String::from_utf8_lossy(&listed.stdout).trim(), "sycl-spir64");
    let folder = tempfile::tempdir().unwrap();
    let output = format!("--output={}", folder.path().join("image").display());
    let mut unbundle = Command::new(bundler);
    let refused = unbundle.args(["--unbundle", "--type=o", "--targets=sycl-spir64", &input, &output]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "{}", tail(&refused.stderr));

    let inspected = succeed(tool().arg("inspect").arg(&library));
    let text = String::from_utf8_lossy(&inspected.stdout).into_owned();
    assert!(text.contains("768 images, 768 kernels"), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains(" input  spirv ")).count(), 5, "{text}");
}
