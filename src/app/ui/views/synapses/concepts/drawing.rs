//! Draws the synapses of a search, a row each: their correlations where they were searched (pale) and on new nouns in
//! new frames (full), and what random weights reach (a mark); and the nouns that drive one of them.

use crate::{analysis::distinct::distinct, ui::views::painting::*};

const ROW_HEIGHT: f32 = 30.0;
const LANGUAGE_WIDTH: f32 = 22.0;
/// The lower and the upper end of the scale of correlations.
const MIN_CORRELATION: f64 = -0.4;

/// A row this wide has room for intervals.
const MIN_INTERVALS_WIDTH: f32 = 600.0;
/// A row narrower than this has its name and figures above its bars.
const NARROW_WIDTH: f32 = 440.0;
const LINE_HEIGHT: f32 = 18.0;

/// The minimum height of a line of dots, points, and what the line of several classes is called.
const MIN_LINE_HEIGHT: f32 = 14.0;
const OTHERS_LABEL: &str = "others";

/// Horizontal layout of a row, in points.
struct Columns {
    name: f32,
    bars: [f32; 2],
    /// Right end of the figures.
    figures: f32,
    roomy: bool,
    narrow: bool,
    languages: f32,
}

impl Columns {
    fn new(rect: Rect, languages: usize) -> Self {
        let right = rect.right() - LANGUAGE_WIDTH * languages as f32 - 8.0;
        let (roomy, narrow) = (rect.width() >= MIN_INTERVALS_WIDTH, rect.width() < NARROW_WIDTH);
        let name = rect.left() + 4.0;
        let beside = right - if roomy { 172.0 } else { 74.0 };
        let (bars, figures) = match narrow {
            true => ([name, right - 4.0], rect.right() - 8.0),
            false => ([(name + 142.0).min(beside - 60.0), beside - 8.0], right - 8.0),
        };
        Self { name, bars, figures, roomy, narrow, languages: right + 4.0 }
    }

    fn x_at(&self, r: f64) -> f32 {
        let share = ((r - MIN_CORRELATION) / (1.0 - MIN_CORRELATION)).clamp(0.0, 1.0) as f32;
        self.bars[0] + share * (self.bars[1] - self.bars[0])
    }

    fn row_height(&self) -> f32 {
        if self.narrow { ROW_HEIGHT + LINE_HEIGHT } else { ROW_HEIGHT }
    }

    /// Vertical centres of the name and figures, and of the bars and languages.
    fn line_centres(&self, rect: Rect) -> [f32; 2] {
        if !self.narrow {
            return [rect.center().y; 2];
        }
        [rect.top() + LINE_HEIGHT / 2.0 + 1.0, rect.bottom() - ROW_HEIGHT / 2.0]
    }
}

/// A synapse by its layer and its two neurons.
pub fn name_of(search: &ConceptSearch, synapse: &ConceptSynapse) -> String {
    let name = |neuron| neuron_name(neuron, search.per_head);
    format!("layer {}  y {} \u{2192} x {}", synapse.layer, name(synapse.i), name(synapse.j))
}

/// The correlations where only the nouns or only the frames are new, in addition to that where both are, which decides.
fn details(search: &ConceptSearch, synapse: &ConceptSynapse) -> String {
    if search.is_own {
        return "new: sentences that took no part in the search".to_owned();
    }
    let r = &synapse.correlation;
    let [nouns, frames] = [r.new_nouns, r.new_frames].map(|r| number::rounded(r, 2));
    format!("new nouns in known frames {nouns}, known nouns in new frames {frames}")
}

