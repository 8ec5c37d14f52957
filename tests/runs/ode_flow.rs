//! Tests the ODE flow lab: its language, its batches, steering, and its probes' answers.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use candle_core::Var;
use orrery::{
    analysis::rank_correlation::spearman,
    config::Value,
    corpus::{
        Corpus, CorpusSpec, Position, Source, Steering, TokenizerSpec,
        generated::{
            self,
            steering::{ADVERBS, BAD, GOOD, HELD_OUT_NOUNS, NEUTRAL, NOUNS, OPENERS, VERBS},
        },
    },
    models::{
        Model, ModelSpec, Trainable,
        capabilities::{FlowControl, LanguageFlow, PlanarField},
        gpt::Gpt,
        ode_flow::{OdeFlow, OdeFlowSpec},
        plane::{Plane, PlaneSpec},
    },
    nn::{AdamW, Batch, Device, IGNORE, Tap, Tensor, fused::GradAccumulator, host, optimiser::AdamWSpec},
    ode::Gradient,
    probe::{self, Answer, ProbeInputs},
    telemetry::{
        Args, Measurement, channels,
        measurements::{
            ClassShares, FlowAlong, FlowAnswer, FlowClaims, FlowField, FlowSweepActivation, FlowSweepClass,
            FlowSweepDifficulty, FlowSweepGradientError, FlowSweepInvariance, FlowSweepLayers, FlowSweepNfe,
            FlowSweepTolerance, GradientMethod, StepPolicy, SweepProgress,
        },
        number::Numbers,
    },
    trainer::{Plan, Run},
};

use crate::config_with::plan_with;

fn corpus(language_batches: u64, prompt: Option<&str>, tokenizer: TokenizerSpec) -> Corpus {
    let steering = Steering { language_batches, prompt: prompt.map(str::to_owned) };
    Corpus::open(&CorpusSpec::new(Source::Steering(steering), tokenizer)).unwrap()
}

fn words(max_vocab: usize) -> TokenizerSpec {
    TokenizerSpec::Word { max_vocab }
}

#[test]
fn the_language_is_small_and_every_sentence_of_it_is_well_formed() {
    let text = generated::by_id("steering").unwrap().text(3, 40_000);
    assert_eq!(text, generated::by_id("steering").unwrap().text(3, 40_000), "the same seed, the same text");
    assert_ne!(text, generated::by_id("steering").unwrap().text(4, 40_000));
    let of = |list: &[&str], word: &str| list.contains(&word);
    let mut met = BTreeSet::new();
    for sentence in text.split_inclusive('.').map(str::trim).filter(|s| !s.is_empty()) {
        met.extend(sentence.trim_end_matches('.').split(' '));
        let body = sentence.strip_suffix('.').unwrap_or_else(|| panic!("`{sentence}` has no full stop"));
        let rest = match body.strip_prefix("The ") {
            Some(rest) => rest,
            None => {
                let opener = OPENERS.iter().find(|o| body.starts_with(*o)).unwrap_or_else(|| panic!("{body}"));
                body.strip_prefix(&format!("{opener} the ")).unwrap_or_else(|| panic!("{body}"))
            }
        };
        let mut rest: Vec<&str> = rest.split(' ').collect();
        let (noun, verb) = (rest.remove(0), rest.remove(0));
        assert!(of(&NOUNS, noun) || of(&HELD_OUT_NOUNS, noun), "{sentence}");
        assert!(of(&VERBS, verb), "{sentence}");
        if of(&ADVERBS, rest[0]) {
            rest.remove(0);
        }
        assert_eq!(rest.len(), 1, "{sentence}");
        assert!(of(&GOOD, rest[0]) || of(&BAD, rest[0]) || of(&NEUTRAL, rest[0]), "{sentence}");
    }
    assert!((80..=95).contains(&met.len()), "{} words", met.len());
    let vocab = corpus(1, None, words(128)).vocab();
    assert_eq!(vocab, met.len() + 2, "every word, the full stop, and one for all others");
}

#[test]
fn batches_are_language_first_and_then_ask_only_where_the_steering_is() {
    let corpus = corpus(5, None, words(128));
    let vocab = corpus.vocab() as u32;
    let at = |drawn| Position { seed: 7, drawn };
    let held: BTreeSet<u32> = HELD_OUT_NOUNS.iter().map(|n| corpus.encode(n)[0]).collect();
    assert!(!held.contains(&0));
    let mut met = false;
    for drawn in 0..5 {
        let w = corpus.batch(&at(drawn), 32, 16).unwrap();
        assert_eq!((w.inputs.len(), w.targets.len()), (512, 512));
        assert!(w.targets.iter().chain(&w.inputs).all(|t| (1..vocab).contains(t)), "no unknown word, no gap");
        assert_eq!(w.inputs[1..16], w.targets[..15]);
        met |= w.inputs.iter().any(|id| held.contains(id));
    }
    assert!(met, "the language itself has the held-out nouns");
    let class: BTreeSet<u32> =
        [&GOOD[..], &BAD, &NEUTRAL, &ADVERBS].concat().iter().map(|w| corpus.encode(w)[0]).collect();
    let asked_after: BTreeSet<u32> = VERBS.iter().chain(&ADVERBS).map(|w| corpus.encode(w)[0]).collect();
    for drawn in 5..60 {
        let w = corpus.batch(&at(drawn), 32, 16).unwrap();
        assert!(w.inputs.iter().all(|id| !held.contains(id)), "a held-out noun in steering batch {drawn}");
        for (row, (inputs, targets)) in w.inputs.chunks(16).zip(w.targets.chunks(16)).enumerate() {
            assert!(targets.iter().any(|t| *t != IGNORE), "row {row} asks nothing");
            for (input, target) in inputs.iter().zip(targets) {
                assert_eq!(asked_after.contains(input), *target != IGNORE);
                assert!(*target == IGNORE || class.contains(target));
            }
        }
    }
    assert_eq!(corpus.batch(&at(9), 32, 16).unwrap(), corpus.batch(&at(9), 32, 16).unwrap());
    assert_ne!(corpus.batch(&at(9), 32, 16).unwrap(), corpus.batch(&at(10), 32, 16).unwrap());
}

