//! The views of a lab at some steps of a run, as the drawings that are put into a page.

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::{
    cli::prelude::*,
    ui::views::{self, ViewEntry},
};

/// Width and height of a picture with its title, in points.
const PICTURE_SIZE: [f32; 2] = [720.0, 460.0];

/// A view over the run.
pub struct ViewPictures {
    pub view: &'static ViewEntry,
    /// The caption where something was measured that the view's own words would deny.
    pub measured: Option<String>,
    /// `data:` addresses, each picture once.
    pub pictures: Vec<String>,
    /// The picture that stands for each step of the scrubber; `None` where there was nothing yet.
    pub at: Vec<Option<usize>>,
}

/// All views at the same steps.
pub struct Pictures {
    pub steps: Vec<u64>,
    pub views: Vec<ViewPictures>,
}

impl Pictures {
    /// Draws what a lab's page has, at up to `count` of the steps at which something was measured, the last among them.
    pub fn draw((lab, config): (&Lab, &Config), mirror: &Mirror, theme: &Theme, count: usize) -> Result<Self, Failure> {
        let (knobs, steps) = ((lab.knobs)(), chosen_steps(&mirror.sampled_steps(), mirror.step, count));
        let mut all = vec![];
        for pane in lab.panes {
            let Some(view) = views::find(pane.view) else { continue };
            let measured = (view.make)().caption(mirror);
            let mut drawn = ViewPictures { view, measured, pictures: vec![], at: vec![] };
            let mut places: HashMap<String, usize> = HashMap::new();
            for step in &steps {
                let figure = Figure::new(pane.view, mirror, config, &knobs, theme);
                let figure = Figure { step: *step, size: PICTURE_SIZE, ..figure };
                let place = picture(&figure)?.map(|picture| {
                    *places.entry(picture.clone()).or_insert_with(|| {
                        drawn.pictures.push(picture);
                        drawn.pictures.len() - 1
                    })
                });
                drawn.at.push(place);
            }
            if !drawn.pictures.is_empty() {
                all.push(drawn);
            }
        }
        Ok(Self { steps, views: all })
    }
}

/// The `data:` address of a picture that a page holds.
pub fn svg_address(svg: &str) -> String {
    format!("data:image/svg+xml;base64,{}", STANDARD.encode(svg))
}

/// Its address; nothing where the view shows nothing.
fn picture(figure: &Figure<'_>) -> Result<Option<String>, Failure> {
    if figure.empty_message().map_err(Failure::run)?.is_some() {
        return Ok(None);
    }
    Ok(Some(svg_address(&figure.svg().map_err(Failure::run)?)))
}

/// Evenly by place, the first and the last among them, and the run's last step.
fn chosen_steps(measured: &BTreeSet<u64>, last: u64, count: usize) -> Vec<u64> {
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
    use super::*;

    #[test]
    fn the_ends_are_among_the_chosen_steps() {
        let measured: BTreeSet<u64> = (0..=100).step_by(10).collect();
        assert_eq!(chosen_steps(&measured, 105, 3), [0, 50, 105]);
        assert_eq!(chosen_steps(&measured, 100, 1), [100]);
        assert_eq!(chosen_steps(&BTreeSet::new(), 7, 12), [7]);
        assert_eq!(chosen_steps(&measured, 100, 20).len(), 11);
    }
}
