//! A text read token by token: what the synapse in focus holds after each, and the graph of those that gained most.

use eframe::egui::epaint::CubicBezierShape;

use crate::{
    labs::synapses::settings::ReadingSettings,
    ui::{
        theme::GRID,
        views::{
            prelude::*,
            trained_bdh::{reading_settings, text_ui},
        },
        widgets::token_strip::written_strip_ui,
    },
};

#[derive(Default)]
pub struct ReadingView {
    state: ChartState,
    playhead: Playhead,
    /// The number of tokens to generate, and the temperature, while the user drags or types them.
    write: Option<f64>,
    temperature: Option<f64>,
    /// The request number of the answer that was last played.
    played: Option<u64>,
}

/// Seconds per token during playback.
const TOKEN_TIME: f64 = 0.12;
/// Tokens shown at once around the cursor.
const PAGE_TOKENS: usize = 280;
/// A token is starred if a synapse gains at least this share of its largest gain there.
const STAR_SHARE: f64 = 0.5;

/// The settings with which the probe is asked.
const SETTINGS: [&str; 7] = [
    ReadingSettings::text.name,
    ReadingSettings::layer.name,
    ReadingSettings::rotated.name,
    ReadingSettings::rank.name,
    ReadingSettings::longest.name,
    ReadingSettings::write.name,
    ReadingSettings::temperature.name,
];
/// The largest number of tokens that are written from here.
const MAX_WRITTEN: f64 = 2000.0;

/// The reading that is shown, and the synapse in focus within it.
#[derive(Clone, Copy)]
struct ShownReading<'a> {
    measured: Measured<'a, SynapseReading>,
    /// Index of the synapse in focus.
    focus: usize,
}

impl<'a> ShownReading<'a> {
    fn find(cx: &ViewCx<'a>) -> Option<Self> {
        let answered = cx.answered::<SynapseReading>();
        let is_asked = |m: &Measured<'_, SynapseReading>| m.sample.request.is_some();
        let measured = match (answered, cx.latest::<SynapseReading>()) {
            // The schedule reads the text that the run was started with.
            (Some(answer), _) if is_asked(&answer) && cx.differs_from_run(&SETTINGS) => answer,
            (Some(answer), Some(latest)) if !cx.follow || answer.sample.step >= latest.sample.step => answer,
            (_, Some(latest)) => latest,
            (Some(answer), None) => answer,
            (None, None) => return None,
        };
        let reading: &'a SynapseReading = measured.value;
        let in_focus = |k: &usize| cx.selection.get() == synapse(reading, *k).as_ref();
        let focus = (0..reading.synapses.len()).find(in_focus).unwrap_or(0);
        Some(Self { measured, focus })
    }

    fn reading(&self) -> &'a SynapseReading {
        self.measured.value
    }

    fn tokens(&self) -> &'a [String] {
        &self.measured.sample.tokens
    }

    /// The first of the tokens that the model wrote; past the last where it wrote none.
    fn first_written(&self) -> usize {
        self.tokens().len().saturating_sub(self.reading().written)
    }

    /// The token at the cursor, the last one where none is selected.
    fn cursor(&self, cx: &ViewCx<'_>) -> usize {
        let last = self.tokens().len().saturating_sub(1);
        cx.selection.token.unwrap_or(last).min(last)
    }

    fn sigma(&self) -> &'a [f64] {
        self.reading().synapses.get(self.focus).map_or(&[], |s| &s.sigma)
    }

    /// y(i) x(j) at each token: what is added to the synapse in focus, whatever the rotation.
    fn gains(&self) -> Vec<f64> {
        let reading = self.reading();
        let Some(s) = reading.synapses.get(self.focus) else { return vec![] };
        let values = |traces: &'a [NeuronTrace], neuron: usize| -> &'a [f64] {
            traces.iter().find(|t| t.neuron == neuron).map_or(&[], |t| &t.values)
        };
        values(&reading.y, s.i).iter().zip(values(&reading.x, s.j)).map(|(y, x)| y * x).collect()
    }
}

