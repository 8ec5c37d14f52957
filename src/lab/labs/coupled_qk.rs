//! The coupled attention lab (arXiv 2604.01683): do queries and keys that move together before they meet make a better
//! model, and when?

mod finetune;
mod headlines;
pub mod settings;

use crate::{
    corpus::Source,
    labs::{drawing::Point, prelude::*},
    models::coupled_qk::{CoupledQkSpec, EvolvedLayers, QkVariant},
};
use settings::{AblationSettings, CoupledQkSettings, ModelSettings, Positions, VariantSettings};

pub static LAB: Lab = Lab {
    id: "coupled_qk",
    title: "Coupled attention",
    question: "Attention compares queries with keys. Does it help if they first move together, each pushing the other?",
    source: "Coupled query-key dynamics for attention, arXiv 2604.01683",
    lesson: include_str!("../../../assets/lessons/coupled_qk.md"),
    groups: groups! { model, variants, ablation = "Ablation", finetune = "Fine-tuning", corpus, train, probe, run },
    essentials: keys! {
        train.lr, model.evolution_steps, model.dt, variants.mlp, variants.euler, variants.hamiltonian, variants.seeds,
        corpus.source
    },
    knobs: CoupledQkSettings::schema,
    presets: presets! {
        "coupled_qk", "Live",
        "Standard attention, an MLP on queries and both coupled integrators race on the same bytes of prose. A few minutes.";
        "coupled_qk_seeds", "Three seeds",
        "The same race over three seeds, with grouped-query and differential attention: a verdict with an interval. About half an hour.";
        "coupled_qk_positions", "Learned or rotary",
        "Standard and coupled attention, each with learned positions and with rotary embedding. Three seeds. About half an hour.";
        "coupled_qk_diff", "With differential attention",
        "Standard or differential scores, with and without coupling before them: does one add to the other? Three seeds. About half an hour.";
        "coupled_qk_longer", "Standard for longer",
        "Standard attention with 2.4 times the updates of the coupled model, as the paper matches their seconds. About a quarter of an hour.";
        "coupled_qk_mqar", "Associative recall",
        "Pairs of a key and a value, then the keys again: who learns to look up the value, and when? Three seeds.";
        "coupled_qk_mqar_paper", "Recall at the paper's size",
        "Sixteen pairs, 256 channels, 6 layers, 10,000 steps: about 14 hours on two cores, less on a GPU.";
        "coupled_qk_coherence", "One domain or eight",
        "Standard against coupled attention on one kind of text; then set Domains to 8 and race again. Three seeds. About a quarter of an hour.";
        "coupled_qk_steps", "How many steps",
        "The coupled model with 1, 3, 5 and 7 steps of evolution. The paper finds them alike. About half an hour.";
        "coupled_qk_couplings", "Cheaper couplings",
        "Linear mixing, one MLP for both and an invertible coupling beside Euler's: what is the active part? Three seeds. About half an hour.";
        "coupled_qk_labels", "Fine-tuning on labels",
        "Every variant reads prose, then separates good opinions from bad ones by a classification head. Three seeds. About half an hour.";
        "coupled_qk_layers", "Which layers", "Evolution in all layers, in the first half, in the last half. About half an hour.";
        "coupled_qk_paper", "Paper",
        "The 60M model and schedule of the paper with all six variants of its table 1, for a GPU and a text of your own.";
        "coupled_qk_150m", "Paper, 150M", "The 150M model of the paper's table 3, for a large GPU and a text of your own.";
        "coupled_qk_350m", "Paper, 350M", "The 350M model of the paper's table 4, for a large GPU and a text of your own.";
    },
    plan: |config| plan(config, &CoupledQkSettings::read(config)?),
    drawing: draw,
    panes: panes! {
        0: "race", "losses", "loss_difference", "accuracy";
        1: "phase_plane", "attention", "attention_side_by_side";
        more: "pair_attention", "step_lengths", "next_tokens", "attention_by_layer", "attention_chain";
    },
    headlines: headlines::ALL,
    large_numbers: headlines::LARGE_NUMBERS,
    opens_with_run: true,
};

/// True if a variant's switch is on. The match is exhaustive, so that no variant lacks a switch.
fn is_on(s: &VariantSettings, variant: QkVariant) -> bool {
    match variant {
        QkVariant::Standard => s.standard,
        QkVariant::Gqa => s.gqa,
        QkVariant::Diff => s.diff,
        QkVariant::Mlp => s.mlp,
        QkVariant::Euler => s.euler,
        QkVariant::Hamiltonian => s.hamiltonian,
        QkVariant::DiffEuler => s.diff_euler,
        QkVariant::DiffHamiltonian => s.diff_hamiltonian,
        QkVariant::LinearMixing => s.linear_mixing,
        QkVariant::SharedMlp => s.shared_mlp,
        QkVariant::Invertible => s.invertible,
    }
}

