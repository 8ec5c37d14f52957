//! Attention statistics that the coupled query-key paper (arXiv 2604.01683, appendix D) reports for its 60M models at T
//! = 512. These numbers are the paper's, at its scale, and are drawn only in the lab of that paper.

use crate::ui::plot::by_place;

pub(super) const LAYERS: usize = 8;

/// The short name of the one line per chart whose label links to a claim.
pub(super) const SHORT: &str = "paper, coupled";

pub(super) struct PaperLine {
    pub label: &'static str,
    /// The id of the variant that the paper measured.
    pub variant: &'static str,
    /// The claim about all of the paper's lines of a chart, which the coupled one's label opens.
    pub claim: Option<&'static str>,
    /// Pairs of layer and value.
    pub points: Vec<[f64; 2]>,
}

const STANDARD_LABELS: (&str, &str) = ("paper, 60M, T = 512: standard", "standard");
const COUPLED_LABELS: (&str, &str) = ("paper, 60M, T = 512: coupled", "hamiltonian");
const GQA_LABELS: (&str, &str) = ("paper, 60M, T = 512: GQA", "gqa");

/// Table 12: effective rank by layer, over 25 validation batches and 8 heads.
const STANDARD_RANK: [f64; LAYERS] = [28.6, 179.5, 200.0, 176.8, 104.1, 100.1, 80.1, 40.4];
const COUPLED_RANK: [f64; LAYERS] = [32.8, 185.0, 178.0, 175.9, 109.5, 111.1, 87.3, 49.8];
/// The text below table 12: means over layers.
const TOP_SHARES: [((&str, &str), f64); 2] = [(STANDARD_LABELS, 0.056), (COUPLED_LABELS, 0.050)];
/// The caption of figure 3: entropy of layer 2, nats.
const ENTROPIES: [((&str, &str), f64); 3] = [(GQA_LABELS, 1.65), (STANDARD_LABELS, 1.95), (COUPLED_LABELS, 2.5)];

fn line(name: (&'static str, &'static str), claim: &'static str, points: Vec<[f64; 2]>) -> PaperLine {
    PaperLine { label: name.0, variant: name.1, claim: (name == COUPLED_LABELS).then_some(claim), points }
}

pub(super) fn effective_ranks() -> Vec<PaperLine> {
    let lines = [(STANDARD_LABELS, STANDARD_RANK), (COUPLED_LABELS, COUPLED_RANK)];
    lines.map(|(name, rank)| line(name, "C15", by_place(&rank))).into()
}

/// The values of one layer, as short lines around it. Their claim is about attention sinks, which cause the dip.
pub(super) fn entropies() -> Vec<PaperLine> {
    ENTROPIES.map(|(name, y)| line(name, "C17", vec![[1.6, y], [2.0, y], [2.4, y]])).into()
}

/// The means over layers, as horizontal lines.
pub(super) fn top_shares() -> Vec<PaperLine> {
    TOP_SHARES.map(|(name, y)| line(name, "C16", vec![[0.0, y], [LAYERS as f64 - 1.0, y]])).into()
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
