//! The fast-slow gate lab (arXiv 2606.16730): does a slow path that starts closed open by itself?

mod headlines;
pub mod settings;

use crate::{
    labs::prelude::*,
    models::{
        dense::{DenseSpec, GatedAct},
        fast_slow::{Approach, FastSlowSpec, Hierarchy, SlowMixer, Upsample},
    },
};
use settings::{ApproachMethod, ApproachSettings, FastSlowSettings, LadderSettings, ModelSettings};

pub static LAB: Lab = Lab {
    id: "fast_slow",
    title: "Fast-slow gate",
    question: "A slow path is wired in through a gate that starts at exactly zero. Does training open it, and is it worth opening?",
    source: "Fast-slow hierarchical pretraining, arXiv 2606.16730",
    lesson: include_str!("../../../assets/lessons/fast_slow.md"),
    groups: groups! { model, variants, approach = "Equilibrium", ladder = "Ladder", corpus, train, probe, run },
    essentials: keys! {
        model.coupling_scale, train.lr, corpus.source, model.fast_window, model.upsample, approach.method,
        variants.seeds, train.steps
    },
    knobs: FastSlowSettings::schema,
    presets: presets! {
        "fast_slow", "Live",
        "Twins on generated prose, byte by byte: the gate drifts, coupled and frozen stay together. A few minutes.";
        "fast_slow_needed", "Needed",
        "A fact is told once and asked for far beyond the fast path's reach: the gate must open. About five minutes; the gate opens in the first.";
        "fast_slow_seeds", "Needed, three seeds",
        "The same over three seeds, so that the difference can be compared with chance. About a quarter of an hour.";
        "fast_slow_story", "Needed, in words",
        "The same question as readable stories: a name given in the first sentence, asked for in the last. A few minutes.";
        "fast_slow_ladder", "Ladder of approaches",
        "One pass, three passes, Anderson acceleration, a residual penalty and a learned projector race on the needed task. Three seeds. About an hour.";
        "fast_slow_equilibrium", "Solved equilibria",
        "One pass beside a fast state that is solved for: the paper's equation, and a backward Euler step. A few minutes.";
        "fast_slow_decay", "Learned decay",
        "The slow path's attention gives way to a state with a learned decay. How long does it learn to remember? Three seeds. About an hour.";
        "fast_slow_update_count", "Update counts",
        "No pooling: two fast passes with the slow state held, then one slow update. Beside the pooled model. A few minutes.";
        "fast_slow_paper", "Paper", "The paper's setting: learning rate 1e-4, 650 steps, with both dense baselines. About a quarter of an hour.";
        "fast_slow_long", "Ten million tokens",
        "Ten million tokens in windows of 1,024, which the paper has not run. About an hour, with a text of your own.";
    },
    plan: |config| plan(config, &FastSlowSettings::read(config)?),
    drawing: draw,
    panes: panes! {
        0: "gate", "staircase";
        1: "losses", "loss_difference", "accuracy";
        1: "next_tokens", "causality", "attention";
        more: "token_residuals", "residual", "race", "slow_memory", "equilibrium_solves", "generator_distance",
            "attention_chain", "cost";
    },
    headlines: headlines::ALL,
    large_numbers: headlines::LARGE_NUMBERS,
    opens_with_run: true,
};

impl ApproachSettings {
    fn approach(&self) -> Approach {
        let Self { passes, tolerance, max_iters, .. } = *self;
        match self.method {
            ApproachMethod::OnePass => Approach::OnePass,
            ApproachMethod::Passes => Approach::Passes { passes },
            ApproachMethod::Anderson => Approach::Anderson { passes },
            ApproachMethod::BackwardEuler => Approach::BackwardEuler { tolerance, max_iters },
            ApproachMethod::Deq => Approach::Deq { tolerance, max_iters },
        }
    }
}

