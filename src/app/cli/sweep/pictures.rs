//! The pictures of a sweep as files, without a window: what its page shows.

use super::{
    super::damage,
    folder::{SweepFolder, TaskState},
    results,
};
use crate::{
    cli::{
        figures::{painter, write_picture},
        prelude::*,
    },
    experiments::sweep::{Objective, results::SweepResults, series::SeriesCache},
    ui::sweep_pictures::{PictureChoices, Prepared, figures},
};

/// The arguments of a sweep that draw no picture.
pub const OTHERS: [&str; 3] = ["missing", "task", "table"];

#[derive(Args)]
pub struct PictureArgs {
    /// The number that the pictures show: a headline number or a scalar's channel, `gate` or `gate of coupled`; the objective
    /// without it
    #[arg(long, requires = "pictures", conflicts_with_all = OTHERS, value_name = "KEY")]
    number: Option<String>,
    /// Draw the pictures as of this step; without it, as of the newest
    #[arg(long, requires = "pictures", conflicts_with_all = OTHERS)]
    step: Option<u64>,
    /// Draw the pictures on a light background instead of the dark one
    #[arg(long, requires = "pictures", conflicts_with_all = OTHERS)]
    light: bool,
}

pub fn write(sweep: &SweepFolder, out: &Path, wanted: &PictureArgs) -> Result<(), Failure> {
    output::check_folder(out, &[&sweep.path])?;
    damage::report_rows(sweep.states()?.iter().filter_map(TaskState::finished));
    let results = Arc::new(results::read(&sweep.path, &SeriesCache::default())?);
    let number = number(&results, wanted.number.as_deref())?;
    let theme = Theme::new(!wanted.light);
    let beside = results
        .numbers
        .iter()
        .enumerate()
        .filter(|(i, n)| *i != number && n.digits.is_some() && n.id.group == results.numbers[number].id.group);
    let choices = PictureChoices {
        number,
        others: beside.map(|(i, _)| i).take(2).collect(),
        step: wanted.step.unwrap_or_else(|| results.last_step()),
        brush: Default::default(),
        is_dark: theme.dark,
    };
    let prepared = Prepared::new(&results, choices);
    output::make_folder(out)?;
    let (mut offscreen, words) = painter();
    let all = figures(&prepared);
    for figure in &all {
        let png = offscreen.as_mut().map(|offscreen| figure.png(offscreen, &prepared, &theme));
        write_picture(out, &figure.stem, figure.svg(&prepared, &theme), png)?;
    }
    notice!("{}; {}", results.numbers[number].heading, results.progress_label());
    notice!("{} pictures in {}{words}", all.len(), out.display());
    print_line!("{}", path_label(out))
}

/// The index of the number that is asked for; without one, that of the objective.
fn number(results: &SweepResults, asked: Option<&str>) -> Result<usize, Failure> {
    let none = || {
        Failure::run(format!(
            "no run of {} has recorded a number yet: `{}` makes them",
            results.folder.display(),
            results.command
        ))
    };
    let first = results.first_number().ok_or_else(none)?;
    let Some(asked) = asked else { return Ok(first) };
    let wanted = Objective::parse(asked);
    results.numbers.iter().position(|n| wanted.is_number(&n.id.key, &n.id.group)).ok_or_else(|| {
        let known: Vec<String> = results.numbers.iter().map(|n| format!("{} of {}", n.id.key, n.id.group)).collect();
        usage!("no run has recorded a number `{asked}`; there are {}", known.join(", "))
    })
}
