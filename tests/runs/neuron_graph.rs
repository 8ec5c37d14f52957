//! Tests the graph of a BDH model's weights: its edges are the correct matrix entries, and every neuron has the correct
//! index.

use std::collections::BTreeMap;

use candle_core::{Device, Tensor};
use orrery::{
    config::Value,
    corpus::{Corpus, TokenizerSpec},
    models::{
        ModelSpec, Trainable,
        bdh::{BdhSpec, Position},
    },
    nn::{Tap, fused::linear_attention::decays, host},
    probe::{self, Answer, ProbeInputs},
    telemetry::{
        Args, Measurement, Sample,
        measurements::{
            CorePeriphery, GraphModularity, GraphNeuron, HeadPairs, HeavyTail, ModularityAtStep, NeuronGraph,
            WriteIntervals,
        },
        neuron_name,
    },
    trainer::Run,
};

use crate::{config_with::plan_with, corpus::open_generated};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const NEURONS: usize = 96;
const HEADS: usize = 4;
const WIDTH: usize = 8;

struct Bench {
    corpus: Corpus,
    model: Box<dyn Trainable>,
}

impl Bench {
    fn new(spec: BdhSpec) -> Result<Self, Box<dyn std::error::Error>> {
        let corpus = open_generated("harbour", TokenizerSpec::Byte { vocab: 256 });
        let model = ModelSpec::Bdh(spec).build(corpus.vocab(), 3, &Device::Cpu)?;
        Ok(Self { corpus, model })
    }

    fn small() -> Result<Self, Box<dyn std::error::Error>> {
        Self::new(BdhSpec { neurons: NEURONS, d_model: WIDTH, heads: HEADS, layers: 2, ..BdhSpec::default() })
    }

    fn ask(&mut self, id: &str, args: &[(&str, Value)]) -> candle_core::Result<Vec<Answer>> {
        let args: Args = args.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
        let probe = probe::find(id).ok_or(candle_core::Error::Msg(format!("no probe {id}")))?;
        (probe.ask)(self.model.as_mut(), &args, &ProbeInputs::standalone(&self.corpus, &Device::Cpu))
    }

    /// G computed from its definition: the effect of y_i on x_j (or y_j), where j belongs to head j / N.
    fn g(&self, encoder: &str) -> candle_core::Result<Vec<Vec<f64>>> {
        let get = |name: &str| host::to_f64(self.model.params().get(name).unwrap());
        let (e, d) = (get("decoder")?, get(encoder)?);
        let n = NEURONS / HEADS;
        let entry = |i: usize, j: usize| -> f64 {
            // decoder (n, D), encoder (nh, D, N)
            (0..WIDTH).map(|k| e[i * WIDTH + k] * d[(j / n * WIDTH + k) * n + j % n]).sum()
        };
        Ok((0..NEURONS).map(|i| (0..NEURONS).map(|j| entry(i, j)).collect()).collect())
    }
}

fn decoded<M: Measurement>(found: &[Answer]) -> &M {
    found.iter().find_map(|f| M::from_payload(&f.payload)).unwrap_or_else(|| panic!("no {}", M::CHANNEL))
}

