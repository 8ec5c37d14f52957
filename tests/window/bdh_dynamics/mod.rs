//! Tests the lab of BDH as a physical system: its views through user input, and the whole lab. The mathematics is
//! tested beside its code, in `analysis::bdh_dynamics`.

mod interaction;
mod lab;
