//! The data of a sweep's pictures at a step, computed once and kept until one of its inputs changes.

use super::{CurveLine, curve_lines, prelude::*};

#[derive(Debug, Clone, PartialEq)]
pub struct PictureChoices {
    /// The index of the number that the pictures show.
    pub number: usize,
    pub others: Vec<usize>,
    pub step: u64,
    pub brush: Brush,
    pub is_dark: bool,
}

/// The best points of each number that is shown, where there is more than one to choose from, or why none is marked.
pub type BestPoints = BTreeMap<NumberId, Result<Vec<usize>, &'static str>>;

fn best_points(results: &SweepResults, values_at_step: &BTreeMap<NumberId, ValuesAtStep>) -> BestPoints {
    let best = |(id, values): (&NumberId, &ValuesAtStep)| {
        let known = (0..results.points.len()).filter_map(|point| values.mean_at_newest_step(point)).count();
        let number = results.number(id).filter(|_| known > 1)?;
        Some((id.clone(), results.best(number, values)))
    };
    values_at_step.iter().filter_map(best).collect()
}

#[derive(Debug)]
pub struct Prepared {
    pub(super) results: Arc<SweepResults>,
    choices: PictureChoices,
    pub values_at_step: BTreeMap<NumberId, ValuesAtStep>,
    best: BestPoints,
    pub in_brush: Vec<bool>,
    pub lines: Vec<CurveLine>,
    pub cells: Option<Cells>,
    colours: Vec<Color32>,
}

impl Prepared {
    pub fn new(results: &Arc<SweepResults>, choices: PictureChoices) -> Self {
        let lines = curve_lines(results, choices.number);
        Self::with_lines(results, choices, lines)
    }

    fn with_lines(results: &Arc<SweepResults>, choices: PictureChoices, lines: Vec<CurveLine>) -> Self {
        let shown = std::iter::once(choices.number).chain(choices.others.iter().copied());
        let values_at_step =
            shown.filter_map(|n| Some((results.numbers.get(n)?.id.clone(), results.values_at_step(n, choices.step))));
        let values_at_step: BTreeMap<NumberId, ValuesAtStep> = values_at_step.collect();
        Self {
            in_brush: choices.brush.selected(results, &values_at_step),
            colours: point_colours(results, &Theme::new(choices.is_dark)),
            cells: results.cells(),
            best: best_points(results, &values_at_step),
            results: Arc::clone(results),
            values_at_step,
            lines,
            choices,
        }
    }

    /// Keeps the parts whose inputs have not changed and computes the others.
    pub fn renewed(kept: Option<Self>, results: &Arc<SweepResults>, choices: PictureChoices) -> Self {
        match kept.filter(|kept| Arc::ptr_eq(&kept.results, results) && kept.choices.number == choices.number) {
            Some(kept) if kept.choices == choices => kept,
            // the curves are the same at every step
            Some(kept) => Self::with_lines(results, choices, kept.lines),
            None => Self::new(results, choices),
        }
    }

    pub fn view<'a>(&'a self, selected: Option<usize>, scale: Scale, theme: &'a Theme) -> SweepView<'a> {
        SweepView {
            results: &self.results,
            number: self.choices.number,
            others: &self.choices.others,
            values_at_step: &self.values_at_step,
            best: &self.best,
            in_brush: &self.in_brush,
            colours: &self.colours,
            selected,
            scale,
            has_titles: true,
            theme,
        }
    }
}
