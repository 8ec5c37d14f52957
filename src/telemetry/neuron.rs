//! How a neuron of a BDH is written everywhere: `head:index`, both counted from 0, as in the tensors.

/// The name of a neuron by its number in the model: neuron i of head h is number h N + i, N neurons a head. Its number where
/// N is not known (0), as in runs of earlier versions.
pub fn neuron_name(neuron: usize, per_head: usize) -> String {
    match neuron.checked_div(per_head) {
        Some(head) => format!("{head}:{}", neuron % per_head),
        None => neuron.to_string(),
    }
}

/// The numbers of the neurons that a person wrote, parted by commas or blanks: `2:517 0:3`, or numbers in the model.
///
/// # Errors
/// In words, if one is no neuron of a model with so many heads and neurons a head.
pub fn read_neurons(text: &str, heads: usize, per_head: usize) -> Result<Vec<usize>, String> {
    let read = |word: &str| {
        let number = |digits: &str| {
            digits.parse::<usize>().map_err(|_| format!("`{word}` is no neuron: write head:index, such as 0:12"))
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
    let mut all = vec![];
    for word in text.split([',', ';', ' ', '\n', '\t']).filter(|word| !word.is_empty()) {
        let neuron = read(word)?;
        if !all.contains(&neuron) {
            all.push(neuron);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

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
