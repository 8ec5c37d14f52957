//! The row of controls over the canvas.

use eframe::egui::{Popup, PopupCloseBehavior, TextStyle};

use super::{
    NeuronGraph,
    network::{ColourBy, Network},
    node_style::SizeBy,
};
use crate::ui::views::prelude::*;

/// The layout of a graph with more nodes takes long, so that its progress is always shown.
const LARGE_GRAPH: usize = 20_000;

impl NeuronGraph {
    pub(super) fn controls_ui(&mut self, ui: &mut Ui, network: &Network, canvas: Rect, cx: &mut ViewCx<'_>) {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            // narrow frames tell the buttons apart and leave them in one row
            ui.spacing_mut().button_padding.x = 3.0;
            let room = ui.available_width();
            let is_narrow = room < super::ONE_ROW;
            if is_narrow {
                // in smaller letters the most used ones are in one row, and the others in the menu
                ui.style_mut().text_styles.insert(TextStyle::Button, theme::small());
            }
            self.colour_ui(ui, network);
            let wide = [(560.0, 140.0), (super::ONE_ROW, 84.0)].into_iter().find(|(from, _)| room >= *from);
            self.search_ui(ui, network, canvas, cx, wide.map_or(44.0, |(_, width)| width));
            // in the narrowest tiles every button is worth more than a line
            if wide.is_some() {
                ui.separator();
            }
            let resting = self.motion.is_resting();
            let (words, tip) = match (self.motion.paused, resting) {
                (true, _) => ("go on", "Lets the layout move on."),
                (false, false) => ("pause", "Holds the layout where it is. It stops by itself once it is at rest."),
                (false, true) => ("pause", "The layout is at rest; nothing moves until a node is dragged."),
            };
            let pause = ui.add_enabled(!resting, Button::new(words));
            if pause.on_hover_text(tip).on_disabled_hover_text(tip).clicked() {
                self.motion.paused = !self.motion.paused;
            }
            if !is_narrow {
                self.place_ui(ui, network);
            }
            self.look_ui(ui, network, is_narrow);
            let tip = "All nodes and edges with their values, to sort and to filter.";
            if network.file.is_some() && ui.button("table").on_hover_text(tip).clicked() {
                cx.act(PageAction::ShowView("graph_table"));
            }
            let export = ui.button("export");
            export.clone().on_hover_text(
                "Writes the graph into the export folder: GEXF, GraphML, GML and node-link JSON with places and values, \
                 for Gephi, networkx or d3, or the edges alone as CSV. All of them can be opened here again.",
            );
            Popup::menu(&export).show(|ui| self.export_ui(ui, network, cx));
            // With reduced motion a small graph comes to rest within a frame.
            if !resting && (network.len() > LARGE_GRAPH || room >= 560.0 && !cx.still) {
                let (done, all) = self.motion.progress();
                ui.label(format!("{done}/{all}")).on_hover_text("Steps of the layout until it rests.");
            }
        });
    }

    fn colour_ui(&mut self, ui: &mut Ui, network: &Network) {
        let kind = self.kind();
        let shown = kind.map_or("one colour", |k| network.kind_name(k));
        let combo = ComboBox::from_id_salt("graph colours").selected_text(shown).width(104.0).height(420.0);
        let combo = combo.truncate().show_ui(ui, |ui| {
            for k in network.kinds() {
                let words = match k {
                    ColourBy::Numbers(_) => format!("{} (number)", network.kind_name(k)),
                    _ => network.kind_name(k).to_owned(),
                };
                if ui.selectable_label(kind == Some(k), words).on_hover_text(k.about()).clicked() {
                    self.chosen = Some(k);
                }
            }
            if network.kinds().next().is_none() {
                ui.label(format!("Nothing is known of these {}s but their edges.", network.noun()));
            }
        });
        combo.response.widget_info(|| WidgetInfo::labeled(Role::ComboBox, true, "colour by"));
        combo.response.on_hover_text(kind.map_or("What the colours stand for.", ColourBy::about));
    }

    /// Lays the graph out again, and fits it into the tile.
    fn place_ui(&mut self, ui: &mut Ui, network: &Network) {
        let tip = "Lays it out from the start. The same seed gives the same picture each time.";
        if ui.button("restart").on_hover_text(tip).clicked() {
            self.motion.restart(network);
            self.camera.fit();
        }
        let fit = ui.add_enabled(!self.camera.is_fitted(), Button::new("fit"));
        if fit.on_hover_text("Fits everything in (0, or double-click).").clicked() {
            self.camera.fit();
        }
    }

    /// Controls that are seldom changed: sizes, and the threshold of visible edges; in a narrow tile the place too.
    fn look_ui(&mut self, ui: &mut Ui, network: &Network, is_narrow: bool) {
        let look = ui.button("look").on_hover_text("What sizes stand for, and from which weight on edges are drawn.");
        let menu = Popup::menu(&look).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
        menu.style(theme::popup_style).show(|ui| {
            if is_narrow {
                self.place_ui(ui, network);
                ui.separator();
            }
            ui.label("size by");
            ui.radio_value(&mut self.size, SizeBy::Degree, "degree");
            for (at, column) in network.columns.iter().enumerate().skip(1) {
                if column.range().is_some_and(|[low, high]| low < high) {
                    ui.radio_value(&mut self.size, SizeBy::Numbers(at), column.name.as_str());
                }
            }
            ui.radio_value(&mut self.size, SizeBy::Same, "one size");
            let Some(max) = network.greatest_weight() else { return };
            ui.separator();
            let label = ui.label("draw edges from |weight|").id;
            ui.horizontal(|ui| {
                let drag = DragValue::new(&mut self.threshold).range(0.0..=max).speed(max / 300.0);
                ui.add(drag).labelled_by(label).on_hover_text(
                    "Weaker edges are not drawn. Degrees, communities and components stay those of all edges; \
                     `orrery graph --threshold` cuts the graph itself.",
                );
                let seen = grouped(network.edges_above(self.threshold) as u64);
                ui.label(format!("{seen} of {}", grouped(network.edges.len() as u64)));
            });
        });
    }

    fn search_ui(&mut self, ui: &mut Ui, network: &Network, canvas: Rect, cx: &mut ViewCx<'_>, width: f32) {
        let field = TextEdit::singleline(&mut self.search)
            .hint_text(if width < 120.0 { "find".to_owned() } else { format!("find a {}", network.noun()) })
            .desired_width(width);
        let field = text_field(ui, field, "find a neuron");
        if field.changed() {
            self.found = network.find(&self.search);
        }
        if field.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter)) && !self.found.is_empty() {
            // Each Enter goes to the next node that was found.
            let now = self.selected(cx);
            let at = self.found.iter().position(|n| Some(*n) == now).map_or(0, |i| (i + 1) % self.found.len());
            let node = self.found[at];
            cx.selection.neuron = network.neuron_of(node);
            if let Some(place) = self.motion.places.get(node as usize).copied() {
                self.camera.go_to(place, &self.motion.places, canvas);
            }
            field.request_focus();
        }
        if !self.search.trim().is_empty() {
            let words = match self.found.len() {
                0 => "none".to_owned(),
                n => grouped(n as u64),
            };
            field.on_hover_text(format!("{words} found by label or number. Enter goes to each in turn."));
            ui.label(words);
        } else {
            field.on_hover_text("By label or number. Those found stand out; Enter goes to each in turn.");
        }
    }
}
