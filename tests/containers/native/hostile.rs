//! Does any damage to a real payload end in an answer, with a place for what is wrong?

use sycl_bundle::bundle::Bundle;
use sycl_bundle::bundle::format::Format;
use sycl_bundle::bundle::offload_bundle::{self, NewPart};
use sycl_bundle::compat::examine::{Examined, examine};
use sycl_bundle::compat::kernels::{Depth, kernels};
use sycl_bundle::container::Host;
use sycl_bundle::container::Place;
use sycl_bundle::native::Native;
use sycl_bundle::native::bitcode::Module;

use super::tools::{bitcode, code_object, cubin, ocloc, ptx, sycl_recipe};
use crate::support::built::Recipe;

/// One of each format.
fn payloads() -> Vec<Vec<u8>> {
    let cubin = cubin("sm_90a", false);
    let words = "cuda-13:fatbinary -64 --compress-all --compress-mode=speed --create kernels.fatbin";
    let words = words.split(' ').chain(["--image3=kind=elf,sm=90a,file=kernels.cubin"]);
    let fatbin = Recipe::new("fatbin").input("kernels.cubin", cubin.clone()).run(words).output("kernels.fatbin");
    let object = code_object("gfx90a", "");
    let part = NewPart { id: "hipv4-amdgcn-amd-amdhsa--gfx90a", data: &object };
    vec![
        ocloc(&["-device", "skl", "--format", "zebin"]),
        ocloc(&["-device", "skl", "--format", "patchtokens"]),
        ocloc(&["-device", "skl,dg1", "--format", "zebin"]),
        bitcode(),
        sycl_recipe("llvm-22:llvm-as").bytes("sycl.bc"),
        cubin,
        fatbin.bytes("kernels.fatbin"),
        ptx("sm_80").into_bytes(),
        offload_bundle::write(&[part], 8).unwrap().into_vec(),
        object,
    ]
}

/// Reads a payload as what it was before the damage, which may have hit its magic number.
fn ask(payload: &[u8], format: Format) {
    let native = Native::read(payload, format, Place::file(0)).unwrap();
    for problem in &native.problems {
        assert!(problem.offset().is_some(), "without a place: {problem}");
    }
    assert!(native.kernel_names().len() <= payload.len() + 64);
    if format == Format::LlvmBitcode
        && let Ok(module) = Module::read(payload)
    {
        let own = |image: &Examined<'_, '_>| image.problem.iter().all(|problem| problem.offset().is_some());
        let host = Host::read(payload);
        let bundle = host.as_ref().ok().and_then(|host| Bundle::read(host).ok());
        // Kernels, their calls and what they use, by way of the verbs, where the file still is what it was.
        if let Some(bundle) = bundle {
            let images = examine(&bundle);
            assert!(images.iter().all(own), "a problem without a place");
            let all = kernels(&bundle, &images, Depth { clones: true, evidence: true });
            assert!(all.len() <= module.functions.len());
        }
    }
}

#[test]
fn cuts_and_mutations() {
    // A linear congruential generator: what fails, fails again.
    let mut state = 0x5359_434c_u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    for payload in payloads() {
        let format = Format::sniff(&payload);
        assert_ne!(format, Format::Unknown);
        for cut in 0..512 {
            ask(&payload[..payload.len() * cut / 512], format);
        }
        for _ in 0..3000 {
            let mut damaged = payload.clone();
            for _ in 0..1 + random(4) {
                let at = random(damaged.len());
                let value = [0, 0xff, 0x7f, 0x80, damaged[at].wrapping_add(1), random(256) as u8][random(6)];
                let wide = damaged.len().min(at + [1, 2, 4, 8][random(4)]);
                damaged[at..wide].fill(value);
            }
            ask(&damaged, format);
        }
    }
}

#[test]
fn overlapping_parts_cost_no_more_than_their_size_warrants() {
    // 60,000 parts of a bundle that are all the same megabyte.
    let object = vec![b'x'; 1 << 20];
    let mut bundle = offload_bundle::MAGIC.to_vec();
    bundle.extend(60_000u64.to_le_bytes());
    let at = (32 + 60_000 * 25) as u64;
    for _ in 0..60_000 {
        for word in [at, object.len() as u64, 1] {
            bundle.extend(word.to_le_bytes());
        }
        bundle.push(b'a');
    }
    bundle.extend(object);
    let begin = std::time::Instant::now();
    let native = Native::read(&bundle, Format::Hsaco, Place::file(0)).unwrap();
    assert!(begin.elapsed().as_secs() < 30 && native.problems.len() <= 100, "{:?}", begin.elapsed());
}
