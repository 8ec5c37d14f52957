//! A measured graph of neurons, ready for the picture: names, labels, edges, degrees and the groups of each neuron.

use super::columns::{Column, ColumnValues};
use crate::{
    analysis::layout::Springs,
    ui::views::{Measured, prelude::*},
};

/// The groups and values that nodes can be coloured by, in the order of the menu.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColourBy {
    Community,
    Head,
    Octave,
    Provenance,
    /// Connected components, of a file's graph.
    Component,
    /// The groups of one of [`Network::columns`].
    Groups(usize),
    /// The numbers of one of [`Network::columns`].
    Numbers(usize),
}

impl ColourBy {
    const FIXED: [Self; 5] = [Self::Community, Self::Head, Self::Octave, Self::Provenance, Self::Component];

    pub fn about(self) -> &'static str {
        match self {
            Self::Community => {
                "Communities that share more edges than their degrees would give by chance. Found from the edges alone, \
                 unless the file gives them."
            }
            Self::Head => "The head that the neuron belongs to, h of h\u{b7}N + i.",
            Self::Octave => {
                "How fast RoPE turns the neuron's pair: octave 0 turns fastest, each next one half as fast."
            }
            Self::Provenance => "Which of the merged models the neuron comes from.",
            Self::Component => "Nodes that are joined by edges at all, whatever their direction.",
            Self::Groups(_) => "A value of the nodes: the most frequent ones have colours of their own.",
            Self::Numbers(_) => "A number of the nodes, from low (dark) to high (bright).",
        }
    }
}

/// A graph ready for the picture. Nodes are counted from 0 as in the payload, and named by the model's numbers.
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
    groups: HashMap<ColourBy, Vec<Option<u32>>>,
    /// Names of the groups of [`ColourBy::Groups`].
    group_names: HashMap<usize, Vec<String>>,
    /// The attributes of the nodes: computed counts first, then those of a file.
    pub columns: Vec<Column>,
    /// The attributes of the edges, if the graph comes from a file that has them.
    pub edge_columns: Vec<Column>,
    /// A file's facts about its graph, without ids and values of edges not drawn; `None`: nodes are a model's neurons.
    pub file: Option<FileGraph>,
    /// The numbers of edges with a weight above 0 and below 0.
    pub positive_edges: usize,
    pub negative_edges: usize,
    /// |weight| of the drawn edges, in ascending order.
    strengths: Vec<f32>,
    /// The nodes' positions in the file.
    pub places: Option<Vec<[f32; 2]>>,
    /// The index of the node with each name.
    nodes: HashMap<u32, u32>,
}

impl Network {
    /// Builds the network; `None` if there are no nodes, or if lists that must have equal lengths do not.
    pub fn from_graph(graph: &NeuronGraph) -> Option<Self> {
        let n = graph.neurons.len();
        if n == 0 {
            return None;
        }
        let is_edge = |e: &(u32, u32, f32)| (e.0.max(e.1) as usize) < n && e.2.is_finite();
        let (kept, edges): (Vec<usize>, Vec<_>) = graph.edges.iter().enumerate().filter(|(_, e)| is_edge(e)).unzip();
        let (mut counted_in, mut counted_out) = (vec![0u32; n], vec![0u32; n]);
        for (from, to, _) in &edges {
            counted_out[*from as usize] += 1;
            counted_in[*to as usize] += 1;
        }
        let given = |degree: &[u32], counted| if degree.len() == n { degree.to_vec() } else { counted };
        let names = graph.neurons.clone();
        let labels = match graph.labels.len() == n {
            true => graph.labels.clone(),
            false => names.iter().map(|name| format!("neuron {name}")).collect(),
        };
        let mut strengths: Vec<f32> = edges.iter().map(|e| e.2.abs()).filter(|w| *w > 0.0).collect();
        strengths.sort_by(f32::total_cmp);
        let mut network = Self {
            springs: Springs::new(n, &edges),
            degree_in: given(&graph.in_degree, counted_in),
            degree_out: given(&graph.out_degree, counted_out),
            places: graph.positions.as_ref().filter(|p| *p.shape() == [n, 2]).and_then(|p| spread_positions(p.data())),
            nodes: names.iter().zip(0..).map(|(name, i)| (*name, i)).collect(),
            names,
            labels,
            positive_edges: edges.iter().filter(|e| e.2 > 0.0).count(),
            negative_edges: edges.iter().filter(|e| e.2 < 0.0).count(),
            edges,
            strengths,
            ..Self::default()
        };
        network.take_groups(graph);
        network.take_columns(graph, &kept);
        Some(network)
    }

