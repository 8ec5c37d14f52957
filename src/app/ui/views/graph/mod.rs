//! The picture of the neuron graph: a layout that finds its own rest, colours by community, head, octave or provenance,
//! and interaction: hover, select, drag, pin, search and zoom.

use self::{
    camera::{Camera, LegendSide},
    motion::Motion,
    network::{ColourBy, Network, NetworkCache, grouped_count},
    node_style::{Emphasis, Palette, SizeBy, StyleParams},
};
use super::connectivity;
use crate::{gpu::graph::GraphShape, ui::views::prelude::*};

mod camera;
mod canvas;
mod columns;
mod controls;
mod drawing;
mod file;
mod motion;
mod network;
mod node_style;
mod overlays;
mod table;

pub use table::GraphTable;

const EMPTY: &str = "No graph has been measured yet. That of a BDH is measured before its first step: press Space, or drop a \
                     .gexf, .graphml, .gml, node-link .json or edge .csv file on the window.";
/// The gap below the controls, points.
const GAP: f32 = 4.0;
/// Width below which the controls have one row only in smaller letters.
const ONE_ROW: f32 = 380.0;

#[derive(Default)]
pub struct NeuronGraph {
    shown: NetworkCache,
    run: Option<RunNumber>,
    /// The user's choice of colouring; without one, the first kind that was measured.
    chosen: Option<ColourBy>,
    palette: Palette,
    /// The kind and theme that the palette was made for.
    palette_of: Option<(Option<ColourBy>, bool)>,
    /// The kind that the colours represented last.
    palette_kind: Option<Option<ColourBy>>,
    motion: Motion,
    camera: Camera,
    /// The side of the legend on which the graph is drawn; `None`: in the whole canvas.
    legend_side: Option<LegendSide>,
    hovered: Option<u32>,
    /// The group whose line of the legend the pointer is on.
    group: Option<usize>,
    search: String,
    found: Vec<u32>,
    size: SizeBy,
    /// Edges whose weight is nearer to 0 are not drawn.
    threshold: f32,
    picture: Picture,
}

/// The input of the renderer. Revisions are unique over all views, because pictures outlive their views on the GPU.
#[derive(Default)]
struct Picture {
    shape: Arc<GraphShape>,
    shape_revision: u64,
    styles: Arc<Vec<gpu::graph::NodeStyle>>,
    style_revision: u64,
    /// The inputs that the styles were made from.
    styled_for: Option<(Emphasis, StyleParams, bool, u64, u64)>,
    /// Frames since something moved: pictures at rest are drawn in full.
    quiet: u8,
}

impl NeuronGraph {
    fn follow(&mut self, cx: &ViewCx<'_>) {
        if self.run.replace(cx.mirror.run) != Some(cx.mirror.run) {
            // Places and colours are kept from step to step, and not from run to run.
            (self.shown, self.palette_kind, self.motion) = (NetworkCache::default(), None, Motion::default());
        }
        let before = self.shown.network.clone();
        if !self.shown.take(connectivity::shown(cx)) {
            return;
        }
        self.hovered = None;
        self.palette_of = None;
        self.picture.styled_for = None;
        let Some(network) = &self.shown.network else { return };
        // a threshold or a size may not apply to another graph
        if before.as_ref().is_none_or(|before| before.columns.len() != network.columns.len()) {
            (self.size, self.threshold) = (SizeBy::default(), 0.0);
        }
        self.motion.take(before.as_deref(), network);
        self.picture.shape = Arc::new(canvas::shape_of(network));
        self.picture.shape_revision = unique();
        self.found = network.find(&self.search);
    }

    fn kind(&self) -> Option<ColourBy> {
        let network = self.shown.network.as_ref()?;
        self.chosen.filter(|k| network.kinds().any(|known| known == *k)).or_else(|| network.kinds().next())
    }

    fn selected(&self, cx: &ViewCx<'_>) -> Option<u32> {
        self.shown.network.as_ref()?.node(cx.selection.neuron?)
    }

    fn keep_palette(&mut self, network: &Network, cx: &ViewCx<'_>) {
        let key = (self.kind(), cx.theme.dark);
        if self.palette_of != Some(key) {
            self.palette_of = Some(key);
            let before = self.palette_kind.replace(key.0) == Some(key.0);
            self.palette = Palette::new(network, key.0, cx.theme, before.then_some(&self.palette));
            self.group = None;
        }
    }

