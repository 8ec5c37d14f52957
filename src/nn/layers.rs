//! Layers as mathematics: norms, linear maps, attention, MLPs, blocks.
