//! A search as plain data: the table of synapses, the random models', the verdict, and what else drives
//! each synapse.

use super::{Found, Question, Verdict};
use crate::{
    corpus::generated::parliament::labelled::SplitSide,
    telemetry::{Line, Matrix, Payload, Series},
};

/// Bundle: `synapses` (Series, x the rank; lines `layer`, `y`, `x`, a line for each part of the split, `low`,
/// `high`, `p`, `holm`, `told`, `confirmed`, and `both new en` .. by language), `random` (Series, x the random
/// model; `first`, `best`), `verdict`, `languages`, `nouns`, `classes` (Text), `by noun` (Matrix, synapse x
/// noun), `searched` (Scalar).
pub(super) fn payload(question: &Question, found: &Found, random: &[Found]) -> Payload {
    let verdict = Verdict::of(question, found, random);
    let each = |name: &str, f: &dyn Fn(usize, &super::Synapse) -> f64| Line {
        name: name.to_owned(),
        y: found.synapses.iter().enumerate().map(|(k, s)| f(k, s)).collect(),
    };
    let both =
        |s: &super::Synapse, f: &dyn Fn(&super::Strength) -> f64| s.strength(SplitSide::BothNew).map_or(f64::NAN, f);
    let mut lines = vec![
        each("layer", &|_, s| s.place.layer as f64),
        each("y", &|_, s| s.place.y as f64),
        each("x", &|_, s| s.place.x as f64),
    ];
    lines.extend(SplitSide::ALL.iter().map(|part| each(part.name(), &|_, s| s.r(*part))));
    lines.extend([
        each("low", &|_, s| both(s, &|b| b.interval.0)),
        each("high", &|_, s| both(s, &|b| b.interval.1)),
        each("p", &|_, s| both(s, &|b| b.p)),
        each("holm", &|_, s| s.holm),
        each("told", &|_, s| s.languages() as f64),
        each("confirmed", &|k, _| f64::from(u8::from(verdict.confirmed.contains(&k)))),
    ]);
    for (l, code) in question.languages.iter().enumerate() {
        lines.push(each(&format!("both new {code}"), &|_, s| both(s, &|b| b.by_language[l])));
        lines.push(each(&format!("p {code}"), &|_, s| both(s, &|b| b.p_by_language[l])));
    }
    let table = |x_label: &str, rows: usize, lines: Vec<Line>| {
        Payload::Series(Series {
            x_label: x_label.to_owned(),
            y_label: "rank-biserial correlation".to_owned(),
            x: (1..=rows).map(|k| k as f64).collect(),
            lines,
        })
    };
    let null = |name: &str, f: fn(&Found) -> f64| Line { name: name.to_owned(), y: random.iter().map(f).collect() };
    let search = |f: &Found| f.synapses.first().map_or(f64::NAN, |s| s.r(SplitSide::Search));
    let by_noun = Matrix {
        rows: found.synapses.len(),
        cols: question.nouns.len(),
        data: found.synapses.iter().flat_map(|s| s.by_noun.iter().map(|v| *v as f32)).collect(),
        row_label: "synapse".to_owned(),
        col_label: "noun".to_owned(),
    };
    Payload::Bundle(vec![
        ("synapses".to_owned(), table("rank", found.synapses.len(), lines)),
        (
            "random".to_owned(),
            table(
                "random model",
                random.len(),
                vec![null("search", search), null("first", Found::first), null("best", Found::best)],
            ),
        ),
        ("verdict".to_owned(), Payload::Text(vec![verdict.words])),
        ("concept".to_owned(), Payload::Text(vec![question.concept.clone()])),
        ("languages".to_owned(), Payload::Text(question.languages.clone())),
        ("nouns".to_owned(), Payload::Text(question.nouns.iter().map(|n| n.name.clone()).collect())),
        ("classes".to_owned(), Payload::Text(question.nouns.iter().map(|n| n.class.to_owned()).collect())),
        ("by noun".to_owned(), Payload::Matrix(by_noun)),
        ("searched".to_owned(), Payload::Scalar(found.searched as f64)),
    ])
}
