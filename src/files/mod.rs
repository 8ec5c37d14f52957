//! Files as a careful program opens and writes them. What is read comes from others: it may be a pipe, a
//! device, a link, longer than memory, or cut while it is read. What is written is whole or not there. Knows
//! no format.

pub mod replacement;

pub use replacement::{Replacement, replace};
