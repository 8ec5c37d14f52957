//! Pure mathematics on slices and graphs: no tensor, no run.