#[test]
fn edges_are_the_largest_entries_between_the_neurons_they_name() -> Outcome {
    let mut bench = Bench::small()?;
    let n = NEURONS / HEADS;
    for (matrix, encoder) in [("x", "encoder"), ("y", "encoder_v")] {
        let g = bench.g(encoder)?;
        for (sign, size) in
            [("excitatory", (|g: f64| g) as fn(f64) -> f64), ("inhibitory", |g| -g), ("both", |g: f64| g.abs())]
        {
            for heads in [None, Some((1usize, 2usize)), Some((3, 3))] {
                let inside = |i: usize, j: usize| i != j && heads.is_none_or(|(a, b)| (i / n, j / n) == (a, b));
                let mut all: Vec<(f64, usize, usize)> = (0..NEURONS)
                    .flat_map(|i| (0..NEURONS).map(move |j| (i, j)))
                    .filter(|(i, j)| inside(*i, *j))
                    .map(|(i, j)| (size(g[i][j]), i, j))
                    .collect();
                all.sort_by(|a, b| b.0.total_cmp(&a.0));
                let mut args = vec![
                    ("edges", Value::Int(60)),
                    ("matrix", Value::Text(matrix.into())),
                    ("sign", Value::Text(sign.into())),
                ];
                if let Some((a, b)) = heads {
                    args.extend([("from_head", Value::Int(a as i64 + 1)), ("to_head", Value::Int(b as i64 + 1))]);
                }
                let found = bench.ask("neuron_graph", &args)?;
                let graph: &NeuronGraph = decoded(&found);
                assert_eq!(graph.edges.len(), 60);
                let groups = &graph.groups;
                let (head, octave) = (groups.head.as_ref().unwrap(), groups.octave.as_ref().unwrap());
                let nodes = graph.neurons.len();
                assert_eq!((graph.labels.len(), head.len(), octave.len()), (nodes, nodes, nodes));
                let expected: BTreeMap<(usize, usize), f64> =
                    all[..60].iter().map(|(_, i, j)| ((*i, *j), g[*i][*j])).collect();
                let mut into = vec![0; nodes];
                for (a, b, weight) in graph.edges.iter() {
                    let (i, j) = (graph.neurons[a as usize] as usize, graph.neurons[b as usize] as usize);
                    let entry = expected.get(&(i, j)).unwrap_or_else(|| panic!("{i} -> {j} is not among the largest"));
                    assert!((entry - f64::from(weight)).abs() < 1e-8, "{i} -> {j}");
                    into[b as usize] += 1;
                }
                assert_eq!(graph.in_degree, into);
                assert_eq!(graph.out_degree.iter().sum::<u32>(), 60);
                for (k, v) in graph.neurons.iter().enumerate() {
                    let v = *v as usize;
                    assert_eq!(head[k], Some((v / n) as u32));
                    assert_eq!(graph.labels[k], format!("{}:{}", v / n, v % n));
                    // its period of rotation is 65536^(2 floor(j/2) / N) times the shortest one
                    let slower = 65536f64.powf((v % n / 2 * 2) as f64 / n as f64);
                    assert_eq!(octave[k], Some(slower.log2().floor() as u32));
                }
                let summary = graph.summary.as_ref().unwrap();
                assert!((summary.beta - all[59].0).abs() < 1e-8);
                assert_eq!(summary.carrying, nodes);
                // a threshold between two entries yields the edges above it
                args.retain(|a| a.0 != "edges");
                args.push(("beta", Value::Float(0.5 * (all[40].0 + all[41].0))));
                let found = bench.ask("neuron_graph", &args)?;
                assert_eq!(decoded::<NeuronGraph>(&found).edges.len(), 41);
            }
        }
    }
    Ok(())
}

#[test]
fn a_threshold_is_named_on_the_side_of_its_edges() -> Outcome {
    let mut bench = Bench::small()?;
    let cuts = [
        ("excitatory", "excitatory, entries above 0."),
        ("inhibitory", "inhibitory, entries below \u{2212}0."),
        ("both", "inhibitory, |entries| above 0."),
    ];
    for (sign, words) in cuts {
        let args = [("edges", Value::Int(60)), ("sign", Value::Text(sign.into()))];
        let found = bench.ask("neuron_graph", &args)?;
        assert!(found.iter().all(|answer| answer.about.contains(words)), "{}", found[0].about);
    }
    Ok(())
}

