//! Does the JSON fulfil its published schema?

use super::*;
use crate::compat::aspects::{Aspect, Evidence, Step as Called};
use crate::compat::warnings::Rule;
use crate::report::json::tests::against;
use crate::spirv::lines::SourceLocation;
use serde_json::Value;

fn warning(rule: Rule, evidence: Option<Evidence>) -> Warning {
    Warning {
        callee: None,
        rule,
        certainty: Certainty::Possible,
        module: 0,
        kernel: "k".into(),
        subject: "fp64".into(),
        target: None,
        evidence,
    }
}

#[test]
fn what_is_written_fulfils_the_schema() {
    let place = SourceLocation { file: "a.cpp".into(), line: 3, column: 0 };
    let step = |module, call| Called { module, function: "f".into(), call };
    let evidence = Evidence {
        aspect: Aspect::Fp64,
        chain: vec![step(0, None), step(1, Some(place.clone()))],
        instruction: "OpFMul %double".into(),
        offset: 20,
        place: Some(place),
        elsewhere: Some(1),
    };
    let warnings = [
        warning(Rule::DeviceHas, Some(evidence.clone())),
        warning(Rule::External, Some(evidence)),
        warning(Rule::FixedTargetAspect, None),
        warning(Rule::FixedTargetSubGroupSize, None),
        warning(Rule::FixedTargetWorkGroupSize, None),
    ];
    let findings = || warnings.iter().map(|warning| Finding { file: "a", image: 1, user: ("b", 2), warning });
    let questions = [Question::Declared, Question::External, Question::Target("spir64")];
    let answers = questions.map(|question| Answer { question, findings: findings().collect(), partial: true });
    let mut text = Vec::new();
    let trouble = FileProblem { file: "a".into(), image: Some(1), offset: None, message: "cut".into() };
    json(&mut text, &answers, &[trouble]).unwrap();
    let mut document: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(against(&schema(), &document), Vec::<String>::new());
    assert_eq!(document["targets"][0]["findings"][0]["used_in"]["file"], "b");
    document["verdict"] = "maybe".into();
    assert_eq!(against(&schema(), &document).len(), 1);
}

#[test]
fn lines_are_findings() {
    let warnings = [warning(Rule::FixedTargetAspect, None)];
    let findings = warnings.iter().map(|warning| Finding { file: "a", image: 1, user: ("b", 2), warning }).collect();
    let mut text = Vec::new();
    jsonl(&mut text, &[Answer { question: Question::Target("spir64"), findings, partial: false }]).unwrap();
    let line: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(
        (&line["target"], &line["question"], &line["kernel"]),
        (&"spir64".into(), &"target".into(), &"k".into())
    );
}
