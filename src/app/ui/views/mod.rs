//! Every view, one per file, and the one list of them.

pub mod accuracy;
pub mod attention;
pub mod bdh_dynamics;
pub mod causality;
pub mod connectivity;
pub mod cost;
pub mod equilibrium;
mod equilibrium_solves;
pub mod flow;
pub mod gate;
mod generator_distance;
pub mod grammar_roles;
pub mod graph;
pub mod logged;
pub mod loss_difference;
pub mod losses;
pub mod mechanisms;
pub mod next_tokens;
mod painting;
pub mod pair_attention;
pub mod phase_plane;
pub mod position_losses;
mod prelude;
mod program_questions;
pub mod race;
pub mod recoverability;
mod residual;
pub mod slow_manifold;
mod slow_memory;
pub mod staircase;
mod step_lengths;
pub mod streaming;
pub mod synapses;
mod task;
mod token_residuals;
pub mod trace_blocks;
pub mod traces;
mod trained_bdh;

pub use super::view::{Measured, Selection, View, ViewCx, ViewEntry, sample_subtitle};
use super::view::{boxed, panels};

/// A list of entries, each with its id, title, maker and text: two sentences on what it shows and how to read it, and where
/// something can be done in it a line on that.
macro_rules! views {
    ($($id:literal, $title:literal, $make:expr, $about:literal;)*) => {
        &[$($make($id, $title, $about)),*]
    };
}

