//! Vectors whose memory is not cleared before a kernel writes them: clearing would cost as much as a small operation (a
//! training step allocates 100 to 400 MiB); and the parts that one of them is cut into.

/// A vector of `len` values that `write` stores. Before, every value is unspecified: whatever the allocator's memory
/// held, or NaN in debug builds, so that a test sees a value that was never stored. No value is uninitialised: a kernel
/// that forgets one computes nonsense, but nothing undefined happens.
pub fn build_vec(len: usize, write: impl FnOnce(&mut [f32])) -> Vec<f32> {
    let mut values = unspecified(len);
    write(&mut values);
    values
}

/// Same as [`build_vec`], for several vectors that are written together.
pub fn build_vecs<const N: usize>(lens: [usize; N], write: impl FnOnce([&mut [f32]; N])) -> [Vec<f32>; N] {
    let mut all = lens.map(unspecified);
    write(all.each_mut().map(Vec::as_mut_slice));
    all
}

/// The first values of a slice, cut into parts of these lengths.
pub fn split<const N: usize>(mut all: &[f32], lens: [usize; N]) -> [&[f32]; N] {
    lens.map(|n| {
        let (part, rest) = all.split_at(n);
        all = rest;
        part
    })
}

/// Same as [`split`], to write.
pub fn split_mut<const N: usize>(mut all: &mut [f32], lens: [usize; N]) -> [&mut [f32]; N] {
    lens.map(|n| {
        let (part, rest) = std::mem::take(&mut all).split_at_mut(n);
        all = rest;
        part
    })
}

#[cfg(all(not(debug_assertions), not(miri), any(target_arch = "x86_64", target_arch = "aarch64")))]
fn unspecified(len: usize) -> Vec<f32> {
    let mut values: Vec<f32> = Vec::with_capacity(len);
    // SAFETY: To the compiler an assembly block may store to any memory reachable through its operands unless it is
    // declared `nomem` or `readonly`, so this one stores `len` f32 that the compiler knows nothing about. It gets away
    // without an instruction because the capacity is there and any 32 bits that lie in it are an f32. The allocators in
    // use do not take pages of a live allocation back (`MADV_FREE`), so two reads of one place agree.
    unsafe {
        std::arch::asm!("/* {0} */", in(reg) values.as_mut_ptr(), options(nostack, preserves_flags));
        values.set_len(len);
    }
    values
}

#[cfg(not(all(not(debug_assertions), not(miri), any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn unspecified(len: usize) -> Vec<f32> {
    vec![f32::NAN; len]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_built_vector_has_the_written_values() {
        for len in [0, 1, 7, 100_000] {
            let values = build_vec(len, |v| v.iter_mut().enumerate().for_each(|(i, v)| *v = i as f32));
            assert!(values.len() == len && values.iter().enumerate().all(|(i, v)| *v == i as f32));
        }
    }

    #[test]
    fn unwritten_values_can_be_read() {
        // freed memory full of a known value is what an allocator likes to hand out again
        drop(vec![3f32; 4096]);
        let values = build_vec(4096, |v| v[0] = 1.0);
        let sum = |values: &[f32]| values.iter().fold(0u64, |sum, v| sum.wrapping_add(u64::from(v.to_bits())));
        assert_eq!((values[0], sum(&values)), (1.0, sum(&values)));
        if cfg!(debug_assertions) {
            assert!(values[1..].iter().all(|v| v.is_nan()), "a test build marks what was not written");
        }
    }
}
