//! Views that are panels: charts, and canvases such as a map or a table. Such a view states its questions, its panels and
//! its controls; its drawing, its table and its SVG follow from the panels. How far a chart is zoomed stays with the tile.

use std::collections::HashMap;

use eframe::egui::{Response, Ui, Vec2, vec2};

use super::{
    View, ViewCx, ViewEntry,
    arrangement::{Arrangement, Placement},
    boxed,
    drawings::joined,
    panel::{Panel, PanelResponse},
};
use crate::ui::{
    mirror::Mirror,
    plot::{ChartResponse, ChartState, are_words_last, empty_ui, min_chart_height},
    table::Table,
    widgets::choice_menu::choice_box,
};

/// A view that is panels. [`panels`] makes it a [`View`].
pub trait PanelView {
    const ARRANGEMENT: Arrangement = Arrangement::OneAxis;
    /// Below this height, in points, only one panel is drawn.
    const MIN_HEIGHT_FOR_ALL: f32 = if matches!(Self::ARRANGEMENT, Arrangement::OneAxis) { 200.0 } else { 0.0 };
    /// The gaps between its rows and between panels, points.
    const SPACING: Vec2 = vec2(8.0, 8.0);
    /// A chart without points keeps its place beside other panels, and shows why it is empty.
    const KEEPS_EMPTY: bool =
        matches!(Self::ARRANGEMENT, Arrangement::HalvesOrOne { .. } | Arrangement::HalvesByShape { .. });
    /// Names of the panels in a choice of the one that is drawn where there is room for only one; empty where the view
    /// chooses by itself.
    const CHOICE: &'static [&'static str] = &[];
    /// Height of a row of controls below the charts, points; 0 without one.
    const FOOTER_HEIGHT: f32 = 0.0;

    /// Asks its questions and follows its curves.
    fn needs(&mut self, _cx: &mut ViewCx<'_>) {}

    /// The panels. The first is the main one: while it is empty its message stands for the whole view, and its columns
    /// come first in the table.
    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>>;

    /// The reason why the view has no panels, if it has none.
    fn empty_reason(&self, _cx: &ViewCx<'_>) -> String {
        String::new()
    }

    /// The number of the set of charts that is drawn now: each set has zooms and legends of its own.
    fn chart_set(&self) -> usize {
        0
    }

    /// The index of the panel drawn where only one has room. `chosen` is of [`PanelView::CHOICE`], else 0.
    fn single_panel(&self, chosen: usize) -> usize {
        chosen
    }

    /// Places the panels, at least one, in a room of this size. `alone` comes from [`PanelView::single_panel`].
    fn arrange(&self, ui: &Ui, _cx: &ViewCx<'_>, room: Vec2, panels: &[Panel<'_>], alone: usize) -> Placement {
        let has_several = match Self::KEEPS_EMPTY {
            true => panels.len() > 1,
            false => panels.iter().skip(1).any(|panel| !panel.is_empty()) && !panels[0].is_empty(),
        };
        match has_several && room.y >= Self::MIN_HEIGHT_FOR_ALL && !Self::ARRANGEMENT.shows_one(ui) {
            true => Self::ARRANGEMENT.place(ui.ctx(), room, ui.spacing().item_spacing, panels),
            false => Placement::Alone(alone.min(panels.len().saturating_sub(1))),
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String;

    /// The caption of its pictures, as [`View::caption`].
    fn caption(&self, _mirror: &Mirror) -> Option<String> {
        None
    }

    /// A table to use instead of the one made from the charts; for canvases it is the only table.
    fn table(&self, _cx: &ViewCx<'_>) -> Option<Table> {
        None
    }

    /// The keys of the settings whose controls it shows, as [`View::controls`].
    fn controls(&self) -> &'static [&'static str] {
        &[]
    }

    /// A row of controls above all else; a picture has none.
    fn controls_ui(&mut self, _ui: &mut Ui, _cx: &mut ViewCx<'_>) {}

    /// Text and tokens above the charts, in pictures too.
    fn above_ui(&mut self, _ui: &mut Ui, _cx: &mut ViewCx<'_>) {}

    /// The text that explains the charts, in pictures too: above them, or below in a tile without room for both.
    fn explanation_ui(&mut self, _ui: &mut Ui, _cx: &mut ViewCx<'_>) {}

    /// Controls in a row right below the charts, and above them in a tile too low for both; a picture has none.
    fn footer_ui(&mut self, _ui: &mut Ui, _cx: &mut ViewCx<'_>) {}

    /// True where there is something for those controls to act on.
    fn has_footer(&self, _is_empty: bool) -> bool {
        true
    }

    /// The height of `room` that is reserved for [`PanelView::below_ui`], points. If it is 0, `below_ui` is not called.
    fn height_below(&self, _ui: &Ui, _cx: &ViewCx<'_>, _room: Vec2, _is_empty: bool) -> f32 {
        0.0
    }

    /// Draws controls and text below the charts, also in exported pictures.
    fn below_ui(&mut self, _ui: &mut Ui, _cx: &mut ViewCx<'_>, _height: f32) {}

    /// Handles the pointer on a chart that is shown by itself.
    fn chart_pointed(&mut self, _ui: &Ui, _cx: &mut ViewCx<'_>, _on: &ChartResponse) {}

    /// Handles the pointer on a canvas.
    fn canvas_pointed(&mut self, _cx: &mut ViewCx<'_>, _on: &Response) {}
}

/// The entry of a view that is stated as panels.
pub const fn panels<V: PanelView + Default + 'static>(
    id: &'static str,
    title: &'static str,
    about: &'static str,
) -> ViewEntry {
    boxed::<Panels<V>>(id, title, about)
}

/// A view of panels with the state of each panel, by its set and its place.
#[derive(Default)]
struct Panels<V> {
    view: V,
    /// The panel that was chosen among [`PanelView::CHOICE`].
    chosen: usize,
    /// The panels of the last frame, for controls that are drawn before those of this frame are known.
    last: LastPanels,
    states: HashMap<usize, Vec<ChartState>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct LastPanels {
    /// True if the last frame had more than one panel.
    has_several: bool,
    /// True if the main panel was not empty.
    is_filled: bool,
}

impl<V: PanelView> Panels<V> {
    /// The states of the panels, which have none before they were drawn.
    fn states(&self) -> &[ChartState] {
        self.states.get(&self.view.chart_set()).map_or(&[], Vec::as_slice)
    }

    /// The controls of the view and, in their row, the choice of the panel drawn where only one has room.
    fn controls_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let shown = V::CHOICE.get(self.chosen).filter(|_| self.last.has_several && V::ARRANGEMENT.shows_one(ui));
        cx.controls_ui(ui, |ui, cx| {
            let Some(shown) = shown else { return self.view.controls_ui(ui, cx) };
            ui.horizontal_wrapped(|ui| {
                self.view.controls_ui(ui, cx);
                let choices = V::CHOICE.iter().copied().enumerate();
                choice_box(ui, "picture", 120.0, shown, &mut self.chosen, choices);
            });
        });
    }

    fn charts_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        // in a tile that is too low for both, the controls below the chart would not be visible
        let is_foot_above = ui.max_rect().height() < min_chart_height(ui.ctx()) + V::FOOTER_HEIGHT;
        if is_foot_above && V::FOOTER_HEIGHT > 0.0 && self.view.has_footer(!self.last.is_filled) {
            cx.controls_ui(ui, |ui, cx| ui.horizontal(|ui| self.view.footer_ui(ui, cx)));
        }
        let room = ui.available_size();
        let panels = self.view.panels(cx);
        let states = self.states.entry(self.view.chart_set()).or_default();
        states.iter_mut().for_each(ChartState::clear_visibility);
        let is_empty = panels.first().is_none_or(Panel::is_empty);
        let below = self.view.height_below(ui, cx, room, is_empty);
        let last = LastPanels { has_several: panels.len() > 1, is_filled: !is_empty };
        if std::mem::replace(&mut self.last, last) != last {
            ui.ctx().request_repaint();
        }
        let foot = if is_foot_above || !self.view.has_footer(is_empty) {
            0.0
        } else {
            cx.height_of_controls(V::FOOTER_HEIGHT)
        };
        let room = room - vec2(0.0, foot + below);
        if states.len() < panels.len() {
            states.resize_with(panels.len(), ChartState::default);
        }
        let pointed = if panels.is_empty() {
            drop(panels);
            empty_ui(ui, room, cx.theme, &self.view.empty_reason(cx));
            None
        } else {
            let placement = self.view.arrange(ui, cx, room, &panels, self.view.single_panel(self.chosen));
            placement.show(ui, cx.theme, room, panels, states)
        };
        match pointed {
            Some(PanelResponse::Chart(on)) => self.view.chart_pointed(ui, cx, &on),
            Some(PanelResponse::Canvas(on)) => self.view.canvas_pointed(cx, &on),
            None => {}
        }
        states.iter_mut().for_each(|state| cx.open_asked_claim(state));
        if foot > 0.0 {
            cx.controls_ui(ui, |ui, cx| ui.horizontal(|ui| self.view.footer_ui(ui, cx)));
        }
        if below > 0.0 {
            self.view.below_ui(ui, cx, below);
        }
    }
}

impl<V: PanelView> View for Panels<V> {
    fn controls(&self) -> &'static [&'static str] {
        self.view.controls()
    }

    fn caption(&self, mirror: &Mirror) -> Option<String> {
        self.view.caption(mirror)
    }

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        self.view.needs(cx);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        ui.spacing_mut().item_spacing = V::SPACING;
        self.controls_ui(ui, cx);
        self.view.above_ui(ui, cx);
        if are_words_last(ui) {
            self.charts_ui(ui, cx);
            self.view.explanation_ui(ui, cx);
        } else {
            self.view.explanation_ui(ui, cx);
            self.charts_ui(ui, cx);
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        self.view.subtitle(cx)
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        if let Some(table) = self.view.table(cx) {
            return Some(table.finish());
        }
        let mut panels = self.view.panels(cx).into_iter();
        let mut all = panels.next()?.into_chart()?;
        for panel in panels {
            let Some(prefix) = panel.prefix else { continue };
            all.lines.extend(panel.into_chart().into_iter().flat_map(|chart| chart.lines).map(|mut line| {
                line.label.insert_str(0, prefix);
                line
            }));
        }
        all.csv(self.states().first().unwrap_or(&ChartState::default()))
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        let panels = self.view.panels(cx);
        let shown = panels.iter().zip(self.states()).filter_map(|(panel, state)| panel.drawing(state, cx.theme));
        joined(panels.first()?.name(), shown.collect(), cx.theme)
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::{Color32, Context, Pos2, RawInput, Rect, Sense};

    use super::*;
    use crate::{
        config::Config,
        ui::{
            figure::Figure,
            mirror::Mirror,
            plot::{Axis, Chart, Line, begin_tile},
            selection::Selection,
            theme::{self, Theme},
        },
    };

    fn chart(name: &str, y: f64) -> Chart<'static> {
        let line = Line::new("line", Color32::RED, vec![[0.0, y]]);
        Chart::new(name, Axis::new("step"), Axis::new(name)).line(line)
    }

    #[derive(Default)]
    struct Three;

    impl PanelView for Three {
        fn panels<'a>(&'a self, _cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
            let second = Panel::new(chart("second", 2.0), 0.3).in_table("second ");
            vec![Panel::new(chart("first", 1.0), 0.4), second, Panel::new(chart("third", 3.0), 0.3)]
        }

        fn subtitle(&self, cx: &ViewCx<'_>) -> String {
            cx.subtitle("three charts")
        }
    }

    #[derive(Default)]
    struct Painted;

    impl PanelView for Painted {
        const ARRANGEMENT: Arrangement = Arrangement::HalvesOrOne { wide: 400.0 };

        fn panels<'a>(&'a self, _cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
            let canvas = Panel::canvas("painted", |ui, size| ui.allocate_response(size, Sense::hover()));
            vec![Panel::new(chart("first", 1.0), 0.5), canvas]
        }

        fn single_panel(&self, _chosen: usize) -> usize {
            1
        }

        fn subtitle(&self, cx: &ViewCx<'_>) -> String {
            cx.subtitle("a chart and a canvas")
        }
    }

    #[derive(Default)]
    struct Grouped;

    impl PanelView for Grouped {
        fn panels<'a>(&'a self, _cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
            ["first", "second", "third"].map(|name| Panel::new(chart(name, 1.0), 0.5)).into()
        }

        fn arrange(&self, _ui: &Ui, _cx: &ViewCx<'_>, room: Vec2, _panels: &[Panel<'_>], _alone: usize) -> Placement {
            let half = vec2(room.x, room.y / 2.0);
            let groups = vec![(half, 2, Placement::Alone(0)), (half, 1, Placement::OneAxis(vec![1.0]))];
            Placement::Groups { is_row: false, groups }
        }

        fn subtitle(&self, cx: &ViewCx<'_>) -> String {
            cx.subtitle("two of three charts")
        }
    }

    #[derive(Default)]
    struct Halved;

    impl PanelView for Halved {
        const ARRANGEMENT: Arrangement = Arrangement::HalvesByShape { wide: 1.2 };
        const CHOICE: &'static [&'static str] = &["first", "second"];

        fn panels<'a>(&'a self, _cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
            ["first", "second"].map(|name| Panel::new(chart(name, 1.0), 0.5)).into()
        }

        fn subtitle(&self, cx: &ViewCx<'_>) -> String {
            cx.subtitle("two charts")
        }
    }

    /// Records the position of its controls, so that a test can check it.
    #[derive(Default)]
    struct Footed {
        top: f32,
    }

    impl PanelView for Footed {
        const FOOTER_HEIGHT: f32 = 32.0;

        fn panels<'a>(&'a self, _cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
            Panel::single(chart("first", 1.0))
        }

        fn footer_ui(&mut self, ui: &mut Ui, _cx: &mut ViewCx<'_>) {
            self.top = ui.label("controls").rect.top();
        }

        fn subtitle(&self, cx: &ViewCx<'_>) -> String {
            cx.subtitle("a chart with controls")
        }
    }

    /// Draws a frame of this size, as that of a tile if it `is_tile`.
    fn draw(view: &mut dyn View, cx: &mut ViewCx<'_>, size: [f32; 2], is_tile: bool) {
        let ctx = Context::default();
        theme::apply(cx.theme, true, &ctx);
        let screen_rect = Some(Rect::from_min_size(Pos2::ZERO, size.into()));
        let input = RawInput { screen_rect, ..RawInput::default() };
        let shown = ctx.run_ui(input, |ui| {
            if is_tile {
                begin_tile(ui.ctx(), 1);
            }
            view.ui(ui, cx);
        });
        shown.drop_without_applying_deltas();
    }

    /// The SVG of a view after a frame of this size.
    fn drawn_svg(view: &mut dyn View, cx: &mut ViewCx<'_>, size: [f32; 2]) -> String {
        draw(view, cx, size, false);
        view.svg(cx).unwrap()
    }

    #[test]
    fn table_and_svg_follow_from_the_panels() {
        let (mirror, config, theme) = (Mirror::default(), Config::defaults("", &[]), Theme::dark());
        Figure::new("", &mirror, &config, &[], &theme).with_cx(&mut Selection::default(), |cx| {
            let has = |svg: &str, name: &str| svg.contains(&format!("<title>{name}</title>"));
            let mut three = (panels::<Three>("three", "Three", "").make)();
            assert_eq!(three.csv(cx).unwrap(), "step,line,second line\n0,1,2\n");
            let all = drawn_svg(three.as_mut(), cx, [600.0, 500.0]);
            assert!(["first", "second", "third"].iter().all(|name| has(&all, name)), "{all}");
            let low = drawn_svg(three.as_mut(), cx, [600.0, 120.0]);
            assert!(low.contains("first") && !low.contains("second"), "{low}");

            let mut grouped = (panels::<Grouped>("grouped", "Grouped", "").make)();
            let groups = drawn_svg(grouped.as_mut(), cx, [600.0, 500.0]);
            assert!(has(&groups, "first") && !has(&groups, "second") && has(&groups, "third"), "{groups}");

            let mut painted = (panels::<Painted>("painted", "Painted", "").make)();
            assert_eq!(painted.csv(cx).unwrap(), "step,line\n0,1\n");
            let both = drawn_svg(painted.as_mut(), cx, [600.0, 500.0]);
            assert!(has(&both, "first") && has(&both, "painted"), "{both}");
            let one = drawn_svg(painted.as_mut(), cx, [300.0, 500.0]);
            assert!(!has(&one, "first") && has(&one, "painted"), "{one}");

            cx.has_controls = true;
            for (high, is_above) in [(180.0, true), (400.0, false)] {
                let mut footed = Panels::<Footed>::default();
                draw(&mut footed, cx, [400.0, high], true);
                assert_eq!(footed.view.top < high / 2.0, is_above, "controls in a tile {high} points high");
            }

            let mut halved = Panels::<Halved>::default();
            for (size, is_tile, chosen, shown) in [
                ([300.0, 300.0], true, 0, [true, false]),
                ([300.0, 300.0], true, 1, [false, true]),
                ([300.0, 600.0], true, 1, [true, true]),
                ([900.0, 300.0], true, 1, [true, true]),
                ([300.0, 300.0], false, 1, [true, true]),
            ] {
                halved.chosen = chosen;
                draw(&mut halved, cx, size, is_tile);
                let svg = halved.svg(cx).unwrap();
                assert_eq!(["first", "second"].map(|name| has(&svg, name)), shown, "{size:?}, in a tile: {is_tile}");
            }
        });
    }
}