#[test]
fn a_single_prompt_is_asked_for_at_its_end_and_nowhere_else() {
    let corpus = corpus(2, Some("The tea was"), TokenizerSpec::Char { max_vocab: 80 });
    let space = corpus.encode(" good")[0];
    assert_eq!(corpus.token_text(space), "·", "letter by letter, the first token of \" good\" is a bare space");
    let w = corpus.batch(&Position { seed: 7, drawn: 2 }, 4, 32).unwrap();
    for (inputs, targets) in w.inputs.chunks(32).zip(w.targets.chunks(32)) {
        assert_eq!(corpus.decode(&inputs[..11]), "The tea was");
        let asked: Vec<usize> = (0..32).filter(|i| targets[*i] != IGNORE).collect();
        assert_eq!((asked, targets[10]), (vec![10], space));
    }
    let long = corpus.batch(&Position { seed: 7, drawn: 2 }, 4, 8).unwrap_err().to_string();
    assert!(long.contains("11") && long.contains('8'), "{long}");
}

fn plan(preset: &str, set: &[(&str, &str)]) -> Plan {
    plan_with("ode_flow", Some(preset), set).unwrap()
}

/// Trains a model with the same updates as the trainer.
fn train(plan: &Plan, steps: u64) -> (Box<dyn Trainable>, Corpus) {
    let corpus = Corpus::open(&plan.corpus).unwrap();
    let spec = &plan.variants[0];
    let mut model = spec.model.build(corpus.vocab(), spec.seed, &Device::Cpu).unwrap();
    let mut adam = AdamW::new(model.params(), plan.optimisation.adamw).unwrap();
    for step in 1..=steps {
        let w = corpus.batch(&Position { seed: 7, drawn: step - 1 }, plan.batch, plan.window).unwrap();
        let batch = Batch::from_ids(&w.inputs, &w.targets, w.rows, w.len, &Device::Cpu).unwrap();
        model.begin_step(step).unwrap();
        let loss = model.loss(&batch).unwrap();
        let lr = plan.optimisation.schedule.at(step, plan.steps);
        adam.step(model.params(), &loss.total.backward().unwrap(), lr).unwrap();
    }
    (model, corpus)
}

type Trained = (Box<dyn Trainable>, Corpus);

/// A small model that was trained for steering. Tests share it, because questions do not change it.
fn steered() -> MutexGuard<'static, Trained> {
    static MODEL: OnceLock<Mutex<Trained>> = OnceLock::new();
    let make = || {
        let small = [("model.d_model", "64"), ("train.batch", "12"), ("steer.language_steps", "120")];
        Mutex::new(train(&plan("ode_flow", &[&small[..], &[("train.steps", "450")]].concat()), 450))
    };
    MODEL.get_or_init(make).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks the probe of the measurement `M` and decodes its answer.
fn ask<M: Measurement>(on: &mut Trained, args: &[(&str, Value)]) -> Result<M, String> {
    let found = finding(on, M::PROBE, args)?;
    assert_eq!(found.payload.channel(), Some(M::CHANNEL));
    Ok(M::from_payload(&found.payload).unwrap().clone())
}

fn finding(on: &mut Trained, probe: &str, args: &[(&str, Value)]) -> Result<Answer, String> {
    let args: Args = args.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    let inputs = ProbeInputs { seed: 7, ..ProbeInputs::standalone(&on.1, &Device::Cpu) };
    let found = (probe::find(probe).unwrap().ask)(on.0.as_mut(), &args, &inputs).map_err(|e| e.to_string())?;
    assert_eq!(found.len(), 1);
    Ok(found.into_iter().next().unwrap())
}

fn word(text: &str) -> Value {
    Value::Text(text.to_owned())
}

#[test]
fn published_sizes_have_the_published_parameter_counts() {
    let spec = OdeFlowSpec { d_model: 256, ..OdeFlowSpec::default() };
    let hybrid = OdeFlow::new(&spec, 50_257, 1, &Device::Cpu).unwrap();
    assert_eq!(hybrid.params().count(), 29_781_249);
    drop(hybrid);
    let baseline = Gpt::with_learned_positions(&spec.baseline(), 50_257, 1, &Device::Cpu).unwrap();
    assert_eq!(baseline.params().count(), 30_503_424);
}