    fn take_groups(&mut self, graph: &NeuronGraph) {
        let n = self.len();
        let NeuronGroups { community, head, octave, provenance } = graph.groups.clone();
        let component = graph.file.as_ref().map(|file| file.component.iter().map(|c| Some(*c)).collect());
        let all = ColourBy::FIXED.into_iter().zip([community, head, octave, provenance, component]);
        let known = all.filter_map(|(kind, of_nodes)| Some((kind, of_nodes?)));
        self.groups.extend(known.filter(|(_, of_nodes)| of_nodes.len() == n));
    }

    /// `kept`: the indices of the shown edges among those of the measurement.
    fn take_columns(&mut self, graph: &NeuronGraph, kept: &[usize]) {
        let n = self.len();
        let degrees: Vec<u32> = (0..n as u32).map(|i| self.degree(i)).collect();
        self.columns.push(Column::counted("degree", &degrees));
        let (is_directed, is_weighted) = graph.file.as_ref().map_or((true, true), |f| (f.directed, f.weighted));
        if is_directed {
            self.columns.push(Column::counted("in-degree", &self.degree_in));
            self.columns.push(Column::counted("out-degree", &self.degree_out));
        }
        if is_weighted {
            let mut strength = vec![0.0; n];
            for (from, to, weight) in &self.edges {
                strength[*from as usize] += f64::from(*weight);
                strength[*to as usize] += f64::from(*weight);
            }
            self.columns.push(Column { name: "strength".into(), values: ColumnValues::Numbers(strength) });
        }
        if graph.core.len() == n {
            self.columns.push(Column::counted("core", &graph.core));
        }
        let Some(file) = &graph.file else { return };
        let all: Vec<usize> = (0..n).collect();
        for column in &file.node_values {
            let column = Column::from_file(column, &all);
            if let Some((of_nodes, names)) = column.groups() {
                let at = self.columns.len();
                self.groups.insert(ColourBy::Groups(at), of_nodes);
                self.group_names.insert(at, names);
            }
            self.columns.push(column);
        }
        self.edge_columns = file.edge_values.iter().map(|column| Column::from_file(column, kept)).collect();
        // lists of the wrong length are dropped, since their values would be attributed to other nodes and edges
        let mut file = file.clone();
        if file.ids.len() != n {
            file.ids.clear();
        }
        if kept.len() != graph.edges.len() {
            file.edge_values.clear();
        }
        self.file = Some(file);
    }

    pub fn is_directed(&self) -> bool {
        self.file.as_ref().is_none_or(|file| file.directed)
    }

    pub fn id(&self, node: u32) -> String {
        let own = self.file.as_ref().and_then(|file| file.ids.get(node as usize)).cloned();
        own.or_else(|| Some(self.neuron_of(node)?.to_string())).unwrap_or_default()
    }

    /// The neuron of a node.
    pub fn neuron_of(&self, node: u32) -> Option<u32> {
        self.names.get(node as usize).copied()
    }

    pub fn label(&self, node: u32) -> &str {
        self.labels.get(node as usize).map_or("", String::as_str)
    }

