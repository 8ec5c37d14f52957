//! How a BDH of the public size reads: a text at once, and tokens one by one, alone or in turn with PyTorch.

use std::time::Instant;

use candle_core::{Device, Result, Tensor};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;

use super::{BenchArgs, case::median, line_peer::LinePeer};
use orrery::{
    cli::Failure,
    models::{
        bdh::{Bdh, BdhSpec, TokenReader},
        capabilities::{ReadingForm, State, SynapseModel, TextReader, TokenRecurrence},
    },
    nn::{Tap, memory},
};

const VOCAB: usize = 256;
const LAYERS: usize = 6;
/// The length of the text that is read at once.
const TOKENS: usize = 1000;
/// Tokens of one measurement of the recurrent form; the median is taken.
const STREAMED: usize = 20;

/// What is timed: its name for the peer, and what it is.
const CASES: [(&str, &str); 2] = [("text", "loss of 1,000 tokens"), ("token", "one token, recurrent form")];

#[derive(Debug, Deserialize)]
struct Timing {
    ms: f64,
}

/// This program's model, and how far it has read the text.
struct Ours {
    model: Bdh,
    reader: TokenReader,
    rng: ChaCha8Rng,
}

impl Ours {
    fn new() -> Result<Self> {
        let spec = BdhSpec { d_model: 256, neurons: 32_768, layers: LAYERS, ..BdhSpec::default() };
        let model = Bdh::new(&spec, VOCAB, 0, &Device::Cpu)?;
        let empty = State::empty(&spec.shape(), 1, &Device::Cpu)?;
        match TokenReader::after(&model, &empty)? {
            Some(reader) => {
                let mut ours = Self { model, reader, rng: ChaCha8Rng::seed_from_u64(0) };
                ours.check()?;
                Ok(ours)
            }
            None => candle_core::bail!("the model has no recurrent form on this device"),
        }
    }

    fn token(&mut self) -> u32 {
        self.rng.random_range(0..VOCAB as u32)
    }

    /// Both forms agree.
    fn check(&mut self) -> Result<()> {
        let ids: Vec<u32> = (0..6).map(|_| self.token()).collect();
        let mut state = State::empty(self.model.shape(), 1, &Device::Cpu)?;
        let tokens = Tensor::from_slice(&ids, (1, ids.len()), &Device::Cpu)?;
        let wanted = self.model.read(&tokens, &mut state, &mut Tap::off())?.squeeze(0)?;
        for (at, id) in ids.iter().enumerate() {
            let found = Tensor::new(self.reader.read(*id)?, &Device::Cpu)?;
            let off = orrery::nn::host::scalar(&(found - wanted.get(at)?)?.abs()?.max(0)?)?;
            if off.is_nan() || off > 1e-3 {
                candle_core::bail!("the recurrent form is {off:e} off");
            }
        }
        Ok(())
    }

    /// Milliseconds.
    fn time(&mut self, case: &str) -> Result<f64> {
        if case == "text" {
            let ids: Vec<u32> = (0..TOKENS).map(|_| self.token()).collect();
            let began = Instant::now();
            TextReader::new(&self.model).token_losses(&ids, ReadingForm::Streamed, &mut |_| ())?;
            return Ok(began.elapsed().as_secs_f64() * 1e3);
        }
        let id = self.token();
        let began = Instant::now();
        self.reader.read(id)?;
        Ok(began.elapsed().as_secs_f64() * 1e3)
    }
}

/// Prints for each case the median of both sides and their ratio; `--steps` texts, and this many times twenty tokens.
pub fn report(args: &BenchArgs, mut peer: Option<LinePeer>) -> std::result::Result<(), Failure> {
    let failed = |e: candle_core::Error| Failure::run(format!("the bench failed: {e}"));
    let mut ours = Ours::new().map_err(failed)?;
    println!("BDH, {LAYERS} layers, D 256, 32,768 neurons in 4 heads, random weights; {} threads", args.threads());
    for (case, words) in CASES {
        let (mut here, mut there) = (vec![], vec![]);
        // the first is not counted
        for round in 0..=args.steps {
            for _ in 0..if case == "text" { 1 } else { STREAMED } {
                let ms = ours.time(case).map_err(failed)?;
                here.extend((round > 0).then_some(ms));
            }
            let Some(peer) = &mut peer else { continue };
            for _ in 0..if case == "text" { 1 } else { STREAMED } {
                let found: Timing = peer.ask(case)?;
                there.extend((round > 0).then_some(found.ms));
            }
        }
        println!("{}", line(words, case, &here, &there));
    }
    if let Some(peak) = memory::peak_mib("self") {
        println!("peak {peak:.0} MiB");
    }
    Ok(())
}

/// A line from times in milliseconds; the peer may have none.
fn line(words: &str, case: &str, here: &[f64], there: &[f64]) -> String {
    let rate = |ms: f64| if case == "token" { format!(" ({:.1} tokens/s)", 1e3 / ms) } else { String::new() };
    let ours = median(here);
    let mut line = format!("{words:<28}{ours:>9.1} ms{}", rate(ours));
    if !there.is_empty() {
        let theirs = median(there);
        line += &format!(", PyTorch {theirs:.1} ms{}: ratio of times {:.2}", rate(theirs), ours / theirs);
        line += &format!(", of speeds {:.2}", theirs / ours);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_the_ratio_both_ways() {
        let found = line("one token", "token", &[20.0, 10.0, 30.0], &[40.0]);
        assert!(
            found.ends_with("(50.0 tokens/s), PyTorch 40.0 ms (25.0 tokens/s): ratio of times 0.50, of speeds 2.00"),
            "{found}"
        );
        assert!(line("a text", "text", &[20.0], &[]).ends_with("20.0 ms"));
    }
}
