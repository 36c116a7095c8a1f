//! Down which calls does a use come about?
//!
//! A function that takes a `double` from another uses `double` itself, but not of its own accord. Hence the way to a use is
//! that of DPC++'s warnings: into the first called function that uses the aspect, as far down as it goes.

use super::graph::Way;

/// Progress of the search at a node.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Not,
    Begun,
    Done,
}

/// A node whose calls are being looked at.
struct Begun {
    node: usize,
    /// Nodes that it calls.
    calls: Vec<(Way, usize)>,
    /// Number of these that lead nowhere or in a circle.
    passed: usize,
}

/// For each node the next step of that way; none where only steps that lead in a circle are left.
///
/// `near` are the steps towards the nearest use, `leads` gives the called functions of a node in order, and `uses` tells
/// whether a node uses the aspect itself. A step leads to a node whose own step was fixed before, so that no way is a circle.
pub(super) fn steps(
    near: &[Way],
    leads: impl Fn(usize) -> Vec<(Way, usize)>,
    uses: impl Fn(usize) -> bool,
) -> Vec<Way> {
    let reaches = |node: usize| near.get(node).is_some_and(|way| *way != Way::None);
    let mut steps = vec![Way::None; near.len()];
    let mut states = vec![State::Not; near.len()];
    // The nodes on the way down.
    let mut begun: Vec<Begun> = Vec::new();
    let mut next: Vec<usize> = (0..near.len()).rev().filter(|node| reaches(*node)).collect();
    loop {
        let Some(Begun { node, calls, passed }) = begun.last_mut() else {
            // The next node that nothing has led to.
            let Some(root) = next.pop() else { break };
            if let Some(state) = states.get_mut(root).filter(|state| **state == State::Not) {
                *state = State::Begun;
                begun.push(Begun { node: root, calls: leads(root), passed: 0 });
            }
            continue;
        };
        let node = *node;
        let Some((way, to)) = calls.get(*passed).copied() else {
            // Nothing further down.
            close(&mut steps, &mut states, node, if uses(node) { Way::Here } else { Way::None });
            begun.pop();
            continue;
        };
        match states.get_mut(to).filter(|_| reaches(to)) {
            Some(State::Done) => {
                close(&mut steps, &mut states, node, way);
                begun.pop();
            }
            Some(state @ State::Not) => {
                // Looked at again when that is done.
                *state = State::Begun;
                begun.push(Begun { node: to, calls: leads(to), passed: 0 });
            }
            Some(State::Begun) | None => *passed = passed.saturating_add(1),
        }
    }
    steps
}

fn close(steps: &mut [Way], states: &mut [State], node: usize, way: Way) {
    if let (Some(step), Some(state)) = (steps.get_mut(node), states.get_mut(node)) {
        (*step, *state) = (way, State::Done);
    }
}

#[cfg(test)]
mod tests {
    use super::{Way, steps};

    /// Nodes by their calls; those in `uses` use the aspect.
    fn ways(calls: &[&[usize]], uses: &[usize]) -> Vec<Way> {
        // All of these reach a use.
        let near = vec![Way::Here; calls.len()];
        let leads = |node: usize| (0..).zip(calls[node]).map(|(nth, to)| (Way::Call(nth), *to)).collect();
        steps(&near, leads, |node| uses.contains(&node))
    }

    #[test]
    fn a_use_of_the_callees_is_told_rather_than_ones_own() {
        assert_eq!(ways(&[&[1], &[2], &[]], &[0, 1, 2]), [Way::Call(0), Way::Call(0), Way::Here]);
    }

    #[test]
    fn a_circle_ends_where_it_closes() {
        assert_eq!(ways(&[&[1], &[0]], &[0, 1]), [Way::Call(0), Way::Here]);
        // The second only calls back: it has no step of its own.
        assert_eq!(ways(&[&[1], &[0]], &[0]), [Way::Call(0), Way::None]);
    }

    #[test]
    fn a_function_that_calls_itself_is_the_end() {
        assert_eq!(ways(&[&[0]], &[0]), [Way::Here]);
    }
}
