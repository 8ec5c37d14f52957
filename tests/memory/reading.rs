//! Tests that the memory for reading a long text grows only by the numbers that are shown, and not by the model's
//! intermediate results.

use candle_core::Device;
use orrery::{
    config::Value,
    corpus::{self, Corpus},
    models::{ModelSpec, bdh::BdhSpec},
    nn::{Result, memory},
    probe::{self, ProbeInputs},
    telemetry::Args,
};

/// The peak memory in bytes while a text with this number of tokens is read.
fn peak_of_reading(tokens: usize) -> Result<f64> {
    let corpus = Corpus::open(&corpus::CorpusSpec::new(
        corpus::Source::Generated("harbour".into()),
        corpus::TokenizerSpec::Byte { vocab: 256 },
    ))
    .unwrap();
    let spec = BdhSpec { d_model: 8, heads: 2, neurons: 256, layers: 2, ..BdhSpec::default() };
    let mut model = ModelSpec::Bdh(spec).build(corpus.vocab(), 3, &Device::Cpu)?;
    let text: String = (0..tokens).map(|i| char::from(b'a' + (i * i % 23) as u8)).collect();
    let args = Args::from([("text".to_owned(), Value::Text(text)), ("longest".to_owned(), Value::Int(tokens as i64))]);
    let inputs = ProbeInputs::standalone(&corpus, &Device::Cpu);
    let probe = probe::find("reading").unwrap();
    let (answer, most) = memory::peak_bytes(|| (probe.ask)(model.as_mut(), &args, &inputs));
    let finding = answer?.remove(0);
    assert_eq!(finding.tokens.len(), tokens);
    Ok(most.expect("the allocator counts") as f64)
}

#[test]
fn a_text_of_a_hundred_thousand_tokens_is_read_in_bounded_memory() -> Result<()> {
    crate::alone(|| {
        peak_of_reading(500)?; // allocates what is created once and kept
        let (short, long) = (peak_of_reading(2_000)?, peak_of_reading(100_000)?);
        let a_token = (long - short) / 98_000.0;
        println!("{short} bytes for 2,000 tokens, {long} for 100,000: {a_token:.0} a token");
        // per token: three times 48 numbers of four bytes for the selected neurons; numbers of eight bytes for 12
        // synapses, up to 24 of their neurons, the layers' shares and the loss; the token's text twice; spare capacity
        // of vectors
        assert!(a_token < 2_500.0, "{a_token} bytes per token");
        // a score for every pair of tokens in a single head would take a hundred times as much
        assert!(long < 100_000f64.powi(2) * 4.0 / 100.0);
        Ok(())
    })
}
