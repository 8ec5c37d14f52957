//! A text read by a model of traces, and its continuation: surprise or prediction error as heat under the tokens, the
//! three traces of a block as maps over the same tokens, one row per channel and one column per token, and their lengths.

use super::{TRACE_NAMES, block_name, block_ui};
use crate::ui::{table::number_at, views::prelude::*};

/// Seconds a token takes while playing.
const TOKEN_TIME: f64 = 0.12;
/// Height of the chart of lengths, as a share of the remaining height.
const LENGTHS_HEIGHT_SHARE: f32 = 0.3;
/// Minimum height of the three traces above the chart of their lengths, points.
const MIN_MAPS_HEIGHT: f32 = 180.0;
/// A tile lower than this has its controls in a menu and the traces above the text, so that both are visible, points.
const LOW_HEIGHT: f32 = 330.0;
/// Width of that menu, points.
const MENU_WIDTH: f32 = 320.0;
/// Height that the traces leave to the text below them in such a tile, points.
const TEXT_PEEK_HEIGHT: f32 = 26.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum TokenHeat {
    #[default]
    Error,
    Surprise,
}

#[derive(Default)]
pub struct TraceReadingView {
    /// The text, which is empty for a held-out passage, and the temperature.
    args: TraceReadingArgs,
    block: usize,
    token_heat: TokenHeat,
    playhead: Playhead,
    heat: Heat,
    lengths: ChartState,
}