fn chosen_variants(s: &VariantSettings) -> impl Iterator<Item = QkVariant> {
    QkVariant::ALL.into_iter().filter(move |variant| is_on(s, *variant))
}

fn check(s: &CoupledQkSettings) -> Result<(), ConfigError> {
    let ModelSettings { d_model: d, heads, most_positions, positions, .. } = s.model;
    let width = |of: usize, why: &str| {
        check_multiple(ModelSettings::d_model.name, d, of, &format!("a multiple of {of}, {why}"))
    };
    width(heads, &format!("so that each of `model.heads` = {heads} is as wide"))?;
    if chosen_variants(&s.variants).any(QkVariant::is_differential) {
        width(2 * heads, &format!("because differential attention halves each of `model.heads` = {heads}"))?;
    }
    let is_rotary = positions == Positions::Rotary || s.ablation.positions;
    if is_rotary {
        width(2 * heads, "because rotary embedding turns pairs of a head's channels")?;
    }
    if is_rotary && chosen_variants(&s.variants).any(QkVariant::is_differential) {
        width(4 * heads, "because rotary embedding turns pairs of each half of a differential head's channels")?;
    }
    let why = format_args!(
        "`model.heads` = {heads} must be a multiple of 4 for grouped-query attention, whose four queries share a key; \
         change it or turn `variants.gqa` off"
    );
    refuse_if(s.variants.gqa && !heads.is_multiple_of(4), ModelSettings::heads.name, why)?;
    let window = s.train.window;
    let why = format_args!(
        "`model.most_positions` = {most_positions} is less than `train.window` = {window}; make it at least {window}"
    );
    refuse_if(most_positions < window, ModelSettings::most_positions.name, why)?;
    let halves = s.model.evolved == EvolvedLayers::FirstHalf || s.ablation.layers;
    let why = "`model.layers` = 1 has no first half whose queries and keys could evolve; make it at least 2";
    refuse_if(s.model.layers == 1 && halves, ModelSettings::layers.name, why)?;
    finetune::check(s)
}

fn spec(s: &CoupledQkSettings, variant: QkVariant) -> CoupledQkSpec {
    let m = &s.model;
    CoupledQkSpec {
        d_model: m.d_model,
        heads: m.heads,
        layers: m.layers,
        hidden: if m.hidden == 0 { 4 * m.d_model } else { m.hidden },
        positions: m.most_positions,
        rotary: m.positions == Positions::Rotary,
        variant,
        steps: m.evolution_steps,
        dt: m.dt,
        evolved: m.evolved,
        gradient_checkpointing: m.gradient_checkpointing,
        classes: None,
    }
}

/// The numbers of steps to compare, ascending and each once. Errors: not whole numbers from 1 to 16.
fn compared_steps(text: &str) -> Result<Vec<usize>, ConfigError> {
    let example = "such as `1, 3, 5, 7`; no steps at all are the variant `standard`";
    whole_numbers(AblationSettings::steps.name, text, 1..=16, example)
}

/// A variant, once for each evolution and each kind of positions that are compared.
fn ablated_variants(s: &CoupledQkSettings, variant: QkVariant, steps: &[usize]) -> Vec<Variant> {
    let base = spec(s, variant);
    let (id, label) = (variant.id(), variant.label());
    if !s.ablation.positions {
        return evolution_variants(s, steps, id, label, &base);
    }
    let kinds = [(false, "learned", "learned positions"), (true, "rotary", "rotary")];
    let of_kind = kinds.map(|(rotary, short, words)| {
        let base = CoupledQkSpec { rotary, ..base.clone() };
        evolution_variants(s, steps, &format!("{id}_{short}"), &format!("{label}, {words}"), &base)
    });
    of_kind.into_iter().flatten().collect()
}

/// Returns one variant of the model `base` for each evolution that is compared, with ids and labels that extend the given
/// ones.
fn evolution_variants(
    s: &CoupledQkSettings,
    steps: &[usize],
    id: &str,
    label: &str,
    base: &CoupledQkSpec,
) -> Vec<Variant> {
    let variant = base.variant;
    let mut all = vec![];
    if variant.has_steps() {
        all.extend(steps.iter().map(|&n| {
            let model = CoupledQkSpec { steps: n, ..base.clone() };
            Variant::new(format!("{id}_n{n}"), &format!("{label}, n = {n}"), ModelSpec::CoupledQk(model))
        }));
    }
    if s.ablation.layers && variant.evolves() {
        let places = [
            (EvolvedLayers::All, "all", "all layers"),
            (EvolvedLayers::FirstHalf, "first", "first half"),
            (EvolvedLayers::LastHalf, "last", "last half"),
        ];
        all.extend(places.map(|(evolved, short, words)| {
            let model = CoupledQkSpec { evolved, ..base.clone() };
            Variant::new(format!("{id}_{short}"), &format!("{label}, {words}"), ModelSpec::CoupledQk(model))
        }));
    }
    if all.is_empty() {
        all.push(Variant::new(id, label, ModelSpec::CoupledQk(base.clone())));
    }
    all
}