#[test]
fn a_control_without_weights_is_no_control_and_with_them_it_is() {
    let spec = OdeFlowSpec { d_model: 32, pre: 1, post: 1, positions: 8, ..OdeFlowSpec::default() };
    let mut model = OdeFlow::new(&spec, 11, 3, &Device::Cpu).unwrap();
    let tokens = Tensor::new(&[[1u32, 5, 9, 2]], &Device::Cpu).unwrap();
    let logits = |m: &OdeFlow| host::to_f32(&m.logits(&tokens, &mut Tap::off()).unwrap()).unwrap();
    let alone = logits(&model);
    assert!(
        model.set_runtime_param("u0", 1.5)
            && model.set_runtime_param("u3", -2.0)
            && !model.set_runtime_param("u4", 1.0)
    );
    assert_ne!(logits(&model), alone);
    let weight = model.params().get("field.control.weight").unwrap().as_tensor().zeros_like().unwrap();
    model.params().load("field.control.weight", &weight).unwrap();
    assert_eq!(logits(&model), alone, "W_u = 0: whatever u is, the model is the uncontrolled one");
    assert!(model.set_runtime_param("alpha", 0.0));
    let start = model.embed(&tokens).unwrap();
    assert_eq!(
        logits(&model),
        host::to_f32(&model.finish(&start).unwrap()).unwrap(),
        "a flow of strength 0 stands still"
    );
}

#[test]
fn the_second_stage_trains_the_field_and_nothing_else() {
    let small = [("model.d_model", "32"), ("train.batch", "3"), ("steer.language_steps", "2"), ("train.steps", "5")];
    let plan = plan("ode_flow", &small);
    let values = |m: &dyn Trainable| -> Vec<(String, Vec<f32>)> {
        m.params().iter().map(|(n, v)| (n.to_owned(), host::to_f32(v.as_tensor()).unwrap())).collect()
    };
    let (before, _) = train(&plan, 2);
    let (after, _) = train(&plan, 4);
    let ModelSpec::OdeFlow(spec) = &plan.variants[0].model else { panic!() };
    let count =
        OdeFlow::new(&OdeFlowSpec { steering: None, ..spec.clone() }, 87, 7, &Device::Cpu).unwrap().params().count();
    assert_eq!(after.params().count(), count, "the field that was is not a weight of the model");
    let (before, after) = (values(before.as_ref()), values(after.as_ref()));
    for ((name, was), (_, is)) in before.iter().zip(&after) {
        match name.strip_prefix("before.") {
            Some(own) => {
                let field = before.iter().find(|(n, _)| *n == format!("field.{own}")).unwrap();
                assert_eq!(*is, field.1, "{name} is the field at the end of the first stage");
            }
            None => assert_eq!(was != is, name.starts_with("field."), "{name}"),
        }
    }
}

/// The gradients of the language loss by all weights, concatenated, with this method of differentiating the flow.
fn gradients(gradient: Gradient, steps: usize) -> Vec<f64> {
    let spec =
        OdeFlowSpec { d_model: 16, heads: 2, pre: 1, post: 1, positions: 8, steps, gradient, ..OdeFlowSpec::default() };
    let model = OdeFlow::new(&spec, 11, 3, &Device::Cpu).unwrap();
    // the flow is strong, so that the number of steps matters
    model.params().load("field.alpha", &Tensor::new(4f32, &Device::Cpu).unwrap()).unwrap();
    let ids: Vec<u32> = (0..17u32).map(|i| i * 5 % 11).collect();
    let batch = Batch::from_ids(&ids[..16], &ids[1..], 2, 8, &Device::Cpu).unwrap();
    let accumulator = GradAccumulator::default();
    let loss = model.accumulated_loss(&batch, &accumulator).unwrap();
    let grads = accumulator.backward(&loss.total).unwrap();
    let of = |(name, var): (&str, &Var)| host::to_f64(grads.get(var).expect(name)).unwrap();
    model.params().iter().flat_map(of).collect()
}

#[test]
fn a_flow_trains_by_every_way_of_gradients() {
    let apart = |gradient, steps| {
        let (found, exact) = (gradients(gradient, steps), gradients(Gradient::Backprop, steps));
        let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
        norm(&mut found.iter().zip(&exact).map(|(a, b)| a - b)) / norm(&mut exact.iter().copied())
    };
    assert!(apart(Gradient::Checkpointed, 4) < 1e-4, "each step again gives the same gradients");
    let (coarse, fine) = (apart(Gradient::Adjoint, 4), apart(Gradient::Adjoint, 32));
    println!("the adjoint is {coarse:.1e} off in 4 steps, {fine:.1e} in 32");
    assert!(coarse > 1e-4 && coarse < 0.5, "the adjoint errs by its steps: {coarse}");
    assert!(fine < 0.5 * coarse, "and less by shorter ones: {fine} and {coarse}");
}

