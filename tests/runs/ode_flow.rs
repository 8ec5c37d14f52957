//! The ODE flow lab: its language, its batches, steering, and what its probes answer.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use orrery::{
    config::{Config, Value},
    corpus::{
        Corpus, Position, Source, Spec, Steering, TokenizerSpec,
        generated::{
            self,
            steering::{ADVERBS, BAD, GOOD, HELD_OUT_NOUNS, NEUTRAL, NOUNS, OPENERS, VERBS},
        },
    },
    labs,
    models::{
        Model, Spec as ModelSpec,
        capabilities::{FlowControl, LanguageFlow},
        gpt::Gpt,
        ode_flow::{OdeFlow, OdeFlowSpec},
        plane::{PlanarField, Plane, PlaneSpec},
    },
    nn::{AdamW, Batch, Device, IGNORE, Tap, Tensor, host, optimiser::AdamWSpec},
    probe::{self, Finding, ProbeContext},
    telemetry::{Args, Payload, Series, channels},
    trainer::{Plan, Run},
};

fn corpus(language_batches: u64, prompt: Option<&str>, tokenizer: TokenizerSpec) -> Corpus {
    let steering = Steering { language_batches, prompt: prompt.map(str::to_owned) };
    Corpus::open(&Spec { source: Source::Steering(steering), tokenizer, held_out: 0.1, seed: 1 }).unwrap()
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

fn config(preset: &str, set: &[(&str, &str)]) -> Config {
    let lab = labs::find("ode_flow").unwrap();
    let mut config = lab.config(Some(preset)).unwrap();
    for (key, value) in set {
        config.set_text(&(lab.knobs)(), key, value).unwrap();
    }
    config
}

fn plan(preset: &str, set: &[(&str, &str)]) -> Plan {
    (labs::find("ode_flow").unwrap().plan)(&config(preset, set)).unwrap()
}

/// Updates as the trainer makes them.
fn train(plan: &Plan, steps: u64) -> (Box<dyn Model>, Corpus) {
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

type Trained = (Box<dyn Model>, Corpus);

/// A small model, steered for a short while; what is asked of it leaves it as it is.
fn steered() -> MutexGuard<'static, Trained> {
    static MODEL: OnceLock<Mutex<Trained>> = OnceLock::new();
    let make = || {
        let small = [("model.d_model", "64"), ("train.batch", "12"), ("steer.language_steps", "120")];
        Mutex::new(train(&plan("ode_flow", &[&small[..], &[("train.steps", "450")]].concat()), 450))
    };
    MODEL.get_or_init(make).lock().unwrap_or_else(PoisonError::into_inner)
}

fn ask(on: &mut Trained, probe: &str, args: &[(&str, Value)]) -> Result<Finding, String> {
    let args: Args = args.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    let mut subject =
        ProbeContext { model: on.0.as_mut(), corpus: &on.1, texts: &[], device: &Device::Cpu, seed: 7, args: &args };
    let found = probe::find(probe).unwrap().ask(&mut subject).map_err(|e| e.to_string())?;
    assert_eq!(found.len(), 1);
    Ok(found.into_iter().next().unwrap())
}

fn series<'a>(of: &'a Finding, part: &str) -> &'a Series {
    let found = of.payload.part(part).unwrap_or_else(|| panic!("{} has no part `{part}`", of.channel));
    found.as_series().unwrap()
}

fn line<'a>(s: &'a Series, name: &str) -> &'a [f64] {
    let found = s.lines.iter().find(|l| l.name == name).unwrap_or_else(|| panic!("no line `{name}`"));
    assert_eq!(found.y.len(), s.x.len(), "{name}");
    &found.y
}

fn one(of: &Finding, part: &str, name: &str) -> f64 {
    line(series(of, part), name)[0]
}

fn text(of: &Finding, part: &str) -> Vec<String> {
    match of.payload.part(part) {
        Some(Payload::Text(words)) => words.clone(),
        other => panic!("`{part}` is {other:?}"),
    }
}

fn word(text: &str) -> Value {
    Value::Text(text.to_owned())
}

