//! The slow manifold: particles of a planar fast-slow system that collapse on f = 0, a trajectory with its speed, and
//! how far the true motion is from it, or averaging and splitting from that, as eps shrinks. No model is needed.

use crate::{
    analysis::fast_slow_plane::{
        Bounds, ManifoldDistance, MultiscaleError, MultiscaleErrors, Point, SPLITTING_STEPS, canard_value,
        multiscale_errors,
    },
    config::Setting,
    labs::equilibrium::slow_manifold::{ManifoldMeaning, PlanarSystem, SlowManifoldSettings},
    ui::views::{
        flow::{sheet::Sheet, streaks::Background},
        painting::*,
    },
};
use field::{Field, Run, Source};
use particles::ParticleLayer;
use scene::{Scene, legend_ui};

mod charts;
mod field;
mod meanings;
mod particles;
mod scene;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum SideChart {
    #[default]
    Distance,
    /// Errors of averaging and of splitting.
    Multiscale,
}

const MEANINGS: [(ManifoldMeaning, &str); 3] = [
    (ManifoldMeaning::Operator, "M1 operator"),
    (ManifoldMeaning::Sphere, "M2 sphere"),
    (ManifoldMeaning::Dynamical, "M3 dynamical"),
];
const CHARTS: [(SideChart, &str, &str); 2] = [
    (SideChart::Distance, "distance", "How far the true motion is from f = 0 and from h\u{2080} + \u{3b5}h\u{2081}."),
    (
        SideChart::Multiscale,
        "averaging",
        "Two ways to follow the slow variable with long steps, and how far each is from the true motion. Averaging, the \
         heterogeneous multiscale method where x comes to rest, takes g at that rest: off by a multiple of \u{3b5}, and no \
         fast step is taken. Lie splitting moves x alone, then y alone: off by a multiple of its step.",
    ),
];
/// The share of the width for the charts beside the picture, and their minimum width, points.
const SIDE_SHARE: f32 = 0.38;
const MIN_SIDE: f32 = 230.0;
/// A chart that is lower is not readable.
const MIN_CHART_HEIGHT: f32 = 110.0;
/// The distance that an arrow key moves the start, as a share of the plane.
const KEY_STEP: f64 = 0.02;
const KEY_ZOOM: f64 = 1.25;
/// Stands for what happens where that has no room.
const FOLDED_TEXT: &str = "what happens here (hover)";
const POINTER_HINT: &str = "A click starts the trajectory there, and a drag takes it along; particles that flow go with the pointer until \
                    you let go. Arrow keys move the start. \
                    Scrolling, + and \u{2212} zoom; a double click or 0 shows the whole plane. Motion that is faster than the screen can follow is drawn slower, \
                    on its own path.";

#[derive(Default)]
pub struct SlowManifold {
    /// The start that the user chose, and its system.
    start: Option<(PlanarSystem, Point)>,
    /// The visible part of the plane and its system; `None` shows all of the plane.
    window: Option<(PlanarSystem, Bounds)>,
    fields: KeyedCache<Source, Option<Result<Arc<Field>, String>>>,
    runs: KeyedCache<(Source, f64, Point), Option<Arc<Run>>>,
    errors: KeyedCache<Source, Option<Option<MultiscaleErrors>>>,
    /// The last field that could be drawn; it stays visible while the user types a formula.
    made: Option<Arc<Field>>,
    chosen: Option<Background>,
    particles: ParticleLayer,
    chart: ChartState,
    side_chart: SideChart,
    /// The canvas where it was last shown, screen points.
    canvas: Option<Rect>,
}

impl SlowManifold {
    /// Computes the field that is shown, once for each source; returns an error message where that fails.
    fn make_field(&mut self, settings: &SlowManifoldSettings) -> Option<String> {
        let source = Source::new(settings);
        let kept = self.fields.at(source.clone());
        match kept.get_or_insert_with(|| Field::new(&source).map(Arc::new).map_err(|e| sentence(&e))) {
            Ok(field) => {
                self.made = Some(field.clone());
                None
            }
            Err(words) => Some(words.clone()),
        }
    }

