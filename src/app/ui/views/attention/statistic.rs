//! The statistics of a layer's attention that can be drawn, with their names.

use crate::telemetry::measurements::LayerStatistics;

/// The statistic that a chart shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Statistic {
    Entropy,
    EffectiveRank,
    TopShare,
    Sink,
}

impl Statistic {
    pub(super) const ALL: [Self; 4] = [Self::Entropy, Self::EffectiveRank, Self::TopShare, Self::Sink];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Entropy => "entropy",
            Self::EffectiveRank => "effective rank",
            Self::TopShare => "largest singular value's share",
            Self::Sink => "sink",
        }
    }

    pub(super) fn axis(self) -> &'static str {
        match self {
            Self::Entropy => "entropy (nats)",
            Self::EffectiveRank => "effective rank",
            Self::TopShare => "s\u{2081} / \u{3a3} s",
            Self::Sink => "weight on token 0",
        }
    }

    /// The values of the statistic, one per head.
    pub(super) fn heads(self, layer: &LayerStatistics) -> &[f64] {
        match self {
            Self::Entropy => &layer.entropy,
            Self::EffectiveRank => &layer.effective_rank,
            Self::TopShare => &layer.top_share,
            Self::Sink => &layer.sink,
        }
    }

    pub(super) fn mean(self, layer: &LayerStatistics) -> f64 {
        let heads = self.heads(layer);
        heads.iter().sum::<f64>() / heads.len() as f64
    }

    pub(super) fn uniform(self, layer: &LayerStatistics) -> f64 {
        match self {
            Self::Entropy => layer.uniform.entropy,
            Self::EffectiveRank => layer.uniform.effective_rank,
            Self::TopShare => layer.uniform.top_share,
            Self::Sink => layer.uniform.sink,
        }
    }
}
