//! Do the two formats of Intel GPU code say the same of the same kernels, though different code wrote them?

use std::process::Command;

use sycl_bundle::bundle::format::Format;
use sycl_bundle::native::Argument;

use super::tools::{ocloc, ocloc_recipe};
use super::{kernel, read};

/// Index, name, type, address space, access.
fn arguments(arguments: &[Argument]) -> Vec<(u32, &str, &str, &str, Option<&'static str>)> {
    let text = |text: &'_ Option<String>| text.as_deref().unwrap_or_default().to_owned().leak() as &str;
    let one =
        |a: &Argument| (a.index, text(&a.name), text(&a.type_name), a.address_space.unwrap_or_default(), a.access);
    arguments.iter().map(one).collect()
}

/// Devices, and what `ocloc` is asked for; the target that zebin names.
const DEVICES: [(&str, &str); 3] = [("skl", "intel_gpu_skl"), ("dg1", "intel_gpu_dg1"), ("tgllp", "intel_gpu_tgllp")];

#[test]
fn zebin_says_what_the_source_says() {
    for (device, target) in DEVICES {
        let native = read(&ocloc(&["-device", device, "--format", "zebin"]));
        assert_eq!((native.container, native.devices()), (None, vec![target]));
        assert_eq!(native.kernel_names(), ["scale", "reduce", "heavy", "picture"]);
        assert_eq!(native.parts[0].format, Format::Zebin);
        let reduce = kernel(&native, "reduce");
        assert_eq!(
            (reduce.local, reduce.barriers, reduce.reqd_work_group_size),
            (Some(512), Some(1), Some([64, 2, 1]))
        );
        let heavy = kernel(&native, "heavy");
        assert_eq!((heavy.simd, heavy.reqd_sub_group_size), (Some(16), Some(16)));
        // 24 vectors of 64 bytes for each of 16 work-items, which 128 registers of 32 bytes do not hold.
        let memory = heavy.private.unwrap_or(0) + heavy.scratch.unwrap_or(0) + heavy.spill.unwrap_or(0);
        assert!(memory >= 24 * 64 * 16, "{heavy:?}");
        let scale = kernel(&native, "scale");
        assert_eq!((scale.registers, scale.spill, scale.private, scale.local), (Some(128), Some(0), Some(0), Some(0)));
        assert_eq!(
            arguments(&scale.arguments),
            [
                (0, "out", "float*", "global", Some("read_write")),
                (1, "in", "float*", "global", Some("read_only")),
                (2, "factor", "float", "private", None),
                (3, "n", "uint", "private", None),
            ]
        );
        assert_eq!(scale.arguments.iter().map(|a| a.size).collect::<Vec<_>>(), [Some(8), Some(8), Some(4), Some(4)]);
        let picture: Vec<_> = arguments(&kernel(&native, "picture").arguments);
        let spaces: Vec<_> = picture.iter().map(|(.., space, access)| (*space, *access)).collect();
        assert_eq!(&spaces[..2], [("image", Some("read_only")), ("image", Some("write_only"))]);
        assert_eq!((spaces[2].0, spaces[3].0), ("sampler", "constant"));
    }
}

#[test]
fn patch_tokens_say_what_zebin_says() {
    for (device, target) in DEVICES {
        let tokens = read(&ocloc(&["-device", device, "--format", "patchtokens"]));
        let zebin = read(&ocloc(&["-device", device, "--format", "zebin"]));
        assert_eq!((tokens.container, tokens.parts[0].format), (Some("opencl-elf"), Format::PatchTokens));
        // Patch tokens name a family of cores.
        assert!(tokens.devices().contains(&target), "{:?}", tokens.devices());
        assert_eq!(tokens.kernel_names(), zebin.kernel_names());
        for name in zebin.kernel_names() {
            let (old, new) = (kernel(&tokens, name), kernel(&zebin, name));
            assert_eq!((old.simd, old.registers, old.local), (new.simd, new.registers, new.local), "{device} {name}");
            assert_eq!((old.private, old.barriers), (new.private.or(Some(0)), new.barriers), "{device} {name}");
            assert_eq!(old.scratch, new.scratch.or(Some(0)), "{device} {name}");
            assert_eq!(old.reqd_work_group_size, new.reqd_work_group_size, "{device} {name}");
            assert_eq!(old.reqd_sub_group_size, new.reqd_sub_group_size, "{device} {name}");
            let places =
                |arguments: &[Argument]| arguments.iter().map(|a| (a.index, a.offset, a.size)).collect::<Vec<_>>();
            assert_eq!(places(&old.arguments), places(&new.arguments), "{device} {name}");
            // Tokens tell the access of images only.
            let told = |arguments| {
                self::arguments(arguments).into_iter().map(|(i, name, kind, space, _)| (i, name, kind, space))
            };
            assert!(told(&old.arguments).eq(told(&new.arguments)), "{device} {name}: {old:#?} {new:#?}");
        }
    }
}