    fn start(&self, field: &Field) -> Point {
        let chosen = self.start.filter(|(system, _)| *system == field.source.system);
        chosen.map_or_else(|| field.default_start(), |(_, start)| start)
    }

    fn bounds(&self, field: &Field) -> Bounds {
        let window = self.window.filter(|(system, _)| *system == field.source.system);
        window.map_or(field.bounds, |(_, bounds)| bounds)
    }

    /// The trajectory at this eps, solved once.
    fn run(&mut self, field: &Field, epsilon: f64) -> Arc<Run> {
        let start = self.start(field);
        let kept = self.runs.at((field.source.clone(), epsilon, start));
        kept.get_or_insert_with(|| Arc::new(Run::solve(field, epsilon, start))).clone()
    }

    fn errors(&self, field: &Field) -> Option<&MultiscaleErrors> {
        self.errors.get(&field.source)?.as_ref()?.as_ref()
    }

    fn last_run(&self, cx: &ViewCx<'_>) -> Option<(&Field, Arc<Run>)> {
        let field = self.made.as_deref()?;
        let key = (field.source.clone(), settings(cx).epsilon, self.start(field));
        Some((field, self.runs.get(&key)?.clone()?))
    }

    fn controls_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, settings: &SlowManifoldSettings, behind: Background) {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 4.0;
            cx.setting_ui(ui, CONTROLS, |ui, cx| {
                let choices = MEANINGS.map(|(meaning, words)| (meaning, words, meanings::explanation(meaning)));
                if let Some(meaning) = choice_buttons(ui, &settings.meaning, choices) {
                    cx.set(SlowManifoldSettings::meaning.name, meaning.to_value());
                }
            });
            if settings.meaning != ManifoldMeaning::Dynamical {
                return;
            }
            divider_ui(ui, Background::Nothing.label());
            self.chosen = behind.choice_ui(ui).or(self.chosen);
            divider_ui(ui, CHARTS[0].1);
            for (chart, words, tip) in CHARTS {
                ui.selectable_value(&mut self.side_chart, chart, words).on_hover_text(tip);
            }
            if settings.system == PlanarSystem::VanDerPol && !cx.is_restricted(&[SlowManifoldSettings::a.name]) {
                let words = "to the canard";
                divider_ui(ui, words);
                let tip = "Sets a to 1 \u{2212} \u{3b5}/8 \u{2212} 3\u{3b5}\u{b2}/32, where cycles grow from small to large \
                           within an interval that is exponentially short in 1/\u{3b5}.";
                if ui.button(words).on_hover_text(tip).clicked() {
                    let value = (canard_value(settings.epsilon) * 1e6).round() / 1e6;
                    cx.set(SlowManifoldSettings::a.name, value.to_value());
                }
            }
        });
    }

    fn constraint_ui(&mut self, ui: &mut Ui, cx: &ViewCx<'_>, meaning: ManifoldMeaning) {
        wrapped_ui(ui, meanings::explanation(meaning), cx.theme.secondary);
        let words = match meaning {
            ManifoldMeaning::Operator => {
                "2 \u{d7} 2 matrices by their diagonal. Line: doubly stochastic, from swap (0, 0) to identity (1, 1). \
                 Rings: positive matrices; discs: where Sinkhorn ends."
            }
            _ => "Circle: |y| = 1. Rings: states; discs: y/|y|.",
        };
        wrapped_ui(ui, words, cx.theme.secondary);
        let room = ui.available_size().max(vec2(40.0, 40.0));
        let (outer, _, _) = canvas_ui(ui, room, Sense::hover(), meanings::explanation(meaning));
        self.canvas = Some(outer);
        paint_constraint(ui, cx, outer, meaning);
    }

    fn dynamical_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, behind: Background) {
        let Some(field) = self.made.clone() else {
            let words = "No picture yet: mend the formulas f and g under Slow manifold in the settings.";
            return cx.nothing_ui(ui, words);
        };
        legend_ui(ui, cx.theme);
        self.chart.clear_visibility();
        let room = ui.available_size();
        let is_beside = room.x > 1.1 * room.y && room.x > 2.0 * MIN_SIDE;
        let has_side = is_beside || room.y > 2.0 * MIN_CHART_HEIGHT + 120.0;
        let folded = if has_side { 0.0 } else { cx.height_of_controls(22.0) };
        let (outer, _) = ui.allocate_exact_size(room - vec2(0.0, folded), Sense::hover());
        let (canvas, side) = match (has_side, is_beside) {
            (false, _) => (outer, None),
            (true, true) => {
                let cut = outer.right() - (room.x * SIDE_SHARE).max(MIN_SIDE);
                (outer.with_max_x(cut - 8.0), Some(outer.with_min_x(cut)))
            }
            (true, false) => {
                let cut = outer.bottom() - (room.y * SIDE_SHARE).max(MIN_CHART_HEIGHT + 60.0);
                (outer.with_max_y(cut - 6.0), Some(outer.with_min_y(cut)))
            }
        };
        let run = self.canvas_ui(ui, cx, &field, canvas, behind);
        if let Some(side) = side {
            // the chart may take more room than it is given, and the tile then scrolls
            let place = UiBuilder::new().max_rect(side).layout(Layout::top_down(Align::Min));
            ui.scope_builder(place, |ui| self.side_ui(ui, cx, &field, &run));
        } else if cx.has_controls {
            let facts = charts::facts(&field, &run).join(" ");
            let words = format!("{facts} Maximise the tile for the distances against \u{3b5}.");
            caption_ui(ui, cx.theme, &words, false, FOLDED_TEXT, POINTER_HINT);
        }
    }

    fn side_ui(&mut self, ui: &mut Ui, cx: &ViewCx<'_>, field: &Field, run: &Run) {
        let mut words = charts::facts(field, run);
        if self.particles.is_stirred(ui) {
            words.push("Stirred: the pointer carried particles off their paths.".to_owned());
        }
        if cx.has_controls {
            words.push("Click or drag in the plane (hover here for more).".to_owned());
        }
        let words = words.join(" ");
        let high = note_height(ui, &words, ui.available_width()) + 6.0;
        let has_room = ui.available_height() - high >= MIN_CHART_HEIGHT;
        let size = vec2(ui.available_width(), ui.available_height() - if has_room { high } else { 20.0 });
        if self.side_chart == SideChart::Multiscale {
            let Field { source, plane, bounds, manifold, .. } = field;
            self.errors.at(source.clone()).get_or_insert_with(|| multiscale_errors(plane, bounds, manifold));
        }
        self.chart(field, run.epsilon, cx.theme).show(ui, size, cx.theme, &mut self.chart);
        // a picture has no pointer to open it
        if has_room || cx.has_controls {
            caption_ui(ui, cx.theme, &words, has_room, FOLDED_TEXT, POINTER_HINT);
        }
    }

    /// The chart beside the plane, of the errors that were computed already.
    fn chart(&self, field: &Field, epsilon: f64, theme: &Theme) -> Chart<'static> {
        match self.side_chart {
            SideChart::Distance => charts::distance_chart(field, epsilon, theme),
            SideChart::Multiscale => charts::multiscale_chart(self.errors(field), epsilon, theme),
        }
    }

    fn canvas_ui(&mut self, ui: &mut Ui, cx: &ViewCx<'_>, field: &Field, outer: Rect, behind: Background) -> Arc<Run> {
        self.canvas = Some(outer);
        let epsilon = settings(cx).epsilon;
        let sheet = Sheet::inside(outer, self.bounds(field));
        let response = ui.interact(sheet.rect, ui.scope_id().with("plane"), Sense::click_and_drag());
        response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, "slow manifold plane"));
        let flowing = behind == Background::Flowing && !cx.still;
        if let Some(start) = sheet.chosen_point(ui, &response, self.start(field), KEY_STEP) {
            self.start = Some((field.source.system, start));
        }
        self.zoom(ui, &response, &sheet, field);
        let run = self.run(field, epsilon);
        let painter = ui.painter_at(outer);
        if behind != Background::Nothing {
            self.particles.take(field, epsilon, &sheet.bounds);
            let held = response.interact_pointer_pos().filter(|_| response.dragged() && flowing);
            let velocity = ui.input(|i| i.pointer.velocity());
            self.particles.stir(ui, &sheet, held.map(|at| (at, velocity)));
            // Without an adapter the picture has no particles, but everything else.
            let _ = self.particles.paint(ui, &sheet, flowing, cx.theme);
        }
        paint_plane(&painter, cx, &sheet, field, &run);
        if response.has_focus() {
            painter.rect_stroke(sheet.rect, 0.0, Stroke::new(1.5, cx.theme.accent), StrokeKind::Inside);
        }
        run
    }

    /// Scrolling zooms about the pointer, + and - about the middle; a double click and 0 show all of the plane.
    fn zoom(&mut self, ui: &Ui, response: &Response, sheet: &Sheet, field: &Field) {
        let mut factor = 1.0;
        let mut about = sheet.bounds.at(0.5, 0.5);
        let mut shows_all = response.double_clicked();
        if let Some(at) = response.hover_pos() {
            (factor, about) = (1.0 / f64::from(zoom_factor(ui, 240.0)), sheet.point_at(at));
        }
        if response.has_focus() {
            let presses = |key: Key| plot::count_presses(ui, key);
            let closer = presses(Key::Plus) + presses(Key::Equals) - presses(Key::Minus);
            factor *= KEY_ZOOM.powi(-closer);
            shows_all |= presses(Key::Num0) > 0;
        }
        if shows_all {
            self.window = None;
        } else if factor != 1.0 {
            let zoomed = sheet.zoomed(about, factor, &field.bounds);
            self.window = (zoomed != field.bounds).then_some((field.source.system, zoomed));
            ui.ctx().request_repaint();
        }
    }
}

