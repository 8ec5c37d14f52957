//! Views of grammatical roles: which are named correctly, and how a network settles on a sentence.

mod role_accuracy;
mod settling;

pub use role_accuracy::RoleAccuracyView;
pub use settling::SettlingView;

use crate::ui::views::prelude::*;

/// The colour of a role: of the noun phrase that it belongs to, of verbs, or of the words between. A treebank's tags have none
/// of their own, though one may have a role's name.
fn role_colour(role: &str, of_treebank: bool, theme: &Theme) -> Color32 {
    if of_treebank {
        return theme.secondary;
    }
    let of = [("agent", 0), ("patient", 1), ("recipient", 2), ("rel", 4)];
    match of.iter().find(|(part, _)| role.ends_with(&format!("_{part}")) || (*part == "rel" && role == "rel_pron")) {
        Some((_, series)) => theme.series(*series),
        None if role.starts_with("verb") || role == "aux" => theme.series(3),
        None => theme.secondary,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_has_one_colour() {
        let theme = Theme::dark();
        let colour = |role| role_colour(role, false, &theme);
        assert_eq!(colour("det_agent"), colour("noun_agent"));
        assert_eq!(colour("rel_pron"), colour("verb_rel"));
        assert_eq!(colour("verb"), colour("verb_passive"));
        assert_ne!(colour("det_agent"), colour("det_patient"));
        assert_eq!(colour("by"), colour("adverb"));
        assert_ne!(colour("aux"), role_colour("aux", true, &theme), "a relation of a treebank");
    }
}
