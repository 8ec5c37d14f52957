//! The picture as SVG: the nodes where they are now, in their colours and sizes, the edges under them, and
//! the legend. The camera is left out: a drawing shows the whole graph.

use std::collections::BTreeMap;

use super::{
    NeuronGraph,
    camera::Window,
    canvas,
    network::Network,
    node_style::{self, Emphasis, StyleParams},
    overlays::{group_line, sign_lines},
};
use crate::ui::{
    plot::{Paint, Svg, hex},
    views::prelude::*,
};

/// Width and height of a drawing, points.
const SHEET_SIZE: [f32; 2] = [1200.0, 900.0];
/// More edges would make a file that few programs open; the strongest are drawn.
const MAX_EDGES: usize = 20_000;
/// Number of opacities in which edges of one colour are drawn.
const OPACITY_LEVELS: f32 = 6.0;
const ROW_HEIGHT: f32 = 18.0;

impl NeuronGraph {
    /// `None` until there is a graph that has been laid out.
    pub(super) fn drawing(&self, cx: &ViewCx<'_>) -> Option<String> {
        let network = self.shown.network.as_ref()?;
        let places = &self.motion.places;
        if places.len() != network.len() {
            return None;
        }
        let sheet = Rect::from_min_size(pos2(0.0, 0.0), vec2(SHEET_SIZE[0], SHEET_SIZE[1]));
        let window = Window::around(places, sheet);
        let at = |node: u32| window.at(places[node as usize], sheet);
        let radius = canvas::radius(network, sheet);
        let wanted = StyleParams { kind: self.kind(), size: self.size, radius };
        let styles = node_style::node_styles(network, wanted, &self.palette, &Emphasis::default());
        let mut svg = Svg::new(&network.size_label(), sheet.size(), cx.theme.panel);
        svg.raw("<g fill=\"none\" stroke-width=\"0.9\">\n");
        let (edges, left_out) = edges(network, self.threshold, cx.theme, &styles);
        for ((strength, colour), ends) in edges {
            let share = canvas::edge_opacity(network, sheet) * strength as f32 / OPACITY_LEVELS;
            let (mut heads, mut path) = (String::new(), String::new());
            let _ = write!(path, "<path stroke=\"{colour}\" stroke-opacity=\"{share:.3}\" d=\"");
            for (from, to) in ends {
                let (a, b, r) = (at(from), at(to), styles[to as usize].radius);
                if from == to {
                    let (y, ring) = (a.y - r, (0.8 * r).max(3.5));
                    let _ = write!(path, "M{:.1} {y:.1}a{ring:.1} {ring:.1} 0 1 1 0.1 0", a.x);
                    continue;
                }
                let _ = write!(path, "M{:.1} {:.1}L{:.1} {:.1}", a.x, a.y, b.x, b.y);
                if self.has_arrows(network) {
                    heads.push_str(&head(a, b, r));
                }
            }
            path.push_str("\"/>\n");
            if !heads.is_empty() {
                let _ = writeln!(path, "<g fill=\"{colour}\" fill-opacity=\"{:.3}\">{heads}</g>", share.max(0.35));
            }
            svg.raw(&path);
        }
        svg.raw("</g>\n<g>\n");
        for (node, style) in (0..).zip(&styles) {
            let (p, [r, g, b, _]) = (at(node), style.colour);
            svg.circle(p, style.radius, Paint::fill(Color32::from_rgb(r, g, b)));
        }
        svg.raw("</g>\n");
        self.legend_svg(cx, left_out, &mut svg);
        Some(svg.finish())
    }

