//! A choice that a question or a setting has, as an argument of a command.

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::config::Choice;

/// Reads one of these by its id; help names them.
pub fn one_of<T: Choice + Send + Sync>(choices: &[T]) -> impl TypedValueParser<Value = T> + use<T> {
    let ids: Vec<&str> = choices.iter().map(|choice| choice.id()).collect();
    PossibleValuesParser::new(ids)
        .try_map(|id| T::all().into_iter().find(|choice| choice.id() == id).ok_or("there is no such choice"))
}
