//! The communicating classes of a Markov chain, whose states can reach one another, and the closed ones, in which mass
//! stays. It accepts rates as well as probabilities, because it ignores the diagonal.

use petgraph::{algo::tarjan_scc, graph::DiGraph};

use super::statistics::normalise;

/// States that can all be reached from one another.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// The states of the class, ascending.
    pub states: Vec<usize>,
    /// The stationary distribution over all n states where the class cannot be left, zero outside of the class.
    pub stationary: Option<Vec<f64>>,
}

impl Class {
    /// Returns true if no transition leaves the class.
    pub fn is_closed(&self) -> bool {
        self.stationary.is_some()
    }
}

/// All classes of n states, by their first states; `rate(from, to)`: how often, or how probably, one is left for the other.
pub fn communicating_classes(n: usize, rate: impl Fn(usize, usize) -> f64) -> Vec<Class> {
    let mut graph = DiGraph::<(), ()>::with_capacity(n, n);
    let nodes: Vec<_> = (0..n).map(|_| graph.add_node(())).collect();
    for (from, to) in (0..n * n).map(|at| (at / n, at % n)) {
        if from != to && rate(from, to) > 0.0 {
            graph.add_edge(nodes[from], nodes[to], ());
        }
    }
    let class = |nodes: Vec<petgraph::graph::NodeIndex>| {
        let mut states: Vec<usize> = nodes.iter().map(|node| node.index()).collect();
        states.sort_unstable();
        let is_left = |from: usize| (0..n).any(|to| rate(from, to) > 0.0 && states.binary_search(&to).is_err());
        let is_closed = !states.iter().any(|from| is_left(*from));
        let stationary = is_closed.then(|| stationary(n, &states, &rate));
        Class { states, stationary }
    };
    let mut found: Vec<Class> = tarjan_scc(&graph).into_iter().map(class).collect();
    found.sort_by_key(|class| class.states[0]);
    found
}

/// The number of classes that cannot be left: the dimension of the space of stationary vectors.
pub fn closed_classes(classes: &[Class]) -> usize {
    classes.iter().filter(|class| class.is_closed()).count()
}

/// The stationary distribution of a closed class, by the elimination of Grassmann, Taksar and Heyman (Operations Research
/// 33 (1985) 1107): it subtracts nothing, so that each entry has full relative precision.
fn stationary(n: usize, states: &[usize], rate: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let m = states.len();
    // q[i][j]: from the class's i-th state to its j-th
    let mut q: Vec<Vec<f64>> = states.iter().map(|from| states.iter().map(|to| rate(*from, *to)).collect()).collect();
    for k in (1..m).rev() {
        let left: f64 = q[k][..k].iter().sum();
        let (before, rest) = q.split_at_mut(k);
        for row in before {
            row[k] /= left;
            let share = row[k];
            row[..k].iter_mut().zip(&rest[0][..k]).for_each(|(value, through)| *value += share * through);
        }
    }
    let mut weights = vec![1.0; m];
    (1..m).for_each(|k| weights[k] = (0..k).map(|i| weights[i] * q[i][k]).sum());
    normalise(&mut weights);
    let mut all = vec![0.0; n];
    states.iter().zip(weights).for_each(|(state, weight)| all[*state] = weight);
    all
}

#[cfg(test)]
mod tests {
    use crate::analysis::generator::{Generator, classes};

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
    fn an_open_class_has_no_stationary_distribution() {
        // the graph is 0 -> 1 <-> 2, and state 3 is isolated
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
