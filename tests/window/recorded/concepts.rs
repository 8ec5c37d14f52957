//! What a search for a concept tells, with plausible numbers.

use orrery::telemetry::{Line, Matrix, Payload, Series};

const RANKS: usize = 10;
const CODES: [&str; 4] = ["en", "fr", "es", "de"];
const CLASSES: [(&str, usize); 5] = [("currency", 24), ("goods", 8), ("country", 6), ("city", 6), ("institution", 4)];
const NOUNS: [&str; 5] = ["euro", "wheat", "France", "Vienna", "Senate"];

pub fn found() -> Payload {
    let line =
        |name: &str, f: &dyn Fn(f64) -> f64| Line { name: name.into(), y: (0..RANKS).map(|k| f(k as f64)).collect() };
    let new = |k: f64| 0.81 - 0.06 * k;
    let mut lines = vec![
        line("layer", &|k| 1.0 + k % 3.0),
        line("y", &|k| (k * 617.0 + 31.0) % 2048.0),
        line("x", &|k| (k * 911.0 + 77.0) % 2048.0),
        line("search", &|k| 0.93 - 0.01 * k),
        line("new nouns", &|k| new(k) + 0.05),
        line("new frames", &|k| new(k) + 0.02),
        line("both new", &new),
        line("low", &|k| new(k) - 0.14),
        line("high", &|k| (new(k) + 0.12).min(1.0)),
        line("p", &|k| 1e-4 * (k + 1.0).powi(2)),
        line("holm", &|k| (1e-3 * (k + 1.0).powi(2)).min(1.0)),
        line("told", &|k| (4.0 - k / 2.0).max(0.0)),
        line("confirmed", &|k| f64::from(u8::from(k < 4.0))),
    ];
    for (l, code) in CODES.iter().enumerate() {
        lines.push(line(&format!("both new {code}"), &|k| new(k) - 0.05 * l as f64));
        lines.push(line(&format!("p {code}"), &|k| if k + (l as f64) < 7.0 { 0.01 } else { 0.3 }));
    }
    let table = |x_label: &str, n: usize, lines: Vec<Line>| {
        Payload::Series(Series {
            x_label: x_label.into(),
            y_label: "rank-biserial correlation".into(),
            x: (1..=n).map(|k| k as f64).collect(),
            lines,
        })
    };
    let three = |name: &str, y: [f64; 3]| Line { name: name.into(), y: y.to_vec() };
    let random =
        vec![three("search", [0.5, 0.55, 0.48]), three("first", [0.1, -0.05, 0.2]), three("best", [0.22, 0.18, 0.3])];
    let (mut nouns, mut classes) = (vec![], vec![]);
    for ((class, count), noun) in CLASSES.iter().zip(NOUNS) {
        for n in 0..*count {
            nouns.push(if n == 0 { noun.to_owned() } else { format!("{noun} {n}") });
            classes.push((*class).to_owned());
        }
    }
    let data = (0..RANKS * nouns.len())
        .map(|k| {
            let noun = k % nouns.len();
            let base = if noun < 24 { 0.4 } else { 0.08 };
            base + 0.13 * ((k * 37 % 101) as f32 / 101.0)
        })
        .collect();
    let by_noun =
        Matrix { rows: RANKS, cols: nouns.len(), data, row_label: "synapse".into(), col_label: "noun".into() };
    let words = "Confirmed: 4 of 10 synapses tell currency. The first, from y 31 to x 77 in layer 1, has 0.81 on new nouns \
                 in new frames and is told in 4 of 4 languages; the best of 3 random models has 0.30.";
    Payload::Bundle(vec![
        ("synapses".into(), table("rank", RANKS, lines)),
        ("random".into(), table("random model", 3, random)),
        ("verdict".into(), Payload::Text(vec![words.into()])),
        ("concept".into(), Payload::Text(vec!["currency".into()])),
        ("languages".into(), Payload::Text(CODES.map(str::to_owned).to_vec())),
        ("nouns".into(), Payload::Text(nouns)),
        ("classes".into(), Payload::Text(classes)),
        ("by noun".into(), Payload::Matrix(by_noun)),
        ("searched".into(), Payload::Scalar(12_288.0)),
    ])
}
