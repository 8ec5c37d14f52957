//! A graph of neurons as it was measured, ready for the picture: names, labels, edges, degrees
//! and the groups that a neuron belongs to. It does not know where anything stands or looks like.

use std::{collections::HashMap, sync::Arc};

use crate::{
    analysis::layout::Springs,
    telemetry::{
        Payload,
        measurements::{NeuronGraph, NeuronGroups},
    },
    ui::views::Measured,
};

/// What neurons can be coloured by, in the order they are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NeuronGrouping {
    Community,
    Head,
    Octave,
    Provenance,
}

impl NeuronGrouping {
    pub const ALL: [Self; 4] = [Self::Community, Self::Head, Self::Octave, Self::Provenance];

    /// The word for one of its groups.
    pub fn name(self) -> &'static str {
        match self {
            Self::Community => "community",
            Self::Head => "head",
            Self::Octave => "octave",
            Self::Provenance => "provenance",
        }
    }

    /// Each node's group, if it is known.
    fn of(self, groups: &NeuronGroups) -> Option<&[Option<u32>]> {
        let of_nodes = match self {
            Self::Community => &groups.community,
            Self::Head => &groups.head,
            Self::Octave => &groups.octave,
            Self::Provenance => &groups.provenance,
        };
        of_nodes.as_deref()
    }

    pub fn about(self) -> &'static str {
        match self {
            Self::Community => {
                "Communities that share more edges than their degrees would give by chance. Found from the edges alone."
            }
            Self::Head => "The head that the neuron belongs to, h of h\u{b7}N + i.",
            Self::Octave => {
                "How fast RoPE turns the neuron's pair: octave 0 turns fastest, each next one half as fast."
            }
            Self::Provenance => "Which of the merged models the neuron comes from.",
        }
    }
}

/// A graph ready for the picture. Nodes are counted from 0 in the order of the payload; their names
/// are the neurons' numbers in the model.
#[derive(Debug, Default)]
pub struct Network {
    pub names: Vec<u32>,
    pub labels: Vec<String>,
    /// (from, to, weight), as measured.
    pub edges: Vec<(u32, u32, f32)>,
    pub springs: Springs,
    pub degree_in: Vec<u32>,
    pub degree_out: Vec<u32>,
    /// For each kind that is known, each node's group.
    groups: HashMap<NeuronGrouping, Vec<Option<u32>>>,
    /// Where a file says the nodes are.
    pub places: Option<Vec<[f32; 2]>>,
    /// Node of a name.
    nodes: HashMap<u32, u32>,
}

impl Network {
    /// `None` where there is no node, or where lists that must have one length do not.
    pub fn of(graph: &NeuronGraph) -> Option<Self> {
        let n = graph.neurons.len();
        if n == 0 {
            return None;
        }
        let is_edge = |e: &(u32, u32, f32)| (e.0.max(e.1) as usize) < n && e.2.is_finite();
        let edges: Vec<_> = graph.edges.iter().filter(is_edge).collect();
        let groups = NeuronGrouping::ALL.into_iter().filter_map(|kind| {
            let of_nodes = kind.of(&graph.groups)?;
            (of_nodes.len() == n).then(|| (kind, of_nodes.to_vec()))
        });
        let (mut counted_in, mut counted_out) = (vec![0u32; n], vec![0u32; n]);
        for (from, to, _) in &edges {
            counted_out[*from as usize] += 1;
            counted_in[*to as usize] += 1;
        }
        let given = |degree: &[u32], counted| if degree.len() == n { degree.to_vec() } else { counted };
        let names = graph.neurons.clone();
        let labels = if graph.labels.len() == n {
            graph.labels.clone()
        } else {
            names.iter().map(|name| format!("neuron {name}")).collect()
        };
        Some(Self {
            springs: Springs::new(n, &edges),
            degree_in: given(&graph.in_degree, counted_in),
            degree_out: given(&graph.out_degree, counted_out),
            groups: groups.collect(),
            places: graph.positions.as_ref().filter(|p| *p.shape() == [n, 2]).and_then(|p| spread(p.data())),
            nodes: names.iter().zip(0..).map(|(name, i)| (*name, i)).collect(),
            names,
            labels,
            edges,
        })
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// The node of a neuron, if it is shown.
    pub fn node(&self, name: u32) -> Option<u32> {
        self.nodes.get(&name).copied()
    }

    /// Each node's group, if this kind is known.
    pub fn groups(&self, kind: NeuronGrouping) -> Option<&[Option<u32>]> {
        self.groups.get(&kind).map(Vec::as_slice)
    }

    pub fn group(&self, kind: NeuronGrouping, node: u32) -> Option<u32> {
        self.groups(kind).and_then(|g| g.get(node as usize).copied().flatten())
    }

    pub fn kinds(&self) -> impl Iterator<Item = NeuronGrouping> + '_ {
        NeuronGrouping::ALL.into_iter().filter(|k| self.groups.contains_key(k))
    }

