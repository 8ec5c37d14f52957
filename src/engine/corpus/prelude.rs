//! Names that many sources of text use.

pub(super) use super::{CorpusError, Position, TokenizerSpec, Windows};
pub(super) use crate::{
    files::{self, FileError},
    random::scramble,
};
pub(super) use rand::{Rng, SeedableRng};
pub(super) use rand_chacha::ChaCha8Rng;
pub(super) use serde::Deserialize;
pub(super) use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::LazyLock,
};