impl TraceReadingView {
    /// The reading of the variant in focus with the current text and temperature, if it was measured. A program that
    /// trains the run elsewhere chooses its own text, which is shown as it is.
    fn shown_reading<'a>(&self, cx: &ViewCx<'a>) -> Option<Measured<'a, TraceReading>> {
        let TraceReadingArgs { text, temperature, .. } = &self.args;
        let is_asked = |m: &TraceReading| m.is_typed != text.is_empty() && m.temperature == *temperature;
        let fits = |m: &TraceReading| cx.is_trained_elsewhere() || is_asked(m);
        cx.measured(cx.selection.variant, fits)
    }

    fn block<'a>(&self, m: &Measured<'a, TraceReading>) -> Option<&'a BlockReading> {
        m.value.blocks.get(self.block).or(m.value.blocks.last())
    }

    fn heat_of(&self, m: &Measured<'_, TraceReading>, token: usize) -> f64 {
        match self.token_heat {
            TokenHeat::Surprise => m.value.surprise.get(token).copied().unwrap_or(f64::NAN),
            TokenHeat::Error => self.block(m).and_then(|b| b.error.get(token).copied()).unwrap_or(f64::NAN),
        }
    }

    fn select(&mut self, cx: &mut ViewCx<'_>, clicked: Option<usize>) {
        if let Some(token) = clicked {
            cx.selection.token = Some(token);
            self.playhead.stop();
        }
    }

    fn controls_ui(&mut self, ui: &mut Ui, paths: &[&str]) {
        let hint = "a held-out passage; type a text of your own";
        text_line(ui, &mut self.args.text, "text to read", hint)
            .on_hover_text("The text that is read; the model then goes on by itself.");
        ui.horizontal_wrapped(|ui| {
            if !paths.is_empty() {
                block_ui(ui, &mut self.block, paths);
                divider_ui(ui, "prediction error");
            }
            ui.selectable_value(&mut self.token_heat, TokenHeat::Error, "prediction error")
                .on_hover_text("Length of what the prediction missed over that of the block's input.");
            ui.selectable_value(&mut self.token_heat, TokenHeat::Surprise, "surprise")
                .on_hover_text("\u{2212}ln p of each token, given those before it.");
            divider_ui(ui, "temperature");
            let label = ui.label("temperature").id;
            let drag = DragValue::new(&mut self.args.temperature).range(0.0..=2.0).speed(0.02).fixed_decimals(1);
            let hover = "Of what the model writes; 0 takes the likeliest token.";
            ui.add(drag).labelled_by(label).on_hover_text(hover);
            self.args.temperature = (self.args.temperature * 10.0).round() / 10.0;
        });
    }

    /// The tokens that were read, and those that the model wrote, in their heat, and the text about the one at the cursor.
    /// Returns the token that was clicked.
    fn passage_ui(&self, ui: &mut Ui, cx: &ViewCx<'_>, m: &Measured<'_, TraceReading>, cursor: usize) -> Option<usize> {
        let tokens = &m.sample.tokens;
        let prompt = m.value.prompt.min(tokens.len());
        let heat = (0..tokens.len()).map(|token| self.heat_of(m, token));
        let range @ [min, max] = finite_range(heat).unwrap_or([0.0, 1.0]);
        let mark = |token: usize| TokenMark {
            ground: background(cx.theme, (self.heat_of(m, token) - min) / (max - min)),
            outline: (token == cursor).then_some(cx.theme.accent),
        };
        let mut clicked = token_strip_ui(ui, cx.theme, &tokens[..prompt], mark).clicked;
        if prompt < tokens.len() {
            let words = format!("and goes on, at temperature {:.1}:", m.value.temperature);
            note_ui(ui, cx.theme, words);
            let later = token_strip_ui(ui, cx.theme, &tokens[prompt..], |token| mark(prompt + token)).clicked;
            clicked = clicked.or(later.map(|token| prompt + token));
        }
        note_ui(ui, cx.theme, self.token_text(m, cursor, range));
        clicked
    }

    /// Describes the token at the cursor, and the heat of the tokens.
    fn token_text(&self, m: &Measured<'_, TraceReading>, cursor: usize, range: [f64; 2]) -> String {
        let token = m.sample.tokens.get(cursor).map_or("", String::as_str);
        let number = |v: Option<f64>| v.filter(|v| v.is_finite()).map_or("\u{2013}".to_owned(), value_label);
        let surprise = number(m.value.surprise.get(cursor).copied());
        let errors = m.value.blocks.iter().map(|b| number(b.error.get(cursor).copied()));
        let [min, max] = range.map(value_label);
        let heat = match self.token_heat {
            TokenHeat::Error => "error / input",
            TokenHeat::Surprise => "surprise (nats)",
        };
        format!(
            "{cursor} \u{201c}{token}\u{201d} \u{b7} surprise {surprise} nats \u{b7} error / input by block: {} \u{b7} colours: {heat}, {min} \
             to {max}",
            errors.collect::<Vec<_>>().join(", ")
        )
    }

    fn lengths_chart<'a>(&self, cx: &ViewCx<'a>, m: &Measured<'a, TraceReading>, cursor: usize) -> Chart<'a> {
        let mut chart = Chart::new("trace lengths", Axis::new("token"), Axis::new("length").include(&[0.0]));
        let Some(block) = self.block(m) else { return chart };
        for (trace, (words, norms)) in TRACE_NAMES.into_iter().zip(&block.norms).enumerate() {
            chart.add(Line::new(words, cx.theme.trace_colour(trace), by_place(norms)));
        }
        chart.marker = Some(cursor as f64);
        // It is under the maps, column under column.
        chart.x = chart.x.fixed(-0.5, m.sample.tokens.len() as f64 - 0.5);
        chart.margins = Some([LEFT_MARGIN, BAR_WIDTH]);
        chart
    }
}

/// The background of a token whose value is this share of the way from the lowest to the highest, faint enough for its
/// text to stay legible.
fn background(theme: &Theme, share: f64) -> Option<Color32> {
    let colour = ColourMap::Diverging { dark: theme.dark }.colour(0.5 + 0.5 * share.clamp(0.0, 1.0) as f32);
    share.is_finite().then(|| colour.gamma_multiply(0.75))
}