fn synapse(reading: &SynapseReading, k: usize) -> Option<Synapse> {
    reading.synapses.get(k).map(|s| Synapse { layer: reading.layer, i: s.i, j: s.j })
}

/// Neurons of one end, each as full as it fires at the cursor compared with its largest value.
fn nodes(traces: &[NeuronTrace], per_head: usize, cursor: usize) -> Vec<Node> {
    let node = |t: &NeuronTrace| {
        let peak = t.values.iter().copied().fold(1e-12, f64::max);
        let now = t.values.get(cursor).copied().unwrap_or(0.0);
        Node { name: neuron_name(t.neuron, per_head), fires: (now / peak) as f32 }
    };
    traces.iter().map(node).collect()
}

impl ReadingView {
    /// Controls for the number of tokens that the model writes after the text, and the temperature.
    fn write_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let (Ok(set), Ok(warm)) =
            (cx.config.value(ReadingSettings::write), cx.config.value(ReadingSettings::temperature))
        else {
            return;
        };
        ui.horizontal_wrapped(|ui| {
            cx.setting_ui(ui, &[ReadingSettings::write.name], |ui, cx| {
                let tip = "How many tokens the model writes after the text; they are underlined, and read like it.";
                let label = ui.label("and writes on").on_hover_text(tip).id;
                let mut count = self.write.unwrap_or(set as f64);
                let drag = DragValue::new(&mut count).range(0.0..=MAX_WRITTEN).fixed_decimals(0).suffix(" tokens");
                if let Some(count) = settled(&ui.add(drag).labelled_by(label), count, &mut self.write) {
                    cx.set(ReadingSettings::write.name, Value::Int(count as i64));
                }
            });
            cx.setting_ui(ui, &[ReadingSettings::temperature.name], |ui, cx| {
                let tip = "0 always takes the likeliest token; 1 draws as the model's probabilities say.";
                let label = ui.label("at temperature").on_hover_text(tip).id;
                let mut heat = self.temperature.unwrap_or(warm);
                let drag = DragValue::new(&mut heat).range(0.0..=5.0).speed(0.01).max_decimals(2);
                if let Some(heat) = settled(&ui.add(drag).labelled_by(label), heat, &mut self.temperature) {
                    cx.set(ReadingSettings::temperature.name, Value::Float(heat));
                }
            });
        });
    }

    /// Follows what the model writes while it comes, its newest token kept visible. An answer that came complete is
    /// played from the text's end on: once each, and not while a model trains, as its answers replace one another.
    fn play_written(&mut self, ui: &Ui, cx: &mut ViewCx<'_>, shown: &ShownReading<'_>) {
        let request = shown.measured.sample.request;
        if request == self.played || !cx.shows_controls() {
            return;
        }
        self.played = request;
        let state = request.and_then(|request| cx.mirror.question(request));
        if matches!(state, Some(QuestionState::Working(_))) {
            self.playhead.stop();
            cx.selection.token = None;
            return;
        }
        if shown.reading().written > 0 && !cx.still && cx.mirror.state != Some(RunState::Running) {
            cx.selection.token = Some(shown.first_written().saturating_sub(1));
            self.playhead.start(ui.input(|i| i.time));
        }
    }

    /// A page of tokens around the cursor, each as bright as the synapse's gain there.
    fn strip_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>, shown: ShownReading<'_>, cursor: usize) {
        let tokens = shown.tokens();
        let from = (cursor / PAGE_TOKENS) * PAGE_TOKENS;
        let page = &tokens[from.min(tokens.len())..(from + PAGE_TOKENS).min(tokens.len())];
        let gains = shown.gains();
        let max = gains.iter().copied().fold(1e-12, f64::max);
        let theme = cx.theme;
        let written = shown.first_written().saturating_sub(from).min(page.len());
        let pointed = written_strip_ui(ui, theme, page, written, |k| {
            let at = from + k;
            let share = gains.get(at).filter(|_| at <= cursor).map_or(0.0, |g| (g / max).clamp(0.0, 1.0)) as f32;
            TokenMark::heat(theme.warm, share, 0.12, 0.68, (at == cursor).then_some(theme.accent))
        });
        if let Some(k) = pointed.clicked {
            cx.selection.token = Some(from + k);
            self.playhead.stop();
        }
    }

    fn chart<'a>(cx: &ViewCx<'a>, shown: ShownReading<'a>, cursor: usize) -> Chart<'a> {
        let synapses = &shown.reading().synapses;
        let name = |neuron| neuron_name(neuron, shown.reading().per_head);
        let ends = synapses.get(shown.focus).map_or(String::new(), |s| format!("{}, {}", name(s.i), name(s.j)));
        let y = Axis::new(format!("\u{3c3}({ends})")).include(&[0.0]);
        let mut chart = Chart::new("the synapse along the text", Axis::new("position (tokens)").integer_ticks(), y);
        for (k, other) in synapses.iter().enumerate().filter(|(k, _)| *k != shown.focus) {
            chart.add(Line::new(format!("other {k}"), cx.theme.text, by_place(&other.sigma)).faint());
        }
        let own = by_place(shown.sigma());
        let gains = shown.gains();
        let max = gains.iter().copied().fold(1e-12, f64::max);
        let starred = own.iter().zip(&gains).filter(|(_, g)| **g >= STAR_SHARE * max);
        let stars: Vec<[f64; 2]> = starred.map(|(p, _)| *p).collect();
        // the axis fits the synapse in focus, because the values of another may be a hundred times as large
        let [low, high] = own.iter().fold([0.0f64; 2], |[low, high], p| [low.min(p[1]), high.max(p[1])]);
        if high > low {
            let room = 0.08 * (high - low);
            chart.y = chart.y.fixed(if low < 0.0 { low - room } else { 0.0 }, high + room);
        }
        chart.add(Line::new("in focus", cx.theme.accent, own));
        chart.add(Line::new("large gains", cx.theme.warm, stars).stroke(Stroke::Marks(Mark::Cross)));
        chart.marker = Some(cursor as f64);
        if shown.reading().written > 0 {
            let (from, to) = (shown.first_written() as f64 - 0.5, shown.tokens().len() as f64 - 0.5);
            chart.vertical_span("written", cx.theme.secondary, [from, to]);
        }
        chart
    }

    fn graph_ui(ui: &mut Ui, cx: &mut ViewCx<'_>, shown: ShownReading<'_>, cursor: usize, size: Vec2) {
        let reading = shown.reading();
        let all = reading.synapses.iter().flat_map(|s| s.sigma.iter());
        let max = all.fold(1e-12, |m: f64, v| m.max(v.abs()));
        let per_head = reading.per_head;
        let layer = reading.layer;
        let sides = [
            (format!("y, layer {}", layer.saturating_sub(1)), nodes(&reading.y, per_head, cursor)),
            (format!("x, layer {layer}"), nodes(&reading.x, per_head, cursor)),
        ];
        let edge = |(k, s): (usize, &SynapseTrace)| {
            let from = reading.y.iter().position(|n| n.neuron == s.i)?;
            let to = reading.x.iter().position(|n| n.neuron == s.j)?;
            let strength = (s.sigma.get(cursor).copied().unwrap_or(0.0) / max) as f32;
            let gains = sides[0].1[from].fires > 0.0 && sides[1].1[to].fires > 0.0;
            Some(Edge { from, to, strength, gains, chosen: k == shown.focus })
        };
        let edges: Vec<Edge> = reading.synapses.iter().enumerate().filter_map(edge).collect();
        let clicked = pulse_ui(ui, cx.theme, size, &sides, &edges);
        if let Some(chosen) = clicked.and_then(|k| synapse(reading, k)) {
            cx.selection.set(chosen);
        }
    }

    /// Shows a sentence with the values at the cursor. A quantity that has room in one row is not broken.
    fn sentence_ui(ui: &mut Ui, cx: &ViewCx<'_>, shown: ShownReading<'_>, cursor: usize) {
        let reading = shown.reading();
        let sigma = shown.sigma().get(cursor).map(|v| format!("\u{3c3} {}", number::rounded(*v, 4)));
        let loss = reading.loss.get(cursor).filter(|l| l.is_finite()).map(|loss| format!("surprise {loss:.2} nats"));
        let shares = reading.firing.iter().filter_map(|layer| layer.y.get(cursor));
        let shares: Vec<String> = shares.map(|v| format!("{:.1}%", 100.0 * v)).collect();
        let firing = (!shares.is_empty()).then(|| format!("y fires {} by layer", shares.join(" ")));
        let room = ui.available_width();
        let width =
            |words: &str| ui.painter().layout_no_wrap(words.to_owned(), theme::numbers(), cx.theme.secondary).size().x;
        let kept = |words: String| if width(&words) <= room { words.replace(' ', "\u{a0}") } else { words };
        let words: Vec<String> = [sigma, loss, firing].into_iter().flatten().map(kept).collect();
        ui.label(RichText::new(words.join("\u{a0}\u{a0} ")).font(theme::numbers()).color(cx.theme.secondary));
    }
}