#[test]
fn the_sizes_of_the_source_have_the_counts_of_the_source() {
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
    let values = |m: &dyn Model| -> Vec<(String, Vec<f32>)> {
        m.params().iter().map(|(n, v)| (n.to_owned(), host::to_f32(v.as_tensor()).unwrap())).collect()
    };
    let (before, _) = train(&plan, 2);
    let (after, _) = train(&plan, 4);
    let ModelSpec::OdeFlow(spec) = &plan.variants[0].model else { panic!() };
    let count =
        OdeFlow::new(&OdeFlowSpec { steering: None, ..spec.clone() }, 87, 7, &Device::Cpu).unwrap().params().count();
    assert_eq!(after.params().count(), count, "the field that was is no weight of the model");
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
    // What the batches ask for is the word and not the space before it.
    let w = corpus.batch(&Position { seed: 7, drawn: 9 }, 8, 24).unwrap();
    let asked: BTreeSet<String> = w.targets.iter().filter(|t| **t != IGNORE).map(|t| corpus.token_text(*t)).collect();
    assert!(asked.len() > 4 && !asked.contains("\u{b7}"), "{asked:?}");
}

#[test]
fn what_is_claimed_stands_beside_what_is_done_to_words() {
    let small =
        [("model.d_model", "32"), ("train.batch", "6"), ("steer.language_steps", "160"), ("train.steps", "240")];
    let plan = plan("ode_flow_both", &small);
    let mut told = vec![];
    for which in 0..2 {
        let mut turned = plan.clone();
        turned.variants.swap(0, which);
        let mut on = train(&turned, 240);
        let claims = ask(&mut on, "flow_claims", &[("prompt", word("The tea was"))]).unwrap();
        assert_eq!(claims.channel, channels::FLOW_CLAIMS);
        let says = text(&claims, "says");
        assert!(says.len() == 3 && says.iter().all(|s| s.starts_with("The tea was ")), "{says:?}");
        told.push(["own", "words"].map(|part| ["plus", "minus", "plus0", "prompts"].map(|n| one(&claims, part, n))));
    }
    println!("{told:.2?}");
    let [published, corrected] = [&told[0], &told[1]];
    assert_eq!((published[0][3], published[1][3], corrected[0][3]), (1.0, 32.0, 32.0));
    assert!(published[0][0] > 0.9 && published[0][2] > 0.9, "a space comes anyway, steered or not");
    assert!(published[1][0] < 0.6, "it does nothing for good words");
    assert_eq!(corrected[0], corrected[1], "the corrected one's own measure is that of words");
}

#[test]
fn a_short_steering_moves_held_out_prompts_both_ways() {
    let mut on = steered();
    let class = ask(&mut on, "flow_sweep", &[("kind", word("class"))]).unwrap();
    assert_eq!(class.channel, channels::FLOW_SWEEP_CLASS);
    let sweep = series(&class, "sweep");
    let at = |name: &str, u: f64| line(sweep, name)[sweep.x.iter().position(|x| *x == u).unwrap()];
    let [good, none, bad] = [1.0, 0.0, -1.0].map(|u| (at("plus", u), at("minus", u)));
    println!("plus, minus at u = 1: {good:.2?}, 0: {none:.2?}, -1: {bad:.2?}");
    assert!(good.0 > none.0 + 0.15 && bad.1 > none.1 + 0.15, "{good:?} {none:?} {bad:?}");
    assert!(good.1 < none.1 && bad.0 < none.0);
    let layers = ask(&mut on, "flow_sweep", &[("kind", word("layers"))]).unwrap();
    let accuracy = line(series(&layers, "sweep"), "accuracy");
    assert!(accuracy[0] <= 0.55, "before the flow begins no cut can know u: {accuracy:?}");
    assert!(accuracy[4] > 0.9, "{accuracy:?}");
}

