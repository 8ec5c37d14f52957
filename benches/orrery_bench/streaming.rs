//! What a streamed token costs after this many others were read: with moving averages, always the same; with softmax
//! attention, more and more.

use std::time::Instant;

use candle_core::{Device, Result, Tensor};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::case::median;
use orrery::{
    models::{
        capabilities::{StreamingModel, TextStream},
        spen::{Predictor, PredictorValues, Spen, SpenSpec, TraceGate},
    },
    nn::memory,
};

const VOCAB: usize = 256;
/// Tokens at the end of each length that are timed.
const TIMED: usize = 1000;
const LENGTHS: [usize; 3] = [1000, 10_000, 100_000];

/// A predictor, what it is called, and how many of the lengths it is worth waiting for.
const MODELS: [(&str, Predictor, usize); 3] = [
    ("static predictor", Predictor::Static, 3),
    ("linear attention", Predictor::LinearAttention, 3),
    ("softmax attention", Predictor::SoftmaxAttention, 2),
];

/// The cost of the last tokens of a length.
struct TokenCost {
    /// Tokens read by then.
    read: usize,
    /// Median.
    ns: f64,
    /// Bytes that were allocated for a token, on average.
    bytes: f64,
}

pub fn report() -> Result<()> {
    println!("one text of random bytes, token by token; the last {TIMED} tokens of each length");
    println!("{:<20}{:>10}{:>14}{:>10}{:>14}", "SPEN with", "read", "ns per token", "ratio", "kB per token");
    for (name, predictor, lengths) in MODELS {
        let spec =
            SpenSpec { gate: TraceGate::Fixed, predictor, values: PredictorValues::Input, ..SpenSpec::default() };
        let model = Spen::new(&spec, VOCAB, 0, &Device::Cpu)?;
        let costs = measure(&mut *model.stream(), &LENGTHS[..lengths], TIMED)?;
        let first = costs.first().map_or(f64::NAN, |c| c.ns);
        for cost in &costs {
            let (ns, bytes) = (cost.ns, cost.bytes / 1e3);
            println!("{name:<20}{:>10}{ns:>14.0}{:>10.2}{bytes:>14.1}", cost.read, ns / first);
        }
    }
    Ok(())
}

/// Reads one text to the longest of these lengths, ascending, and times the last tokens of each.
fn measure(stream: &mut dyn TextStream, lengths: &[usize], timed: usize) -> Result<Vec<TokenCost>> {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut read = 0;
    let mut costs = vec![];
    for &length in lengths {
        let mut times = vec![];
        let mut before = memory::allocations();
        for at in read..length {
            let token = Tensor::new(&[[rng.random_range(0..VOCAB as u32)]], &Device::Cpu)?;
            if at == length.saturating_sub(timed).max(read) {
                before = memory::allocations();
            }
            let began = Instant::now();
            stream.read(&token)?;
            if at + timed >= length {
                times.push(began.elapsed().as_secs_f64() * 1e9);
            }
        }
        read = length;
        let bytes = (memory::allocations()[1] - before[1]) as f64 / times.len().max(1) as f64;
        costs.push(TokenCost { read, ns: if times.is_empty() { f64::NAN } else { median(&times) }, bytes });
    }
    Ok(costs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_read_once_and_timed_at_its_end() {
        struct Counting(usize);
        impl TextStream for Counting {
            fn read(&mut self, tokens: &Tensor) -> Result<Tensor> {
                self.0 += tokens.elem_count();
                Ok(tokens.clone())
            }
        }
        let mut stream = Counting(0);
        let costs = measure(&mut stream, &[5, 20], 4).unwrap();
        assert_eq!((stream.0, costs.len(), costs[1].read), (20, 2, 20));
        assert!(costs.iter().all(|c| c.ns.is_finite() && c.ns >= 0.0));
    }
}