/// An error with what caused it.
fn sentence(error: &dyn std::error::Error) -> String {
    error.source().map_or(format!("{error}."), |source| format!("{error} ({source})."))
}

/// The settings as they are in this frame; a lab without them has their defaults.
fn settings(cx: &ViewCx<'_>) -> SlowManifoldSettings {
    cx.config_now().group().unwrap_or_default()
}

fn paint_plane(painter: &Painter, cx: &ViewCx<'_>, sheet: &Sheet, field: &Field, run: &Run) {
    let inside = painter.with_clip_rect(sheet.rect.intersect(painter.clip_rect()));
    Scene { painter: &inside, theme: cx.theme, sheet: *sheet }.paint(field, run);
    sheet.axes(painter, cx.theme, meanings::axes_of(ManifoldMeaning::Dynamical));
}

/// Paints into a square sheet, so that a circle looks like one.
fn paint_constraint(ui: &Ui, cx: &ViewCx<'_>, outer: Rect, meaning: ManifoldMeaning) {
    let side = outer.width().min(outer.height());
    let square = Rect::from_min_size(outer.min, vec2(side + 8.0, side).min(outer.size()));
    let sheet = Sheet::inside(square, meanings::bounds_of(meaning));
    let painter = ui.painter_at(outer);
    meanings::paint(&painter.with_clip_rect(sheet.rect.expand(4.0)), cx.theme, &sheet, meaning);
    sheet.axes(&painter, cx.theme, meanings::axes_of(meaning));
}

