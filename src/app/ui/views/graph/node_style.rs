//! The colours and sizes of nodes: colour by group, the largest groups first and the rest in grey, or by a number; size
//! by degree or by a number; and emphasis on one node or one group.

use super::{
    columns::{Column, by_count},
    network::{ColourBy, Network},
};
use crate::{gpu::graph::NodeStyle, ui::views::prelude::*};

/// A line of the legend.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The id of the group; `None` stands for all groups without a colour of their own, and for nodes in no group.
    pub id: Option<u32>,
    pub name: String,
    pub count: usize,
    pub colour: Color32,
}

/// The groups of a kind, largest first, with their colours.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Palette {
    pub groups: Vec<Group>,
    /// The index in `groups` of each group with a colour.
    places: HashMap<u32, usize>,
    /// The colour of each neuron, by name.
    colour_index: HashMap<u32, usize>,
    /// The colour scale, where colours stand for numbers.
    pub scale: Option<Colours>,
}

/// Ratio of the largest to the smallest number above which colours are logarithmic.
const MIN_LOG_RATIO: f64 = 200.0;

/// The quantity that a node's size stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SizeBy {
    #[default]
    Degree,
    /// All nodes have the same size.
    Same,
    /// The size follows one of the columns of numbers.
    Numbers(usize),
}

impl Palette {
    /// `before` is the palette until now: communities are counted again in every sample, and one that
    /// shares most of its neurons with an earlier one keeps that one's colour.
    pub fn new(network: &Network, kind: Option<ColourBy>, theme: &Theme, before: Option<&Self>) -> Self {
        if let Some(column) = kind.and_then(|k| network.numbers(k)) {
            return Self::from_numbers(column, network.len(), theme);
        }
        let groups = kind.and_then(|k| network.groups(k).map(|g| (k, g)));
        let Some((kind, of_nodes)) = groups else {
            let (name, colour) = (format!("{}s", network.noun()), theme.group(0));
            return Self { groups: vec![Group { id: None, name, count: network.len(), colour }], ..Self::default() };
        };
        let mut sorted = by_count(of_nodes.iter().flatten().copied());
        // Octaves and heads have an order of their own; communities are known by their size.
        if kind != ColourBy::Community {
            sorted.sort_by_key(|(id, _)| *id);
        }
        let coloured = sorted.len().min(Theme::GROUPS);
        let ranks = ranks(network, of_nodes, &sorted[..coloured], before.filter(|_| kind == ColourBy::Community));
        let group = |((id, count), rank): (&(u32, usize), &usize)| Group {
            id: Some(*id),
            name: network.group_name(kind, *id),
            count: *count,
            colour: theme.group(*rank),
        };
        let mut groups: Vec<Group> = sorted.iter().zip(&ranks).map(group).collect();
        let rest: usize = sorted[coloured..].iter().map(|(_, count)| count).sum();
        let alone = of_nodes.iter().filter(|g| g.is_none()).count();
        let more = (sorted.len() > coloured).then(|| format!("{} more", sorted.len() - coloured));
        let words: Vec<String> = more.into_iter().chain((alone > 0).then(|| "none".to_owned())).collect();
        if !words.is_empty() {
            groups.push(Group { id: None, name: words.join(", "), count: rest + alone, colour: theme.grey() });
        }
        let places: HashMap<u32, usize> = groups.iter().enumerate().filter_map(|(i, g)| Some((g.id?, i))).collect();
        let rank = |g: &Option<u32>| places.get(&(*g)?).and_then(|place| ranks.get(*place)).copied();
        let worn = network.names.iter().zip(of_nodes).filter_map(|(name, g)| Some((*name, rank(g)?))).collect();
        Self { groups, places, colour_index: worn, scale: None }
    }

    /// A sequential map over the numbers' range; nodes without one are grey.
    fn from_numbers(column: &Column, nodes: usize, theme: &Theme) -> Self {
        let [low, high] = column.range().unwrap_or([0.0, 1.0]);
        let log = low > 0.0 && high > MIN_LOG_RATIO * low;
        let scale = Colours { map: ColourMap::Viridis, range: [low as f32, high as f32], log };
        let missing = (0..nodes).filter(|i| column.number(*i).is_nan()).count();
        let none = Group { id: None, name: "none".into(), count: missing, colour: theme.grey() };
        let groups = if missing > 0 { vec![none] } else { vec![] };
        Self { groups, scale: Some(scale), ..Self::default() }
    }

