//! Do the two formats of Intel GPU code say the same of the same kernels, though different code wrote them?

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
        // They name a family of cores.
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

#[test]
fn the_validator_counts_the_same_kernels() {
    for (device, _) in DEVICES {
        let recipe = ocloc_recipe("ocloc-validated", &["-device", device, "--format", "zebin"]);
        // It finds fault with what it made itself, and says so by its status.
        let recipe = recipe.run(["sh", "-c", "ocloc validate -file out.bin > said || true"]).output("said");
        let payload = recipe.bytes("out.bin");
        let said = String::from_utf8_lossy(&recipe.bytes("said")).into_owned();
        let names: Vec<&str> =
            said.lines().filter_map(|line| line.strip_prefix("Kernel #")?.split("named ").nth(1)).collect();
        let names: Vec<&str> = names.iter().map(|name| name.trim_end_matches(':')).collect();
        assert_eq!(names, read(&payload).kernel_names(), "{said}");
    }
}
