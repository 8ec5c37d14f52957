//! `orrery runs`: the table of past runs with the user's notes. `run_rows` makes the rows; nothing here reads a log.

use super::{RUNS, damage, progress::StepProgress, summary, sweep};
use crate::{
    cli::prelude::*,
    experiments::{
        run_rows::Listing,
        run_table::{GroupLoss, differences, filter::Filter, order::Order},
    },
    files::memory::size,
    labs::headline::split_key,
    store::{note, trash},
    telemetry::{FOREIGN, parse_tags},
};

/// The widest cell on the terminal, in characters.
const MAX_CELL_WIDTH: usize = 36;

#[derive(Args)]
pub struct RunsArgs {
    /// The runs to list: words in a name, a note or a folder, `lab:fast_slow`, `state:killed`, `sweep:rates`,
    /// `tag:talk`, `lr<1e-3`, `gate>0.1` of any variant, `gate:coupled>0.1` of one, `size>30MB`, `began>2026-01-31`,
    /// `is:pinned`, `is:archived`; `!` before a term excludes its matches. All terms must match
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// Sort by began, name, lab, preset, state, steps, seed, size, loss, a setting or a headline number, of the first
    /// variant or of one (`gate:coupled`); `-steps` sorts downwards
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    sort: Option<String>,
    /// Write JSON, everything about each run
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Write CSV, one row a run, one column a headline number and variant
    #[arg(long)]
    csv: bool,
    /// The folder of runs
    #[arg(long, value_name = "DIR", default_value = RUNS)]
    out: PathBuf,
    #[command(flatten)]
    edit: Edit,
}

/// The arguments of a listing, which have no meaning where a run is changed.
const LISTING_ARGS: [&str; 4] = ["filter", "sort", "json", "csv"];

/// The options that change a run's note, which would be lost with a run that is deleted.
const NOTE_CHANGES: [&str; 5] = ["name", "note", "tags", "pin", "archive"];

/// Changes of the run that is named.
#[derive(Args)]
#[group(multiple = true)]
struct Edit {
    /// A run's folder, to be changed by the options below
    #[arg(long, value_name = "RUN", conflicts_with_all = LISTING_ARGS)]
    edit: Option<PathBuf>,
    /// Give it this name; empty removes the name
    #[arg(long, requires = "edit", conflicts_with_all = LISTING_ARGS)]
    name: Option<String>,
    /// Attach this note to it; empty removes the note
    #[arg(long, requires = "edit", conflicts_with_all = LISTING_ARGS)]
    note: Option<String>,
    /// Replace its tags with these, separated by commas; empty removes them all
    #[arg(long, requires = "edit", conflicts_with_all = LISTING_ARGS)]
    tags: Option<String>,
    /// Pin it above all others, or not
    #[arg(long, requires = "edit", conflicts_with_all = LISTING_ARGS)]
    #[arg(value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pin: Option<bool>,
    /// Hide it unless `is:archived` is asked for, or list it again
    #[arg(long, requires = "edit", conflicts_with_all = LISTING_ARGS)]
    #[arg(value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    archive: Option<bool>,
    /// Move it to the trash, a folder `.trash` beside the runs
    #[arg(long, requires = "edit", conflicts_with_all = LISTING_ARGS)]
    #[arg(conflicts_with_all = NOTE_CHANGES)]
    delete: bool,
    /// Restore a run from the trash, given its folder there
    #[arg(long, value_name = "RUN", conflicts_with = "edit")]
    restore: Option<PathBuf>,
}

pub fn run(args: &RunsArgs) -> Result<(), Failure> {
    if let Some(place) = &args.edit.restore {
        return print_line!("{}", path_label(&trash::restore(place)?));
    }
    if let Some(run) = &args.edit.edit {
        return edit(run, &args.edit);
    }
    let filter = Filter::parse(&args.filter.join(" ")).map_err(Failure::usage)?;
    let order = args.sort.as_deref().map_or_else(Order::default, Order::parse);
    check_named(&args.out)?;
    let listing = list(&args.out)?;
    let all = &sweep::results::rows_with_sweeps(&args.out, listing.rows);
    if let Some(words) = filter.unknown_key(all.iter()).filter(|_| !all.is_empty()) {
        return Err(Failure::usage(words));
    }
    ensure!(all.is_empty() || order.is_known(all.iter()), "no run here has `{}` to sort by", order.key);
    let mut rows: Vec<&RunRow> = all.iter().filter(|row| filter.matches(row)).collect();
    order.sort(&mut rows);
    let text = match (args.json, args.csv) {
        (true, _) => as_json(&rows)?,
        (_, true) => as_csv(&rows),
        _ => return print_table(&rows, all, &args.out),
    };
    damage::report_rows(rows.iter().copied());
    output::print(text.as_bytes())
}

