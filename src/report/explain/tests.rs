//! Does the JSON fulfil its published schema, and does the text say what counts?

use super::*;
use crate::compat::aspects::{Aspect, Evidence, Step};
use crate::compat::explain::{cause, said};
use crate::compat::fit::Rule;
use crate::compat::gate::{Against, Matter};
use crate::report::inspect::View;
use crate::report::json::tests::against;
use serde_json::Value;

fn explanation() -> Explanation {
    let evidence = Evidence {
        aspect: Aspect::Fp64,
        chain: vec![Step { module: 0, function: "k".into(), call: None }],
        instruction: "OpFMul %double".into(),
        offset: 20,
        place: None,
        elsewhere: None,
    };
    let message =
        said::read("Required aspect fp64 is not supported on the device\nopencl backend failed with error: 7 (X)");
    let told = message.sayings.into_iter().map(|saying| MessageLine {
        meaning: cause::meaning(&saying.said),
        remedies: cause::remedies(&saying.said, cause::Known::default()),
        files: vec![FileConcerns {
            file: "a.so".into(),
            concerns: vec![Concern {
                image: Some(3),
                kernel: Some("k".into()),
                message: "uses it".into(),
                evidence: Some(evidence.clone()),
            }],
            note: Some("a note".into()),
        }],
        saying,
    });
    let against = Against {
        matter: Matter::Image(Rule::Aspect),
        certain: true,
        message: "no".into(),
        aspect: Some("fp64".into()),
        remedy: "do".into(),
    };
    let found = Objection { against: Arc::new(against), image: Some(3), evidence: Some(evidence.clone()) };
    let fates = [Fate::PassedOver("Image was compiled for x.".into()), Fate::Candidate, Fate::Chosen];
    let seen = |fate| KernelImage { image: 1, format: "spirv", devices: "spir64".into(), fate };
    let choice = ImageChoice {
        file: "a.so".into(),
        target: "t".into(),
        kernel: "k".into(),
        images: fates.into_iter().map(seen).collect(),
        rule: "rule",
        verdict: Verdict::Incompatible,
        thrown: Some(Thrown { errc: "kernel_not_supported", text: "no".into(), certain: true }),
        findings: vec![found],
        traps: vec![Trap::Ambiguous, Trap::NoFallback, Trap::AnyGpu, Trap::NativeImports],
    };
    let built = |failure| Built { file: "a.so".into(), device: "D".into(), kernel: "k".into(), image: 1, failure };
    let built = vec![built(None), built(Some((Some("build"), "why".into())))];
    Explanation { lines: told.collect(), choices: vec![choice], built }
}

#[test]
fn what_is_written_fulfils_the_schema() {
    let mut text = Vec::new();
    json(&mut text, &explanation()).unwrap();
    let mut document: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(against(&schema(), &document), Vec::<String>::new());
    assert_eq!(document["sayings"][0]["topic"], "aspect");
    assert_eq!(document["choices"][0]["images"][0]["fate"], "passed-over");
    document["choices"][0]["verdict"] = "maybe".into();
    assert_eq!(against(&schema(), &document).len(), 1);
}

#[test]
fn lines_keep_to_the_width() {
    let view = View { width: 60, demangle: true, color: false };
    let text = text(&explanation(), &view);
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    for part in ["OpFMul %double", "picked: rule", "errc::kernel_not_supported: no", "errc::build: why"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
