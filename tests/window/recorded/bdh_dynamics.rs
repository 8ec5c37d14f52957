//! A small BDH as the probe `bdh_dynamics` hands it over, with weights drawn here; nothing is trained.

use orrery::telemetry::{Line, Matrix, Payload, Series};

/// The same each time: about normal.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        let mut unit = || {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        };
        (0..12).map(|_| unit()).sum::<f64>() - 6.0
    }
}

/// What the rules read, as long as they read.
pub const TEXT: &str = "the ferry left at dawn, ";

const NEURONS: usize = 48;
const WIDTH: usize = 8;
const LAYERS: f64 = 2.0;
const KEEP: f64 = 0.9;

fn drawn(rows: usize, cols: usize, noise: &mut Noise) -> Payload {
    let data = (0..rows * cols).map(|_| 0.3 * noise.next() as f32).collect();
    Payload::Matrix(Matrix { rows, cols, data, row_label: String::new(), col_label: String::new() })
}

fn series(x: Vec<f64>, lines: Vec<(&str, Vec<f64>)>) -> Payload {
    let lines = lines.into_iter().map(|(name, y)| Line { name: name.into(), y }).collect();
    Payload::Series(Series { x_label: "token".into(), y_label: "difference".into(), x, lines })
}

pub fn weights(step: u64, tokens: usize, turns: bool) -> Payload {
    let mut noise = Noise((step + 41).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let pulses = (0..tokens * NEURONS).map(|_| (noise.next() as f32 - 1.0).max(0.0)).collect();
    let next = |word: &str| Payload::Text((0..tokens).map(|t| format!("{word} 0.{t:02}  a 0.10  t 0.05")).collect());
    let numbers = vec![
        ("layers", LAYERS),
        ("gain", 0.4),
        ("keep", KEEP),
        ("turns", f64::from(u8::from(turns))),
        ("missed", 0.0),
        ("agree", 9.0),
    ];
    Payload::Bundle(vec![
        ("e".into(), drawn(WIDTH, NEURONS, &mut noise)),
        ("dx".into(), drawn(NEURONS, WIDTH, &mut noise)),
        ("dy".into(), drawn(NEURONS, WIDTH, &mut noise)),
        (
            "pulses".into(),
            Payload::Matrix(Matrix {
                rows: tokens,
                cols: NEURONS,
                data: pulses,
                row_label: "token".into(),
                col_label: "neuron".into(),
            }),
        ),
        ("numbers".into(), series(vec![0.0], numbers.into_iter().map(|(n, v)| (n, vec![v])).collect())),
        ("model_next".into(), next("e")),
        ("rules_next".into(), next("o")),
    ])
}

/// Errors within their bounds; the last one outside if `broken`.
pub fn checks(tokens: usize, broken: bool) -> Payload {
    let x: Vec<f64> = (0..tokens).map(|t| t as f64).collect();
    let by_token = |k: f64| {
        let error: Vec<f64> = x.iter().map(|t| if *t == 0.0 { 0.0 } else { k * 1e-16 * (1.0 + t) }).collect();
        let bound: Vec<f64> = x.iter().map(|t| k * 4e-15 * (1.0 + t)).collect();
        let share: Vec<f64> = error.iter().zip(&bound).map(|(e, b)| e / b).collect();
        series(x.clone(), vec![("error", error), ("bound", bound), ("share", share)])
    };
    let both = |v: f64| vec![v, v];
    Payload::Bundle(vec![
        ("rules".into(), by_token(1.0)),
        ("normfree".into(), by_token(3.0)),
        ("attention".into(), by_token(2.0)),
        ("square".into(), by_token(0.5)),
        (
            "construction".into(),
            series(
                vec![0.0, 1.0],
                vec![
                    ("error", both(if broken { 1e-3 } else { 2e-16 })),
                    ("bound", both(6e-15)),
                    ("share", both(if broken { 1e11 } else { 0.03 })),
                    ("edges_excitatory", both(768.0)),
                    ("edges_inhibitory", both(768.0)),
                    ("edges_allowed", both(768.0)),
                    ("pairs", both(2304.0)),
                ],
            ),
        ),
    ])
}
