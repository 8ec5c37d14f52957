//! Experiments made of the runs of any lab: headline numbers, series over steps, means over seeds, the table of runs,
//! sweeps, links to a page, and the ledger of claims.

pub mod claims;
pub mod headline_values;
pub mod headlines;
pub mod permalink;
pub mod run_rows;
pub mod run_table;
pub mod run_terms;
pub mod seeds;
pub mod series;
pub mod short_number;
pub mod sweep;
