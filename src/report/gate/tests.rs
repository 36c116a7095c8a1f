//! Do the forms hold what their readers require?

use super::*;
use crate::compat::aspects::{Aspect, Evidence, Step};
use crate::compat::finding::{Finding, RuleId};
use crate::compat::gate::judgement::{Grouping, Kernels, Whose};
use crate::native::Coverage;
use crate::report::evidence::Names;
use crate::report::inspect::View;
use crate::source::SourceLocation;

const NAMES: Names = Names { demangle: true };

fn place(line: u32) -> Option<SourceLocation> {
    Some(SourceLocation { file: "src/a.cpp".to_owned(), line, column: 9 })
}

/// Two kernels of three: one that cannot run, with its chain, one of which it is not known.
fn answers() -> Vec<TargetFindings> {
    let item = |certain: bool| Item {
        finding: Arc::new(Finding {
            rule: if certain { RuleId::Aspect } else { RuleId::SpirvVersion },
            certain,
            message: format!("message {certain}"),
            aspect: certain.then(|| "fp64".to_owned()),
            remedy: "do <this>".to_owned(),
        }),
        whose: Some(Whose::Own(0)),
        excused: None,
    };
    let step = |function: &str, call| Step { module: 0, function: function.to_owned(), call };
    let evidence = Evidence {
        aspect: Aspect::Fp64,
        chain: vec![step("wide", None), step("leaf", place(7))],
        instruction: "OpFMul %double".to_owned(),
        offset: 64,
        place: place(3),
        elsewhere: None,
    };
    let kernels = ["wide", "open", "fine"].map(|name| (name.into(), vec![0])).into();
    let judged = Judgement {
        kernels: Arc::new(Kernels::new(kernels, vec![0])),
        grouping: Arc::new(Grouping::new(vec![0, 1, 2])),
        items: vec![vec![item(true)], vec![item(false)], Vec::new()],
        code: vec![Some(Coverage::Jit); 3],
    };
    let proofs = Arc::new(Proofs::from_iter([((0, 0, Aspect::Fp64), evidence)]));
    vec![TargetFindings {
        target: "gpu".to_owned(),
        files: vec![FileFindings { file: "a & b.so".into(), judged, proofs }],
    }]
}