impl View for TraceReadingView {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        cx.ask::<TraceReading>(Some(cx.selection.variant), &self.args, Freshness::SELDOM);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        ui.spacing_mut().item_spacing.y = 4.0;
        let shown = self.shown_reading(cx);
        let is_low = plot::is_lower(ui, LOW_HEIGHT);
        cx.controls_ui(ui, |ui, _| {
            let blocks = shown.map_or(&[][..], |m| &m.value.blocks);
            let paths: Vec<&str> = blocks.iter().map(|b| b.path.as_str()).collect();
            if !is_low {
                return self.controls_ui(ui, &paths);
            }
            let menu = controls_menu(ui, "text, block, colours \u{2026}", |ui| {
                ui.set_width(MENU_WIDTH);
                self.controls_ui(ui, &paths);
            });
            let tip = "The text that is read, the block that is shown, what colours its tokens, and the temperature at \
                       which the model goes on.";
            menu.on_hover_text(tip);
        });
        let Some(m) = shown.filter(|m| !m.sample.tokens.is_empty()) else {
            let words = "Nothing read yet. A run reads a passage at its start: press Space.";
            return cx.unmeasured_ui::<TraceReading>(ui, words);
        };
        let last = m.sample.tokens.len() - 1;
        let cursor = cx.selection.token.unwrap_or(m.value.prompt.saturating_sub(1)).min(last);
        let mut moved = Some(cursor);
        cx.controls_ui(ui, |ui, _| self.playhead.ui(ui, "token", TOKEN_TIME, &mut moved, last, None));
        if moved != Some(cursor) {
            cx.selection.token = moved;
        }
        let cursor = moved.unwrap_or(cursor);
        let are_traces_first = is_low && self.block(&m).is_some();
        let mut clicked = if are_traces_first { None } else { self.passage_ui(ui, cx, &m, cursor) };
        let Some(block) = self.block(&m) else { return };
        let room = ui.available_height() - ui.spacing().item_spacing.y;
        if are_traces_first {
            let height = (room - TEXT_PEEK_HEIGHT).max(plot::MIN_PLOT_SIZE.y);
            clicked = self.heat.ui(ui, cx.theme, height, m.sample, block, cursor);
            clicked = self.passage_ui(ui, cx, &m, cursor).or(clicked);
            return self.select(cx, clicked);
        }
        let maps = room - (room * LENGTHS_HEIGHT_SHARE).max(plot::min_chart_height(ui.ctx()));
        let has_lengths = maps >= MIN_MAPS_HEIGHT;
        let height = if has_lengths { maps } else { room.max(90.0) };
        clicked = self.heat.ui(ui, cx.theme, height, m.sample, block, cursor).or(clicked);
        if has_lengths {
            let size = vec2(ui.available_width(), ui.available_height());
            self.lengths_chart(cx, &m, cursor).show(ui, size, cx.theme, &mut self.lengths);
        }
        self.select(cx, clicked);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let Some(m) = self.shown_reading(cx) else { return "a text, token by token".to_owned() };
        let label = cx.mirror.variant_label(m.variant);
        let block = self.block(&m).map_or(String::new(), |b| format!(" \u{b7} {}", shown_channels(b)));
        format!("step {} \u{b7} {label} \u{b7} {}{block}", m.sample.step, m.sample.about)
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let m = self.shown_reading(cx)?;
        let block = self.block(&m)?;
        let mut table = Table::new(["place", "token", "is_written", "surprise", "error", "fast", "medium", "slow"]);
        for (token, words) in m.sample.tokens.iter().enumerate() {
            let [fast, medium, slow] = block.norms.each_ref().map(|norms| number_at(norms, token));
            let is_written = token >= m.value.prompt;
            let (surprise, error) = (number_at(&m.value.surprise, token), number_at(&block.error, token));
            table.cells(&[&token, words, &is_written, &surprise, &error, &fast, &medium, &slow]);
        }
        Some(table.finish())
    }
}

/// "block 1", with the number of its shown channels if not all are shown.
fn shown_channels(block: &BlockReading) -> String {
    let shown = block.traces[0].shape().get(1).copied().unwrap_or(0);
    match shown < block.channels {
        true => format!("{}, channels 0 to {} of {}", block_name(&block.path), shown.saturating_sub(1), block.channels),
        false => block_name(&block.path),
    }
}

/// Room for the names on the left, and for the colour bars on the right.
const LEFT_MARGIN: f32 = 60.0;
const BAR_WIDTH: f32 = 58.0;
const GAP: f32 = 8.0;
/// The minimum height of a map at which the labels of its colour bar do not overlap.
const MIN_BAR: f32 = 48.0;

