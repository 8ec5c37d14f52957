//! The Synapses lab (BDH-GPU, arXiv 2509.26507): a model whose attention state is the strength of
//! synapses between neurons, read token by token.

mod headlines;
pub mod settings;

use super::{bdh::Training, merging::Merging};
use crate::{
    config::counted,
    corpus::{Source, generated::parliament::Extent},
    labs::prelude::*,
};
use settings::{ParliamentSettings, ReadingSettings, SynapsesSettings};

pub static LAB: Lab = Lab {
    id: "synapses",
    title: "Synapses",
    question: "Does a single synapse come to stand for a concept?",
    source: "The Dragon Hatchling (BDH), arXiv 2509.26507",
    lesson: include_str!("../../../assets/lessons/synapses.md"),
    groups: groups! {
        reading = "Reading", concepts = "Concepts", model, variants = "Beside it", merging = "Merging", corpus,
        parliament = "Parliament", train, probe = "Measuring", run
    },
    essentials: keys! {
        reading.text, reading.layer, reading.rotated, corpus.source, parliament.nouns, parliament.frames, merging.tune,
        train.steps
    },
    knobs: SynapsesSettings::schema,
    presets: presets! {
        "synapses", "Parliament",
        "Four languages, currencies and countries in frames that take any noun: does a synapse come to stand for one? A few minutes.";
        "synapses_naive", "The trap",
        "The same with frames that belong to one concept: every synapse seems to know it, random weights too. A few minutes.";
        "synapses_surprise", "Surprise",
        "Random words, new once and then known: fewer neurons fire for what is expected. A few minutes.";
        "synapses_prose", "Prose", "The same model reads generated English prose. A few minutes.";
        "synapses_merging", "Merging",
        "A base learns one pair of languages, two copies of it another pair each; merged, does the one model know all three? About a quarter of an hour.";
        "synapses_no_bptt", "Without BPTT",
        "Two BDHs on the same batches, one without gradients through the past: what does translation lose, and in which direction? About a quarter of an hour.";
        "synapses_normfree", "Without norms",
        "BDH and the same BDH without any norm: at which layer, and at which size of initial weights, does learning stop?";
        "bdh_against_gpt", "Against a transformer",
        "BDH and a GPT of as many parameters learn translation from the same batches, with the paper's schedule and clipping: which is ahead? About a quarter of an hour.";
        "bdh_paper", "Paper",
        "The 25M models of the paper's scaling experiments, BDH and a transformer, and their recipe, for a GPU and a text of your own.";
    },
    plan: |config| plan(config, &SynapsesSettings::read(config)?),
    drawing: draw,
    panes: panes! {
        tall: "reading", "concepts";
        0: "activity", "surprise";
        1: "losses";
        more: "merging", "race", "accuracy";
    },
    headlines: headlines::ALL,
    large_numbers: headlines::LARGE_NUMBERS,
    opens_with_run: false,
};

impl ParliamentSettings {
    fn extent(&self) -> Extent {
        let Self { languages, kinds, nouns, frames, follow_ups, listing } = *self;
        Extent { languages, kinds, nouns, frames, follow_ups, listing, naive: false }
    }
}

impl ReadingSettings {
    /// The question for what synapses hold.
    pub fn reading_args(&self) -> ReadingArgs {
        let Self { ref text, layer, rotated, rank, longest, write, temperature } = *self;
        let (text, layer) = (text.clone(), Some(layer));
        ReadingArgs { text, longest, layer, rotated, rank, write, temperature, ..ReadingArgs::default() }
    }

    /// The question for what every layer would say of the same text.
    pub fn logit_lens_args(&self) -> LogitLensArgs {
        LogitLensArgs { text: self.text.clone(), longest: self.longest, ..LogitLensArgs::default() }
    }

    /// The question for products of queries and keys along the same text.
    pub fn query_key_maps_args(&self) -> QueryKeyMapsArgs {
        let Self { ref text, longest, rotated, .. } = *self;
        QueryKeyMapsArgs { text: text.clone(), longest, rotated, ..QueryKeyMapsArgs::default() }
    }
}

fn probes(s: &SynapsesSettings) -> Vec<ProbeSchedule> {
    let every = &s.probe;
    let mut all = vec![
        every.activity.ask(&ActivityArgs::default()),
        every.reading.ask(&s.reading.reading_args()),
        every.surprise.ask(&SurpriseArgs::default()),
    ];
    if s.merging.tune > 0 || s.variants.no_bptt {
        let (windows, window, write) = (s.run.eval_windows, s.train.window, s.merging.write);
        let args = TextLossesArgs { windows, window, write };
        all.push(every.texts.ask(&args));
    }
    all
}

