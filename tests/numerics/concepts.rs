//! Tests the search for concept synapses: it uses the correct synapse states, confirms nothing in noise, and finds a
//! planted synapse.

use std::collections::BTreeSet;

use orrery_lab::{
    config::Value,
    corpus::{
        Corpus, CorpusSpec, LabelledLines, Source, TokenizerSpec,
        generated::parliament::{
            Class, Extent,
            labelled::{SplitSide, follow_ups, sentences},
        },
    },
    models::{ModelSpec, Trainable, bdh::BdhSpec},
    nn::{Device, Result, Tap, Tensor, host},
    probe::{
        Answer, ProbeInputs, Progress,
        concepts::{
            self, ConceptQuestion, ConceptSentence, ConceptVerdict, FoundSynapse, Noun, PRESETS, Scalar, SearchParams,
            SearchResult, SentenceOrigin, Strength,
        },
        find,
    },
    telemetry::{Args, Measurement, Synapse, measurements::ConceptSearch},
};

fn corpus(source: &str) -> Corpus {
    open_corpus(Source::Generated(source.to_owned()))
}

fn open_corpus(source: Source) -> Corpus {
    let spec = CorpusSpec::new(source, TokenizerSpec::Byte { vocab: 256 });
    Corpus::open(&spec).unwrap()
}

fn small(seed: u64) -> Box<dyn Trainable> {
    let spec = BdhSpec { d_model: 16, heads: 2, neurons: 64, layers: 3, ..BdhSpec::default() };
    ModelSpec::Bdh(spec).build(256, seed, &Device::Cpu).unwrap()
}

fn quick() -> SearchParams {
    SearchParams { per_side: 6, confirmed: 4, draws: 199, ..SearchParams::default() }
}

/// The question of a preset with only some of its sentences, so that a test is fast.
fn thinned(id: &str, rehearsal: bool) -> ConceptQuestion {
    let mut question = ConceptQuestion::preset(id, &corpus("parliament"), rehearsal).unwrap();
    question.items = question.items.into_iter().step_by(if rehearsal { 2 } else { 7 }).collect();
    question
}

/// A synapse's state computed from its definition: the products of y of the previous layer and x of the layer,
/// summarised over the sentence.
fn sigma(model: &dyn Trainable, ids: &[u32], site: Synapse, scalar: Scalar) -> f64 {
    let n = model.capabilities().synapses.unwrap().shape().per_head();
    let (y_path, x_path) = (format!("layers.{}.y", site.layer - 1), format!("layers.{}.x", site.layer));
    let mut tap = Tap::on(&[&y_path, &x_path]);
    model
        .token_model()
        .unwrap()
        .logits(&Tensor::from_slice(ids, (1, ids.len()), &Device::Cpu).unwrap(), &mut tap)
        .unwrap();
    let activations = |path: &str, neuron: usize| -> Vec<f64> {
        let all = host::to_f64(tap.get(path).unwrap()).unwrap(); // (1,nh,T,N)
        (0..ids.len()).map(|t| all[(neuron / n * ids.len() + t) * n + neuron % n]).collect()
    };
    let steps: Vec<f64> =
        activations(&y_path, site.i).iter().zip(activations(&x_path, site.j)).map(|(y, x)| y * x).collect();
    match scalar {
        Scalar::Mean => steps.iter().sum::<f64>() / steps.len() as f64,
        Scalar::Sum => steps.iter().sum(),
        Scalar::Peak => steps.iter().copied().fold(0.0, f64::max),
    }
}

#[test]
fn confirmed_correlations_are_those_of_sigma() {
    let (model, question) = (small(1), thinned("currency", false));
    for scalar in Scalar::ALL {
        let how = SearchParams { scalar, ..quick() };
        let found = concepts::find(model.as_ref(), &question, &how, &Device::Cpu, Progress::none()).unwrap();
        assert_eq!(found.searched, 2 * 6 * 6);
        assert_eq!(found.synapses.len(), 4);
        for synapse in &found.synapses {
            for noun in [0, question.nouns.len() - 1] {
                let own: Vec<f64> = question
                    .items
                    .iter()
                    .filter(|i| i.noun == noun)
                    .map(|i| sigma(model.as_ref(), &i.ids, synapse.synapse, scalar))
                    .collect();
                let mean = own.iter().sum::<f64>() / own.len() as f64;
                assert!((synapse.by_noun[noun] - mean).abs() <= 1e-4 * mean.abs() + 1e-7, "{scalar:?} {noun}");
            }
        }
    }
}

