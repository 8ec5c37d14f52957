//! A shuffled order of `0..n` that needs no list: a keyed permutation on the numbers below `n`.

use crate::random::scramble;

/// The position of `i` (below `n`) in the order of `key`: a balanced Feistel network of four rounds over
/// the next even power of two, walked until the value falls below `n` (fewer than four steps on
/// average). Each key gives another order; within one, no two `i` share a place.
pub(super) fn permute(i: u64, n: u64, key: u64) -> u64 {
    debug_assert!(i < n);
    if n < 2 {
        return 0;
    }
    let half = (64 - (n - 1).leading_zeros()).div_ceil(2);
    let mask = (1u64 << half) - 1;
    let mut x = i;
    loop {
        let (mut left, mut right) = (x >> half, x & mask);
        for round in 0..4u64 {
            let f = scramble(right ^ key.rotate_left(16 * round as u32) ^ (round << 56)) & mask;
            (left, right) = (right, left ^ f);
        }
        x = (left << half) | right;
        if x < n {
            return x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_place_is_taken_once(n in 1u64..700, key: u64) {
            let mut seen = vec![false; n as usize];
            for i in 0..n {
                let at = permute(i, n, key) as usize;
                prop_assert!(!seen[at]);
                seen[at] = true;
            }
        }

        #[test]
        fn large_domains_stay_inside(i: u64, n in 1u64..u64::MAX, key: u64) {
            let n = n >> 1 | 1;
            prop_assert!(permute(i % n, n, key) < n);
        }
    }

    #[test]
    fn the_order_is_shuffled() {
        let n = 1000u64;
        let order: Vec<u64> = (0..n).map(|i| permute(i, n, 7)).collect();
        let fixed = order.iter().enumerate().filter(|(i, x)| *i as u64 == **x).count();
        let follows = order.windows(2).filter(|w| w[1] == w[0] + 1).count();
        assert!(fixed < 10 && follows < 10, "{fixed} fixed points, {follows} neighbours");
        assert_ne!(order, (0..n).map(|i| permute(i, n, 8)).collect::<Vec<_>>());
    }
}