impl View for ReadingView {
    fn controls(&self) -> &'static [&'static str] {
        const { &[ReadingSettings::text.name, ReadingSettings::write.name, ReadingSettings::temperature.name] }
    }

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        if cx.mirror.variants().is_empty() {
            return;
        }
        let mut args = reading_settings(cx).map(|s| s.reading_args()).unwrap_or_default();
        if let Some(s) = cx.selection.get::<Synapse>() {
            (args.layer, args.i, args.j) = (Some(s.layer), Some(s.i), Some(s.j));
        }
        let variant = Some(cx.selection.variant);
        cx.ask::<SynapseReading>(variant, &args, Freshness::OFTEN);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        cx.controls_ui(ui, |ui, cx| {
            text_ui(ui, cx);
            self.write_ui(ui, cx);
        });
        let Some(shown) = ShownReading::find(cx).filter(|s| !s.tokens().is_empty()) else {
            let words = "A BDH reads this text as soon as there is one: press Space, or open a run or a checkpoint.";
            return cx.unmeasured_ui::<SynapseReading>(ui, words);
        };
        self.play_written(ui, cx, &shown);
        let last = shown.tokens().len() - 1;
        cx.controls_ui(ui, |ui, cx| self.playhead.ui(ui, "token", TOKEN_TIME, &mut cx.selection.token, last, None));
        let now = shown.cursor(cx);
        self.strip_ui(ui, cx, shown, now);
        Self::sentence_ui(ui, cx, shown, now);
        let size = ui.available_size();
        let high = ((size.y - GRID) * 0.45).max(100.0);
        Self::chart(cx, shown, now).show(ui, vec2(size.x, high), cx.theme, &mut self.state);
        Self::graph_ui(ui, cx, shown, now, vec2(size.x, (size.y - GRID - high).max(90.0)));
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let shown = ShownReading::find(cx).map(|s| s.measured.sample);
        sample_subtitle(shown, "synapses", "synapses while a text is read")
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let shown = ShownReading::find(cx)?;
        let reading = shown.reading();
        let name = |neuron| neuron_name(neuron, reading.per_head);
        let of_synapses = reading.synapses.iter().map(|s| (format!("sigma {}>{}", name(s.i), name(s.j)), &s.sigma));
        let loss = std::iter::once(("surprise (nats)".to_owned(), &reading.loss));
        let columns: Vec<_> = loss
            .chain(of_synapses)
            .chain(reading.y.iter().map(|t| (format!("y {}", name(t.neuron)), &t.values)))
            .chain(reading.x.iter().map(|t| (format!("x {}", name(t.neuron)), &t.values)))
            .collect();
        let mut table = Table::new(
            ["position", "token", "written"].into_iter().chain(columns.iter().map(|(name, _)| name.as_str())),
        );
        for (t, token) in shown.tokens().iter().enumerate() {
            let values = columns.iter().map(|(_, values)| optional_field(values.get(t)));
            let written = u8::from(t >= shown.first_written()).to_string();
            table.row([t.to_string(), token.clone(), written].into_iter().chain(values));
        }
        Some(table.finish())
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        let shown = ShownReading::find(cx)?;
        Self::chart(cx, shown, shown.cursor(cx)).svg(&self.state, cx.theme)
    }
}

