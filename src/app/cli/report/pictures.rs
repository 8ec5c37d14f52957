//! The views of a lab at some steps of a run, as they are put into a page: drawings where a view has them, else pictures.

use std::collections::{BTreeSet, HashMap};

use base64::{Engine, engine::general_purpose::STANDARD};

use super::super::failure::Failure;
use crate::{
    config::Config,
    gpu::offscreen::Offscreen,
    labs::Lab,
    telemetry::{Measurement, measurements::Causality},
    ui::{
        figure::Figure,
        mirror::Mirror,
        plot::value_label,
        theme::Theme,
        views::{self, ViewEntry},
    },
};

/// Points, title included.
const SIZE: [f32; 2] = [720.0, 460.0];
const PIXELS_PER_POINT: f32 = 1.5;

/// A view over the run.
pub struct ViewPictures {
    pub view: &'static ViewEntry,
    /// The caption where something was measured that the view's own words would deny.
    pub measured: Option<String>,
    /// `data:` addresses, each picture once.
    pub pictures: Vec<String>,
    /// The picture that stands for each step of the scrubber.
    pub at: Vec<usize>,
}

/// All views at the same steps.
pub struct Pictures {
    pub steps: Vec<u64>,
    pub views: Vec<ViewPictures>,
}

impl Pictures {
    /// Draws what a lab's page has, at up to `count` of the steps at which something was measured, the last among them.
    ///
    /// # Errors
    /// If the adapter fails.
    pub fn draw(
        (lab, config): (&Lab, &Config),
        mirror: &Mirror,
        theme: &Theme,
        count: usize,
        mut offscreen: Option<&mut Offscreen>,
    ) -> Result<Self, Failure> {
        let (knobs, steps) = ((lab.knobs)(), chosen(&mirror.sampled_steps(), mirror.step, count));
        let mut all = vec![];
        for pane in lab.panes {
            let Some(view) = views::find(pane.view) else { continue };
            let measured = if view.id == "causality" { leak_caption(mirror) } else { None };
            let mut drawn = ViewPictures { view, measured, pictures: vec![], at: vec![] };
            let mut places: HashMap<String, usize> = HashMap::new();
            for step in &steps {
                let (size, pixels_per_point) = (SIZE, PIXELS_PER_POINT);
                let figure = Figure {
                    view: pane.view,
                    mirror,
                    step: *step,
                    config,
                    knobs: &knobs,
                    theme,
                    size,
                    pixels_per_point,
                };
                let Some(picture) = picture(&figure, offscreen.as_deref_mut())? else { break };
                let place = *places.entry(picture.clone()).or_insert_with(|| {
                    drawn.pictures.push(picture);
                    drawn.pictures.len() - 1
                });
                drawn.at.push(place);
            }
            if drawn.at.len() == steps.len() && !drawn.pictures.is_empty() {
                all.push(drawn);
            }
        }
        Ok(Self { steps, views: all })
    }
}

/// The caption of a measured leak: logits moved before the token that was changed, in the model itself or with the wrong
/// upsampling that was asked about beside it.
fn leak_caption(mirror: &Mirror) -> Option<String> {
    let all = (0..mirror.variants().len()).flat_map(|variant| {
        let asked = mirror.answer(variant, Causality::CHANNEL).into_iter();
        asked.chain(mirror.samples(variant, Causality::CHANNEL))
    });
    let moved = |causality: &Causality| {
        let own = (causality.before_max > 0.0).then_some(("the future leaks", causality.before_max));
        let wrong = causality.leaky_upsample.as_ref().filter(|l| l.before_max > 0.0);
        own.or(wrong.map(|l| ("with the wrong upsample the future leaks", l.before_max)))
    };
    let leaks = all.filter_map(|sample| moved(sample.measurement::<Causality>()?));
    let (words, max) = leaks.max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(format!(
        "One token was changed, and {words}: logits before the change move, by up to {}. In a causal model they do not \
         move at all.",
        value_label(max)
    ))
}

/// A `data:` address; nothing where the view shows nothing, or cannot be drawn here.
fn picture(figure: &Figure<'_>, offscreen: Option<&mut Offscreen>) -> Result<Option<String>, Failure> {
    if figure.nothing().map_err(Failure::run)?.is_some() {
        return Ok(None);
    }
    if let Some(svg) = figure.svg().map_err(Failure::run)? {
        return Ok(Some(format!("data:image/svg+xml;base64,{}", STANDARD.encode(svg))));
    }
    let Some(offscreen) = offscreen else { return Ok(None) };
    let png = figure.png(offscreen).map_err(Failure::run)?;
    Ok(Some(format!("data:image/png;base64,{}", STANDARD.encode(png))))
}

/// Evenly by place, the first and the last among them, and the run's last step.
fn chosen(measured: &BTreeSet<u64>, last: u64, count: usize) -> Vec<u64> {
    let mut all: Vec<u64> = measured.iter().copied().filter(|step| *step < last).collect();
    all.push(last);
    let n = all.len();
    if n <= count {
        return all;
    }
    let place = |i: usize| if count == 1 { n - 1 } else { i * (n - 1) / (count - 1) };
    (0..count).map(|i| all[place(i)]).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::telemetry::{
        Event, RunInfo, Sample, VariantInfo,
        measurements::{LeakyUpsample, Predictions},
    };

    #[test]
    fn a_measured_leak_is_said() {
        let with = |own: f64, wrong: f64| {
            let mut mirror = Mirror::default();
            let causality = Causality {
                original: String::new(),
                edited: String::new(),
                position: 2,
                delta: vec![own, own, 1.0].into(),
                before_max: own,
                effective_gate: 0.5,
                leaky_upsample: Some(LeakyUpsample {
                    delta: vec![wrong, wrong, 1.0].into(),
                    before_max: wrong,
                    gate: 0.5,
                    pool: 4,
                }),
                predictions: Predictions { original: vec![], edited: vec![] },
            };
            let variant = VariantInfo { id: "a".into(), label: "a".into(), group: "a".into(), seed: 7, params: 1 };
            mirror.apply(Event::Started(RunInfo { variants: vec![variant], ..RunInfo::default() }.into()));
            mirror.apply(Event::Sample(Sample {
                step: 3,
                variant: 0,
                channel: Causality::CHANNEL.into(),
                about: String::new(),
                tokens: vec![],
                request: Some(1),
                payload: Arc::new(causality.into_payload()),
            }));
            leak_caption(&mirror)
        };
        assert_eq!(with(0.0, 0.0), None);
        let said = with(0.25, 0.0).unwrap();
        assert!(said.contains("the future leaks") && said.contains("0.25") && !said.contains("upsample"), "{said}");
        assert!(with(0.0, 0.5).unwrap().contains("with the wrong upsample the future leaks"));
    }

    #[test]
    fn the_ends_are_among_the_chosen_steps() {
        let measured: BTreeSet<u64> = (0..=100).step_by(10).collect();
        assert_eq!(chosen(&measured, 105, 3), [0, 50, 105]);
        assert_eq!(chosen(&measured, 100, 1), [100]);
        assert_eq!(chosen(&BTreeSet::new(), 7, 12), [7]);
        assert_eq!(chosen(&measured, 100, 20).len(), 11);
    }
}
