//! Graphs from files: they are drawn and listed. This is not among the fixed labs, because there is neither a run nor a setting.

use super::neuron_graph;
use crate::labs::prelude::*;

pub const ID: &str = "graph_file";

pub static LAB: Lab = Lab {
    id: ID,
    title: "Graph file",
    question: "What does the graph in a file look like?",
    source: "a file of a graph",
    lesson: include_str!("../../../assets/lessons/graph_file.md"),
    groups: &[],
    essentials: &[],
    knobs: Vec::new,
    presets: &[],
    plan: |_| Err(ConfigError::inconsistent("lab", "this is a graph from a file, and no run begins with it")),
    drawing: draw,
    panes: panes! { 0: "neuron_graph", "graph_table"; },
    headlines: &[],
    large_numbers: &[],
    opens_with_run: false,
};

/// The planted groups of the neuron graph, since a drawing knows no file.
fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    neuron_graph::draw(canvas, drawing);
    drawing.caption = "a drawing, not the graph of the file".to_owned();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labs::{find, lesson::Lesson};

    #[test]
    fn no_run_begins_with_a_graph_file() {
        let lab = find(ID).unwrap();
        assert!(!lab.makes_runs() && !lab.has_runs());
        assert!((lab.plan)(&lab.config(None).unwrap()).is_err());
        assert!(Lesson::parse(ID, lab.lesson).is_ok());
    }
}
