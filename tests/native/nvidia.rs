//! Is NVIDIA GPU code what `cuobjdump` says of it?

use std::process::Command;

use sycl_bundle::bundle::format::Format;
use sycl_bundle::native::Kernel;

use crate::tools::{Cuda, ptx, run, scratch};
use crate::{kernel, read};

const ARCHITECTURES: [(&str, bool); 6] =
    [("sm_80", false), ("sm_80", true), ("sm_90", false), ("sm_90a", false), ("sm_90a", true), ("sm_100a", true)];

/// `REG:14 STACK:64 SHARED:512 ...` of each function.
fn usage(file: &std::path::Path) -> Vec<(String, u64, u64, u64)> {
    let printed = run(Command::new(Cuda::get().tool("cuobjdump")).arg("-res-usage").arg(file));
    let lines: Vec<&str> = printed.lines().map(str::trim).collect();
    let functions = lines.windows(2).filter_map(|pair| {
        let name = pair[0].strip_prefix("Function ")?.trim_end_matches(':');
        let of = |key: &str| pair[1].split(key).nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        Some((name.to_owned(), of("REG:"), of("STACK:"), of("SHARED:")))
    });
    functions.collect()
}

fn told(kernel: &Kernel) -> (String, u64, u64, u64) {
    (kernel.name.clone(), kernel.registers.unwrap(), kernel.private.unwrap(), kernel.local.unwrap())
}

#[test]
fn cubins_say_what_cuobjdump_says() {
    for (architecture, twelve) in ARCHITECTURES {
        let (_folder, file) = Cuda::get().cubin(architecture, twelve);
        let payload = std::fs::read(&file).unwrap();
        assert_eq!(Format::sniff(&payload), Format::Cubin);
        let native = read(&payload);
        assert_eq!(native.devices(), [format!("nvidia_gpu_{architecture}")], "CUDA 12: {twelve}");
        let mut ours: Vec<_> = native.parts[0].kernels.iter().map(told).collect();
        let mut theirs = usage(&file);
        ours.sort();
        theirs.sort();
        assert_eq!(ours, theirs, "{architecture}");
        let reduce = kernel(&native, "reduce");
        assert_eq!((reduce.reqd_work_group_size, reduce.barriers), (Some([64, 2, 1]), Some(1)));
        assert_eq!(kernel(&native, "small").max_work_group_size, Some(128));
        let scale = kernel(&native, "scale");
        let places: Vec<_> = scale.arguments.iter().map(|a| (a.index, a.offset, a.size, a.address_space)).collect();
        let expected = [(0, 0, 8, Some("global")), (1, 8, 4, None), (2, 16, 24, None)];
        assert_eq!(places, expected.map(|(index, offset, size, space)| (index, Some(offset), Some(size), space)));
        assert_eq!(scale.argument_bytes, Some(40));
        let spaces: Vec<_> = reduce.arguments.iter().map(|argument| argument.address_space).collect();
        assert_eq!(spaces, [Some("global"), Some("local")]);
    }
}

#[test]
fn ptx_declares_what_the_cubin_keeps() {
    let text = ptx("sm_80");
    assert_eq!(Format::sniff(text.as_bytes()), Format::Ptx);
    let (native, cubin) = (read(text.as_bytes()), read(&std::fs::read(Cuda::get().cubin("sm_80", false).1).unwrap()));
    assert_eq!(native.devices(), cubin.devices());
    for declared in &native.parts[0].kernels {
        let kept = kernel(&cubin, &declared.name);
        assert_eq!(declared.reqd_work_group_size, kept.reqd_work_group_size);
        assert_eq!(declared.max_work_group_size, kept.max_work_group_size);
        let sizes =
            |kernel: &Kernel| kernel.arguments.iter().map(|a| (a.index, a.size, a.address_space)).collect::<Vec<_>>();
        assert_eq!(sizes(declared), sizes(kept), "{}", declared.name);
    }
}

#[test]
fn fat_binaries_are_inflated_whatever_the_method() {
    let cuda = Cuda::get();
    let folder = scratch();
    let (_one, first) = cuda.cubin("sm_80", false);
    let (_two, second) = cuda.cubin("sm_90", false);
    let source = folder.path().join("kernels.ptx");
    std::fs::write(&source, ptx("sm_80")).unwrap();
    let mut known = None;
    for mode in ["none", "speed", "balance", "size"] {
        let output = folder.path().join(format!("{mode}.fatbin"));
        let mut command = Command::new(cuda.tool("fatbinary"));
        command.args(["-64", "--compress-all"]).arg(format!("--compress-mode={mode}")).arg("--create").arg(&output);
        for (kind, architecture, file) in [("elf", 80, &first), ("elf", 90, &second), ("ptx", 80, &source)] {
            command.arg(format!("--image3=kind={kind},sm={architecture},file={}", file.display()));
        }
        run(&mut command);
        let payload = std::fs::read(&output).unwrap();
        assert_eq!(Format::sniff(&payload), Format::Fatbin);
        let native = read(&payload);
        assert_eq!(
            (native.container, native.devices()),
            (Some("fatbin"), vec!["nvidia_gpu_sm_80", "nvidia_gpu_sm_90"])
        );
        let names: Vec<&str> = native.parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["elf.sm_80", "elf.sm_90", "ptx.sm_80"], "{mode}");
        let listed = run(Command::new(cuda.tool("cuobjdump")).args(["-lelf", "-lptx"]).arg(&output));
        assert_eq!(listed.lines().filter(|line| line.contains(" file ")).count(), 3, "{listed}");
        let kernels: Vec<_> = native.parts.into_iter().map(|part| part.kernels).collect();
        assert_eq!(known.get_or_insert_with(|| kernels.clone()), &kernels, "{mode}");
    }
}