fn plan(config: &Config, s: &SynapsesSettings) -> Result<Plan, ConfigError> {
    let experiment = Experiment { seeds: s.variants.seeds, ..Experiment::new(config, &s.train, &s.run) };
    let training = Training { model: &s.model, corpus: &s.corpus, carry: &s.carry, experiment };
    let mut plan = if s.merging.tune > 0 {
        Merging { settings: &s.merging, files: &s.child_files, training, beside: &s.variants }.plan(probes(s))?
    } else {
        let mut variants = vec![training.variant()?];
        variants.extend(training.changed(&s.variants)?);
        variants.extend(training.baseline(&s.variants)?);
        training.plan(&variants, probes(s))?
    };
    let extent = s.parliament.extent();
    let whole = Source::Generated("parliament".to_owned());
    for text in std::iter::once(&mut plan.corpus).chain(&mut plan.more_texts) {
        if text.source == whole && extent != Extent::WHOLE {
            text.source = Source::Parliament(extent);
        }
    }
    Ok(plan)
}

const N_ROWS: usize = 7;
const N_COLS: usize = 24;
/// Share of a synapse that is left after a word.
const RETENTION: f32 = 0.85;
/// Neurons that a word lights, at the side and on top; the first comes back again and again.
const LIT_NEURONS: [([usize; 2], [usize; 5]); 5] = [
    ([1, 4], [2, 7, 11, 18, 21]),
    ([0, 5], [0, 5, 9, 13, 20]),
    ([2, 6], [3, 7, 14, 16, 22]),
    ([3, 4], [1, 6, 11, 15, 23]),
    ([0, 2], [4, 8, 12, 17, 19]),
];
const TEXT: [usize; 16] = [0, 1, 2, 0, 3, 4, 0, 1, 0, 2, 3, 0, 4, 1, 0, 2];

/// The gallery's drawing of synapses: what they hold after some words. Each word lights some neurons on
/// both sides, and what fires together adds to what is between them while all of it fades. A ring is
/// around the strongest.
fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let read = 1 + (canvas.pointer_or(0.7) * (TEXT.len() - 1) as f32).round() as usize;
    let (y, x) = LIT_NEURONS[TEXT[read - 1]];
    let [width, height] = canvas.size;
    let step = (width / (N_COLS + 1) as f32).min(height / (N_ROWS + 1) as f32);
    let [cx, cy] = canvas.centre();
    let place = |row: usize, col: usize| {
        [cx + step * (col as f32 - 0.5 * N_COLS as f32), cy + step * (row as f32 - 0.5 * N_ROWS as f32)]
    };
    let fill = |fires: bool| if fires { Ink::Fast } else { Ink::Panel };
    (0..N_ROWS).for_each(|r| drawing.node(place(r + 1, 0), 0.22 * step, fill(y.contains(&r))));
    (0..N_COLS).for_each(|c| drawing.node(place(0, c + 1), 0.22 * step, fill(x.contains(&c))));
    let sigma = synapses(&TEXT[..read]);
    let most = sigma.iter().flatten().fold(0f32, |most, s| most.max(*s));
    let mut ringed = false;
    for (r, row) in sigma.iter().enumerate() {
        for (c, s) in row.iter().enumerate() {
            let at = place(r + 1, c + 1);
            drawing.disc(at, 1.0, Ink::Line);
            drawing.disc(at, 0.4 * step * (s / most).sqrt(), Ink::Warm.with_opacity(s / most));
            if *s == most && !ringed {
                drawing.ring(at, 0.5 * step, Ink::Accent, 1.5);
                ringed = true;
            }
        }
    }
    drawing.caption = format!("\u{3c3} \u{2190} {RETENTION} \u{3c3} + y x\u{1d40}, after {}", counted(read, "word"));
}

fn synapses(text: &[usize]) -> [[f32; N_COLS]; N_ROWS] {
    let mut sigma = [[0f32; N_COLS]; N_ROWS];
    for word in text {
        let (y, x) = LIT_NEURONS[*word];
        sigma.iter_mut().flatten().for_each(|s| *s *= RETENTION);
        y.iter().for_each(|y| x.iter().for_each(|x| sigma[*y][*x] += 1.0));
    }
    sigma
}
