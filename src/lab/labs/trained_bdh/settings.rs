//! The settings of the lab of a trained BDH.

use crate::{
    config::CheckpointFile,
    labs::{
        bdh::{BdhSettings, corpus_settings},
        neuron_graph::GraphSettings,
        prelude::*,
        synapses::settings::{ConceptSettings, ReadingSettings},
    },
    models::bdh::{Form, Position},
};

settings! {
    pub struct TrainedBdhSettings {
        model: FileSettings,
        reading: ReadingSettings { longest: 128 },
        contexts: ContextSettings,
        concepts: ConceptSettings,
        change: ChangeSettings,
        graph: GraphSettings,
        // The file says how many tokens it knows.
        #[fixed(vocab, domains, answers_only, spacing)]
        #[only(tokenizer: TokenKind::Byte, TokenKind::SortedChar, TokenKind::HuggingFace)]
        corpus: CorpusSettings = corpus_settings("mixture"),
        train: TrainSettings { steps: 0, lr: 1e-3, batch: 1, window: 128 },
        probe: ProbeSettings,
        run: RunSettings { eval_windows: 4 },
    }

    /// The model, which brings its own sizes.
    pub struct FileSettings in "model" {
        /// A trained BDH: .safetensors, .pt or .pth, of the public PyTorch code, of `orrery export` or of `orrery model merge`. Its sizes are the file's; without one the weights are random.
        checkpoint: CheckpointFile = CheckpointFile::default() => "Checkpoint";
        /// How many layers a token passes through. 0 takes the number in the file, or 6 (as in the public code) where it has none: layers share one set of weights, which do not show it. The view Model says what the model has.
        layers: usize = 0 => "Layers", range(0..=64), symbol("L");
        /// The effect of time on a synapse, where the file does not say. The public code has rope.
        position: Position = Position::Rope => "Time", symbol("U");
        /// Which residuals it has, where the file does not say: those of the public code, of equations (4) and (8) of the paper, both, final_norm, the code's with one norm at the end, or normfree, equation (7).
        form: Form = Form::Code => "Form";
    }

    /// The search for passages that drive a neuron or a synapse most; also arguments of the probe `top_contexts`.
    pub struct ContextSettings in "contexts" {
        /// The neuron, as head:index, both counted from 0. Where one is selected in the graph, it is that one.
        neuron: String = "0:0".to_owned() => "Neuron to follow", in_views;
        /// y: what the neuron writes. x: the neuron as a key and a query. Synapse: what each token adds to the synapse in focus, y(i) x(j).
        of: FollowedKind = FollowedKind::Y => "Activity to follow", in_views;
        /// The layer of a neuron's activation, counted from 0. -1 takes the greatest of all layers at each token.
        layer: i64 = -1 => "In layer", range(-1..=63), in_views;
        /// Which part of the text under Text is read: what is held out of training, what a model would be trained on, or all of it.
        span: SpanKind = SpanKind::HeldOut => "Read", in_views;
        /// Reading ends after this many tokens. 0 reads to the end; memory does not grow with the text.
        tokens: usize = 65_536 => "At most", range(0..=1_000_000_000), in_views, unit("tokens");
        /// Each window is read by itself, from an empty state, so that a passage read alone gives the same values.
        window: usize = 128 => "Window", range(2..=4096), in_views, unit("tokens");
        /// How many windows with the greatest values are shown.
        top: usize = 20 => "Passages", range(1..=200), in_views;
    }

    /// A change of neurons or synapses while the model reads the text under Reading.
    pub struct ChangeSettings in "change" {
        /// Neurons: their activation at each token. Synapses: what they hold of all that was read.
        target: TargetKind = TargetKind::Neurons => "Change in", in_views;
        /// The neurons, as head:index, both counted from 0, separated by commas: 0:12, 2:517. None leaves the model as it is.
        neurons: String = String::new() => "Neurons", in_views;
        /// The synapses, as layer y>x, separated by commas: 2 0:517>3:33 runs from neuron 0:517 of y in layer 1 to neuron 3:33 of x in layer 2. A layer and two numbers over all heads also work: 2:517:1569.
        synapses: String = String::new() => "Synapses", in_views;
        /// Silence: the activation, or what the synapse holds, is 0. Scale: it is multiplied by the amount. Clamp: it is the amount at every token.
        action: ActionKind = ActionKind::Silence => "Kind of change", in_views;
        /// The factor of Scale, or the value of Clamp. Silence needs none.
        amount: f64 = 2.0 => "Amount", range(-100.0..=100.0), in_views;
        /// For neurons. x: the neuron as a key and a query, and with it y, which is a multiple of x. y: only what the neuron writes.
        part: ChangedPart = ChangedPart::X => "Activation", in_views;
        /// For neurons: the one layer where it is done, counted from 0. -1 does it in every layer. A synapse has its own.
        layer: i64 = -1 => "In layer", range(-1..=63), in_views;
    }

    pub struct ProbeSettings in "probe" {
        /// Steps between two measurements while it trains on. 0 measures only when a view asks.
        every: u64 = 100 => "Measure every", range(0..=1_000_000), unit("steps"), live;
    }
}

/// Layers of the public code, whose files do not say.
const DEFAULT_LAYERS: usize = 6;

impl FileSettings {
    /// The settings that labs which train a BDH have; without a file their usual sizes.
    pub fn bdh(&self) -> BdhSettings {
        let usual = BdhSettings::default();
        let layers = match (self.layers, self.checkpoint.path()) {
            (0, Some(_)) => DEFAULT_LAYERS,
            (0, None) => usual.layers,
            (layers, _) => layers,
        };
        let (checkpoint, position, form) = (self.checkpoint.clone(), self.position, self.form);
        BdhSettings { layers, checkpoint, position, form, ..usual }
    }
}

impl ChangeSettings {
    /// The named neurons or synapses.
    pub fn named(&self) -> &str {
        match self.target {
            TargetKind::Neurons => self.neurons.trim(),
            TargetKind::Synapses => self.synapses.trim(),
        }
    }
}

impl TrainedBdhSettings {
    pub fn context_args(&self) -> TopContextsArgs {
        let ContextSettings { ref neuron, of, layer, span, tokens, window, top } = self.contexts;
        let neuron = neuron.clone();
        TopContextsArgs { neuron, of, layer, span, tokens, window, top, ..TopContextsArgs::default() }
    }

    /// The question for what the change does.
    pub fn intervention_args(&self) -> InterventionArgs {
        let ChangeSettings { target, ref neurons, ref synapses, action, amount, part, layer } = self.change;
        let (neurons, synapses) = (neurons.clone(), synapses.clone());
        let change = ChangeArgs { target, neurons, synapses, action, amount, part, layer };
        let (text, longest) = (self.reading.text.clone(), self.reading.longest);
        InterventionArgs { change, text, longest, ..InterventionArgs::default() }
    }
}
