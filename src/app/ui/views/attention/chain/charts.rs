//! Charts of a chain, by position or by block.

use crate::ui::views::prelude::*;

/// The quantity on the vertical axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    Entropy,
    Stationary,
    Steps,
    Lumping,
}

impl Quantity {
    pub const ALL: [Self; 4] = [Self::Entropy, Self::Stationary, Self::Steps, Self::Lumping];

    pub fn name(self) -> &'static str {
        match self {
            Self::Entropy => "entropy",
            Self::Stationary => "stationary",
            Self::Steps => "steps",
            Self::Lumping => "lumping",
        }
    }

    pub fn tip(self) -> &'static str {
        match self {
            Self::Entropy => {
                "How widely each query attends: \u{2212}\u{3a3} \u{3b1} ln \u{3b1} of its row, beside that of uniform \
                 attention. It is no entropy that the chain must raise or lower: a diagnostic of the weights alone."
            }
            Self::Stationary => {
                "Where walks are in the end (\u{3c0} = \u{3c0} \u{3b1}), and where those are that have not yet been absorbed \
                 (the quasi-stationary distribution)."
            }
            Self::Steps => "Expected applications of \u{3b1} until a walk from each position is absorbed.",
            Self::Lumping => {
                "For each block of P positions: how much its positions' weights on one block differ, for the block where they \
                 differ most. Kemeny and Snell: only if all are 0 is the lumped chain a Markov chain."
            }
        }
    }

    fn axes(self, m: Option<&AttentionChain>) -> (Axis, Axis) {
        let x = match m.is_some_and(|m| m.tokens_per_position > 1) {
            _ if self == Self::Lumping => "block of P positions",
            true => "position (blocks of tokens)",
            false => "position (tokens)",
        };
        let y = match self {
            Self::Entropy => "entropy of a row (nats)",
            Self::Stationary => "probability",
            Self::Steps => "steps until absorbed",
            Self::Lumping => "spread of weights on a block",
        };
        (Axis::new(x).integer_ticks(), Axis::new(y).include(&[0.0]))
    }

    pub fn chart(self, cx: &ViewCx<'_>, m: Option<Measured<'_, AttentionChain>>) -> Chart<'static> {
        let (x, y) = self.axes(m.map(|m| m.value));
        let mut chart = Chart::new(format!("attention chain, {}", self.name()), x, y);
        let Some(m) = m else { return chart };
        let Some(chain) = &m.chain else { return chart.empty("It is no Markov chain, so none of this is defined.") };
        let positions = if self == Self::Lumping { chain.lumping.error.len() } else { chain.row_entropy.len() };
        chart.x = chart.x.include(&[-0.5, positions as f64 - 0.5]);
        let colour = variant_colour(cx.mirror, m.variant, cx.theme);
        let grey = cx.theme.secondary;
        match self {
            Self::Entropy => {
                let uniform = Line::new("uniform attention", grey, by_place(&chain.uniform_entropy));
                chart.add(uniform.null_baseline());
                chart.add(Line::new("this head", colour, by_place(&chain.row_entropy)));
            }
            Self::Stationary => {
                if let Some(quasi) = &chain.quasi_stationary {
                    chart.add(Line::new("not yet absorbed", colour, by_place(quasi)).stroke(Stroke::Stems));
                }
                if let Some(pi) = &chain.stationary {
                    chart.add(Line::new("stationary", grey, by_place(pi)).stroke(Stroke::Stems));
                }
                if chart.lines.is_empty() {
                    return chart.empty("Several closed classes and nothing outside of them: no single distribution.");
                }
            }
            Self::Steps => {
                chart.add(Line::new("this head", colour, by_place(&chain.steps_to_absorption)).stroke(Stroke::Stems));
            }
            Self::Lumping => {
                chart.add(Line::new("blocks of P", colour, by_place(&chain.lumping.error)).stroke(Stroke::Stems));
                // the means to compare with
                chart.horizontal_line("mean", chain.lumping.mean);
                let null = chain.lumping.shuffled_rows;
                if null.mean.is_finite() && null.sd.is_finite() {
                    chart.horizontal_span("mean with rows shuffled", grey, [null.mean - null.sd, null.mean + null.sd]);
                }
            }
        }
        let is_fine = m.tokens_per_position == 1 && self != Self::Lumping;
        if let Some(token) = cx.selection.token.filter(|t| is_fine && *t < chain.row_entropy.len()) {
            chart.vertical_line(m.sample.tokens.get(token).map_or(String::new(), |t| quoted(t)), token as f64);
        }
        chart
    }
}
