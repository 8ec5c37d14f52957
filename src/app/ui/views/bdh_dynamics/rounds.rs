//! The table of the four rounds with the one that was executed marked, in formulas and in words.

use super::machine::{Machine, MachineInput};
use crate::{
    analysis::bdh_dynamics::{Edge, KERNELS},
    ui::views::prelude::*,
};

/// The paper's numbers of the rounds of layer l, counted from 0.
const ROUND_NUMBERS: [&str; 4] = ["4l", "4l+1", "4l+2", "4l+3"];
/// The message of the rounds of two circuits, with the excitatory and the inhibitory one in one term, for a row that is
/// too narrow for both.
const JOINT_MESSAGES: [Option<&str>; 4] =
    [None, None, Some("A(i) → Gyᵉ,ⁱ(i,j) · Yᵉ,ⁱ(j)"), Some("Y(i) → Gxᵉ,ⁱ(i,j) · Xᵉ,ⁱ(j)")];
/// The variable that each round changes, for the sentence below the table.
const CHANGED_VARIABLES: [&str; 4] = ["A", "Y", "Y", "X"];
/// The norms that a graph may have after rounds, which are not local rules: they look at all neurons.
const NORM_SUFFIXES: [&str; 4] = [",  A / rms A", "", ",  Y / rms Y", ""];
/// Height of a row: its title and two lines of rules; with little room one line.
const ROW_HEIGHT: f32 = 44.0;
const SMALL_ROW_HEIGHT: f32 = 32.0;
/// Width of the column to the left of the rules, which names the round, points.
const ROUND_WIDTH: f32 = 46.0;

/// The minimum width of the table, from which its longest title has room.
pub(super) const MIN_WIDTH: f32 = 320.0;

/// The minimum height of the table, points.
pub(super) const MIN_HEIGHT: f32 = 4.0 * SMALL_ROW_HEIGHT + 4.0;

pub(super) fn rounds_ui(ui: &mut Ui, theme: &Theme, machine: &Machine, size: Vec2) {
    let row = if size.y >= 4.0 * ROW_HEIGHT { ROW_HEIGHT } else { SMALL_ROW_HEIGHT };
    let executed = machine.last.as_ref().filter(|r| r.layer.is_some()).map(|r| r.kernel);
    let said = executed.map_or("none yet", |k| KERNELS[k].title);
    let (rect, response, painter) =
        canvas_ui(ui, vec2(size.x, 4.0 * row), Sense::hover(), format!("rounds, executed: {said}"));
    let norms = if machine.system.norms { NORM_SUFFIXES } else { [""; 4] };
    for (k, kernel) in KERNELS.iter().enumerate() {
        let top = rect.top() + row * k as f32;
        let place = Rect::from_min_size(pos2(rect.left(), top), vec2(rect.width(), row));
        let now = executed == Some(k);
        if now {
            painter.rect_filled(place.shrink2(vec2(0.0, 1.0)), 4.0, theme.accent.gamma_multiply(0.16));
            let bar = Rect::from_min_size(place.min + vec2(0.0, 1.0), vec2(3.0, row - 2.0));
            painter.rect_filled(bar, 1.0, theme.accent);
        }
        let strong = if now { theme.text } else { theme.secondary };
        let small = theme::small();
        painter.text(place.min + vec2(8.0, 3.0), Align2::LEFT_TOP, ROUND_NUMBERS[k], theme::numbers(), strong);
        painter.text(place.min + vec2(ROUND_WIDTH, 2.0), Align2::LEFT_TOP, kernel.title, small.clone(), strong);
        let room = rect.width() - ROUND_WIDTH;
        let lines = if row == ROW_HEIGHT { 2 } else { 1 };
        let formulas = formulas(k, norms[k], lines, |words| note_width(&painter, words) <= room);
        for (i, line) in formulas.into_iter().enumerate() {
            let at = place.min + vec2(ROUND_WIDTH, 16.0 + 13.0 * i as f32);
            paint_truncated(&painter, at, &line, small.clone(), strong, room);
        }
    }
    if let Some(pointed) = response.hover_pos() {
        let k = (((pointed.y - rect.top()) / row) as usize).min(3);
        let kernel = &KERNELS[k];
        let norm = match norms[k] {
            "" => "",
            _ => "\nover all neurons: their root mean square divides, as in the model",
        };
        response.on_hover_text_at_pointer(format!(
            "{}\n\nover edges: {}\nat each place: {}{norm}",
            kernel.explanation, kernel.communication, kernel.computation
        ));
    }
}