    pub fn noun(&self) -> &'static str {
        if self.file.is_some() { "node" } else { "neuron" }
    }

    /// Number of drawn edges whose weight is at least this far from 0.
    pub fn edges_above(&self, threshold: f32) -> usize {
        self.strengths.len() - self.strengths.partition_point(|w| *w < threshold)
    }

    /// The greatest |weight|, where weights differ.
    pub fn greatest_weight(&self) -> Option<f32> {
        let (min, max) = (self.strengths.first()?, self.strengths.last()?);
        (min < max).then_some(*max)
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn node(&self, name: u32) -> Option<u32> {
        self.nodes.get(&name).copied()
    }

    pub fn groups(&self, kind: ColourBy) -> Option<&[Option<u32>]> {
        self.groups.get(&kind).map(Vec::as_slice)
    }

    pub fn group(&self, kind: ColourBy, node: u32) -> Option<u32> {
        self.groups(kind).and_then(|g| g.get(node as usize).copied().flatten())
    }

    /// The ways in which nodes can be coloured: by each known grouping, then by each column of numbers that vary.
    pub fn kinds(&self) -> impl Iterator<Item = ColourBy> + '_ {
        let places = || 0..self.columns.len();
        let all = ColourBy::FIXED.into_iter().chain(places().map(ColourBy::Groups));
        let numbers = places().filter(|at| self.columns[*at].range().is_some_and(|[low, high]| low < high));
        all.filter(|k| self.groups.contains_key(k)).chain(numbers.map(ColourBy::Numbers))
    }

    pub fn kind_name(&self, kind: ColourBy) -> &str {
        match kind {
            ColourBy::Community => "community",
            ColourBy::Head => "head",
            ColourBy::Octave => "octave",
            ColourBy::Provenance => "provenance",
            ColourBy::Component => "component",
            ColourBy::Groups(at) | ColourBy::Numbers(at) => self.columns.get(at).map_or("", |c| c.name.as_str()),
        }
    }

    pub fn group_name(&self, kind: ColourBy, group: u32) -> String {
        let names = if let ColourBy::Groups(at) = kind { self.group_names.get(&at) } else { None };
        let name = names.and_then(|names| names.get(group as usize)).cloned();
        format!("{} {}", self.kind_name(kind), name.unwrap_or_else(|| group.to_string()))
    }

    pub fn numbers(&self, kind: ColourBy) -> Option<&Column> {
        if let ColourBy::Numbers(at) = kind { self.columns.get(at) } else { None }
    }

    /// The number of edges into a node, and of those out of it.
    pub fn degrees(&self, node: u32) -> [u32; 2] {
        [&self.degree_in, &self.degree_out].map(|degree| degree.get(node as usize).copied().unwrap_or(0))
    }

    pub fn degree(&self, node: u32) -> u32 {
        self.degrees(node).iter().sum()
    }

    /// The strongest edges out of a node, or into it: (partner, weight), strongest first.
    pub fn partners(&self, node: u32, out: bool, max: usize) -> Vec<(u32, f32)> {
        let directed = self.is_directed();
        let end = |e: &(u32, u32, f32)| match (out, e.0 == node, e.1 == node) {
            (true, true, _) => Some(e.1),
            (false, _, true) => Some(e.0),
            // an undirected edge counts as outgoing at both ends
            (true, _, true) if !directed => Some(e.0),
            _ => None,
        };
        let mut all: Vec<(u32, f32)> = self.edges.iter().filter_map(|e| Some((end(e)?, e.2))).collect();
        all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        all.truncate(max);
        all
    }

    /// Nodes whose label has these words or whose number is this one.
    pub fn find(&self, words: &str) -> Vec<u32> {
        let words = words.trim().to_lowercase();
        if words.is_empty() {
            return vec![];
        }
        if let Some(node) = words.parse().ok().and_then(|n| self.node(n)) {
            return vec![node];
        }
        let has = |label: &String| label.to_lowercase().contains(&words);
        (0..).zip(&self.labels).filter(|(_, label)| has(label)).map(|(i, _)| i).collect()
    }

    /// For example "2,000 neurons, 20,000 edges".
    pub fn size_label(&self) -> String {
        let direction = |file: &FileGraph| if file.directed { "directed " } else { "undirected " };
        let kind = self.file.as_ref().map_or("", direction);
        let edges = grouped_count(self.edges.len(), &format!("{kind}edge"));
        format!("{} \u{b7} {edges}", grouped_count(self.len(), self.noun()))
    }
}

/// For example "20 000 edges".
pub fn grouped_count(n: usize, what: &str) -> String {
    format!("{} {what}{}", grouped(n as u64), if n == 1 { "" } else { "s" })
}

/// A file's positions (x and y of each node in turn, y upwards) in the layout's unit, a square per node, y downwards.
fn spread_positions(positions: &[f32]) -> Option<Vec<[f32; 2]>> {
    if !positions.iter().all(|v| v.is_finite()) {
        return None;
    }
    let all: Vec<[f64; 2]> = positions.as_chunks().0.iter().map(|p| p.map(f64::from)).collect();
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

/// Converts each payload to a network once, and keeps the last one.
#[derive(Debug, Default)]
pub struct NetworkCache {
    payload: Option<Arc<Payload>>,
    pub network: Option<Arc<Network>>,
}

impl NetworkCache {
    /// Takes the measurement to show; true if it is another graph than before.
    pub fn take(&mut self, graph: Option<Measured<'_, NeuronGraph>>) -> bool {
        let payload = graph.map(|g| &g.sample.payload);
        let is_other = self.payload.as_ref().map(Arc::as_ptr) != payload.map(Arc::as_ptr);
        if is_other {
            self.payload = payload.cloned();
            self.network = graph.and_then(|g| Network::from_graph(g.value)).map(Arc::new);
        }
        is_other
    }
}
