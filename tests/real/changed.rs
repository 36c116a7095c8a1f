//! What does a driver get of a module that changed after it was judged?

use crate::support::spirv;
use crate::world::world;
use std::num::NonZeroUsize;
use sycl_bundle::build::{Engine, FailureCause, Job, Launch, Open, Settings, run};

/// Files are mapped, and whoever may write to one can change it at any time: a worker judges the bytes that it hands on.
#[test]
fn a_worker_judges_what_it_gets() {
    let module = |text: &str| spirv::assemble(text).unwrap();
    let text = std::fs::read_to_string("fixtures/spirv/add_one.spvasm").unwrap();
    let entry = text.lines().find(|line| line.contains("OpEntryPoint")).unwrap();
    let kernel = entry.split_whitespace().nth(2).unwrap();
    let runs = text.replacen(entry, &format!("{entry}\nOpExecutionMode {kernel} Initializer"), 1);
    let jobs = [module(&text), module(&runs)].map(|il| Job { il: il.into(), ..Job::default() });
    let command = world().command("worker");
    let set = command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    let launch = Launch {
        program: env!("CARGO_BIN_EXE_sycl-bundle").into(),
        args: vec!["worker".into()],
        env: set.collect(),
        without: Vec::new(),
        reads: None,
        scratch: None,
    };
    let engines = [Engine { launch, open: Open::Cpu }];
    let outcomes = run(&jobs, &engines, &Settings::new(NonZeroUsize::MIN), &mut |_| {}).unwrap();
    let [built, refused] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    assert!(built.is_ok(), "{built:?}");
    let Err(failure) = refused else { panic!("it was built") };
    assert!(
        matches!(&failure.cause, FailureCause::Refused { .. } if failure.log.contains("it has constructors")),
        "{failure:?}"
    );
}