#[test]
fn head_pairs_are_the_moments_and_tails_of_their_entries() -> Outcome {
    let mut bench = Bench::small()?;
    let n = NEURONS / HEADS;
    for (matrix, encoder) in [("x", "encoder"), ("y", "encoder_v")] {
        let g = bench.g(encoder)?;
        let args =
            [("matrix", Value::Text(matrix.into())), ("deviations", Value::Float(2.0)), ("draws", Value::Int(2))];
        let found = bench.ask("head_pairs", &args)?;
        let measured: &HeadPairs = decoded(&found);
        assert_eq!((measured.heads, measured.pairs.len()), (HEADS, HEADS * HEADS));
        for (k, pair) in measured.pairs.iter().enumerate() {
            let (a, b) = (k / HEADS, k % HEADS);
            assert_eq!((pair.from_head, pair.to_head), (a + 1, b + 1));
            let entries: Vec<f64> = (a * n..(a + 1) * n)
                .flat_map(|i| (b * n..(b + 1) * n).map(move |j| (i, j)))
                .filter(|(i, j)| i != j)
                .map(|(i, j)| g[i][j])
                .collect();
            let count = entries.len() as f64;
            let mean = entries.iter().sum::<f64>() / count;
            let central = |power: i32| entries.iter().map(|e| (e - mean).powi(power)).sum::<f64>() / count;
            let sd = central(2).sqrt();
            assert!((pair.mean - mean).abs() < 1e-4 * sd && (pair.standard_deviation / sd - 1.0).abs() < 1e-4);
            assert!((pair.skewness - central(3) / sd.powi(3)).abs() < 1e-3, "head {a} to head {b}");
            assert!((pair.kurtosis - central(4) / sd.powi(4)).abs() < 1e-3, "head {a} to head {b}");
            for (share, side) in [(pair.positive_tail, 1.0), (pair.negative_tail, -1.0)] {
                // the probe's histogram rounds the limit outwards by at most one part in 128
                let beyond = |limit: f64| entries.iter().filter(|e| **e * side > limit * sd).count() as f64 / count;
                assert!(share <= beyond(1.9999) && share >= beyond(2.0001 * 129.0 / 128.0), "{share}");
            }
            let heavy = HeavyTail::new(pair.positive_tail > pair.random_tail, pair.negative_tail > pair.random_tail);
            assert_eq!(pair.heavy_tail, heavy);
        }
    }
    Ok(())
}

/// Five neurons of one head excite or inhibit five of the next. A random product has far fewer entries of this size.
#[test]
fn a_planted_circuit_makes_the_tail_of_its_pair_heavy() -> Outcome {
    let mut bench = Bench::small()?;
    let n = NEURONS / HEADS;
    for (push, tail) in [(1.0, HeavyTail::Positive), (-1.0, HeavyTail::Negative)] {
        let noise = |k: usize| 0.02 * ((k * 7919 % 101) as f32 / 50.0 - 1.0);
        let mut decoder: Vec<f32> = (0..NEURONS * WIDTH).map(noise).collect();
        let mut encoder: Vec<f32> = (0..NEURONS * WIDTH).map(|k| noise(k + 5)).collect();
        for i in 0..5 {
            decoder[i * WIDTH..][..WIDTH].fill(1.0);
            // the encoder has the shape (nh, D, N), and this row belongs to head 1
            (0..WIDTH).for_each(|d| encoder[(WIDTH + d) * n + i] = push);
        }
        let params = bench.model.params();
        params.load("decoder", &Tensor::from_vec(decoder, (NEURONS, WIDTH), &Device::Cpu)?)?;
        params.load("encoder", &Tensor::from_vec(encoder, (HEADS, WIDTH, n), &Device::Cpu)?)?;
        let found = bench.ask("head_pairs", &[("deviations", Value::Float(2.0))])?;
        let pair = decoded::<HeadPairs>(&found).pairs[1].clone();
        assert_eq!((pair.from_head, pair.to_head, pair.heavy_tail), (1, 2, tail), "{pair:?}");
        assert!(pair.skewness * f64::from(push) > 1.0, "{pair:?}");
    }
    Ok(())
}

#[test]
fn a_core_is_measured_beside_rewired_graphs_of_the_same_degrees() -> Outcome {
    let mut bench = Bench::small()?;
    let args = [("edges", Value::Int(300)), ("rewirings", Value::Int(4)), ("share", Value::Float(0.2))];
    let found = bench.ask("core_periphery", &args)?;
    let measured: CorePeriphery = decoded::<CorePeriphery>(&found).clone();
    let found = bench.ask("neuron_graph", &[("edges", Value::Int(300))])?;
    let graph: &NeuronGraph = decoded(&found);
    let summary = graph.summary.as_ref().ok_or("no summary")?;
    assert_eq!((measured.core_k, measured.core_size), (summary.core_k, summary.core_size));
    assert_eq!((measured.edges, measured.carrying), (300, graph.neurons.len()));
    assert_eq!((measured.core_k_rewired.len(), measured.rich_club_rewired.len()), (4, 4));
    let mut order: Vec<usize> = (0..graph.neurons.len()).collect();
    order.sort_by_key(|v| (std::cmp::Reverse(graph.in_degree[*v] + graph.out_degree[*v]), *v));
    let club = &order[..(0.2 * order.len() as f64).ceil() as usize];
    let inside = |v: u32| club.contains(&(v as usize));
    let joined = graph.edges.iter().filter(|(a, b, _)| inside(*a) && inside(*b)).count();
    let density = joined as f64 / (club.len() * (club.len() - 1)) as f64;
    assert!((measured.rich_club - density).abs() < 1e-12, "{} {density}", measured.rich_club);
    Ok(())
}

