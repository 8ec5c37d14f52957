//! Measures the effect of continued reading on a model whose weights stay as they are, or that continues learning while
//! it reads: texts that are streamed side by side, the run's own and foreign ones.

mod adaptation;
mod fast_weights;
mod streams;
mod uncertainty;
mod warm_up;
