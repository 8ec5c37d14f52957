//! Text over the canvas: the neuron under the pointer by name, a card of the selected one with its best partners, and the
//! legend: groups with their colours and counts; a click highlights one.

use super::{
    NeuronGraph,
    canvas::node_scale,
    network::{ColourBy, Network},
    node_style::Group,
};
use crate::ui::{
    views::{painting::*, trained_bdh::take_over_ui},
    widgets::truncated::text_width,
};

/// The size of the card, and the smallest canvas that has space for one.
const CARD_SIZE: Vec2 = vec2(228.0, 250.0);
const MIN_CANVAS_SIZE: Vec2 = vec2(560.0, 300.0);
/// The strongest partners of a node that the card names.
const MAX_PARTNERS: usize = 4;
/// Values of a file's node that are listed; the table has all.
const MAX_VALUES: usize = 8;
/// Height of a line of the legend, points.
const ROW_HEIGHT: f32 = 18.0;
/// Room of the scale of colours at the lower left, without the line below it, points.
const SCALE_SIZE: Vec2 = vec2(222.0, 62.0);
/// A narrower canvas has no room for a legend beside the graph, points.
const MIN_WIDTH: f32 = 300.0;

/// The lines of a legend, and how many of them its canvas has room for.
pub(super) struct LegendLines {
    /// Those for the signs of edges, below the groups.
    signs: Vec<(Color32, String)>,
    lines: usize,
    fit: usize,
    /// Width and height at the lower left of the canvas, points; zero where there is no legend.
    pub(super) size: Vec2,
}

impl NeuronGraph {
    /// Beside the node under the pointer, or the selected one: its name, groups and degree.
    pub(super) fn label_ui(&self, ui: &Ui, network: &Network, rect: Rect, cx: &ViewCx<'_>) {
        let Some(node) = self.hovered else { return };
        let Some(place) = self.motion.places.get(node as usize) else { return };
        let at = self.camera.window(&self.motion.places, rect).at(*place, rect);
        let (label, [into, out]) = (network.label(node), network.degrees(node));
        let mut words = match network.is_directed() {
            true => format!("{label}\n{out} out, {into} in"),
            false => format!("{label}\n{} edges", out + into),
        };
        let kind = self.kind();
        if let Some(column) = kind.and_then(|kind| network.numbers(kind)) {
            let _ = write!(words, " \u{b7} {} {}", column.name, column.text(node as usize));
        }
        if let Some((kind, group)) = kind.and_then(|kind| Some((kind, network.group(kind, node)?))) {
            let _ = write!(words, " \u{b7} {}", network.group_name(kind, group));
        }
        if network.neuron_of(node).is_some_and(|name| self.motion.pinned.contains(&name)) {
            words.push_str(" \u{b7} pinned");
        }
        let painter = ui.painter();
        let galley = painter.layout(words, theme::small(), cx.theme.text, 260.0);
        let radius = self.picture.styles.get(node as usize).map_or(3.0, |d| d.radius)
            * node_scale(self.camera.zoom(&self.motion.places, rect));
        painter.circle_stroke(at, radius + 2.5, Stroke::new(1.5, cx.theme.text));
        let size = galley.size() + vec2(16.0, 10.0);
        let right = at.x + radius + 8.0 + size.x < rect.right();
        let x = if right { at.x + radius + 8.0 } else { at.x - radius - 8.0 - size.x };
        let y = (at.y - size.y / 2.0).clamp(rect.top() + 2.0, (rect.bottom() - size.y - 2.0).max(rect.top() + 2.0));
        let box_of = Rect::from_min_size(pos2(x, y), size);
        painter.rect_filled(box_of, theme::CORNER, cx.theme.raised.gamma_multiply(0.94));
        painter.galley(box_of.min + vec2(8.0, 5.0), galley, cx.theme.text);
    }

    /// The selected neuron and its strongest partners, in the corner; a click goes to one.
    pub(super) fn card_ui(&mut self, ui: &mut Ui, network: &Network, rect: Rect, cx: &mut ViewCx<'_>) {
        let Some(node) = self.selected(cx) else {
            if let Some(neuron) = cx.selection.neuron {
                let words = format!("{} {neuron} has no edge here", network.noun());
                let at = rect.right_top() + vec2(-8.0, 8.0);
                ui.painter().text(at, Align2::RIGHT_TOP, words, theme::small(), cx.theme.secondary);
            }
            return;
        };
        if rect.width() < MIN_CANVAS_SIZE.x || rect.height() < MIN_CANVAS_SIZE.y {
            return;
        }
        let place = Rect::from_min_size(pos2(rect.right() - CARD_SIZE.x - 8.0, rect.top() + 8.0), CARD_SIZE);
        let back = ui.painter().add(Shape::Noop);
        let inner = UiBuilder::new().max_rect(place.shrink(10.0));
        let used = ui.scope_builder(inner, |ui| {
            ui.spacing_mut().item_spacing = vec2(6.0, 2.0);
            ui.spacing_mut().interact_size.y = 17.0;
            self.card_lines_ui(ui, network, node, cx);
        });
        let ground = Rect::from_min_max(place.min, pos2(place.right(), used.response.rect.bottom() + 10.0));
        ui.painter().set(back, Shape::rect_filled(ground, theme::CORNER, cx.theme.raised.gamma_multiply(0.92)));
    }