/// A model knows a fact if the right follow-up is the likeliest. The test computes the likelihood of each follow-up
/// separately.
#[test]
fn a_model_knows_a_fact_if_its_follow_up_is_the_likeliest() {
    let part = Extent { languages: 2, kinds: 3, nouns: 8, follow_ups: 2, ..Extent::WHOLE };
    let corpus = open_corpus(Source::Parliament(part));
    let model = small(5);
    let likelihood = |text: &str, said: &str| -> f64 {
        let (from, ids) = (text.len(), corpus.encode(&format!("{text} {said}")));
        let logits = model
            .token_model()
            .unwrap()
            .logits(&Tensor::from_slice(&ids, (1, ids.len()), &Device::Cpu).unwrap(), &mut Tap::off());
        let logits = host::to_f64(&logits.unwrap()).unwrap();
        let told = |s: usize| {
            let row = &logits[(s - 1) * 256..s * 256];
            row[ids[s] as usize] - row.iter().map(|l| l.exp()).sum::<f64>().ln()
        };
        (from..ids.len()).map(told).sum::<f64>().exp()
    };
    let knows = concepts::follow_up_accuracy(model.as_ref(), &corpus, Class::Currency).unwrap();
    for (asked_in, share) in [SplitSide::NewNouns, SplitSide::BothNew].into_iter().zip(knows) {
        let all = sentences(Class::Currency, &part);
        let asked: Vec<_> = all.iter().filter(|s| s.part == asked_in).step_by(7).collect();
        let right = asked.iter().filter(|s| {
            let of_class = |(class, said): (Class, Vec<String>)| -> (f64, Class) {
                (said.iter().map(|f| likelihood(&s.text, f)).sum(), class)
            };
            let most = follow_ups(s, &part).into_iter().map(of_class).max_by(|a, b| a.0.total_cmp(&b.0));
            most.is_some_and(|(_, class)| class == s.class)
        });
        assert_eq!(share, right.count() as f64 / asked.len() as f64, "{asked_in:?}");
    }
    let naive = concepts::follow_up_accuracy(model.as_ref(), &self::corpus("parliament_naive"), Class::Currency);
    assert!(naive.unwrap().iter().all(|k| k.is_nan()));
}

/// The ranking must use the search half only, so other sentences in the confirmation half do not change it.
#[test]
fn the_ranking_knows_the_search_half_alone() {
    let (model, question) = (small(2), thinned("country", false));
    let places = |q: &ConceptQuestion| -> Vec<Synapse> {
        let found = concepts::find(model.as_ref(), q, &quick(), &Device::Cpu, Progress::none()).unwrap();
        found.synapses.iter().map(|s| s.synapse).collect()
    };
    let mut other = question.clone();
    other.items.retain(|i| i.part == SplitSide::Search || i.noun % 3 == 0);
    for item in other.items.iter_mut().filter(|i| i.part != SplitSide::Search) {
        item.ids.reverse();
    }
    assert_eq!(places(&question), places(&other));
    let mut searched = question.clone();
    searched.items.iter_mut().filter(|i| i.part == SplitSide::Search).for_each(|i| i.ids.reverse());
    assert_ne!(places(&question), places(&searched), "the search half decides nothing");
}

