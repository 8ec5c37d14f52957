//! The strip above the tiles: the lab's numbers at the shown step, large; the pinned run; and that it is an example.

use crate::{
    labs::headline::{Headline, large::LargeNumber},
    telemetry::FollowedState,
    ui::{
        large_numbers::{GroupNumber, ReadNumber},
        page::{
            example::{self, ExampleLabel},
            training::is_inspection_only,
        },
        panels::prelude::*,
        pinned::run_name,
        widgets::large_figure::{FigureOwner, HEIGHT, LargeFigure, large_figures_ui},
    },
};

/// The height of the strip above the tiles, points.
pub const STRIP_HEIGHT: f32 = HEIGHT + 8.0;

/// Draws the strip. It has its room from the moment there is a run, so that no tile moves when the first number comes.
pub fn large_numbers_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page) {
    let step = page.shown_step();
    let Some(run) = &page.run else { return };
    let mirror = &run.mirror;
    let pinned = pinned_words(page, mirror);
    let example = example::label(page);
    let message = empty_message(page, run);
    if page.lab.large_numbers.is_empty() && pinned.is_none() && example.is_none() {
        return;
    }
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), HEIGHT), Sense::hover());
    let mut strip = ui.new_child(UiBuilder::new().max_rect(rect).layout(Layout::right_to_left(Align::Center)));
    strip.add_space(8.0);
    if let Some(label) = example {
        example_ui(&mut strip, shell.theme, &label);
        strip.add_space(8.0);
    }
    let place = strip.available_rect_before_wrap().with_min_x(rect.left() + 8.0);
    // the numbers go first, and the name of the pinned run has what they leave
    let last = place.right() - if pinned.is_some() { MIN_PINNED_WIDTH + 8.0 } else { 0.0 };
    let of_numbers = place.with_max_x(last.max(place.left()));
    let mut row = strip.new_child(UiBuilder::new().max_rect(of_numbers).layout(Layout::top_down(Align::Min)));
    let numbers = page.large_numbers.at(page.lab, mirror, step);
    let focus = page.selection.variant;
    let shown = numbers
        .iter()
        .filter_map(|number| Some((number.number.view, figure(number, mirror, focus, step, shell.theme)?)));
    // the number of the lab's question keeps its place before it is asked for
    let question = page.lab.large_numbers().next().filter(|(first, headline)| {
        headline.source.is_asked_for() && numbers.first().is_some_and(|number| number.number.key != first.key)
    });
    let title = |view: &str| shell.lists.view(view).map_or("", |view| view.title);
    let unasked =
        question.map(|(number, headline)| (number.view, unasked_figure(number, headline, title(number.view))));
    let (views, figures): (Vec<&str>, Vec<LargeFigure>) = unasked.into_iter().chain(shown).unzip();
    let clicked = large_figures_ui(&mut row, shell.theme, &figures, Sense::click());
    if let Some(view) = clicked.and_then(|i| views.get(i).copied()).filter(|view| !view.is_empty()) {
        shell.act(PageAction::ShowView(view));
    }
    if figures.is_empty() && pinned.is_none() && !run.is_example() {
        let middle = UiBuilder::new().max_rect(place).layout(Layout::left_to_right(Align::Center));
        truncated_ui(&mut strip.new_child(middle), message, shell.theme.secondary);
    }
    let rest = place.with_min_x(row.min_rect().right() + 8.0);
    // in less room its name cannot be read, and the menu unpins it
    if let Some(pinned) = pinned.filter(|_| rest.width() >= 0.5 * MIN_PINNED_WIDTH) {
        let rest = UiBuilder::new().max_rect(rest).layout(Layout::right_to_left(Align::Center));
        pinned_ui(&mut strip.new_child(rest), shell, &pinned);
    }
}

/// Says what the strip is for, or why it stays empty.
fn empty_message(page: &Page, run: &Run) -> &'static str {
    let may_measure = match &run.mirror.state {
        None | Some(RunState::Paused | RunState::Running) => true,
        Some(RunState::Followed(state)) => matches!(state, FollowedState::Running | FollowedState::Paused),
        Some(RunState::Finished | RunState::Stopped | RunState::Failed { .. }) => false,
    };
    match (may_measure, is_inspection_only(page)) {
        (true, _) => "The main numbers appear here once they are measured.",
        (false, true) => "The main numbers are measured while a model trains; this one is only looked at.",
        (false, false) => "No main number of this lab was measured.",
    }
}

/// Width that the numbers leave for the name of the pinned run, points.
const MIN_PINNED_WIDTH: f32 = 72.0;

/// Says of what the example is, and below how it makes way for a run of the user's own.
fn example_ui(ui: &mut Ui, theme: &Theme, label: &ExampleLabel) {
    let width = |words: &str| note_width(ui.painter(), words);
    // the numbers have at least half of the strip
    let most = 0.5 * ui.available_width();
    let size = vec2((width(&label.text).max(width(label.hint)) + 2.0).min(most), EXAMPLE_HEIGHT);
    ui.allocate_ui_with_layout(size, Layout::top_down(Align::Max), |ui| {
        ui.spacing_mut().item_spacing.y = 4.0;
        truncated_ui(ui, &label.text, theme.accent).on_hover_text(
            "A run that was recorded beforehand and comes with the program. It can be played and scrubbed; its models \
             cannot be asked. R makes a run that waits.",
        );
        truncated_ui(ui, label.hint, theme.secondary);
    });
}

/// Height of the two lines about an example.
const EXAMPLE_HEIGHT: f32 = 34.0;

