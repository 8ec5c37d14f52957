//! The canvas: the input of the renderer, and the interaction with the pointer.

use eframe::egui::CursorIcon;

use super::{NeuronGraph, camera, motion, network::Network, node_style};
use crate::{
    gpu::{
        graph::{Edge, Graph, GraphShape, GraphStyle},
        graph_layout::{Node, Spring},
    },
    random::scramble,
    ui::views::prelude::*,
};

/// The distance that an arrow key pans the picture, points.
const KEY_PAN: f32 = 40.0;
/// The number of edges, the strongest ones, that a software adapter draws while something moves.
const MAX_MOVING_EDGES: usize = 6_000;
/// Frames without motion after which all edges are drawn again.
const REST_FRAMES: u8 = 2;
/// Length of an arrowhead, points.
const ARROW_LENGTH: f32 = 8.0;
/// More edges than this have no arrowheads but those of the selected node: they would hide one another.
const MAX_ARROWS: usize = 3_000;

/// The graph in the form that the graphics card takes.
pub fn shape_of(network: &Network) -> GraphShape {
    let springs = &network.springs;
    let node = |i: usize| Node { mass: springs.masses[i], first: springs.first[i], end: springs.first[i + 1], held: 0 };
    let strongest = network.edges.iter().map(|e| e.2.abs()).fold(f32::MIN_POSITIVE, f32::max);
    let ink = |w: f32| (w.abs() / strongest).sqrt().copysign(w);
    let drawn = network.edges.iter().filter(|e| e.2 != 0.0);
    let mut edges: Vec<Edge> = drawn.map(|(from, to, w)| Edge { ends: [*from, *to], ink: ink(*w) }).collect();
    // Edges of equal weight are scrambled: in the order of a file, MAX_MOVING_EDGES would leave out all those of some
    // communities.
    let tie_break = |e: &Edge| scramble((u64::from(e.ends[0]) << 32) | u64::from(e.ends[1]));
    edges.sort_by(|a, b| a.ink.abs().total_cmp(&b.ink.abs()).then_with(|| tie_break(a).cmp(&tie_break(b))));
    GraphShape {
        nodes: (0..network.len()).map(node).collect(),
        springs: springs.ends.iter().map(|(to, strength)| Spring { to: *to, strength: *strength }).collect(),
        edges,
        forces: Some(motion::forces(network)),
    }
}

/// The radius of a node of mean size, points; the more nodes there are, the smaller it is.
pub(super) fn radius(network: &Network, rect: Rect) -> f32 {
    (0.155 * (rect.area() / network.len() as f32).sqrt()).clamp(1.0, 5.5)
}

/// How often the edges would cover the picture.
fn edge_layers(network: &Network, rect: Rect) -> f32 {
    0.12 * network.edges.len() as f32 / rect.area().sqrt().max(1.0)
}

/// Opacity of an edge, chosen by the number of edges, so that they neither vanish nor cover the picture.
pub(super) fn edge_opacity(network: &Network, rect: Rect) -> f32 {
    (1.4 / (edge_layers(network, rect) + 1.6)).clamp(0.03, 0.8)
}

/// How much fainter edges are so that they do not hide one another: 0 where they are few, 1 where they cover the picture.
fn crowding(network: &Network, rect: Rect) -> f32 {
    edge_layers(network, rect).min(1.0).sqrt()
}

