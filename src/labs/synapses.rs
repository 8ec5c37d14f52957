//! The Synapses lab (BDH-GPU, arXiv 2509.26507): a model whose attention state is the strength of
//! synapses between neurons, read token by token.

use super::{Lab, Pane, Preset, bdh, common, merging};
use crate::{
    config::{Config, ConfigError, Knob},
    corpus::{Source, generated::parliament::Extent},
    telemetry::Args,
    trainer::{Plan, ProbeSchedule},
};

pub static LAB: Lab = Lab {
    id: "synapses",
    title: "Synapses",
    question: "Does a single synapse come to stand for a concept?",
    source: "The Dragon Hatchling (BDH), arXiv 2509.26507",
    lesson: include_str!("../../assets/lessons/synapses.md"),
    groups: &[
        ("reading", "Reading"),
        ("model", "Model"),
        ("variants", "Beside it"),
        ("merging", "Merging"),
        ("corpus", "Text"),
        ("parliament", "Parliament"),
        ("train", "Training"),
        ("probe", "Measuring"),
        ("run", "Run"),
    ],
    knobs,
    presets: &[
        Preset {
            id: "synapses",
            title: "Parliament",
            about: "Four languages, currencies and countries in frames that take any noun: does a synapse come to stand for one?",
            toml: include_str!("../../configs/synapses.toml"),
        },
        Preset {
            id: "synapses_naive",
            title: "The trap",
            about: "The same with frames that belong to one concept: every synapse seems to know it, random weights too.",
            toml: include_str!("../../configs/synapses_naive.toml"),
        },
        Preset {
            id: "synapses_surprise",
            title: "Surprise",
            about: "Random words, new once and then known: fewer neurons fire for what is expected.",
            toml: include_str!("../../configs/synapses_surprise.toml"),
        },
        Preset {
            id: "synapses_prose",
            title: "Prose",
            about: "The same model reads generated English prose.",
            toml: include_str!("../../configs/synapses_prose.toml"),
        },
        Preset {
            id: "synapses_merging",
            title: "Merging",
            about: "A base learns one pair of languages, two copies of it another pair each; put side by side, does the one model know all three?",
            toml: include_str!("../../configs/synapses_merging.toml"),
        },
    ],
    plan,
    panes: &[
        Pane { view: "reading", column: 0, share: 1.0, tab: false },
        Pane { view: "concepts", column: 0, share: 1.0, tab: true },
        Pane { view: "losses", column: 1, share: 0.35, tab: false },
        Pane { view: "activity", column: 1, share: 0.65, tab: false },
        Pane { view: "surprise", column: 1, share: 0.65, tab: true },
        Pane { view: "merging", column: 1, share: 0.65, tab: true },
    ],
    opens_with_run: false,
};

fn knobs() -> Vec<Knob> {
    let mut all = reading_knobs();
    all.extend(bdh::model_knobs(2048, 64, 4));
    all.extend(bdh::variant_knobs());
    all.extend(merging::knobs());
    all.extend(bdh::corpus_knobs("parliament"));
    all.extend(merging::file_knobs());
    all.extend(parliament_knobs());
    all.extend(bdh::training_knobs(600));
    all.extend(probe_knobs());
    all
}

fn reading_knobs() -> Vec<Knob> {
    vec![
        Knob::text("reading.text", "Text", "").tip(
            "What the model reads, token by token. Type your own; empty reads a passage that was held out of training.",
        ),
        Knob::int("reading.layer", "Layer", 2, 1, 63)
            .symbol("l")
            .tip("Synapses run from y of the layer before to x of this one. A layer that the model lacks is its last."),
        Knob::switch("reading.rotated", "As the model sees it", true).tip(
            "Turns what was written by how long ago it was, as the model's attention does. Off adds up what y and x brought, which never falls.",
        ),
        Knob::choice("reading.rank", "Show synapses", "sudden", &["sudden", "strong"]).tip(
            "Which synapses are followed: those with the largest gain at a single token, or those strongest at the end.",
        ),
        Knob::int("reading.longest", "Longest text", 256, 8, 100_000)
            .unit("tokens")
            .tip("Where reading stops. Memory does not grow with it but for the numbers that are shown."),
    ]
}

/// How much of the parliament the text has; other corpora have none of it.
fn parliament_knobs() -> Vec<Knob> {
    let whole = Extent::WHOLE;
    let int = |key, label, most: usize, least| Knob::int(key, label, most as i64, least, most as i64);
    vec![
        int("parliament.languages", "Languages", whole.languages, 2).tip("Of English, French, Spanish and German, the first so many."),
        int("parliament.kinds", "Kinds of nouns", whole.kinds, 3)
            .tip("Of currencies, countries, goods, cities and institutions, the first so many."),
        int("parliament.nouns", "Nouns a kind", whole.nouns, 8)
            .tip("Half of them are searched with and half are kept to confirm with. There are 16 cities and 12 institutions at most."),
        int("parliament.frames", "Frames", whole.frames, 1)
            .tip("Sentences that any noun fits. Those that a search confirms with are others, and in no training text."),
        int("parliament.follow_ups", "What follows", whole.follow_ups, 1)
            .tip("Sentences that may follow a noun of a kind. They are what a model gains by knowing the kind."),
        Knob::float("parliament.listing", "Lists", whole.listing, 0.0, 1.0)
            .tip("How often a pair lists three nouns of a kind rather than say something of one."),
    ]
}

/// What `parliament.*` names.
fn extent(c: &Config) -> Extent {
    Extent {
        languages: c.usize("parliament.languages"),
        kinds: c.usize("parliament.kinds"),
        nouns: c.usize("parliament.nouns"),
        frames: c.usize("parliament.frames"),
        follow_ups: c.usize("parliament.follow_ups"),
        listing: c.f64("parliament.listing"),
        naive: false,
    }
}

fn probe_knobs() -> Vec<Knob> {
    let tip = "Steps between two askings of this probe. 0 asks only when a view does.";
    let every = |key, label, default| common::every_knob(key, label, default, tip);
    vec![
        every("probe.activity_every", "Sparsity every", 25),
        every("probe.reading_every", "Reading every", 100),
        every("probe.surprise_every", "Surprise every", 0),
        every("probe.texts_every", "Texts of a merging every", 100),
    ]
}

fn plan(c: &Config) -> Result<Plan, ConfigError> {
    let every = |probe: &str| c.usize(&format!("probe.{probe}_every")) as u64;
    let cadence = |probe: &str, args: Args| ProbeSchedule { probe: probe.into(), every: every(probe), args };
    let reading = ["text", "layer", "rotated", "rank", "longest"];
    let reading = reading.into_iter().filter_map(|k| Some((k.to_owned(), c.get(&format!("reading.{k}"))?.clone())));
    let probes =
        vec![cadence("activity", Args::new()), cadence("reading", reading.collect()), cadence("surprise", Args::new())];
    let mut plan = match merging::is_on(c) {
        true => merging::plan(c, probes)?,
        false => bdh::plan(c, bdh::variants(c)?, probes)?,
    };
    let part = extent(c);
    let whole = Source::Generated("parliament".to_owned());
    for text in std::iter::once(&mut plan.corpus).chain(&mut plan.more_texts) {
        if text.source == whole && part != Extent::WHOLE {
            text.source = Source::Parliament(part);
        }
    }
    Ok(plan)
}
