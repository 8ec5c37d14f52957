//! What merging with another model would keep: the held-out loss of this model, of the other and of both
//! side by side, on every text at hand.

use std::path::Path;

use super::{
    super::{Finding, Probe, ProbeContext},
    model,
};
use crate::{
    config::Value,
    corpus::{Corpus, CorpusError, Source, Spec, TokenizerSpec, Windows},
    models::{
        self, Model,
        bdh::{
            BdhSpec, foreign,
            merge::{Parent, merge},
        },
    },
    nn::{Batch, Device, Result, Tensor, host},
    telemetry::{Matrix, Payload, channels},
};

/// Generated texts that are asked about beside the run's own, where tokens are bytes.
const TEXTS: [&str; 4] = ["harbour", "garden", "observatory", "letters"];
const BYTES: usize = 256;

/// Arguments: `with`, a checkpoint of the other model (without it there is no answer); `windows` (8) of
/// `window` (128) tokens a text. Answers a bundle: `losses` (Matrix, models by texts, nats), `models`,
/// `texts` and `told` (what was done, as text).
pub struct Merging;

impl Probe for Merging {
    fn id(&self) -> &'static str {
        "merging"
    }

    fn applies(&self, model: &dyn Model) -> bool {
        model.synapses().is_some()
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let with = match cx.args.get("with") {
            Some(Value::Text(path)) if !path.trim().is_empty() => path.trim().to_owned(),
            _ => return Ok(vec![]),
        };
        let whole = |name: &str, usual: f64| {
            cx.args.get(name).and_then(|v| v.as_f64()).unwrap_or(usual).clamp(2.0, 4096.0) as usize
        };
        let (count, len) = (whole("windows", 8.0), whole("window", 128.0));
        let (this, device) = (model(cx)?, cx.device);
        let weights = this.params().iter().map(|(n, v)| (n.to_owned(), v.as_tensor().detach())).collect();
        let mine = Parent { name: "this model".into(), spec: this.spec().clone(), weights };
        let file = foreign::open(Path::new(&with), this.spec())?;
        let weights = file.load(device)?.into_iter().map(|(n, t)| (n.to_owned(), t)).collect();
        let name = Path::new(&with).file_stem().map_or(with.clone(), |n| n.to_string_lossy().into_owned());
        let other = Parent { name: name.clone(), spec: file.spec.clone(), weights };
        let merged = merge(&mine, &other)?;
        let vocab = cx.corpus.vocab();
        let stand_up = |spec, weights: &[_]| stand_up(spec, weights, vocab, device);
        let models = [
            (format!("this, {} neurons", mine.spec.neurons), None),
            (format!("{name}, {} neurons", other.spec.neurons), Some(stand_up(&other.spec, &other.weights)?)),
            (format!("merged, {} neurons", merged.spec.neurons), Some(stand_up(&merged.spec, &merged.weights)?)),
        ];
        let texts = texts(cx.corpus, count, len).map_err(|e| candle_core::Error::Msg(e.to_string()))?;
        let mut losses = vec![];
        for (_, model) in &models {
            for (_, windows) in &texts {
                losses.push(loss(model.as_deref().unwrap_or(&*cx.model), windows, device)? as f32);
            }
        }
        let matrix = Matrix {
            rows: models.len(),
            cols: texts.len(),
            data: losses,
            row_label: "model".into(),
            col_label: "text".into(),
        };
        let payload = Payload::Bundle(vec![
            ("losses".into(), Payload::Matrix(matrix)),
            ("models".into(), Payload::Text(models.into_iter().map(|m| m.0).collect())),
            ("texts".into(), Payload::Text(texts.into_iter().map(|t| t.0).collect())),
            ("told".into(), Payload::Text(merged.notes)),
        ]);
        let about = format!("{count} held-out windows of {len} tokens a text");
        Ok(vec![Finding { channel: channels::MERGING, about, tokens: vec![], payload }])
    }
}

fn stand_up(spec: &BdhSpec, weights: &[(String, Tensor)], vocab: usize, device: &Device) -> Result<Box<dyn Model>> {
    let model = models::Spec::Bdh(spec.clone()).build(vocab, 0, device)?;
    weights.iter().filter(|(n, _)| !n.starts_with("carried.")).try_for_each(|(n, t)| model.params().load(n, t))?;
    Ok(model)
}

/// The run's own text first.
fn texts(corpus: &Corpus, count: usize, len: usize) -> std::result::Result<Vec<(String, Windows)>, CorpusError> {
    let about = corpus.describe();
    let own = about.split([',', '(']).next().unwrap_or_default().trim().to_owned();
    let mut all = vec![(own.clone(), corpus.held_out(count, len)?)];
    if corpus.vocab() != BYTES || !about.ends_with("bytes") {
        return Ok(all);
    }
    for id in TEXTS.iter().filter(|id| **id != own) {
        let spec = Spec {
            source: Source::Generated((*id).to_owned()),
            tokenizer: TokenizerSpec::Byte { vocab: BYTES },
            held_out: 0.1,
            seed: 1,
        };
        all.push(((*id).to_owned(), Corpus::open(&spec)?.held_out(count, len)?));
    }
    Ok(all)
}

/// Mean nats a token.
fn loss(model: &dyn Model, w: &Windows, device: &Device) -> Result<f64> {
    host::scalar(&model.evaluate(&Batch::from_ids(&w.inputs, &w.targets, w.rows, w.len, device)?)?)
}
