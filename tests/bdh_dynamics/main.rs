//! BDH as a physical system: the probe, hands on the views, the lab as it ships. The mathematics is tested
//! beside its code, in `analysis::bdh_dynamics`.

mod hands;
mod lab;
mod probe;