#[test]
fn a_steering_without_the_kl_term_holds_nothing_else() {
    let parts = |kl: &str| -> Vec<&'static str> {
        let small = [("model.d_model", "32"), ("train.batch", "3"), ("steer.language_steps", "1"), ("steer.kl", kl)];
        let plan = plan("ode_flow_published", &small);
        let (mut model, corpus) = train(&plan, 1);
        model.begin_step(2).unwrap();
        let w = corpus.batch(&Position { seed: 7, drawn: 1 }, plan.batch, plan.window).unwrap();
        let batch = Batch::from_ids(&w.inputs, &w.targets, w.rows, w.len, &Device::Cpu).unwrap();
        model.loss(&batch).unwrap().parts.into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(parts("true"), ["steer/plus", "steer/minus", "steer/kl"]);
    assert_eq!(parts("false"), ["steer/plus", "steer/minus"]);
}

#[test]
fn published_and_corrected_are_one_model_until_they_are_steered() {
    let small = [("model.d_model", "32"), ("train.batch", "3"), ("steer.language_steps", "2"), ("train.steps", "5")];
    let plan = plan("ode_flow_both", &small);
    let labels: Vec<&str> = plan.variants.iter().map(|v| v.label.as_str()).collect();
    assert_eq!(labels, ["as published", "corrected"]);
    let corpus = Corpus::open(&plan.corpus).unwrap();
    let text = |ids: &[u32]| ids.iter().map(|&id| corpus.token_text(id)).collect::<Vec<_>>();
    let steering = |which: usize| match &plan.variants[which].model {
        ModelSpec::OdeFlow(spec) => spec.steering.clone().unwrap(),
        _ => panic!(),
    };
    assert_eq!(text(&steering(0).plus), ["\u{b7}"], "the first token of \" good\" is a bare space");
    assert_eq!(text(&steering(0).prompt.unwrap()), ["The", "\u{b7}", "tea", "\u{b7}", "was"]);
    assert_eq!((steering(1).plus.len(), steering(1).minus.len(), steering(1).prompt), (6, 6, None));
    let values = |steps: u64, which: usize| -> Vec<Vec<f32>> {
        let mut one = plan.clone();
        one.variants.swap(0, which);
        let (model, _) = train(&one, steps);
        model.params().iter().map(|(_, v)| host::to_f32(v.as_tensor()).unwrap()).collect()
    };
    assert_eq!(values(2, 0), values(2, 1), "the same language, bit for bit");
    assert_ne!(values(4, 0), values(4, 1));
    // the targets are the words, and not the spaces before them
    let w = corpus.batch(&Position { seed: 7, drawn: 9 }, 8, 24).unwrap();
    let asked: BTreeSet<String> = w.targets.iter().filter(|t| **t != IGNORE).map(|t| corpus.token_text(*t)).collect();
    assert!(asked.len() > 4 && !asked.contains("\u{b7}"), "{asked:?}");
}

#[test]
fn steering_scores_are_reported_beside_effects_on_words() {
    let small =
        [("model.d_model", "32"), ("train.batch", "6"), ("steer.language_steps", "160"), ("train.steps", "240")];
    let plan = plan("ode_flow_both", &small);
    let mut told = vec![];
    for which in 0..2 {
        let mut turned = plan.clone();
        turned.variants.swap(0, which);
        let mut on = train(&turned, 240);
        let claims: FlowClaims = ask(&mut on, &[("prompt", word("The tea was"))]).unwrap();
        let says = [&claims.continuations.plus, &claims.continuations.unsteered, &claims.continuations.minus];
        assert!(says.iter().all(|s| s.starts_with("The tea was ")), "{says:?}");
        told.push((claims.own, claims.words.unwrap()));
    }
    println!("{told:.2?}");
    let [(own, words), corrected]: [(ClassShares, ClassShares); 2] = told.try_into().unwrap();
    assert_eq!((own.prompts, words.prompts, corrected.0.prompts), (1, 32, 32));
    assert!(own.plus > 0.9 && own.plus_unsteered > 0.9, "a space comes anyway, steered or not");
    assert!(words.plus < 0.6, "it does nothing for good words");
    assert_eq!(corrected.0, corrected.1, "the corrected one's own measure is that of words");
}

#[test]
fn a_short_steering_moves_held_out_prompts_both_ways() {
    let mut on = steered();
    let class: FlowSweepClass = ask(&mut on, &[("kind", word("class"))]).unwrap();
    let at = |u: f64| {
        let i = class.u0.iter().position(|x| *x == u).unwrap();
        (class.held_out.plus[i], class.held_out.minus[i])
    };
    let [good, none, bad] = [1.0, 0.0, -1.0].map(at);
    println!("plus, minus at u = 1: {good:.2?}, 0: {none:.2?}, -1: {bad:.2?}");
    assert!(good.0 > none.0 + 0.15 && bad.1 > none.1 + 0.15, "{good:?} {none:?} {bad:?}");
    assert!(good.1 < none.1 && bad.0 < none.0);
    let layers: FlowSweepLayers = ask(&mut on, &[("kind", word("layers"))]).unwrap();
    let accuracy = &layers.accuracy;
    assert!(accuracy[0] <= 0.55, "before the flow begins no cut can know u: {accuracy:?}");
    assert!(accuracy[4] > 0.9, "{accuracy:?}");
}

