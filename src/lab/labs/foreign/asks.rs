//! The questions that the program which trains a run answers over its folder (docs/protocol.md), by the protocol's names.
//! One that a probe answers here too takes the probe's arguments.

use crate::{
    config::{Arguments, Knob, Value, arguments},
    probe::{self, ProbeEntry},
    telemetry::{
        Args,
        measurements::{AttentionMapsArgs, NextTokensArgs},
    },
};

/// The question for the attention maps of a text, which the probe `attention_maps` answers.
pub const ATTENTION: &str = "attention";
/// The question for the likeliest next tokens of a text, which the probe of the same name answers.
pub const NEXT_TOKENS: &str = NextTokensArgs::PROBE;
/// The command to pause training between two steps.
pub const PAUSE: &str = "pause";
/// The command to continue training; allowed wherever `pause` is.
pub const RESUME: &str = "resume";
/// The command to save the weights.
pub const SAVE: &str = "save";
/// The command to multiply the learning rate.
pub const SCALE_LR: &str = ScaleLrArgs::PROBE;

/// The argument that names the matrix by which neurons write, for a graph of weights that another program saved.
pub const FROM: &str = "from";
/// The argument that names the matrix by which neurons read.
pub const TO: &str = "to";

arguments! {
    /// Multiplies the learning rate of every group of parameters.
    pub struct ScaleLrArgs asks "scale_lr" {
        /// The factor by which every learning rate is multiplied.
        factor: f64 = 0.5 => range(1e-6..=100.0);
    }
}

/// The protocol's name of the question that Orrery calls `name`. The two differ only for the probe of attention maps.
pub fn protocol_name(name: &str) -> &str {
    if name == AttentionMapsArgs::PROBE { ATTENTION } else { name }
}

/// The probe that answers this question of Orrery's own runs.
pub fn find_probe(ask: &str) -> Option<&'static ProbeEntry> {
    probe::find(if ask == ATTENTION { AttentionMapsArgs::PROBE } else { ask })
}

/// A knob for each argument of a question; `None` for one that only the program knows.
pub fn knobs_of(ask: &str) -> Option<Vec<Knob>> {
    match ask {
        PAUSE | RESUME | SAVE => Some(vec![]),
        SCALE_LR => Some(ScaleLrArgs::knobs()),
        _ => find_probe(ask).map(|probe| (probe.knobs)()),
    }
}

/// True for a command to a training, which a run of Orrery's own takes too where it is allowed.
pub fn is_command(ask: &str) -> bool {
    matches!(ask, PAUSE | RESUME | SAVE | SCALE_LR)
}

/// True if a program that allows these questions answers this one.
pub fn is_allowed(allowed: &[String], ask: &str) -> bool {
    allowed.iter().any(|name| name == ask || ask == RESUME && name == PAUSE)
}

/// A typed value of an argument that only the program knows: a number or a switch if it can be parsed as one, otherwise
/// text. One that is whole in quotes is the text between them, in which `""` stands for a quote.
pub fn typed_value(typed: &str) -> Value {
    let typed = typed.trim();
    let quoted = typed.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    if let Some(text) = quoted.filter(|text| !text.replace("\"\"", "").contains('"')) {
        return Value::Text(text.replace("\"\"", "\""));
    }
    match Value::parse(typed, false) {
        Value::Float(number) if !number.is_finite() => Value::Text(typed.to_owned()),
        value => value,
    }
}

/// The arguments without those that have their usual value, which the program's own function may not take.
pub fn without_defaults(ask: &str, args: &Args) -> Args {
    let knobs = if ask == SCALE_LR { vec![] } else { knobs_of(ask).unwrap_or_default() };
    let is_usual = |key: &str, value: &Value| knobs.iter().any(|knob| knob.key == key && knob.default == *value);
    args.iter().filter(|(key, value)| !is_usual(key, value)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_and_its_question_have_each_others_names() {
        for ask in [ATTENTION, NEXT_TOKENS] {
            let probe = find_probe(ask).expect("a probe answers it");
            assert_eq!(protocol_name(probe.id), ask);
            assert!(knobs_of(ask).is_some_and(|knobs| knobs.iter().any(|knob| knob.key == "text")));
        }
        assert_eq!(protocol_name("lesson"), "lesson");
        assert!(knobs_of("lesson").is_none() && knobs_of(SAVE).is_some_and(|knobs| knobs.is_empty()));
        assert!([PAUSE, RESUME, SAVE, SCALE_LR].iter().all(|ask| find_probe(ask).is_none() && is_command(ask)));
        assert!(!is_command(ATTENTION) && !is_command("lesson"));
    }

    #[test]
    fn allowing_pause_also_allows_resume() {
        let allowed = [PAUSE.to_owned()];
        assert!(is_allowed(&allowed, PAUSE) && is_allowed(&allowed, RESUME));
        assert!(!is_allowed(&allowed, SAVE) && !is_allowed(&[], RESUME));
    }

    #[test]
    fn a_value_in_quotes_is_text() {
        let text = |text: &str| Value::Text(text.to_owned());
        assert_eq!((typed_value(" 3 "), typed_value("\" 3 \"")), (Value::Int(3), text(" 3 ")));
        assert_eq!((typed_value("nan"), typed_value("\"")), (text("nan"), text("\"")));
        let several = "\"a\" and \"b\"";
        assert_eq!((typed_value(several), typed_value("\"\"\"a\"\"\"")), (text(several), text("\"a\"")));
    }

    #[test]
    fn usual_values_are_not_sent() {
        let asked = NextTokensArgs { text: "hi".into(), count: 3, ..NextTokensArgs::default() };
        let sent = without_defaults(NEXT_TOKENS, &asked.to_args());
        assert_eq!(sent, Args::from([("text".into(), Value::Text("hi".into())), ("count".into(), Value::Int(3))]));
        assert_eq!(without_defaults(SCALE_LR, &ScaleLrArgs::default().to_args()).len(), 1, "the factor is always sent");
        let own = Args::from([("passage".to_owned(), Value::Int(0))]);
        assert_eq!(without_defaults("lesson", &own), own);
    }
}
