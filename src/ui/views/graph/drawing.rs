//! The picture as SVG: the nodes where they are now, in their colours and sizes, the edges under them, and
//! the legend. The camera is left out: a drawing shows the whole graph.

use std::{collections::BTreeMap, fmt::Write as _};

use eframe::egui::{Color32, Rect, pos2, vec2};

use super::{
    NeuronGraph,
    camera::Window,
    canvas,
    network::Network,
    node_style::{self, Emphasis},
};
use crate::ui::{
    plot::{escape, hex},
    views::ViewCx,
    widgets::number::grouped,
};

/// Points of a drawing.
const SHEET: [f32; 2] = [1200.0, 900.0];
/// More edges would make a file that few programs open; the strongest are drawn.
const MOST_EDGES: usize = 20_000;
/// Edges of one colour are drawn in so many strengths.
const STRENGTHS: f32 = 6.0;
const ROW: f32 = 18.0;

impl NeuronGraph {
    /// `None` until there is a graph that has been laid out.
    pub(super) fn drawing(&self, cx: &ViewCx<'_>) -> Option<String> {
        let network = self.shown.network.as_ref()?;
        let places = &self.motion.places;
        if places.len() != network.len() {
            return None;
        }
        let sheet = Rect::from_min_size(pos2(0.0, 0.0), vec2(SHEET[0], SHEET[1]));
        let window = Window::around(places, sheet);
        let at = |node: u32| window.at(places[node as usize], sheet);
        let radius = canvas::radius(network, sheet);
        let nobody = Emphasis::default();
        let styles = node_style::node_styles(network, self.kind(), &self.palette, &nobody, |_| false, radius);
        let mut svg = String::new();
        let _ = write!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n<title>{}</title>\n<rect width=\"{w}\" height=\"{h}\" \
             fill=\"{}\"/>\n<g fill=\"none\" stroke-width=\"0.9\">\n",
            escape(&network.size_words()),
            hex(cx.theme.panel),
            w = SHEET[0],
            h = SHEET[1],
        );
        let (edges, left_out) = edges(network, cx, |node| styles[node as usize].colour);
        for ((strength, colour), ends) in edges {
            let share = canvas::strength(network, sheet) * strength as f32 / STRENGTHS;
            let _ = write!(svg, "<path stroke=\"{colour}\" stroke-opacity=\"{share:.3}\" d=\"");
            for (a, b) in ends.into_iter().map(|(a, b)| (at(a), at(b))) {
                let _ = write!(svg, "M{:.1} {:.1}L{:.1} {:.1}", a.x, a.y, b.x, b.y);
            }
            svg.push_str("\"/>\n");
        }
        svg.push_str("</g>\n<g>\n");
        for (node, style) in (0..).zip(&styles) {
            let (p, [r, g, b, _]) = (at(node), style.colour);
            let fill = hex(Color32::from_rgb(r, g, b));
            let _ = writeln!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{:.1}\" fill=\"{fill}\"/>",
                p.x, p.y, style.radius
            );
        }
        svg.push_str("</g>\n");
        self.legend_svg(cx, left_out, &mut svg);
        svg.push_str("</svg>\n");
        Some(svg)
    }

    fn legend_svg(&self, cx: &ViewCx<'_>, left_out: usize, svg: &mut String) {
        let words = hex(cx.theme.secondary);
        let mut lines: Vec<(Option<String>, String)> = self
            .palette
            .groups
            .iter()
            .map(|g| (Some(hex(g.colour)), format!("{}  {}", g.name, grouped(g.count as u64))))
            .collect();
        if left_out > 0 {
            lines.push((None, format!("{} weaker edges are left out", grouped(left_out as u64))));
        }
        let top = SHEET[1] - 12.0 - ROW * lines.len() as f32;
        for (i, (colour, text)) in lines.iter().enumerate() {
            let y = top + ROW * (i as f32 + 0.5);
            if let Some(colour) = colour {
                let _ = writeln!(svg, "<circle cx=\"16\" cy=\"{y:.1}\" r=\"4.5\" fill=\"{colour}\"/>");
            }
            let _ = writeln!(svg, "<text x=\"28\" y=\"{:.1}\" fill=\"{words}\">{}</text>", y + 4.0, escape(text));
        }
    }
}

type Ends = Vec<(u32, u32)>;

/// The strongest edges by strength (1 to [`STRENGTHS`]) and colour, weak ones first, and how many are left
/// out. An edge has the colour of where it begins, an inhibitory one that of inhibition.
fn edges(
    network: &Network,
    cx: &ViewCx<'_>,
    colour_of: impl Fn(u32) -> [u8; 4],
) -> (BTreeMap<(u32, String), Ends>, usize) {
    let mut all: Vec<_> = network.edges.iter().filter(|e| e.0 != e.1 && e.2 != 0.0).collect();
    all.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
    let strongest = all.first().map_or(1.0, |e| e.2.abs());
    let left_out = all.len().saturating_sub(MOST_EDGES);
    let mut of_kind: BTreeMap<(u32, String), Ends> = BTreeMap::new();
    for (from, to, weight) in all.into_iter().take(MOST_EDGES) {
        let strength = ((weight.abs() / strongest).sqrt() * STRENGTHS).ceil().clamp(1.0, STRENGTHS) as u32;
        let [r, g, b, _] = colour_of(*from);
        let colour = if *weight < 0.0 { cx.theme.cool } else { Color32::from_rgb(r, g, b) };
        of_kind.entry((strength, hex(colour))).or_default().push((*from, *to));
    }
    (of_kind, left_out)
}