/// Draws all rows under a line of column names; returns the index of a clicked one. `random`: the correlations of random
/// weights in the search, and on new nouns in new frames.
pub fn rows_ui(ui: &mut Ui, theme: &Theme, search: &ConceptSearch, random: [f64; 2], focus: usize) -> Option<usize> {
    let width = ui.available_width();
    let languages = search.synapses.first().map_or(&[][..], |s| &s.languages);
    let lines = if width < NARROW_WIDTH { 2.0 } else { 1.0 };
    let (head, _) = ui.allocate_exact_size(vec2(width, LINE_HEIGHT * lines), Sense::hover());
    let columns = Columns::new(head, languages.len());
    let (upper, lower) = (head.top() + LINE_HEIGHT / 2.0, head.bottom() - LINE_HEIGHT / 2.0);
    let label = |x: f32, y: f32, align: Align2, words: &str| {
        ui.painter().text(pos2(x, y), align, words, theme::small(), theme.secondary);
    };
    label(columns.name, upper, Align2::LEFT_CENTER, "synapse");
    let (bars, figures) = match (columns.roomy, columns.narrow) {
        (true, _) => ("searched (pale), new (full), best random (mark)", "new, 95%, p"),
        (false, true) => ("searched (pale), new, random (mark)", "new, p"),
        (false, false) => ("searched, new", "new, p"),
    };
    label(columns.bars[0], lower, Align2::LEFT_CENTER, bars);
    label(columns.figures, upper, Align2::RIGHT_CENTER, figures);
    for (l, found) in languages.iter().enumerate() {
        label(columns.languages + LANGUAGE_WIDTH * (l as f32 + 0.5), lower, Align2::CENTER_CENTER, &found.language);
    }
    let mut clicked = None;
    for (k, row) in search.synapses.iter().enumerate() {
        let name = name_of(search, row);
        let (rect, response) = ui.allocate_exact_size(vec2(width, columns.row_height()), Sense::click());
        let ground = match (k == focus, response.hovered()) {
            (true, _) => Some(theme.raised),
            (_, true) => Some(theme.line),
            _ => None,
        };
        let painter = ui.painter_at(rect);
        if let Some(ground) = ground {
            painter.rect_filled(rect, 3.0, ground);
        }
        row_painted(&painter, theme, rect, &name, row, random);
        if response.clicked() {
            clicked = Some(k);
        }
        response.widget_info(|| {
            let [searched, new] = [row.correlation.search, row.correlation.both_new].map(|r| number::rounded(r, 2));
            let words = format!("{name}, searched {searched}, new {new}, p {}", number::p_label(row.p_holm));
            WidgetInfo::labeled(Role::Button, true, words)
        });
        let found = row.languages.iter();
        let by: Vec<String> = found
            .map(|l| format!("{} {} (p {})", l.language, number::rounded(l.correlation, 2), number::p_label(l.p)))
            .collect();
        let details = details(search, row);
        response.on_hover_text(format!("{details}\n{}\nClick to follow it in the reading.", by.join("  ")));
    }
    clicked
}

fn row_painted(painter: &Painter, theme: &Theme, rect: Rect, name: &str, row: &ConceptSynapse, random: [f64; 2]) {
    let columns = Columns::new(rect, row.languages.len());
    let [above, middle] = columns.line_centres(rect);
    painter.text(pos2(columns.name, above), Align2::LEFT_CENTER, name, theme::small(), theme.text);
    let zero = columns.x_at(0.0);
    painter.vline(zero, middle - ROW_HEIGHT / 2.0..=middle + ROW_HEIGHT / 2.0, Stroke::new(1.0, theme.line));
    let full = if row.confirmed { theme.accent } else { theme.cool };
    let r = &row.correlation;
    let bars = [(r.search, 7.0, full.gamma_multiply(0.35)), (r.both_new, -5.0, full)];
    for ((r, up, colour), random) in bars.into_iter().zip(random) {
        let y = middle - up;
        if r.is_finite() {
            let to = columns.x_at(r);
            painter.rect_filled(Rect::from_x_y_ranges(zero.min(to)..=zero.max(to), y - 4.0..=y + 4.0), 1.0, colour);
        }
        if random.is_finite() {
            let x = columns.x_at(random);
            painter.vline(x, y - 5.0..=y + 5.0, Stroke::new(4.0, theme.panel));
            painter.vline(x, y - 5.0..=y + 5.0, Stroke::new(2.0, theme.text));
        }
    }
    let (low, high) = (row.interval.low, row.interval.high);
    if low.is_finite() && high.is_finite() {
        painter.hline(columns.x_at(low)..=columns.x_at(high), middle + 5.0, Stroke::new(1.0, theme.text));
    }
    let p = if row.p_holm < 0.001 { "<.001".to_owned() } else { format!("{:.3}", row.p_holm).replacen("0.", ".", 1) };
    let [new, low, high] = [r.both_new, low, high].map(|r| number::rounded(r, 2));
    let has_interval = row.interval.low.is_finite() && columns.roomy;
    let figures = if has_interval { format!("{new} {low}..{high} {p}") } else { format!("{new} {p}") };
    painter.text(pos2(columns.figures, above), Align2::RIGHT_CENTER, figures, theme::numbers(), theme.text);
    for (l, found) in row.languages.iter().enumerate() {
        let at = pos2(columns.languages + LANGUAGE_WIDTH * (l as f32 + 0.5), middle);
        if found.p <= 0.05 {
            painter.circle_filled(at, 5.0, full);
        } else {
            let colour = if found.correlation.is_finite() { theme.secondary } else { theme.line };
            painter.circle_stroke(at, 4.5, Stroke::new(1.2, colour));
        }
    }
}

