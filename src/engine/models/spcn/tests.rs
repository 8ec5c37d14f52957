//! The network against its equations written out densely in 64 bits, and what must not change its numbers.

use super::*;
use crate::nn::set_threads;

const VOCAB: usize = 9;

fn tiny() -> SpcnSpec {
    let levels = vec![LevelSpec::new(16, 4, 0.5), LevelSpec::new(10, 3, 0.2), LevelSpec::new(6, 2, 0.1)];
    SpcnSpec { levels, ..SpcnSpec::default() }
}

fn batch(rows: &[&[u32]]) -> Batch {
    let len = rows.iter().map(|r| r.len()).max().unwrap_or_default();
    let (mut tokens, mut targets) = (vec![], vec![]);
    for row in rows {
        tokens.extend((0..len).map(|i| row.get(i).copied().unwrap_or(0)));
        targets.extend((0..len).map(|i| if i < row.len() { 1 } else { IGNORE }));
    }
    Batch::from_ids(&tokens, &targets, rows.len(), len, &Device::Cpu).unwrap()
}

const SENTENCES: [&[u32]; 4] = [&[0, 3, 5, 1, 8], &[1, 2, 2, 7], &[4, 0, 6, 5, 3, 1, 8, 2, 0, 7, 4], &[6]];

/// State and traces of a level after a word.
type ReadLevel = (Vec<f64>, [Vec<f64>; 2]);

/// The same network with full matrices, `[level][row][column]`.
struct Dense {
    spec: SpcnSpec,
    feedforward: Vec<Vec<Vec<f64>>>,
    lateral: Vec<Vec<Vec<f64>>>,
    feedback: Vec<Vec<Vec<f64>>>,
    variance: Vec<Vec<f64>>,
}

impl Dense {
    fn from_net(net: &Spcn, direction: &str) -> Self {
        let columns = |name: &str, l: usize| -> Vec<Vec<f64>> {
            let d = net.spec.levels[l].units;
            let values = net.values(&format!("{direction}.{l}.{name}")).unwrap();
            let inputs = values.len() / d;
            (0..d).map(|row| (0..inputs).map(|c| f64::from(values[c * d + row])).collect()).collect()
        };
        let all = |name: &str| (0..net.spec.levels.len()).map(|l| columns(name, l)).collect();
        let ones = net.spec.levels.iter().map(|l| vec![1.0; l.units]).collect();
        Self {
            spec: net.spec.clone(),
            feedforward: all("feedforward"),
            lateral: all("lateral"),
            feedback: all("feedback"),
            variance: ones,
        }
    }

    fn precision(&self, l: usize) -> Vec<f64> {
        let top = l + 1 == self.spec.levels.len();
        let [min, max] = self.spec.precision;
        let scale = if self.spec.precision_per_unit { self.variance[l].len() as f64 } else { 1.0 };
        self.variance[l].iter().map(|v| if top { 1.0 } else { (1.0 / (scale * v + 1e-8)).clamp(min, max) }).collect()
    }

    fn predicted(&self, x: &[Vec<f64>], l: usize) -> Vec<f64> {
        x.get(l + 1).map_or_else(|| vec![0.0; x[l].len()], |above| product(&self.feedback[l], above))
    }