/// The coupled model. Errors name the key.
fn fast_slow(s: &FastSlowSettings) -> Result<FastSlowSpec, ConfigError> {
    let m = &s.model;
    check_heads(m)?;
    check_pool(s)?;
    Ok(FastSlowSpec {
        d_model: m.d_model,
        heads: m.heads,
        kv_heads: m.kv_heads,
        pool: m.pool,
        n_pre: m.n_pre,
        n_post: m.n_post,
        n_slow: m.n_slow,
        slow_mixer: m.slow_mixer,
        n_rounds: m.n_rounds,
        projector_hidden: nonzero(m.projector_hidden),
        freeze_coupling: false,
        gate_weight_decay: m.gate_weight_decay,
        coupling_scale: m.coupling_scale,
        approach: s.approach.approach(),
        aux_lambda: s.approach.aux_lambda,
        constraint: s.approach.constraint,
        fast_window: nonzero(m.fast_window),
        upsample: m.upsample,
        hierarchy: Hierarchy::Pooled,
    })
}

/// A size where 0 means "none".
fn nonzero(n: usize) -> Option<usize> {
    Some(n).filter(|n| *n > 0)
}

/// With the last finished block a window of one block reads nothing of the slow path.
fn check_pool(s: &FastSlowSettings) -> Result<(), ConfigError> {
    let (pool, window) = (s.model.pool, s.train.window);
    let why = format_args!(
        "`model.pool` = {pool} finishes no block within `train.window` = {window}, so that no token would read the slow \
         path; make it less than {window}"
    );
    refuse_if(s.model.upsample != Upsample::Leaky && pool >= window, ModelSettings::pool.name, why)
}

fn check_heads(m: &ModelSettings) -> Result<(), ConfigError> {
    let ModelSettings { d_model: d, heads, kv_heads: kv, .. } = *m;
    let what = format!("an even multiple of `model.heads` = {heads}");
    check_multiple(ModelSettings::d_model.name, d, 2 * heads, &what)?;
    let why = format_args!("`model.kv_heads` = {kv} must divide `model.heads` = {heads}");
    refuse_if(!heads.is_multiple_of(kv), ModelSettings::kv_heads.name, why)
}

/// The two baselines of the paper at their sizes, scaled with the width knob.
fn dense(m: &ModelSettings, act: GatedAct) -> DenseSpec {
    let ModelSettings { d_model: d, heads, kv_heads, .. } = *m;
    let d_model = match act {
        GatedAct::Swiglu => d,
        // three quarters of the width, rounded to a size the heads allow: 96 at the defaults
        GatedAct::Geglu => (3 * d / 4 / (2 * heads)).max(1) * 2 * heads,
    };
    DenseSpec { d_model, layers: 4, heads, kv_heads, hidden: 4 * d_model, act, window: nonzero(m.fast_window) }
}