#[test]
fn a_sweep_by_pieces_is_of_the_weights_it_was_begun_with() {
    let mut on = steered();
    let ask_for = |on: &mut Trained, args: &[(&str, Value)]| {
        let args = [&[("kind", word("invariance")), ("u1", Value::Float(0.25))], args].concat();
        let found = ask(on, "flow_sweep", &args).unwrap();
        let sweep = series(&found, "sweep");
        line(sweep, "u = 1").to_vec()
    };
    let same = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits());
    let whole = ask_for(&mut on, &[]);
    let begin = [("begin", Value::Switch(true)), ("upto", Value::Int(1))];
    let first = ask_for(&mut on, &begin);
    assert!(same(&first[..1], &whole[..1]) && first[1..].iter().all(|v| v.is_nan()));
    // The run goes on.
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
fn the_answer_has_every_part_of_its_contract() {
    let mut on = steered();
    let args = [("u0", Value::Float(1.0)), ("prompt", word("Yesterday the coffee was")), ("token", Value::Int(2))];
    let answer = ask(&mut on, "flow", &args).unwrap();
    assert_eq!(answer.channel, channels::FLOW_ANSWER);
    assert_eq!(answer.tokens, ["Yesterday", "the", "coffee", "was"]);
    let next = series(&answer, "next");
    let (p, p0) = (line(next, "p"), line(next, "p0"));
    assert!(p.len() == 12 && p.windows(2).all(|w| w[0] >= w[1]) && p.iter().sum::<f64>() <= 1.0 + 1e-6);
    assert!(p != p0 && text(&answer, "next_words").len() == 12);
    assert!(one(&answer, "mass", "plus") > one(&answer, "mass", "plus0"));
    let classes = text(&answer, "classes");
    assert_eq!((classes[0].as_str(), classes[6].as_str(), classes[7].as_str()), ("good", "|", "bad"));
    assert!(!text(&answer, "continuation").is_empty());
    let Some(Payload::Bundle(paths)) = answer.payload.part("paths") else { panic!() };
    assert_eq!(paths.len(), 4);
    for (i, (name, path)) in paths.iter().enumerate() {
        let Payload::Points(p) = path else { panic!() };
        assert_eq!((name.clone(), p.dims, p.xyz.len(), p.labels.len()), (i.to_string(), 3, 51, 17));
        assert!(p.xyz.iter().all(|v| v.is_finite()) && p.labels[0] == "0" && p.labels[16] == "1");
    }
    let explained = line(series(&answer, "basis"), "explained");
    assert!(explained.len() == 3 && explained[0] >= explained[1] && explained.iter().sum::<f64>() <= 1.0 + 1e-9);
    let trace = series(&answer, "trace");
    let accepted = line(trace, "accepted").iter().sum::<f64>();
    assert_eq!(accepted, one(&answer, "solver", "accepted"));
    assert_eq!(one(&answer, "solver", "nfe"), 2.0 + 6.0 * trace.x.len() as f64, "dopri5: two, and six an attempt");
    assert!(line(trace, "h")[0] == one(&answer, "solver", "h_init") && line(trace, "capped").len() == trace.x.len());
    let along = series(&answer, "along");
    assert!(along.x.len() == 17 && line(along, "velocity").iter().chain(line(along, "curvature")).all(|v| *v > 0.0));
    assert_eq!((one(&answer, "used", "u0"), one(&answer, "used", "token")), (1.0, 2.0));
    assert_eq!(text(&answer, "used_words"), ["dopri5", "interpolate", "Yesterday the coffee was"]);

    let still = ask(&mut on, "flow", &[("method", word("euler")), ("steps", Value::Int(4))]).unwrap();
    assert_eq!(one(&still, "solver", "nfe"), 4.0);
    assert_eq!(one(&still, "mass", "plus"), one(&still, "mass", "plus0"), "the dials stand at 0");
    for (args, word) in [([("method", word("abacus"))], "abacus"), ([("prompt", word("\n \n"))], "prompt")] {
        match ask(&mut on, "flow", &args) {
            Err(e) => assert!(e.contains(word), "{e}"),
            Ok(f) => assert!(word == "prompt", "{} answered {args:?}", f.about),
        }
    }
}