/// A rehearsal uses no sentence of the confirmation half, and its own parts have different nouns and frames.
#[test]
fn a_rehearsal_leaves_the_confirmation_half_alone() {
    for (id, ..) in &PRESETS[..2] {
        let corpus = corpus("parliament");
        let whole = ConceptQuestion::preset(id, &corpus, false).unwrap();
        let rehearsal = ConceptQuestion::preset(id, &corpus, true).unwrap();
        let texts = |q: &ConceptQuestion, parts: &[SplitSide]| -> BTreeSet<Vec<u32>> {
            q.items.iter().filter(|i| parts.contains(&i.part)).map(|i| i.ids.clone()).collect()
        };
        let confirming = texts(&whole, &[SplitSide::NewNouns, SplitSide::NewFrames, SplitSide::BothNew]);
        let rehearsed = texts(&rehearsal, &SplitSide::ALL);
        assert!(rehearsed.is_disjoint(&confirming));
        assert_eq!(rehearsed, texts(&whole, &[SplitSide::Search]));
        let nouns = |part: SplitSide| rehearsal.items_in(part).map(|i| i.noun).collect::<BTreeSet<_>>();
        assert!(nouns(SplitSide::Search).is_disjoint(&nouns(SplitSide::BothNew)));
        for part in SplitSide::ALL {
            let (with, without): (Vec<&ConceptSentence>, Vec<&ConceptSentence>) =
                rehearsal.items_in(part).partition(|i| i.has_concept);
            assert_eq!(with.len(), without.len());
            assert!(with.len() > 40, "{part:?}: {}", with.len());
        }
    }
}

#[test]
fn random_weights_confirm_nothing() {
    let question = thinned("currency", false);
    let found: Vec<SearchResult> = (1..4)
        .map(|s| concepts::find(small(s).as_ref(), &question, &quick(), &Device::Cpu, Progress::none()).unwrap())
        .collect();
    let verdict = ConceptVerdict::new(&question, &found[0], &found[1..]);
    assert!(verdict.confirmed.is_empty() && verdict.text.starts_with("No synapse confirmed"), "{}", verdict.text);
}

/// A synapse is confirmed only if the corrected p, the number of languages and the margin all suffice.
#[test]
fn a_confirmed_verdict_needs_p_value_languages_and_margin() {
    let question = ConceptQuestion {
        concept: "currency".into(),
        contrast: vec![],
        origin: SentenceOrigin::Parliament,
        languages: vec!["en".into(), "fr".into()],
        nouns: vec![Noun { name: "euro".into(), class: "currency".into(), has_concept: true }],
        items: vec![],
    };
    let synapse = |r: f64, holm: f64, by: [f64; 2]| FoundSynapse {
        synapse: Synapse { layer: 1, i: 3, j: 4 },
        strengths: vec![Strength {
            part: SplitSide::BothNew,
            r,
            interval: (r - 0.1, r + 0.1),
            p: holm,
            by_language: vec![r; 2],
            p_by_language: by.to_vec(),
        }],
        holm,
        by_noun: vec![0.0],
    };
    let search_result = |s: FoundSynapse| SearchResult { searched: 10, per_head: 64, synapses: vec![s] };
    let random = [search_result(synapse(0.2, 0.3, [0.5, 0.5]))];
    let confirmed = |s: FoundSynapse| ConceptVerdict::new(&question, &search_result(s), &random).confirmed == [0];
    assert!(confirmed(synapse(0.7, 0.01, [0.01, 0.04])));
    assert!(!confirmed(synapse(0.7, 0.06, [0.01, 0.04])), "p");
    assert!(!confirmed(synapse(0.7, 0.01, [0.01, 0.2])), "languages");
    assert!(!confirmed(synapse(0.55, 0.01, [0.01, 0.04])), "margin");
}

/// In a model with a neuron that fires only at a certain byte, the search finds this neuron's synapse with sentences
/// that contain the byte.
#[test]
fn a_planted_synapse_is_found() {
    // V = 256, D = 4: only the byte `$` has an embedding along the axis that neuron 5 reads
    let spec = BdhSpec { d_model: 4, heads: 1, neurons: 16, layers: 2, ..BdhSpec::default() };
    let model = ModelSpec::Bdh(spec).build(256, 3, &Device::Cpu).unwrap();
    let var = |name: &str| model.params().get(name).unwrap();
    let mut embed = host::to_f32(var("embed.weight").as_tensor()).unwrap();
    embed[usize::from(b'$') * 4..][..4].copy_from_slice(&[9.0, -9.0, 0.1, 0.0]);
    var("embed.weight").set(&Tensor::from_vec(embed, (256, 4), &Device::Cpu).unwrap()).unwrap();
    let (with, without) =
        (|i: usize| format!("a{}$b{i}", "c".repeat(i % 3)), |i: usize| format!("a{}db{i}", "c".repeat(i % 3)));
    let lines = |f: &dyn Fn(usize) -> String| (0..24).map(f).collect::<Vec<_>>().join("\n");
    let question = ConceptQuestion::from_lists(&lines(&with), &lines(&without), &corpus("parliament")).unwrap();
    let found = concepts::find(
        model.as_ref(),
        &question,
        &SearchParams { per_side: 8, ..quick() },
        &Device::Cpu,
        Progress::none(),
    )
    .unwrap();
    assert!(found.first_correlation() > 0.9, "{}", found.first_correlation());
    assert!(found.synapses[0].holm <= 0.05);
}

