//! Describes a chain in a sentence and in numbers.

use eframe::egui::text::TextFormat;

use super::charts::Quantity;
use crate::{
    labs::headline::Digits,
    telemetry::measurements::{AttentionChain, ChainProperties},
    ui::{theme::numbers, views::prelude::*},
};

const MIXING: &str = "Steps until every start is within 1/4 of the stationary distribution, in total variation, and what \
                      |\u{3bb}\u{2082}| alone allows: ln 2 / ln(1/|\u{3bb}\u{2082}|).";
const LUMPING: &str = "Blocks of P consecutive positions, as pooling makes them: mean over blocks of how much positions of a \
                       block differ in their weight on a block. 0 is Kemeny and Snell's condition, from 0 to 1.";

/// A number with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    pub name: &'static str,
    pub value: String,
    pub tip: &'static str,
}

/// Classifies the chain in words.
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
            "Strictly causal: {first} looks at nothing, and a walk that has come there stays. All of the stationary \
             distribution is there. What tells instead is how long that takes and where walks linger before."
        ),
        (1, true) => format!(
            "Causal: nothing looks ahead, so every walk ends on {first}, and all of the stationary distribution is there. What \
             tells instead is how long that takes and where walks linger before."
        ),
        (1, false) => "One closed class: a single stationary distribution.".to_owned(),
        (n, _) => format!(
            "Reducible: {n} closed classes, each with a stationary distribution of its own; every mixture of them is \
             stationary, so there is no single one and no mixing time."
        ),
    }
}

/// True of one closed class that walks of several positions can end in: then the numbers need no sentence.
pub fn is_usual(m: &AttentionChain) -> bool {
    m.chain.as_ref().is_some_and(|chain| chain.row_entropy.len() > 1 && chain.closed_classes == 1)
}

/// The numbers that go with a quantity, or with all of them; the check first.
fn facts(m: &AttentionChain, only: Option<Quantity>) -> Vec<Fact> {
    let mut facts = vec![Fact {
        name: "rows sum to 1 within",
        value: value_label(m.row_sum_error),
        tip: "The largest |row sum \u{2212} 1|, and in brackets the smallest entry: softmax in 32 bits leaves about 1e-7.",
    }];
    facts[0].value += &format!(" (least \u{3b1} {})", value_label(m.smallest));
    if let Some(chain) = &m.chain {
        let is_shown = |quantity| only.is_none_or(|only| only == quantity);
        add_spectrum_facts(chain, &mut facts);
        if is_shown(Quantity::Entropy) {
            add_rows_facts(chain, &mut facts);
        }
        if is_shown(Quantity::Stationary) || is_shown(Quantity::Steps) {
            add_walks_facts(chain, &mut facts);
        }
        if is_shown(Quantity::Lumping) {
            add_lumping_facts(chain, &mut facts);
        }
    }
    facts
}

fn add_spectrum_facts(chain: &ChainProperties, facts: &mut Vec<Fact>) {
    if let Some(second) = chain.moduli.get(1) {
        facts.push(Fact {
            name: "|\u{3bb}\u{2082}|",
            value: format!("{second:.4}"),
            tip: "The second largest modulus of an eigenvalue: what is not stationary shrinks by it in each step, in the end. Of \
                  a causal matrix the eigenvalues are its diagonal, so this is the largest weight of a position on itself.",
        });
    }
    let bound = match chain.min_mixing_time {
        min if min.is_finite() => format!(" (at least {})", min.ceil()),
        _ => String::new(),
    };
    facts.push(Fact {
        name: "mixed after",
        value: chain.mixing_time.map_or("never".to_owned(), |k| format!("{k}{bound}")),
        tip: MIXING,
    });
}

/// The entropy of a row, and its share of that of looking everywhere alike: means over the queries that have a choice.
struct RowEntropy {
    mean: f64,
    share: f64,
}

fn row_entropy(chain: &ChainProperties) -> Option<RowEntropy> {
    // The first query of causal attention has no choice.
    let free = || chain.row_entropy.iter().zip(&chain.uniform_entropy).filter(|(_, uniform)| **uniform > 0.0);
    let n = free().count() as f64;
    let add = |sum: RowEntropy, (h, uniform): (&f64, &f64)| RowEntropy {
        mean: sum.mean + h / n,
        share: sum.share + h / uniform / n,
    };
    (n > 0.0).then(|| free().fold(RowEntropy { mean: 0.0, share: 0.0 }, add))
}

const ENTROPY: &str = "Mean over queries that have a choice, and the mean share of the entropy of looking everywhere alike. A \
                       diagnostic of the weights; not the relative entropy that a chain brings down.";