const CONTROLS: &[&str] = &[SlowManifoldSettings::meaning.name];

impl View for SlowManifold {
    fn controls(&self) -> &'static [&'static str] {
        CONTROLS
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let before = settings(cx);
        let behind = self.chosen.unwrap_or_else(|| Background::default_for(ui));
        ui.spacing_mut().item_spacing.y = 4.0;
        cx.controls_ui(ui, |ui, cx| self.controls_ui(ui, cx, &before, behind));
        let settings = settings(cx);
        if settings.meaning != ManifoldMeaning::Dynamical {
            return self.constraint_ui(ui, cx, settings.meaning);
        }
        if let Some(words) = self.make_field(&settings) {
            let kept = if self.made.is_some() { " The last picture stays." } else { "" };
            wrapped_ui(ui, format!("! {words}{kept}"), cx.theme.error);
        }
        self.dynamical_ui(ui, cx, behind);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let settings = settings(cx);
        let system = match settings.system {
            PlanarSystem::VanDerPol => "van der Pol",
            PlanarSystem::FitzHughNagumo => "FitzHugh\u{2013}Nagumo",
            PlanarSystem::CubicFold => "cubic fold",
            PlanarSystem::Formulas => "own formulas",
        };
        match settings.meaning {
            ManifoldMeaning::Operator => "computed, no model: doubly stochastic 2 \u{d7} 2 matrices".to_owned(),
            ManifoldMeaning::Sphere => "computed, no model: states on |y| = 1".to_owned(),
            ManifoldMeaning::Dynamical => format!(
                "computed, no model: {system}, \u{3b5} = {} (P = {}), a = {}",
                short(settings.epsilon),
                short(1.0 / settings.epsilon),
                short(settings.a)
            ),
        }
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let mut table = Table::new(["line", "part", "x", "y"]);
        let mut rows = |line: &str, part: usize, points: &[Point]| {
            points.iter().for_each(|[x, y]| table.cells(&[&line, &part, x, y]))
        };
        let meaning = settings(cx).meaning;
        if meaning != ManifoldMeaning::Dynamical {
            meanings::projections(meaning).iter().enumerate().for_each(|(i, path)| rows("projection", i, path));
            return Some(table.finish());
        }
        let (field, run) = self.last_run(cx)?;
        for (i, branch) in field.manifold.branches.iter().enumerate() {
            rows(if branch.is_stable { "attracting" } else { "repelling" }, i, &branch.points);
        }
        rows("fold", 0, &field.manifold.folds);
        for (i, (_, line)) in field.first_order_manifold(run.epsilon).iter().enumerate() {
            rows("first order", i, line);
        }
        rows("trajectory", 0, &run.trajectory.points);
        if let Some(distances) = &field.distances {
            let column = |distance: fn(&ManifoldDistance) -> f64| {
                distances.points.iter().map(|p| [p.epsilon, distance(p)]).collect::<Vec<Point>>()
            };
            rows("distance to f = 0 (y) by eps (x)", 0, &column(|p| p.to_critical));
            rows("distance to first order (y) by eps (x)", 0, &column(|p| p.to_first_order));
        }
        if let Some(errors) = self.errors(field) {
            let column = |error: fn(&MultiscaleError) -> f64| {
                errors.points.iter().map(|p| [p.epsilon, error(p)]).collect::<Vec<Point>>()
            };
            rows("error of averaging (y) by eps (x)", 0, &column(|p| p.averaged));
            rows("error of splitting (y) by eps (x)", SPLITTING_STEPS[0], &column(|p| p.splitting[0]));
            rows("error of splitting (y) by eps (x)", SPLITTING_STEPS[1], &column(|p| p.splitting[1]));
        }
        Some(table.finish())
    }

    /// The picture without particles.
    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        let canvas = self.canvas.unwrap_or(Rect::from_min_size(Pos2::ZERO, vec2(480.0, 320.0)));
        let (name, size) = ("slow manifold", canvas.size());
        let outer = Rect::from_min_size(Pos2::ZERO, size);
        let meaning = settings(cx).meaning;
        if meaning != ManifoldMeaning::Dynamical {
            return Some(drawing(name, size, cx.theme, |ui| paint_constraint(ui, cx, outer, meaning)));
        }
        let (field, run) = self.last_run(cx)?;
        let sheet = Sheet::inside(outer, self.bounds(field));
        let plane = drawing(name, size, cx.theme, |ui| paint_plane(ui.painter(), cx, &sheet, field, &run));
        let mut all = shown_drawings([(self.chart(field, run.epsilon, cx.theme), &self.chart)], cx.theme);
        all.push((canvas.min, plane));
        joined(name, all, cx.theme)
    }
}
