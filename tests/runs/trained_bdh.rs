//! Tests the inspection of a trained BDH: its sizes come from the file, whatever the settings say, nothing is trained,
//! and questions are answered.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use candle_core::Device;
use orrery::{
    config::Value,
    corpus::{TextSpan, TokenizerChoice, fitting_tokenizers, generated},
    labs::trained_bdh::LAB,
    models::{
        Trainable,
        bdh::{Bdh, BdhSpec, Checkpoint},
    },
    nn::{Batch, host},
    probe::synapses::{KnownFacts, choose},
    store::tensors,
    telemetry::{
        Args, Inbox, Measurement, RunState, Sink, channels,
        measurements::{ConceptEffect, Evidence, InterventionEffect, LogitLens, ReadingCandidates, TrainedBdh},
    },
    trainer::{self, DriveOptions, MemoryEstimate, Plan, Run},
    ui::mirror::Mirror,
};

use crate::{bdh_file::write_bdh, config_with::plan_with};

const VOCAB: usize = 300;

/// Writes the weights of a model whose sizes differ from all settings.
fn write(path: &Path) {
    write_of(path, VOCAB);
}

fn write_of(path: &Path, vocab: usize) {
    let spec = BdhSpec { d_model: 12, heads: 3, neurons: 60, layers: 2, ..BdhSpec::default() };
    write_bdh(path, &Bdh::new(&spec, vocab, 5, &Device::Cpu).unwrap());
}

fn plan(set: &[(&str, &str)]) -> Plan {
    plan_with("trained_bdh", None, &[&[("run.threads", "1"), ("run.device", "cpu")], set].concat()).unwrap()
}

fn ask_as<M: Measurement>(run: &mut Run, args: &Args) -> Result<M, String> {
    let samples = run.ask(0, M::PROBE, args).map_err(|e| e.to_string())?;
    samples.iter().find_map(|s| s.measurement::<M>().cloned()).ok_or_else(|| "no answer".to_owned())
}

#[test]
fn a_loaded_checkpoint_has_the_sizes_of_its_file_and_no_optimiser() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    write(&path);
    let path = path.display().to_string();
    let plan = plan(&[("model.checkpoint", &path)]);
    let training = Plan { steps: 10, ..plan.clone() };
    let (looked_at, trained) = (MemoryEstimate::new(&plan), MemoryEstimate::new(&training));
    assert!(looked_at.models < 0.5 * trained.models, "{looked_at:?} {trained:?}");
    let mut run = Run::open(plan).unwrap();
    let m: TrainedBdh = ask_as(&mut run, &Args::new()).unwrap();
    assert_eq!((m.neurons, m.heads, m.d_model, m.layers, m.vocab), (60, 3, 12, 2, VOCAB));
    assert!(m.loss > m.frequency_loss && m.loss.is_finite(), "random weights know nothing: {m:?}");
    let lens: LogitLens = ask_as(&mut run, &Args::from([("longest".to_owned(), Value::Int(12))])).unwrap();
    assert_eq!((lens.layers, lens.loss.len(), lens.likely.len()), (2, 3, 3 * 12));
    let args = |neurons: &str| {
        let text = |t: &str| Value::Text(t.to_owned());
        Args::from([("neurons".to_owned(), text(neurons)), ("text".to_owned(), text("the yen is old"))])
    };
    let effect: InterventionEffect = ask_as(&mut run, &args("2:19, 0:0")).unwrap();
    assert_eq!(effect.neurons, ["2:19", "0:0"]);
    assert_eq!((effect.divergence.len(), effect.null_draws.len()), (14, 8));
    assert!(effect.divergence.iter().all(|d| *d >= 0.0));
    assert!(ask_as::<InterventionEffect>(&mut run, &args("3:0")).unwrap_err().contains("3 heads of 20 neurons"));
}

