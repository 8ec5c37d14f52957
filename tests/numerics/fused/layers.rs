//! Compares the fused CPU forms of linear maps, MLPs and norms with their reference forms: values, gradients, finite
//! differences, numbers of threads, and a second backward pass.

use candle_core::{Tensor, Var};
use orrery_lab::nn::{
    Result,
    fused::{
        activation,
        add_row::{self, add_row},
        axpy::{self, axpy},
        linear::{self, linear},
        mlp::{self, Act, BiasedWeights},
        norm,
        scaled_add::{self, scaled_add},
    },
    host,
};
use proptest::prelude::*;

use crate::op_checks::{Check, check, check_frozen, check_reference, check_threads, random};

/// Runs a check of all operations (fused form, reference, shapes) for these sizes (batch, tokens, d, f, o).
fn for_each_case(b: usize, t: usize, (d, f, o): (usize, usize, usize), run: Check) {
    let x = vec![b, t, d];
    run(&|a| linear(&a[0], &a[1]), &|a| linear::reference(&a[0], &a[1]), &[x.clone(), vec![o, d]]);
    for act in [Act::Gelu, Act::Silu] {
        run(&|a| activation::activation(&a[0], act), &|a| activation::reference(&a[0], act), std::slice::from_ref(&x));
    }
    run(
        &|a| linear::linear_transposed(&a[0], &a[1]),
        &|a| linear::reference(&a[0], &a[1].t()?),
        &[x.clone(), vec![d, o]],
    );
    run(
        &|a| linear::linear_biased(&a[0], &a[1], &a[2]),
        &|a| linear::linear_biased_reference(&a[0], &a[1], &a[2]),
        &[x.clone(), vec![o, d], vec![o]],
    );
    let weights = |a: &[Tensor]| BiasedWeights {
        up: a[1].clone(),
        up_bias: a[2].clone(),
        down: a[3].clone(),
        down_bias: a[4].clone(),
    };
    for act in [Act::Gelu, Act::Silu] {
        run(
            &|a| mlp::biased_mlp(&a[0], &weights(a), act),
            &|a| mlp::biased_mlp_reference(&a[0], &weights(a), act),
            &[x.clone(), vec![f, d], vec![f], vec![o, f], vec![o]],
        );
        run(
            &|a| mlp::mlp(&a[0], &a[1], &a[2], act),
            &|a| mlp::mlp_reference(&a[0], &a[1], &a[2], act),
            &[x.clone(), vec![f, d], vec![o, f]],
        );
        run(
            &|a| mlp::gated_mlp(&a[0], &a[1], &a[2], act),
            &|a| mlp::gated_mlp_reference(&a[0], &a[1], &a[2], act),
            &[x.clone(), vec![2 * f, d], vec![o, f]],
        );
    }
    run(
        &|a| norm::rms_norm(&a[0], &a[1], 1e-6),
        &|a| norm::rms_norm_reference(&a[0], &a[1], 1e-6),
        &[x.clone(), vec![d]],
    );
    run(
        &|a| norm::layer_norm(&a[0], Some(&a[1]), Some(&a[2]), 1e-2),
        &|a| norm::layer_norm_reference(&a[0], Some(&a[1]), Some(&a[2]), 1e-2),
        &[x.clone(), vec![d], vec![d]],
    );
    for texts in [1, b] {
        run(&|a| add_row(&a[0], &a[1]), &|a| add_row::reference(&a[0], &a[1]), &[x.clone(), vec![texts, 1, d]]);
    }
    let scaled = [x.clone(), x.clone(), vec![]];
    run(&|a| scaled_add(&a[0], &a[1], &a[2]), &|a| scaled_add::reference(&a[0], &a[1], &a[2]), &scaled);
    run(&|a| axpy(&a[0], &a[1], 0.3), &|a| axpy::reference(&a[0], &a[1], 0.3), &[x.clone(), x.clone()]);
    run(&|a| norm::layer_norm(&a[0], None, None, 1e-2), &|a| norm::layer_norm_reference(&a[0], None, None, 1e-2), &[x]);
}

