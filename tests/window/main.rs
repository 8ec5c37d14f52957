//! Tests the window and its views through user input, and the pictures that the graphics pipelines draw. No display is
//! needed; tests that need a graphics adapter are skipped with a message if there is none.

mod adapter;
mod asking;
mod attention_chain;
mod bdh_dynamics;
#[path = "../shared/bdh_file.rs"]
mod bdh_file;
mod canvas;
mod claims;
mod clipping;
mod concepts;
#[path = "../shared/config_with.rs"]
mod config_with;
mod controls;
#[path = "../shared/copy_folder.rs"]
mod copy_folder;
mod drags;
mod end_to_end;
mod examples;
mod extreme_values;
mod fast_slow_views;
mod flow_end_to_end;
mod flow_views;
#[path = "../shared/foreign_run.rs"]
mod foreign_run;
mod foreign_runs;
mod generator_views;
mod gestures;
mod graph_file_view;
mod graph_view;
mod heatmap;
mod hidden_window;
#[cfg(unix)]
mod hostile_folders;
mod interaction;
mod large_numbers;
mod layout;
mod left_runs;
mod legend;
mod lessons;
mod measured_effects;
mod menus;
mod multiples;
mod panel_states;
mod particles;
mod past;
mod permalink;
mod phase_plane;
mod pictures;
mod planted_graph;
mod real_host;
#[path = "../shared/record.rs"]
mod record;
mod recorded;
mod run_ownership;
mod runs;
mod side_by_side;
mod sight;
mod slow_manifold;
mod small_models;
mod snapshot;
mod stage;
mod stub_host;
mod sweep;
mod synapses;
mod tessellation;
mod tile_controls;
mod tiles;
mod traces;
mod trained_bdh;
mod truth;
mod ui;
mod untouched_folders;
mod views;
#[path = "../shared/wait_for.rs"]
mod wait_for;
mod waiting;
mod walk;
