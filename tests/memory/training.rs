//! Tests the memory estimate of every family at two sizes: it must be close to the measured memory of two training
//! steps.

use candle_core::{Device, Result};
use orrery::{
    models::{
        ModelSpec,
        bdh::BdhSpec,
        bigru::{BiGruSpec, WordInput},
        coupled_qk::{CoupledQkSpec, QkVariant},
        dense::DenseSpec,
        fast_slow::FastSlowSpec,
        gpt::{AlibiGptSpec, PlainGptSpec},
        graph_bdh::GraphBdhSpec,
        ode_flow::OdeFlowSpec,
        plane::PlaneSpec,
        recover::{ReaderInput, RecoverSpec},
        spcn::SpcnSpec,
        spen::SpenSpec,
        stationary::StationarySpec,
        step_memory::StepSizes,
    },
    nn::{AdamW, Batch, fused::GradAccumulator, optimiser::AdamWSpec},
};

use super::{alone, peak_of};

/// A model, the vocabulary, and the rows and tokens of a batch.
type Case = (ModelSpec, usize, [usize; 2]);

/// Two sizes of a family with different proportions. A new family must add its own.
fn cases(family: &ModelSpec) -> [Case; 2] {
    let readers = |reader, code_dim, hidden| RecoverSpec {
        reader,
        distances: vec![0, 2, 5, 9],
        code_dim,
        code_active: 8,
        code_seed: 1,
        hidden,
        bits: 0,
    };
    match family {
        ModelSpec::FastSlow(_) => [
            (ModelSpec::FastSlow(FastSlowSpec::default()), 320, [4, 128]),
            (ModelSpec::FastSlow(FastSlowSpec { d_model: 64, n_rounds: 3, ..FastSlowSpec::default() }), 1000, [8, 96]),
        ],
        ModelSpec::Dense(_) => [
            (ModelSpec::Dense(DenseSpec::default()), 320, [4, 128]),
            (ModelSpec::Dense(DenseSpec { d_model: 64, layers: 6, ..DenseSpec::default() }), 1000, [8, 96]),
        ],
        ModelSpec::Recover(_) => [
            (ModelSpec::Recover(readers(ReaderInput::Three { alphas: [0.5, 0.1, 0.02] }, 128, 96)), 256, [4, 64]),
            (
                ModelSpec::Recover(readers(ReaderInput::AttentionPast { alphas: [0.5, 0.1, 0.02] }, 64, 64)),
                128,
                [8, 96],
            ),
        ],
        ModelSpec::Plane(_) => [
            (ModelSpec::Plane(PlaneSpec { hidden: 512, ..PlaneSpec::default() }), 256, [4, 64]),
            (ModelSpec::Plane(PlaneSpec { hidden: 1024, ..PlaneSpec::default() }), 256, [4, 64]),
        ],
        ModelSpec::Stationary(_) => [
            (ModelSpec::Stationary(StationarySpec { hidden: 512, ..StationarySpec::default() }), 256, [256, 4]),
            (ModelSpec::Stationary(StationarySpec { hidden: 256, ..StationarySpec::default() }), 256, [1024, 4]),
        ],
        ModelSpec::OdeFlow(_) => [
            (ModelSpec::OdeFlow(OdeFlowSpec::default()), 256, [8, 64]),
            (ModelSpec::OdeFlow(OdeFlowSpec { d_model: 64, steps: 8, ..OdeFlowSpec::default() }), 1000, [8, 96]),
        ],
        ModelSpec::PlainGpt(_) => [
            (ModelSpec::PlainGpt(PlainGptSpec::default()), 256, [4, 64]),
            (ModelSpec::PlainGpt(PlainGptSpec { d_model: 64, layers: 10, ..PlainGptSpec::default() }), 4000, [8, 96]),
        ],
        ModelSpec::AlibiGpt(_) => [
            (ModelSpec::AlibiGpt(AlibiGptSpec::default()), 256, [4, 64]),
            (ModelSpec::AlibiGpt(AlibiGptSpec { d_model: 64, layers: 10, ..AlibiGptSpec::default() }), 1000, [8, 96]),
        ],
        ModelSpec::GraphBdh(_) => [
            (ModelSpec::GraphBdh(GraphBdhSpec { neurons: 192, ..GraphBdhSpec::default() }), 64, [4, 64]),
            (
                ModelSpec::GraphBdh(GraphBdhSpec { neurons: 128, synapses: 24, layers: 3, ..GraphBdhSpec::default() }),
                256,
                [8, 32],
            ),
        ],
        ModelSpec::CoupledQk(_) => [
            (
                ModelSpec::CoupledQk(CoupledQkSpec { variant: QkVariant::Euler, ..CoupledQkSpec::default() }),
                256,
                [8, 96],
            ),
            (
                ModelSpec::CoupledQk(CoupledQkSpec { variant: QkVariant::DiffEuler, ..CoupledQkSpec::default() }),
                256,
                [8, 96],
            ),
        ],
        ModelSpec::Spen(_) => [
            (ModelSpec::Spen(SpenSpec::default()), 256, [4, 96]),
            (ModelSpec::Spen(SpenSpec { layers: 5, ..SpenSpec::default() }), 1000, [8, 64]),
        ],
        ModelSpec::Spcn(_) => [
            (ModelSpec::Spcn(SpcnSpec::default()), 147, [20, 11]),
            (ModelSpec::Spcn(SpcnSpec { backward: false, ..SpcnSpec::default() }), 147, [50, 11]),
        ],
        ModelSpec::BiGru(_) => [
            (ModelSpec::BiGru(BiGruSpec { tags: 147, ..BiGruSpec::default() }), 147, [32, 11]),
            (
                ModelSpec::BiGru(BiGruSpec {
                    input: WordInput::OneHot,
                    hidden: 128,
                    tags: 147,
                    ..BiGruSpec::default()
                }),
                147,
                [64, 11],
            ),
        ],
        ModelSpec::Bdh(_) => [
            (ModelSpec::Bdh(BdhSpec::default()), 256, [4, 96]),
            (ModelSpec::Bdh(BdhSpec { neurons: 1024, layers: 3, dropout: 0.1, ..BdhSpec::default() }), 256, [8, 64]),
        ],
    }
}