/// y of the previous layer and x of the layer at every token of the held-out passage, each `(T, n)`.
fn activations(bench: &Bench, tokens: usize, layer: usize) -> candle_core::Result<[Vec<Vec<f64>>; 2]> {
    let ids = bench.corpus.passage(0, tokens);
    let input = Tensor::from_slice(&ids[..tokens], (1, tokens), &Device::Cpu)?;
    let mut tap = Tap::on(&["layers."]);
    bench.model.capabilities().token_model.unwrap().logits(&input, &mut tap)?;
    let n = NEURONS / HEADS;
    let values = |path: String| -> candle_core::Result<Vec<Vec<f64>>> {
        let all = host::to_f64(tap.get(&path).unwrap())?; // (1, nh, T, N)
        let at = |t: usize, i: usize| all[((i / n) * tokens + t) * n + i % n];
        Ok((0..tokens).map(|t| (0..NEURONS).map(|i| at(t, i)).collect()).collect())
    };
    Ok([values(format!("layers.{}.y", layer - 1))?, values(format!("layers.{layer}.x"))?])
}

/// Equation (16) of the paper, entry by entry: what a token wrote s tokens ago is rotated by s positions.
#[test]
fn synapses_after_a_text_are_the_sum_of_what_its_tokens_wrote() -> Outcome {
    const TOKENS: usize = 40;
    for position in [Position::Rope, Position::Alibi, Position::Nothing] {
        let spec =
            BdhSpec { neurons: NEURONS, d_model: WIDTH, heads: HEADS, layers: 3, position, ..BdhSpec::default() };
        let mut bench = Bench::new(spec)?;
        let n = NEURONS / HEADS;
        for (layer, heads) in [(1, None), (2, Some((2usize, 4usize)))] {
            let [y, x] = activations(&bench, TOKENS, layer)?;
            let (turns, damping) = {
                let model = bench.model.capabilities().synapses.ok_or("no synapses")?;
                (model.shape().turns_per_token(), decays(HEADS))
            };
            let turned = |s: usize, j: usize, row: &[f64]| -> f64 {
                let back = (TOKENS - 1 - s) as f64;
                let decay = if position == Position::Alibi { f64::from(damping[j / n]).powf(back) } else { 1.0 };
                let turn = if position == Position::Rope { f64::from(turns[j % n / 2]) } else { 0.0 };
                let angle = back * turn * std::f64::consts::TAU;
                let side = if j.is_multiple_of(2) { angle.sin() } else { -angle.sin() };
                decay * (row[j] * angle.cos() + row[j ^ 1] * side)
            };
            let sigma = |i: usize, j: usize| (0..TOKENS).map(|s| y[s][i] * turned(s, j, &x[s])).sum::<f64>();
            let inside = |i: usize, j: usize| i != j && heads.is_none_or(|(a, b)| (i / n + 1, j / n + 1) == (a, b));
            let mut all: Vec<(f64, usize, usize)> = (0..NEURONS)
                .flat_map(|i| (0..NEURONS).map(move |j| (i, j)))
                .filter(|(i, j)| inside(*i, *j))
                .map(|(i, j)| (sigma(i, j), i, j))
                .collect();
            all.sort_by(|a, b| b.0.total_cmp(&a.0));
            let (from, to) = heads.unwrap_or_default();
            let args = [
                ("matrix", Value::Text("sigma".into())),
                ("layer", Value::Int(layer as i64)),
                ("tokens", Value::Int(TOKENS as i64)),
                ("edges", Value::Int(50)),
                ("from_head", Value::Int(from as i64)),
                ("to_head", Value::Int(to as i64)),
            ];
            let found = bench.ask("neuron_graph", &args)?;
            let graph: &NeuronGraph = decoded(&found);
            let largest = all[0].0;
            assert!(largest > 0.0 && graph.edges.len() == 50);
            for (a, b, weight) in graph.edges.iter() {
                let (i, j) = (graph.neurons[a as usize] as usize, graph.neurons[b as usize] as usize);
                let entry = sigma(i, j);
                assert!(
                    (entry - f64::from(weight)).abs() < 1e-4 * largest,
                    "{position:?} {i} -> {j}: {entry}, {weight}"
                );
                assert!(inside(i, j) && entry >= all[49].0 - 1e-4 * largest, "{i} -> {j} is not among the largest");
            }
        }
    }
    Ok(())
}

