//! The staircase: one component of the fast state and of the upsampled slow signal along a sentence.

use super::task::task_ui;
use crate::ui::{views::prelude::*, widgets::token_strip::StripResponse};

#[derive(Default)]
pub struct Staircase {
    hovered: Option<usize>,
    /// The pointer's effect on the tokens in this frame.
    strip: StripResponse,
}

impl Staircase {
    /// The token whose block is marked.
    fn marked_token(&self, cx: &ViewCx<'_>) -> Option<usize> {
        let tokens = cx.latest::<measurements::Staircase>().map_or(0, |m| m.sample.tokens.len());
        self.hovered.or(cx.selection.token).filter(|t| *t < tokens)
    }
}

impl PanelView for Staircase {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        cx.ask_if_missing::<measurements::Staircase>();
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let measured = cx.latest::<measurements::Staircase>();
        let x = Axis::new("position (tokens)").integer_ticks();
        let y = Axis::new(measured.map_or("component", |m| m.value.coordinate.as_str()));
        let mut chart = Chart::new("staircase", x, y).empty(cx.empty_reason::<measurements::Staircase>(
            "No sentence yet. A fast-slow run measures one at its start: press Space.",
        ));
        let Some(staircase) = measured else { return Panel::single(chart) };
        chart.add(Line::new("fast, x", cx.theme.fast, by_place(&staircase.fast)));
        chart.add(Line::new("slow, y", cx.theme.slow, by_place(&staircase.slow)).stroke(Stroke::Stairs));
        if let Some(token) = self.marked_token(cx) {
            let pool = staircase.pool.max(1);
            let block = token / pool;
            let ends = |block: usize| [block, block + 1].map(|b| (b * pool) as f64);
            let words = match block.checked_sub(1) {
                Some(read) => {
                    chart.vertical_span("", cx.theme.slow, ends(read));
                    format!("block {block} reads block {read}")
                }
                None => "block 0 reads zero".to_owned(),
            };
            chart.vertical_span(words, cx.theme.fast, ends(block));
        }
        Panel::single(chart)
    }

    fn above_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let Some(staircase) = cx.latest::<measurements::Staircase>() else { return };
        let (pool, theme) = (staircase.pool.max(1), cx.theme);
        let block = self.marked_token(cx).map(|t| t / pool);
        self.strip = token_strip_ui(ui, theme, &staircase.sample.tokens, |i| {
            let ground = match block {
                Some(b) if i / pool == b => Some(theme.fast.gamma_multiply(0.25)),
                Some(b) if i / pool + 1 == b => Some(theme.slow.gamma_multiply(0.25)),
                _ if (i / pool) % 2 == 1 => Some(theme.line.gamma_multiply(0.5)),
                _ => None,
            };
            TokenMark { ground, outline: (cx.selection.token == Some(i)).then_some(theme.accent) }
        });
    }

    fn explanation_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if cx.latest::<measurements::Staircase>().is_some() {
            task_ui(ui, cx, "");
        }
    }

    fn chart_pointed(&mut self, ui: &Ui, cx: &mut ViewCx<'_>, on: &ChartResponse) {
        let Some(staircase) = cx.latest::<measurements::Staircase>() else { return };
        let at = |x: f64| Some(x.floor().max(0.0) as usize).filter(|t| *t < staircase.sample.tokens.len());
        let now = self.strip.hovered.or(on.hovered_x.and_then(at));
        if now != self.hovered {
            self.hovered = now;
            ui.ctx().request_repaint();
        }
        if let Some(token) = self.strip.clicked.or(on.clicked_x.and_then(at)) {
            cx.selection.token = if cx.selection.token == Some(token) { None } else { Some(token) };
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let explained = match cx.latest::<measurements::Staircase>() {
            Some(staircase) => format!("{:.0}% of the variance", staircase.explained * 100.0),
            None => "one component along a sentence".to_owned(),
        };
        cx.subtitle_of::<measurements::Staircase>(&explained)
    }
}
