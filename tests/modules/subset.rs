//! Is a subset of a module what an independent model of reachability says, and a module that SPIRV-Tools accepts?

mod cases;
mod fold;
mod graph;

use crate::support::spirv;
use graph::Seen;
use proptest::prelude::*;
use sycl_bundle::spirv::index::Index;
use sycl_bundle::spirv::subset::{Cutter, Keep};

/// Asserts that `spirv-val` takes modules, where the tests have it.
pub fn accepted<'m>(modules: impl IntoIterator<Item = &'m Vec<u8>>) {
    modules.into_iter().for_each(|module| spirv::valid(module, &["--target-env", "spv1.4"]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn subsets_of_random_call_graphs_are_those_of_the_model(graph in graph::any(), big in any::<bool>()) {
        let words = graph.words();
        let bytes: Vec<u8> =
            words.iter().flat_map(|word| if big { word.to_be_bytes() } else { word.to_le_bytes() }).collect();
        let index = Index::read(&bytes).unwrap();
        prop_assert!(index.unknown.is_empty() && index.stopped.is_none());
        let mut cutter = Cutter::new(&index).unwrap();
        let mut made = Vec::new();
        for (kernels, functions) in graph.choices() {
            let ids: Vec<u32> = functions.iter().map(|function| graph.function_id(*function)).collect();
            let module = cutter.cut(&Keep { entry_points: &kernels, ids: &ids }).unwrap();
            let seen = Seen::read(&module);
            let expected = graph.reached(&kernels, &functions);
            prop_assert_eq!(&seen.functions, &expected.functions, "functions");
            prop_assert_eq!(&seen.variables, &expected.variables, "variables");
            prop_assert_eq!(&seen.calls, &expected.calls, "calls");
            prop_assert_eq!(&seen.kernels, &expected.kernels, "kernels");
            prop_assert_eq!(&seen.exports, &expected.exports, "exports");
            prop_assert_eq!(&seen.modes, &expected.modes, "modes");
            prop_assert_eq!(seen.pointers, expected.pointers, "the capability of function pointers");
            prop_assert_eq!(seen.bound as usize, seen.ids + 1, "ids are compact");
            // The same again is the same, and a subset of a subset is itself.
            prop_assert_eq!(&cutter.cut(&Keep { entry_points: &kernels, ids: &ids }).unwrap(), &module);
            // Debian's spirv-val takes no pointers to functions.
            if !expected.pointers {
                made.push(module);
            }
        }
        accepted(&made);
    }

    /// Whatever the words say: a subset, or an error with its place; never a panic.
    #[test]
    fn damaged_modules_are_cut_or_refused(
        graph in graph::any(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![any::<u32>(), 0u32..64]), 1..6),
    ) {
        let mut words = graph.words();
        for (at, word) in damage {
            let at = 5 + at.index(words.len() - 5);
            words[at] = word;
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let index = Index::read(&bytes).unwrap();
        if let Ok(mut cutter) = Cutter::new(&index) {
            for place in 0..index.entry_points.len() {
                if let Ok(module) = cutter.cut(&Keep { entry_points: &[place], ids: &[] }) {
                    let again = Index::read(&module).unwrap();
                    prop_assert!(again.stopped.is_none());
                    prop_assert_eq!(again.entry_points.len(), 1);
                }
            }
        }
    }
}