    /// Reads and learns; returns states and traces after each word, by level.
    fn read(&mut self, sentence: &[u32]) -> Vec<Vec<ReadLevel>> {
        let s = self.spec.clone();
        let zeros: Vec<Vec<f64>> = s.levels.iter().map(|l| vec![0.0; l.units]).collect();
        let (mut x, mut buffers) = (zeros.clone(), vec![Vec::<Vec<f64>>::new(); zeros.len()]);
        let mut traces = [zeros.clone(), zeros.clone()];
        let mut read = vec![];
        for &word in sentence {
            let mut one_hot = vec![0.0; VOCAB];
            one_hot[word as usize] = 1.0;
            for _ in 0..s.sweeps {
                for l in 0..x.len() {
                    let predicted = self.predicted(&x, l);
                    let below = if l == 0 { &one_hot } else { &x[l - 1] };
                    let (up, beside) = (product(&self.feedforward[l], below), product(&self.lateral[l], &x[l]));
                    let pi = self.precision(l);
                    let query: Vec<f64> = (0..pi.len()).map(|j| pi[j] * (x[l][j] - predicted[j])).collect();
                    let c = retrieved(&s, &query, &buffers[l]);
                    let u: Vec<f64> = (0..pi.len())
                        .map(|j| s.feedforward * up[j] + s.feedback * predicted[j] + s.lateral * beside[j] + c[j])
                        .collect();
                    x[l] = top_k(&u, s.levels[l].active, s.unit_norm);
                }
            }
            for l in 0..x.len() - 1 {
                let predicted = self.predicted(&x, l);
                let r: Vec<f64> = x[l].iter().zip(&predicted).map(|(x, p)| x - p).collect();
                self.variance[l].iter_mut().zip(&r).for_each(|(v, r)| *v = 0.99 * *v + 0.01 * r * r);
                let pi = self.precision(l);
                for (j, row) in self.feedback[l].iter_mut().enumerate() {
                    for (w, above) in row.iter_mut().zip(&x[l + 1]) {
                        *w = (1.0 - s.decay) * *w + s.rate * pi[j] * (pi[j] * r[j]) * above;
                    }
                }
            }
            for l in 0..x.len() {
                let fast = s.levels[l].fast;
                for (traces, a) in traces.iter_mut().zip([fast, s.slow_share * fast]) {
                    traces[l].iter_mut().zip(&x[l]).for_each(|(tau, x)| *tau += a * (x - *tau));
                }
                buffers[l].push(x[l].clone());
                if buffers[l].len() > s.buffer {
                    buffers[l].remove(0);
                }
            }
            read.push((0..x.len()).map(|l| (x[l].clone(), [traces[0][l].clone(), traces[1][l].clone()])).collect());
        }
        read
    }
}

fn product(m: &[Vec<f64>], x: &[f64]) -> Vec<f64> {
    m.iter().map(|row| row.iter().zip(x).map(|(w, x)| w * x).sum()).collect()
}

fn top_k(u: &[f64], k: usize, unit_norm: bool) -> Vec<f64> {
    let mut by_size: Vec<usize> = (0..u.len()).collect();
    by_size.sort_by(|a, b| u[*b].total_cmp(&u[*a]));
    let mut x = vec![0.0; u.len()];
    by_size[..k].iter().for_each(|&j| x[j] = u[j].max(0.0));
    let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
    if unit_norm && norm > 0.0 {
        x.iter_mut().for_each(|v| *v /= norm);
    }
    x
}

fn retrieved(s: &SpcnSpec, query: &[f64], buffer: &[Vec<f64>]) -> Vec<f64> {
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let mut scores: Vec<(f64, &Vec<f64>)> = buffer
        .iter()
        .map(|b| {
            let dot: f64 = query.iter().zip(b).map(|(q, b)| q * b).sum();
            let lengths = norm(query) * norm(b);
            (if s.cosine { dot / if lengths > 0.0 { lengths } else { 1.0 } } else { dot }, b)
        })
        .collect();
    scores.sort_by(|a, b| b.0.total_cmp(&a.0));
    scores.truncate(s.retrieved);
    let sum: f64 = scores.iter().map(|(score, _)| score.exp()).sum();
    let mut c = vec![0.0; query.len()];
    for (score, b) in scores {
        c.iter_mut().zip(b).for_each(|(c, b)| *c += s.gain * score.exp() / sum * b);
    }
    c
}