#[test]
fn an_archive_has_a_part_per_device() {
    let recipe = ocloc_recipe("ocloc-archive", &["-device", "skl,dg1,acm-g10", "--format", "zebin"]);
    let recipe = recipe.run(["ar", "t", "out.bin", ">", "members"]).output("members");
    let archive = recipe.bytes("out.bin");
    assert_eq!(Format::sniff(&archive), Format::Ar);
    let native = read(&archive);
    assert_eq!(native.container, Some("ar"));
    assert_eq!(native.parts.len(), 3);
    for (part, device) in native.parts.iter().zip(["intel_gpu_skl", "intel_gpu_dg1", "intel_gpu_acm_g10"]) {
        assert!(part.devices.iter().any(|name| name == device), "{}: {:?}", part.name, part.devices);
        assert_eq!(part.kernels.len(), 4, "{}", part.name);
    }
    let listed = String::from_utf8(recipe.bytes("members")).unwrap();
    let members: Vec<&str> = listed.lines().filter(|name| !name.starts_with("pad")).collect();
    assert_eq!(native.parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(), members);
}

/// Each member as a file of its own, by the name of its device; a table of what the members take.
#[test]
fn members_are_taken_out_and_told_by_device() {
    let recipe = ocloc_recipe("ocloc-archive", &["-device", "skl,dg1,acm-g10", "--format", "zebin"]);
    let archive = recipe.run(["ar", "t", "out.bin", ">", "members"]).output("members").bytes("out.bin");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("gpu.bin"), &archive).unwrap();
    std::fs::write(folder.path().join("gpu.table"), "[Code]\ngpu.bin\n").unwrap();
    let run = |arguments: &[&str]| {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        tool.args(arguments).current_dir(folder.path()).output().unwrap()
    };
    let whole = read(&archive);
    for part in &whole.parts {
        let [device] = part.devices.as_slice() else { continue };
        let member = run(&["extract", "gpu.table", "--member", device, "-o", "-"]);
        assert!(member.status.success(), "{}", String::from_utf8_lossy(&member.stderr));
        let own = read(&member.stdout);
        assert_eq!((own.container, own.parts.len()), (None, 1));
        assert_eq!((&own.parts[0].devices, &own.parts[0].kernels), (&part.devices, &part.kernels));
    }
    let all = run(&["extract", "gpu.table", "--member", "*", "-o", "members", "--format", "json"]);
    let all: serde_json::Value = serde_json::from_slice(&all.stdout).unwrap();
    let images = all["images"].as_array().unwrap();
    assert_eq!(images.len(), 3);
    for image in images {
        let size =
            std::fs::metadata(folder.path().join("members").join(image["code"].as_str().unwrap())).unwrap().len();
        assert_eq!(Some(size), image["size"].as_u64(), "{image}");
    }
    let none = run(&["extract", "gpu.table", "--member", "intel_gpu_pvc", "-o", "none"]);
    assert_eq!(none.status.code(), Some(1));
    let said = String::from_utf8_lossy(&none.stderr).into_owned();
    assert!(said.contains("there are 64.12.55.8, intel_gpu_dg1"), "{said}");
    assert!(!folder.path().join("none").exists());
    let sizes = String::from_utf8(run(&["inspect", "gpu.table", "--sizes"]).stdout).unwrap();
    let members = sizes.lines().filter(|line| line.contains("intel_gpu_dg1") && line.contains("KiB"));
    assert!(members.count() == 1, "{sizes}");
    // The kernel with private arrays takes differently much of the three.
    let kernels = String::from_utf8(run(&["kernels", "gpu.table"]).stdout).unwrap();
    assert!(kernels.contains("Code for") && kernels.matches("heavy").count() > 1, "{kernels}");
}

#[test]
fn the_validator_counts_the_same_kernels() {
    for (device, _) in DEVICES {
        let recipe = ocloc_recipe("ocloc-validated", &["-device", device, "--format", "zebin"]);
        // ocloc finds fault with its own output, and says so by its status.
        let recipe = recipe.run(["sh", "-c", "ocloc validate -file out.bin > said || true"]).output("said");
        let payload = recipe.bytes("out.bin");
        let said = String::from_utf8_lossy(&recipe.bytes("said")).into_owned();
        let names: Vec<&str> =
            said.lines().filter_map(|line| line.strip_prefix("Kernel #")?.split("named ").nth(1)).collect();
        let names: Vec<&str> = names.iter().map(|name| name.trim_end_matches(':')).collect();
        assert_eq!(names, read(&payload).kernel_names(), "{said}");
    }
}