/// The figure of a number that a run has only once it is asked for, before that; `title` is that of the view that asks.
fn unasked_figure(number: &LargeNumber, headline: &Headline, title: &str) -> LargeFigure {
    let tip = format!("{}\nNot measured yet: {}.", headline.about, headline.absent);
    LargeFigure {
        meaning: "not measured yet".to_owned(),
        note: if title.is_empty() { String::new() } else { format!("ask in {title}") },
        ..LargeFigure::new(number.label, "\u{2013}".to_owned(), &tip)
    }
}

/// The figure of a number of the variant in focus at the shown step.
fn figure(number: &ReadNumber, mirror: &Mirror, focus: usize, step: u64, theme: &Theme) -> Option<LargeFigure> {
    let shown = number.in_focus(focus)?;
    let headline = number.headline;
    let first = *shown.group.members.first()?;
    let has_others = mirror.variants().iter().any(|v| v.group != shown.group.id);
    let owner = FigureOwner { name: shown.group.label.clone(), colour: variant_colour(mirror, first, theme) };
    Some(LargeFigure {
        label: label(number, shown),
        value: headline.digits.format(shown.summary.mean),
        unit: number.unit.to_owned(),
        owner: has_others.then_some(owner),
        meaning: shown.meaning.clone(),
        note: note(number, shown, step),
        trend: shown.trend.clone(),
        tip: number_tooltip(number, shown),
        measured: format!("at {}", steps_label(shown.measured)),
    })
}

/// The name of a number, with how much it is measured on: "modularity Q, 16 000 edges".
fn label(number: &ReadNumber, shown: &GroupNumber) -> String {
    let measured_on = shown.measured_on.as_ref().map(|words| format!(", {words}"));
    format!("{}{}", number.label, measured_on.unwrap_or_default())
}

/// The interval over several seeds, and the step of a value that is older than the shown step.
fn note(number: &ReadNumber, shown: &GroupNumber, step: u64) -> String {
    let older = (shown.measured != [step; 2]).then(|| steps_label(shown.measured));
    let interval = interval(number, shown).map(|words| format!("95%: {words}"));
    interval.into_iter().chain(older).collect::<Vec<_>>().join(" \u{b7} ")
}

fn interval(number: &ReadNumber, shown: &GroupNumber) -> Option<String> {
    let digits = number.headline.digits;
    shown.summary.interval.map(|(low, high)| format!("{} to {}", digits.format(low), digits.format(high)))
}

/// Everything about a number: its definition, its step, its seeds, its trend, and the other variants' values.
fn number_tooltip(number: &ReadNumber, shown: &GroupNumber) -> String {
    let headline = number.headline;
    let value = |group: &GroupNumber| {
        let meaning = if group.meaning.is_empty() { String::new() } else { format!(", {}", group.meaning) };
        format!("{}: {}{meaning}", group.group.label, headline.digits.format(group.summary.mean))
    };
    let mut lines = vec![number.about.clone(), format!("Measured at {}.", steps_label(shown.measured))];
    lines.extend(shown.answers.iter().map(|answers| format!("A share {answers}.")));
    if let Some(words) = interval(number, shown) {
        lines.push(format!("Mean of {} seeds, 95% interval {words}.", shown.summary.seeds));
    }
    if let ([first, .., last], Some(change)) = (&shown.trend[..], trend_direction(&shown.trend)) {
        let [from, to] = [first, last].map(|(_, value)| headline.digits.format(*value));
        let [before, after] = [first, last].map(|(step, _)| steps_label([*step; 2]));
        lines.push(format!("{change} from {from} at {before} to {to} at {after}."));
    }
    if number.groups.len() > 1 {
        lines.extend(number.groups.iter().map(value));
    }
    lines.join("\n")
}

/// The direction from the first point of a trend to the last.
fn trend_direction(trend: &[(u64, f64)]) -> Option<&'static str> {
    let (first, last) = (trend.first()?.1, trend.last()?.1);
    match first.partial_cmp(&last)? {
        std::cmp::Ordering::Less => Some("Up"),
        std::cmp::Ordering::Greater => Some("Down"),
        std::cmp::Ordering::Equal => Some("Unchanged"),
    }
}

struct PinnedWords {
    name: String,
    tip: String,
}

fn pinned_words(page: &Page, mirror: &Mirror) -> Option<PinnedWords> {
    let info = mirror.info.as_ref()?;
    let unpin = "Click to unpin it.";
    if mirror.is_pinned {
        let name = format!("pinned: {}", run_name(info));
        let tip = format!("This run is pinned: its curves stay, faint, behind those of the runs that follow. {unpin}");
        return Some(PinnedWords { name, tip });
    }
    let pinned = mirror.pinned()?;
    let mut lines = vec![format!("The faint lines in the curves over training are of this earlier run. {unpin}")];
    lines.extend(pinned.info.folder.iter().map(|folder| format!("Folder: {folder}")));
    let differences = pinned.differences(info, &page.knobs);
    lines.push(match differences.is_empty() {
        true => "The run that is shown has the same settings and seed.".to_owned(),
        false => "From its settings to those of the run that is shown:".to_owned(),
    });
    let more = differences.len().saturating_sub(MAX_LISTED);
    lines.extend(differences.into_iter().take(MAX_LISTED));
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    Some(PinnedWords { name: pinned.name(), tip: lines.join("\n") })
}

/// The maximum number of settings that are listed.
const MAX_LISTED: usize = 12;

fn pinned_ui(ui: &mut Ui, shell: &mut Shell<'_>, pinned: &PinnedWords) {
    let words = small_text(format!("\u{d7} {}", pinned.name), shell.theme.secondary);
    let button = ui.add(Button::new(words).frame(false).truncate());
    button.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Unpin, {}", pinned.name)));
    shell.on_click(button.on_hover_text(format!("{}\n{}", pinned.name, pinned.tip)), PageAction::UnpinRun);
}