    fn card_lines_ui(&mut self, ui: &mut Ui, network: &Network, node: u32, cx: &mut ViewCx<'_>) {
        ui.label(RichText::new(network.label(node)).size(theme::BODY).color(cx.theme.text));
        let known = network.kinds().filter(|k| !matches!(k, ColourBy::Groups(_)));
        let kinds: Vec<String> =
            known.filter_map(|k| Some(format!("{} {}", network.kind_name(k), network.group(k, node)?))).collect();
        if !kinds.is_empty() {
            ui.label(small_text(kinds.join(" \u{b7} "), cx.theme.secondary));
        }
        if network.file.is_none() {
            take_over_ui(ui, cx, network.label(node).to_owned(), community(network, node));
        }
        let given = network.columns.iter().map(|c| (&c.name, c.text(node as usize))).filter(|(_, w)| !w.is_empty());
        for (name, words) in given.take(if network.file.is_some() { MAX_VALUES } else { 0 }) {
            let words = format!("{name} {words}");
            ui.label(truncated(ui.painter(), &words, theme::small(), cx.theme.secondary, CARD_SIZE.x - 20.0));
        }
        let sides: &[(bool, &str)] = match (&network.file, network.is_directed()) {
            (None, _) => &[(true, "acts on"), (false, "is acted on by")],
            (Some(_), true) => &[(true, "edges to"), (false, "edges from")],
            (Some(_), false) => &[(true, "edges with")],
        };
        for &(out, words) in sides {
            let directed = network.degrees(node)[usize::from(out)];
            let count = if network.is_directed() { directed } else { network.degree(node) };
            ui.add_space(4.0);
            ui.label(small_text(format!("{words} {count}"), cx.theme.secondary));
            for (partner, weight) in network.partners(node, out, MAX_PARTNERS) {
                let Some(name) = network.neuron_of(partner) else { continue };
                ui.horizontal(|ui| {
                    let colour = self.palette.colour(network, self.kind(), partner).unwrap_or(cx.theme.grey());
                    let (dot, _) = ui.allocate_exact_size(vec2(8.0, 14.0), Sense::hover());
                    ui.painter().circle_filled(dot.center(), 3.5, colour);
                    let text = small_text(network.label(partner), cx.theme.text);
                    if ui.add(Button::new(text).frame(false)).on_hover_text("Go there.").clicked() {
                        cx.selection.neuron = Some(name);
                    }
                    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                        let words = value_label(f64::from(weight));
                        ui.label(RichText::new(words).font(theme::numbers()).color(cx.theme.secondary));
                    });
                });
            }
        }
    }

    fn scale_ui(&self, ui: &Ui, network: &Network, rect: Rect, scale: Colours, theme: &Theme) {
        let missing = self.palette.groups.first();
        let words = self.kind().map_or("", |kind| network.kind_name(kind)).to_owned();
        let words = words + if scale.log { " (log)" } else { "" };
        let under = self.row_under_scale();
        let bar = Rect::from_min_size(rect.left_bottom() + vec2(14.0, -36.0 - under), vec2(180.0, 10.0));
        let ground = Rect::from_min_max(bar.min - vec2(12.0, 22.0), bar.max + vec2(24.0, 22.0 + under));
        let painter = ui.painter();
        painter.rect_filled(ground, 4.0, theme.panel.gamma_multiply(0.85));
        let small = theme::small();
        let galley = truncated(ui.painter(), &words, small.clone(), theme.text, bar.width() + 20.0);
        painter.galley(bar.min - vec2(0.0, 19.0), galley, theme.text);
        colour_bar(painter, bar, scale, theme);
        if let Some(none) = missing {
            let at = bar.left_bottom() + vec2(4.0, 22.0 + ROW_HEIGHT / 2.0);
            painter.circle_filled(at, 4.5, none.colour);
            let words = format!("none  {}", grouped(none.count as u64));
            painter.text(at + vec2(12.0, 0.0), Align2::LEFT_CENTER, words, small, theme.secondary);
        }
    }

    /// The height of the line below the scale for nodes without a number.
    fn row_under_scale(&self) -> f32 {
        if self.palette.groups.is_empty() { 0.0 } else { ROW_HEIGHT }
    }

    pub(super) fn legend_lines(&self, ui: &Ui, network: &Network, rect: Rect, theme: &Theme) -> LegendLines {
        let (groups, signs) = (&self.palette.groups, sign_lines(network, theme));
        let lines = groups.len() + signs.len();
        let fit = if rect.width() < MIN_WIDTH { 0 } else { ((rect.height() - 24.0) / ROW_HEIGHT) as usize };
        let size = if fit < 2 {
            Vec2::ZERO
        } else if self.palette.scale.is_some() {
            SCALE_SIZE + vec2(0.0, self.row_under_scale() + ROW_HEIGHT * signs.len() as f32)
        } else {
            let words = groups.iter().map(group_line).chain(signs.iter().map(|(_, words)| words.clone()));
            let widths = words.map(|words| text_width(ui.painter(), &words, theme::small()));
            let width = widths.fold(0.0, f32::max).min(0.4 * rect.width());
            vec2(width + 32.0, 12.0 + ROW_HEIGHT * lines.min(fit) as f32)
        };
        LegendLines { signs, lines, fit, size }
    }

    pub(super) fn legend_ui(
        &mut self,
        ui: &mut Ui,
        network: &Network,
        legend: &LegendLines,
        rect: Rect,
        theme: &Theme,
    ) {
        let (all, &LegendLines { ref signs, lines, fit, size }) = (&self.palette.groups, legend);
        if fit < 2 {
            return;
        }
        if let Some(scale) = self.palette.scale {
            if size.y <= rect.height() {
                signs_ui(ui, rect.left_bottom() + vec2(6.0, -size.y), signs, theme);
            }
            return self.scale_ui(ui, network, rect, scale, theme);
        }
        let shown = if lines > fit { fit - 1 } else { lines };
        let height = ROW_HEIGHT * (shown + usize::from(shown < lines)) as f32;
        let corner = pos2(rect.left() + 6.0, rect.bottom() - 6.0 - height);
        let small = theme::small();
        let mut clicked = None;
        for (i, group) in all.iter().take(shown).enumerate() {
            let text = group_line(group);
            let galley = truncated(ui.painter(), &text, small.clone(), Color32::WHITE, 0.4 * rect.width());
            let size = vec2(galley.size().x + 26.0, ROW_HEIGHT);
            let place = Rect::from_min_size(corner + vec2(0.0, ROW_HEIGHT * i as f32), size);
            let response = ui.interact(place, ui.scope_id().with(("legend", i)), Sense::click());
            let on = self.group == Some(i);
            response.widget_info(|| WidgetInfo::selected(Role::CheckBox, true, on, &text));
            let hot = on || response.hovered();
            ui.painter().rect_filled(place, 4.0, theme.panel.gamma_multiply(if hot { 0.95 } else { 0.7 }));
            ui.painter().circle_filled(pos2(place.left() + 9.0, place.center().y), 4.5, group.colour);
            let colour = if hot { theme.text } else { theme.secondary };
            let at = pos2(place.left() + 20.0, place.center().y - galley.size().y / 2.0);
            ui.painter().galley_with_override_text_color(at, galley, colour);
            if response.on_hover_text("Click to let these stand out; click again for all.").clicked() {
                clicked = Some(i);
            }
        }
        let next = corner + vec2(0.0, ROW_HEIGHT * shown.min(all.len()) as f32);
        if shown < lines {
            let words = format!("and {} more lines", lines - shown);
            ui.painter().text(next + vec2(20.0, ROW_HEIGHT / 2.0), Align2::LEFT_CENTER, words, small, theme.secondary);
        } else {
            signs_ui(ui, next, signs, theme);
        }
        if let Some(i) = clicked {
            self.group = (self.group != Some(i)).then_some(i);
            ui.ctx().request_repaint();
        }
    }
}

