//! A choice that a question or a setting has, as an argument of a command.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::config::Choice;

/// Reads one of these by its id; help names them.
pub fn one_by_id<T: Choice + Send + Sync>(choices: &[T]) -> impl TypedValueParser<Value = T> + use<T> {
    let ids: Vec<&str> = choices.iter().map(|choice| choice.id()).collect();
    PossibleValuesParser::new(ids)
        .try_map(|id| T::all().into_iter().find(|choice| choice.id() == id).ok_or("there is no such choice"))
}

/// Reads one of these by its name; help lists the names, each with its description if it has one.
pub fn one_by_name<T: Copy + Send + Sync + 'static>(
    choices: &'static [(T, &'static str, &'static str)],
) -> impl TypedValueParser<Value = T> + use<T> {
    let shown = choices.iter().map(|(_, name, about)| match *about {
        "" => PossibleValue::new(*name),
        about => PossibleValue::new(*name).help(about),
    });
    PossibleValuesParser::new(shown).try_map(move |name| {
        let found = choices.iter().find(|(_, known, _)| *known == name);
        found.map(|(choice, ..)| *choice).ok_or("there is no such choice")
    })
}
