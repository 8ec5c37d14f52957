//! `orrery` and `orrery replay`: the window, or, where none can open, the default lab without one.

use std::time::Instant;

use super::{
    Open, display,
    failure::Failure,
    headless,
    host::Desk,
    settings::{self, Named},
};
use crate::ui::{self, Start, app::Opening};

pub fn open(open: Open, started: Instant) -> Result<(), Failure> {
    let named = open.what.as_deref().map(settings::resolve).transpose()?;
    let opening = match named {
        None => None,
        Some(Named::Config(lab, mut config)) => {
            settings::apply(&open.set, lab, &mut config)?;
            Some(Opening::Config(config))
        }
        Some(Named::Text(path)) => Some(Opening::Text(path)),
        Some(Named::Run(folder)) => Some(Opening::Run(folder)),
    };
    if let Err(why) = display::check() {
        return without_window(&why, &open, opening);
    }
    let host = Desk::new(open.set.out.clone());
    let start = Start { opening, timings: open.timings, started };
    ui::run(Box::new(host), start).map_err(|e| {
        Failure::run(format!("the window could not open: {e}\n`orrery run fast_slow` trains without one"))
    })
}

/// Explains itself and does the same work into a folder.
fn without_window(why: &str, open: &Open, opening: Option<Opening>) -> Result<(), Failure> {
    if let Some(Opening::Run(folder)) = opening {
        let shown = folder.display();
        return Err(Failure::run(format!("{why}. `orrery render {shown} --view VIEW --out x.png` draws a view without a window")));
    }
    eprintln!("orrery: {why}.");
    eprintln!("The lab runs without a window instead; its figures and numbers go to a folder.");
    let lab = headless::default_lab()?;
    let (lab, mut config) = match opening {
        Some(Opening::Config(config)) => (crate::labs::find(&config.lab).unwrap_or(lab), config),
        Some(Opening::Text(path)) => {
            let mut config = lab.config(None)?;
            config.set_text(&(lab.knobs)(), "corpus.file", &path.to_string_lossy())?;
            (lab, config)
        }
        _ => (lab, lab.config(None)?),
    };
    settings::apply(&open.set, lab, &mut config)?;
    let folder = headless::train(lab, &config, &open.set.out, true)?;
    let shown = folder.display();
    eprintln!("`orrery render {shown} --view gate --out gate.png` draws a view; with a display, `orrery replay {shown}` opens it.");
    Ok(())
}
