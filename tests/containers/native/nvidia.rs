//! Is NVIDIA GPU code what `cuobjdump` says of it?

use sycl_bundle::bundle::format::Format;
use sycl_bundle::native::Kernel;

use super::tools::{cubin, cubin_recipe, ptx};
use super::{kernel, read};
use crate::support::built::Recipe;

const ARCHITECTURES: [(&str, bool); 6] =
    [("sm_80", false), ("sm_80", true), ("sm_90", false), ("sm_90a", false), ("sm_90a", true), ("sm_100a", true)];

/// `REG:14 STACK:64 SHARED:512 ...` of each function.
fn usage(printed: &str) -> Vec<(String, u64, u64, u64)> {
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
        let recipe = cubin_recipe(architecture, twelve);
        let payload = recipe.bytes("kernels.cubin");
        assert_eq!(Format::sniff(&payload), Format::Cubin);
        let native = read(&payload);
        assert_eq!(native.devices(), [format!("nvidia_gpu_{architecture}")], "CUDA 12: {twelve}");
        let mut ours: Vec<_> = native.parts[0].kernels.iter().map(|kernel| told(kernel)).collect();
        let mut theirs = usage(&String::from_utf8(recipe.bytes("usage")).unwrap());
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
    let (native, cubin) = (read(text.as_bytes()), read(&cubin("sm_80", false)));
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
    let mut known = None;
    for mode in ["none", "speed", "balance", "size"] {
        let mut recipe = Recipe::new("fatbin").input("kernels.ptx", ptx("sm_80"));
        let method = format!("--compress-mode={mode}");
        let mut words = ["cuda-13:fatbinary", "-64", "--compress-all", &method, "--create", "kernels.fatbin"]
            .map(str::to_owned)
            .to_vec();
        for architecture in ["80", "90"] {
            let name = format!("kernels.{architecture}.cubin");
            recipe = recipe.input(&name, cubin(&format!("sm_{architecture}"), false));
            words.push(format!("--image3=kind=elf,sm={architecture},file={name}"));
        }
        words.push("--image3=kind=ptx,sm=80,file=kernels.ptx".to_owned());
        let list = ["cuda-13:cuobjdump", "-lelf", "-lptx", "kernels.fatbin", ">", "listed"];
        let recipe = recipe.run(words).run(list).output("kernels.fatbin").output("listed");
        let payload = recipe.bytes("kernels.fatbin");
        assert_eq!(Format::sniff(&payload), Format::Fatbin);
        let native = read(&payload);
        assert_eq!(
            (native.container, native.devices()),
            (Some("fatbin"), vec!["nvidia_gpu_sm_80", "nvidia_gpu_sm_90"])
        );
        let names: Vec<&str> = native.parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["elf.sm_80", "elf.sm_90", "ptx.sm_80"], "{mode}");
        let listed = String::from_utf8(recipe.bytes("listed")).unwrap();
        assert_eq!(listed.lines().filter(|line| line.contains(" file ")).count(), 3, "{listed}");
        let kernels: Vec<_> = native.parts.into_iter().map(|part| part.kernels).collect();
        assert_eq!(known.get_or_insert_with(|| kernels.clone()), &kernels, "{mode}");
    }
}
