//! Views that are charts. Such a view states its questions, its charts and its controls; its drawing, its table and its SVG
//! follow from the charts. How far a chart is zoomed stays with the tile.

use eframe::egui::{Context, Pos2, Rect, Ui, Vec2, vec2};

use super::{View, ViewCx, ViewEntry, boxed};
use crate::ui::{
    mirror::Mirror,
    plot::{
        Chart, ChartResponse, ChartState, ChartsOrWords, columns, fits_two, reading_order,
        svg::{self, Svg},
    },
    table::Table,
    theme::Theme,
    widgets::one_axis::one_axis_ui,
};

/// A chart of a view.
pub struct Panel<'a> {
    pub chart: Chart<'a>,
    /// Its share of the height of all charts of the view.
    pub share: f32,
    /// Stands before the labels of its lines in the common table; `None` keeps them out of it.
    prefix: Option<&'static str>,
}

impl<'a> Panel<'a> {
    pub fn new(chart: Chart<'a>, share: f32) -> Self {
        Self { chart, share, prefix: None }
    }

    /// The chart of a view that has only one.
    pub fn whole(chart: Chart<'a>) -> Vec<Self> {
        vec![Self::new(chart, 1.0)]
    }

    /// Adds its lines to the table of the first chart, which has the same x.
    pub fn in_table(self, prefix: &'static str) -> Self {
        Self { prefix: Some(prefix), ..self }
    }
}

/// The arrangement of several charts in a view.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrangement {
    /// On one x axis: above one another, or beside one another where a tile is wide and too low for all of them.
    OneAxis,
    /// Each in half of the room: beside one another where it is wider than this (points), else above one another.
    Halves { wide: f32 },
    /// Each in half of the room: beside one another where it is so many times as wide as high, else above one another.
    HalvesByShape { wide: f32 },
}

impl Arrangement {
    /// True if this many charts stand beside one another in this room.
    fn is_wide(self, ctx: &Context, room: Vec2, charts: usize) -> bool {
        match self {
            Self::OneAxis => columns(ctx, room, charts) >= charts.max(2),
            Self::Halves { wide } => fits_two(ctx, room.x, wide),
            Self::HalvesByShape { wide } => fits_two(ctx, room.x, wide * room.y),
        }
    }

    fn show(self, ui: &mut Ui, theme: &Theme, room: Vec2, panels: Vec<Panel<'_>>, states: &mut [ChartState]) {
        let is_wide = self.is_wide(ui.ctx(), room, panels.len());
        if self == Self::OneAxis {
            let charts = panels.into_iter().map(|panel| (panel.chart, panel.share)).collect();
            return one_axis_ui(ui, theme, room, charts, &mut states.iter_mut().collect::<Vec<_>>());
        }
        let gap = ui.spacing().item_spacing;
        let size = match is_wide {
            true => vec2(((room.x - gap.x) / 2.0).floor(), room.y),
            false => vec2(room.x, ((room.y - gap.y) / 2.0).floor()),
        };
        let mut all_ui = |ui: &mut Ui| {
            for (panel, state) in panels.iter().zip(states.iter_mut()) {
                panel.chart.show(ui, size, theme, state);
            }
        };
        if is_wide {
            ui.horizontal(all_ui);
        } else {
            all_ui(ui);
        }
    }
}

/// A view that is charts. [`panels`] makes it a [`View`].
pub trait PanelView {
    /// Below this height, in points, only the first chart is drawn.
    const LOW: f32 = 200.0;
    /// How several charts share the room.
    const ARRANGEMENT: Arrangement = Arrangement::OneAxis;
    /// Between its rows, and between charts, points.
    const SPACING: Vec2 = vec2(8.0, 8.0);
    /// A chart without points keeps its place beside one that has some, and says why it has none.
    const KEEPS_EMPTY: bool = false;
    /// Height of a row of controls below the charts, points; 0 without one.
    const FOOT_HEIGHT: f32 = 0.0;