/// The coupled model with what differs from it in one thing, and the baselines.
fn variants(s: &FastSlowSettings) -> Result<Vec<Variant>, ConfigError> {
    let (on, base) = (&s.variants, fast_slow(s)?);
    let LadderSettings { passes, anderson, aux_lambda, projector_hidden, deq, backward_euler } = s.ladder;
    let ApproachSettings { tolerance, max_iters, .. } = s.approach;
    // other approaches to its fixed point (the paper's 11.2 to 11.5)
    let by = |approach| ModelSpec::FastSlow(FastSlowSpec { approach, ..base.clone() });
    let penalised = FastSlowSpec { aux_lambda, ..base.clone() };
    let projected = FastSlowSpec { projector_hidden: nonzero(projector_hidden), ..base.clone() };
    let mixed = |slow_mixer| ModelSpec::FastSlow(FastSlowSpec { slow_mixer, ..base.clone() });
    // without pooling: a slow path that is slow by the number of its updates (the paper's 2.3), with one pass in each
    // application of Post
    let counted = |last_cycle_only| {
        let hierarchy = Hierarchy::UpdateCount { passes: on.cycle_passes, last_cycle_only };
        let approach = Approach::OnePass;
        ModelSpec::FastSlow(FastSlowSpec { hierarchy, approach, aux_lambda: 0.0, ..base.clone() })
    };
    let frozen = FastSlowSpec { freeze_coupling: true, ..base.clone() };
    let dense = |act| ModelSpec::Dense(dense(&s.model, act));
    let labels = [format!("{passes} passes"), format!("Anderson, {anderson} passes")];
    Ok(Variant::switched_on([
        (on.coupled, "coupled", "coupled", ModelSpec::FastSlow(base.clone())),
        (passes > 0, "passes", labels[0].as_str(), by(Approach::Passes { passes })),
        (anderson > 0, "anderson", labels[1].as_str(), by(Approach::Anderson { passes: anderson })),
        (aux_lambda > 0.0, "penalty", "residual penalty", ModelSpec::FastSlow(penalised)),
        (projector_hidden > 0, "projector", "learned projector", ModelSpec::FastSlow(projected)),
        (deq, "deq", "DEQ", by(Approach::Deq { tolerance, max_iters })),
        (backward_euler, "backward_euler", "backward Euler", by(Approach::BackwardEuler { tolerance, max_iters })),
        (on.gated_linear, SlowMixer::GatedLinear.id(), "gated linear", mixed(SlowMixer::GatedLinear)),
        (on.decay, SlowMixer::Decay.id(), "decay a head", mixed(SlowMixer::Decay)),
        (on.update_count, "update_count", "update counts", counted(false)),
        (on.update_count_last, "update_count_last", "update counts, last cycle", counted(true)),
        (on.frozen, "frozen", "frozen", ModelSpec::FastSlow(frozen)),
        (on.dense_swiglu, "dense_swiglu", "dense, SwiGLU", dense(GatedAct::Swiglu)),
        (on.dense_geglu, "dense_geglu", "dense, GeGLU", dense(GatedAct::Geglu)),
    ]))
}

fn plan(config: &Config, s: &FastSlowSettings) -> Result<Plan, ConfigError> {
    let experiment = Experiment { seeds: s.variants.seeds, ..Experiment::new(config, &s.train, &s.run) };
    let every = &s.probe;
    let probes = vec![
        every.staircase.ask(&StaircaseArgs::default()),
        every.attention_maps.ask(&AttentionMapsArgs::default()),
        every.residual.ask(&ResidualArgs::default()),
        every.residual.ask(&TokenResidualsArgs::default()),
        every.generator_distance.ask(&GeneratorDistanceArgs::default()),
        every.next_tokens.ask(&NextTokensArgs::default()),
        every.causality.ask(&CausalityArgs::default()),
        every.gate_entropy.ask(&GateEntropyArgs::default()),
    ];
    Ok(experiment.plan(s.corpus.spec()?, &variants(s)?, probes))
}

const N: usize = 96;

/// The gallery's drawing of the fast-slow gate: a fast signal and the staircase that its average over
/// windows of P makes one window later.
fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let [width, height] = canvas.size;
    let p = 2usize.pow((canvas.pointer_or(0.55) * 5.0).round() as u32).clamp(2, 32);
    let fast = irregular_signal(N);
    let y = |v: f32| 0.5 * height - v * height * 0.42;
    let x = |i: f32| width * i / N as f32;
    drawing.path(fast.iter().enumerate().map(|(i, v)| [x(i as f32), y(*v)]).collect(), Ink::Fast, 1.0);
    let mut stairs = vec![];
    for w in 0..N / p {
        let mean = fast.iter().skip(w * p).take(p).sum::<f32>() / p as f32;
        // Known once its window is over: it is added to the next one.
        let (from, to) = ((w + 1) * p, ((w + 2) * p).min(N));
        if from < N {
            stairs.push([x(from as f32), y(mean)]);
            stairs.push([x(to as f32), y(mean)]);
        }
    }
    drawing.path(stairs, Ink::Slow, 2.0);
    drawing.caption = format!("a walk, and its mean over windows of P = {p}, one window late");
}

