//! Which small native code stands for many kernels, arguments or long names?
//!
//! Each letter of a text, or each byte of a compressed one, would be a kernel for which hundreds of bytes are kept. What there may
//! be of them is bounded by the size of the file, for all its payloads together.

use super::judged::runs;
use super::repeated::{INSPECT, blocks, of_device, of_host, read, words};

/// An LZ4 block that repeats a unit of some letters behind a text, and its size inflated.
fn repeated(text: &str, unit: &str, times: usize) -> (Vec<u8>, u64) {
    let literals = [text, unit].concat();
    let long = |out: &mut Vec<u8>, len: usize| {
        out.extend(vec![0xff; (len - 15) / 255]);
        out.push(((len - 15) % 255) as u8);
    };
    let (mut out, copied) = (vec![0xff], unit.len() * (times - 1));
    long(&mut out, literals.len());
    out.extend(literals.as_bytes());
    out.extend((unit.len() as u16).to_le_bytes());
    long(&mut out, copied - 4);
    // The last bytes of a block are literals.
    out.extend([&[12 << 4][..], &[b' '; 12]].concat());
    (out, (literals.len() + copied + 12) as u64)
}

/// A fat binary of one compressed entry of PTX, which holds so many bytes inflated.
fn fatbin(packed: &[u8], flag: u64, inflated: u64) -> Vec<u8> {
    let (len, stored) = (packed.len() as u64, packed.len().next_multiple_of(8) as u64);
    let entry = words(&[1 | 0x101 << 16 | 64 << 32, stored, len, 8 | 90 << 32, 0, flag, 0, inflated]);
    let head = [&[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0][..], &words(&[64 + stored])].concat();
    let mut file = [head, entry, packed.to_vec()].concat();
    file.resize(80 + stored as usize, 0);
    file
}

const PTX: &str = ".version 8.0\n.target sm_90\n";

#[test]
fn arguments_of_one_kernel_by_the_million() {
    let (packed, inflated) = repeated(&format!("{PTX}.entry k("), ".param,", 5 << 20);
    read("a.fatbin", fatbin(&packed, 0x2000, inflated), INSPECT);
    let text = |text: &str| [&[0xa0 | text.len() as u8][..], text.as_bytes()].concat();
    let maps = vec![0x80; 3 << 20];
    let arguments = [&[0xdd][..], &(maps.len() as u32).to_be_bytes(), &maps].concat();
    let kernel = [vec![0x82], text(".name"), text("k"), text(".args"), arguments].concat();
    let metadata = [vec![0x81], text("amdhsa.kernels"), vec![0x91], kernel].concat();
    let head = [7, metadata.len() as u32, 32].map(u32::to_le_bytes).concat();
    let mut note = [head, b"AMDGPU\0\0".to_vec(), metadata].concat();
    note.resize(note.len().next_multiple_of(4), 0);
    read("a.hsaco", of_device(224, 2, &[(".note", 7, &note, 0)]), INSPECT);
}

/// Fat binaries of 16 KB with half a million kernels each, and of 104 bytes that inflate to 250 KB.
#[test]
fn fat_binaries_of_many_kernels_or_bytes() {
    let (packed, inflated) = repeated(PTX, ".entry k{}", 500_000);
    let verbs: &[&[&str]] = &[&["inspect"], &["kernels"], &["check", "-t", "nvidia_gpu_sm_90"]];
    read("a.o", of_host(&[(".nv_fatbin", &fatbin(&packed, 0x2000, inflated).repeat(8))]), verbs);
    const BLANKS: usize = 250 << 10;
    let packed = blocks([&[0xa0][..], &(BLANKS as u32).to_le_bytes()].concat(), BLANKS);
    read("a.o", of_host(&[(".nv_fatbin", &fatbin(&packed, 0x8000, BLANKS as u64).repeat(20_000))]), INSPECT);
}

/// Kernel that names many variables, and one of them again and again.
#[test]
fn variables_that_a_kernel_names_without_end() {
    const COUNT: usize = 30_000;
    let each = |unit: &dyn Fn(usize) -> String| (0..COUNT).map(unit).collect::<String>();
    let (declared, named) = (each(&|nth| format!(".shared .b8 s{nth};")), each(&|nth| format!("s{nth} ")));
    let again = format!("s{} ", COUNT - 1).repeat(300_000);
    read("a.ptx", format!("{PTX}{declared}.entry k(){{{named}{again}}}").into_bytes(), INSPECT);
}

