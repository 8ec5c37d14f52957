//! The live numbers beside the picture: the change of volume by a step, reversibility, and the drift of the energy.

use super::{
    learned::Learned,
    portrait::{IntegratorPath, PhasePortrait},
    scene::{SceneStyle, paint_end, paint_style},
};
use crate::{
    analysis::query_key_flow::Integrator,
    ui::{
        views::painting::*,
        widgets::{
            fold,
            large_figure::{self, FigureOwner},
        },
    },
};

pub fn integrator_label(integrator: Integrator) -> &'static str {
    match integrator {
        Integrator::Euler => "Euler",
        Integrator::Leapfrog => "leapfrog",
    }
}

/// One quantity of both integrators.
struct MetricRow {
    name: &'static str,
    tip: &'static str,
    values: [String; 2],
}

const DETERMINANT_TOOLTIP: &str = "Determinant of the Jacobian of one step at the start, less 1, measured from the whole 2d \u{d7} 2d \
                           matrix. A leapfrog step is three shears, so 0 up to rounding; of Euler's, det(I \u{2212} \
                           \u{394}t\u{b2} f\u{2032}) \u{2212} 1.";
const VOLUME_TOOLTIP: &str = "What n steps multiply a small volume of phase space around the start by: the product of their \
                      determinants.";
const AREA_TOOLTIP: &str = "Area of the blob after n steps, over its area before: what its outline of 720 corners encloses. Rough where \
                    the outline is drawn out into a thread.";
const REVERSIBILITY_TOOLTIP: &str = "How far from the start one arrives after n steps and n steps by \u{2212}\u{394}t. Leapfrog undoes itself \
                    up to rounding; Euler does not.";
const DRIFT_TOOLTIP: &str = "The largest departure of |k|\u{b2}/2 + V(q) from its value at the start.";
const MODEL_DISTANCE_TOOLTIP: &str = "Distance, over all 2d numbers, between the end that the model computed in 32 bits and the same steps, at \
                   the model's own \u{394}t, n and integrator, computed here in 64.";

fn value(v: Option<f64>) -> String {
    v.map_or("\u{2013}".to_owned(), value_label)
}

fn factor(v: Option<f64>) -> String {
    match v {
        Some(v) if (0.01..100.0).contains(&v) => format!("{v:.3}"),
        v => value(v),
    }
}

fn rows(shown: &PhasePortrait, learned: Option<&Learned>) -> [MetricRow; 4] {
    let row = |name, tip, of: &dyn Fn(&IntegratorPath) -> String| {
        let values = shown.tracks.each_ref().map(of);
        MetricRow { name, tip, values }
    };
    let size = match &shown.blob {
        Some(before) => {
            let ratio = |t: &IntegratorPath| factor(t.blob.as_ref().map(|b| b.area() / before.area()));
            row("area of the blob, \u{d7}", AREA_TOOLTIP, &ratio)
        }
        None => row("volume after n, \u{d7}", VOLUME_TOOLTIP, &|t| factor(t.volume)),
    };
    let error = match learned.zip(shown.token()) {
        None => row("energy drift", DRIFT_TOOLTIP, &|t| value(t.drift)),
        Some((learned, token)) => row("off the model\u{2019}s end", MODEL_DISTANCE_TOOLTIP, &|t| {
            let off = learned.f64_distances.get(token).copied().flatten();
            value(off.filter(|_| t.integrator == learned.model_stepping.integrator))
        }),
    };
    let determinant = row("det J \u{2212} 1, one step", DETERMINANT_TOOLTIP, &|t| value_label(t.determinant - 1.0));
    [determinant, size, row("there and back, off by", REVERSIBILITY_TOOLTIP, &|t| value(t.back)), error]
}

/// The view's own numbers, large: what the steps make of a small volume, under each integrator.
fn large_figures(shown: &PhasePortrait, look: SceneStyle<'_>) -> Vec<LargeFigure> {
    let figure = |track: &IntegratorPath| {
        let value = factor(track.volume);
        let meaning = match track.volume {
            Some(_) if value == "1.000" => "kept",
            Some(v) if v > 1.0 => "grows",
            Some(v) if v < 1.0 => "shrinks",
            _ => "",
        };
        LargeFigure {
            label: "volume, \u{d7}".to_owned(),
            value,
            owner: Some(FigureOwner {
                name: integrator_label(track.integrator).to_owned(),
                colour: look.colour(track.integrator),
            }),
            meaning: meaning.to_owned(),
            tip: VOLUME_TOOLTIP.to_owned(),
            ..LargeFigure::default()
        }
    };
    shown.tracks.iter().map(figure).collect()
}

