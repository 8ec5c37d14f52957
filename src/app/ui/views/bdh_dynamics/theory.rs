//! Claims of the paper's theory as small experiments, one at a time: curves of numbers that are drawn, without a model.

use crate::ui::views::prelude::*;

const EMPTY: &str = "Not tried yet. Choose a claim once there is a BDH: press Space.";

#[derive(Default)]
pub struct Theory {
    args: BdhTheoryArgs,
}

struct ClaimLabels {
    /// The label of its button.
    name: &'static str,
    about: &'static str,
    /// x and y.
    axes: [Axis; 2],
}

fn claim_labels(claim: TheoryClaim) -> ClaimLabels {
    match claim {
        TheoryClaim::Markov => ClaimLabels {
            name: "Markov chain",
            about: "Claim 5: a map of low rank through random codes does not follow a sparse Markov chain; with ReLU and \
                    a bias its error falls with the rank. One step from a node, the best bias of 41.",
            axes: [Axis::new("rank d").log(), Axis::new("error of a step, L1").log()],
        },
        TheoryClaim::Blocks => ClaimLabels {
            name: "Blocks",
            about: "Claim 6: through a low-rank map a neuron of a block model tells a message of its own block from \
                    those of the three others.",
            axes: [Axis::new("rank d").log(), Axis::new("AUROC, own block against others").include(&[0.5, 1.0])],
        },
        TheoryClaim::Supermodular => ClaimLabels {
            name: "Two sources",
            about: "Section 5.4: with a bias of \u{2212}1.5/r, two nodes that both lead to a third make it fire only together. \
                    Gain over what each does alone: 1 is the paper's value; neighbours of one of them are the null. \
                    Without ReLU it is 0; with ReLU alone it is never above 0.",
            axes: [Axis::new("rank d").log(), Axis::new("gain of both, in 1/(2r)").include(&[0.0, 1.0])],
        },
        TheoryClaim::Capacity => ClaimLabels {
            name: "Facts held",
            about: "Claims 7 and 8: linear attention in n dimensions holds of the order of n facts of independent keys (a \
                    quarter of n, at this limit), and of the root of n where one key is repeated; held means an error up to half a value.",
            axes: [Axis::new("dimension n").log(), Axis::new("facts held").log()],
        },
        TheoryClaim::Hashing => ClaimLabels {
            name: "Hashed keys",
            about: "Observation 7: keys of n buckets of random directions are positive; the further out a bucket \
                    begins, the sharper their affinity.",
            axes: [Axis::new("cosine of query and key"), Axis::new("affinity").include(&[0.0, 1.0])],
        },
        TheoryClaim::L1 => ClaimLabels {
            name: "L1 and attention",
            about: "Observation 8: two distributions with the share \u{3b1} on one place each are close to one another, \
                    and far apart as keys of linear attention.",
            axes: [Axis::new("\u{3b1}"), Axis::new("difference, 0 to 1").include(&[0.0, 1.0])],
        },
        TheoryClaim::SparseState => ClaimLabels {
            name: "Sparse state",
            about: "Claim 9: a state on the 2 d n edges of the claim's graph G_s gives the answer of the full one, up to \
                    rounding; one on as many random edges does not.",
            axes: [Axis::new("tokens").integer_ticks(), Axis::new("error, as a share of the answer").log()],
        },
        TheoryClaim::Replicator => ClaimLabels {
            name: "Predator and prey",
            about: "Equation (3), q(k) := (1 \u{2212} d(k)) q(k) + \u{3a3} r(i,j,k) q(i) q(j). Where a rule feeds one of the two that \
                    meet, shares are replicator dynamics: three species whose rules only add follow a predator and its prey.",
            axes: [Axis::new("time"), Axis::new("population").include(&[0.0])],
        },
        TheoryClaim::Spikes => ClaimLabels {
            name: "Spikes",
            about: "Section 2.1: every variable as spikes of 0 and 1. Where two meet, an AND gate counts; where excitation \
                    meets inhibition, a threshold. The error of each round falls with the root of the number of spikes.",
            axes: [Axis::new("spikes a round").log(), Axis::new("error, as a share of the round").log()],
        },
        TheoryClaim::Fire => ClaimLabels {
            name: "Integrate and fire",
            about: "Section 2.5: a neuron that adds up e \u{2212} i and fires at a threshold has the rate (e \u{2212} i)\u{207a}; a leak \
                    moves the threshold, and input that comes as spikes softens it.",
            axes: [Axis::new("drive e \u{2212} i"), Axis::new("rate").include(&[0.0])],
        },
    }
}

fn chart(cx: &ViewCx<'_>) -> Chart<'static> {
    let Some(measured) = cx.answered::<BdhTheory>() else {
        let [x, y] = claim_labels(TheoryClaim::Markov).axes;
        return Chart::new("theory", x, y).empty(cx.empty_reason::<BdhTheory>(EMPTY));
    };
    // the claim of the answer, which differs from the chosen one until that is answered
    let claim = TheoryClaim::from_id(&measured.claim);
    let ClaimLabels { name, axes: [x, y], .. } = claim_labels(claim.unwrap_or(TheoryClaim::Markov));
    let is_log = y.scale == Scale::Log;
    let mut chart = Chart::new(name, x, y);
    for (k, curve) in measured.curves.iter().enumerate() {
        // a logarithmic axis has no place for 0
        let value = |y: f64| if is_log && y <= 0.0 { f64::NAN } else { y };
        let points: Vec<[f64; 2]> = measured.x.iter().zip(curve.y.iter()).map(|(x, y)| [*x, value(*y)]).collect();
        chart.add(Line::new(curve.name.clone(), cx.theme.series(k), points).dots());
    }
    if claim == Some(TheoryClaim::Markov) {
        chart.horizontal_line("of the answer 0", 1.0);
    }
    chart
}

impl PanelView for Theory {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        cx.ask::<BdhTheory>(Some(cx.selection.variant), &self.args, Freshness::WithSchedule);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        Panel::single(chart(cx))
    }

    fn controls_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        ui.horizontal_wrapped(|ui| {
            for claim in TheoryClaim::ALL {
                let ClaimLabels { name, about, .. } = claim_labels(claim);
                ui.selectable_value(&mut self.args.claim, claim, name).on_hover_text(about);
            }
        });
        note_ui(ui, cx.theme, claim_labels(self.args.claim).about);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let label = |m: Measured<'_, BdhTheory>| format!("numbers drawn at random, no model \u{b7} {}", m.sample.about);
        cx.answered::<BdhTheory>().map_or("the paper's claims on numbers drawn at random".to_owned(), label)
    }
}