/// A group of nodes in the legend: "community 3  100".
pub(super) fn group_line(group: &Group) -> String {
    format!("{}  {}", group.name, grouped(group.count as u64))
}

/// The lines of the legend for the signs of edges, with their colours; none where no edge is negative, since edges then have the
/// colours of their nodes.
pub(super) fn sign_lines(network: &Network, theme: &Theme) -> Vec<(Color32, String)> {
    if network.negative_edges == 0 {
        return vec![];
    }
    let is_of_file = network.file.is_some();
    let [positive, negative] = if is_of_file { ["positive", "negative"] } else { ["excitatory", "inhibitory"] };
    [(network.positive_edges, theme.warm, positive), (network.negative_edges, theme.cool, negative)]
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, colour, sign)| (colour, format!("{sign} edges  {}", grouped(count as u64))))
        .collect()
}

/// Draws the lines of the legend for the signs of edges, from this corner down.
fn signs_ui(ui: &Ui, corner: Pos2, signs: &[(Color32, String)], theme: &Theme) {
    for (i, (colour, words)) in signs.iter().enumerate() {
        let at = corner + vec2(0.0, ROW_HEIGHT * (i as f32 + 0.5));
        ui.painter().line_segment([at + vec2(3.0, 0.0), at + vec2(15.0, 0.0)], Stroke::new(2.0, *colour));
        ui.painter().text(at + vec2(20.0, 0.0), Align2::LEFT_CENTER, words, theme::small(), theme.secondary);
    }
}

/// The community of a neuron, and the labels of its neurons.
fn community(network: &Network, node: u32) -> Option<(u32, Vec<String>)> {
    let community = network.group(ColourBy::Community, node)?;
    let is_of = |n: &u32| network.group(ColourBy::Community, *n) == Some(community);
    Some((community, (0..network.len() as u32).filter(is_of).map(|n| network.label(n).to_owned()).collect()))
}