#[test]
fn the_control_is_measured_beside_one_added_vector() {
    let mut on = steered();
    let sweep: FlowSweepActivation = ask(&mut on, &[("kind", word("activation"))]).unwrap();
    let class: FlowSweepClass = ask(&mut on, &[("kind", word("class"))]).unwrap();
    let FlowSweepActivation { strength, control, vector, .. } = &sweep;
    assert_eq!(strength, &class.u0);
    let off = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(off(&control.plus, &class.held_out.plus) < 1e-9, "the control's shares are those of the class sweep");
    let middle = strength.iter().position(|x| *x == 0.0).unwrap();
    let (first, last) = (0, strength.len() - 1);
    for (a, b) in
        [(&control.plus, &vector.plus), (&control.minus, &vector.minus), (&control.perplexity, &vector.perplexity)]
    {
        assert!((a[middle] - b[middle]).abs() < 1e-5, "strength 0 is the unsteered model either way");
        assert!((a[last] - b[last]).abs() > 1e-4, "they are two ways");
    }
    println!("vector, plus: {:.2?}, perplexity {:.2?}", vector.plus, vector.perplexity);
    assert!(vector.plus[last] > vector.plus[first], "the vector points from minus to plus");
    assert!(control.perplexity.iter().chain(vector.perplexity.iter()).all(|p| *p >= 1.0));
    for curves in [control, vector] {
        let bends = curves.plus.windows(3).map(|w| (w[0] - 2.0 * w[1] + w[2]).abs());
        assert_eq!(curves.largest_bend, bends.fold(0.0, f64::max));
    }
    let piece: FlowSweepActivation =
        ask(&mut on, &[("kind", word("activation")), ("upto", Value::Int(2)), ("begin", Value::Switch(true))]).unwrap();
    assert_eq!((piece.progress.done, piece.vector.plus[1]), (2, vector.plus[1]));
    assert!(piece.vector.largest_bend.is_nan(), "no bend is known before all is measured");
}

#[test]
fn steps_are_measured_beside_the_surprise_of_what_is_read() {
    let mut on = steered();
    let kind = [("kind", word("difficulty")), ("rtol", Value::Float(1e-5)), ("atol", Value::Float(1e-5))];
    let sweep: FlowSweepDifficulty = ask(&mut on, &kind).unwrap();
    println!("{:.2?} {:.2?}", sweep.token_steps, sweep.token_with_surprise);
    let points = sweep.progress.total;
    assert_eq!((sweep.progress.done, sweep.surprise.len(), sweep.token_steps.len()), (points, points, points));
    assert!(sweep.surprise.iter().chain(sweep.next.iter()).chain(sweep.prompt.iter()).all(|loss| *loss >= 0.0));
    assert!(sweep.token_steps.iter().chain(sweep.prompt_steps.iter()).all(|steps| *steps >= 1.0));
    assert_ne!(sweep.token_steps, sweep.prompt_steps, "a token's own error is not that of all");
    for (c, steps, of) in [
        (sweep.token_with_surprise, &sweep.token_steps, &sweep.surprise),
        (sweep.token_with_next, &sweep.token_steps, &sweep.next),
        (sweep.prompt_with_surprise, &sweep.prompt_steps, &sweep.prompt),
    ] {
        let rho = spearman(steps, of);
        assert!((c.rho - rho).abs() < 1e-12 || (c.rho.is_nan() && rho.is_nan()), "{c:?}, {rho}");
        assert!(rho.is_nan() || (c.p > 0.0 && c.p <= 1.0), "{c:?}");
    }
    let begin = [("upto", Value::Int(2)), ("begin", Value::Switch(true))];
    let piece: FlowSweepDifficulty = ask(&mut on, &[kind.as_slice(), &begin].concat()).unwrap();
    assert_eq!((piece.progress.done, piece.token_steps[1]), (2, sweep.token_steps[1]));
    assert!(piece.token_steps[2].is_nan() && piece.token_with_surprise.rho.is_nan(), "no rank before all is measured");
}

fn percent_at_plus(sweep: &FlowSweepInvariance) -> Vec<f64> {
    sweep.controls.iter().find(|c| c.u0 == 1.0).unwrap().percent.to_vec()
}

#[test]
fn a_sweep_in_pieces_keeps_its_first_weights() {
    let mut on = steered();
    let ask_for = |on: &mut Trained, args: &[(&str, Value)]| {
        let args = [&[("kind", word("invariance")), ("u1", Value::Float(0.25))], args].concat();
        percent_at_plus(&ask::<FlowSweepInvariance>(on, &args).unwrap())
    };
    let same = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits());
    let whole = ask_for(&mut on, &[]);
    let begin = [("begin", Value::Switch(true)), ("upto", Value::Int(1))];
    let first = ask_for(&mut on, &begin);
    assert!(same(&first[..1], &whole[..1]) && first[1..].iter().all(|v| v.is_nan()));
    // the training changes the weights; a sweep that has started must keep those with which it started
    let name = "field.control.weight";
    let before = on.0.params().get(name).unwrap().as_tensor().copy().unwrap();
    on.0.params().load(name, &(&before * 3.0).unwrap()).unwrap();
    let later = ask_for(&mut on, &[("upto", Value::Int(3))]);
    let anew = ask_for(&mut on, &begin);
    on.0.params().load(name, &before).unwrap();
    assert!(same(&later[..3], &whole[..3]), "{later:?} is not of {whole:?}");
    assert_ne!(anew[0], whole[0], "begun anew it is of the weights as they are now");
    let all = ask_for(&mut on, &[("begin", Value::Switch(true)), ("upto", Value::Int(99))]);
    assert!(same(&all, &whole));
}

