//! Tests that the graph of a BDH's weights is computed in tiles, so that its matrix is never in memory as a whole.

use crate::{alone, peak_of};
use orrery::analysis::graph::{
    null_models,
    product::{Product, Sign},
};

/// At half of the paper's neurons, G has 1 GiB of entries. Only tiles and counts may be in memory at the same time.
#[test]
fn memory_stays_bounded_at_16384_neurons() {
    alone(|| {
        const N: usize = 16_384;
        let (a, b) = (null_models::factor(N, 4, 1), null_models::factor(N, 4, 2));
        let product = Product::new(&a, &b, 4, true).unwrap();
        let ((spread, found), most) = peak_of(|| {
            let spread = product.spread();
            let found = product.strongest(200_000, Sign::Excitatory, &spread);
            (spread, found)
        });
        assert_eq!(spread.n, N as u64 * (N as u64 - 1));
        assert_eq!(found.edges.len(), 200_000);
        assert!(most < 64 << 20, "{} MiB", most >> 20);
    })
}
