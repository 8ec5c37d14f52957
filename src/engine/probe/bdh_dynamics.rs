//! A small BDH as a physical system: its weights and a text's pulses, for the rules to run on, and the
//! paper's equivalences checked on them.

use crate::{
    analysis::{
        bdh_dynamics::{
            Dense, Discrepancy, Drift, Normfree, TrainedSynapses, Weights,
            checks::{self, Model as Physical},
            pulse,
        },
        dense::transposed,
    },
    nn::fused::linear_attention::decays,
    probe::prelude::*,
};

/// The limit of the text, in tokens.
const MAX_TOKENS: usize = 24;
/// The largest number of neurons of a model on which the rules are run, because they have n^2 synapses per layer.
const MAX_NEURONS: usize = 256;
/// Likeliest next tokens of each prediction.
const PREDICTIONS: usize = 3;

/// A model that the rules can be run on.
pub enum RuleSubject<'m> {
    /// A BDH-GPU of one head, without gates and with few neurons, whose graphs are products of thin matrices.
    Product(&'m dyn SynapseModel),
    /// A BDH on a graph of few neurons.
    Graph(&'m dyn TrainedGraph),
}

impl<'m> FromShared<'m> for RuleSubject<'m> {
    fn from_shared(model: &'m dyn Trainable) -> Option<Self> {
        let Capabilities { synapses, trained_graph, .. } = model.capabilities();
        if let Some(graph) = trained_graph {
            return (graph.neurons() <= MAX_NEURONS).then_some(Self::Graph(graph));
        }
        let model = synapses?;
        let SynapseShape { heads, gated, neurons, ref attention, .. } = *model.shape();
        let fits = heads == 1 && !gated && attention.frequencies.is_none() && neurons <= MAX_NEURONS;
        fits.then_some(Self::Product(model))
    }
}

/// The rules run on the first `MAX_TOKENS` tokens and have no LayerNorm. One number stands in for all of them: a gain
/// on D_y with which the last layer's E y is, on average over this text, as long as the embeddings that came in. A graph
/// that was trained edge by edge is handed over as it is, with its norms over neurons, and is not checked: it is not a
/// product.
impl Probe for BdhDynamicsArgs {
    type Answer = (BdhDynamicsWeights, Option<BdhDynamicsChecks>);
    type Subject<'m> = RuleSubject<'m>;

    fn ask(&self, subject: RuleSubject<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let text = Prompt::read(cx, &self.text, self.passage, MAX_TOKENS)?;
        match subject {
            RuleSubject::Product(model) => ask_product(model, self, cx, text),
            RuleSubject::Graph(graph) => ask_graph(graph, self, cx, text),
        }
    }
}

/// The answer: the weights, and the equivalences where they are checked.
type Rules = Answer<(BdhDynamicsWeights, Option<BdhDynamicsChecks>)>;