#[test]
fn settling_learning_and_traces_are_the_equations() {
    let second = SpcnSpec { cosine: true, gain: 0.3, precision_per_unit: true, ..tiny() };
    // a faster rule, so that feedback counts within few sentences
    let fast = SpcnSpec { rate: 0.1, decay: 0.02, buffer: 3, retrieved: 2, ..tiny() };
    for spec in [tiny(), second, fast, SpcnSpec { buffer: 0, sweeps: 1, ..tiny() }] {
        let net = Spcn::new(&spec, VOCAB, 7, &Device::Cpu).unwrap();
        for (direction, from_right) in [("forward", false), ("backward", true)] {
            let mut dense = Dense::from_net(&net, direction);
            let mut reader = net.reader(direction).unwrap();
            for _ in 0..6 {
                for sentence in SENTENCES {
                    let words: Vec<u32> = reading::order(sentence.len(), from_right).map(|i| sentence[i]).collect();
                    let DirectionReader::Network(hierarchy) = &mut reader else { panic!("no network") };
                    let mut state = hierarchy.start();
                    for (&word, wanted) in words.iter().zip(dense.read(&words)) {
                        hierarchy.read(&mut state, word as usize, &mut |_| {});
                        hierarchy.learn(&state, word as usize);
                        hierarchy.remember(&mut state);
                        for (held, (x, traces)) in state.levels.iter().zip(&wanted) {
                            near(&held.dense, x);
                            near(&held.traces[0], &traces[0]);
                            near(&held.traces[1], &traces[1]);
                        }
                    }
                }
            }
            let DirectionReader::Network(hierarchy) = &mut reader else { panic!("no network") };
            for (l, level) in hierarchy.levels().iter().enumerate().take(2) {
                let rows = &dense.feedback[l];
                let flat: Vec<f64> = (0..rows[0].len()).flat_map(|c| rows.iter().map(move |row| row[c])).collect();
                near(&level.feedback, &flat);
                near(&level.variance, &dense.variance[l]);
                assert!(flat.iter().any(|w| w.abs() > 1e-3), "something is learned");
            }
        }
    }
}

fn near(found: &[f32], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len());
    found.iter().zip(wanted).for_each(|(f, w)| assert!((f64::from(*f) - w).abs() < 2e-4, "{f} is not {w}"));
}

fn learned(batches: &[Batch]) -> (Spcn, Vec<f64>) {
    let mut net = Spcn::new(&tiny(), VOCAB, 3, &Device::Cpu).unwrap();
    let losses = batches.iter().map(|b| net.learn(b).unwrap().loss).collect();
    (net, losses)
}

fn weights(net: &Spcn) -> Vec<u32> {
    net.params.iter().flat_map(|(_, var)| host::to_f32(var.as_tensor()).unwrap()).map(f32::to_bits).collect()
}

#[test]
fn threads_change_no_bit() {
    let batches = [batch(&SENTENCES[..2]), batch(&SENTENCES[2..])];
    let mut found = vec![];
    for n in [1, 2, 3] {
        set_threads(n);
        let (net, losses) = learned(&batches);
        let encoded = net.freeze().unwrap().encode(&SENTENCES);
        found.push((weights(&net), losses, encoded));
    }
    set_threads(1);
    assert!(found[0] == found[1] && found[0] == found[2]);
}

#[test]
fn only_feedback_and_variances_change_and_reading_changes_nothing() {
    let before = Spcn::new(&tiny(), VOCAB, 3, &Device::Cpu).unwrap();
    let (after, _) = learned(&[batch(&SENTENCES)]);
    for (name, var) in after.params.iter() {
        let same = before.values(name).unwrap() == host::to_f32(var.as_tensor()).unwrap();
        assert_eq!(same, name.ends_with("feedforward") || name.ends_with("lateral"), "{name}");
    }
    let held = weights(&after);
    after.evaluate(&batch(&SENTENCES)).unwrap();
    after.freeze().unwrap().encode(&SENTENCES);
    assert_eq!(held, weights(&after));
}

#[test]
fn directions_meet_at_every_word() {
    let net = Spcn::new(&SpcnSpec { slow_trace: false, ..tiny() }, VOCAB, 3, &Device::Cpu).unwrap();
    let encoder = net.freeze().unwrap();
    let (levels, encoded) = (encoder.levels(), encoder.encode(&SENTENCES));
    assert_eq!((levels[0].width, levels[0].activation.clone(), levels[0].traces.clone()), (64, 0..32, 32..64));
    assert_eq!(encoded[0].len(), 64 * SENTENCES.iter().map(|s| s.len()).sum::<usize>());
    // a first word read forward and a last word read backward have no past: the fast trace is half of the state
    let (first, last) = (&encoded[0][..64], &encoded[0][64 * 4..64 * 5]);
    for (row, direction) in [(first, 0), (last, 1)] {
        let (x, trace) = (&row[16 * direction..][..16], &row[32 + 16 * direction..][..16]);
        assert!(x.iter().zip(trace).all(|(x, t)| (0.5 * x - t).abs() < 1e-7));
        assert!((x.iter().map(|v| v * v).sum::<f32>() - 1.0).abs() < 1e-5);
    }
}