/// The maps, copied for the graphics card once.
#[derive(Default)]
struct Heat {
    cells: [MapCells; 3],
}

impl Heat {
    fn cache_maps(&mut self, payload: &Arc<Payload>, block: &BlockReading) {
        for ((held, array), name) in self.cells.iter_mut().zip(&block.traces).zip(TRACE_NAMES) {
            let (part, &[tokens, channels]) = (format!("{}.{name}", block.path), array.shape()) else { continue };
            let places = (0..channels).flat_map(|channel| (0..tokens).map(move |token| token * channels + channel));
            let turned: Vec<f32> = places.map(|at| array.data().get(at).copied().unwrap_or(f32::NAN)).collect();
            held.cache_matrix(payload, &part, MatrixView { rows: channels, cols: tokens, data: &turned });
        }
    }

    /// Fills `height` with the traces of a block of the sample, and outlines the token at the cursor; returns the token that
    /// was clicked.
    fn ui(
        &mut self,
        ui: &mut Ui,
        theme: &Theme,
        height: f32,
        sample: &Sample,
        block: &BlockReading,
        cursor: usize,
    ) -> Option<usize> {
        self.cache_maps(&sample.payload, block);
        let size = vec2(ui.available_width(), height);
        let (sheet, response, _) = canvas_ui(ui, size, Sense::click_and_drag(), "traces by token and channel");
        let each = (sheet.height() - 2.0 * GAP) / 3.0;
        let columns = sample.tokens.len().max(1);
        let map = |trace: usize| {
            let top = sheet.top() + trace as f32 * (each + GAP);
            Rect::from_min_max(pos2(sheet.left() + LEFT_MARGIN, top), pos2(sheet.right() - BAR_WIDTH, top + each))
        };
        let column = (map(0).width() / columns as f32).max(0.1);
        for (trace, held) in self.cells.iter().enumerate() {
            let rect = map(trace);
            let max = held.largest().max(f32::MIN_POSITIVE);
            let colours = Colours { map: ColourMap::Diverging { dark: theme.dark }, range: [-max, max], log: false };
            paint_map(ui, rect, held, colours, theme, None);
            let painter = ui.painter_at(sheet);
            painter.rect_stroke(rect, 0.0, Pen::new(1.0, theme.line), StrokeKind::Outside);
            let (name, colour) = (TRACE_NAMES[trace], theme.trace_colour(trace));
            painter.text(pos2(sheet.left(), rect.top()), Align2::LEFT_TOP, name, theme::small(), colour);
            if each >= MIN_BAR {
                let bar = Rect::from_min_size(pos2(rect.right() + 10.0, rect.top() + 4.0), vec2(8.0, each - 8.0));
                colour_bar(&painter, bar, colours, theme);
            }
            let left = rect.left() + cursor as f32 * column;
            let at = Rect::from_min_max(pos2(left, rect.top()), pos2(left + column, rect.bottom()));
            painter.with_clip_rect(rect).rect_stroke(at, 0.0, Pen::new(1.0, theme.accent), StrokeKind::Outside);
        }
        let under = |p: Pos2| {
            let trace = (0..3).find(|trace| map(*trace).contains(p))?;
            let rect = map(trace);
            let rows = self.cells[trace].cells().rows;
            let token = (((p.x - rect.left()) / column) as usize).min(columns - 1);
            let channel = (((p.y - rect.top()) / rect.height() * rows as f32) as usize).min(rows.saturating_sub(1));
            Some((trace, channel, token))
        };
        let clicked = (response.clicked() || response.dragged()).then(|| response.interact_pointer_pos()).flatten();
        let clicked = clicked.and_then(under).map(|(_, _, token)| token);
        if let Some((trace, channel, token)) = response.hover_pos().and_then(under) {
            let words = format!(
                "{} trace, channel {channel}, after \u{201c}{}\u{201d} ({token}): {}",
                TRACE_NAMES[trace],
                sample.tokens.get(token).map_or("", String::as_str),
                self.cells[trace].label(channel, token)
            );
            response.on_hover_ui_at_pointer(|ui| _ = ui.label(RichText::new(words).font(theme::numbers())));
        }
        clicked
    }
}