    /// Five steps of the scale, where colours stand for numbers.
    fn scale_lines(&self) -> Vec<(Option<Color32>, String)> {
        let Some(Colours { map, range: [low, high], log }) = self.palette.scale else { return vec![] };
        let network = self.shown.network.as_ref();
        let name = self.kind().zip(network).map_or("", |(kind, network)| network.kind_name(kind));
        let value = |t: f32| if log { low * (high / low).powf(t) } else { low + t * (high - low) };
        let line = |t: f32| {
            let [r, g, b] = map.at(t);
            (Some(Color32::from_rgb(r, g, b)), format!("{name} {}", value_label(f64::from(value(t)))))
        };
        [1.0, 0.75, 0.5, 0.25, 0.0].map(line).into()
    }

    fn legend_svg(&self, cx: &ViewCx<'_>, left_out: usize, svg: &mut Svg) {
        let mut lines = self.scale_lines();
        lines.extend(self.palette.groups.iter().map(|group| (Some(group.colour), group_line(group))));
        if left_out > 0 {
            lines.push((None, format!("{} weaker edges are left out", grouped(left_out as u64))));
        }
        let signs = self.shown.network.as_ref().map_or(vec![], |network| sign_lines(network, cx.theme));
        let top = SHEET_SIZE[1] - 12.0 - ROW_HEIGHT * (lines.len() + signs.len()) as f32;
        for (i, (colour, text)) in signs.iter().enumerate() {
            let y = top + ROW_HEIGHT * ((lines.len() + i) as f32 + 0.5);
            svg.line([pos2(10.0, y), pos2(22.0, y)], Paint::stroke(*colour, 2.0));
            svg.text(pos2(28.0, y + 4.0), "start", text, cx.theme.secondary);
        }
        for (i, (colour, text)) in lines.iter().enumerate() {
            let y = top + ROW_HEIGHT * (i as f32 + 0.5);
            if let Some(colour) = colour {
                svg.circle(pos2(16.0, y), 4.5, Paint::fill(*colour));
            }
            svg.text(pos2(28.0, y + 4.0), "start", text, cx.theme.secondary);
        }
    }
}

/// The ends of edges by strength and colour.
type EdgeGroups = BTreeMap<(u32, String), Vec<(u32, u32)>>;

/// The head of an edge from `a` to `b`, whose tip touches the rim of `b`.
fn head(a: Pos2, b: Pos2, radius: f32) -> String {
    let way = b - a;
    if way.length() < radius + 8.0 {
        return String::new();
    }
    let (along, tip) = (way.normalized(), b - way.normalized() * radius);
    let [left, right] = [1.0, -1.0].map(|side| tip - along * 7.0 + along.rot90() * 3.0 * side);
    let [(a, b), (c, d), (e, f)] = [left, tip, right].map(|p| (p.x, p.y));
    format!("<polygon points=\"{a:.1},{b:.1} {c:.1},{d:.1} {e:.1},{f:.1}\"/>")
}

/// The strongest edges by strength (1 to [`OPACITY_LEVELS`]) and colour, weak ones first, and how many are left
/// out. An edge has the colour of where it begins, or of its sign where some are negative.
fn edges(network: &Network, threshold: f32, theme: &Theme, styles: &[gpu::graph::NodeStyle]) -> (EdgeGroups, usize) {
    let mut all: Vec<_> = network.edges.iter().filter(|e| e.2 != 0.0 && e.2.abs() >= threshold).collect();
    all.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
    let strongest = all.first().map_or(1.0, |e| e.2.abs());
    let left_out = all.len().saturating_sub(MAX_EDGES);
    let mut of_kind = EdgeGroups::new();
    for (from, to, weight) in all.into_iter().take(MAX_EDGES) {
        let strength = ((weight.abs() / strongest).sqrt() * OPACITY_LEVELS).ceil().clamp(1.0, OPACITY_LEVELS) as u32;
        let [r, g, b, _] = styles[*from as usize].colour;
        let colour = match network.negative_edges > 0 {
            true if *weight < 0.0 => theme.cool,
            true => theme.warm,
            false => Color32::from_rgb(r, g, b),
        };
        of_kind.entry((strength, hex(colour))).or_default().push((*from, *to));
    }
    (of_kind, left_out)
}
