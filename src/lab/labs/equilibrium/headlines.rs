//! The lab's result: how well a network predicts where a generator settles, and how far a trained block is from one.

use crate::labs::prelude::*;

const MAP_ERROR: Headline = Headline::new("map_error", "map's error", measured!(StationaryMapError, |m| m.held_out))
    .better(Better::Lower)
    .about("Mean of sum_i |phi_i(y) - p_i(y)| over controls inside the range that no update drew, 0 to 2.")
    .absent("no map to stationary distributions was learned, or it has not been measured yet (`probe.map_every`)");

const TARGET_DISTANCE: Headline = MAP_ERROR
    .like("generator_distance", "distance from a generator", measured!(GeneratorDistance, |m| m.distance))
    .better(Better::Neither)
    .about("|J - A| / |J|, A the generator nearest to the Jacobian J of the trained block: 0 for a generator.")
    .absent("no block was trained, or its Jacobian has not been measured yet (`probe.block_every`)");

pub static ALL: &[Headline] = &[
    MAP_ERROR,
    MAP_ERROR
        .like("map_error_outside", "error outside", measured!(StationaryMapError, |m| m.outside))
        .about("The same error over controls beyond the range: extrapolation."),
    MAP_ERROR
        .like("map_error_ignoring", "error of ignoring y", measured!(StationaryMapError, |m| m.ignoring))
        .better(Better::Neither)
        .about("The same error for a predictor that answers every control with the stationary distribution at y = 0."),
    TARGET_DISTANCE,
    TARGET_DISTANCE
        .like(
            "generator_distance_permuted",
            "distance, entries permuted",
            measured!(GeneratorDistance, |m| m.permuted.distance),
        )
        .about("The same distance of matrices with J's entries in random places."),
    common::LOSS
        .about("Of the map: relative entropy of its distribution to the true one on controls that no update drew, nats. Of a block: \
                cross-entropy of the next token on text that no update saw, nats per token."),
];

/// Each is compared with a baseline that was measured with it: the error on the same controls of a map that ignores the
/// control, and the distance of a matrix with the same entries permuted.
pub static LARGE_NUMBERS: &[LargeNumber] = &[
    LargeNumber::new("map_error", "map\u{2019}s error", "stationary_map")
        .compared_to("map_error_ignoring", "ignoring y"),
    LargeNumber::new("generator_distance", "distance from a generator", "generator_distance")
        .compared_to("generator_distance_permuted", "permuted entries"),
    large::common::LOSS,
];