/// Threads do not decide which of several payloads have the room.
#[test]
fn the_first_payloads_have_the_room() {
    let (packed, inflated) = repeated(PTX, ".entry k{}", 60_000);
    let folder = super::support::folder::Folder::new();
    folder.put("a.o", of_host(&[(".nv_fatbin", &fatbin(&packed, 0x2000, inflated).repeat(10))]));
    let run = |threads: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sycl-bundle"));
        command.args(["inspect", "a.o"]).env("RAYON_NUM_THREADS", threads).current_dir(folder.path());
        let done = command.output().unwrap();
        assert_eq!(done.status.code(), Some(3));
        String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned()
    };
    let said = run("4");
    assert!(said.contains("more kernels and arguments than a file of its size has"), "{said}");
    assert!(said.contains("10 images, 4 kernels"), "{said}");
    assert_eq!(said, run("1"));
}

/// A Data Center GPU Max.
const GPU: u32 = 12 << 22 | 60 << 14 | 7;

/// A zebin of some sections.
fn zebin(sections: &[(&str, u64, &[u8], u64)]) -> Vec<u8> {
    zebin_for(GPU, sections)
}

/// A zebin of some sections for the GPU of that number.
fn zebin_for(gmdid: u32, sections: &[(&str, u64, &[u8], u64)]) -> Vec<u8> {
    let note = [[8u32, 4, 6].map(u32::to_le_bytes).concat(), b"IntelGT\0".to_vec(), gmdid.to_le_bytes().to_vec()];
    let note = note.concat();
    let own: [(&str, u64, &[u8], u64); 2] = [(".text.k", 1, &[0; 64], 0), (".note.intelgt.compat", 7, &note, 0)];
    of_device(205, 0, &[&own[..], sections].concat())
}

#[test]
fn kernels_of_one_name_beside_notes_on_many_arguments() {
    let notes: String = (0..3_000).map(|nth| format!("  - index: {nth}\n")).collect();
    let text = format!("kernels:\n{}kernels_misc_info:\n- name: a\n  args_info:\n{notes}", "- name: a\n".repeat(3_000));
    read("a.bin", zebin(&[(".ze_info", 0xff00_0011, text.as_bytes(), 0)]), INSPECT);
}

#[test]
fn sections_of_many_images_that_share_a_long_name() {
    let name = format!(".debug{}", "a".repeat(260_000));
    let info = b"kernels:\n- name: k\n";
    let sections: Vec<(&str, u64, &[u8], u64)> = vec![(&name, 1, &[0], 0); 240];
    let image = zebin(&[&[(".ze_info", 0xff00_0011, &info[..], 0)][..], &sections].concat());
    let ids: Vec<String> = (0..20).map(|nth| format!("sycl-spir64_gen-unknown-unknown-pvc{nth:02}")).collect();
    let head = 32 + ids.iter().map(|id| 24 + id.len() as u64).sum::<u64>();
    let mut bundle = [b"__CLANG_OFFLOAD_BUNDLE__".to_vec(), words(&[ids.len() as u64])].concat();
    for id in &ids {
        bundle.extend([words(&[head, image.len() as u64, id.len() as u64]), id.clone().into_bytes()].concat());
    }
    read("a.bc", [bundle, image].concat(), &[&["inspect", "--max-memory", "384MiB"]]);
}

/// Code of one kernel for the GPU of that number, with lines of its environment and behind the kernel.
fn code(gmdid: u32, environment: &str, more: &str) -> Vec<u8> {
    let text = format!(
        "---\nversion: '1.73'\nkernels:\n  - name: k\n    execution_env:\n      simd_size: 32\n{environment}{more}...\n"
    );
    let mut file = zebin_for(gmdid, &[(".ze_info", 0xff00_0011, text.as_bytes(), 0)]);
    file[16..18].copy_from_slice(&[0x12, 0xff]);
    file
}

/// An archive of members.
fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file = b"!<arch>\n".to_vec();
    for (name, member) in members {
        file.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, member.len()).into_bytes());
        file.extend(*member);
        file.resize(file.len().next_multiple_of(2), 0);
    }
    file
}