    /// Asks its questions and follows its curves.
    fn needs(&mut self, _cx: &mut ViewCx<'_>) {}

    /// The charts. The first is the main one: its words stand for the view while it is empty, and its columns lead the
    /// table.
    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>>;

    fn subtitle(&self, cx: &ViewCx<'_>) -> String;

    /// The caption of its pictures, as [`View::caption`].
    fn caption(&self, _mirror: &Mirror) -> Option<String> {
        None
    }

    /// A table in place of the one that follows from the charts.
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

    /// The words that explain the charts, in pictures too: above them, or below in a tile without room for both.
    fn words_ui(&mut self, _ui: &mut Ui, _cx: &mut ViewCx<'_>) {}

    /// Controls right below the charts; a picture has none.
    fn foot_ui(&mut self, _ui: &mut Ui, _cx: &mut ViewCx<'_>) {}

    /// True where there is something for those controls to act on.
    fn has_foot(&self, _is_empty: bool) -> bool {
        true
    }

    /// Height that `room` keeps for [`PanelView::below_ui`], points; with 0 that is not called.
    fn height_below(&self, _cx: &ViewCx<'_>, _room: Vec2, _is_empty: bool) -> f32 {
        0.0
    }

    /// Controls and text below the charts, in pictures too.
    fn below_ui(&mut self, _ui: &mut Ui, _cx: &mut ViewCx<'_>, _height: f32) {}

    /// Takes what the pointer did on the main chart where it stands alone.
    fn pointed(&mut self, _ui: &Ui, _cx: &mut ViewCx<'_>, _on: &ChartResponse) {}
}

/// The drawings of those of a view's charts that are in sight, each with the corner where it stands.
pub fn shown_drawings<'c, 's>(
    charts: impl IntoIterator<Item = (Chart<'c>, &'s ChartState)>,
    theme: &Theme,
) -> Vec<(Pos2, String)> {
    let drawing = |(chart, state): (Chart<'c>, &'s ChartState)| Some((state.corner?, chart.svg(state, theme)?));
    charts.into_iter().filter_map(drawing).collect()
}

/// Drawings as one, each where it stands; those under one that is higher than in its tile are moved down. `None` without
/// any.
pub fn joined(name: &str, mut drawings: Vec<(Pos2, String)>, theme: &Theme) -> Option<String> {
    if drawings.len() < 2 {
        return drawings.pop().map(|(_, drawing)| drawing);
    }
    drawings.sort_by(|(a, _), (b, _)| a.y.total_cmp(&b.y).then(a.x.total_cmp(&b.x)));
    let corner = drawings.iter().fold(Pos2::new(f32::INFINITY, f32::INFINITY), |corner, (at, _)| corner.min(*at));
    let (mut places, mut size): (Vec<Rect>, _) = (vec![], Vec2::ZERO);
    for (at, drawing) in &drawings {
        let place = Rect::from_min_size(*at - corner.to_vec2(), svg::size_of(drawing).unwrap_or_default());
        let is_above = |other: &&Rect| other.left() < place.right() && place.left() < other.right();
        let top = places.iter().filter(is_above).map(|above| above.bottom()).fold(place.top(), f32::max);
        let place = place.translate(vec2(0.0, top - place.top()));
        size = size.max(place.max.to_vec2());
        places.push(place);
    }
    let mut sheet = Svg::new(name, size, theme.panel);
    drawings.iter().zip(places).enumerate().for_each(|(nth, ((_, drawing), place))| sheet.part(place, drawing, nth));
    Some(sheet.finish())
}

/// Those of a view's charts that are in sight as one drawing, with the name of the first. Such a view puts all of them out
/// of sight before it shows any ([`ChartState::put_out_of_sight`]).
pub fn charts_svg<'c, 's>(
    charts: impl IntoIterator<Item = (Chart<'c>, &'s ChartState)>,
    theme: &Theme,
) -> Option<String> {
    let charts: Vec<_> = charts.into_iter().collect();
    let name = charts.first()?.0.name.clone();
    joined(&name, shown_drawings(charts, theme), theme)
}

/// The entry of a view that is stated as charts.
pub const fn panels<V: PanelView + Default + 'static>(
    id: &'static str,
    title: &'static str,
    about: &'static str,
) -> ViewEntry {
    boxed::<Panels<V>>(id, title, about)
}

/// A view of charts with the state of each chart, by its place.
#[derive(Default)]
struct Panels<V> {
    view: V,
    states: Vec<ChartState>,
}

impl<V> Panels<V> {
    /// The state of the main chart, which has none before it was drawn.
    fn main_state(&self) -> ChartState {
        self.states.first().cloned().unwrap_or_default()
    }
}

impl<V: PanelView> Panels<V> {
    fn charts_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let room = ui.available_size();
        let panels = self.view.panels(cx);
        let Some(main) = panels.first() else { return };
        let is_empty = main.chart.is_empty();
        let below = self.view.height_below(cx, room, is_empty);
        let foot = if self.view.has_foot(is_empty) { cx.height_of_controls(V::FOOT_HEIGHT) } else { 0.0 };
        let room = room - vec2(0.0, foot + below);
        self.states.iter_mut().for_each(ChartState::put_out_of_sight);
        if self.states.len() < panels.len() {
            self.states.resize_with(panels.len(), ChartState::default);
        }
        let has_others = panels[1..].iter().any(|panel| !panel.chart.is_empty());
        let has_both = if V::KEEPS_EMPTY { panels.len() > 1 } else { has_others && !main.chart.is_empty() };
        if has_both && room.y >= V::LOW {
            V::ARRANGEMENT.show(ui, cx.theme, room, panels, &mut self.states);
        } else {
            let on = main.chart.show(ui, room, cx.theme, &mut self.states[0]);
            drop(panels);
            self.view.pointed(ui, cx, &on);
        }
        self.states.iter_mut().for_each(|state| cx.open_asked_claim(state));
        if foot > 0.0 {
            cx.controls_ui(ui, |ui, cx| self.view.foot_ui(ui, cx));
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
        cx.controls_ui(ui, |ui, cx| self.view.controls_ui(ui, cx));
        self.view.above_ui(ui, cx);
        for part in reading_order(ui) {
            match part {
                ChartsOrWords::Charts => self.charts_ui(ui, cx),
                ChartsOrWords::Words => self.view.words_ui(ui, cx),
            }
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
        let mut all = panels.next()?.chart;
        for Panel { chart, prefix, .. } in panels {
            let Some(prefix) = prefix else { continue };
            all.lines.extend(chart.lines.into_iter().map(|mut line| {
                line.label.insert_str(0, prefix);
                line
            }));
        }
        all.csv(&self.main_state())
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        charts_svg(self.view.panels(cx).into_iter().map(|panel| panel.chart).zip(&self.states), cx.theme)
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::{Color32, RawInput};

    use super::*;
    use crate::{
        config::Config,
        labs::restrictions::UNRESTRICTED,
        ui::{
            action::Actions,
            mirror::Mirror,
            plot::{Axis, Line},
            questions::Questions,
            selection::Selection,
            theme,
        },
    };

    #[test]
    fn drawings_are_joined_whole() {
        let theme = Theme::dark();
        let one = |at: [f32; 2], wide: f32, high: f32| {
            let mut one = Svg::new("one", vec2(wide, high), theme.panel);
            one.raw("<clipPath id=\"plot\"/><g clip-path=\"url(#plot)\"/>");
            (Pos2::from(at) + vec2(40.0, 70.0), one.finish())
        };
        let all = |parts: Vec<(Pos2, String)>| joined("t", parts, &theme).unwrap();
        // the upper one is higher than it stood in the tile
        let above = all(vec![one([0.0, 150.0], 280.0, 100.0), one([0.0, 0.0], 300.0, 200.0)]);
        let beside = all(vec![one([310.0, 0.0], 280.0, 100.0), one([0.0, 0.0], 300.0, 200.0)]);
        assert_eq!(svg::size_of(&above), Some(vec2(300.0, 300.0)));
        assert_eq!(svg::size_of(&beside), Some(vec2(590.0, 200.0)));
        assert!(above.contains("x=\"0\" y=\"200\"") && above.contains("\"plot1\"") && above.contains("#plot0)"));
        assert_eq!(above.matches("</svg>").count(), 3);
        let left = vec![one([0.0, 0.0], 300.0, 200.0), one([310.0, 0.0], 280.0, 90.0), one([310.0, 95.0], 280.0, 90.0)];
        assert!(all(left).contains("x=\"310\" y=\"95\""), "two beside one that is as high as both");
        assert_eq!(joined("t", vec![], &theme), None);
    }

    #[derive(Default)]
    struct Three;

    impl PanelView for Three {
        fn panels<'a>(&'a self, _cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
            let chart = |name: &str, y: f64| {
                let line = Line::new("line", Color32::RED, vec![[0.0, y]]);
                Chart::new(name, Axis::new("step"), Axis::new(name)).line(line)
            };
            let second = Panel::new(chart("second", 2.0), 0.3).in_table("second ");
            vec![Panel::new(chart("first", 1.0), 0.4), second, Panel::new(chart("third", 3.0), 0.3)]
        }

        fn subtitle(&self, cx: &ViewCx<'_>) -> String {
            cx.subtitle("three charts")
        }
    }

    #[test]
    fn table_and_svg_follow_from_the_charts() {
        let (mirror, config, theme) = (Mirror::default(), Config::defaults("", &[]), Theme::dark());
        let mut cx = ViewCx {
            mirror: &mirror,
            step: 0,
            follow: true,
            config: &config,
            knobs: &[],
            preset: &config,
            restrictions: &UNRESTRICTED,
            theme: &theme,
            selection: &mut Selection::default(),
            actions: &mut Actions::default(),
            questions: &mut Questions::default(),
            all_views: &[],
            still: true,
            has_controls: false,
        };
        let mut view = (panels::<Three>("three", "Three", "").make)();
        assert_eq!(view.csv(&cx).unwrap(), "step,line,second line\n0,1,2\n");
        let mut svg = |height: f32| {
            let ctx = Context::default();
            theme::apply(&theme, true, &ctx);
            let screen_rect = Some(Rect::from_min_size(Pos2::ZERO, vec2(600.0, height)));
            let input = RawInput { screen_rect, ..RawInput::default() };
            ctx.run_ui(input, |ui| view.ui(ui, &mut cx)).drop_without_applying_deltas();
            view.svg(&cx).unwrap()
        };
        let all = svg(500.0);
        assert!(
            ["first", "second", "third"].iter().all(|name| all.contains(&format!("<title>{name}</title>"))),
            "{all}"
        );
        let low = svg(120.0);
        assert!(low.contains("first") && !low.contains("second"), "{low}");
    }
}
