//! The interface of models that assign a class to a whole text.

use candle_core::{Result, Tensor};

/// A model with a classification head in place of next tokens.
pub trait TextClassifier {
    /// The number of classes, K.
    fn classes(&self) -> usize;

    /// Tokens u32 `(B, T)` -> logits of the classes after each token `(B, T, K)`, without gradients. Those after a text's
    /// last token are what the text is classified by.
    fn class_logits(&self, tokens: &Tensor) -> Result<Tensor>;
}
