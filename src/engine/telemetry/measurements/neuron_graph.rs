//! The graph between a BDH model's neurons at one threshold, or a graph that a file holds.

use crate::{analysis::graph::product::Sign, telemetry::measurements::prelude::*};

measurement! {
    /// Neurons that carry edges of G above a threshold. All lists have one entry per neuron, in one order; an edge
    /// names its ends by their place in it.
    #[derive(Default)]
    pub struct NeuronGraph in "graph.neurons" answers NeuronGraphArgs {
        /// The neuron's number in the model, counted over all heads.
        pub neurons: Vec<u32>,
        /// `2:153`: head, and neuron of the head, both from 0. Empty: no neuron has a label.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub labels: Vec<String>,
        /// The edges between the neurons.
        pub edges: GraphEdges,
        /// Number of edges into each neuron. Empty if it is to be counted from the edges.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub in_degree: Vec<u32>,
        /// Number of edges out of each neuron. Empty if it is to be counted from the edges.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub out_degree: Vec<u32>,
        /// Largest k of a k-core that the neuron is in.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub core: Vec<u32>,
        /// The groups that the neurons belong to.
        pub groups: NeuronGroups,
        /// `(neurons, 2)`: x and y, upwards, where a file says where its nodes are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub positions: Option<Array>,
        /// Facts that a file gives of its graph beyond nodes and edges. Absent: the nodes are neurons of a model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub file: Option<FileGraph>,
        /// Numbers of the whole graph, where it was measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub summary: Option<GraphSummary>,
    }

    /// Facts that a file gives of its graph, and measures taken when it was opened.
    #[derive(Default)]
    pub struct FileGraph {
        /// True if edges lead from source to target; else they join two nodes.
        pub directed: bool,
        /// True if the file gives its edges weights; else all are 1.
        pub weighted: bool,
        /// The file's name for its nodes.
        pub ids: Vec<String>,
        /// True if the ids are numbers rather than texts.
        pub are_ids_numbers: bool,
        /// Values of the nodes, one list a name.
        pub node_values: Vec<GraphColumn>,
        /// Values of the edges, one list a name.
        pub edge_values: Vec<GraphColumn>,
        /// Component of each node, whatever the direction of edges; 0 is the largest.
        pub component: Vec<u32>,
        /// Strongly connected component of each node of a directed graph; 0 is the largest. Empty: undirected.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub strong_component: Vec<u32>,
        /// Q of the communities that were looked for; absent where the file has its own, or the graph is too large.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub modularity: Option<Number<f64>>,
    }

    /// Values under one name, one per node or per edge.
    #[derive(Default)]
    pub struct GraphColumn {
        /// The file's name for it.
        pub name: String,
        /// The type of the values.
        pub of: ColumnType,
        /// Values that are numbers or booleans (true is 1); `null` where there is none. Empty: the values are texts.
        #[serde(default, skip_serializing_if = "no_numbers")]
        pub numbers: Numbers,
        /// Values that are texts; `null` where there is none. Empty: the values are numbers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub texts: Vec<Option<String>>,
    }

    /// Weighted edges in three lists of one length; directed unless a file says otherwise.
    #[derive(Default)]
    pub struct GraphEdges {
        /// Place of the neuron that acts.
        pub source: Vec<u32>,
        /// Place of the neuron that is acted on.
        pub target: Vec<u32>,
        /// Entry of G.
        pub weight: Array,
    }

    /// The groups that neurons belong to; `null` for a neuron that belongs to none. Absent: not known.
    #[derive(Default)]
    pub struct NeuronGroups {
        /// The community in the best partition found; 0 is the largest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub community: Option<Vec<Option<u32>>>,
        /// Attention head, from 0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub head: Option<Vec<Option<u32>>>,
        /// Octave of the RoPE frequency; 0 is the fastest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub octave: Option<Vec<Option<u32>>>,
        /// For a merged model, the index of the source model of each neuron.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub provenance: Option<Vec<Option<u32>>>,
    }

    /// Numbers of a thresholded graph.
    pub struct GraphSummary {
        /// n: neurons that the model has, with or without edges.
        pub neurons: usize,
        /// Neurons that have an edge.
        pub carrying: usize,
        /// Beta: the smallest entry that is an edge.
        pub beta: f64,
        /// Directed edges of the graph.
        pub edges: usize,
        /// Entries of G that an edge could have been.
        pub entries: u64,
        /// Communities that were found in the graph.
        pub communities: usize,
        /// Q of the communities, -0.5 to 1.
        pub modularity: f64,
        /// Normalised mutual information of communities and heads, 0 to 1.
        pub nmi_heads: f64,
        /// The same with RoPE octaves, where neurons turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub nmi_octaves: Option<Number<f64>>,
        /// The same with the models that were merged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub nmi_provenance: Option<Number<f64>>,
        /// Largest k of a k-core.
        pub core_k: u32,
        /// Neurons in that core.
        pub core_size: usize,
        /// Share of edges whose reverse is an edge too, 0 to 1.
        pub reciprocity: f64,
    }

    /// How the entries of G are spread, and how many are left above each threshold.
    pub struct EntryHistogram in "graph.histogram" answers NeuronGraphArgs {
        /// Middle of each bin: an entry of G.
        pub entry: Numbers,
        /// Density of entries in each bin, f.
        pub density: Numbers,
        /// min(f(x), f(-x)): the part that both signs share (figure 9a of the paper).
        pub symmetric: Numbers,
        /// The asymmetric part of one sign: f minus its symmetric part.
        pub skew: Numbers,
        /// Thresholds, rising from 0.
        pub threshold: Numbers,
        /// The number of entries above each threshold.
        pub above: EntriesAbove,
        /// Beta: the threshold of the current graph.
        pub beta: f64,
        /// Edges of the current graph.
        pub edges: usize,
        /// Entries that are counted.
        pub entries: u64,
        /// Mean of the entries.
        pub mean: f64,
        /// Standard deviation of the entries.
        pub standard_deviation: f64,
        /// Third standardised moment.
        pub skewness: f64,
        /// Fourth standardised moment.
        pub kurtosis: f64,
    }

    /// Entries further out than each threshold; one number a threshold.
    pub struct EntriesAbove {
        /// Entries above it.
        pub excitatory: Numbers,
        /// Entries below its negative.
        pub inhibitory: Numbers,
        /// Either.
        pub both: Numbers,
    }

    /// Degree distributions of the thresholded graph.
    pub struct GraphDegrees in "graph.degrees" answers NeuronGraphArgs {
        /// Edges out of a neuron.
        pub outgoing: DegreeDistribution,
        /// Edges into a neuron.
        pub incoming: DegreeDistribution,
    }

    /// Log-binned degrees of the neurons that have any such edge.
    pub struct DegreeDistribution {
        /// Middle of each bin, edges.
        pub degree: Numbers,
        /// Share of neurons for each unit of degree.
        pub density: Numbers,
        /// The largest degree.
        pub largest: u32,
        /// The likeliest power law of the tail; absent where too few neurons have a tail.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub power_law: Option<PowerLawFit>,
    }

    /// Maximum-likelihood power law p(k) ~ k^-alpha of degrees, or of intervals, from k_min on.
    pub struct PowerLawFit {
        /// The exponent alpha.
        pub alpha: f64,
        /// Smallest value of the tail.
        pub k_min: u32,
        /// Values in the tail.
        pub tail: usize,
        /// Kolmogorov-Smirnov distance between fit and tail, 0 to 1.
        pub ks_distance: f64,
        /// The fit at each bin; NaN below `k_min`.
        pub density: Numbers,
        /// The lognormal of the same tail, where one could be fitted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub lognormal: Option<LognormalFit>,
    }

    /// Vuong's likelihood ratio test of the power law against a lognormal.
    pub struct LognormalFit {
        /// The fit at each bin; NaN below `k_min`.
        pub density: Numbers,
        /// Log-likelihood ratio; positive where the power law fits better.
        pub log_ratio: f64,
        /// Two-sided p of that ratio.
        pub p: f64,
    }
}

