//! Attention statistics that the coupled query-key paper (arXiv 2604.01683, appendix D) reports for its 60M models at T
//! = 512. These numbers are the paper's, at its scale, and are drawn only in the lab of that paper.

use super::statistic::Statistic;

/// Layers of the paper's model.
pub(super) const LAYERS: usize = 8;

/// The short name of the one line per chart whose label links to the claim about all of the paper's lines.
pub(super) const SHORT: &str = "paper, coupled";

/// A curve of values that the paper reports.
pub(super) struct PaperLine {
    pub label: &'static str,
    /// The id of the variant that the paper measured.
    pub variant: &'static str,
    /// Pairs of layer and value.
    pub points: Vec<[f64; 2]>,
}

const STANDARD: (&str, &str) = ("paper, 60M, T = 512: standard", "standard");
pub(super) const COUPLED_VARIANT: &str = "hamiltonian";
const COUPLED: (&str, &str) = ("paper, 60M, T = 512: coupled", COUPLED_VARIANT);
const GQA: (&str, &str) = ("paper, 60M, T = 512: GQA", "gqa");

/// Table 12: effective rank by layer, over 25 validation batches and 8 heads.
const STANDARD_RANK: [f64; LAYERS] = [28.6, 179.5, 200.0, 176.8, 104.1, 100.1, 80.1, 40.4];
const COUPLED_RANK: [f64; LAYERS] = [32.8, 185.0, 178.0, 175.9, 109.5, 111.1, 87.3, 49.8];
/// The text below table 12: means over layers.
const TOP_SHARES: [((&str, &str), f64); 2] = [(STANDARD, 0.056), (COUPLED, 0.050)];
/// The caption of figure 3: entropy of layer 2, nats.
const ENTROPIES: [((&str, &str), f64); 3] = [(GQA, 1.65), (STANDARD, 1.95), (COUPLED, 2.5)];

/// The claim about the paper's values of a statistic. For the entropy it is the claim about attention sinks, because a
/// sink causes the entropy's dip.
pub(super) fn claim(statistic: Statistic) -> &'static str {
    match statistic {
        Statistic::EffectiveRank => "C15",
        Statistic::TopShare => "C16",
        Statistic::Entropy | Statistic::Sink => "C17",
    }
}

/// The paper's lines for a statistic; the paper reports no number for a sink.
pub(super) fn lines(statistic: Statistic) -> Vec<PaperLine> {
    let line = |(label, variant): (&'static str, &'static str), points| PaperLine { label, variant, points };
    let by_layer = |rank: [f64; LAYERS]| rank.iter().enumerate().map(|(i, r)| [i as f64, *r]).collect();
    match statistic {
        Statistic::EffectiveRank => {
            vec![line(STANDARD, by_layer(STANDARD_RANK)), line(COUPLED, by_layer(COUPLED_RANK))]
        }
        // the value of one layer is a short line around the layer; a mean over layers is a horizontal line
        Statistic::Entropy => ENTROPIES.map(|(name, y)| line(name, vec![[1.6, y], [2.0, y], [2.4, y]])).into(),
        Statistic::TopShare => TOP_SHARES.map(|(name, y)| line(name, vec![[0.0, y], [LAYERS as f64 - 1.0, y]])).into(),
        Statistic::Sink => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_means_are_those_that_the_table_prints() {
        for (rank, mean) in [(STANDARD_RANK, 113.7), (COUPLED_RANK, 116.2)] {
            assert!((rank.iter().sum::<f64>() / LAYERS as f64 - mean).abs() < 0.051);
        }
    }
}