#[test]
fn synapses_need_two_layers() -> Outcome {
    let spec = BdhSpec { neurons: NEURONS, d_model: WIDTH, heads: HEADS, layers: 1, ..BdhSpec::default() };
    let mut bench = Bench::new(spec)?;
    let error = bench.ask("neuron_graph", &[("matrix", Value::Text("sigma".into()))]).err();
    let error = error.map(|e| e.to_string()).unwrap_or_default();
    assert!(error.contains("one layer"), "{error}");
    Ok(())
}

#[test]
fn write_intervals_are_those_of_tokens_at_which_both_ends_fire() -> Outcome {
    const TOKENS: usize = 60;
    let mut bench = Bench::small()?;
    let [y, x] = activations(&bench, TOKENS, 1)?;
    // all synapses are measured, so that the random choice of a sample has no effect
    let all = NEURONS * NEURONS;
    let args = [("tokens", Value::Int(TOKENS as i64)), ("synapses", Value::Int(all as i64))];
    let found = bench.ask("write_intervals", &args)?;
    let measured: &WriteIntervals = decoded(&found);
    let (mut writes, mut twice, mut intervals) = (0, 0, vec![]);
    for (i, j) in (0..NEURONS).flat_map(|i| (0..NEURONS).map(move |j| (i, j))) {
        let times: Vec<usize> = (0..TOKENS).filter(|t| y[*t][i] > 0.0 && x[*t][j] > 0.0).collect();
        writes += times.len();
        twice += usize::from(times.len() > 1);
        intervals.extend(times.windows(2).map(|pair| pair[1] - pair[0]));
    }
    assert_eq!((measured.layer, measured.tokens, measured.synapses), (1, TOKENS, all));
    assert!(twice > 0 && measured.written_twice == twice, "{twice}");
    assert!((measured.write_share - writes as f64 / (all * TOKENS) as f64).abs() < 1e-12);
    let mean = intervals.iter().sum::<usize>() as f64 / intervals.len() as f64;
    assert!((measured.measured.mean - mean).abs() < 1e-9);
    assert_eq!(measured.measured.longest as usize, intervals.iter().copied().max().unwrap_or_default());
    assert!(measured.shuffled.mean > 1.0 && measured.shuffled.longest < TOKENS as u32);
    Ok(())
}

#[test]
fn a_model_without_turns_has_no_octaves_and_wrong_heads_are_named() -> Outcome {
    let spec =
        BdhSpec { neurons: NEURONS, d_model: WIDTH, heads: HEADS, position: Position::Alibi, ..BdhSpec::default() };
    let mut bench = Bench::new(spec)?;
    let found = bench.ask("neuron_graph", &[("edges", Value::Int(50))])?;
    assert_eq!(decoded::<NeuronGraph>(&found).groups.octave, None);
    let heads = [("from_head", Value::Int(5)), ("to_head", Value::Int(1))];
    let said = bench.ask("neuron_graph", &heads).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(said.contains("4 heads, not 5"), "{said}");
    let said = bench.ask("graph_neuron", &[("neuron", Value::Int(96))]).err().map(|e| e.to_string());
    assert!(said.is_some_and(|s| s.contains("no neuron `96`")));
    let two = [("neuron", Value::Text("0:1, 0:2".into()))];
    let said = bench.ask("graph_neuron", &two).err().map(|e| e.to_string());
    assert!(said.is_some_and(|s| s.contains("one neuron is asked about at a time")));
    Ok(())
}

