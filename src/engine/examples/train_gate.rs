//! Trains a fast-slow model on generated prose with the engine alone and prints its gate, which starts at exactly zero:
//! `cargo run --release -p orrery-engine --example train_gate`.

use orrery_engine::{
    AdamW, AdamWSpec, Batch, Corpus, CorpusSpec, Device, GradAccumulator, Position, Source, TokenizerSpec, Trainable,
    models::fast_slow::{FastSlow, FastSlowSpec},
    nn::host,
};

const SEED: u64 = 7;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let corpus = Corpus::open(&CorpusSpec {
        seed: SEED,
        ..CorpusSpec::new(Source::Generated("mixture".into()), TokenizerSpec::Byte { vocab: 256 })
    })?;
    let spec = FastSlowSpec { d_model: 64, ..FastSlowSpec::default() };
    let model = FastSlow::new(&spec, corpus.vocab(), SEED, &Device::Cpu)?;
    let mut optimiser = AdamW::new(model.params(), AdamWSpec::default())?;
    for step in 0..=200 {
        let windows = corpus.batch(&Position { seed: SEED, drawn: step }, 4, 128)?;
        let batch = Batch::from_ids(&windows.inputs, &windows.targets, windows.rows, windows.len, &Device::Cpu)?;
        let accumulator = GradAccumulator::default();
        let loss = model.accumulated_loss(&batch, &accumulator)?;
        let gradients = accumulator.backward(&loss.total)?;
        if step % 20 == 0 {
            let gate = model.capabilities().coupling.ok_or("this model has no gate")?.effective_gate()?;
            println!("step {step:3}  loss {:.3}  gate {gate:+.5}", host::scalar(&loss.cross_entropy)?);
        }
        optimiser.step(model.params(), &gradients, 3e-3)?;
    }
    Ok(())
}