/// As `ocloc compile -device 12.60.5 -exclude_ir` makes it: refused by driver 26.27 for a Data Center GPU Max, which is 12.60.7 (-42,
/// 0x70000004).
#[test]
fn code_for_another_revision_of_a_gpu_does_not_run() {
    let number = |architecture: u32, release: u32, revision: u32| architecture << 22 | release << 14 | revision;
    for (gmdid, target, expected) in [
        (GPU, "intel_gpu_pvc", true),
        (number(12, 60, 0), "intel_gpu_pvc", false),
        (number(12, 60, 5), "intel_gpu_pvc", false),
        (GPU | 1 << 8, "intel_gpu_pvc", false),
        (number(12, 70, 0), "intel_gpu_mtl_u", false),
        (number(12, 71, 0), "intel_gpu_mtl_h", false),
        (number(20, 1, 0), "intel_gpu_bmg_g21", true),
        (number(20, 1, 0), "intel_gpu_lnl_m", true),
        (number(20, 4, 0), "intel_gpu_lnl_m", false),
        (number(30, 0, 0), "intel_gpu_ptl_h", false),
        (number(30, 1, 0), "intel_gpu_ptl_u", true),
        (number(30, 0, 4), "intel_gpu_ptl_u", true),
    ] {
        assert_eq!(runs("a.bin", &code(gmdid, "", ""), target), expected, "{gmdid:#x} on {target}");
    }
}

/// Driver 26.27 goes by names of members, asks `generic_ir` for SPIR-V in a container, and drops an archive with a member without a
/// name.
#[test]
fn members_are_those_that_a_driver_finds() {
    let (own, other) = (code(GPU, "", ""), code(20 << 22 | 1 << 14, "", ""));
    let spirv = super::judged::module(&[], &[], &[], &[]);
    for (members, expected) in [
        (&[("64.12.60.7/", &own[..])][..], true),
        (&[("64.12.60/", &own)], true),
        (&[("64.pvc/", &own)], true),
        (&[("pvc/", &own)], false),
        (&[("12.60.7/", &own)], false),
        (&[("0.12.60.7/", &own)], false),
        (&[("64/", &own)], false),
        (&[("xehpc/", &own)], false),
        (&[("pvc/", &other), ("64.12.60.7/", &own)], true),
        (&[("64.12.60.7/", &other), ("64.12.60.7/", &own)], false),
        (&[("generic_ir/", &own)], false),
        (&[("64.12.60.7/", &other), ("generic_ir/", &own)], false),
        (&[("64.12.60.7/", &other), ("generic_ir/", &spirv)], false),
        (&[("64.12.60.7/", &other), ("generic_ir.spv/", &spirv)], false),
        (&[("/", &[0; 4]), ("//", b"abc/\n\n\n\n"), ("64.12.60.7/", &own)], false),
        (&[("64.pvc.7/", &own), ("64.pvc/", &own)], true),
        (&[("64.pvc/", &own), ("64.pvc.7/", &own)], false),
    ] {
        let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
        assert_eq!(runs("a.bin", &archive(members), "intel_gpu_pvc"), expected, "{names:?}");
    }
}

/// Refused by driver 26.27, or its end once a program asks for the arguments.
#[test]
fn numbers_of_a_description_are_those_that_drivers_take() {
    let told = |entry: &str| format!("kernels_misc_info:\n  - name: k\n    args_info:\n      - {entry}\n");
    let passed = "    payload_arguments:\n      - arg_type: arg_byvalue\n        offset: 0\n        size: 4\n        arg_index: 0\n";
    let attribute = |line: &str| format!("    user_attributes:\n      {line}\n");
    for (environment, more, expected) in [
        ("      slm_size: 64\n", String::new(), true),
        ("      slm_size: -1\n", String::new(), false),
        ("      required_work_group_size: [ 32, 1, 1 ]\n", String::new(), true),
        ("      required_work_group_size: [ -1, 1, 1 ]\n", String::new(), false),
        ("", attribute("reqd_work_group_size: [ -1, 1, 1 ]"), false),
        ("", attribute("intel_reqd_workgroup_walk_order: [ 0, 1, 2 ]"), true),
        ("", attribute("intel_reqd_workgroup_walk_order: [ -1, 1, 1 ]"), false),
        ("", [passed, &told("index: 0\n        name: a")].concat(), true),
        ("", [passed, &told("index: 1\n        name: a")].concat(), false),
        ("", [passed, &told("index: 0\n        name: ''")].concat(), false),
        ("", [passed, &told("index: 0\n        access_qualifier: [ 1, 2 ]")].concat(), false),
    ] {
        let file = code(GPU, environment, &more);
        assert_eq!(runs("a.bin", &file, "intel_gpu_pvc"), expected, "{environment}{more}");
    }
}
