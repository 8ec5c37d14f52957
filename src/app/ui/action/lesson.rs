//! The actions on a lesson.

use crate::labs::lesson::LessonLink;

#[derive(Debug, Clone, PartialEq)]
pub enum LessonAction {
    /// Follows a step of the open lab's lesson, counted from 0.
    Step(usize),
    /// Opens a lab at a step of its lesson, with the controls of that step alone.
    Open(LessonLink),
}
