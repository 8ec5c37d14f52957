//! `orrery render` and the figures of a headless run: the same views as the window's, off screen.

use super::{damage, settings::recorded, system_fonts};
use crate::{
    cli::prelude::*,
    files::{folder_inside, make_folder_inside},
    telemetry::RunNote,
    ui::views::{self, ViewEntry},
};

const FIGURES_FOLDER: &str = "figures";

#[derive(Args)]
pub struct RenderArgs {
    /// A run folder, or a log of another tool (docs/runs.md)
    pub(super) run: PathBuf,
    /// The view to draw (`orrery list --views`)
    #[arg(long)]
    view: String,
    /// The picture to write: a PNG, or an SVG, which needs no graphics adapter
    #[arg(long)]
    out: PathBuf,
    /// Draw the run at this step; the last one if not given
    #[arg(long)]
    step: Option<u64>,
    #[command(flatten)]
    picture: PictureArgs,
}

#[derive(Args)]
pub struct PictureArgs {
    /// Width and height in points; the picture becomes higher where its content needs that
    #[arg(long, default_value = "960x600", value_parser = size)]
    size: (f32, f32),
    /// Pixels a point
    #[arg(long, default_value_t = 2.0)]
    scale: f32,
    /// Draw on a light background instead of the dark one
    #[arg(long)]
    light: bool,
}

impl PictureArgs {
    pub fn check(&self) -> Result<(), Failure> {
        ensure!((0.25..=8.0).contains(&self.scale), "--scale goes from 0.25 to 8 pixels a point");
        Ok(())
    }

    pub fn theme(&self) -> Theme {
        Theme::new(!self.light)
    }

    /// The figure in the size that was asked for.
    pub fn sized<'a>(&self, figure: Figure<'a>) -> Figure<'a> {
        Figure { size: self.size.into(), pixels_per_point: self.scale, ..figure }
    }
}

/// WIDTHxHEIGHT in points.
fn size(text: &str) -> Result<(f32, f32), String> {
    let (w, h) = text.split_once('x').ok_or("write WIDTHxHEIGHT, e.g. 960x600")?;
    let side = |s: &str| s.trim().parse::<f32>().ok().filter(|v| (64.0..=8192.0).contains(v));
    side(w).zip(side(h)).ok_or_else(|| "width and height go from 64 to 8192 points".to_owned())
}

pub fn run(args: &RenderArgs) -> Result<(), Failure> {
    let view = view(&args.view)?;
    check_picture(&args.out)?;
    output::check_file(&args.out, &[&args.run])?;
    args.picture.check()?;
    let (lab, config) = recorded(&args.run)?;
    let (mirror, lost) = replay(&args.run)?;
    damage::report(&args.run, &lost);
    let (step, last) = (args.step.unwrap_or(mirror.step), mirror.step);
    ensure!(step <= last, "{} has no step {step}: its last one is {last}", args.run.display());
    let (knobs, theme) = ((lab.knobs)(), args.picture.theme());
    let figure = args.picture.sized(Figure::new(view.id, &mirror, &config, &knobs, &theme));
    let figure = Figure { run: &run_name(&args.run), step, ..figure };
    draw(&figure, &args.run.display(), &args.out, &[])
}

/// A person's note on a run; an empty one where there is none. One that cannot be read is reported.
pub fn note_of(folder: &Path) -> RunNote {
    // the log of another tool may be a file, beside which there is no note
    if !folder.is_dir() {
        return RunNote::default();
    }
    store::note::read(folder).unwrap_or_else(|e| {
        damage::report_on_one_line(folder.display(), e);
        RunNote::default()
    })
}

