//! `orrery list`: labs, presets, views, settings, past runs.

use super::run_table;
use crate::{cli::prelude::*, config::Applies, labs::LABS, store::run_index::run_folders, ui::views::VIEWS};

#[derive(Args)]
pub struct ListArgs {
    /// Only the ids of the labs, one a line
    #[arg(long)]
    ids: bool,
    /// Every setting of a lab with its range and default
    #[arg(long, value_name = "LAB")]
    knobs: Option<String>,
    /// Every view
    #[arg(long)]
    views: bool,
    /// Past runs in a folder, newest first
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = "runs")]
    runs: Option<PathBuf>,
}

pub fn run(args: &ListArgs) -> Result<(), Failure> {
    if args.ids {
        return LABS.iter().try_for_each(|l| print_line!("{}", l.id));
    }
    if let Some(id) = &args.knobs {
        return knobs(id);
    }
    if args.views {
        return VIEWS
            .iter()
            .try_for_each(|v| print_line!("{:<18} {}\n{:<18} {}", v.id, v.title, "", v.about.replace('\n', " ")));
    }
    if let Some(dir) = &args.runs {
        run_table::check_named(dir)?;
        let runs = store::list(dir).map_err(Failure::wrong)?;
        let unreadable = run_folders(dir).map_err(Failure::wrong)?.len().saturating_sub(runs.len());
        if runs.is_empty() && unreadable == 0 {
            print_line!("no runs in {}; `orrery run LAB` makes one", path_label(dir))?;
        }
        for r in runs {
            let (preset, folder) = (one_line(&r.preset), r.folder.to_string_lossy());
            print_line!("{}  {preset:<18} {:>7} steps  {}", r.when, r.steps, one_line(&folder))?;
        }
        if unreadable > 0 {
            notice!("{unreadable} cannot be read; `orrery runs --out {}` says why", quoted(dir));
        }
        return Ok(());
    }
    for lab in LABS {
        print_line!("{}: {}\n  {}", lab.id, lab.title, lab.question)?;
        lab.presets.iter().try_for_each(|p| print_line!("    {:<20} {}", p.id, p.about))?;
    }
    print_line!("\n`orrery run NAME` runs one without a window; `orrery list --knobs LAB` lists its settings.")
}

fn knobs(id: &str) -> Result<(), Failure> {
    let lab = labs::find_in(LABS, id)?;
    (lab.knobs)().iter().try_for_each(|k| {
        let default = k.default.to_string();
        let applies = match k.applies {
            Applies::Live => ", live",
            Applies::InViews => ", in views",
            Applies::AtReset => "",
        };
        print_line!("{:<28} {:<14} {}{applies}\n{:<28} {}", k.key, default, k.accepts(), "", k.tip)
    })
}