    /// Moves the layout on; true if another frame is needed.
    fn advance(&mut self, ui: &Ui, network: &Network, cx: &ViewCx<'_>) -> bool {
        let adapter = gpu::target(ui.ctx()).filter(|adapter| adapter.compute);
        // A software adapter still lays large graphs out over several frames, unless this one is the last.
        let is_fast = adapter.is_none_or(|adapter| !adapter.software);
        let affordable = is_fast || network.len() <= 4096 || gpu::is_still(ui.ctx());
        self.motion.advance(network, adapter, cx.still && affordable)
    }
}

/// The name of the file that the graph shown was read from.
fn file_name(mirror: &Mirror) -> Option<&str> {
    let graph: &measurements::NeuronGraph =
        mirror.samples(0, measurements::NeuronGraph::CHANNEL).last()?.measurement()?;
    graph.file.as_ref().and(mirror.variants().first()).map(|file| file.label.as_str())
}

impl View for NeuronGraph {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        connectivity::keep_fresh(cx);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.follow(cx);
        let Some(network) = self.shown.network.clone() else {
            return cx.unmeasured_ui::<measurements::NeuronGraph>(ui, EMPTY);
        };
        let room = ui.available_rect_before_wrap();
        let head = cx.controls_ui(ui, |ui, cx| {
            let place = UiBuilder::new().max_rect(room.with_min_x(ui.cursor().left()));
            ui.scope_builder(place, |ui| self.controls_ui(ui, &network, room, cx)).response.rect
        });
        let body = room.with_min_y(head.map_or(room.top(), |head| head.bottom() + GAP));
        // the colouring may have been chosen in this frame, and the styles need its palette
        self.keep_palette(&network, cx);
        if body.height() > 40.0 {
            ui.scope_builder(UiBuilder::new().max_rect(body), |ui| self.canvas_ui(ui, &network, body, cx));
        }
        ui.advance_cursor_after_rect(egui::Rect::from_min_max(room.min, room.max));
    }

    fn title(&self, mirror: &Mirror) -> Option<String> {
        file_name(mirror).map(ToOwned::to_owned)
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let sample = connectivity::shown::<measurements::NeuronGraph>(cx).map(|graph| graph.sample);
        let network = self.shown.network.as_ref().filter(|network| network.file.is_some());
        let Some((network, sample)) = network.zip(sample) else {
            let size = self.shown.network.as_ref().map_or(String::new(), |network| network.size_label());
            return sample_subtitle(sample, &size, "who acts on whom");
        };
        let found = network.file.as_ref().and_then(|file| file.modularity).map(|q| {
            // no others are searched for communities
            let edges = (network.positive_edges < network.edges.len())
                .then(|| format!(" (of {})", grouped_count(network.positive_edges, "positive edge")));
            format!("communities of Q = {:.3}{}", q.0, edges.unwrap_or_default())
        });
        // the name of the file is the title
        let name = file_name(cx.mirror).unwrap_or_default();
        let about = sample.about.strip_prefix(name).unwrap_or(&sample.about).trim_start_matches(": ");
        let about = (!about.is_empty()).then(|| about.to_owned());
        let clauses: Vec<String> = [Some(network.size_label()), found, about].into_iter().flatten().collect();
        clauses.join(" \u{b7} ")
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        self.drawing(cx)
    }

    /// The edges, with the columns of both ends.
    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let network = Network::from_graph(connectivity::shown(cx)?.value)?;
        let of_file = network.edge_columns.iter().map(|c| c.name.as_str());
        let names = ["source", "target", "weight", "source_label", "target_label"].into_iter().chain(of_file);
        let mut out = Table::new(names);
        for (at, (from, to, weight)) in network.edges.iter().enumerate() {
            let ends = [*from, *to].map(|i| network.id(i));
            let words = [weight.to_string(), network.label(*from).to_owned(), network.label(*to).to_owned()];
            out.row(ends.into_iter().chain(words).chain(network.edge_columns.iter().map(|c| c.text(at))));
        }
        (!network.edges.is_empty()).then(|| out.finish())
    }
}
