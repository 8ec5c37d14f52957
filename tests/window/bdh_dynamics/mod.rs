//! BDH as a physical system: hands on the views, and the lab as it ships. The mathematics is tested
//! beside its code, in `analysis::bdh_dynamics`.

mod interaction;
mod lab;