/// Excuses the first finding of the first kernel.
fn excuse(answers: &mut [TargetFindings]) {
    answers[0].files[0].judged.items[0][0].excused = Some("known".into());
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> crate::error::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn kernels_are_counted_once_and_the_excused_not_at_all() {
    let mut answers = answers();
    assert_eq!(answers[0].counts(), Counts { compatible: 1, unknown: 1, incompatible: 1 });
    assert_eq!(verdict(&answers), Verdict::Incompatible);
    excuse(&mut answers);
    assert_eq!(answers[0].counts(), Counts { compatible: 2, unknown: 1, incompatible: 0 });
    assert_eq!(verdict(&answers), Verdict::Unknown);
}

/// Holds SARIF to what the schema of 2.1.0 requires of the members that are there.
#[test]
fn sarif_has_what_the_schema_requires() {
    let document: serde_json::Value = serde_json::from_str(&written(|out| sarif(out, &answers(), None))).unwrap();
    assert_eq!(document["version"], "2.1.0");
    let run = &document["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "sycl-bundle");
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for rule in rules {
        assert!(
            rule["id"].is_string() && rule["help"]["text"].is_string() && rule["shortDescription"]["text"].is_string()
        );
    }
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    for result in results {
        let rule = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[rule]["id"], result["ruleId"]);
        assert!(["error", "warning", "note", "none"].contains(&result["level"].as_str().unwrap()));
        assert!(result["message"]["text"].is_string());
        assert!(result["partialFingerprints"]["syclBundleFinding/v1"].is_string());
        assert_eq!(result["locations"][0]["logicalLocations"][0]["kind"], "function");
    }
    let physical = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(physical["artifactLocation"]["uri"], "src/a.cpp");
    assert_eq!((&physical["region"]["startLine"], &physical["region"]["startColumn"]), (&3.into(), &9.into()));
    let flow = results[0]["codeFlows"][0]["threadFlows"][0]["locations"].as_array().unwrap();
    let line = |at: usize| flow[at]["location"]["physicalLocation"]["region"]["startLine"].as_u64();
    assert_eq!((line(0), line(1), line(2)), (None, Some(7), Some(3)));
    let whole = &results[1]["locations"][0]["physicalLocation"];
    assert_eq!((&whole["artifactLocation"]["uri"], whole.get("region")), (&"a%20%26%20b.so".into(), None));
}

#[test]
fn excused_findings_are_suppressed() {
    let mut answers = answers();
    excuse(&mut answers);
    let document: serde_json::Value = serde_json::from_str(&written(|out| sarif(out, &answers, None))).unwrap();
    let suppression = &document["runs"][0]["results"][0]["suppressions"][0];
    assert_eq!((&suppression["kind"], &suppression["justification"]), (&"external".into(), &"known".into()));
    assert!(!github(&answers, NAMES).contains("wide"));
    assert!(written(|out| junit(out, &answers, NAMES, false)).contains("<skipped message=\"known\"/>"));
}

#[test]
fn junit_has_a_case_for_each_kernel() {
    let text = written(|out| junit(out, &answers(), NAMES, false));
    assert_eq!((text.matches("<testcase ").count(), text.matches("<failure ").count()), (3, 1));
    assert!(text.contains("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""), "{text}");
    assert!(text.contains("classname=\"a &amp; b.so\"") && text.contains("do &lt;this&gt;"), "{text}");
    let strict = written(|out| junit(out, &answers(), NAMES, true));
    assert!(strict.contains("tests=\"3\" failures=\"2\" errors=\"0\" skipped=\"0\""), "{strict}");
}

#[test]
fn annotations_stand_at_the_line_of_the_use() {
    let text = github(&answers(), NAMES);
    let first = "::error file=src/a.cpp,line=3,col=9,title=aspect on gpu::message true%0Akernel wide%0Ahelp: do <this>";
    assert_eq!(text.lines().next(), Some(first));
    assert!(text.lines().nth(1).unwrap().starts_with("::warning file=a & b.so,title=spirv-version on gpu::"), "{text}");
}

/// A file as a whole is no kernel, and is in every form.
#[test]
fn files_as_wholes_are_no_kernels() {
    let against = Finding {
        rule: RuleId::BudgetBytes,
        certain: true,
        message: "too many".to_owned(),
        aspect: None,
        remedy: "fewer".to_owned(),
    };
    let mut all = answers();
    all.push(TargetFindings { target: String::new(), files: vec![FileFindings::whole("b.so".into(), vec![against])] });
    assert_eq!((all[1].counts(), all[1].verdict()), (Counts::default(), Verdict::Incompatible));
    let document: serde_json::Value = serde_json::from_str(&written(|out| sarif(out, &all, None))).unwrap();
    let result = &document["runs"][0]["results"][2];
    assert_eq!((&result["ruleId"], &result["message"]["text"]), (&"budget-bytes".into(), &"too many".into()));
    assert!(result["locations"][0].get("logicalLocations").is_none());
    let text = github(&all, NAMES);
    assert_eq!(text.lines().last(), Some("::error file=b.so,title=budget-bytes on policy::too many%0Ahelp: fewer"));
    let text = written(|out| junit(out, &all, NAMES, false));
    assert!(text.contains("<testcase classname=\"b.so\" name=\"the whole file\">"), "{text}");
    assert!(markdown(&all, NAMES).contains("against the policy: 1 file (budget-bytes)"));
}

#[test]
fn what_a_baseline_holds_is_known_as_often_as_it_counts() {
    let known = baseline::Baseline::from_findings(&answers());
    assert_eq!(known.len(), 2);
    assert_eq!(baseline::Baseline::read("b", &known.text()).unwrap(), known);
    let mut all = answers();
    let mut twice = all[0].files[0].clone();
    twice.file = "elsewhere/a & b.so".into();
    all[0].files.push(twice);
    let files: Vec<Arc<str>> = all[0].files.iter().map(|of| of.file.clone()).collect();
    let compared = known.apply("b", &mut all, &files);
    let knows: Vec<bool> = all[0].findings().map(|finding| compared.knows(&finding.found)).collect();
    assert_eq!((knows, compared.gone.len()), (vec![true, true, false, false], 0));
    assert_eq!(verdict(&all), Verdict::Incompatible);
    let mut fine = answers();
    fine[0].files[0].judged.items = vec![Vec::new(), Vec::new(), Vec::new()];
    let compared = known.apply("b", &mut fine, &files);
    let gone: Vec<&str> = compared.gone.iter().map(|one| one.kernel.as_str()).collect();
    assert_eq!(gone, ["wide", "open"]);
    assert_eq!(known.apply("b", &mut fine, &["other.so".into()]).gone, []);
}

#[test]
fn the_matrix_leaves_blank_what_was_not_asked() {
    use crate::report::table::Drawing;
    let mut answers = answers();
    // A second target of which a policy asks about one kernel, and demands something of the file.
    let mut of = answers[0].files[0].clone();
    of.judged = Judgement {
        kernels: Arc::new(Kernels::new(vec![("fine".into(), vec![0])], vec![0])),
        grouping: Arc::new(Grouping::new(vec![0])),
        items: vec![Vec::new()],
        code: vec![Some(Coverage::Jit)],
    };
    let whole = FileFindings::whole("a & b.so".into(), Vec::new());
    answers.push(TargetFindings { target: "cpu".to_owned(), files: vec![whole, of] });
    let view = View { width: 60, demangle: true, color: false };
    let ascii = matrix(&answers, &view, Drawing::Ascii, SOME);
    let lines: Vec<&str> = ascii.lines().collect();
    assert_eq!(lines[..4], [", gpu", "| , cpu", "x    1  wide", "?    1  open"], "{ascii}");
    assert_eq!(lines[4], "+ +  1  runs on all of them", "{ascii}");
    let few = matrix(&answers, &View { color: true, ..view }, Drawing::Unicode, 1);
    assert!(few.contains("\x1b[31m✗\x1b[0m") && few.contains("and 1 kernel more") && !few.contains("open"), "{few}");
    assert!(few.contains("runs on all of them"), "{few}");
}

#[test]
fn the_matrix_tells_what_is_excused_from_what_runs() {
    use crate::report::table::Drawing;
    let mut answers = answers();
    let view = View { width: 80, demangle: true, color: false };
    let text = matrix(&answers, &view, Drawing::Unicode, SOME);
    assert!(text.ends_with("✓ runs, ✗ cannot run, ? unknown; the number is that of kernels\n"), "{text}");
    excuse(&mut answers);
    let text = matrix(&answers, &view, Drawing::Unicode, SOME);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1..4], ["?  1  open", "~  1  wide", "✓  1  runs on all of them"], "{text}");
    assert_eq!(lines[4], "✓ runs, ~ excused, ✗ cannot run, ? unknown; the number is that of kernels");
}

#[test]
fn native_code_has_a_sign_and_a_count_of_its_own() {
    use crate::report::table::Drawing;
    let mut answers = answers();
    answers[0].files[0].judged.code = vec![Some(Coverage::Native); 3];
    let CoverageCounts { native, jit, none } = answers[0].coverage();
    assert_eq!((native, jit, none), (2, 0, 1), "what cannot run has no code that runs");
    // A kernel whose lack is excused counts as compatible, and does not run all the same.
    excuse(&mut answers);
    assert_eq!(answers[0].coverage(), CoverageCounts { native, jit, none });
    let view = View { width: 60, demangle: true, color: false };
    let ascii = matrix(&answers, &view, Drawing::Ascii, SOME);
    assert!(ascii.contains("\nN  1  runs on all of them\n"), "{ascii}");
    assert!(ascii.contains("N native, + just in time"), "{ascii}");
}
