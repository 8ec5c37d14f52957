//! Opens a trained BDH and asks how a text continues, with typed arguments and a typed answer:
//! `cargo run --release -p orrery-engine --example ask_probe -- MODEL.pt TEXT.txt "Once upon"`.

use std::{env, path::Path};

use orrery_engine::{
    Arguments, Corpus, CorpusSpec, Device, Measurement, ProbeInputs, Source, TokenizerSpec,
    models::bdh::{BdhSpec, Checkpoint},
    probe,
    telemetry::measurements::{NextTokens, NextTokensArgs},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [file, text, prompt] = arguments.as_slice() else { return Err("give a model, a text and a prompt".into()) };
    let trained = Checkpoint::open(Path::new(file), &BdhSpec::default(), &Device::Cpu)?;
    let mut model = trained.model(trained.facts.layers.map_or(6, |known| known.value))?;
    let corpus = Corpus::open(&CorpusSpec {
        seed: 0,
        ..CorpusSpec::new(Source::File(text.into()), TokenizerSpec::Byte { vocab: trained.vocab })
    })?;
    let question = NextTokensArgs { text: prompt.clone(), length: 64, ..NextTokensArgs::default() };
    let probe = probe::find(NextTokensArgs::PROBE).ok_or("there is no such probe")?;
    let args = question.to_args();
    for finding in (probe.ask)(&mut model, &args, &ProbeInputs::standalone(&corpus, &Device::Cpu))? {
        if let Some(answer) = NextTokens::from_payload(&finding.payload) {
            println!("{}{}", answer.prompt, answer.continuation);
        }
    }
    Ok(())
}