    pub fn degree(&self, node: u32) -> u32 {
        let of = |d: &[u32]| d.get(node as usize).copied().unwrap_or(0);
        of(&self.degree_in) + of(&self.degree_out)
    }

    /// The strongest edges out of a node, or into it: (partner, weight), strongest first.
    pub fn partners(&self, node: u32, out: bool, most: usize) -> Vec<(u32, f32)> {
        let end = |e: &(u32, u32, f32)| if out { (e.0 == node).then_some(e.1) } else { (e.1 == node).then_some(e.0) };
        let mut all: Vec<(u32, f32)> = self.edges.iter().filter_map(|e| Some((end(e)?, e.2))).collect();
        all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        all.truncate(most);
        all
    }

    /// Nodes whose label has these words or whose number is this one.
    pub fn find(&self, words: &str) -> Vec<u32> {
        let words = words.trim().to_lowercase();
        if words.is_empty() {
            return vec![];
        }
        let number = words.parse::<u32>().ok();
        if let Some(node) = number.and_then(|n| self.node(n)) {
            return vec![node];
        }
        let has = |label: &String| label.to_lowercase().contains(&words);
        (0..).zip(&self.labels).filter(|(_, label)| has(label)).map(|(i, _)| i).collect()
    }

    /// "2,000 neurons, 20,000 edges".
    pub fn size_words(&self) -> String {
        use crate::ui::widgets::number::grouped;
        format!("{} neurons \u{b7} {} edges", grouped(self.len() as u64), grouped(self.edges.len() as u64))
    }
}

/// Positions of a file (x and y of each node in turn, y upwards) in the layout's own unit: about one unit
/// of area a node, y downwards.
fn spread(positions: &[f32]) -> Option<Vec<[f32; 2]>> {
    if !positions.iter().all(|v| v.is_finite()) {
        return None;
    }
    let all: Vec<[f64; 2]> = positions.chunks_exact(2).map(|p| [f64::from(p[0]), f64::from(p[1])]).collect();
    let n = all.len() as f64;
    let middle = |k: usize| all.iter().map(|p| p[k]).sum::<f64>() / n;
    let (mx, my) = (middle(0), middle(1));
    let far = all.iter().map(|[x, y]| (x - mx).powi(2) + (y - my).powi(2)).sum::<f64>() / n;
    if far <= 0.0 {
        return None;
    }
    let scale = (n / far).sqrt() * 0.6;
    Some(all.iter().map(|[x, y]| [((x - mx) * scale) as f32, (-(y - my) * scale) as f32]).collect())
}

/// The network of the payload shown last, read once.
#[derive(Debug, Default)]
pub struct Shown {
    payload: Option<Arc<Payload>>,
    pub network: Option<Arc<Network>>,
}

impl Shown {
    /// Takes what is to be shown; true if it is another graph than before.
    pub fn take(&mut self, graph: Option<Measured<'_, NeuronGraph>>) -> bool {
        let same = match (&self.payload, graph.map(|g| &g.sample.payload)) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        if !same {
            self.payload = graph.map(|g| g.sample.payload.clone());
            self.network = graph.and_then(|g| Network::of(g.value)).map(Arc::new);
        }
        !same
    }
}
