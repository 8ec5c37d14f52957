//! Tests everything about runs that needs no window: corpora, trainer, probes, run folders, checkpoints, and the
//! commands of the real binary.

mod asking;
mod asking_training;
mod bdh_dynamics;
#[path = "../shared/bdh_file.rs"]
mod bdh_file;
mod carried_state;
mod checkpoint_series;
mod checkpoints;
mod claims;
mod cli;
mod command;
mod compare;
#[path = "../shared/config_with.rs"]
mod config_with;
mod contexts;
#[path = "../shared/copy_folder.rs"]
mod copy_folder;
mod corpus;
mod domains;
mod eval;
mod examples;
#[cfg(target_os = "linux")]
mod faults;
mod finetuning;
mod folders;
#[cfg(target_os = "linux")]
mod following_sshd;
mod foreign_files;
mod foreign_folders;
mod foreign_python;
mod foreign_questions;
#[path = "../shared/foreign_run.rs"]
mod foreign_run;
mod foreign_runs;
mod foreign_sweeps;
mod going_on;
mod grammar_roles;
mod graph_files;
mod graph_formats;
mod headlines;
mod intervene;
mod lessons;
#[path = "../shared/logs_of_tools.rs"]
mod logs_of_tools;
mod measurements;
mod memory;
mod merging;
mod neuron_graph;
mod no_bptt;
mod notebooks;
mod ode_flow;
mod other_logs;
mod output;
mod parliament;
mod permalink;
mod probes;
mod query_key_paths;
mod recall;
#[path = "../shared/record.rs"]
mod record;
mod recording;
mod released;
mod report;
mod run_table;
mod spen;
#[cfg(unix)]
mod stand_in_ssh;
mod store;
mod streaming;
mod sweep;
mod time_travel;
mod trained_bdh;
mod trainer;
#[path = "../shared/wait_for.rs"]
mod wait_for;
#[cfg(target_os = "linux")]
mod window_signals;