/// The id of standard attention that trains for longer than the others.
const STANDARD_LONGER_ID: &str = "standard_longer";

/// Standard attention for this many times the steps, if that is more than once.
fn longer_variant(s: &CoupledQkSettings) -> Option<Variant> {
    let times = s.ablation.longer;
    let model = ModelSpec::CoupledQk(spec(s, QkVariant::Standard));
    (times > 1.0).then(|| Variant::new(STANDARD_LONGER_ID, &format!("standard, {times} times the steps"), model))
}

/// The plan of a run in which one variant trains on when the others have ended; each has a schedule of its own length.
fn with_longer(plan: Plan, times: f64) -> Plan {
    let (steps, most) = (plan.steps, (plan.steps as f64 * times).round() as u64);
    let until = |group: &str| if group == STANDARD_LONGER_ID { most } else { steps };
    let stages = plan.variants.iter().map(|v| Stage::only(until(&v.group))).collect();
    Plan { steps: most, stages, ..plan }
}

fn plan(config: &Config, s: &CoupledQkSettings) -> Result<Plan, ConfigError> {
    check(s)?;
    let steps = compared_steps(&s.ablation.steps)?;
    let raced = chosen_variants(&s.variants).flat_map(|variant| ablated_variants(s, variant, &steps));
    let mut variants: Vec<Variant> = raced.chain(longer_variant(s)).collect();
    let why = "no variant is turned on; turn on at least one, such as `variants.standard`";
    refuse_if(variants.is_empty(), VariantSettings::standard.name, why)?;
    let every = &s.probe;
    let statistics = AttentionStatisticsArgs { windows: s.attention.attention_windows, length: s.train.window };
    variants.extend(finetune::classifiers(s, &variants));
    let mut probes = vec![
        s.attention_probe.attention_maps.ask(&AttentionMapsArgs::default()),
        s.attention_probe.attention_statistics.ask(&statistics),
        every.query_key_paths.ask(&QueryKeyPathsArgs::default()),
        every.step_lengths.ask(&StepLengthsArgs::default()),
        every.next_tokens.ask(&NextTokensArgs::default()),
    ];
    let corpus = s.corpus.spec()?;
    if s.corpus.asks_for_pairs() {
        let args = PairAttentionArgs { window: s.train.window, ..PairAttentionArgs::default() };
        probes.push(every.pair_attention.ask(&args));
    }
    if matches!(corpus.source, Source::Domains(_) | Source::Folder { .. }) {
        // it depends on the text alone, so a measurement at the start stays valid
        let args = DomainCoherenceArgs { window: s.train.window, ..DomainCoherenceArgs::default() };
        probes.push(ask_at_ends(&args, &s.train));
    }
    let experiment = Experiment { seeds: s.variants.seeds, ..Experiment::new(config, &s.train, &s.run) };
    let plan = finetune::with_finetuning(experiment.plan(corpus, &variants, probes), s)?;
    Ok(if s.ablation.longer > 1.0 { with_longer(plan, s.ablation.longer) } else { plan })
}

const N_STEPS: usize = 26;

/// The gallery's drawing of the coupled attention lab: the pendulum q' = k, k' = -q from one start by Euler's method, which
/// spirals outwards, and by leapfrog, which stays on its circle.
fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let ([width, height], [cx, cy]) = (canvas.size, canvas.centre());
    let dt = 0.08 + 0.42 * canvas.pointer_or(0.45);
    let unit = 0.2 * height.min(width);
    let at = |[q, k]: [f32; 2]| -> Point { [cx + unit * q, cy - unit * k] };
    let path = |step: fn([f32; 2], f32) -> [f32; 2]| -> Vec<Point> {
        let states = std::iter::successors(Some([1.0f32, 0.0]), |s| Some(step(*s, dt)));
        let is_inside = |[x, y]: &Point| (0.0..width).contains(x) && (0.0..height).contains(y);
        states.take(N_STEPS).map(at).take_while(is_inside).collect()
    };
    let circle = (0..=64).map(|i| (i as f32 / 64.0 * std::f32::consts::TAU).sin_cos());
    drawing.path(circle.map(|(s, c)| at([c, s])).collect(), Ink::Line, 1.0);
    let (spiral, closed) = (path(euler), path(leapfrog));
    for (points, ink) in [(spiral, Ink::Warm), (closed, Ink::Accent)] {
        points.iter().for_each(|point| drawing.disc(*point, 2.0, ink));
        drawing.path(points, ink.with_opacity(0.8), 1.5);
    }
    drawing.node(at([1.0, 0.0]), 3.5, Ink::Panel);
    drawing.caption = format!("q' = k, k' = \u{2212}q, \u{394}t = {dt:.2}: Euler leaves the circle, leapfrog stays");
}