/// The weights of a BDH-GPU, and the equivalences checked on them.
fn ask_product(model: &dyn SynapseModel, args: &BdhDynamicsArgs, cx: &ProbeInputs<'_>, text: Prompt) -> Result<Rules> {
    let SynapseShape { neurons, layers, .. } = *model.shape();
    let given = HostWeights::from_model(model)?;
    let (drift, words) = product_drift(model.shape(), args);
    let embedded: Vec<Vec<f64>> = text.ids.iter().map(|id| given.embedded(*id)).collect();
    let pulses = pulses(&given, &text.ids, &embedded);
    let mut physical = Physical { weights: given.weights.clone(), drift: drift.clone(), layers };
    let gain = checks::gain(&physical, &pulses);
    physical.weights.dy.data.iter_mut().for_each(|v| *v *= gain.unwrap_or(1.0));
    let missed = unreached_share(&given, &pulses, &embedded);
    let unsaid = (missed > 0.01).then(|| format!(", {:.0}% of the embeddings no pulse can say", 100.0 * missed));
    let unsaid = unsaid.unwrap_or_default();
    let about = format!("{}, {neurons} neurons, {layers} layers, {words}{unsaid}", text.about);
    let with_norms = host::rows_f64(&model.logits(&text.tensor(cx.device)?, &mut Tap::off())?)?; // T of V
    let mut normfree = Normfree::new(physical.weights.clone(), drift.clone(), layers);
    let without = |y0: &Vec<f64>| {
        let answer = normfree.token(y0).pop().map_or(vec![], |l| physical.weights.e.times(&l.y));
        given.logits(&norm(&answer))
    };
    let by_rules: Vec<Vec<f64>> = pulses.iter().map(without).collect();
    let weights = BdhDynamicsWeights {
        e: array(&given.weights.e)?,
        d_x: array(&given.weights.dx)?,
        d_y: array(&given.weights.dy)?,
        pulses: array(&rows(&pulses))?,
        layers,
        gain: gain.unwrap_or(f64::NAN),
        keep: drift.retention(0),
        rotates: drift.rotates(),
        unreached: missed,
        agreements: agreements(&with_norms, &by_rules),
        model_predictions: predictions(cx.corpus, &with_norms),
        rule_predictions: predictions(cx.corpus, &by_rules),
        graph: None,
    };
    let checks = answers(&physical, &pulses);
    Ok(Answer::new((weights, Some(checks)), about, text.tokens))
}

/// The graph itself. Its rules have the model's norms, so that they are the model where U is as trained.
fn ask_graph(model: &dyn TrainedGraph, args: &BdhDynamicsArgs, cx: &ProbeInputs<'_>, text: Prompt) -> Result<Rules> {
    let (n, layers) = (model.neurons(), model.layers());
    let square = |t: &Tensor| -> Result<Dense<f64>> {
        Dense::from_rows(n, n, &host::to_f64(t)?).ok_or_else(|| candle_core::Error::msg("the graph is not square"))
    };
    let graph = model.graph()?;
    let (gx, gy) = (square(&graph.wires)?, square(&graph.prods)?);
    let trained = args.drift == SynapseDrift::Trained;
    let keep = if trained { host::to_f64(&graph.retention)? } else { vec![1.0; n] };
    let (norms, single_state) = (graph.norms, graph.single_state);
    let synapses = TrainedSynapses { weights: square(&graph.synapses)?, retention: keep, norms, single_state };
    let (drift, words) = match trained {
        true => (Drift::identity(n), "each neuron's synapses keep a share of their own as trained".to_owned()),
        false => drift(n, effects(args.drift), args.keep),
    };
    let tokens = text.tensor(cx.device)?;
    let pulses = host::rows_f64(&model.pulses(&tokens)?)?; // T of n
    let by_model = host::rows_f64(&model.logits(&tokens, &mut Tap::off())?)?; // T of V
    let head = host::rows_f64(&graph.head)?; // V of n
    let system = synapses
        .system([&gx, &gy], &drift, layers)
        .ok_or_else(|| candle_core::Error::msg("the circuits of the graph differ in size"))?;
    let mut state = system.initial_state();
    let by_rules: Vec<Vec<f64>> = pulses
        .iter()
        .map(|pulse| {
            system.receive_token(&mut state, pulse);
            // the last round's wires leave y unchanged, so that y of the last layer can be read afterwards
            while system.round(&mut state).is_some() {}
            head.iter().map(|row| dot(row, &state.y)).collect()
        })
        .collect();
    let mut identity = Dense::<f64>::zeros(n, n);
    (0..n).for_each(|i| identity.row_mut(i)[i] = 1.0);
    let norms = if graph.norms { ", norms over neurons" } else { "" };
    let state = if graph.single_state { " with one state" } else { "" };
    let about = format!("{}, a trained graph of {n} neurons, {layers} layers{state}, {words}{norms}", text.about);
    let weights = BdhDynamicsWeights {
        e: array(&identity)?,
        d_x: array(&gx)?,
        d_y: array(&gy)?,
        pulses: array(&rows(&pulses))?,
        layers,
        gain: 1.0,
        keep: drift.retention(0),
        rotates: drift.rotates(),
        unreached: 0.0,
        agreements: agreements(&by_model, &by_rules),
        model_predictions: predictions(cx.corpus, &by_model),
        rule_predictions: predictions(cx.corpus, &by_rules),
        graph: Some(GraphSynapses {
            weights: array(&synapses.weights)?,
            keep: synapses.retention.into(),
            norms: synapses.norms,
            single_state: synapses.single_state,
        }),
    };
    Ok(Answer::new((weights, None), about, text.tokens))
}