#[test]
fn words_without_a_network_are_their_traces() {
    let spec = SpcnSpec { network: false, ..tiny() };
    let mut net = Spcn::new(&spec, VOCAB, 3, &Device::Cpu).unwrap();
    assert_eq!(net.params.count(), 0);
    assert_eq!(net.learn(&batch(&SENTENCES)).unwrap().loss, 1.0);
    let encoder = net.freeze().unwrap();
    let row = &encoder.encode(&[&[4, 2]])[0][6 * VOCAB..]; // of the second word
    assert_eq!((row[2], row[VOCAB + 2]), (1.0, 1.0));
    // for each direction the fast trace, then the slow one: the first word is half as strong as the second
    let forward = &row[2 * VOCAB..];
    assert_eq!((forward[2], forward[4], forward[VOCAB + 2]), (0.5, 0.25, 0.075));
    assert_eq!(row[4 * VOCAB + 4], 0.0, "from the right, the first word is yet to come");
}

#[test]
fn sizes_and_words_that_do_not_fit_are_named() {
    for (spec, word) in [
        (SpcnSpec { levels: vec![], ..tiny() }, "level"),
        (SpcnSpec { levels: vec![LevelSpec { units: 4, active: 5, fast: 0.5 }], ..tiny() }, "keep 1 to 4"),
        (SpcnSpec { levels: vec![LevelSpec { units: 4, active: 2, fast: 0.0 }], ..tiny() }, "coefficient"),
        (SpcnSpec { precision: [0.0, 1.0], ..tiny() }, "precisions"),
        (SpcnSpec { retrieved: 0, ..tiny() }, "retrieve"),
    ] {
        let message = Spcn::new(&spec, VOCAB, 1, &Device::Cpu).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(message.contains(word), "{word}: {message}");
    }
    let mut net = Spcn::new(&tiny(), VOCAB, 1, &Device::Cpu).unwrap();
    let message = net.learn(&batch(&[&[VOCAB as u32]])).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(message.contains("not one of the 9 words"), "{message}");
}

#[test]
fn each_rule_changes_the_feedforward_weights_and_goes_on_from_parameters() {
    use FeedforwardRule::{Foldiak, ForwardForward, Sanger, Surprise};
    for rule in [Sanger, Foldiak, Surprise, ForwardForward] {
        let spec = SpcnSpec { feedforward_rule: rule, ..tiny() };
        let mut net = Spcn::new(&spec, VOCAB, 3, &Device::Cpu).unwrap();
        let before = Spcn::new(&tiny(), VOCAB, 3, &Device::Cpu).unwrap();
        let name = "forward.1.feedforward";
        assert_eq!(net.values(name).unwrap(), before.values(name).unwrap(), "all begin with the same weights");
        let halves = [batch(&SENTENCES[..2]), batch(&SENTENCES[2..])];
        for half in &halves {
            assert!(net.learn(half).unwrap().loss.is_finite(), "{rule:?}");
        }
        assert_ne!(net.values(name).unwrap(), before.values(name).unwrap(), "{rule:?}");
        // all at once is the same: what the rule needs lies in parameters and buffers
        let mut whole = Spcn::new(&spec, VOCAB, 3, &Device::Cpu).unwrap();
        whole.learn(&batch(&SENTENCES)).unwrap();
        for (name, var) in net.params.iter() {
            let other = whole.values(name).unwrap();
            let off =
                host::to_f32(var.as_tensor()).unwrap().iter().zip(&other).fold(0f32, |m, (a, b)| m.max((a - b).abs()));
            assert!(off < 1e-5, "{rule:?}: {name} is {off:e} off");
        }
        assert_eq!(net.feedforward_weights().unwrap().len(), 2 * tiny().levels.len());
        assert!(net.values("forward.0.inhibition").unwrap().iter().all(|a| *a <= 0.0));
    }
}
