//! What the pictures of a sweep need at a step, worked out once and kept until something of it changes.

use std::{collections::BTreeMap, sync::Arc};

use eframe::egui::Color32;

use super::{CurveLine, SweepView, curve_lines, point_colours};
use crate::{
    experiments::sweep::results::{AsOf, NumberId, SweepResults, brush::Brush, plane::Cells},
    ui::{plot::Scale, theme::Theme},
};

/// What is looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// By its place.
    pub number: usize,
    pub others: Vec<usize>,
    pub step: u64,
    pub brush: Brush,
    pub is_dark: bool,
}

/// The pictures' data.
#[derive(Debug)]
pub struct Prepared {
    results: Arc<SweepResults>,
    look: Look,
    pub as_of: BTreeMap<NumberId, AsOf>,
    pub kept: Vec<bool>,
    pub lines: Vec<CurveLine>,
    pub cells: Option<Cells>,
    colours: Vec<Color32>,
}

impl Prepared {
    pub fn new(results: &Arc<SweepResults>, look: Look) -> Self {
        let lines = curve_lines(results, look.number);
        Self::with_lines(results, look, lines)
    }

    fn with_lines(results: &Arc<SweepResults>, look: Look, lines: Vec<CurveLine>) -> Self {
        let shown = std::iter::once(look.number).chain(look.others.iter().copied());
        let as_of = shown.filter_map(|n| Some((results.numbers.get(n)?.id.clone(), results.as_of(n, look.step))));
        let as_of: BTreeMap<NumberId, AsOf> = as_of.collect();
        Self {
            kept: look.brush.kept(results, &as_of),
            colours: point_colours(results, &Theme::of(look.is_dark)),
            cells: results.cells(),
            results: Arc::clone(results),
            as_of,
            lines,
            look,
        }
    }

    /// The same, if nothing has changed; else what has changed is worked out again.
    pub fn renewed(self, results: &Arc<SweepResults>, look: &Look) -> Self {
        let is_same_run = Arc::ptr_eq(&self.results, results);
        match is_same_run && self.look.number == look.number {
            true if self.look == *look => self,
            // the curves are the same at every step
            true => Self::with_lines(results, look.clone(), self.lines),
            false => Self::new(results, look.clone()),
        }
    }

    pub fn view<'a>(&'a self, selected: Option<usize>, scale: Scale, theme: &'a Theme) -> SweepView<'a> {
        SweepView {
            results: &self.results,
            number: self.look.number,
            others: &self.look.others,
            as_of: &self.as_of,
            kept: &self.kept,
            colours: &self.colours,
            selected,
            scale,
            has_titles: true,
            theme,
        }
    }
}