#[test]
fn a_flow_answer_has_all_its_fields() {
    let mut on = steered();
    let args = [("u0", Value::Float(1.0)), ("prompt", word("Yesterday the coffee was")), ("token", Value::Int(2))];
    assert_eq!(finding(&mut on, "flow", &args).unwrap().tokens, ["Yesterday", "the", "coffee", "was"]);
    let answer: FlowAnswer = ask(&mut on, &args).unwrap();
    let language = answer.language().unwrap();
    let p: Vec<f64> = language.next.iter().map(|n| n.probability).collect();
    assert!(p.len() == 12 && p.windows(2).all(|w| w[0] >= w[1]) && p.iter().sum::<f64>() <= 1.0 + 1e-6);
    assert!(language.next.iter().any(|n| n.probability != n.unsteered));
    let classes = language.classes.as_ref().unwrap();
    assert!(classes.plus.probability > classes.plus.unsteered);
    assert_eq!((classes.plus.tokens.len(), classes.plus.tokens[0].as_str()), (6, "good"));
    assert_eq!(classes.minus.tokens[0], "bad");
    assert!(!language.continuation.is_empty() && language.prompt == "Yesterday the coffee was");
    let paths = &answer.paths;
    assert_eq!((paths.places.shape(), paths.taus.len()), (&[4, 17, 3][..], 17));
    assert!(paths.places.data().iter().all(|v| v.is_finite()) && paths.taus[0] == 0.0 && paths.taus[16] == 1.0);
    let explained = &paths.explained;
    assert!(explained.len() == 3 && explained[0] >= explained[1] && explained.iter().sum::<f64>() <= 1.0 + 1e-9);
    let trace = &answer.trace;
    assert_eq!(trace.nfe, 2 + 6 * trace.attempts.len(), "dopri5: two, and six an attempt");
    assert!(trace.attempts[0].h == trace.h_init && trace.accepted() > 0);
    let motion = &answer.motion;
    assert!(motion.taus.len() == 17 && motion.velocity.iter().chain(&motion.curvature).all(|v| *v > 0.0));
    assert_eq!((answer.control.u, answer.token), ([1.0, 0.0, 0.0, 0.0], 2));
    let solver = &answer.solver;
    assert_eq!((solver.method.as_str(), solver.policy), ("dopri5", StepPolicy::Interpolate));
    assert_eq!((solver.is_adaptive, solver.order, solver.evaluations_per_step), (true, 5, 6));

    let unsteered: FlowAnswer = ask(&mut on, &[("method", word("euler")), ("steps", Value::Int(4))]).unwrap();
    assert_eq!(unsteered.trace.nfe, 4);
    let plus = &unsteered.classes().unwrap().plus;
    assert_eq!(plus.probability, plus.unsteered, "the controls stand at 0");
    assert!(finding(&mut on, "flow", &[("method", word("abacus"))]).err().unwrap().contains("abacus"));
    let blank: FlowAnswer = ask(&mut on, &[("prompt", word("\n \n"))]).unwrap();
    assert_eq!(
        blank.language().unwrap().prompt,
        "The tea was",
        "a prompt without words is none, so the usual one is taken"
    );
}

#[test]
fn the_field_around_a_token_has_shape_and_extent() {
    let mut on = steered();
    let args = [("u0", Value::Float(-1.0)), ("tau", Value::Float(0.5)), ("cells", Value::Int(5))];
    let of = |on: &mut Trained, prompt: &str, token: i64| {
        let mut args = args.to_vec();
        args.extend([("prompt", word(prompt)), ("token", Value::Int(token))]);
        ask::<FlowField>(on, &args).unwrap()
    };
    let field = of(&mut on, "The tea was", -1);
    let (dx, dy) = (field.dx.data(), field.dy.data());
    assert_eq!((field.dx.shape(), field.dy.shape()), (&[5, 5][..], &[5, 5][..]));
    assert!(dx.iter().chain(dy).all(|v| v.is_finite()) && dx.iter().any(|v| *v != dx[0]));
    let extent = field.extent;
    assert!(extent.x0 < extent.x1 && (extent.x0..=extent.x1).contains(&field.at[0]));
    let along: FlowAlong = ask(&mut on, &[("u0", Value::Float(1.0))]).unwrap();
    assert!(along.sigma.iter().all(|v| *v > 0.0 && v.is_finite()) && along.motion.taus.len() == 17);
}

