//! The next word's probabilities and the mass of the two classes as bars.

use crate::ui::views::prelude::*;

/// The two classes of words that a flow is steered between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Plus,
    Minus,
}

impl Class {
    fn sign(self) -> &'static str {
        match self {
            Class::Plus => "+",
            Class::Minus => "\u{2212}",
        }
    }

    pub fn colour(self, theme: &Theme) -> Color32 {
        match self {
            Class::Plus => theme.warm,
            Class::Minus => theme.cool,
        }
    }
}

/// The class that a token belongs to.
pub fn class_of(answer: &FlowAnswer, token: &str) -> Option<Class> {
    let classes = answer.classes()?;
    let is_in = |class: &SteeringClass| class.tokens.iter().any(|t| t.trim() == token.trim());
    if is_in(&classes.plus) { Some(Class::Plus) } else { is_in(&classes.minus).then_some(Class::Minus) }
}

/// The likeliest next words, each with what it was at u = 0.
pub fn next_bars(answer: &FlowAnswer, theme: &Theme) -> Vec<Bar> {
    let next = answer.language().map_or(&[][..], |l| &l.next);
    let bar = |next: &NextToken| {
        let class = class_of(answer, &next.token);
        let word = next.token.trim();
        let colour = class.map_or(theme.secondary, |c| c.colour(theme));
        let bar = Bar::new(if word.is_empty() { "(space)" } else { word }, colour, next.probability);
        bar.sign(class.map_or("", Class::sign)).before(next.unsteered)
    };
    next.iter().map(bar).collect()
}

/// The summed probability of either class, where there are classes.
pub fn mass_bars(answer: &FlowAnswer, theme: &Theme) -> Vec<Bar> {
    let Some(classes) = answer.classes() else { return vec![] };
    let bar = |class: Class, mass: &SteeringClass| {
        let bar = Bar::new(format!("class {}", class.sign()), class.colour(theme), mass.probability);
        bar.sign(class.sign()).before(mass.unsteered)
    };
    vec![bar(Class::Plus, &classes.plus), bar(Class::Minus, &classes.minus)]
}