/// Positions at which both name the same likeliest token.
fn agreements(a: &[Vec<f64>], b: &[Vec<f64>]) -> usize {
    a.iter().zip(b).filter(|(a, b)| largest(a, 1) == largest(b, 1)).count()
}

/// The likeliest next tokens at each position, likeliest first.
fn predictions(corpus: &Corpus, logits: &[Vec<f64>]) -> Vec<Vec<LikelyToken>> {
    let likeliest = |logits: &Vec<f64>| {
        let p = softmax(logits);
        let likely = |i: usize| LikelyToken { token: corpus.token_text(i as u32), probability: p[i] };
        largest(logits, PREDICTIONS).into_iter().map(likely).collect()
    };
    logits.iter().map(likeliest).collect()
}

/// The weights as plain numbers.
struct HostWeights {
    embed: Vec<f64>,   // (V, D)
    lm_head: Vec<f64>, // (D, V)
    vocab: usize,
    d: usize,
    weights: Weights<f64>,
}

impl HostWeights {
    fn from_model(model: &dyn SynapseModel) -> Result<Self> {
        let SynapseShape { d_model: d, neurons: n, .. } = *model.shape();
        let get = |name: &str| match model.params().get(name) {
            Some(v) => host::to_f64(v.as_tensor()),
            None => bail!("the model has no parameter `{name}`"),
        };
        let embed = get("embed.weight")?;
        let fits = || candle_core::Error::msg("the weights do not have the sizes of their model");
        // encoder (1, D, N) is D_x's transpose, decoder (n, D) is E's.
        let dx = Dense::from_rows(d, n, &get("encoder")?).ok_or_else(fits)?;
        let dy = Dense::from_rows(d, n, &get("encoder_v")?).ok_or_else(fits)?;
        let e = Dense::from_rows(n, d, &get("decoder")?).ok_or_else(fits)?;
        let weights = Weights::new(transpose(&e), transpose(&dx), transpose(&dy)).ok_or_else(fits)?;
        Ok(Self { vocab: embed.len() / d, embed, lm_head: get("lm_head")?, d, weights })
    }

    /// v*_{t,0} of a token: its normed embedding.
    fn embedded(&self, id: u32) -> Vec<f64> {
        norm(self.embed.chunks(self.d).nth(id as usize).unwrap_or_default())
    }

    fn logits(&self, v: &[f64]) -> Vec<f64> {
        let column = |t: usize| v.iter().enumerate().map(|(i, v)| v * self.lm_head[i * self.vocab + t]).sum();
        (0..self.vocab).map(column).collect()
    }
}

fn transpose(m: &Dense<f64>) -> Dense<f64> {
    Dense { rows: m.cols, cols: m.rows, data: transposed(&m.data, m.rows, m.cols) }
}

/// Applies a LayerNorm without weights, as the model does.
fn norm(v: &[f64]) -> Vec<f64> {
    let mean = statistics::mean(v);
    let variance = statistics::mean_of(v.iter().map(|x| (x - mean) * (x - mean)));
    v.iter().map(|x| (x - mean) / (variance + 1e-5).sqrt()).collect()
}

/// The matrix U that the arguments select, and its description.
fn product_drift(shape: &SynapseShape, args: &BdhDynamicsArgs) -> (Drift, String) {
    if args.drift != SynapseDrift::Trained {
        return drift(shape.neurons, effects(args.drift), args.keep);
    }
    let own = f64::from(decays(1).first().copied().unwrap_or(1.0));
    let (drift, words) = drift(shape.neurons, [shape.attention.rotary, shape.attention.damped], own);
    (drift, words + " as trained")
}

