//! Claim 3 of arXiv 2509.26507 (appendix C.3): a neuron graph that is a product D E is the square of a
//! graph H with few non-negative edges, over the neurons V and a hidden layer S of 2d nodes.
//!
//! The appendix prints D^i with its indices exchanged; here D^i[i, a + d] = (D[i, a])^+, which is what its
//! own check needs.

use super::{dense::Dense, number::Number};

/// An edge: `weight` of what is at `from` goes to `to`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge<N> {
    /// The node that the edge leaves.
    pub from: usize,
    /// The node that the edge enters.
    pub to: usize,
    /// The factor on the value that is sent.
    pub weight: N,
}

/// The edges of the two parts of a matrix, G = G^e - G^i with no entry below zero: entry (row, col) is an
/// edge from col to row.
pub fn parts<N: Number>(g: &Dense<N>) -> [Vec<Edge<N>>; 2] {
    let minus = |v: N| (N::ZERO - v).positive();
    let edges = |part: &dyn Fn(N) -> N| {
        let entry = |i: usize| Edge { from: i % g.cols, to: i / g.cols, weight: part(g.data[i]) };
        (0..g.data.len()).map(entry).filter(|e| e.weight.value() > 0.0).collect()
    };
    [edges(&N::positive), edges(&minus)]
}

/// H^e and H^i of Claim 3 on V + S: nodes `0 .. n` are the neurons, `n .. n + s` the hidden layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Circuit<N> {
    /// The number of neurons.
    pub n: usize,
    /// The number of nodes of the hidden layer, 2d.
    pub hidden: usize,
    /// Edges of H, none below zero: from V to S (E'), then from S to V (D^e or D^i).
    pub edges: Vec<Edge<N>>,
}

/// H^e and H^i with H^e^2\[V\] - H^i^2\[V\] = D E, for D `(n, d)` and E `(d, n)`.
pub fn circuits<N: Number>(d: &Dense<N>, e: &Dense<N>) -> [Circuit<N>; 2] {
    let (n, width) = (e.cols, e.rows);
    let minus = |v: N| (N::ZERO - v).positive();
    let mut up = vec![];
    for a in 0..width {
        for j in 0..n {
            // E'[a, j] = (E[a, j])^+ and E'[a + d, j] = (-E[a, j])^+
            for (node, weight) in [(a, e.at(a, j).positive()), (a + width, minus(e.at(a, j)))] {
                up.push(Edge { from: j, to: n + node, weight });
            }
        }
    }
    let down = |excitatory: bool| {
        let mut edges = up.clone();
        for i in 0..n {
            for a in 0..width {
                let (same, other) = (d.at(i, a).positive(), minus(d.at(i, a)));
                let (first, second) = if excitatory { (same, other) } else { (other, same) };
                edges.push(Edge { from: n + a, to: i, weight: first });
                edges.push(Edge { from: n + a + width, to: i, weight: second });
            }
        }
        edges.retain(|e| e.weight.value() > 0.0);
        Circuit { n, hidden: 2 * width, edges }
    };
    [down(true), down(false)]
}

impl<N: Number> Circuit<N> {
    /// Returns H^2\[V\] z, `n` values: two steps of z -> H z, read at the neurons and not at the hidden nodes.
    pub fn propagate(&self, z: &[N]) -> Vec<N> {
        let mut at = z.to_vec();
        at.resize(self.n + self.hidden, N::ZERO);
        for _ in 0..2 {
            let mut next = vec![N::ZERO; at.len()];
            self.edges.iter().for_each(|e| next[e.to] += e.weight * at[e.from]);
            at = next;
        }
        at.truncate(self.n);
        at
    }

    /// H^2\[V\], `(n, n)`: one column per neuron that is pulsed alone.
    pub fn square(&self) -> Dense<N> {
        let mut out = Dense::zeros(self.n, self.n);
        for j in 0..self.n {
            let mut pulse = vec![N::ZERO; self.n];
            pulse[j] = N::exact(1.0);
            self.propagate(&pulse).into_iter().enumerate().for_each(|(i, v)| out.row_mut(i)[j] = v);
        }
        out
    }
}