/// Asks the probe with these arguments.
fn ask_search(model: &mut dyn Trainable, corpus: &Corpus, args: &[(&str, &str)]) -> Result<Vec<Answer>> {
    let value = |name: &str, text: &str| Value::parse(text, name != "random");
    let args: Args = args.iter().map(|(name, text)| ((*name).to_owned(), value(name, text))).collect();
    let inputs = ProbeInputs { seed: 1, ..ProbeInputs::standalone(corpus, &Device::Cpu) };
    (find("concepts").unwrap().ask)(model, &args, &inputs)
}

#[test]
fn the_probe_answers_and_says_what_is_missing() {
    let corpus = corpus("parliament");
    let mut model = small(4);
    let mut ask = |args: &[(&str, &str)]| ask_search(model.as_mut(), &corpus, args);
    let own =
        [("with", "one euro\na dollar\nfive francs\nthe pound"), ("without", "one day\na door\nfive cats\nthe end")];
    let found = ask(&[own[0], own[1], ("random", "1")]).unwrap();
    let search = ConceptSearch::from_payload(&found[0].payload).unwrap();
    assert_eq!(search.synapses.len(), 10);
    assert!(search.synapses.iter().all(|s| s.by_noun.data().len() == search.nouns.len()));
    assert_eq!(search.random_weights.len(), 1);
    let few = ask(&[("with", "one euro"), own[1]]).err().unwrap().to_string();
    assert!(few.contains("at least 4 are needed"), "{few}");
    assert!(ask(&[("preset", "weather")]).err().unwrap().to_string().contains("no concept `weather`"));
}

fn sets(content: &str) -> LabelledLines {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sets.tsv");
    std::fs::write(&path, content).unwrap();
    LabelledLines::read(&path).unwrap()
}

/// Sentences with the label `money`, which contain a `$`, and with two other labels, which do not. Every group has two
/// sentences.
fn money() -> String {
    let line = |i: usize| {
        let [a, c] = ["a", "c"].map(|s| s.repeat(1 + i % 3));
        let sentence = |label: &str, sign: char| format!("{label}\tgroup {}\t{a}{sign}b{c}{i}\n", i / 2);
        sentence("food", 'd') + &sentence("money", '$') + &sentence("sport", 'e')
    };
    (0..24).map(line).collect()
}

fn question_of_lines(lines: &LabelledLines, concept: &str) -> ConceptQuestion {
    ConceptQuestion::from_lines(lines, concept, &|text| Ok(text.bytes().map(u32::from).collect())).unwrap()
}

#[test]
fn own_sentences_are_halved_by_group_within_each_label() {
    let lines = sets(&money());
    let question = question_of_lines(&lines, "money");
    assert_eq!((question.concept.as_str(), question.contrast.join(" ")), ("money", "food sport".to_owned()));
    assert_eq!((question.items.len(), question.nouns.len()), (72, 36));
    assert!(question.nouns[..12].iter().all(|n| n.has_concept && n.class == "money"), "the concept stands first");
    for (noun, of) in question.nouns.iter().enumerate() {
        let own: Vec<&ConceptSentence> = question.items.iter().filter(|i| i.noun == noun).collect();
        assert_eq!(own.len(), 2, "{of:?}");
        let is_same_side = own.iter().all(|i| i.has_concept == of.has_concept);
        assert!(own[0].part == own[1].part && is_same_side, "a group is not cut");
    }
    for class in ["money", "food", "sport"] {
        let count = |part| question.items_in(part).filter(|i| question.nouns[i.noun].class == class).count();
        assert_eq!((count(SplitSide::Search), count(SplitSide::BothNew)), (12, 12), "{class}");
    }
    assert_eq!(
        question.describe(),
        "\u{201c}money\u{201d} against food, sport: searched with 12 + 24 sentences, confirmed with 12 + 24"
    );
}