fn no_numbers(numbers: &Numbers) -> bool {
    numbers.0.is_empty()
}

/// The type that a file gives values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ColumnType {
    /// Whole numbers.
    #[default]
    Integer,
    /// Floating-point numbers.
    Float,
    /// Truth values.
    Boolean,
    /// Strings.
    Text,
    /// Lists and objects, as JSON.
    Json,
}

impl GraphEdges {
    /// (source, target, weight).
    pub fn new(edges: impl IntoIterator<Item = (u32, u32, f32)>) -> Self {
        let (source, target, weight): (Vec<_>, Vec<_>, Vec<_>) = edges.into_iter().collect();
        Self { source, target, weight: weight.into() }
    }

    /// Returns the number of edges; of lists of different lengths the shortest counts.
    pub fn len(&self) -> usize {
        self.source.len().min(self.target.len()).min(self.weight.data().len())
    }

    /// Returns true if there are no edges.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// (source, target, weight).
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, f32)> + '_ {
        self.source.iter().zip(&self.target).zip(self.weight.data()).map(|((a, b), w)| (*a, *b, *w))
    }
}

choices! {
    /// The matrix that makes the graph.
    pub enum Matrix {
        /// G_x = E D_x, the effect of a neuron's y on each neuron's x in the next layer.
        X = "x",
        /// G_y = E D_y, its effect on each neuron's y.
        Y = "y",
        /// The synapses after a text, from y of a layer to x of the next: the state of attention, not a product of
        /// weights.
        Sigma = "sigma",
    }
}

/// The largest number of edges in a measurement: more could not be drawn, and would not fit into a message.
pub const MAX_EDGES: usize = 400_000;

arguments! {
    /// The graph of the neurons, cut at a threshold.
    pub struct NeuronGraphArgs asks "neuron_graph" {
        /// x is G = E D_x, what a neuron's y does to each neuron's x one layer on; y is G = E D_y, what it does to each neuron's y; sigma are the synapses after a held-out text.
        matrix: Matrix = Matrix::X;
        /// Layer of the x that synapses run to, for sigma. Absent, or a layer that the model lacks: its last.
        layer: Option<usize> = None => range(1..=63);
        /// Tokens of the text, for sigma.
        tokens: usize = 256 => range(2..=4096);
        /// Head that edges leave, counted from 1. It takes effect when both heads are given; 0 is the whole graph.
        from_head: usize = 0;
        /// Head that edges enter, counted from 1. It takes effect when both heads are given; 0 is the whole graph.
        to_head: usize = 0;
        /// Entries that make edges: those above the threshold, those below its negative, or both.
        sign: Sign = Sign::Excitatory;
        /// Number of edges, the strongest entries.
        edges: usize = 16_000 => range(1..=MAX_EDGES);
        /// Threshold: every entry of the sign that is further than this from 0 is an edge; 0 takes the number of edges instead.
        beta: f64 = 0.0;
        /// Edges count by the size of their entries, not each as 1.
        weighted: bool = false;
        /// Searches for communities; the best counts.
        restarts: usize = 5 => range(1..=100);
    }
}
