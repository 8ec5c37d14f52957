//! Texts of tokens for a token axis, with white space made visible.

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

/// Joins the bytes of a character of several: the first shows the character and the others show nothing. `shown`: the text of
/// each of the bytes `ids` by itself.
pub(super) fn join_bytes(ids: &[u32], shown: &mut [String]) {
    // an id that is not a byte cannot be part of a character
    let bytes: Vec<u8> = ids.iter().map(|id| u8::try_from(*id).unwrap_or(0xFF)).collect();
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.len_utf8() > 1 {
                shown[at] = visible(&c.to_string());
                shown[at + 1..at + c.len_utf8()].iter_mut().for_each(String::clear);
            }
            at += c.len_utf8();
        }
        at += chunk.invalid().len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part of a character stays as it is, before, between and after complete ones, and so does an id that is not a
    /// byte.
    #[test]
    fn only_whole_characters_are_joined() {
        let ids = [0xA9, 0xC3, 0xC3, 0xA9, 300, 0xE2, 0x82];
        let mut shown: Vec<String> = ids.iter().map(|id| format!("<{id}>")).collect();
        join_bytes(&ids, &mut shown);
        assert_eq!(shown, ["<169>", "<195>", "\u{e9}", "", "<300>", "<226>", "<130>"]);
    }
}