    pub fn colour(&self, network: &Network, kind: Option<ColourBy>, node: u32) -> Option<Color32> {
        let number = kind.and_then(|k| network.numbers(k)).map(|column| column.number(node as usize));
        if let (Some(Colours { map, range: [low, high], log }), Some(number)) = (self.scale, number)
            && number.is_finite()
        {
            let place = |v: f32| if log { v.ln() } else { v };
            let share = (place(number as f32) - place(low)) / (place(high) - place(low));
            return Some(map.colour(if share.is_finite() { share } else { 0.5 }));
        }
        self.groups.get(self.legend_line(kind.and_then(|k| network.group(k, node)))).map(|g| g.colour)
    }

    /// The line of the legend that a group belongs to.
    fn legend_line(&self, group: Option<u32>) -> usize {
        let grey = self.groups.len().saturating_sub(1);
        group.map_or(grey, |g| self.places.get(&g).copied().unwrap_or(grey))
    }
}

/// The colour of each group: that of most of its neurons before, the largest overlap first, else one that is left.
fn ranks(network: &Network, of_nodes: &[Option<u32>], groups: &[(u32, usize)], before: Option<&Palette>) -> Vec<usize> {
    let place: HashMap<u32, usize> = groups.iter().enumerate().map(|(i, (id, _))| (*id, i)).collect();
    let nodes = network.names.iter().zip(of_nodes);
    let shared = nodes.filter_map(|(name, group)| Some((*place.get(&(*group)?)?, *before?.colour_index.get(name)?)));
    let mut given: Vec<Option<usize>> = vec![None; groups.len()];
    for ((i, rank), _) in by_count(shared) {
        if given[i].is_none() && !given.contains(&Some(rank)) {
            given[i] = Some(rank);
        }
    }
    let taken: Vec<usize> = given.iter().flatten().copied().collect();
    let mut free = (0..Theme::GROUPS).filter(|rank| !taken.contains(rank));
    given.into_iter().map(|rank| rank.or_else(|| free.next()).unwrap_or(Theme::GROUPS)).collect()
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Emphasis {
    pub selected: Option<u32>,
    /// A line of the legend.
    pub group: Option<usize>,
    /// Nodes that a search found.
    pub found: Vec<u32>,
}

/// Opacity of nodes that do not stand out, of 255.
const FAINT_ALPHA: u8 = 46;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StyleParams {
    pub kind: Option<ColourBy>,
    pub size: SizeBy,
    /// Points of a node of mean degree.
    pub radius: f32,
}

/// The size of a node relative to a usual one.
fn share(network: &Network, size: SizeBy, node: u32, mean: f32) -> f32 {
    let numbers = if let SizeBy::Numbers(at) = size { network.columns.get(at) } else { None };
    let (Some(column), Some([low, high])) = (numbers, numbers.and_then(Column::range)) else {
        let by_degree = (network.degree(node) as f32 / mean).powf(0.45).clamp(0.6, 3.2);
        return if size == SizeBy::Same { 1.0 } else { by_degree };
    };
    let along = (column.number(node as usize) - low) / (high - low).max(f64::MIN_POSITIVE);
    // areas are compared, not radii
    if along.is_nan() { 0.6 } else { 0.6 + 2.6 * along.clamp(0.0, 1.0).sqrt() as f32 }
}

/// The styles of all nodes, none of them held.
pub fn node_styles(network: &Network, wanted: StyleParams, palette: &Palette, emphasis: &Emphasis) -> Vec<NodeStyle> {
    let StyleParams { kind, size, radius } = wanted;
    let n = network.len();
    let mut out = vec![true; n];
    if let Some(selected) = emphasis.selected {
        out.fill(false);
        let ends = network.springs.neighbours(selected as usize).iter().map(|(to, _)| *to);
        ends.chain([selected]).for_each(|i| out[i as usize] = true);
    } else if !emphasis.found.is_empty() {
        out.fill(false);
        emphasis.found.iter().for_each(|i| out[*i as usize] = true);
    }
    let total: u64 = (0..n as u32).map(|i| u64::from(network.degree(i))).sum();
    let mean = (total as f32 / n.max(1) as f32).max(1.0);
    (0..n as u32)
        .map(|i| {
            let place = palette.legend_line(kind.and_then(|k| network.group(k, i)));
            let colour = palette.colour(network, kind, i).unwrap_or(Color32::GRAY);
            let shown = out[i as usize] && emphasis.group.is_none_or(|g| g == place);
            let share = share(network, size, i, mean);
            NodeStyle {
                colour: [colour.r(), colour.g(), colour.b(), if shown { 255 } else { FAINT_ALPHA }],
                radius: radius * share,
                held: false,
            }
        })
        .collect()
}