/// If the text has as many different characters as the model's vocabulary, they are used without a setting. They are
/// reported and recorded, so that a resumed run uses them too.
#[test]
fn the_characters_of_the_text_are_found_and_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let [model, text, other] = ["model.safetensors", "text.txt", "other.txt"].map(|name| folder.path().join(name));
    write_of(&model, 5);
    std::fs::write(&text, "abcd\n".repeat(900)).unwrap();
    std::fs::write(&other, "abcde\n".repeat(900)).unwrap();
    let [model, text, other] = [model, text, other].map(|path| path.display().to_string());
    let run = Run::open(plan(&[("model.checkpoint", &model), ("corpus.file", &text)])).unwrap();
    assert!(run.chosen_tokens.as_deref().is_some_and(|words| words.contains("code point")), "{:?}", run.chosen_tokens);
    let recorded = run.info(1, None).config;
    assert_eq!(recorded.get("corpus.tokenizer"), Some(&Value::Text("sorted_char".into())));
    let again = Run::open((LAB.plan)(&recorded).unwrap()).unwrap();
    assert_eq!((again.corpus().vocab(), again.chosen_tokens), (5, None));
    let refusal = Run::open(plan(&[("model.checkpoint", &model), ("corpus.file", &other)])).err().unwrap().to_string();
    for part in ["knows 5 tokens", "6 distinct characters", "corpus.vocabulary_file"] {
        assert!(refusal.contains(part), "{part}: {refusal}");
    }
}

/// The generated text that is read by default was not chosen by anybody: that it has as many characters as a model says
/// nothing about the model, and that it has others than the model's list keeps no model from opening.
#[test]
fn the_default_text_is_read_by_the_list_of_the_model_alone() {
    let folder = tempfile::tempdir().unwrap();
    let [model, list] = ["model.safetensors", "vocab.json"].map(|name| folder.path().join(name));
    let text = generated::by_id("mixture").unwrap().text(1, generated::SIZE);
    let mut characters: BTreeSet<char> = text.chars().collect();
    write_of(&model, characters.len());
    let settings = [("model.checkpoint", model.to_str().unwrap())];
    let refusal = Run::open(plan(&settings)).err().unwrap().to_string();
    for part in ["generated text", "a text of your own", "corpus.vocabulary_file"] {
        assert!(refusal.contains(part), "{part}: {refusal}");
    }

    assert!(characters.remove(&'"') && characters.insert('\u{3b1}'));
    let characters: Vec<String> = characters.into_iter().map(String::from).collect();
    std::fs::write(&list, serde_json::to_string(&characters).unwrap()).unwrap();
    let mut run = Run::open(plan(&settings)).unwrap();
    let notes = run.opening_notes().join("\n");
    for part in [list.to_str().unwrap(), "without 1 of its characters ('\"'"] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    let recorded = run.info(1, None).config;
    assert_eq!(recorded.get("corpus.tokenizer"), Some(&Value::Text("sorted_char".into())));
    assert_eq!(recorded.get("corpus.vocabulary_file").map(ToString::to_string).as_deref(), list.to_str());
    let m: TrainedBdh = ask_as(&mut run, &Args::new()).unwrap();
    assert!(m.tokens.contains("without 1 of its characters"), "{}", m.tokens);
    let compared: ReadingCandidates = ask_as(&mut run, &Args::new()).unwrap();
    assert_eq!(
        compared.candidates.len(),
        1,
        "the text's own characters are not a candidate: {:?}",
        compared.candidates
    );
}

#[test]
fn synapses_are_changed_and_concepts_tested() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    write(&path);
    let path = path.display().to_string();
    let mut run = Run::open(plan(&[("model.checkpoint", &path)])).unwrap();
    let text = |name: &str, t: &str| (name.to_owned(), Value::Text(t.to_owned()));
    let base = [text("target", "synapses"), text("text", "the yen is old and the yen is new")];
    let with = |more: &[(String, Value)]| base.iter().cloned().chain(more.iter().cloned()).collect::<Args>();
    let scaled =
        [text("synapses", "1 0:3>2:7, 1:5:41"), text("action", "scale"), ("amount".into(), Value::Float(50.0))];
    let effect: InterventionEffect = ask_as(&mut run, &with(&scaled)).unwrap();
    assert_eq!((effect.synapses, effect.neurons), (vec!["1 0:3>2:7".to_owned(), "1 0:5>2:1".to_owned()], vec![]));
    assert!(effect.firing.is_nan() && effect.sigma.is_some() && effect.null_sigma.is_some());
    assert_eq!(effect.null_draws.len(), 8);
    assert!(
        ask_as::<InterventionEffect>(&mut run, &with(&[text("synapses", "2:1:1")]))
            .unwrap_err()
            .contains("from 1 to 1")
    );

    // the null model of a silenced community are sets of as many neurons with a similar firing rate
    let all: Vec<String> = (0..8).map(|i| format!("0:{i}")).collect();
    let community = Args::from([text("neurons", &all.join(",")), text("text", "the yen is old and the yen is new")]);
    let effect: InterventionEffect = ask_as(&mut run, &community).unwrap();
    assert_eq!((effect.neurons.len(), effect.null_draws.len()), (8, 8));
    assert!((effect.firing - effect.null_firing).abs() < 0.2, "{} {}", effect.firing, effect.null_firing);
    // if more than half of a head is silenced, too few neurons remain for a null model
    let most: Vec<String> = (0..15).map(|i| format!("0:{i}")).collect();
    let effect: InterventionEffect = ask_as(&mut run, &Args::from([text("neurons", &most.join(","))])).unwrap();
    assert!(effect.null_draws.is_empty() && effect.null_firing.is_nan());

    for (args, sentences) in
        [(vec![text("preset", "currency")], 16), (vec![text("with", &lines("yen")), text("without", &lines("sea"))], 4)]
    {
        let changed = [text("target", "synapses"), text("synapses", "1:3:47"), ("draws".into(), Value::Int(3))];
        let args = args.into_iter().chain(changed).collect::<Args>();
        let m: ConceptEffect = ask_as(&mut run, &args).unwrap();
        assert_eq!((m.with.loss.len(), m.without.loss.len()), (sentences, sentences));
        assert_eq!((m.with.null_draws.len(), m.confirmed), (3, false), "{}", m.verdict);
        assert!(m.with.loss.iter().chain(m.without.change.iter()).all(|v| v.is_finite()));
        assert!(m.verdict.starts_with("Nothing found") && m.p_with >= 0.25, "random weights: {}", m.verdict);
    }
}