/// Height of the numbers beside the picture, each integrator's below the other's, and of those below it in a row.
pub fn height(is_beside: bool, has_details: bool) -> f32 {
    let details = match (has_details, is_beside) {
        (false, _) => 0.0,
        (true, true) => STACKED_HEIGHT,
        (true, false) => TABLE_HEIGHT,
    };
    let large = if is_beside { 2.0 * large_figure::HEIGHT + 4.0 } else { large_figure::HEIGHT };
    large + 4.0 + fold::HEIGHT + 4.0 + details
}

/// Shows the large numbers.
pub fn own_numbers_ui(ui: &mut Ui, look: SceneStyle<'_>, shown: &PhasePortrait, is_beside: bool) {
    ui.spacing_mut().item_spacing.y = 4.0;
    let (theme, figures) = (look.theme, large_figures(shown, look));
    match is_beside {
        true => figures.iter().for_each(|figure| drop(figure.ui(ui, theme, false, Sense::hover(), f32::INFINITY))),
        false => drop(large_figures_ui(ui, theme, &figures, Sense::hover())),
    }
}

const COLUMN_WIDTH: f32 = 84.0;
const STACKED_HEIGHT: f32 = 18.0 + 4.0 * 33.0;
pub const STACKED_WIDTH: f32 = 2.0 * COLUMN_WIDTH + 8.0;
/// Height of the numbers as a table.
const TABLE_HEIGHT: f32 = 5.0 * 17.0;
const NAME_WIDTH: f32 = 150.0;

/// Draws the column heads: for each integrator the style of its path.
fn head_ui(ui: &mut Ui, look: SceneStyle<'_>) {
    for integrator in Integrator::ALL {
        let (rect, _) = ui.allocate_exact_size(vec2(COLUMN_WIDTH, 16.0), Sense::hover());
        let painter = ui.painter_at(rect.expand(4.0));
        let y = rect.center().y;
        let line = [pos2(rect.left(), y), pos2(rect.left() + 20.0, y)];
        paint_style(&painter, &line, integrator, Stroke::new(2.0, look.colour(integrator)));
        paint_end(&painter, line[1], integrator, look);
        let mut words = ui.new_child(UiBuilder::new().max_rect(rect.with_min_x(rect.left() + 30.0)));
        words.label(small_text(integrator_label(integrator), look.colour(integrator)));
    }
}

fn cell_ui(ui: &mut Ui, width: f32, add: impl FnOnce(&mut Ui)) {
    ui.allocate_ui_with_layout(vec2(width, 15.0), Layout::left_to_right(Align::Center), |ui| {
        ui.set_min_width(width);
        add(ui);
    });
}

fn name_ui(ui: &mut Ui, theme: &Theme, row: &MetricRow) {
    let name = small_text(row.name, theme.secondary);
    ui.add(Label::new(name).sense(Sense::hover())).on_hover_text(row.tip);
}

/// Shows the numbers as a table, or with each name above its values where columns do not fit.
pub fn numbers_ui(ui: &mut Ui, look: SceneStyle<'_>, shown: &PhasePortrait, learned: Option<&Learned>, stacked: bool) {
    let theme = look.theme;
    ui.spacing_mut().item_spacing = vec2(4.0, 1.0);
    ui.spacing_mut().interact_size.y = 14.0;
    ui.horizontal(|ui| {
        if !stacked {
            cell_ui(ui, NAME_WIDTH, |_| {});
        }
        head_ui(ui, look);
    });
    for row in rows(shown, learned) {
        if stacked {
            name_ui(ui, theme, &row);
        }
        ui.horizontal(|ui| {
            if !stacked {
                cell_ui(ui, NAME_WIDTH, |ui| name_ui(ui, theme, &row));
            }
            for words in &row.values {
                let words = RichText::new(words).font(theme::numbers()).color(theme.text);
                cell_ui(ui, COLUMN_WIDTH, |ui| _ = ui.label(words));
            }
        });
    }
}

/// Says which integrator overflows, and when; `None` where neither does.
pub fn overflow_sentence(shown: &PhasePortrait) -> Option<String> {
    let (dt, steps) = shown.stepping();
    let at = |t: &IntegratorPath| Some((t.integrator, t.overflows_at?));
    let over: Vec<_> = shown.tracks.iter().filter_map(at).collect();
    if over.iter().any(|(_, step)| *step == 0) {
        return Some("The start is not a finite number, so nothing evolves from it.".to_owned());
    }
    let each = over.iter().map(|(i, step)| format!("{} in step {step} of {steps}", integrator_label(*i)));
    let which = each.collect::<Vec<_>>().join(" and ");
    (!over.is_empty()).then(|| {
        format!("At \u{394}t {} the numbers outgrow 32 bits: {which}. Make \u{394}t or n smaller.", value_label(dt))
    })
}