#[test]
fn layers_at_the_edges() {
    for (b, t, sizes) in [(1, 1, (2, 1, 1)), (2, 128, (16, 64, 16)), (1, 129, (33, 17, 70)), (3, 200, (64, 130, 48))] {
        for_each_case(b, t, sizes, &mut |fused, reference, shapes| check(fused, reference, shapes).unwrap());
    }
}

#[test]
fn weights_that_are_tiled_equal_the_reference() {
    for sizes in [(48, 256, 40), (40, 40, 200), (200, 40, 40)] {
        for_each_case(2, 160, sizes, &mut |fused, reference, shapes| check(fused, reference, shapes).unwrap());
    }
}

#[test]
fn references_agree_with_finite_differences() {
    for_each_case(2, 3, (5, 7, 4), &mut |_, reference, shapes| check_reference(reference, shapes).unwrap());
}

#[test]
fn threads_change_no_bit() {
    for_each_case(2, 150, (48, 130, 48), &mut |fused, _, shapes| check_threads(fused, shapes).unwrap());
}

#[test]
fn frozen_arguments_get_no_gradient_and_change_none() -> Result<()> {
    let (x, w) = (vec![2, 70, 12], vec![9, 12]);
    check_frozen(&|a| linear(&a[0], &a[1]), &[x.clone(), w.clone()])?;
    check_frozen(&|a| linear::linear_biased(&a[0], &a[1], &a[2]), &[x.clone(), w, vec![9]])?;
    check_frozen(&|a| linear::linear_transposed(&a[0], &a[1]), &[x.clone(), vec![12, 9]])?;
    check_frozen(&|a| norm::layer_norm(&a[0], Some(&a[1]), Some(&a[2]), 1e-2), &[x, vec![12], vec![12]])
}

#[test]
fn strided_inputs_give_the_results_of_contiguous_ones() -> Result<()> {
    let x = random(1, &[3, 7, 12])?;
    let (turned, part) = (x.transpose(0, 1)?, x.narrow(1, 2, 4)?);
    let (w, scale) = (random(2, &[5, 12])?, random(3, &[12])?);
    for x in [turned, part] {
        let dense = x.contiguous()?;
        assert_eq!(host::to_f32(&linear(&x, &w)?)?, host::to_f32(&linear(&dense, &w)?)?);
        let (a, b) = (norm::rms_norm(&x, &scale, 1e-6)?, norm::rms_norm(&dense, &scale, 1e-6)?);
        assert_eq!(host::to_f32(&a)?, host::to_f32(&b)?);
    }
    Ok(())
}

#[test]
fn without_gradients_the_values_are_the_same() -> Result<()> {
    let (x, up, down) = (random(1, &[2, 140, 24])?, random(2, &[64, 24])?, random(3, &[24, 32])?);
    let free = mlp::gated_mlp(&x, &up, &down, Act::Silu)?;
    let tracked = mlp::gated_mlp(Var::from_tensor(&x)?.as_tensor(), &up, &down, Act::Silu)?;
    assert!(!free.track_op() && tracked.track_op());
    assert_eq!(host::to_f32(&free)?, host::to_f32(&tracked)?);
    Ok(())
}

#[test]
fn sizes_that_do_not_fit_are_named() -> Result<()> {
    let (x, w) = (random(1, &[2, 5, 8])?, random(2, &[4, 7])?);
    assert!(linear(&x, &w).unwrap_err().to_string().contains("7 inputs"));
    let fits = random(2, &[4, 8])?;
    assert!(linear::linear_biased(&x, &fits, &random(3, &[5])?).unwrap_err().to_string().contains("4 outputs"));
    assert!(norm::rms_norm(&x, &random(3, &[7])?, 1e-6).unwrap_err().to_string().contains("7 channels"));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn layers_of_any_size(b in 1usize..3, t in 1usize..150, d in 2usize..40, f in 1usize..70, o in 1usize..40) {
        for_each_case(b, t, (d, f, o), &mut |fused, reference, shapes| check(fused, reference, shapes).unwrap());
    }
}
