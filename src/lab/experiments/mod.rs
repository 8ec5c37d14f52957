//! Experiments made of the runs of any lab: headline numbers, series over steps, means over seeds, the table of runs,
//! sweeps and links to a page.

pub mod headline_values;
pub mod headlines;
pub mod permalink;
pub mod run_rows;
pub mod run_table;
pub mod seeds;
pub mod series;
pub mod sweep;
