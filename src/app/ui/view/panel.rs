//! A picture of a view: a chart, or a canvas such as a map or a table. How it is drawn and what its SVG is follow from it.

use eframe::egui::{Pos2, Response, Ui, Vec2};

use crate::ui::{
    plot::{Chart, ChartResponse, ChartState, drawing},
    theme::Theme,
};

pub struct Panel<'a> {
    body: Body<'a>,
    /// Its share of the height of all charts of the view.
    pub(super) share: f32,
    /// Stands before the labels of its lines in the common table; `None` keeps them out of it.
    pub(super) prefix: Option<&'static str>,
}

enum Body<'a> {
    Chart(Box<Chart<'a>>),
    /// A picture of this name that interface code paints at a size: a map, a table, a graph. The same code draws it in the
    /// window and as SVG.
    Canvas(&'static str, Paint<'a>),
}

type Paint<'a> = Box<dyn Fn(&mut Ui, Vec2) -> Response + 'a>;

pub(super) enum PanelResponse {
    Chart(ChartResponse),
    Canvas(Response),
}

impl<'a> Panel<'a> {
    pub fn new(chart: Chart<'a>, share: f32) -> Self {
        Self { body: Body::Chart(Box::new(chart)), share, prefix: None }
    }

    /// The chart of a view that has only one.
    pub fn single(chart: Chart<'a>) -> Vec<Self> {
        vec![Self::new(chart, 1.0)]
    }

    /// A picture that is not a chart and therefore not in the table. `paint` draws it at a size in points.
    pub fn canvas(name: &'static str, paint: impl Fn(&mut Ui, Vec2) -> Response + 'a) -> Self {
        Self { body: Body::Canvas(name, Box::new(paint)), share: 1.0, prefix: None }
    }

    /// Adds the lines of this panel's chart to the table of the first chart, which has the same x.
    pub fn in_table(self, prefix: &'static str) -> Self {
        Self { prefix: Some(prefix), ..self }
    }

    /// True for a chart without points.
    pub fn is_empty(&self) -> bool {
        matches!(&self.body, Body::Chart(chart) if chart.is_empty())
    }

    pub(super) fn name(&self) -> &str {
        match &self.body {
            Body::Chart(chart) => &chart.name,
            Body::Canvas(name, _) => name,
        }
    }

    /// The chart; `None` for a canvas.
    pub(super) fn into_chart(self) -> Option<Chart<'a>> {
        match self.body {
            Body::Chart(chart) => Some(*chart),
            Body::Canvas(..) => None,
        }
    }

    /// Leaves the name of an x axis to the chart right below, where that has the same. The readout keeps it.
    pub(super) fn name_axes_once(panels: &mut [Self]) {
        for place in 1..panels.len() {
            let (above, below) = panels.split_at_mut(place);
            if let (Body::Chart(above), Body::Chart(below)) = (&mut above[place - 1].body, &below[0].body)
                && above.x.label == below.x.label
            {
                above.x.has_hidden_label = true;
            }
        }
    }

    pub(super) fn show(&self, ui: &mut Ui, size: Vec2, theme: &Theme, state: &mut ChartState) -> PanelResponse {
        match &self.body {
            Body::Chart(chart) => PanelResponse::Chart(chart.show(ui, size, theme, state)),
            Body::Canvas(_, paint) => {
                let response = paint(ui, size);
                state.corner = Some(response.rect.min);
                state.size = Some(response.rect.size().into());
                PanelResponse::Canvas(response)
            }
        }
    }

    /// The panel as SVG in the size that it was last shown in, with its corner; `None` out of sight, and without points.
    pub(super) fn drawing(&self, state: &ChartState, theme: &Theme) -> Option<(Pos2, String)> {
        let corner = state.corner?;
        let svg = match &self.body {
            Body::Chart(chart) => chart.svg(state, theme)?,
            Body::Canvas(name, paint) => {
                let size = Vec2::from(state.size?);
                drawing(name, size, theme, |ui| _ = paint(ui, size))
            }
        };
        Some((corner, svg))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::plot::Axis;

    #[test]
    fn an_axis_that_is_named_below_keeps_its_name_for_the_readout() {
        let chart = |name: &str| Panel::new(Chart::new(name, Axis::new("depth"), Axis::new(name)), 1.0);
        let mut panels = [chart("speed"), chart("stretch")];
        Panel::name_axes_once(&mut panels);
        let axes = panels.map(|panel| panel.into_chart().map(|chart| (chart.x.label, chart.x.has_hidden_label)));
        assert_eq!(axes, [true, false].map(|is_hidden| Some(("depth".to_owned(), is_hidden))));
    }
}