/// A smooth, fixed, irregular signal in -1..1.
fn irregular_signal(n: usize) -> Vec<f32> {
    (0..n)
        .map(|i| {
            let t = i as f32;
            0.42 * (0.071 * t + 0.4).sin()
                + 0.25 * (0.193 * t).sin()
                + 0.18 * (0.61 * t + 1.0).sin()
                + 0.13 * (1.37 * t).sin()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn models(changes: &[(&str, &str)]) -> Result<Vec<(String, FastSlowSpec)>, ConfigError> {
        let plan = (LAB.plan)(&LAB.defaults_with(changes)?)?;
        let variants = plan.variants.into_iter();
        Ok(variants
            .filter_map(|v| if let ModelSpec::FastSlow(spec) = v.model { Some((v.id, spec)) } else { None })
            .collect())
    }

    #[test]
    fn each_ladder_variant_changes_one_setting_of_the_coupled_model() {
        let rungs = [
            ("variants.frozen", "false"),
            ("ladder.passes", "3"),
            ("ladder.anderson", "4"),
            ("ladder.aux_lambda", "0.5"),
            ("ladder.projector_hidden", "24"),
            ("ladder.deq", "true"),
            ("ladder.backward_euler", "true"),
        ];
        let all = models(&rungs).unwrap();
        let ids: Vec<&str> = all.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, ["coupled", "passes", "anderson", "penalty", "projector", "deq", "backward_euler"]);
        let base = all[0].1.clone();
        assert_eq!(all[1].1, FastSlowSpec { approach: Approach::Passes { passes: 3 }, ..base.clone() });
        assert_eq!(all[2].1, FastSlowSpec { approach: Approach::Anderson { passes: 4 }, ..base.clone() });
        assert_eq!(all[3].1, FastSlowSpec { aux_lambda: 0.5, ..base.clone() });
        assert_eq!(all[4].1, FastSlowSpec { projector_hidden: Some(24), ..base.clone() });
        let (tolerance, max_iters) = (1e-2, 30);
        assert_eq!(all[5].1, FastSlowSpec { approach: Approach::Deq { tolerance, max_iters }, ..base.clone() });
        assert_eq!(all[6].1, FastSlowSpec { approach: Approach::BackwardEuler { tolerance, max_iters }, ..base });
        assert_eq!(models(&[]).unwrap().len(), 2, "no rung is added unasked");
    }

    #[test]
    fn update_counts_replace_pooling_alone() {
        let settings = [
            ("variants.update_count", "true"),
            ("variants.update_count_last", "true"),
            ("variants.cycle_passes", "5"),
            ("approach.method", "anderson"),
        ];
        let all = models(&settings).unwrap();
        let ids: Vec<&str> = all.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, ["coupled", "update_count", "update_count_last", "frozen"]);
        for ((_, model), last_cycle_only) in all[1..3].iter().zip([false, true]) {
            let hierarchy = Hierarchy::UpdateCount { passes: 5, last_cycle_only };
            assert_eq!(model, &FastSlowSpec { hierarchy, approach: Approach::OnePass, ..all[0].1.clone() });
        }
    }

    #[test]
    fn a_decaying_variant_differs_in_its_slow_mixing_alone() {
        let all = models(&[("variants.gated_linear", "true"), ("variants.decay", "true")]).unwrap();
        let ids: Vec<&str> = all.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, ["coupled", "gated_linear", "decay", "frozen"]);
        let base = all[0].1.clone();
        assert_eq!(all[1].1, FastSlowSpec { slow_mixer: SlowMixer::GatedLinear, ..base.clone() });
        assert_eq!(all[2].1, FastSlowSpec { slow_mixer: SlowMixer::Decay, ..base });
    }
}