#[test]
fn the_field_around_a_token_is_the_field_and_leaves_the_future_out() {
    let mut on = steered();
    let args = [("u0", Value::Float(-1.0)), ("tau", Value::Float(0.5)), ("cells", Value::Int(5))];
    let of = |on: &mut Trained, prompt: &str, token: i64| {
        let mut args = args.to_vec();
        args.extend([("prompt", word(prompt)), ("token", Value::Int(token))]);
        ask(on, "flow_field", &args).unwrap()
    };
    let field = of(&mut on, "The tea was", -1);
    let dx = field.payload.part("dx").unwrap().as_matrix().unwrap();
    let dy = field.payload.part("dy").unwrap().as_matrix().unwrap();
    assert_eq!((dx.rows, dx.cols, dy.data.len()), (5, 5, 25));
    assert!(dx.data.iter().chain(&dy.data).all(|v| v.is_finite()) && dx.data.iter().any(|v| *v != dx.data[0]));
    assert!(one(&field, "extent", "x0") < one(&field, "extent", "x1"));
    let here = one(&field, "at", "x");
    assert!(here >= one(&field, "extent", "x0") && here <= one(&field, "extent", "x1"));
    let along = ask(&mut on, "flow_along", &[("u0", Value::Float(1.0))]).unwrap();
    let Payload::Series(s) = &along.payload else { panic!() };
    assert!(line(s, "sigma").iter().all(|v| *v > 0.0 && v.is_finite()) && s.x.len() == 17);
}

#[test]
fn a_sweep_in_pieces_is_the_sweep_at_once() {
    let mut on = steered();
    for (kind, total) in [("tolerance", 9), ("invariance", 8), ("nfe", 41)] {
        let upto = |n: i64| [("kind", word(kind)), ("prompt", word("The tea was")), ("upto", Value::Int(n))];
        let few = ask(&mut on, "flow_sweep", &upto(2)).unwrap();
        assert_eq!((one(&few, "progress", "done"), one(&few, "progress", "total")), (2.0, f64::from(total)));
        let more = ask(&mut on, "flow_sweep", &upto(3)).unwrap();
        let at_once = ask(&mut on, "flow_sweep", &[("kind", word(kind)), ("prompt", word("The tea was"))]).unwrap();
        assert_eq!(text(&at_once, "kind"), [kind]);
        for l in &series(&at_once, "sweep").lines {
            let (two, three) = (line(series(&few, "sweep"), &l.name), line(series(&more, "sweep"), &l.name));
            let same = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| a == b || (a.is_nan() && b.is_nan()));
            assert!(same(&two[..2], &l.y[..2]) && same(&three[..3], &l.y[..3]), "{kind} {}", l.name);
            assert!(two[2..].iter().chain(&three[3..]).all(|v| v.is_nan()), "{kind} {}", l.name);
        }
    }
    let invariance = ask(&mut on, "flow_sweep", &[("kind", word("invariance"))]).unwrap();
    let percent = line(series(&invariance, "sweep"), "u = 1").to_vec();
    assert!(percent.windows(2).all(|w| w[1] < w[0]) && percent[7] < 0.1 * percent[2], "{percent:?}");
    assert!(ask(&mut on, "flow_sweep", &[("kind", word("horoscope"))]).err().unwrap().contains("horoscope"));
}