/// Before training, G is a product of random matrices. Its modularity is about that of this null model, and above that
/// of a rewired graph with the same degrees.
#[test]
fn before_training_the_graph_is_its_own_null_model() -> Outcome {
    let spec = BdhSpec { neurons: 1024, d_model: 32, heads: HEADS, ..BdhSpec::default() };
    let mut bench = Bench::new(spec)?;
    let args = [("most", Value::Int(8000)), ("restarts", Value::Int(2))];
    let found = bench.ask("graph_modularity", &args)?;
    let measured: GraphModularity = decoded::<GraphModularity>(&found).clone();
    assert_eq!(measured.edges, [1000, 2000, 4000, 8000]);
    for i in 1..4 {
        let (model, thin, matched) = (measured.model[i], measured.low_rank[i], measured.low_rank_same_norms[i]);
        assert!((model - thin).abs() < 0.03 && (model - matched).abs() < 0.03, "{model} {thin} {matched}");
        let rewired = measured.degree_preserving[i];
        assert!(measured.uniform[i] > 0.1 && rewired < model, "{rewired}");
    }
    let found = bench.ask("graph_curve", &[("edges", Value::Int(8000))])?;
    let curve: &ModularityAtStep = decoded(&found);
    assert!((curve.model - measured.model[3]).abs() < 0.02);
    assert_eq!((curve.edges, curve.carrying), (8000, measured.carrying[3]));
    Ok(())
}

#[test]
fn a_neurons_partners_are_its_row_and_its_column() -> Outcome {
    let mut bench = Bench::small()?;
    let g = bench.g("encoder")?;
    let found = bench.ask("graph_neuron", &[("neuron", Value::Int(31))])?;
    let measured: &GraphNeuron = decoded(&found);
    let row: fn(&[Vec<f64>], usize) -> f64 = |g, j| g[31][j];
    for (partners, effect) in [(&measured.acts_on, row), (&measured.acted_on_by, |g, j| g[j][31])] {
        let mut all: Vec<(f64, usize)> = (0..NEURONS).filter(|j| *j != 31).map(|j| (effect(&g, j), j)).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (first, last) = (&all[..6], &all[all.len() - 6..]);
        let expected: Vec<u32> = first.iter().chain(last).map(|(_, j)| *j as u32).collect();
        assert_eq!(partners.iter().map(|p| p.neuron).collect::<Vec<_>>(), expected);
        assert!((partners[0].entry - all[0].0).abs() < 1e-8);
    }
    assert_eq!((measured.writes.len(), measured.reads.len()), (8, 8));
    let name = neuron_name(31, measured.per_head as usize);
    let again = bench.ask("graph_neuron", &[("neuron", Value::Text(name.clone()))])?;
    assert_eq!(decoded::<GraphNeuron>(&again), measured, "{name} names it too");
    Ok(())
}

/// A setting that is changed during training acts on the run's next measurements, also after the run is resumed.
#[test]
fn a_changed_setting_acts_on_what_the_run_measures_next() -> Outcome {
    let settings = [
        ("model.neurons", "96"),
        ("model.d_model", "8"),
        ("graph.edges", "200"),
        ("train.window", "16"),
        ("run.device", "cpu"),
    ];
    let plan = || plan_with("neuron_graph", None, &settings);
    let edges = |run: &mut Run| -> Result<(usize, String), Box<dyn std::error::Error>> {
        let cadence = run.plan.probes.iter().find(|c| c.probe == "neuron_graph").ok_or("not on schedule")?.clone();
        let found = run.ask(0, "neuron_graph", &cadence.args)?;
        let graph = |s: &Sample| Some((s.measurement::<NeuronGraph>()?.edges.len(), s.about.clone()));
        Ok(found.iter().find_map(graph).ok_or("no graph")?)
    };
    let searches = |run: &Run, probe: &str, arg: &str| {
        run.plan.probes.iter().find(|c| c.probe == probe).and_then(|c| c.args.get(arg)?.as_f64())
    };
    let mut run = Run::open(plan()?)?;
    assert_eq!(edges(&mut run)?.0, 200);
    run.set("graph.edges", &Value::Int(300))?;
    run.set("graph.sign", &Value::Text("inhibitory".into()))?;
    run.set("graph.restarts", &Value::Int(9))?;
    let (count, about) = edges(&mut run)?;
    assert!(count == 300 && about.contains("inhibitory"), "{count}, {about}");
    assert_eq!(searches(&run, "graph_curve", "restarts"), Some(9.0));
    assert_eq!(searches(&run, "graph_modularity", "searches"), Some(2.0), "the null models have their own");
    let mut again = Run::open(plan()?)?;
    again.restore(&run.checkpoint())?;
    assert_eq!(edges(&mut again)?.0, 300);
    Ok(())
}
