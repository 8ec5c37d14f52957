//! # Orrery
//!
//! A desktop laboratory for the dynamics of small sequence models, while they learn and while they read. This page is
//! the architecture; `tests/tidy` checks the code against it, and `docs/imports.svg` draws its imports.
//!
//! ## Data flow
//!
//! **corpus -> model -> trainer -> (tap -> probe) -> telemetry -> inbox -> mirror -> view**; commands go the other way.
//!
//! | crate | what it is | knows |
//! | --- | --- | --- |
//! | `src/kernels` (`orrery_kernels`) | dense arithmetic and the fused operations under candle's autograd; with few exceptions the unsafe code | nothing of ours |
//! | `src/engine` (`orrery_engine`) | models, training, probes, telemetry and run folders; no window | kernels |
//! | `src/lab` (`orrery_lab`) | the labs, and the experiments made of their runs | engine |
//! | `src/app` (`orrery`) | this crate: wgpu, the interface and the commands | all of them |
//!
//! The compiler holds these floors. Inside the crates a test holds the following table:
//!
//! | module | what it is | what of ours it may use |
//! | --- | --- | --- |
//! | [`config`] | a run's settings: typed structs, the knobs they yield (the schema), values by key, TOML | nothing |
//! | [`files`] | opening what may be anything, writing what must be whole | nothing |
//! | [`random`] | numbers that look random and are the same everywhere | nothing |
//! | [`kernels`](orrery_engine::nn::kernels) | products, reductions, fused operations and their gradients; threads | nothing |
//! | [`corpus`] | bytes -> ids -> batches: text files, tokenisers, generated text | files, random |
//! | [`nn`] | what model families share: parameters, layers, optimiser, the tap | config, files, kernels, random |
//! | [`ode`] | differential equations on tensors: methods as tables, one loop, full traces, gradients | analysis, nn |
//! | [`analysis`] | mathematics on slices and graphs, and the formats of graph files | config, random |
//! | [`telemetry`] | the narrow waist: plain data only | analysis, config |
//! | [`gpu`] | wgpu pipelines and the off-screen renderer; knows no lab | nothing |
//! | [`models`] | the families of models, and the one list of them | analysis, config, files, nn, ode, random, telemetry |
//! | [`probe`] | a question put to a model; one question a file | analysis, config, corpus, models, nn, ode, random, telemetry |
//! | [`store`] | a run folder: writer, reader, checkpoints, exports | config, files, nn, telemetry |
//! | [`trainer`] | drives one run: one thread trains, others answer with models of their own | config, corpus, files, models, nn, probe, store, telemetry |
//! | [`labs`] | a lab is a value: question, settings, presets, plan, panes, drawing | analysis, config, corpus, models, nn, ode, probe, telemetry, trainer (plain configuration) |
//! | [`experiments`] | what serves the runs of any lab: headline numbers, series, seeds, the table of runs, sweeps, links, the ledger of claims | analysis, config, files, labs, store, telemetry |
//! | [`ui`] | app shell, mirror, theme, panels, views | analysis, config, experiments, gpu, labs, random, telemetry |
//! | [`cli`] | the commands; the only module that wires everything | all |
//!
//! ## The few ideas
//!
//! - **Tap.** Layers offer activations by path (`post.0.attn.weights`); off by default, costs nothing
//!   then. A layer whose fused form does not have the wanted value takes its reference path.
//! - **Probe.** What to measure: the arguments of a question, a [`probe::Probe`], get a model and a corpus and
//!   return an answer, a typed [`telemetry::Measurement`]. Runs every k steps or when asked
//!   ([`telemetry::Command::Measure`]).
//! - **Measurement.** One serde struct a channel ([`telemetry::measurements`]): probes make it, views ask
//!   for it by its type, run folders hold its JSON, `orrery schema` prints its schema.
//! - **Capability.** A model offers what it has, its attention, its flow, its synapses
//!   ([`models::capabilities`]); probes ask for that and never for a family.
//! - **Local learning.** A family whose update is a rule of its own rather than a gradient offers it
//!   ([`models::capabilities::LocalLearning`]); the trainer hands it a batch where it would otherwise differentiate a loss and
//!   step an optimiser. What is learned lies in parameters and buffers, so that all else is as for any run.
//! - **Part.** A block is given its attention and its MLP; a variant is a small file (`nn/attention`).
//! - **Settings.** A lab's settings are one declaration, from which knobs, ranges, TOML, tooltips and the
//!   plan derive ([`config`]).
//! - **Question.** All views of a page share one book of what was asked and when it is due again
//!   ([`ui::questions`]). A question belongs to a step: the trainer's worker finds the weights of the newest snapshot at or
//!   before it (in memory, or in the run's folder) and hands both to threads with models of their own, which answer, say how
//!   far they are and can be told to stop. The training neither waits nor notices.
//! - **Lesson.** A page of text whose steps are data ([`labs::lesson`]): what each sets, what to guess, and how the
//!   run bears it out; tests hold every stated number to its command.
//! - **Example.** A lab's page opens on a recorded run of one of its presets ([`labs::examples`]), which goes the way of a
//!   replay without models ([`store::Reader::packed`]) until a run of the user's own takes its place. Only a question that
//!   needs no weights is answered, by models with its settings.
//! - **Telemetry is plain data.** No tensor crosses it; all of it is serde-serialisable. The same
//!   stream feeds the window, the run folder, the progress bar and the tests.
//! - **Inbox.** Step statistics are never lost; heavy samples are superseded by newer ones. The
//!   trainer never waits for a reader and the interface never waits for the trainer.
//! - **Mirror with history.** The interface keeps each channel's history, so that a scrub to step s
//!   shows every view as of s.
//! - **Variants.** A run may step several models on the same batches; the worker interleaves them.
//! - **A lab needs no window.** [`trainer::drive`] is a function; the window, the command line and
//!   the tests differ only in sinks. Views draw into any egui context, so the same code renders PNG.
//!
//! ## Invariants
//!
//! 1. The table above holds. 2. candle is not named in `config`, `corpus`, `telemetry`, `analysis`,
//!    `labs`, `experiments`, `gpu`, `ui`; egui and wgpu only in `gpu`, `ui`, `cli`.
//! 3. Tensors are copied to the host in `kernels/host.rs`, and in fused operations, which work there. candle operations that
//!    cut gradients silently are banned (`clippy.toml`), as are its unseeded generators.
//! 4. The interface thread never blocks: no `recv()`, `join()`, sleep or file reading in `ui`.
//! 5. Watching changes nothing: same seed, same run, bit for bit on CPU, probes on or off.
//! 6. Every weight of every family that learns by gradients gets a finite one; fused operations equal their references.
//! 7. Every lab runs on CPU in the tests; panes name real views; every WGSL file validates.
//! 8. A panic or error in a run becomes a message of that run; what was recorded stays on disk.
//! 9. `cargo test` passes without GPU, display or network.

pub mod cli;
pub mod gpu;
pub mod ui;

pub use orrery_engine::{analysis, config, corpus, files, models, nn, ode, probe, random, store, telemetry, trainer};
pub use orrery_lab::{experiments, labs};
