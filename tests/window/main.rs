//! The window and its views, driven by label, pointer and key, and the pictures that the graphics
//! pipelines draw. Needs no display; what needs a graphics adapter says so where there is none.

mod adapter;
mod asking;
mod attention_chain;
mod bdh_dynamics;
mod clipping;
mod concepts;
mod drags;
mod end_to_end;
mod extreme_values;
mod flow_end_to_end;
mod flow_views;
mod generator_views;
mod gestures;
mod graph_file_view;
mod graph_view;
mod heatmap;
mod interaction;
mod layout;
mod legend;
mod lessons;
mod multiples;
mod particles;
mod past;
mod permalink;
mod phase_plane;
mod pictures;
mod planted_graph;
#[path = "../shared/record.rs"]
mod record;
mod recorded;
mod runs;
mod side_by_side;
mod slow_manifold;
mod snapshot;
mod stub_host;
mod sweep;
mod synapses;
mod tessellation;
mod tiles;
mod traces;
mod trained_bdh;
mod truth;
mod ui;
mod views;
mod waiting;