/// One or two numbers that go with a quantity, shown large.
pub fn large_figures(m: &AttentionChain, quantity: Quantity) -> Vec<LargeFigure> {
    let Some(chain) = &m.chain else { return vec![] };
    match quantity {
        Quantity::Entropy => {
            let entropy = row_entropy(chain).map(|entropy| LargeFigure {
                label: "entropy of a row".into(),
                value: Digits::Decimals(2).format(entropy.mean),
                unit: "nats".into(),
                meaning: format!("{}% of looking everywhere", Digits::Decimals(0).format(100.0 * entropy.share)),
                tip: ENTROPY.into(),
                ..LargeFigure::default()
            });
            entropy.into_iter().chain([mixing(chain)]).collect()
        }
        Quantity::Stationary | Quantity::Steps => {
            let mut facts = vec![];
            add_walks_facts(chain, &mut facts);
            match facts.is_empty() {
                true => vec![mixing(chain)],
                false => facts.into_iter().map(LargeFigure::from).collect(),
            }
        }
        Quantity::Lumping => {
            let lumping = &chain.lumping;
            vec![LargeFigure {
                label: "lumping error".into(),
                value: Digits::Decimals(3).format(lumping.mean),
                meaning: if lumping.largest == 0.0 { "a Markov chain of blocks".into() } else { String::new() },
                note: match lumping.shuffled_rows.mean {
                    mean if mean.is_finite() => format!("rows shuffled: {}", Digits::Decimals(3).format(mean)),
                    _ => String::new(),
                },
                tip: LUMPING.into(),
                ..LargeFigure::default()
            }]
        }
    }
}

fn mixing(chain: &ChainProperties) -> LargeFigure {
    let bound = chain.min_mixing_time;
    LargeFigure {
        label: "mixed after".into(),
        value: chain.mixing_time.map_or("never".to_owned(), |steps| steps.to_string()),
        unit: if chain.mixing_time.is_some() { "steps".into() } else { String::new() },
        note: if bound.is_finite() {
            format!("at least {} by |\u{3bb}\u{2082}|", Digits::Decimals(0).format(bound.ceil()))
        } else {
            String::new()
        },
        tip: MIXING.into(),
        ..LargeFigure::default()
    }
}

impl From<Fact> for LargeFigure {
    fn from(fact: Fact) -> Self {
        Self { label: fact.name.into(), value: fact.value, tip: fact.tip.into(), ..Self::default() }
    }
}

fn add_rows_facts(chain: &ChainProperties, facts: &mut Vec<Fact>) {
    if let Some(RowEntropy { mean, share }) = row_entropy(chain) {
        facts.push(Fact {
            name: "entropy of a row",
            value: format!("{mean:.2} nats, {:.0}% of even", 100.0 * share),
            tip: ENTROPY,
        });
    }
}

fn add_walks_facts(chain: &ChainProperties, facts: &mut Vec<Fact>) {
    if let Some(max) = chain.steps_to_absorption.iter().copied().reduce(f64::max).filter(|max| *max > 0.0) {
        facts.push(Fact {
            name: "absorbed after at most",
            value: format!("{} steps", value_label(max)),
            tip: "Expected applications of the matrix until a walk from the position where that takes longest is in a closed \
                  class: for causal attention, on the first token.",
        });
    }
    if chain.survival.is_finite() {
        facts.push(Fact {
            name: "lingers with",
            value: format!("{:.4} a step", chain.survival),
            tip: "Probability that a walk which has not been absorbed for long is not absorbed by the next step either. Where it \
                  is by then is the quasi-stationary distribution.",
        });
    }
}

fn add_lumping_facts(chain: &ChainProperties, facts: &mut Vec<Fact>) {
    let l = &chain.lumping;
    let null = |n: crate::telemetry::measurements::NullError| format!("{:.3} \u{b1} {:.3}", n.mean, n.sd);
    facts.push(Fact {
        name: "lumping error",
        value: format!("{:.3} (largest {:.3})", l.mean, l.largest),
        tip: LUMPING,
    });
    facts.push(Fact {
        name: "rows shuffled",
        value: null(l.shuffled_rows),
        tip: "The same error when the weights of every row are shuffled among the places that it may see: mean and \
              standard deviation over draws.",
    });
    facts.push(Fact {
        name: "random blocks",
        value: null(l.random_blocks),
        tip: "The same error of blocks of the same sizes, of positions drawn at random: mean and standard deviation over draws.",
    });
    facts.push(Fact {
        name: "best blocks found",
        value: format!("{:.3}", l.best_mean),
        tip: "The least error of blocks of the same sizes that a search by swapping two positions found. There may be better \
              ones.",
    });
}

/// Lays the facts out in rows of as many as fit.
pub fn facts_ui(ui: &mut Ui, theme: &Theme, m: &AttentionChain, only: Option<Quantity>) {
    ui.spacing_mut().interact_size.y = 15.0;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = eframe::egui::vec2(12.0, 1.0);
        for fact in facts(m, only) {
            let mut job = LayoutJob::default();
            let name = TextFormat { color: theme.secondary, font_id: theme::small(), ..Default::default() };
            job.append(fact.name, 0.0, name);
            job.append(&fact.value, 6.0, TextFormat { color: theme.text, font_id: numbers(), ..Default::default() });
            job.wrap.max_width = f32::INFINITY;
            ui.add(Label::new(job).extend().sense(Sense::hover())).on_hover_text(fact.tip);
        }
    });
}