#[test]
fn the_playground_answers_with_the_fields_it_names() {
    let corpus = corpus(1, None, words(128));
    let plane = Plane::new(&PlaneSpec::default(), 5, &Device::Cpu).unwrap();
    let mut on: Trained = (Box::new(plane), corpus);
    let args = [("field", word("spiral")), ("u0", Value::Float(0.5)), ("cells", Value::Int(3))];
    let field = ask(&mut on, "flow_field", &args).unwrap();
    let dx = field.payload.part("dx").unwrap().as_matrix().unwrap();
    // time 6: x' = 6 (-0.25 x - 1.5 y + 0.5), at the corners and the middle of a square of half side 3.2
    let exact = |x: f64, y: f64| (6.0 * (-0.25 * x - 1.5 * y + 0.5)) as f32;
    for (row, y) in [-3.2, 0.0, 3.2].into_iter().enumerate() {
        for (col, x) in [-3.2, 0.0, 3.2].into_iter().enumerate() {
            assert!((dx.at(row, col).unwrap() - exact(x, y)).abs() < 1e-4, "{x} {y}");
        }
    }
    for kind in PlanarField::ALL {
        let answer = ask(&mut on, "flow", &[("field", word(kind.id()))]).unwrap();
        assert_eq!(text(&answer, "playground"), [kind.id()]);
        let Some(Payload::Bundle(paths)) = answer.payload.part("paths") else { panic!() };
        assert!(paths.len() == 12 && answer.payload.part("mass").is_none());
    }
    let inwards = ask(&mut on, "flow", &[("field", word("spiral"))]).unwrap();
    let Some(Payload::Bundle(paths)) = inwards.payload.part("paths") else { panic!() };
    let Payload::Points(p) = &paths[0].1 else { panic!() };
    let radius = |i: usize| f64::from(p.xyz[2 * i]).hypot(f64::from(p.xyz[2 * i + 1]));
    // r = 2 e^(-0.25 * 6 tau), at every place
    assert!((radius(0) - 2.0).abs() < 1e-5 && p.labels.len() == 129);
    for (i, tau) in p.labels.iter().map(|t| t.parse::<f64>().unwrap()).enumerate() {
        assert!((radius(i) - 2.0 * (-1.5 * tau).exp()).abs() < 5e-3, "{} at {tau}", radius(i));
    }
    assert!(ask(&mut on, "flow", &[("field", word("cube"))]).err().unwrap().contains("cube"));
    assert!(ask(&mut on, "flow_sweep", &[("kind", word("class"))]).err().unwrap().contains("steer"));
    // Where the wind carries everything away, there is a gap and not an end of the sweep.
    for kind in ["nfe", "invariance", "tolerance"] {
        let found = ask(&mut on, "flow_sweep", &[("kind", word(kind)), ("field", word("van_der_pol"))]).unwrap();
        let sweep = series(&found, "sweep");
        let finite = |y: &[f64]| y.iter().filter(|v| v.is_finite()).count();
        assert!(sweep.lines.iter().any(|l| finite(&l.y) > sweep.x.len() / 3), "{kind}: {:?}", sweep.lines[0]);
    }
}

#[test]
fn the_network_of_the_playground_learns_the_field() {
    let mut plane = Plane::new(&PlaneSpec { hidden: 32, ..PlaneSpec::default() }, 5, &Device::Cpu).unwrap();
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

/// Stopped in either stage, or right between them, and taken up again: the same numbers.
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

/// A control in the config sets the model's runtime parameter before anything is asked.
#[test]
fn a_run_begins_with_the_controls_of_its_config() {
    let small = [("model.d_model", "32"), ("control.u0", "0.75"), ("control.alpha", "2"), ("run.device", "cpu")];
    let run = Run::open(plan("ode_flow_train", &small)).unwrap();
    let control = |i: usize| run.variants[i].model.flow().map(|flow| flow.control());
    assert_eq!(control(0), Some(FlowControl { u: [0.75, 0.0, 0.0, 0.0], alpha: 2.0 }));
    assert_eq!(control(1), None, "the baseline has no flow, and no parameter to set");
}

/// Backpropagation and its checkpointed form are one gradient; the adjoint comes as near with more steps.
#[test]
fn gradients_are_swept_with_their_error() {
    let plan = plan("ode_flow", &[("model.d_model", "32"), ("run.device", "cpu")]);
    let mut run = Run::open(plan).unwrap();
    let args = Args::from([("kind".to_owned(), Value::Text("gradient_error".into()))]);
    let samples = run.ask(0, "flow_sweep", &args, None).unwrap();
    let series = samples[0].payload.part("sweep").and_then(Payload::as_series).unwrap();
    let line = |name: &str| &series.lines.iter().find(|l| l.name == name).unwrap().y;
    let (all, kept, adjoint) = (line("backprop"), line("checkpointed"), line("adjoint"));
    assert!(all.iter().zip(kept).all(|(a, b)| (a - b).abs() < 1e-4 * a.max(1e-2)), "{all:?} {kept:?}");
    let last = series.x.len() - 1;
    assert!(all[last] < 0.2 * all[0] || all[0] < 1e-4, "{all:?}");
    assert!(adjoint[last] < adjoint[0].max(1e-3), "{adjoint:?}");
    assert!(adjoint.iter().all(|v| v.is_finite()));
}