/// One synapse's mean over each noun's sentences: a line of dots for each kind of noun, the strongest named.
pub fn nouns_ui(ui: &mut Ui, theme: &Theme, title: &str, values: &[f32], nouns: &[ConceptNoun]) {
    let (rect, response) = ui.allocate_exact_size(ui.available_size(), Sense::hover());
    let painter = ui.painter_at(rect);
    let small = theme::small();
    painter.text(rect.left_top(), Align2::LEFT_TOP, title, small.clone(), theme.secondary);
    let mut classes = distinct(nouns.iter().map(|noun| noun.class.as_str()));
    // where there is no room for all, those without the concept share a line
    let rooms = ((rect.height() - 18.0) / MIN_LINE_HEIGHT).max(2.0) as usize;
    let is_crowded = classes.len() > rooms;
    if is_crowded {
        classes = vec![classes[0], OTHERS_LABEL];
    }
    let first = classes.first().copied().unwrap_or_default();
    let row_of = |noun: &ConceptNoun| {
        if is_crowded && noun.class != first { OTHERS_LABEL.to_owned() } else { noun.class.clone() }
    };
    let max = values.iter().copied().filter(|v| v.is_finite()).fold(1e-12, f32::max);
    let name = |class: &&str| truncated(&painter, class, small.clone(), theme.text, rect.width() * 0.3);
    let names: Vec<_> = classes.iter().map(name).collect();
    let widest = names.iter().map(|n| n.size().x).fold(60.0, f32::max);
    let (top, left, right) = (rect.top() + 18.0, rect.left() + widest + 14.0, rect.right() - 8.0);
    let step = (rect.bottom() - top) / classes.len().max(1) as f32;
    let mut words = vec![];
    let mut pointed: Option<(f32, String)> = None;
    for (row, class) in classes.iter().enumerate() {
        let y = top + step * (row as f32 + 0.5);
        let named = names[row].clone();
        painter.galley(pos2(rect.left() + 4.0, y - named.size().y / 2.0), named, theme.text);
        painter.hline(left..=right, y, Stroke::new(1.0, theme.line));
        let colour = if row == 0 { theme.accent } else { theme.cool };
        let mut own: Vec<(f32, &str)> = values
            .iter()
            .zip(nouns)
            .filter(|(v, n)| row_of(n) == *class && v.is_finite())
            .map(|(v, n)| (*v, n.name.as_str()))
            .collect();
        own.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut free: f32 = right;
        for (k, (v, noun)) in own.iter().enumerate() {
            let x = left + (v / max).clamp(0.0, 1.0) * (right - left);
            painter.circle_filled(pos2(x, y), 3.0, colour.gamma_multiply(0.8));
            if let Some(far) = response.hover_pos().map(|at| at.distance(pos2(x, y))).filter(|far| *far < 12.0)
                && pointed.as_ref().is_none_or(|(min, _)| far < *min)
            {
                pointed = Some((far, format!("{noun}: {v:.3} (mean over its sentences)")));
            }
            // only the three strongest are named, because more names would overlap
            if k < 3 {
                let words = painter.layout_no_wrap((*noun).to_owned(), FontId::proportional(11.0), theme.text);
                let at = (x - words.size().x / 2.0).min(free - words.size().x);
                if at > left && words.size().y + 8.0 < step {
                    free = at - 6.0;
                    painter.galley(pos2(at, y - 4.0 - words.size().y), words, Color32::PLACEHOLDER);
                }
            }
        }
        let mean = own.iter().map(|o| o.0).sum::<f32>() / own.len().max(1) as f32;
        words.push(format!("{class} {mean:.3}"));
    }
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, format!("{title}: {}", words.join(", "))));
    if let Some((_, noun)) = pointed {
        response.on_hover_text(noun);
    }
}