/// Checks that a folder of runs exists if the user named it. The default one is made by the first run.
pub fn check_named(out: &Path) -> Result<(), Failure> {
    ensure!(out.is_dir() || out == Path::new(RUNS), "there is no folder `{}`", out.display());
    Ok(())
}

/// The rows of the folder; how far their reading is goes to standard error, since the first one of many runs takes long.
fn list(out: &Path) -> Result<Listing, Failure> {
    let progress = Mutex::new(None::<StepProgress>);
    let report = |done: usize, total: usize| {
        let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress
            .get_or_insert_with(|| StepProgress::counting("reading runs that are not indexed yet", "run", total as u64))
            .step(done as u64);
    };
    run_rows::list_with_progress(out, |_| (), report).map_err(Failure::wrong)
}

fn edit(run: &Path, edit: &Edit) -> Result<(), Failure> {
    if edit.delete {
        report_place(run);
        let place = trash::discard(run)?;
        notice!("in the trash; `orrery runs --restore {}` restores it", quoted(&place));
        return print_line!("{}", path_label(&place));
    }
    let Edit { edit: _, name, note, tags, pin, archive, delete: _, restore: _ } = edit;
    let is_empty = name.is_none() && note.is_none() && tags.is_none() && pin.is_none() && archive.is_none();
    ensure!(!is_empty, "say what to change: --name, --note, --tags, --pin, --archive or --delete");
    let mut kept = note::read(run).map_err(Failure::wrong)?;
    if let Some(name) = name {
        kept.name.clone_from(name);
    }
    if let Some(words) = note {
        kept.note.clone_from(words);
    }
    if let Some(tags) = tags {
        kept.tags = parse_tags(tags);
    }
    kept.pinned = pin.unwrap_or(kept.pinned);
    kept.archived = archive.unwrap_or(kept.archived);
    Ok(note::write(run, &kept)?)
}

/// Prints the real path of a run that is reached over a link, since its trash is there too.
fn report_place(run: &Path) {
    if let (Ok(named), Ok(place)) = (std::path::absolute(run), run.canonicalize())
        && named != place
    {
        notice!("{} is the folder {}, which is deleted", run.display(), place.display());
    }
}

fn print_table(rows: &[&RunRow], all: &[RunRow], out: &Path) -> Result<(), Failure> {
    let archived = all.iter().filter(|r| r.note.archived).count();
    if all.is_empty() {
        return print_line!("no runs in {}; `orrery run LAB` makes one", path_label(out));
    }
    let headings =
        ["began", "run", "name", "preset", "what differs", "seed", "steps", "loss (nats)", "result", "state", "size"];
    let mut table = vec![headings.map(str::to_owned).to_vec()];
    let widest = if output::is_terminal() { MAX_CELL_WIDTH } else { usize::MAX };
    table.extend(rows.iter().map(|row| cells(row, widest).to_vec()));
    let is_text = |column: usize| !["seed", "steps", "size"].contains(&headings[column]);
    summary::laid_out(&table, is_text).iter().try_for_each(|line| print_line!("{line}"))?;
    rows.iter().for_each(|row| damage::report_problems(row));
    let beside = all.iter().filter(|r| !r.sweep.is_empty()).count();
    let beside = if beside > 0 { format!(" and in sweeps beside it ({beside})") } else { String::new() };
    let put_away =
        if archived > 0 { format!(", {archived} archived (`is:archived` shows them)") } else { String::new() };
    notice!("{} of {} runs in {}{beside}{put_away}", rows.len(), all.len(), out.display());
    Ok(())
}

/// The cells of a run: its path whole, for commands, its name of about `widest` characters, and no other of more.
fn cells(row: &RunRow, widest: usize) -> [String; 11] {
    let pin = if row.note.pinned { "* " } else { "" };
    let note = row.note.note.lines().next().map_or(String::new(), |line| format!(" ({line})"));
    [
        row.when.clone(),
        quoted(sweep::results::relative_path(&row.path)),
        shortened(format!("{pin}{}{note}", row.note.name).trim(), widest.saturating_add(16)),
        shortened(if row.preset.is_empty() { &row.lab } else { &row.preset }, widest),
        shortened(&row.changed_label(), widest),
        row.seed.to_string(),
        row.steps.to_string(),
        row.loss_label(),
        shortened(&results(row), widest),
        shortened(&row.state_label(), widest),
        size(row.bytes),
    ]
}