/// A neuron at one side: its name, and its value as a share of its largest value in this text.
struct Node {
    name: String,
    fires: f32,
}

/// A synapse between neurons by their index in each side; `strength` in -1..1 of the strongest.
struct Edge {
    from: usize,
    to: usize,
    strength: f32,
    /// Gains at this token.
    gains: bool,
    chosen: bool,
}

/// Draws the followed synapses as a small graph: named neurons of y on the left, of x on the right, as full as they fire at this
/// token; a line as wide as its synapse is strong now. Returns the index of a clicked edge.
fn pulse_ui(ui: &mut Ui, theme: &Theme, size: Vec2, sides: &[(String, Vec<Node>); 2], edges: &[Edge]) -> Option<usize> {
    let (rect, response) = ui.allocate_exact_size(size.max(vec2(160.0, 90.0)), Sense::click());
    let painter = ui.painter_at(rect);
    let inner = Rect::from_min_max(rect.min + vec2(64.0, 22.0), rect.max - vec2(64.0, 8.0));
    let place = |side: usize, at: usize| -> Pos2 {
        let x = if side == 0 { inner.left() } else { inner.right() };
        let step = inner.height() / sides[side].1.len().max(1) as f32;
        pos2(x, inner.top() + step * (at as f32 + 0.5))
    };
    for (side, (name, _)) in sides.iter().enumerate() {
        let (x, align) = if side == 0 { (rect.left(), Align2::LEFT_TOP) } else { (rect.right(), Align2::RIGHT_TOP) };
        painter.text(pos2(x, rect.top()), align, name, theme::small(), theme.secondary);
    }
    let curve = |e: &Edge| {
        let (a, b) = (place(0, e.from), place(1, e.to));
        let pull = vec2((b.x - a.x) * 0.4, 0.0);
        [a, a + pull, b - pull, b]
    };
    for e in edges {
        let strength = share(e.strength.abs());
        let tone = if e.strength < 0.0 { theme.cool } else { theme.warm };
        let tone = if e.chosen { theme.accent } else { tone };
        let wide = 0.6 + 5.0 * strength;
        let colour = if e.gains || e.chosen { tone } else { tone.gamma_multiply(0.25 + 0.5 * strength) };
        let stroke = Pen::new(wide, colour);
        painter.add(CubicBezierShape::from_points_stroke(curve(e), false, Color32::TRANSPARENT, stroke));
    }
    for (side, (_, nodes)) in sides.iter().enumerate() {
        let mut below = f32::NEG_INFINITY;
        for (at, node) in nodes.iter().enumerate() {
            let centre = place(side, at);
            let full = share(node.fires);
            painter.circle_filled(centre, 5.0, theme.panel);
            painter.circle_filled(centre, 5.0, theme.accent.gamma_multiply(full));
            let edge = if full > 0.0 { theme.accent } else { theme.secondary };
            painter.circle_stroke(centre, 5.0, Pen::new(1.0, edge));
            let (x, align) = if side == 0 { (-10.0, Align2::RIGHT_CENTER) } else { (10.0, Align2::LEFT_CENTER) };
            let tone = if full > 0.0 { theme.text } else { theme.secondary };
            // in a low tile, names that would overlap are omitted
            if centre.y >= below {
                let name = painter.text(centre + vec2(x, 0.0), align, &node.name, theme::numbers(), tone);
                below = centre.y + name.height();
            }
        }
    }
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, format!("{} synapses as a graph", edges.len())));
    let at = response.interact_pointer_pos().filter(|_| response.clicked())?;
    let distance = |e: &Edge| {
        let bezier = CubicBezierShape::from_points_stroke(curve(e), false, Color32::TRANSPARENT, Pen::NONE);
        (0..=80).map(|k| bezier.sample(k as f32 / 80.0).distance(at)).fold(f32::INFINITY, f32::min)
    };
    let nearest = edges.iter().enumerate().map(|(i, e)| (i, distance(e))).min_by(|a, b| a.1.total_cmp(&b.1))?;
    (nearest.1 < 12.0).then_some(nearest.0)
}