/// The verdict on a planted synapse names the user's labels. In untrained models, nothing is confirmed.
#[test]
fn a_verdict_speaks_of_ones_own_sets() {
    let spec = BdhSpec { d_model: 4, heads: 1, neurons: 16, layers: 2, ..BdhSpec::default() };
    let planted = ModelSpec::Bdh(spec).build(256, 3, &Device::Cpu).unwrap();
    let var = |name: &str| planted.params().get(name).unwrap();
    let mut embed = host::to_f32(var("embed.weight").as_tensor()).unwrap();
    embed[usize::from(b'$') * 4..][..4].copy_from_slice(&[9.0, -9.0, 0.1, 0.0]);
    var("embed.weight").set(&Tensor::from_vec(embed, (256, 4), &Device::Cpu).unwrap()).unwrap();
    let question = question_of_lines(&sets(&money()), "money");
    let how = SearchParams { per_side: 8, draws: 1999, ..quick() };
    let search =
        |model: &dyn Trainable| concepts::find(model, &question, &how, &Device::Cpu, Progress::none()).unwrap();
    let found = search(planted.as_ref());
    let random: Vec<SearchResult> =
        (0..2).map(|k| search(concepts::random(planted.as_ref(), 256, k, &Device::Cpu).unwrap().as_ref())).collect();
    assert!(found.first_correlation() > 0.9 && found.synapses[0].holm <= 0.05, "{}", found.first_correlation());
    let verdict = ConceptVerdict::new(&question, &found, &random);
    for words in [&verdict.text, &ConceptVerdict::new(&question, &random[0], &random[1..]).text] {
        assert!(words.contains("\u{201c}money\u{201d} against food, sport"), "{words}");
        assert!(words.contains("on sentences that took no part in the search"), "{words}");
        assert!(!words.contains("language") && !words.contains("noun") && !words.contains("frame"), "{words}");
    }
    assert!(ConceptVerdict::new(&question, &random[0], &random[1..]).text.starts_with("No synapse confirmed"));
    // the same margin as for the built-in sets applies
    let best = random.iter().map(SearchResult::best_correlation).fold(f64::NAN, f64::max);
    let passes = |s: &FoundSynapse| s.holm <= 0.05 && s.r(SplitSide::BothNew) >= best + concepts::MARGIN;
    let wanted: Vec<usize> = (0..found.synapses.len()).filter(|k| passes(&found.synapses[*k])).collect();
    assert_eq!(verdict.confirmed, wanted);
}

#[test]
fn the_probe_reads_a_file_of_sentences() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sets.tsv");
    std::fs::write(&path, money()).unwrap();
    let corpus = corpus("harbour");
    let mut model = small(2);
    let mut ask = |args: &[(&str, &str)]| ask_search(model.as_mut(), &corpus, args);
    let path = path.display().to_string();
    let found = ask(&[("sentences", &path), ("label", "sport"), ("random", "1")]).unwrap();
    let search = ConceptSearch::from_payload(&found[0].payload).unwrap();
    assert_eq!(
        (search.concept.as_str(), search.contrast.join(" "), search.is_own),
        ("sport", "food money".to_owned(), true)
    );
    assert!(found[0].about.contains("sport") && !search.verdict.contains("language"), "{}", search.verdict);
    let refused = ask(&[("sentences", &path), ("label", "snow")]).err().unwrap().to_string();
    assert!(refused.contains("choose one of food, money, sport"), "{refused}");
    let missing = ask(&[("sentences", "none.tsv")]).err().unwrap().to_string();
    assert!(missing.contains("none.tsv does not exist"), "{missing}");
}
