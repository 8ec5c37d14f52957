//! The order of floats as that of integers, which select faster.

/// An integer that orders as the value does; NaN is above or below all.
#[inline(always)]
pub fn ordered(x: f32) -> u32 {
    let bits = x.to_bits();
    bits ^ if bits >> 31 == 1 { u32::MAX } else { 1 << 31 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_in_the_order_of_the_values() {
        let values = [f32::NEG_INFINITY, -2.5, -f32::MIN_POSITIVE, -0.0, 0.0, 1e-30, 1.0, f32::INFINITY];
        assert!(values.windows(2).all(|pair| ordered(pair[0]) < ordered(pair[1])));
    }
}
