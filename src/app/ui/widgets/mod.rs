//! Parts that several views or panels are built of: bars, token strips, a playhead, and how numbers and long words are
//! written. They depend on the theme and the charts, not on a view, panel, run or lab.

pub mod bars;
pub mod choice_menu;
pub mod column_widths;
pub mod fold;
pub mod large_figure;
pub mod markdown;
pub mod notes;
pub mod number;
pub mod playhead;
pub mod smoothing;
pub mod sorted_table;
pub mod token_strip;
pub mod truncated;
pub mod typed;