impl NeuronGraph {
    pub(super) fn canvas_ui(&mut self, ui: &mut Ui, network: &Arc<Network>, whole: Rect, cx: &mut ViewCx<'_>) {
        let legend = self.legend_lines(ui, network, whole, cx.theme);
        // what the user has moved or zoomed stays where it is
        if self.camera.is_fitted() {
            self.legend_side = camera::side_of_legend(&self.motion.places, whole, legend.size, self.legend_side);
        }
        let rect = camera::beside_legend(whole, legend.size, self.legend_side);
        let response = ui.interact(rect, ui.scope_id().with("graph canvas"), Sense::click_and_drag());
        let name = format!("graph of {}", network.size_label());
        response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, &name));
        plot::note_canvas(ui, &name, rect);
        let before = (self.camera, self.motion.step, self.motion.dragged);
        self.handle_pointer(ui, network, rect, &response, cx);
        let moves = self.advance(ui, network, cx);
        let changed = before != (self.camera, self.motion.step, self.motion.dragged);
        self.picture.quiet = if changed { 0 } else { self.picture.quiet.saturating_add(1) };
        if let Err(words) = self.paint(ui, network, rect, cx) {
            let font = FontId::proportional(theme::BODY);
            ui.painter().text(rect.center(), Align2::CENTER_CENTER, words, font, cx.theme.secondary);
        }
        if let Some(words) = self.motion.node_positions.lock().ok().and_then(|t| t.problem.clone()) {
            ui.painter().text(rect.left_bottom(), Align2::LEFT_BOTTOM, words, theme::small(), cx.theme.error);
        }
        if moves || self.picture.quiet <= REST_FRAMES {
            ui.ctx().request_repaint();
        }
        self.legend_ui(ui, network, &legend, whole, cx.theme);
        self.card_ui(ui, network, rect, cx);
        self.label_ui(ui, network, rect, cx);
        self.menu(&response, network, cx);
    }

    /// True where all visible edges have arrow heads: the graph is directed and they are few enough.
    pub(super) fn has_arrows(&self, network: &Network) -> bool {
        network.is_directed() && network.edges_above(self.threshold) <= MAX_ARROWS
    }

    fn paint(&mut self, ui: &Ui, network: &Network, rect: Rect, cx: &ViewCx<'_>) -> Result<(), String> {
        self.styles(network, rect, cx);
        let target = gpu::target(ui.ctx()).ok_or("There is no graphics adapter, so the graph cannot be drawn.")?;
        let selected = self.selected(cx);
        let theme = cx.theme;
        let zoom = self.camera.zoom(&self.motion.places, rect);
        let flat = |c: Color32| [c.r(), c.g(), c.b()];
        // Paint covers where light adds up.
        let crowding = crowding(network, rect);
        let strength = edge_opacity(network, rect) * (1.0 - crowding * if theme.dark { 0.15 } else { 0.38 });
        let look = GraphStyle {
            selected,
            radius_scale: node_scale(zoom),
            strength: (strength * zoom.clamp(1.0, 8.0).powf(0.5)).min(0.9),
            width: (0.9 * zoom.clamp(1.0, 8.0).powf(0.25)).max(0.6),
            dim: 0.12,
            glow: if theme.dark { 0.15 } else { 0.0 },
            fade: 0.13 * rect.area().sqrt() * zoom.max(1.0) / crowding.max(0.01),
            ground: flat(theme.panel),
            accent: flat(theme.accent),
            negative: flat(theme.cool),
            positive: (network.negative_edges > 0).then(|| flat(theme.warm)),
            arrow: match (self.has_arrows(network), network.is_directed()) {
                (true, _) => ARROW_LENGTH,
                (false, true) => -ARROW_LENGTH,
                (false, false) => 0.0,
            },
        };
        let seen = if self.threshold > 0.0 { network.edges_above(self.threshold) } else { usize::MAX };
        let resting = self.picture.quiet >= REST_FRAMES || gpu::is_still(ui.ctx());
        let graph = Graph {
            key: ui.scope_id().with("graph").value(),
            shape: self.picture.shape.clone(),
            shape_revision: self.picture.shape_revision,
            start: self.motion.start.clone(),
            start_revision: self.motion.start_revision,
            begun: if target.compute { 0 } else { self.motion.step },
            wanted: self.motion.step,
            step_params: self.motion.step_params(),
            moved_nodes: self.motion.dragged.into_iter().collect(),
            styles: self.picture.styles.clone(),
            style_revision: self.picture.style_revision,
            camera: self.camera.for_picture(),
            look,
            edges: seen,
            drawn: if target.software && !resting { MAX_MOVING_EDGES } else { usize::MAX },
            node_positions: self.motion.node_positions.clone(),
        };
        let shape = graph.shape(rect, target).map_err(|e| e.to_string())?;
        ui.painter().with_clip_rect(rect.intersect(ui.clip_rect())).add(shape);
        Ok(())
    }

    /// Updates colours, sizes and emphasis when one of them changed.
    fn styles(&mut self, network: &Network, rect: Rect, cx: &ViewCx<'_>) {
        let emphasis =
            node_style::Emphasis { selected: self.selected(cx), group: self.group, found: self.found.clone() };
        let wanted = node_style::StyleParams { kind: self.kind(), size: self.size, radius: radius(network, rect) };
        let dragged = self.motion.dragged.map_or(0, |d| u64::from(d.0) + 1);
        let inputs = (emphasis, wanted, cx.theme.dark, self.motion.held_revision, dragged);
        if self.picture.styled_for.as_ref() == Some(&inputs) {
            return;
        }
        let mut styles = node_style::node_styles(network, wanted, &self.palette, &inputs.0);
        (0..).zip(&mut styles).for_each(|(node, style)| style.held = self.motion.is_held(network, node));
        self.picture.styles = Arc::new(styles);
        self.picture.style_revision = unique();
        self.picture.styled_for = Some(inputs);
    }

    fn handle_pointer(&mut self, ui: &Ui, network: &Network, rect: Rect, response: &Response, cx: &mut ViewCx<'_>) {
        let pointer = response.hover_pos().filter(|p| rect.contains(*p));
        let factor = zoom_factor(ui, 240.0);
        if let Some(p) = pointer.filter(|_| factor != 1.0) {
            self.camera.zoom_by(factor, p, &self.motion.places, rect);
        }
        if response.drag_started() {
            let pressed = ui.input(|i| i.pointer.press_origin()).or(pointer);
            if let Some(node) = pressed.and_then(|p| self.node_under(p, rect)) {
                self.motion.dragged = Some((node, self.motion.places[node as usize]));
            }
        }
        if response.dragged() {
            match self.motion.dragged.zip(response.interact_pointer_pos()) {
                Some(((node, _), p)) => {
                    let place = self.camera.window(&self.motion.places, rect).layout_position(p, rect);
                    self.motion.dragged = Some((node, place));
                    if let Some(slot) = self.motion.places.get_mut(node as usize) {
                        *slot = place;
                    }
                    // A fitted view would move under the pointer while a node is dragged, so it is fixed.
                    self.camera.pan(Vec2::ZERO, &self.motion.places, rect);
                    self.motion.nudge();
                }
                None => self.camera.pan(response.drag_delta(), &self.motion.places, rect),
            }
        }
        if response.drag_stopped() {
            self.motion.dragged = None;
        }
        self.hovered = pointer.filter(|_| !response.dragged()).and_then(|p| self.node_under(p, rect));
        if self.hovered.is_some() {
            ui.ctx().set_cursor_icon(CursorIcon::PointingHand);
        }
        if response.secondary_clicked()
            && let Some(node) = self.hovered
        {
            cx.selection.neuron = network.neuron_of(node);
        }
        if response.double_clicked() {
            self.camera.fit();
        } else if response.clicked() {
            response.request_focus();
            let name = self.hovered.and_then(|node| network.neuron_of(node));
            cx.selection.neuron = if name == cx.selection.neuron { None } else { name };
        }
        if response.has_focus() {
            self.keys(ui, network, rect, response, cx);
        }
    }

    fn node_under(&self, p: Pos2, rect: Rect) -> Option<u32> {
        let window = self.camera.window(&self.motion.places, rect);
        let radius_scale = node_scale(self.camera.zoom(&self.motion.places, rect));
        let radius = |i: usize| self.picture.styles.get(i).map_or(3.0, |d| d.radius) * radius_scale;
        window.pick(&self.motion.places, radius, rect, p)
    }

    fn keys(&mut self, ui: &Ui, network: &Network, rect: Rect, response: &Response, cx: &mut ViewCx<'_>) {
        let [right, up] = plot::arrow_steps(ui, response);
        let by = vec2(-right as f32, up as f32);
        if by != Vec2::ZERO {
            self.camera.pan(by * KEY_PAN, &self.motion.places, rect);
        }
        let pressed = |key: Key| plot::count_presses(ui, key);
        let nearer = pressed(Key::Plus) + pressed(Key::Equals) - pressed(Key::Minus);
        if nearer != 0 {
            self.camera.zoom_by(1.25f32.powf(nearer as f32), rect.center(), &self.motion.places, rect);
        }
        if pressed(Key::Num0) + pressed(Key::Home) > 0 {
            self.camera.fit();
        }
        if pressed(Key::P) > 0
            && let Some(name) = cx.selection.neuron.filter(|name| network.node(*name).is_some())
        {
            self.motion.toggle_pin(name);
        }
    }

    fn menu(&mut self, response: &Response, network: &Network, cx: &mut ViewCx<'_>) {
        response.context_menu(|ui| {
            let name = cx.selection.neuron.filter(|name| network.node(*name).is_some());
            match name {
                Some(name) => {
                    let words = if self.motion.pinned.contains(&name) { "Let it go" } else { "Pin it here" };
                    if ui.button(format!("{words}: {} {name} (P)", network.noun())).clicked() {
                        self.motion.toggle_pin(name);
                        ui.close();
                    }
                }
                None => _ = ui.label(format!("Click a {} to pin it.", network.noun())),
            }
            if ui.add_enabled(!self.motion.pinned.is_empty(), Button::new("Let all pinned go")).clicked() {
                self.motion.pinned.clear();
                self.motion.held_revision += 1;
                self.motion.nudge();
                ui.close();
            }
            if ui.button("Fit everything in").clicked() {
                self.camera.fit();
                ui.close();
            }
        });
    }
}

/// The scale of nodes at a zoom: they grow more slowly than the picture.
pub fn node_scale(zoom: f32) -> f32 {
    zoom.clamp(0.4, 40.0).powf(0.45)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_community_keeps_its_share_of_equal_edges() {
        // ten communities of a hundred edges, one after the other
        let edges = (0..1000).map(|k| (k / 100 * 20 + k % 20, k / 100 * 20 + (k % 20 + k % 100 / 20 + 1) % 20, 1.0));
        let graph = measurements::NeuronGraph {
            neurons: (0..200).collect(),
            edges: GraphEdges::new(edges),
            ..measurements::NeuronGraph::default()
        };
        let shape = shape_of(&Network::from_graph(&graph).unwrap());
        let mut shares = [0; 10];
        shape.edges[500..].iter().for_each(|e| shares[e.ends[0] as usize / 20] += 1);
        assert!(shares.iter().all(|kept| (30..=70).contains(kept)), "{shares:?}");
    }
}