#[test]
fn candidates_are_compared_where_the_file_does_not_say() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    write(&path);
    let said = path.display().to_string();
    let known: ReadingCandidates =
        ask_as(&mut Run::open(plan(&[("model.checkpoint", &said)])).unwrap(), &Args::new()).unwrap();
    assert_eq!(
        (known.layers_known, known.candidates.len()),
        (true, 1),
        "the file says two layers, and bytes alone fit"
    );
    let beginning = [("model.checkpoint", said.as_str()), ("corpus.length", "200000")];
    let known: ReadingCandidates = ask_as(&mut Run::open(plan(&beginning)).unwrap(), &Args::new()).unwrap();
    assert_eq!(known.candidates.len(), 1, "bytes of the whole text are no other tokens than those of its beginning");
    let weights = tensors::read(&path, &Device::Cpu).unwrap();
    let bare = folder.path().join("bare.safetensors");
    tensors::write(&bare, &weights, &[]).unwrap();
    let bare = bare.display().to_string();
    let mut run = Run::open(plan(&[("model.checkpoint", &bare)])).unwrap();
    let windows = |count: i64, length: i64| {
        Args::from([("windows".to_owned(), Value::Int(count)), ("window".to_owned(), Value::Int(length))])
    };
    let usual: ReadingCandidates = ask_as(&mut run, &Args::new()).unwrap();
    assert_eq!((usual.window, usual.window_from), (256, Evidence::Assumed), "it is not known which ones training used");
    assert!(usual.windows >= 4 && usual.warnings[0].starts_with("it is not known"), "{:?}", usual.warnings);
    let tried: ReadingCandidates = ask_as(&mut run, &windows(4, 128)).unwrap();
    let layers: Vec<usize> = tried.candidates.iter().map(|c| c.layers).collect();
    assert_eq!(layers, (1..=12).collect::<Vec<_>>());
    let used: Vec<usize> = tried.candidates.iter().filter(|c| c.is_used).map(|c| c.layers).collect();
    assert_eq!(used, [6], "the public code's, where nobody says");
    // each candidate's loss is that of a model with this number of layers, in the first windows of the text
    let ids = run.corpus().chunk(TextSpan::Whole, 0).unwrap().unwrap().ids;
    let batch = Batch::from_ids(&ids[..512], &ids[1..=512], 4, 128, &Device::Cpu).unwrap();
    let checkpoint = Checkpoint::open(Path::new(&bare), &BdhSpec::default(), &Device::Cpu).unwrap();
    for layers in [2, 6] {
        let loss = host::scalar(&checkpoint.model(layers).unwrap().evaluate(&batch).unwrap()).unwrap();
        let found = tried.candidates[layers - 1].loss;
        assert!((loss - found).abs() < 1e-4, "{layers}: {loss} and {found}");
    }
    let best = tried.candidates.iter().find(|c| c.is_chosen).unwrap();
    assert!(best.loss_error.is_finite());
    assert!(tried.candidates.iter().all(|c| c.bits_per_byte >= best.bits_per_byte));
}

