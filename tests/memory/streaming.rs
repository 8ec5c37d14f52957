//! Tests that the memory of a streamed text does not grow with its length, except with softmax attention.

use std::sync::atomic::Ordering::SeqCst;

use candle_core::{Device, Tensor};
use orrery::{
    models::{
        capabilities::StreamingModel,
        spen::{Predictor, Spen, SpenSpec},
    },
    nn::Result,
};

use super::{ALIVE, alone};

/// The growth of memory in bytes from the first hundred tokens to `tokens` further ones.
fn memory_growth(predictor: Predictor, tokens: u32) -> Result<i64> {
    let spec = SpenSpec { d_model: 32, hidden: 64, kept: 8, predictor, ..SpenSpec::default() };
    let model = Spen::new(&spec, 64, 1, &Device::Cpu)?;
    let mut stream = model.stream();
    let mut read = |n: u32| -> Result<()> {
        for token in 0..n {
            stream.read(&Tensor::new(&[[token % 64]], &Device::Cpu)?)?;
        }
        Ok(())
    };
    read(100)?;
    let before = ALIVE.load(SeqCst);
    read(tokens)?;
    Ok(ALIVE.load(SeqCst) as i64 - before as i64)
}

#[test]
fn what_a_stream_holds_does_not_grow() -> Result<()> {
    alone(|| {
        for predictor in [Predictor::Static, Predictor::LinearAttention] {
            let grown = memory_growth(predictor, 2000)?;
            assert!(grown.abs() < 16 << 10, "{predictor:?} holds {grown} bytes more after 2,000 tokens");
        }
        let grown = memory_growth(Predictor::SoftmaxAttention, 500)?;
        assert!(grown > 500 * 2 * 32 * 4, "softmax attention keeps keys and values: {grown}");
        Ok(())
    })
}