pub static VIEWS: &[ViewEntry] = views! {
    "gate", "Gate", panels::<gate::Gate>,
    "tanh(\u{3b3}), the weight of the slow path in the fast one, over training; beneath it the gradient that moves \
     it. The paper calls a gate inside the band closed; one outside is open, which alone does not say that the slow \
     path helps. Its sign means nothing: the slow path may learn its own output negated, so a negative gate is as \
     open as a positive one.";
    "slow_memory", "Slow memory", panels::<slow_memory::SlowMemory>,
    "After how many slow tokens a slow path with a learned decay has forgotten all but 1/e, -1 / ln a, over training: \
     the median over channels and positions, and beneath it the first and the last decile. The block mean holds one \
     slow token whatever is learned; softmax attention sees its whole past.";
    "equilibrium_solves", "Equilibrium solves", panels::<equilibrium_solves::EquilibriumSolves>,
    "How close the solver came to the equation of the fast state at each training step, and how many solves of the \
     step, forward and (dashed) backward, stopped short of the tolerance. Where many do, the equation has no \
     solution near, and what is trained is the closest state that was found.";
    "losses", "Loss", panels::<losses::Losses>,
    "Cross-entropy on training batches (smoothed; of a single seed the raw line faint behind) and on held-out text \
     (dashed), a colour a variant. Lower is better; a held-out line that turns up while training falls means that the \
     model learns by heart.";
    "logged", "Logged", boxed::<logged::LoggedView>,
    "Everything logged that has no view of its own: numbers as curves, matrices as maps, tables as tables, texts as \
     texts, each at the step shown.\n\
     Choose one to see it large.";
    "questions", "Questions", boxed::<program_questions::ProgramQuestions>,
    "What the program that trains this run elsewhere answers, as far as it allows: attention along a text, the next \
     tokens, a pause, another learning rate. An answer opens in the view made for it; a question that waits says \
     since when.";
    "loss_difference", "Loss difference", panels::<loss_difference::LossDifference>,
    "Loss of each other variant minus the loss of the first one, on the same batches. Below zero it is better than \
     the first; where its band contains 0, the difference may be chance.";
    "accuracy", "Accuracy", panels::<accuracy::Accuracy>,
    "Share of the asked positions that each variant answers correctly, over training. The dotted line is what guessing \
     reaches.";
    "generator", "Generator", panels::<equilibrium::GeneratorView>,
    "Rates between states as a matrix and as a graph, and the stationary distribution that they lead to; where states \
     cannot reach one another, it says so.\n\
     Drag a cell or a line up or down to change a rate, double-click to remove it.";
    "generator_flow", "Relaxation", panels::<equilibrium::RelaxationView>,
    "How mass that starts in one state relaxes: by forward Euler, whose step may be pushed over its bound, by the \
     exact flow, and as single particles. Straight lines on the logarithmic axis are the slopes that the second \
     eigenvalue gives.";
    "generator_spectrum", "Spectrum", panels::<equilibrium::SpectrumView>,
    "Eigenvalues in the complex plane, each inside one of the discs of the columns, which all touch 0. Forward Euler \
     converges while all eigenvalues but those at 0 lie in the orange circle; the gap to 0 sets the pace.";
    "stationary_map", "Learned map", panels::<equilibrium::StationaryMapView>,
    "How far a network's answer is from the stationary distribution, over the control that sets the rates. The box is \
     what it was trained on; outside it the network extrapolates. Dotted in the curve over training: answering every \
     control with the distribution at y = 0.\n\
     Click to set the control.";
    "staircase", "Staircase", panels::<staircase::Staircase>,
    "One component of the fast state x and of the slow signal y along a sentence. The slow signal holds still over \
     each block.\n\
     Hover a token to see its block and the finished block that it reads.";
    "causality", "Causality", panels::<causality::Causality>,
    "How far the logits move at every position once one token is changed. Before the change they must not move at \
     all, however far the gate is opened.\n\
     Change one token and see.";
    "attention", "Attention", boxed::<attention::Attention>,
    "Attention maps of every layer and head: rows attend to columns. The bar under a map is its entropy \
     against that of uniform attention.";
    "phase_plane", "Phase plane", boxed::<phase_plane::PhasePlane>,
    "Where the query and the key of a token go before they meet, dashed by Euler's steps and solid by leapfrog's, in \
     the field that the model learned or in a toy whose true paths are known. Euler's blob of starts grows and its \
     path spirals outwards; leapfrog's keeps its area, and can be undone.";
    "slow_manifold", "Slow manifold", boxed::<slow_manifold::SlowManifold>,
    "Particles of \u{3b5} dx/dt = f, dy/dt = g (x fast) collapse on f = 0: a solid line where it attracts, dashed \
     where it repels, rings at the folds where a trajectory must jump. Beside it the distance of the true motion to f \
     = 0 and to Fenichel\u{2019}s h\u{2080} + \u{3b5}h\u{2081}: slopes 1 and 2 are the theorem. Its other chart has \
     the errors of averaging x away and of Lie splitting. M1 and M2 are two other things called a manifold. (Equation \
     (1) of the paper puts \u{3b5} before dy/dt, against its own text.)";
    "attention_by_layer", "Attention by layer", panels::<attention::AttentionByLayer>,
    "Entropy, effective rank, share of the largest singular value and weight on the first token, by layer: a line a \
     variant, dotted what uniform attention would give. Low entropy and a high weight on token 0 are an \
     attention sink; rings are the selected head.";
    "attention_side_by_side", "Side by side", boxed::<attention::SideBySide>,
    "One layer and head of every variant on one text and one scale, and the weights of one variant minus those of \
     another; the small maps are all heads of one variant.\n\
     Point at a cell for its weight in every map; a click on a small map chooses its head.";
    "attention_chain", "Markov step", panels::<attention::AttentionChainView>,
    "An attention matrix as one step of a Markov chain: its eigenvalues, where walks end and linger, over how many \
     positions a row spreads, and how far blocks of P positions are from a chain of their own. Under causal attention \
     every walk ends on the first token; the nulls say what chance alone gives.";
    "residual", "Residual", panels::<residual::Residual>,
    "How far the state is from what each method solves, against the passes made: a fixed point of the post block, or the \
     equations of backward Euler and of DEQ, as a share of the state. A line that falls straight on this axis converges at a \
     steady rate; that of plain passes also falls because the state grows.";
    "generator_distance", "Not a generator", panels::<generator_distance::GeneratorDistanceView>,
    "Column sums of the post block's one-step matrix I + J at a token, which are all 1 for a generator of a Markov \
     chain, and how far the nearest generator is from J, over training. Beside both: the same entries in random \
     places (dotted over training), and the random map of the paper.";
    "token_residuals", "By token", panels::<token_residuals::TokenResidualsView>,
    "How far each token's fast state is from its quasi-steady state after 0, 1, 2, 4 and 8 passes, and the same over \
     training beside the gate. If the gate opened where the fast path is close, it would rise as the lines fall; if a \
     token is selected, the lower lines are its own.";
    "next_tokens", "Next tokens", boxed::<next_tokens::NextTokens>,
    "What each variant expects after a text, likeliest first, and how it goes on by itself. \u{2713} marks the token \
     that the held-out text has there.\n\
     Type a text to ask about your own.";
    "cost", "Cost", boxed::<cost::Cost>,
    "Work of a forward pass in layers of full length, from the settings, beside a dense model of four layers; and \
     the measured time of a training step.";
    "race", "Race", panels::<race::Race>,
    "Held-out loss of the variants against tokens, seconds or operations, with mean and band over seeds; below, what \
     each needs to reach the loss of the first, and whether the difference may be chance over seeds. A variant ahead \
     by tokens may be behind by seconds.";
    "pair_attention", "Where the pair is found", panels::<pair_attention::PairAttention>,
    "Attention from a question of associative recall to the value, or the key, of the pair that answers it, by layer \
     over training. A line that leaves the dotted one, which is attention spread evenly, is a layer that has learned \
     to look there.";
    "step_lengths", "Step lengths", panels::<step_lengths::StepLengths>,
    "How long a step each head of a coupled model has learned to make before queries meet keys, over training. A \
     line that leaves the dashed start was moved by the loss; one near zero hardly evolves at all.";
    "trace_strips", "Traces under a sentence", boxed::<traces::TraceStrips>,
    "Each word has a colour of its own; the bars under it show how much of it is left in each trace when reading has \
     come to the cursor. Every word fades alike, whatever it means.";
    "trace_decay", "Decay", panels::<traces::TraceDecay>,
    "What is left of a word k words later in each trace, its weight, and the response of a trace to a step. The \
     dashed marks are the paper's, for \u{3b1} = 0.02.";
    "word_swap", "Swap a word", panels::<traces::WordSwap>,
    "Two sentences that differ in one word, and the distance of their traces after every word. When the distance is \
     gone, no reader of the trace can tell which sentence it was.";
    "recoverability", "Recoverability", panels::<recoverability::Recoverability>,
    "How often a trained reader names the token k steps back, with 95% intervals. No reader of a trace can know more \
     than the trace holds; the reader of the raw tokens shows what was thrown away. Over depth the dotted line is the \
     same map with the tokens exchanged.";
    "settling", "Settling", panels::<grammar_roles::SettlingView>,
    "A sentence read word by word: the units of every level after each sweep, then what the level above had wrong, \
     how much each unit's error counts, and the feedback weights; traces grow under the sentence. Units that change \
     between sweeps were moved by the level above, the other units of their level or the memory.";
    "role_accuracy", "Roles", boxed::<grammar_roles::RoleAccuracyView>,
    "How often the role of a word is named correctly, from the current activation, from traces and from both, with \
     95% intervals: with words of the training and with new ones (of a treebank, those outside the vocabulary). A \
     cross is a supervised tagger.";
    "mechanisms", "Mechanisms", panels::<mechanisms::Mechanisms>,
    "What each variant reaches, one tread each, with the spread of its seeds: every step adds one mechanism to the \
     one before, and the dashed tread is the first model made as large as the largest. Below are size, work and the \
     change of the loss; a step inside the band of the one before may be chance.";
    "trace_reading", "Reading", boxed::<trace_blocks::TraceReadingView>,
    "A text token by token in the heat of its prediction error or surprise, and what the model writes after it; \
     below, the three traces of a block, a row a channel. The slow trace smears: whatever two texts share there stays \
     alike long after they differ.";
    "unit_usage", "Unit usage", panels::<trace_blocks::UnitUsage>,
    "For what share of tokens each unit of a sparse layer is among the kept, most used first. A level line is an even \
     load; a cliff means that a few units always fire and many never do.";
    "autocorrelation", "Autocorrelation", panels::<trace_blocks::Autocorrelation>,
    "How much a block's input has to do with itself k tokens before, and, dashed, how much of a token each trace \
     still holds after as many. A trace that decays far more slowly than the line mostly keeps what is no longer of \
     use.";
    "position_losses", "By position", panels::<position_losses::PositionLosses>,
    "Held-out loss against how much of a long text was read, far beyond the window of training. A line that is level \
     after a few tokens belongs to a model that does not use a longer past.";
    "warm_up", "Warm-up", panels::<streaming::WarmUpView>,
    "Perplexity along texts that are read on with frozen weights, and (dashed) of the same windows read with empty \
     traces; beside it what empty traces cost, by tokens since. Only where solid lies below dashed has the past \
     helped: text that is merely easier is easier for both.";
    "fast_weights", "Fast weights", panels::<streaming::FastWeightsView>,
    "Predictors go on learning while they read, W + \u{3b7} \u{3c0} e h\u{1d40}: the effect on perplexity, a cell for \
     each rate \u{3b7} and limit of the precision \u{3c0}, warm where it is worse. \u{2248}: the 95% interval over \
     streams contains no change. Below, the same without the trained weights to add to.";
    "adaptation", "Adapt and forget", panels::<streaming::AdaptationView>,
    "A model learns from a foreign text, then reads its own: how much perplexity that saves in the last quarter of \
     the first and adds to the second, a dot for each rate. It learns by its fast weights or, without any, as a \
     fine-tuned copy. Best is far right and low.";
    "uncertainty", "Uncertainty", panels::<streaming::UncertaintyView>,
    "U, the mean inverse precision of the predictions' errors, in windows of the run's own text and of foreign ones, \
     and how often a foreign window has the larger one (AUROC; the paper: 0.74, 0.28 and 0.03). Below 0.5 foreign \
     text looks the more certain; rings are the model's own surprise, which needs no such machinery.";
    "steer", "Steering", boxed::<flow::SteerView>,
    "What the flow says at the control u: the next word's probabilities, the mass of the two classes, and how the text \
     goes on. The thin mark on each bar is the same model at u = 0.\n\
     Turn the control u, and the flow is solved again at once.";
    "flow_paths", "Paths", boxed::<flow::Paths>,
    "Where the flow carries the state of each token from \u{3c4} = 0 (ring) to 1 (disc), in the plane or the space \
     of largest variance. Dots are the solver's steps, crosses are rejected ones; streaks follow the field at the \
     \u{3c4} of the slider.";
    "flow_solver", "Solver", panels::<flow::Solver>,
    "The steps that the solver took, its error against its tolerance, and what it cost in evaluations. Beneath, the \
     ladder: since steps grow at most tenfold, the first one fixes how few there can be.";
    "flow_along", "Along the flow", panels::<flow::FlowAlongView>,
    "Speed of the state, curvature of its path and the largest stretch of the field's Jacobian, against \u{3c4}. \
     Nearly level lines mean a flow that a few steps follow.";
    "flow_sweep", "Sweeps", panels::<flow::Sweep>,
    "Evaluations, agreement of solvers, class mass, readability of layers and time, measured over a range in the \
     background.\n\
     Choose one and press Measure; it can be paused, go on where it was, or be cancelled.";
    "flow_claims", "Claims", boxed::<flow::Claims>,
    "What a steering reaches by the measure it was trained on, and what it does to words on nouns that it was never \
     trained on. Good numbers above and poor ones below mean a measure that misses the point.";
    "flow_training", "Gradients", panels::<flow::Training>,
    "Norms of the gradients, of the whole model and (dashed) of the flow alone, and below the flow's learned scale \
     \u{3b1}. Gradients that vanish or explode cross the dashed levels; the steps at which they do are counted.";
    "reading", "Reading", boxed::<synapses::ReadingView>,
    "A text read token by token, and what a synapse between two neurons holds after each; a cross marks a token at \
     which it gains at least half of its largest gain. Below, the synapses that gained most: the wider the line, the stronger now.";
    "activity", "Sparsity", panels::<synapses::Activity>,
    "The share of neurons above zero in each layer, over training. Dotted: the same with random weights; what lies \
     below it was learned.";
    "trained_bdh", "Model", boxed::<trained_bdh::TrainedBdhView>,
    "What an opened BDH is: its sizes are those of its tensors, not of any setting. Beside its loss on held-out text \
     is the loss of the tokens' frequencies alone; a model that is not below it reads other tokens than it was \
     trained on, or learned nothing.";
    "logit_lens", "Layer by layer", boxed::<trained_bdh::LogitLensView>,
    "The model's head applied after every layer (the logit lens): each cell has the likeliest next token, brighter \
     where the model is surer, outlined where the text has it. The top row is the whole model.\n\
     Click a cell for its likely tokens.";
    "intervention", "Intervention", boxed::<trained_bdh::Intervention>,
    "Chosen neurons or synapses are silenced, scaled or held at a value while a text is read. The line says how far \
     the next token's distribution moves; the dotted one, how far it moves for random ones of the same heads that are \
     as active.";
    "query_key_maps", "Query \u{b7} key", boxed::<trained_bdh::QueryKeyMapsView>,
    "How well each token\u{2019}s neurons answer to those of the tokens before it: the products of queries and keys \
     of BDH\u{2019}s linear attention, by layer and head, neither scaled nor normalised. Rows ask, columns answer; \
     blue is negative, which only rotation makes.\n\
     Click a row or a token for the tokens that it answers to.";
    "top_contexts", "Top contexts", panels::<trained_bdh::TopContextsView>,
    "The passages of a text that drive a neuron or a synapse most, one a line, the token that does it in the middle; \
     below, how its values are spread and which tokens it answers to, beside how often the text has them.\n\
     Click a passage to read it.";
    "surprise", "Surprise", panels::<synapses::SurpriseView>,
    "A word of eight random letters is met and then repeated seven times. Where the solid line falls from \
     \u{201c}new\u{201d} to \u{201c}known\u{201d}, fewer neurons fire for what is expected.";
    "concepts", "Concepts", boxed::<synapses::Concepts>,
    "Synapses that separate sentences with a concept from others, searched on one half and confirmed on new nouns in \
     new frames. A mark on each bar is the best that random weights reach; a full dot is a language in which it \
     works.";
    "concept_effect", "Concept test", boxed::<synapses::ConceptEffectView>,
    "A synapse that indicates a concept need not be used for it. It is silenced while the model reads new sentences: \
     the bars say what that adds to the loss after sentences with the concept and without it, the fine lines what \
     random synapses as active add.";
    "neuron_graph", "Neuron graph", boxed::<graph::NeuronGraph>,
    "Neurons that act on one another strongly, pulled together by their edges and pushed apart by all others. Where \
     a colour keeps together, the edges alone found it.\n\
     Hover for a name, click for a neuron's own edges.";
    "graph_table", "Table of the graph", boxed::<graph::GraphTable>,
    "The nodes and the edges of the graph with all their values.\n\
     Sort by a column, and filter by words and conditions such as degree>5. A click selects the node in the picture, \
     and the other way round.";
    "merging", "Merging", boxed::<synapses::Merging>,
    "Two models merged into one that has the neurons of both: a base, its two children tuned on texts of their own, \
     and the merged model; or this model and a file. A merged model that is near the better of its parents on every \
     text has kept what both knew.";
    "graph_threshold", "Threshold", panels::<connectivity::Threshold>,
    "How the entries of G are spread, on a logarithmic axis; what lies beyond the line \u{3b2} makes the edges of \
     the graph. Where the solid curve leaves its mirror image, the weights are not noise. Beneath, a sign for each pair of \
     heads: + more large positive entries than random products have, \u{2212} more negative ones, \u{b1} both, \u{b7} \
     neither.\n\
     Drag the line to set \u{3b2}.";
    "graph_modularity", "Modularity", panels::<connectivity::Modularity>,
    "How far the graph falls into communities (Newman's Q, best of several searches) against the number of edges, \
     beside random graphs with as many; and over training. Sparse random graphs have communities too: only the \
     distance to them counts.";
    "graph_degrees", "Degrees", panels::<connectivity::Degrees>,
    "How many edges leave and enter the neurons, on logarithmic axes. A straight fall is a power law; the words \
     beneath say where it begins, how far off it is, and whether a lognormal fits better.";
    "graph_neuron", "One neuron", boxed::<connectivity::Neuron>,
    "The neuron in focus: whom it raises (warm) and lowers (cool), who does so to it, the tokens that make it fire \
     in the first layer, and those it writes towards.\n\
     Click a partner to go there.";
    "bdh_rules", "Rules", boxed::<bdh_dynamics::Rules>,
    "The model's neurons on a circle (A inwards, X and Y outwards), its synapses as faint chords, and what the last \
     of the four rounds of local rules carried as bright ones: warm excites, cool inhibits. Bars show square roots.\n\
     Step, play, or click a neuron to poke it.";
    "bdh_checks", "Equivalences", panels::<bdh_dynamics::BdhChecksView>,
    "How far the two sides of each of the paper's equivalences are apart on these weights, token by token, beside \
     what rounding explains. A line above its dashed bound would mean that they differ.";
    "bdh_theory", "Theory", panels::<bdh_dynamics::Theory>,
    "Claims of the paper's theory, each tried on numbers drawn at random. They are a Markov chain followed by ReLU, \
     messages within blocks, two sources that reach a neighbour only together, facts that linear attention holds, hashed \
     keys, keys close in the L1 norm, a sparse state, predator and prey, spikes, and neurons that integrate and fire.";
    "oscillators", "Oscillators", panels::<bdh_dynamics::OscillatorsView>,
    "Particles joined by elastic connectors that relax or swing. A poke sends a pulse over the wires; where y came \
     just before x the connector between them is displaced, and later pulls.";
};

pub fn find(id: &str) -> Option<&'static ViewEntry> {
    VIEWS.iter().find(|v| v.id == id)
}