/// True if the sweeps of two and of three points equal the first points of the whole sweep and have no others.
fn is_beginning(two: &[f64], three: &[f64], whole: &[f64]) -> bool {
    let same = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| a == b || (a.is_nan() && b.is_nan()));
    let rest = two[2..].iter().chain(&three[3..]).all(|v| v.is_nan());
    same(&two[..2], &whole[..2]) && same(&three[..3], &whole[..3]) && rest
}

/// Checks that a sweep that is measured point by point has the same values as one that is measured at once.
fn check_points<M: Measurement>(
    on: &mut Trained,
    (kind, total): (&str, usize),
    progress: fn(&M) -> SweepProgress,
    columns: fn(&M) -> Vec<Numbers>,
) {
    let asked = [("kind", word(kind)), ("prompt", word("The tea was"))];
    let upto = |n: i64| [&asked[..], &[("upto", Value::Int(n))]].concat();
    let two: M = ask(on, &upto(2)).unwrap();
    assert_eq!(progress(&two), SweepProgress { done: 2, total });
    let three: M = ask(on, &upto(3)).unwrap();
    let whole: M = ask(on, &asked).unwrap();
    assert_eq!(progress(&whole), SweepProgress { done: total, total });
    let (two, three, whole) = (columns(&two), columns(&three), columns(&whole));
    assert!(!whole.is_empty());
    for (i, all) in whole.iter().enumerate() {
        assert!(is_beginning(&two[i], &three[i], all), "{kind}, column {i}");
    }
}

#[test]
fn a_sweep_in_pieces_is_the_sweep_at_once() {
    let mut on = steered();
    check_points::<FlowSweepTolerance>(
        &mut on,
        ("tolerance", 9),
        |s| s.progress,
        |s| s.solvers.iter().map(|c| c.nfe.clone()).collect(),
    );
    check_points::<FlowSweepInvariance>(
        &mut on,
        ("invariance", 8),
        |s| s.progress,
        |s| s.controls.iter().map(|c| c.percent.clone()).collect(),
    );
    let facts = |s: &FlowSweepNfe| {
        let of = s.solvers.iter().flat_map(|c| [&c.nfe, &c.h_init, &c.capped, &c.free].map(Numbers::clone));
        of.chain([s.curvature.clone()]).collect()
    };
    check_points::<FlowSweepNfe>(&mut on, ("nfe", 41), |s| s.progress, facts);
    let percent = percent_at_plus(&ask(&mut on, &[("kind", word("invariance"))]).unwrap());
    assert!(percent.windows(2).all(|w| w[1] < w[0]) && percent[7] < 0.1 * percent[2], "{percent:?}");
    assert!(finding(&mut on, "flow_sweep", &[("kind", word("horoscope"))]).err().unwrap().contains("horoscope"));
}

#[test]
fn the_playground_answers_with_the_fields_it_names() {
    let corpus = corpus(1, None, words(128));
    let plane = Plane::new(&PlaneSpec::default(), 256, 5, &Device::Cpu).unwrap();
    let mut on: Trained = (Box::new(plane), corpus);
    let args = [("field", word("spiral")), ("u0", Value::Float(0.5)), ("cells", Value::Int(3))];
    let field: FlowField = ask(&mut on, &args).unwrap();
    // the field is x' = 6 (-0.25 x - 1.5 y + 0.5), compared on a grid over the square with half side 3.2
    let exact = |x: f64, y: f64| (6.0 * (-0.25 * x - 1.5 * y + 0.5)) as f32;
    for (row, y) in [-3.2, 0.0, 3.2].into_iter().enumerate() {
        for (col, x) in [-3.2, 0.0, 3.2].into_iter().enumerate() {
            assert!((field.dx.at(&[row, col]).unwrap() - exact(x, y)).abs() < 1e-4, "{x} {y}");
        }
    }
    for kind in PlanarField::ALL {
        let answer: FlowAnswer = ask(&mut on, &[("field", word(kind.id()))]).unwrap();
        assert_eq!(answer.planar_field(), Some(kind.id()));
        assert!(answer.paths.places.rows() == 12 && answer.language().is_none());
    }
    let inwards: FlowAnswer = ask(&mut on, &[("field", word("spiral"))]).unwrap();
    let (taus, path) = (&inwards.paths.taus, inwards.paths.places.row(0).unwrap());
    let radius = |i: usize| f64::from(path[2 * i]).hypot(f64::from(path[2 * i + 1]));
    // the exact radius is r = 2 e^(-0.25 * 6 tau) at every depth
    assert!((radius(0) - 2.0).abs() < 1e-5 && taus.len() == 129);
    for (i, tau) in taus.iter().enumerate() {
        assert!((radius(i) - 2.0 * (-1.5 * tau).exp()).abs() < 5e-3, "{} at {tau}", radius(i));
    }
    assert!(finding(&mut on, "flow", &[("field", word("cube"))]).err().unwrap().contains("cube"));
    assert!(finding(&mut on, "flow_sweep", &[("kind", word("class"))]).err().unwrap().contains("steer"));
    // a point at which the solution diverges is a gap in the curve, and must not end the sweep
    let of = |kind: &str| [("kind", word(kind)), ("field", word("van_der_pol"))];
    let is_there = |y: &[f64]| y.iter().filter(|v| v.is_finite()).count() > y.len() / 3;
    let sweep: FlowSweepNfe = ask(&mut on, &of("nfe")).unwrap();
    assert!(sweep.solvers.iter().any(|c| is_there(&c.nfe)), "{:?}", sweep.solvers[0]);
    let sweep: FlowSweepInvariance = ask(&mut on, &of("invariance")).unwrap();
    assert!(sweep.controls.iter().any(|c| is_there(&c.percent)), "{:?}", sweep.controls[0]);
    let sweep: FlowSweepTolerance = ask(&mut on, &of("tolerance")).unwrap();
    assert!(sweep.solvers.iter().any(|c| is_there(&c.nfe)), "{:?}", sweep.solvers[0]);
}