/// The formulas of a round in one or two lines. A line that does not fit has both circuits in one term.
fn formulas(k: usize, norm: &str, lines: usize, fits: impl Fn(&str) -> bool) -> Vec<String> {
    let computation = format!("{}{norm}", KERNELS[k].computation);
    let written = |communication: &str| match lines {
        1 => vec![format!("{communication};  {computation}")],
        _ => vec![communication.to_owned(), computation.clone()],
    };
    let whole = written(KERNELS[k].communication);
    match JOINT_MESSAGES[k] {
        Some(joint) if !whole.iter().all(|line| fits(line)) => written(joint),
        Some(_) | None => whole,
    }
}

/// Describes the last round in a sentence or two.
pub(super) fn sentence(machine: &Machine, tokens: &[String]) -> String {
    let n = machine.system.n();
    let Some(round) = &machine.last else {
        return "At rest. Step: the first token arrives as a pulse Y on a few neurons.".to_owned();
    };
    let nodes = round.nodes.len();
    match (round.layer, machine.inputs.last()) {
        (None, Some(MachineInput::Token(t))) => {
            let fired = machine.state.y.iter().filter(|y| **y > 0.0).count();
            let token = tokens.get(*t).map_or("", String::as_str);
            format!(
                "\u{201c}{token}\u{201d} arrives as a pulse Y on {fired} of {n} neurons, and the wires bring {nodes} an X."
            )
        }
        (None, Some(MachineInput::Poke(i))) => {
            format!("Neuron {i} was poked; the wires bring {nodes} of {n} neurons an X.")
        }
        (None, None) => String::new(),
        (Some(layer), _) => {
            let (kernel, synapses, carrying_edges) = (round.kernel, round.synapses.len(), machine.carrying_edges);
            Counts { layer, kernel, nodes, synapses, carrying_edges }.sentence(machine)
        }
    }
}

/// The sentence of each of the four rounds in the last layer, with every neuron, synapse and edge in it: none is longer.
pub(super) fn longest_sentences(machine: &Machine) -> [String; 4] {
    let system = &machine.system;
    let edges = |parts: &[Vec<Edge<f64>>; 2]| parts.iter().map(Vec::len).sum::<usize>();
    let synapses = system.synapses().len();
    let carried = [synapses, synapses, edges(&system.prods), edges(&system.wires)];
    let (layer, nodes) = (system.layers().saturating_sub(1), system.n());
    [0, 1, 2, 3].map(|kernel| {
        let synapses = if kernel < 2 { synapses } else { 0 };
        Counts { layer, kernel, nodes, synapses, carrying_edges: carried[kernel] }.sentence(machine)
    })
}

/// The numbers of values that a round changed.
struct Counts {
    /// The index of the layer; the first is 0.
    layer: usize,
    /// The index of the round within its layer, 0 to 3.
    kernel: usize,
    /// The number of neurons that changed.
    nodes: usize,
    synapses: usize,
    /// The number of edges that carried anything.
    carrying_edges: usize,
}

impl Counts {
    fn sentence(&self, machine: &Machine) -> String {
        let Self { layer, kernel, nodes, synapses, carrying_edges: carried } = *self;
        let (n, system) = (machine.system.n(), &machine.system);
        let synapses = match synapses {
            0 => String::new(),
            changed => format!(", and \u{3c3} at {changed} of {} synapses", system.synapses().len()),
        };
        let (words, what) = (KERNELS[kernel].explanation, CHANGED_VARIABLES[kernel]);
        format!(
            "Layer {}, round {}. {words} It changed {what} at {nodes} of {n} neurons{synapses}; {carried} edges carried something.",
            layer + 1,
            ROUND_NUMBERS[kernel],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_row_keeps_every_formula() {
        let all = |lines: usize, limit: usize| {
            [0, 1, 2, 3].map(|k| formulas(k, "", lines, |words| words.chars().count() <= limit).join("|"))
        };
        for (k, wide) in all(1, 200).iter().enumerate() {
            assert!(wide.contains(KERNELS[k].communication) && wide.contains(KERNELS[k].computation), "{wide}");
        }
        // about as many characters have room in a row of a tile at 1280x800
        for (k, narrow) in all(1, 57).iter().enumerate() {
            assert!(narrow.chars().count() <= 57 && narrow.contains(KERNELS[k].computation), "{narrow}");
        }
        assert_eq!(all(2, 200)[3], format!("{}|{}", KERNELS[3].communication, KERNELS[3].computation));
    }
}
