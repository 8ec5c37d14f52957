//! The lab's result: the race's losses, and whether a variant differs from the first by more than seeds do.

use crate::labs::prelude::*;

pub static ALL: &[Headline] = &[
    common::LOSS,
    common::DIFFERENCE_FROM_FIRST,
    common::ACCURACY,
    common::LOSS
        .like("label_loss", "loss on labels", Source::scalar(channels::LABELS_HELD_OUT))
        .about("Cross-entropy of the label on held-out sentences after fine-tuning, nats a label: ln 2 for a guess between two.")
        .absent("nothing was fine-tuned (`finetune.steps`)"),
    Headline::new("domain_gain", "gain by domain", measured!(DomainCoherence, |m| finite(m.gain())))
        .unit("nats")
        .about("Loss that the best mixture of up to 8 unigram models saves against a single one, across halves of the text: 0 for a text of one domain.")
        .absent("the text mixes no domains; the probe `domain_coherence` measures any text"),
];

/// The coupled variants are the subjects, and the other variants are their baselines.
const DIFFERENCE_FROM_FIRST: LargeNumber = LargeNumber {
    subjects: &["euler", "hamiltonian", "diff_euler", "diff_hamiltonian"],
    ..large::common::DIFFERENCE_FROM_FIRST
};

pub static LARGE_NUMBERS: &[LargeNumber] = &[DIFFERENCE_FROM_FIRST, large::common::LOSS, large::common::ACCURACY];
