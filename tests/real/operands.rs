//! Are the ids that the index sees in each instruction those that a disassembler prints?
//!
//! The judge is `spirv-dis` (SPIRV-Tools): of every line, the ids in it. Modules that it refuses, being older than they,
//! are counted and few.

use crate::support::tools::needed;
use std::io::Write as _;
use std::process::Stdio;

use rayon::prelude::*;
use sycl_bundle::bundle::Bundle;
use sycl_bundle::container::Host;
use sycl_bundle::spirv::index::Index;

use crate::world::world;

/// Each library's modules, this far apart: neighbours resemble each other.
const STEP: usize = 23;

#[test]
fn ids_are_those_that_the_disassembler_prints() {
    let outcomes: Vec<Option<usize>> = world().fat_libraries().par_iter().flat_map(|library| judge(library)).collect();
    let refused = outcomes.iter().filter(|outcome| outcome.is_none()).count();
    let instructions: usize = outcomes.iter().flatten().sum();
    println!("{} modules, {refused} refused, {instructions} instructions", outcomes.len());
    assert!(outcomes.len() > 1_500 && refused * 50 < outcomes.len(), "{refused} of {} refused", outcomes.len());
}

fn judge(library: &std::path::Path) -> Vec<Option<usize>> {
    let bytes = std::fs::read(library).unwrap();
    let host = Host::read(&bytes).unwrap();
    let bundle = Bundle::read(&host).unwrap();
    let images: Vec<_> = bundle.images.iter().step_by(STEP).collect();
    images
        .par_iter()
        .filter_map(|image| {
            let module = image.contents().unwrap();
            module.starts_with(&0x0723_0203u32.to_le_bytes()).then(|| {
                let text = disassemble(&module)?;
                Some(compare(&module, &text, &format!("{} image {}", library.display(), image.index)))
            })
        })
        .collect()
}

fn disassemble(module: &[u8]) -> Option<String> {
    let mut child = needed("spirv-dis")
        .args(["--raw-id", "--no-color", "--no-indent", "--no-header"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("spirv-dis of SPIRV-Tools");
    let mut stdin = child.stdin.take().unwrap();
    let input = module.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    // One that refuses the module may close its input early.
    let _ = writer.join().unwrap();
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The number of instructions that were compared.
fn compare(module: &[u8], text: &str, name: &str) -> usize {
    let index = Index::read(module).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), index.len(), "{name}: as many lines as instructions");
    for ((_, instruction), line) in index.instructions(0..index.len()).zip(lines) {
        let mut ours = Vec::new();
        assert!(index.for_each_id(&instruction, |at, _| ours.push(instruction.word(at))), "{name}: {line}");
        let mut theirs: Vec<u32> = unquoted(line)
            .split_whitespace()
            .filter_map(|token| token.strip_prefix('%'))
            .map(|id| id.parse().unwrap())
            .collect();
        ours.sort_unstable();
        theirs.sort_unstable();
        assert_eq!(ours, theirs, "{name}: {line}");
    }
    index.len()
}

/// A line without what stands in quotes, where a percent sign is no id.
fn unquoted(line: &str) -> String {
    let mut out = String::new();
    let (mut quoted, mut escaped) = (false, false);
    for letter in line.chars() {
        match letter {
            '"' if !escaped => quoted = !quoted,
            _ if !quoted => out.push(letter),
            _ => {}
        }
        escaped = letter == '\\' && !escaped;
    }
    out
}
