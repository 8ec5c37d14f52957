//! The notation for a neuron and a synapse of a BDH: `head:index`, and `layer y>x` with two such neurons, all
//! counted from 0, as in the tensors.

use serde::{Deserialize, Serialize};

use crate::analysis::distinct::distinct;

/// The name of a neuron by its number in the model: neuron i of head h is number h N + i, N neurons per head. Its number where
/// N is not known (0), as in runs of earlier versions.
pub fn neuron_name(neuron: usize, per_head: usize) -> String {
    neuron.checked_div(per_head).map_or_else(|| neuron.to_string(), |head| format!("{head}:{}", neuron % per_head))
}

/// Parses the numbers of neurons that a person wrote, separated by commas or blanks: `2:517 0:3`, or numbers in the
/// model.
///
/// # Errors
/// If one is not a neuron of a model with this many heads and neurons per head.
pub fn read_neurons(text: &str, heads: usize, per_head: usize) -> Result<Vec<usize>, String> {
    let read = |word: &str| {
        let number = |digits: &str| {
            digits.parse::<usize>().map_err(|_| format!("`{word}` is not a neuron: write head:index, such as 0:12"))
        };
        let found = match word.split_once(':') {
            None => Some(number(word)?),
            Some((head, index)) => {
                let (head, index) = (number(head)?, number(index)?);
                (head < heads && index < per_head).then(|| head * per_head + index)
            }
        };
        found.filter(|n| *n < heads * per_head).ok_or_else(|| {
            format!(
                "there is no neuron `{word}`: the model has {heads} heads of {per_head} neurons, both counted from 0"
            )
        })
    };
    let words = text.split([',', ';', ' ', '\n', '\t']).filter(|word| !word.is_empty());
    Ok(distinct(words.map(read).collect::<Result<Vec<_>, _>>()?))
}

/// A synapse: from neuron i of y in layer l - 1 to neuron j of x in layer l. Neuron k of head h has number h N + k.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Synapse {
    /// l, at least 1.
    pub layer: usize,
    /// The neuron of y.
    pub i: usize,
    /// The neuron of x.
    pub j: usize,
}

impl Synapse {
    /// `2 0:517>3:33`: layer, y, x.
    pub fn name(self, per_head: usize) -> String {
        format!("{} {}>{}", self.layer, neuron_name(self.i, per_head), neuron_name(self.j, per_head))
    }
}

/// The synapses that a person wrote, separated by commas: `2 0:517>3:33`, or layer and two numbers in the model, `2:517:1569`.
///
/// # Errors
/// If one is not a synapse of a model with this many layers, heads and neurons per head.
pub fn read_synapses(text: &str, layers: usize, heads: usize, per_head: usize) -> Result<Vec<Synapse>, String> {
    let read = |item: &str| -> Result<Synapse, String> {
        let form = || format!("`{item}` is not a synapse: write layer:i:j, such as 2:517:1569, or `2 0:517>3:33`");
        let parts = item.split([' ', ':', '>', '/']).filter(|part| !part.is_empty());
        let numbers = parts.map(str::parse).collect::<Result<Vec<usize>, _>>().map_err(|_| form())?;
        let (layer, y, x) = match *numbers.as_slice() {
            [layer, i, j] => (layer, i.to_string(), j.to_string()),
            [layer, a, i, b, j] => (layer, format!("{a}:{i}"), format!("{b}:{j}")),
            _ => return Err(form()),
        };
        if layer == 0 || layer >= layers {
            return Err(format!(
                "`{item}` ends in layer {layer}: a synapse ends in a layer from 1 to {}, for no y comes before layer 0",
                layers.saturating_sub(1)
            ));
        }
        let one = |text: &str| Ok::<_, String>(read_neurons(text, heads, per_head)?.first().copied().unwrap_or(0));
        Ok(Synapse { layer, i: one(&y)?, j: one(&x)? })
    };
    let items = text.split([',', ';', '\n']).map(str::trim).filter(|item| !item.is_empty());
    Ok(distinct(items.map(read).collect::<Result<Vec<_>, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synapses_are_read_as_they_are_written() {
        let synapse = Synapse { layer: 2, i: 9, j: 31 };
        assert_eq!(synapse.name(8), "2 1:1>3:7");
        for text in ["2 1:1>3:7", "2:9:31", "2:1:1:3:7", " 2:9:31, 2 1:1>3:7 "] {
            assert_eq!(read_synapses(text, 3, 4, 8), Ok(vec![synapse]), "{text}");
        }
        for (text, part) in [
            ("0:1:2", "from 1 to 2"),
            ("3:1:2", "from 1 to 2"),
            ("2:40:1", "4 heads"),
            ("2:1", "layer:i:j"),
            ("2:1:x", "layer:i:j"),
        ] {
            assert!(read_synapses(text, 3, 4, 8).unwrap_err().contains(part), "{text}");
        }
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for neuron in [0, 7, 8, 31] {
            assert_eq!(read_neurons(&neuron_name(neuron, 8), 4, 8), Ok(vec![neuron]));
        }
        assert_eq!(read_neurons(" 1:2, 3:7;10\n1:2", 4, 8), Ok(vec![10, 31]));
        assert_eq!(read_neurons("  ", 4, 8), Ok(vec![]));
        assert_eq!(neuron_name(17, 0), "17");
        for (text, part) in [("4:0", "4 heads"), ("0:8", "8 neurons"), ("32", "no neuron `32`"), ("a:1", "head:index")]
        {
            assert!(read_neurons(text, 4, 8).unwrap_err().contains(part), "{text}");
        }
    }
}
