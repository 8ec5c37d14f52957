//! The communicating classes of a generator and the stationary distribution of each closed one. It follows no flow.

use petgraph::{algo::tarjan_scc, graph::DiGraph};

use super::Generator;

/// States that can all be reached from each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// Smallest first.
    pub states: Vec<usize>,
    /// Where the class cannot be left: its stationary distribution over all n states, zero outside of the class.
    pub stationary: Option<Vec<f64>>,
}

/// All classes, by their smallest state. The kernel of the generator has as many dimensions as there are closed classes;
/// an irreducible generator has one class.
pub fn classes(a: &Generator) -> Vec<Class> {
    let n = a.len();
    let mut graph = DiGraph::<(), ()>::with_capacity(n, n * n);
    let nodes: Vec<_> = (0..n).map(|_| graph.add_node(())).collect();
    for (from, to) in (0..n * n).map(|at| (at / n, at % n)) {
        if from != to && a.rate(from, to) > 0.0 {
            graph.add_edge(nodes[from], nodes[to], ());
        }
    }
    let mut found: Vec<Class> = tarjan_scc(&graph)
        .into_iter()
        .map(|nodes| {
            let mut states: Vec<usize> = nodes.into_iter().map(|node| node.index()).collect();
            states.sort_unstable();
            let is_left = |from: &usize| (0..n).any(|to| a.rate(*from, to) > 0.0 && !states.contains(&to));
            let is_closed = !states.iter().any(is_left);
            let stationary = is_closed.then(|| stationary(a, &states));
            Class { states, stationary }
        })
        .collect();
    found.sort_by_key(|class| class.states[0]);
    found
}

/// The stationary distribution of a closed class, by the elimination of Grassmann, Taksar and Heyman (Operations Research
/// 33 (1985) 1107): it subtracts nothing, so that each entry has full relative precision.
fn stationary(a: &Generator, states: &[usize]) -> Vec<f64> {
    let m = states.len();
    // q[i][j]: the rate from the class's i-th state to its j-th
    let mut q: Vec<Vec<f64>> = states.iter().map(|from| states.iter().map(|to| a.rate(*from, *to)).collect()).collect();
    for k in (1..m).rev() {
        let left: f64 = q[k][..k].iter().sum();
        let (before, rest) = q.split_at_mut(k);
        for row in before {
            row[k] /= left;
            let share = row[k];
            for (value, through) in row[..k].iter_mut().zip(&rest[0][..k]) {
                *value += share * through;
            }
        }
    }
    let mut weights = vec![1.0; m];
    for k in 1..m {
        weights[k] = (0..k).map(|i| weights[i] * q[i][k]).sum();
    }
    let total: f64 = weights.iter().sum();
    let mut all = vec![0.0; a.len()];
    for (state, weight) in states.iter().zip(weights) {
        all[*state] = weight / total;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_birth_death_chain_has_its_products() {
        // up 2, down 1: p_k proportional to 2^k
        let n = 8;
        let mut rates = vec![0.0; n * n];
        for k in 0..n - 1 {
            rates[(k + 1) * n + k] = 2.0;
            rates[k * n + k + 1] = 1.0;
        }
        let found = classes(&Generator::from_rates(n, rates).unwrap());
        assert_eq!(found.len(), 1);
        for (k, p) in found[0].stationary.as_ref().unwrap().iter().enumerate() {
            let known = f64::powi(2.0, k as i32) / 255.0;
            assert!((p / known - 1.0).abs() < 1e-14, "{k}: {p} and {known}");
        }
    }

    #[test]
    fn what_can_be_left_has_no_stationary_distribution() {
        // 0 -> 1 <-> 2, and 3 alone
        let mut rates = vec![0.0; 16];
        rates[4] = 1.0; // 0 -> 1
        rates[2 * 4 + 1] = 1.0;
        rates[4 + 2] = 3.0;
        let found = classes(&Generator::from_rates(4, rates).unwrap());
        let states: Vec<&[usize]> = found.iter().map(|c| c.states.as_slice()).collect();
        assert_eq!(states, [&[0][..], &[1, 2], &[3]]);
        assert_eq!(found[0].stationary, None);
        assert_eq!(found[1].stationary.as_deref(), Some(&[0.0, 0.75, 0.25, 0.0][..]));
        assert_eq!(found[2].stationary.as_deref(), Some(&[0.0, 0.0, 0.0, 1.0][..]));
    }
}
