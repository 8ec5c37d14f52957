//! Everything a key, a button, a menu, the palette or a view can ask for, by area.
//!
//! Panels and views do nothing themselves: they push an [`Action`] into the one list [`Actions`], for the app to do.

mod file;
mod keys;
mod lesson;
mod look;
mod message;
mod open;
mod page;
mod run;
mod runs;
mod setting;
mod time;

pub use self::{
    file::FileAction,
    keys::{GESTURES, KEYS, KeyBinding, OTHER_KEYS, key_groups},
    lesson::LessonAction,
    look::LookAction,
    message::MessageAction,
    open::OpenAction,
    page::PageAction,
    run::RunAction,
    runs::RunsAction,
    setting::SettingAction,
    time::TimeAction,
};
use crate::config::Value;

/// Declares [`Action`] with one variant an area, each made from the area's own actions.
macro_rules! areas {
    ($($area:ident($of:ident)),* $(,)?) => {
        /// An action that the user or a view requests, by area.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Action {
            $($area($of),)*
        }

        $(impl From<$of> for Action {
            fn from(action: $of) -> Self {
                Self::$area(action)
            }
        })*
    };
}

areas! {
    Run(RunAction),
    Time(TimeAction),
    Setting(SettingAction),
    Page(PageAction),
    Look(LookAction),
    Open(OpenAction),
    File(FileAction),
    Runs(RunsAction),
    Lesson(LessonAction),
    Message(MessageAction),
}

/// The actions of one frame, in the order in which they were pushed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Actions(Vec<Action>);

impl Actions {
    pub fn push(&mut self, action: impl Into<Action>) {
        self.0.push(action.into());
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Action> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The settings changed in this frame, with the value of each change.
    pub fn changes(&self) -> impl DoubleEndedIterator<Item = (&str, &Value)> {
        self.iter().filter_map(|action| match action {
            Action::Setting(SettingAction::Change(key, value)) => Some((key.as_str(), value)),
            _ => None,
        })
    }

    /// The questions and what was withdrawn of them, apart from everything else. They are performed first, because they
    /// are put to the run that was drawn, and another action of the frame may begin a new one.
    pub fn split(self) -> (Vec<Action>, Vec<Action>) {
        let is_question = |action: &Action| matches!(action, Action::Run(action) if action.is_question());
        self.0.into_iter().partition(is_question)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    Png,
    Csv,
    Svg,
}

impl ExportFormat {
    pub const ALL: [Self; 3] = [Self::Png, Self::Csv, Self::Svg];

    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Csv => "csv",
            Self::Svg => "svg",
        }
    }

    /// "picture (PNG)".
    pub fn label(self) -> &'static str {
        match self {
            Self::Png => "picture (PNG)",
            Self::Csv => "numbers (CSV)",
            Self::Svg => "drawing (SVG)",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_precede_actions_that_may_end_the_run() {
        let mut actions = Actions::default();
        actions.push(RunAction::Reset);
        actions.push(SettingAction::Change("a".into(), Value::Int(1)));
        actions.push(RunAction::Cancel(3));
        assert_eq!(actions.changes().collect::<Vec<_>>(), [("a", &Value::Int(1))]);
        let (questions, others) = actions.split();
        assert_eq!(questions, [RunAction::Cancel(3).into()]);
        assert_eq!(others[0], RunAction::Reset.into());
    }
}