/// The headline numbers that are not losses, briefly.
fn results(row: &RunRow) -> String {
    const MAX_SHOWN: usize = 2;
    let is_told = |key: &&str| !split_key(key).0.ends_with("loss") && *key != "perplexity";
    let told = row.headlines.keys().into_iter().filter(is_told);
    let words = told.take(MAX_SHOWN).filter_map(|key| {
        let name = row.terms().heading(row.headline_of(key)?, key);
        Some(format!("{} {}", name.split(" (").next().unwrap_or(&name), row.headline_label(key)))
    });
    words.collect::<Vec<_>>().join(", ")
}

fn shortened(text: &str, max: usize) -> String {
    if text.chars().count() > max { text.chars().take(max - 1).chain(['…']).collect() } else { text.to_owned() }
}

fn as_json(rows: &[&RunRow]) -> Result<String, Failure> {
    let all: Vec<_> =
        rows.iter().map(|row| json!({ "path": row.path.to_string_lossy(), "note": row.note, "run": row })).collect();
    let mut text = serde_json::to_string_pretty(&all).map_err(Failure::failed)?;
    text.push('\n');
    Ok(text)
}

/// A column of runs that another program has trained.
struct ForeignColumn<'a> {
    name: String,
    cell: Box<dyn Fn(&RunRow) -> String + 'a>,
}

/// The columns of runs that another program has trained, in the place of headline numbers, which such runs lack: the
/// last losses of each group of variants, and the settings in which these runs differ.
fn foreign_columns<'a>(rows: &[&'a RunRow]) -> Vec<ForeignColumn<'a>> {
    let foreign: Vec<&RunRow> = rows.iter().copied().filter(|row| row.lab == FOREIGN).collect();
    let groups: BTreeSet<&str> =
        foreign.iter().copied().flat_map(|row| &row.losses).map(|loss| loss.group.as_str()).collect();
    let mut columns: Vec<ForeignColumn<'_>> = vec![];
    for group in groups {
        for channel in [channels::LOSS_TRAIN, channels::LOSS_HELD_OUT] {
            let value =
                move |loss: &GroupLoss| if channel == channels::LOSS_TRAIN { loss.train } else { loss.held_out };
            let cell = move |row: &RunRow| {
                let loss = row.losses.iter().find(|loss| loss.group == group).map(value);
                optional_field(loss.filter(|loss| !loss.is_nan()))
            };
            columns.push(ForeignColumn { name: format!("{channel}:{group}"), cell: Box::new(cell) });
        }
    }
    columns.retain(|column| foreign.iter().any(|row| !(column.cell)(row).is_empty()));
    for key in differences(&foreign).into_iter().map(|difference| difference.key) {
        // lab, preset and seed have columns of their own
        if foreign.iter().any(|row| !row.value_label(&key).is_empty()) {
            let name = format!("setting:{key}");
            let cell = move |row: &RunRow| row.value_label(&key);
            columns.push(ForeignColumn { name, cell: Box::new(cell) });
        }
    }
    columns
}

/// A column a headline number and group of variants, in the order of first appearance; then those of other programs' runs.
fn as_csv(rows: &[&RunRow]) -> String {
    let values = rows.iter().flat_map(|row| &row.headlines.values);
    let columns = distinct(values.map(|value| (value.key.as_str(), value.group.as_str())));
    let fixed =
        "folder,name,note,pinned,archived,lab,preset,changed,seed,began,steps,total_steps,state,bytes,problems,tags";
    let foreign = foreign_columns(rows);
    let header = fixed.split(',').map(str::to_owned).chain(columns.iter().map(|(key, group)| format!("{key}:{group}")));
    let mut out = Table::new(header.chain(foreign.iter().map(|column| column.name.clone())));
    for row in rows {
        let note = &row.note;
        let own = [
            row.folder.clone(),
            note.name.clone(),
            note.note.clone(),
            note.pinned.to_string(),
            note.archived.to_string(),
            row.lab.clone(),
            row.preset.clone(),
            row.changed_label(),
            row.seed.to_string(),
            row.when.clone(),
            row.steps.to_string(),
            row.total_steps.to_string(),
            row.state.id().to_owned(),
            row.bytes.to_string(),
            row.problems.join("; "),
            note.tags.join(", "),
        ];
        let mean = |key: &str, group: &str| row.headlines.group(key, group).map(|group| group.mean);
        let numbers = columns.iter().map(|(key, group)| optional_field(mean(key, group)));
        let of_foreign = foreign.iter().map(|column| match row.lab == FOREIGN {
            true => (column.cell)(row),
            false => String::new(),
        });
        out.row(own.into_iter().chain(numbers).chain(of_foreign));
    }
    out.finish()
}
