//! The products of queries and keys of every layer and head along a text.

use crate::{
    nn::fused::linear_attention::{LinearAttentionSpec, query_key_products},
    probe::prelude::*,
};

/// Magnitudes up to this are kept in half precision.
const MAX_HALF_PRECISION: f32 = 6e4;

impl Probe for QueryKeyMapsArgs {
    type Answer = QueryKeyMaps;
    type Subject<'m> = &'m dyn SynapseModel;

    fn ask(&self, model: &dyn SynapseModel, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let is_rotated = self.rotated;
        let prompt = Prompt::read(cx, &self.text, self.passage, self.longest)?;
        let layers = model.shape().layers;
        let seen = model.shape().attention.clone();
        let spec = if is_rotated { seen } else { LinearAttentionSpec { rotary: false, damped: false, ..seen } };
        let paths: Vec<String> = (0..layers).map(|l| format!("layers.{l}.x")).collect();
        let mut tap = Tap::on(&paths);
        model.logits(&prompt.tensor(cx.device)?, &mut tap)?;
        let mut all = vec![];
        for (layer, path) in paths.iter().enumerate() {
            cx.progress.at(layer, layers)?;
            all.push(query_key_layer(&query_key_products(tap.require(path)?, &spec)?)?);
        }
        let how = if is_rotated { "as the model sees them" } else { "without rotation" };
        let about = format!("{}, {how}", prompt.about);
        let tokens = cx.corpus.token_texts(&prompt.ids);
        Ok(Answer::new(QueryKeyMaps { is_rotated, layers: all }, about, tokens))
    }
}

/// products `(1, H, T, T)` of one layer.
fn query_key_layer(products: &Tensor) -> Result<QueryKeyLayer> {
    let (_, heads, t, _) = products.dims4()?;
    let values = host::to_f32(products)?;
    let most = |map: &[f32]| map.iter().fold(0f32, |most, v| most.max(v.abs()));
    let greatest: Vec<f32> = values.chunks((t * t).max(1)).map(most).collect();
    let fits = greatest.iter().all(|g| *g < MAX_HALF_PRECISION);
    let products = Array::new([heads, t, t], values)?;
    Ok(QueryKeyLayer {
        products: if fits { products.half_precision() } else { products },
        greatest: greatest.into_iter().map(f64::from).collect(),
    })
}