fn euler([q, k]: [f32; 2], dt: f32) -> [f32; 2] {
    [q + dt * k, k - dt * q]
}

fn leapfrog([q, k]: [f32; 2], dt: f32) -> [f32; 2] {
    let k = k - 0.5 * dt * q;
    let q = q + dt * k;
    [q, k - 0.5 * dt * q]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_domains_is_measured_for_its_coherence() {
        for (source, is_measured) in [("domains", true), ("harbour", false)] {
            let plan = planned(&[("corpus.source", source)]).unwrap();
            assert_eq!(plan.probes.iter().any(|p| p.probe == "domain_coherence"), is_measured, "{source}");
        }
    }

    #[test]
    fn steps_to_compare_are_read_or_refused_in_words() {
        assert_eq!(compared_steps("5, 1 3,3").unwrap(), [1, 3, 5]);
        assert!(compared_steps("").unwrap().is_empty());
        let refused = compared_steps("1, 0").unwrap_err().to_string();
        assert!(refused.contains("`0`") && refused.contains("standard"), "{refused}");
    }

    /// Returns the plan of the defaults with these settings.
    fn planned(settings: &[(&str, &str)]) -> Result<Plan, ConfigError> {
        (LAB.plan)(&LAB.defaults_with(settings)?)
    }

    fn ids(plan: &Plan) -> Vec<&str> {
        plan.variants.iter().map(|v| v.id.as_str()).collect()
    }

    const TWO: [(&str, &str); 2] = [("variants.mlp", "false"), ("variants.hamiltonian", "false")];

    #[test]
    fn positions_are_raced_with_every_variant() {
        let plan = planned(&[TWO[0], TWO[1], ("ablation.positions", "true")]).unwrap();
        assert_eq!(ids(&plan), ["standard_learned", "standard_rotary", "euler_learned", "euler_rotary"]);
        let rotary = |model: &ModelSpec| matches!(model, ModelSpec::CoupledQk(spec) if spec.rotary);
        assert_eq!(plan.variants.iter().map(|v| rotary(&v.model)).collect::<Vec<_>>(), [false, true, false, true]);
        let odd = planned(&[("ablation.positions", "true"), ("model.d_model", "12")]).unwrap_err().to_string();
        assert!(odd.contains("rotary"), "{odd}");
    }

    #[test]
    fn standard_attention_may_train_for_longer() {
        assert!(planned(&TWO).unwrap().stages.is_empty());
        let plan = planned(&[TWO[0], TWO[1], ("ablation.longer", "2.4"), ("train.steps", "100")]).unwrap();
        assert_eq!(ids(&plan), ["standard", "euler", "standard_longer"]);
        assert_eq!(plan.stages.iter().map(|s| s.until).collect::<Vec<_>>(), [100, 100, 240]);
        assert_eq!(plan.steps, 240);
        let seeds = planned(&[TWO[0], TWO[1], ("ablation.longer", "2"), ("variants.seeds", "20")]).unwrap();
        assert_eq!(seeds.stages.iter().filter(|s| s.until == seeds.steps).count(), 20);
    }

    #[test]
    fn the_papers_preset_has_the_variants_of_its_table_1() {
        let plan = (LAB.plan)(&LAB.config(Some("coupled_qk_paper")).unwrap()).unwrap();
        assert_eq!(ids(&plan), ["standard", "gqa", "diff", "mlp", "euler", "hamiltonian"]);
    }

    #[test]
    fn an_mlp_width_of_0_is_four_times_the_width() {
        let plan = planned(&[("model.hidden", "0"), ("model.d_model", "64")]).unwrap();
        assert!(matches!(&plan.variants[0].model, ModelSpec::CoupledQk(spec) if spec.hidden == 256));
    }

    #[test]
    fn every_switch_turns_its_own_variant_on() {
        let names = QkVariant::ALL.map(|variant| format!("variants.{}", variant.id()));
        for (own, variant) in names.iter().zip(QkVariant::ALL) {
            let value = |name: &String| if name == own { "true" } else { "false" };
            let settings: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), value(name))).collect();
            assert_eq!(ids(&planned(&settings).unwrap()), [variant.id()]);
        }
        let on: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "true")).collect();
        assert_eq!(ids(&planned(&on).unwrap()), QkVariant::ALL.map(QkVariant::id), "and all together");
    }
}
