//! How text is shown on a token axis, where white space must be seen. It knows no tokeniser.

/// Makes what cannot be seen visible: a space as a middle dot, a line break as a pilcrow, a tab as an
/// arrow, other control characters as their code.
pub(super) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' ' => out.push('·'),
            '\n' => out.push('¶'),
            '\t' => out.push('→'),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}