/// The name that a person gave a run, in one line; empty if nobody did.
pub fn given_name(note: &RunNote) -> String {
    note.name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The name of a run in a picture: the one that a person gave it, or else that of its folder.
pub fn run_name(folder: &Path) -> String {
    let name = given_name(&note_of(folder));
    if !name.is_empty() {
        return name;
    }
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    whole.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Draws a figure of something, which was read from `inputs`, into a PNG or SVG file.
pub fn draw(figure: &Figure<'_>, of: &dyn Display, out: &Path, inputs: &[&Path]) -> Result<(), Failure> {
    if let Some(words) = figure.empty_message().map_err(Failure::run)? {
        return Err(usage!("the view `{}` has nothing to show of {of}: {words}", figure.view));
    }
    let picture = if output::has_extension(out, "svg") {
        figure.svg().map_err(Failure::run)?.into_bytes()
    } else {
        let mut offscreen = Offscreen::new().map_err(Failure::failed)?;
        system_fonts::load_if_needed(figure)?;
        figure.png(&mut offscreen).map_err(Failure::run)?
    };
    output::write(out, &picture, inputs)?;
    print_line!("{}", path_label(out))
}

/// The offscreen renderer; if the machine has none, a remark to append to messages in its place.
pub fn painter() -> (Option<Offscreen>, String) {
    match Offscreen::new() {
        Ok(offscreen) => (Some(offscreen), String::new()),
        Err(e) => (None, format!(" (as SVG alone: {e})")),
    }
}

/// Writes a picture into a folder: as SVG, and as PNG where it could be painted.
pub fn write_picture(
    out: &Path,
    stem: &str,
    svg: Option<String>,
    png: Option<Result<Vec<u8>, String>>,
) -> Result<(), Failure> {
    let png = png.transpose().map_err(Failure::run)?;
    for (extension, bytes) in [("svg", svg.map(String::into_bytes)), ("png", png)] {
        if let Some(bytes) = bytes {
            output::write(&out.join(format!("{stem}.{extension}")), &bytes, &[])?;
        }
    }
    Ok(())
}

/// The view with this id, or with this title in letters of either case.
/// If there is none; names those that there are.
pub fn view(id: &str) -> Result<&'static ViewEntry, Failure> {
    let titled = || views::VIEWS.iter().find(|v| v.title.to_lowercase() == id.to_lowercase());
    views::find(id).or_else(titled).ok_or_else(|| {
        let known: Vec<&str> = views::VIEWS.iter().map(|v| v.id).collect();
        let hint = did_you_mean(id, views::VIEWS.iter().flat_map(|v| [v.id, v.title]));
        let then = if hint.is_empty() { "; the" } else { " The" };
        usage!("there is no view `{id}`{hint}{then} views are {}", known.join(", "))
    })
}

/// Checks the name of a picture, which says how it is written.
pub fn check_picture(path: &Path) -> Result<(), Failure> {
    match output::has_extension(path, "svg") {
        true => Ok(()),
        false => output::check_extension(path, "png", "pictures are written as PNG, or as SVG"),
    }
}

/// Replays a run folder into a mirror, as the window would have it, and returns the damage of its record.
pub fn replay(folder: &Path) -> Result<(Mirror, Damage), Failure> {
    let events = Reader::open(folder).map_err(Failure::wrong)?;
    let mut mirror = Mirror::default();
    let lost = events.read_through(|e| mirror.apply(e)).map_err(Failure::failed)?;
    Ok((mirror, lost))
}

/// Checks that the figures of a run are, or will be, inside its folder, which may come from another user and hold a link.
pub fn check_folder(folder: &Path) -> Result<(), Failure> {
    match folder_inside(folder, FIGURES_FOLDER) {
        Err(e) if !e.is_missing() => Err(usage!("{} cannot be written to: {e}", folder.join(FIGURES_FOLDER).display())),
        _ => Ok(()),
    }
}

/// Draws every pane of the run's lab that can show something into `figures/`; says how many, or why none can be.
pub fn draw_all(folder: &Path) -> Result<(), Failure> {
    let mut offscreen = match Offscreen::new() {
        Ok(offscreen) => offscreen,
        Err(e) => {
            notice!("no figures were drawn: {e}");
            return Ok(());
        }
    };
    let (lab, config) = recorded(folder)?;
    let (mirror, lost) = replay(folder)?;
    damage::report(folder, &lost);
    let (knobs, theme) = ((lab.knobs)(), Theme::dark());
    let into = folder.join(FIGURES_FOLDER);
    make_folder_inside(folder, FIGURES_FOLDER)
        .map_err(|e| Failure::run(format!("{} cannot be written to: {e}", into.display())))?;
    let mut empty = vec![];
    for pane in lab.panes {
        let figure = Figure::new(pane.view, &mirror, &config, &knobs, &theme);
        if figure.empty_message().map_err(Failure::run)?.is_some() {
            empty.push(pane.view);
            continue;
        }
        system_fonts::load_if_needed(&figure)?;
        let png = figure.png(&mut offscreen).map_err(Failure::run)?;
        output::write(&into.join(format!("{}.png", pane.view)), &png, &[])?;
    }
    notice!("{} in {}", counted(lab.panes.len() - empty.len(), "figure"), into.display());
    if !empty.is_empty() {
        notice!("nothing to show yet, so not drawn: {}", empty.join(", "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_goes_by_id_or_title() {
        let found = |name: &str| view(name).map(|entry| entry.id).map_err(|e| e.message);
        for (name, id) in [("losses", "losses"), ("Loss", "losses"), ("loss", "losses"), ("sparsity", "activity")] {
            assert_eq!(found(name), Ok(id), "{name}");
        }
        assert!(found("gat").is_err_and(|words| words.contains("did you mean `gate`? The views are ")));
        assert!(found("0123456789").is_err_and(|words| words.contains("`; the views are ")));
    }
}
