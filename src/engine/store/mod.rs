//! A run folder: writer (a sink), reader (replay), checkpoints, exports.
//!
//! ```text
//! 20260131-142501-fast_slow-needed-s7/
//!   config.toml      the resolved settings: `orrery run config.toml` makes the run again
//!   run.json         what ran: variants, corpus, device, and where (version, system, CPU, threads)
//!   metrics.jsonl    one object per step and variant: step, variant, wall_secs, then scalars by channel
//!                    (held-out losses of that step in a second one)
//!   samples.jsonl    one object per measurement: step, variant, channel, about, tokens, payload; the
//!                    payload is the struct of that channel (`orrery schema CHANNEL`)
//!   events.jsonl     states, live changes, notices, checkpoints, each with the step and the time
//!   checkpoints/step-00000200/
//!     state.json                      step, data positions, dials, log lengths, checksums
//!     <variant>.safetensors           weights under their plain names
//!     <variant>.optimiser.safetensors the optimiser's moments
//!   snapshots/       weights at some steps, to ask about the past; a run never goes on from them
//!   figures/         PNG
//!   note.toml        a person's name, note and tags of it; nothing of the run depends on it
//! ```
//!
//! **Numbers.** NaN and the infinities are the strings `"NaN"`, `"Infinity"`, `"-Infinity"`
//! ([`crate::telemetry::number`]); every other number comes back with the same bits.
//!
//! **Append-only, and what a crash leaves.** Each event has reached the system before the sink
//! returns, so a killed process loses nothing that was told; at a checkpoint the logs are also
//! forced to the disk, and their lengths are kept in the checkpoint. To resume, the part of each
//! log beyond those lengths is first copied to `<name>.superseded.jsonl` and then cut off: the run
//! goes on from the checkpoint and writes those steps again, with the same numbers. So the logs
//! never hold a step twice over, and plain tools need not handle resuming. Answers to
//! questions about steps up to the checkpoint's stay: training does not give them again.

pub mod checkpoint;
mod description;
mod environment;
mod error;
pub mod export;
pub mod frames;
pub mod import;
mod listing;
mod lock;
mod log_file;
mod names;
pub mod note;
pub mod npz;
mod packed;
mod prelude;
mod questions;
mod reader;
mod record;
pub mod run_index;
pub mod snapshots;
mod superseded;
mod tensorboard;
pub mod tensors;
mod tfrecord;
pub mod trash;
mod writer;

pub use checkpoint::{Checkpoint, DataPosition, Lengths, LoadedCheckpoint};
pub use description::{machines, run_info};
pub use environment::Environment;
pub use error::StoreError;
pub use listing::{
    Interruption, RunSummary, has_ended, has_finished, interruption, last_change, list, local_text, summary,
};
pub use lock::{is_being_written, is_unlocked, was_abandoned_here};
pub use names::{LOCK, MAX_CONFIG, TakenNames, check_folder, is_record, is_run, unique_name};
pub use questions::{ComposedQuestion, MAX_ANSWER, OpenQuestion, QuestionInbox, ReceivedQuestion, Reply};
pub use reader::{Damage, FolderStatus, Reader};
pub use record::{FORMAT, PROTOCOL, RunRecord, sample_line};
pub use snapshots::VariantWeights;
pub use writer::{Writer, check_writable};