/// The probe of a run and a command read one text with one checkpoint. Bytes, the characters of the text by code point and
/// those of a list beside the checkpoint all fit, and the end of the text is unlike its beginning.
#[test]
fn window_and_command_choose_alike() {
    let folder = tempfile::tempdir().unwrap();
    let [model, text, list] = ["model.safetensors", "text.txt", "vocab.json"].map(|name| folder.path().join(name));
    write_of(&model, VOCAB);
    let weights = tensors::read(&model, &Device::Cpu).unwrap();
    tensors::write(&model, &weights, &[]).unwrap();
    let known = |k: usize| char::from_u32(0x4e00 + k as u32).unwrap();
    let mut content: String = (0..9000).map(|i| known(i * i % 89)).collect();
    content.extend((0..9000).map(|i| known(i * 7 % VOCAB)));
    std::fs::write(&text, &content).unwrap();
    let backwards: Vec<String> = (0..VOCAB).rev().map(|k| known(k).to_string()).collect();
    std::fs::write(&list, serde_json::to_string(&backwards).unwrap()).unwrap();

    let checkpoint = Checkpoint::open(&model, &BdhSpec::default(), &Device::Cpu).unwrap();
    let choice = TokenizerChoice::default().or_tokenizer_beside(&model, checkpoint.vocab);
    let tokenizers = fitting_tokenizers(&choice, content.as_bytes(), checkpoint.vocab).unwrap();
    let facts = KnownFacts::new(&checkpoint.facts, None);
    let command = choose(|layers| checkpoint.model(layers), &tokenizers, content.as_bytes(), &facts).unwrap();

    let set = [("model.checkpoint", model.display().to_string()), ("corpus.file", text.display().to_string())];
    let mut run = Run::open(plan(&set.each_ref().map(|(key, value)| (*key, value.as_str())))).unwrap();
    let window: ReadingCandidates = ask_as(&mut run, &Args::new()).unwrap();
    assert_eq!((tokenizers.len(), window.candidates.len(), command.tried.len()), (3, 36, 36));
    assert_eq!((window.windows, window.window), (command.windows.count, command.windows.length));
    for (ours, theirs) in window.candidates.iter().zip(&command.tried) {
        assert_eq!((ours.layers, ours.is_chosen), (theirs.layers, command.is_chosen(theirs)));
        let (a, b) = (ours.bits_per_byte, theirs.loss.bits_per_byte());
        assert!((a - b).abs() < 1e-9 * b, "{} layers of {}: {a} and {b}", ours.layers, ours.tokens);
    }
    let lists: Vec<&str> = window.candidates.iter().step_by(12).map(|c| c.list.as_str()).collect();
    assert_eq!(lists, ["", "", list.display().to_string().as_str()]);
}

/// Eight sentences about a noun.
fn lines(noun: &str) -> String {
    (0..8).map(|k| format!("Sentence {k} is about the {noun}.\n")).collect()
}

#[test]
fn a_run_without_steps_measures_once_and_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    write(&path);
    let path = path.display().to_string();
    let plan = plan(&[("model.checkpoint", &path), ("graph.edges", "100"), ("change.neurons", "1:4")]);
    let inbox = Arc::new(Inbox::default());
    let (_, receiver) = crossbeam::channel::unbounded();
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(Arc::clone(&inbox))];
    let outcome = trainer::drive(plan, DriveOptions { start: true, ..DriveOptions::default() }, &receiver, sinks);
    assert_eq!((outcome.state, outcome.step), (RunState::Finished, 0));
    let mut mirror = Mirror::default();
    inbox.take().into_iter().for_each(|event| mirror.apply(event));
    assert!(mirror.sample_at(0, TrainedBdh::CHANNEL, 0).is_some(), "the model was measured");
    assert!(mirror.sample_at(0, InterventionEffect::CHANNEL, 0).is_some(), "without a neuron as well");
    assert!(mirror.curve(0, channels::LOSS_HELD_OUT).is_some());
}

#[test]
fn without_a_file_weights_are_random_and_no_better_than_chance() {
    let mut run = Run::open(plan(&[])).unwrap();
    let m: TrainedBdh = ask_as(&mut run, &Args::new()).unwrap();
    assert_eq!((m.neurons, m.layers), (2048, 4));
    assert!(m.loss > m.frequency_loss);
}