/// Returns whether synapses rotate and whether they decay.
fn effects(kind: SynapseDrift) -> [bool; 2] {
    [SynapseDrift::Rotation, SynapseDrift::Damping].map(|one| kind == one || kind == SynapseDrift::Both)
}

/// U over n neurons, with its description.
fn drift(n: usize, [turns, decays]: [bool; 2], keep: f64) -> (Drift, String) {
    let keep = if decays { keep } else { 1.0 };
    let drift = if turns { Drift::rope(n) } else { Drift::identity(n) }.with_damping(keep);
    let words = match (turns, keep < 1.0) {
        (true, true) => format!("synapses turn and keep {keep:.3} a token"),
        (true, false) => "synapses turn".to_owned(),
        (false, true) => format!("synapses keep {keep:.3} a token"),
        (false, false) => "synapses keep all".to_owned(),
    };
    (drift, words)
}

/// The pulse y >= 0 of each token, with E y its embedding, in f32 as it is handed on.
fn pulses(given: &HostWeights, ids: &[u32], embedded: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut known: std::collections::BTreeMap<u32, Vec<f64>> = Default::default();
    let token_pulse = |(id, v): (&u32, &Vec<f64>)| {
        let fire = || pulse(&given.weights.e, v).into_iter().map(|p| f64::from(p as f32)).collect();
        known.entry(*id).or_insert_with(fire).clone()
    };
    ids.iter().zip(embedded).map(token_pulse).collect()
}

/// The share of the embeddings' length that the pulses do not reach.
fn unreached_share(given: &HostWeights, pulses: &[Vec<f64>], embedded: &[Vec<f64>]) -> f64 {
    let (mut off, mut all) = (0.0, 0.0);
    for (p, v) in pulses.iter().zip(embedded) {
        off += statistics::norm(&difference(&given.weights.e.times(p), v));
        all += statistics::norm(v);
    }
    if all > 0.0 { off / all } else { 0.0 }
}

fn rows(all: &[Vec<f64>]) -> Dense<f64> {
    let cols = all.first().map_or(0, Vec::len);
    Dense { rows: all.len(), cols, data: all.concat() }
}

fn array(m: &Dense<f64>) -> Result<Array> {
    let values = m.data.iter().map(|v| *v as f32).collect();
    Ok(Array::new([m.rows, m.cols], values)?)
}

/// Every check with its error and bound by token, as shares of the largest value compared; and Claim 3's
/// edges.
fn answers(physical: &Physical, pulses: &[Vec<f64>]) -> BdhDynamicsChecks {
    let relative = |v: f64, g: &Discrepancy| if g.size > 0.0 { v / g.size } else { v };
    let by_token = |gaps: Vec<Discrepancy>| CheckByToken {
        error: gaps.iter().map(|g| relative(g.error, g)).collect(),
        bound: gaps.iter().map(|g| relative(g.bound, g)).collect(),
        share: gaps.iter().map(|g| g.share).collect(),
    };
    let n = physical.weights.n();
    let [wires, prods] = checks::squares(physical).map(|s| ConstructionCheck {
        error: relative(s.construction.error, &s.construction),
        bound: relative(s.construction.bound, &s.construction),
        share: s.construction.share,
        excitatory_edges: s.edges[0],
        inhibitory_edges: s.edges[1],
        allowed_edges: s.allowed,
        pairs: n * n,
    });
    BdhDynamicsChecks {
        rules: by_token(checks::rule_discrepancies(physical, pulses)),
        normfree: by_token(checks::normfree_discrepancies(physical, pulses)),
        attention: by_token(checks::state_is_attention(physical, pulses)),
        two_steps: by_token(checks::two_step_discrepancies(physical, pulses)),
        wires,
        prods,
    }
}
