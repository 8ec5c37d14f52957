//! The quantities of a chain: the chart of each by position or by block, a sentence, and the numbers.

use eframe::egui::text::TextFormat;

use crate::{
    analysis::statistics,
    config::choices,
    ui::{theme::numbers, views::prelude::*},
};

choices! {
    /// The quantity on the vertical axis.
    pub enum Quantity {
        Entropy = "entropy",
        Stationary = "stationary",
        Steps = "steps",
        Lumping = "lumping",
    }
}

impl Quantity {
    pub fn tooltip(self) -> &'static str {
        match self {
            Self::Entropy => {
                "How widely each query attends: \u{2212}\u{3a3} \u{3b1} ln \u{3b1} of its row, beside that of uniform \
                 attention. It is not an entropy that the chain must raise or lower: a diagnostic of the weights alone."
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
        let mut chart = Chart::new(format!("attention chain, {}", self.id()), x, y);
        let Some(m) = m else { return chart };
        let Some(chain) = &m.chain else { return chart.empty("It is not a Markov chain, so none of this is defined.") };
        let positions = if self == Self::Lumping { chain.lumping.error.len() } else { chain.row_entropy.len() };
        chart.x = chart.x.include(&[-0.5, positions as f64 - 0.5]);
        let colour = variant_colour(cx.mirror, m.variant, cx.theme);
        let grey = cx.theme.secondary;
        match self {
            Self::Entropy => {
                chart.add(Line::new("uniform attention", grey, by_place(&chain.uniform_entropy)).null_baseline());
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

const MIXING_TOOLTIP: &str = "Steps until every start is within 1/4 of the stationary distribution, in total variation, and what \
                      |\u{3bb}\u{2082}| alone allows: ln 2 / ln(1/|\u{3bb}\u{2082}|).";
const LUMPING_TOOLTIP: &str = "Blocks of P consecutive positions, as pooling makes them: mean over blocks of how much positions of a \
                       block differ in their weight on a block. 0 is Kemeny and Snell's condition, from 0 to 1.";

pub fn sentence(m: &AttentionChain) -> String {
    let Some(chain) = &m.chain else {
        let why = m.problem.as_deref().unwrap_or("its rows do not sum to 1");
        return format!("No step of a Markov chain: {why}.");
    };
    let positions = chain.row_entropy.len();
    let first = if m.tokens_per_position > 1 { "block 0" } else { "token 0" };
    match (chain.closed_classes, chain.is_causal) {
        _ if positions < 2 => {
            "One position alone, which can only step to itself: give a text of two tokens or more.".to_owned()
        }
        (1, true) if m.first_sees_nothing => format!(
            "Strictly causal: {first} attends to nothing, and a walk that has come there stays. All of the stationary \
             distribution is there. What tells instead is how long that takes and where walks linger before."
        ),
        (1, true) => format!(
            "Causal: no position attends to later ones, so every walk ends on {first}, and all of the stationary \
             distribution is there. What tells instead is how long that takes and where walks linger before."
        ),
        (1, false) => "One closed class: a single stationary distribution.".to_owned(),
        (n, _) => format!(
            "Reducible: {n} closed classes, each with a stationary distribution of its own; every mixture of them is \
             stationary, so there is no single one and no mixing time."
        ),
    }
}

/// True of one closed class that walks of several positions can end in: then the numbers need no sentence.
pub fn has_one_closed_class(m: &AttentionChain) -> bool {
    m.chain.as_ref().is_some_and(|chain| chain.row_entropy.len() > 1 && chain.closed_classes == 1)
}

/// The numbers that go with a quantity, or with all of them; the check first.
fn facts(m: &AttentionChain, only: Option<Quantity>) -> Vec<LargeFigure> {
    let mut facts = vec![LargeFigure::new(
        "rows sum to 1 within",
        format!("{} (least \u{3b1} {})", value_label(m.row_sum_error), value_label(m.smallest)),
        "The largest |row sum \u{2212} 1|, and in brackets the smallest entry: softmax in 32 bits leaves about 1e-7.",
    )];
    if let Some(chain) = &m.chain {
        let is_shown = |quantity| only.is_none_or(|only| only == quantity);
        if let Some(second) = chain.moduli.get(1) {
            let tip = "The second largest modulus of an eigenvalue: what is not stationary shrinks by it in each step, \
                       in the end. Of a causal matrix the eigenvalues are its diagonal, so this is the largest weight \
                       of a position on itself.";
            facts.push(LargeFigure::new("|\u{3bb}\u{2082}|", format!("{second:.4}"), tip));
        }
        let bound = match chain.min_mixing_time {
            min if min.is_finite() => format!(" (at least {})", min.ceil()),
            _ => String::new(),
        };
        let steps = chain.mixing_time.map_or("never".to_owned(), |k| format!("{k}{bound}"));
        facts.push(LargeFigure::new("mixed after", steps, MIXING_TOOLTIP));
        if is_shown(Quantity::Entropy) {
            facts.extend(row_entropy(chain).map(|[mean, share]| {
                let value = format!("{mean:.2} nats, {:.0}% of even", 100.0 * share);
                LargeFigure::new("entropy of a row", value, ENTROPY_TOOLTIP)
            }));
        }
        if is_shown(Quantity::Stationary) || is_shown(Quantity::Steps) {
            facts.extend(walks(chain));
        }
        if is_shown(Quantity::Lumping) {
            add_lumping_facts(chain, &mut facts);
        }
    }
    facts
}

/// The mean entropy of all rows, as the attention maps have it, and its share of that of uniform attention.
fn row_entropy(chain: &ChainProperties) -> Option<[f64; 2]> {
    let [mean, uniform] = [&chain.row_entropy, &chain.uniform_entropy].map(|of| statistics::mean(of));
    (uniform > 0.0).then_some([mean, mean / uniform])
}

const ENTROPY_TOOLTIP: &str = "Mean over all queries, as in the attention maps, and its share of that of uniform attention. The \
                       first query of causal attention has no choice and counts as 0 in both. A diagnostic of the \
                       weights; not the relative entropy that a chain brings down.";

/// One or two numbers that go with a quantity, shown large.
pub fn large_figures(m: &AttentionChain, quantity: Quantity) -> Vec<LargeFigure> {
    let Some(chain) = &m.chain else { return vec![] };
    match quantity {
        Quantity::Entropy => {
            let entropy = row_entropy(chain).map(|[mean, share]| LargeFigure {
                unit: "nats".into(),
                meaning: format!("{}% of uniform attention", Digits::Decimals(0).format(100.0 * share)),
                ..LargeFigure::new("entropy of a row", Digits::Decimals(2).format(mean), ENTROPY_TOOLTIP)
            });
            entropy.into_iter().chain([mixing(chain)]).collect()
        }
        Quantity::Stationary | Quantity::Steps => match walks(chain) {
            walks if walks.is_empty() => vec![mixing(chain)],
            walks => walks,
        },
        Quantity::Lumping => {
            let lumping = &chain.lumping;
            vec![LargeFigure {
                meaning: if lumping.largest == 0.0 { "a Markov chain of blocks".into() } else { String::new() },
                note: match lumping.shuffled_rows.mean {
                    mean if mean.is_finite() => format!("rows shuffled: {}", Digits::Decimals(3).format(mean)),
                    _ => String::new(),
                },
                ..LargeFigure::new("lumping error", Digits::Decimals(3).format(lumping.mean), LUMPING_TOOLTIP)
            }]
        }
    }
}

fn mixing(chain: &ChainProperties) -> LargeFigure {
    let bound = chain.min_mixing_time;
    let steps = chain.mixing_time.map_or("never".to_owned(), |steps| steps.to_string());
    LargeFigure {
        unit: if chain.mixing_time.is_some() { "steps".into() } else { String::new() },
        note: match bound.is_finite() {
            true => format!("at least {} by |\u{3bb}\u{2082}|", Digits::Decimals(0).format(bound.ceil())),
            false => String::new(),
        },
        ..LargeFigure::new("mixed after", steps, MIXING_TOOLTIP)
    }
}

fn walks(chain: &ChainProperties) -> Vec<LargeFigure> {
    let mut facts = vec![];
    if let Some(max) = chain.steps_to_absorption.iter().copied().reduce(f64::max).filter(|max| *max > 0.0) {
        let tip = "Expected applications of the matrix until a walk from the position where that takes longest is in a \
                   closed class: for causal attention, on the first token.";
        facts.push(LargeFigure::new("absorbed after at most", format!("{} steps", value_label(max)), tip));
    }
    if chain.survival.is_finite() {
        let tip = "Probability that a walk which has not been absorbed for long is not absorbed by the next step either. \
                   Where it is by then is the quasi-stationary distribution.";
        facts.push(LargeFigure::new("lingers with", format!("{:.4} a step", chain.survival), tip));
    }
    facts
}

fn add_lumping_facts(chain: &ChainProperties, facts: &mut Vec<LargeFigure>) {
    let l = &chain.lumping;
    let null = |n: NullError| format!("{:.3} \u{b1} {:.3}", n.mean, n.sd);
    facts.push(LargeFigure::new("lumping error", format!("{:.3} (largest {:.3})", l.mean, l.largest), LUMPING_TOOLTIP));
    let tip = "The same error when the weights of every row are shuffled among the places that it may see: mean and \
               standard deviation over draws.";
    facts.push(LargeFigure::new("rows shuffled", null(l.shuffled_rows), tip));
    let tip = "The same error of blocks of the same sizes, of positions drawn at random: mean and standard deviation over \
               draws.";
    facts.push(LargeFigure::new("random blocks", null(l.random_blocks), tip));
    let tip = "The least error of blocks of the same sizes that a search by swapping two positions found. There may be \
               better ones.";
    facts.push(LargeFigure::new("best blocks found", format!("{:.3}", l.best_mean), tip));
}

/// Lays the facts out in rows of as many as fit.
pub fn facts_ui(ui: &mut Ui, theme: &Theme, m: &AttentionChain, only: Option<Quantity>) {
    ui.spacing_mut().interact_size.y = 15.0;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(12.0, 1.0);
        for fact in facts(m, only) {
            let mut job = LayoutJob::default();
            let name = TextFormat { color: theme.secondary, font_id: theme::small(), ..Default::default() };
            job.append(&fact.label, 0.0, name);
            job.append(&fact.value, 6.0, TextFormat { color: theme.text, font_id: numbers(), ..Default::default() });
            job.wrap.max_width = f32::INFINITY;
            ui.add(Label::new(job).extend().sense(Sense::hover())).on_hover_text(fact.tip);
        }
    });
}
