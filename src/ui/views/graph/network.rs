//! A graph of neurons as the channel tells it, ready for the picture: names, labels, edges, degrees
//! and the groups that a neuron belongs to. It does not know where anything stands or looks like.

use std::{collections::HashMap, sync::Arc};

use crate::{
    analysis::layout::Springs,
    telemetry::{Payload, Series},
};

/// What neurons can be coloured by, in the order they are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Community,
    Head,
    Octave,
    Heritage,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Community, Self::Head, Self::Octave, Self::Heritage];

    /// Its line in the series "neurons", and the word for one of its groups.
    pub fn name(self) -> &'static str {
        match self {
            Self::Community => "community",
            Self::Head => "head",
            Self::Octave => "octave",
            Self::Heritage => "heritage",
        }
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
            Self::Heritage => "Which of the merged models the neuron comes from.",
        }
    }
}

/// A graph ready for the picture. Nodes are counted from 0 in the order of the payload; their names
/// are the neurons' numbers in the model.
#[derive(Debug, Default)]
pub struct Network {
    pub names: Vec<u32>,
    pub labels: Vec<String>,
    /// (from, to, weight), as told.
    pub edges: Vec<(u32, u32, f32)>,
    pub springs: Springs,
    pub degree_in: Vec<u32>,
    pub degree_out: Vec<u32>,
    /// For each kind that was told, each node's group.
    groups: HashMap<Kind, Vec<Option<u32>>>,
    /// Where a file says the nodes are.
    pub places: Option<Vec<[f32; 2]>>,
    /// Node of a name.
    nodes: HashMap<u32, u32>,
}

impl Network {
    /// From a bundle of "graph" and "neurons"; `None` where there is no node.
    pub fn read(payload: &Payload) -> Option<Self> {
        let Some(Payload::Graph(graph)) = payload.part("graph") else { return None };
        if graph.nodes == 0 {
            return None;
        }
        let n = graph.nodes;
        let neurons = payload.part("neurons").and_then(Payload::as_series).filter(|s| s.x.len() == n);
        let names: Vec<u32> = match neurons {
            Some(s) => s.x.iter().map(|v| *v as u32).collect(),
            None => (0..n as u32).collect(),
        };
        let edges: Vec<_> =
            graph.edges.iter().copied().filter(|e| (e.0.max(e.1) as usize) < n && e.2.is_finite()).collect();
        let line = |name: &str| neurons.and_then(|s| line_of(s, name));
        let groups =
            Kind::ALL.into_iter().filter_map(|k| Some((k, line(k.name())?.iter().map(|v| whole(*v)).collect())));
        let (mut counted_in, mut counted_out) = (vec![0u32; n], vec![0u32; n]);
        for (from, to, _) in &edges {
            counted_out[*from as usize] += 1;
            counted_in[*to as usize] += 1;
        }
        let told = |name: &str| line(name).map(|l| l.iter().map(|v| whole(*v).unwrap_or(0)).collect());
        let labels = if graph.labels.len() == n {
            graph.labels.clone()
        } else {
            names.iter().map(|name| format!("neuron {name}")).collect()
        };
        Some(Self {
            springs: Springs::new(n, &edges),
            degree_in: told("in").unwrap_or(counted_in),
            degree_out: told("out").unwrap_or(counted_out),
            groups: groups.collect(),
            places: line("x").zip(line("y")).and_then(|(x, y)| spread(x, y)),
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

    /// Each node's group, if this kind was told.
    pub fn groups(&self, kind: Kind) -> Option<&[Option<u32>]> {
        self.groups.get(&kind).map(Vec::as_slice)
    }

    pub fn group(&self, kind: Kind, node: u32) -> Option<u32> {
        self.groups(kind).and_then(|g| g.get(node as usize).copied().flatten())
    }

    pub fn kinds(&self) -> impl Iterator<Item = Kind> + '_ {
        Kind::ALL.into_iter().filter(|k| self.groups.contains_key(k))
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

fn line_of<'a>(series: &'a Series, name: &str) -> Option<&'a [f64]> {
    let line = series.lines.iter().find(|l| l.name == name)?;
    (line.y.len() == series.x.len()).then_some(&*line.y)
}

/// A group's number; less than 0 and what is no number are none.
fn whole(v: f64) -> Option<u32> {
    (v >= 0.0 && v < f64::from(u32::MAX)).then_some(v as u32)
}

/// Places of a file in the layout's own unit (about one unit of area a node), y upwards in the file.
fn spread(x: &[f64], y: &[f64]) -> Option<Vec<[f32; 2]>> {
    if !x.iter().chain(y).all(|v| v.is_finite()) {
        return None;
    }
    let middle = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (mx, my) = (middle(x), middle(y));
    let far = x.iter().zip(y).map(|(x, y)| (x - mx).powi(2) + (y - my).powi(2)).sum::<f64>() / x.len() as f64;
    if far <= 0.0 {
        return None;
    }
    let scale = (x.len() as f64 / far).sqrt() * 0.6;
    Some(x.iter().zip(y).map(|(x, y)| [((x - mx) * scale) as f32, (-(y - my) * scale) as f32]).collect())
}

/// The network of the payload shown last, read once.
#[derive(Debug, Default)]
pub struct Shown {
    payload: Option<Arc<Payload>>,
    pub network: Option<Arc<Network>>,
}

impl Shown {
    /// Takes what is to be shown; true if it is another graph than before.
    pub fn take(&mut self, payload: Option<&Arc<Payload>>) -> bool {
        let same = match (&self.payload, payload) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        };
        if !same {
            self.payload = payload.cloned();
            self.network = payload.and_then(|p| Network::read(p)).map(Arc::new);
        }
        !same
    }
}