#[test]
fn the_network_of_the_playground_learns_the_field() {
    let mut plane = Plane::new(&PlaneSpec { hidden: 32, ..PlaneSpec::default() }, 256, 5, &Device::Cpu).unwrap();
    let nothing = Batch::from_ids(&[0], &[0], 1, 1, &Device::Cpu).unwrap();
    let error = |m: &Plane| host::scalar(&m.evaluate(&nothing).unwrap()).unwrap();
    let start = error(&plane);
    let mut adam = AdamW::new(plane.params(), AdamWSpec { weight_decay: 0.0, ..AdamWSpec::default() }).unwrap();
    for step in 1..=400 {
        plane.begin_step(step).unwrap();
        let loss = plane.loss(&nothing).unwrap();
        adam.step(plane.params(), &loss.total.backward().unwrap(), 5e-3).unwrap();
    }
    assert!(start > 0.5 && error(&plane) < 0.1, "{start} -> {}", error(&plane));
}

/// A run that is stopped in either stage or between them and then resumed has the same numbers.
#[test]
fn a_resumed_steering_run_goes_on_exactly() {
    let small = [
        ("model.d_model", "32"),
        ("train.batch", "3"),
        ("steer.language_steps", "4"),
        ("train.steps", "8"),
        ("run.device", "cpu"),
    ];
    let open = || Run::open(plan("ode_flow", &small)).unwrap();
    let step = |run: &mut Run| -> Vec<u64> {
        let stats = run.update(0).unwrap();
        run.finish_step().unwrap();
        let timed = [channels::STEP_MS];
        stats.scalars.iter().filter(|(c, _)| !timed.contains(&c.as_str())).map(|(_, v)| v.to_bits()).collect()
    };
    let mut whole = open();
    let numbers: Vec<Vec<u64>> = (0..8).map(|_| step(&mut whole)).collect();
    assert_ne!(numbers[3].len(), numbers[4].len(), "the second stage tells more");
    for stopped in 2..7 {
        let mut first = open();
        (0..stopped).for_each(|_| drop(step(&mut first)));
        let mut second = open();
        second.restore(&first.checkpoint()).unwrap();
        for (i, wanted) in numbers.iter().enumerate().skip(stopped) {
            assert_eq!(step(&mut second), *wanted, "stopped at {stopped}, update {}", i + 1);
        }
    }
}

/// A control in the config must set the model's runtime parameter before the first question.
#[test]
fn a_run_begins_with_the_controls_of_its_config() {
    let small = [("model.d_model", "32"), ("control.u0", "0.75"), ("control.alpha", "2"), ("run.device", "cpu")];
    let run = Run::open(plan("ode_flow_train", &small)).unwrap();
    let control = |i: usize| run.variants[i].model.capabilities().flow.map(|flow| flow.control());
    assert_eq!(control(0), Some(FlowControl { u: [0.75, 0.0, 0.0, 0.0], alpha: 2.0 }));
    assert_eq!(control(1), None, "the baseline has no flow, and no parameter to set");
}

/// Backpropagation with and without checkpointing gives the same gradient; the adjoint method's error falls with more
/// steps.
#[test]
fn gradients_are_swept_with_their_error() {
    let plan = plan("ode_flow", &[("model.d_model", "32"), ("run.device", "cpu")]);
    let mut run = Run::open(plan).unwrap();
    let args = Args::from([("kind".to_owned(), Value::Text("gradient_error".into()))]);
    let samples = run.ask(0, "flow_sweep", &args).unwrap();
    let sweep: &FlowSweepGradientError = samples[0].measurement().unwrap();
    let error = |method| &sweep.methods.iter().find(|c| c.method == method).unwrap().values;
    let [all, kept, adjoint] =
        [GradientMethod::Backprop, GradientMethod::Checkpointed, GradientMethod::Adjoint].map(error);
    assert!(all.iter().zip(kept).all(|(a, b)| (a - b).abs() < 1e-4 * a.max(1e-2)), "{all:?} {kept:?}");
    let last = sweep.steps.len() - 1;
    assert!(all[last] < 0.2 * all[0] || all[0] < 1e-4, "{all:?}");
    assert!(adjoint[last] < adjoint[0].max(1e-3), "{adjoint:?}");
    assert!(adjoint.iter().all(|v| v.is_finite()));
}