/// Forms that no family's two sizes include: attention whose block consists of several operations, a classification
/// head, gradient checkpointing, and a transformer with dropout.
fn other_forms() -> Vec<Case> {
    let case = |variant| (ModelSpec::CoupledQk(CoupledQkSpec { variant, ..CoupledQkSpec::default() }), 256, [8, 96]);
    let classifier = CoupledQkSpec { classes: Some(7), ..CoupledQkSpec::default() };
    let kinds = [QkVariant::Mlp, QkVariant::LinearMixing, QkVariant::SharedMlp, QkVariant::Invertible].map(case);
    let dropping = AlibiGptSpec { dropout: 0.1, ..AlibiGptSpec::default() };
    let more = [(ModelSpec::CoupledQk(classifier), 256, [8, 96]), (ModelSpec::AlibiGpt(dropping), 256, [8, 96])];
    let recomputed = [QkVariant::Euler, QkVariant::DiffEuler].map(|variant| {
        let spec = CoupledQkSpec { variant, gradient_checkpointing: true, layers: 12, ..CoupledQkSpec::default() };
        (ModelSpec::CoupledQk(spec), 256, [8, 96])
    });
    kinds.into_iter().chain(more).chain(recomputed).collect()
}

fn two_steps((spec, vocab, [rows, tokens]): &Case) -> Result<usize> {
    let mut model = spec.build(*vocab, 0, &Device::Cpu)?;
    let mut adam = match model.capabilities_mut().local_learning {
        Some(_) => AdamW::without_moments(AdamWSpec::default()),
        None => AdamW::new(model.params(), AdamWSpec::default())?,
    };
    let ids: Vec<u32> = (0..rows * tokens).map(|i| (i * 7 % vocab) as u32).collect();
    let classes = model.capabilities().text_classifier.map_or(u32::MAX, |c| c.classes() as u32);
    let targets: Vec<u32> = ids.iter().map(|id| id % classes).collect();
    for _ in 0..2 {
        let batch = Batch::from_ids(&ids, &targets, *rows, *tokens, &Device::Cpu)?;
        if let Some(rule) = model.capabilities_mut().local_learning {
            rule.learn(&batch)?;
            continue;
        }
        let accumulator = GradAccumulator::default();
        let loss = model.accumulated_loss(&batch, &accumulator)?;
        let grads = accumulator.backward(&loss.total)?;
        drop(loss);
        adam.step(model.params(), &grads, 1e-4)?;
    }
    Ok(model.params().count())
}

#[test]
fn gradient_checkpointing_halves_the_memory_of_a_deep_model() {
    alone(|| {
        orrery::nn::set_threads(2);
        let peak = |gradient_checkpointing| {
            let spec = CoupledQkSpec { gradient_checkpointing, layers: 12, ..CoupledQkSpec::default() };
            peak_of(|| two_steps(&(ModelSpec::CoupledQk(spec), 256, [24, 96])).unwrap()).1
        };
        let (kept, recomputed) = (peak(false), peak(true));
        println!("{:.1} MB, recomputed {:.1} MB", kept as f64 / 1e6, recomputed as f64 / 1e6);
        assert!(recomputed * 2 < kept, "{recomputed} and {kept} bytes");
    })
}

#[test]
fn the_estimate_of_every_family_is_near_what_two_steps_hold() {
    alone(|| {
        orrery::nn::set_threads(2);
        let mut far = vec![];
        for case in ModelSpec::tiny().iter().flat_map(cases).chain(other_forms()) {
            let (spec, vocab, [rows, tokens]) = &case;
            let sizes = StepSizes { vocab: *vocab as f64, rows: *rows as f64, tokens: *tokens as f64 };
            let memory = spec.memory(&sizes);
            let (weights, peak) = peak_of(|| two_steps(&case).unwrap());
            assert_eq!(memory.weights, weights as f64, "{spec:?}");
            let ratio = memory.peak_bytes() / peak as f64;
            let mb = |bytes: f64| bytes / 1e6;
            println!(
                "{ratio:.2} of {:.1} MB: weights {:.2} M, shared {:.2} M, activations {:.2} M; {spec:?}",
                mb(peak as f64),
                memory.weights / 1e6,
                memory.shared / 1e6,
                memory.activations / 1e6
            );
            if !(0.7..=2.0).contains(&ratio) {
                far.push(format!("{ratio:.2}: {spec:?}"));
            }
        }
        assert!(far.is_empty(), "{far:#?}");
    })
}
