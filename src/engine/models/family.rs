//! The trait that the sizes of a family implement to be in the list, and the macro that makes a list of such sizes the
//! type [`ModelSpec`](super::ModelSpec).

use std::path::Path;

use candle_core::Result;

use super::step_memory::{StepMemory, StepSizes};

/// The sizes of a family: plain data.
pub trait FamilySpec {
    /// The memory of a training step on such a batch, counted without building anything.
    fn memory(&self, step: &StepSizes) -> StepMemory;

    /// Floating-point operations of a training step for each token, at this vocabulary and in windows of this many tokens;
    /// `None` of a family that does not count them.
    fn flops_per_token(&self, _vocab: usize, _window: usize) -> Option<f64> {
        None
    }

    /// Sizes of a model that is built and trained within milliseconds: what the tests of all families take.
    fn tiny() -> Self
    where
        Self: Sized;

    /// Tests that the named files, if any, can be read at all: a quick look, without their tensors.
    fn check_files(&self) -> Result<()> {
        Ok(())
    }

    /// The files that its weights are read from.
    fn files(&self) -> Vec<&Path> {
        vec![]
    }

    /// The vocabulary of the model in its file; `None` where there is no file, or none that can be read.
    fn vocab_of_file(&self) -> Option<usize> {
        None
    }
}

/// Declares the enum of all families from `Family(its sizes) = its constructor`, one per line, and the methods that every family
/// has. A constructor takes the sizes, the vocabulary, the seed and the device.
macro_rules! families {
    ($($family:ident($spec:ty) = $new:path),+ $(,)?) => {
        /// A family and its sizes: plain data, enough to build the model.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "family", rename_all = "snake_case")]
        pub enum ModelSpec {
            $(#[doc = concat!("A model of the family ", stringify!($family), ".")] $family($spec)),+
        }

        impl ModelSpec {
            /// The smallest model of every family, for tests.
            pub fn tiny() -> Vec<Self> {
                vec![$(Self::$family(<$spec>::tiny())),+]
            }

            /// Builds the model with weights drawn from `seed`.
            ///
            /// # Errors
            /// They name the size or the file that does not fit.
            pub fn build(&self, vocab: usize, seed: u64, device: &Device) -> Result<Box<dyn Trainable>> {
                Ok(match self {
                    $(Self::$family(spec) => Box::new($new(spec, vocab, seed, device)?)),+
                })
            }
        }

        impl std::ops::Deref for ModelSpec {
            type Target = dyn FamilySpec;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$family(spec) => spec),+
                }
            }
        }
    };
}
pub(super) use families;
