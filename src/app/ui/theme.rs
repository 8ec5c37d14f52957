//! Colour, type and space, as one value.
//!
//! Every colour that carries text or a line passes 4.5:1 against the page and the panel of its own
//! mode; a colour given by the design that does not is moved towards black or white just until it
//! does (the light accent moves from #b36b00 by a shade, some variant colours by more).

use std::sync::Arc;

use eframe::egui::{
    self, Color32, Context, CornerRadius, FontData, FontDefinitions, FontFamily, FontId, Margin, Shadow, Stroke,
    TextStyle,
    style::{ScrollStyle, WidgetVisuals},
};

use super::system_fonts;

/// The colour of a hexadecimal code, 0xrrggbb.
const fn rgb(code: u32) -> Color32 {
    Color32::from_rgb((code >> 16) as u8, (code >> 8) as u8, code as u8)
}

const fn palette<const N: usize>(codes: [u32; N]) -> [Color32; N] {
    let mut colours = [Color32::BLACK; N];
    let mut at = 0;
    while at < N {
        colours[at] = rgb(codes[at]);
        at += 1;
    }
    colours
}

/// Okabe and Ito's palette, in the order variants take it. Blue and vermillion lead because they
/// are furthest apart for every kind of colour vision and are neither the cyan of "fast" nor the
/// amber of "slow". The last three are sky blue, amber and yellow, which on paper would be darkened to a second blue and
/// two olives: there they are brown, crimson and petrol, far from the four before them, from one another and from the
/// traces for every kind of colour vision, and not as dark as the slow trace.
const VARIANTS_DARK: [Color32; 7] = palette([0x0072b2, 0xd55e00, 0xcc79a7, 0x009e73, 0x56b4e9, 0xe69f00, 0xf0e442]);
const VARIANTS_LIGHT: [Color32; 7] = palette([0x0072b2, 0xd55e00, 0xcc79a7, 0x009e73, 0x703000, 0xc00040, 0x285050]);

/// Groups of nodes in a graph's picture, the largest first, by mode: light ones to glow on the dark ground, deep ones
/// to be on paper.
const GROUP_COLOURS_DARK: [Color32; 10] =
    palette([0x5ab4f0, 0xf2b134, 0xe87db6, 0x3cc8a0, 0xa990f8, 0xf07c50, 0xd9df5c, 0xa8e6ea, 0xd2a686, 0x8fb462]);
const GROUP_COLOURS_LIGHT: [Color32; 10] =
    palette([0x1466a8, 0xa86600, 0xb3367c, 0x007d62, 0x684ac4, 0xc44218, 0x767600, 0x4a5a66, 0x805838, 0x4c781c]);

/// Variants that read one trace, with the trace's strength: they have its colour.
const TRACE_VARIANTS: [(&str, usize); 3] = [("fast", 0), ("medium", 1), ("slow", 2)];

/// The contrast that text and lines must reach against the ground (WCAG 2, AA).
const MIN_CONTRAST: f64 = 4.5;

#[derive(Debug, Clone, PartialEq)]
pub struct Theme {
    pub dark: bool,
    pub page: Color32,
    pub panel: Color32,
    /// The background of inputs, and of widgets under the pointer.
    pub raised: Color32,
    pub line: Color32,
    pub text: Color32,
    pub secondary: Color32,
    /// The one accent: active or selected.
    pub accent: Color32,
    pub fast: Color32,
    pub slow: Color32,
    /// The warm colour: excitatory weights, the positive of two classes, warnings.
    pub warm: Color32,
    /// The cool colour: inhibitory weights, the negative of two classes.
    pub cool: Color32,
    /// The colour of errors, always next to a text or an icon, so that colour is not the only cue.
    pub error: Color32,
    variants: [Color32; 7],
    traces: [Color32; 3],
    groups: [Color32; Theme::GROUPS],
}

impl Theme {
    /// Groups that have a colour of their own.
    pub const GROUPS: usize = 10;

    pub fn new(dark: bool) -> Self {
        if dark { Self::dark() } else { Self::light() }
    }

    pub fn dark() -> Self {
        Self {
            dark: true,
            page: rgb(0x0f1318),
            panel: rgb(0x161b22),
            raised: rgb(0x1d242d),
            line: rgb(0x222a33),
            text: rgb(0xe6eaf0),
            secondary: rgb(0x9aa7b4),
            accent: rgb(0xf0a93b),
            fast: rgb(0x4cc9e0),
            slow: rgb(0xf0a93b),
            warm: rgb(0xf08a5d),
            cool: rgb(0x6fa8f5),
            error: rgb(0xff8a73),
            variants: VARIANTS_DARK,
            traces: palette([0x7b8fe8, 0xa6b4f2, 0xd6ddfb]),
            groups: GROUP_COLOURS_DARK,
        }
        .made_readable()
    }

    pub fn light() -> Self {
        Self {
            dark: false,
            page: rgb(0xfbfaf7),
            panel: rgb(0xffffff),
            raised: rgb(0xf3f1ec),
            line: rgb(0xe4e1da),
            text: rgb(0x1d2127),
            secondary: rgb(0x5d6670),
            accent: rgb(0xb36b00),
            fast: rgb(0x0b768a),
            slow: rgb(0xb36b00),
            warm: rgb(0xb84a1f),
            cool: rgb(0x2a62b8),
            error: rgb(0xb32d15),
            variants: VARIANTS_LIGHT,
            traces: palette([0x3a70d2, 0x7b2496, 0x1d0b33]),
            groups: GROUP_COLOURS_LIGHT,
        }
        .made_readable()
    }

    fn made_readable(mut self) -> Self {
        let grounds = [self.page, self.panel];
        let towards = if self.dark { Color32::WHITE } else { Color32::BLACK };
        let singles = [
            &mut self.accent,
            &mut self.fast,
            &mut self.slow,
            &mut self.warm,
            &mut self.cool,
            &mut self.error,
            &mut self.secondary,
        ];
        for c in singles.into_iter().chain(self.variants.iter_mut()).chain(&mut self.traces).chain(&mut self.groups) {
            *c = readable_colour(*c, &grounds, towards);
        }
        self
    }

    /// The colour of a variant in every view: that of the trace it reads, if there is one, else that of its group's
    /// index in the run, not of its index in a chart. Views use [`crate::ui::seed_series::variant_colour`].
    pub fn variant(&self, group: &str, place: usize) -> Color32 {
        let read = TRACE_VARIANTS.iter().find(|(id, _)| *id == group);
        read.map_or_else(|| self.series(place), |(_, strength)| self.trace_colour(*strength))
    }

    /// The colour of one of several things that are not variants: a layer, a method, a check, by its index.
    pub fn series(&self, index: usize) -> Color32 {
        self.variants.get(index % self.variants.len()).copied().unwrap_or(self.text)
    }

    /// Traces fast (0), medium (1), slow (2): one hue in three strengths; on paper, where thin dark lines look alike, it
    /// turns from blue to plum.
    pub fn trace_colour(&self, strength: usize) -> Color32 {
        self.traces.get(strength.min(2)).copied().unwrap_or(self.text)
    }

    /// The colour of a group of nodes, by its rank; there are [`Theme::GROUPS`].
    pub fn group(&self, rank: usize) -> Color32 {
        self.groups.get(rank).copied().unwrap_or(self.grey())
    }

    /// The colour of lines that have no group, or none with a colour of its own.
    pub fn grey(&self) -> Color32 {
        if self.dark { rgb(0x7c8895) } else { rgb(0x777f88) }
    }

    /// The same colour, faint: bands for spread, and thin lines in the colour of text.
    pub fn faint(&self, colour: Color32) -> Color32 {
        colour.gamma_multiply(0.25)
    }
}

/// Sizes of type, in points.
pub const SMALL: f32 = 12.0;
pub const BODY: f32 = 14.0;
pub const TITLE: f32 = 16.0;
pub const HEADING: f32 = 22.0;
/// The opacity of controls that are locked: less would make the secondary colour too pale to be read on paper.
pub const LOCKED_OPACITY: f32 = 0.92;
/// The opacity of lines that are faint beside others, such as pinned runs and single seeds: one in the colour of text
/// still has a contrast of 3:1 with the ground.
pub const FAINT_LINE: f32 = 0.5;
/// The opacity of the faintest lines: raw values behind smoothed ones, and what came after the shown step. With less,
/// not every colour of a line would have a contrast of 1.6:1 with the ground.
pub const FAINTEST_LINE: f32 = 0.42;
/// The opacity of the line over an interval, behind the mark of its value.
pub const INTERVAL_LINE: f32 = 0.6;
/// The spacing unit of the layout, in points.
pub const GRID: f32 = 8.0;
/// Seconds for which the pointer rests before a tooltip opens.
pub const TOOLTIP_DELAY: f32 = 0.4;
/// Corner radius, in points.
pub const CORNER: u8 = 6;

pub fn numbers() -> FontId {
    FontId::monospace(SMALL)
}

pub fn small() -> FontId {
    FontId::proportional(SMALL)
}

pub const BOLD: &str = "Inter SemiBold";

pub fn title_style() -> TextStyle {
    TextStyle::Name("Title".into())
}

/// Inter for text, Hack (egui's own) for numbers, DejaVu Sans for every sign those two lack, and last those of the
/// system that were found.
pub fn fonts() -> FontDefinitions {
    let mut fonts = FontDefinitions::default();
    let files: [(&str, &'static [u8]); 3] = [
        ("Inter", include_bytes!("../../../assets/fonts/Inter-Regular.otf")),
        (BOLD, include_bytes!("../../../assets/fonts/Inter-SemiBold.otf")),
        ("DejaVu Sans", include_bytes!("../../../assets/fonts/DejaVuSans.ttf")),
    ];
    for (name, bytes) in files {
        fonts.font_data.insert(name.to_owned(), Arc::new(FontData::from_static(bytes)));
    }
    fonts.families.entry(FontFamily::Proportional).or_default().insert(0, "Inter".to_owned());
    let rest = fonts.families.get(&FontFamily::Proportional).cloned().unwrap_or_default();
    let bold = std::iter::once(BOLD.to_owned()).chain(rest).collect();
    fonts.families.insert(FontFamily::Name(BOLD.into()), bold);
    let mut last = vec!["DejaVu Sans".to_owned()];
    for (i, font) in system_fonts::installed().unwrap_or_default().iter().enumerate() {
        last.push(format!("system {i}"));
        fonts.font_data.insert(format!("system {i}"), Arc::clone(font));
    }
    for family in [FontFamily::Proportional, FontFamily::Monospace, FontFamily::Name(BOLD.into())] {
        fonts.families.entry(family).or_default().extend_from_slice(&last);
    }
    fonts
}

/// Makes a context look like this theme. `still` turns animations off.
pub fn apply(theme: &Theme, still: bool, ctx: &Context) {
    let loaded = egui::Id::unique("orrery fonts");
    if ctx.data(|d| d.get_temp::<bool>(loaded)).is_none() {
        ctx.data_mut(|d| d.insert_temp(loaded, true));
        ctx.set_fonts(fonts());
    }
    let mode = if theme.dark { egui::Theme::Dark } else { egui::Theme::Light };
    ctx.set_theme(mode);
    ctx.style_mut_of(mode, |style| {
        style.text_styles = [
            (TextStyle::Small, FontId::proportional(SMALL)),
            (TextStyle::Body, FontId::proportional(BODY)),
            (TextStyle::Button, FontId::proportional(BODY)),
            (TextStyle::Heading, FontId::proportional(HEADING)),
            (TextStyle::Monospace, FontId::monospace(SMALL)),
            (title_style(), FontId::new(TITLE, FontFamily::Proportional)),
        ]
        .into();
        style.drag_value_text_style = TextStyle::Monospace;
        style.animation_time = if still { 0.0 } else { 0.12 };
        style.interaction.selectable_labels = false;
        style.interaction.tooltip_delay = TOOLTIP_DELAY;
        let space = &mut style.spacing;
        space.item_spacing = egui::vec2(8.0, 8.0);
        space.button_padding = egui::vec2(8.0, 4.0);
        space.interact_size = egui::vec2(32.0, 24.0);
        space.menu_margin = Margin::same(8);
        space.window_margin = Margin::same(16);
        space.indent = 16.0;
        space.slider_rail_height = 4.0;
        space.tooltip_width = 320.0;
        space.icon_width = 16.0;
        // a thin bar beside the content shows that there is more of it, and covers none
        space.scroll = ScrollStyle {
            floating_width: 4.0,
            floating_allocated_width: 6.0,
            dormant_handle_opacity: 0.4,
            ..ScrollStyle::floating()
        };
        style.visuals = visuals(theme);
    });
}

fn visuals(theme: &Theme) -> egui::Visuals {
    let mut v = if theme.dark { egui::Visuals::dark() } else { egui::Visuals::light() };
    let radius = CornerRadius::same(CORNER);
    let widget = |fill: Color32, stroke: Color32, text: Color32| WidgetVisuals {
        bg_fill: fill,
        weak_bg_fill: fill,
        bg_stroke: Stroke::new(1.0, stroke),
        corner_radius: radius,
        fg_stroke: Stroke::new(1.0, text),
        expansion: 0.0,
    };
    v.widgets.noninteractive = widget(theme.panel, theme.line, theme.text);
    v.widgets.inactive = widget(theme.raised, theme.line, theme.text);
    v.widgets.hovered = widget(theme.line, theme.secondary, theme.text);
    v.widgets.active = widget(theme.line, theme.accent, theme.text);
    v.widgets.open = widget(theme.raised, theme.accent, theme.text);
    v.override_text_color = None;
    v.weak_text_color = Some(theme.secondary);
    v.hyperlink_color = theme.accent;
    v.selection.bg_fill = theme.accent.gamma_multiply(0.3);
    // the light accent does not read on the fill of a selected button
    v.selection.stroke = Stroke::new(1.0, if theme.dark { theme.accent } else { theme.text });
    v.window_fill = theme.panel;
    v.window_stroke = Stroke::new(1.0, theme.line);
    v.panel_fill = theme.page;
    v.extreme_bg_color = theme.raised;
    v.faint_bg_color = theme.raised;
    v.code_bg_color = theme.raised;
    v.text_edit_bg_color = Some(theme.raised);
    v.warn_fg_color = theme.accent;
    v.error_fg_color = theme.error;
    v.window_corner_radius = radius;
    v.menu_corner_radius = radius;
    let shade = Color32::from_black_alpha(if theme.dark { 110 } else { 40 });
    let shadow = Shadow { offset: [0, 4], blur: 16, spread: 0, color: shade };
    v.window_shadow = shadow;
    v.popup_shadow = shadow;
    v.slider_trailing_fill = true;
    v.text_cursor.blink = false;
    v.text_cursor.stroke = Stroke::new(1.5, theme.accent);
    v.handle_shape = egui::style::HandleShape::Circle;
    v.indent_has_left_vline = false;
    v.collapsing_header_frame = false;
    v
}

/// The style of a pop-up with controls: egui's own for menus takes the ground and the outline of fields and choices away.
pub fn popup_style(style: &mut egui::Style) {
    style.spacing.button_padding = egui::vec2(4.0, 0.0);
    let widgets = &mut style.visuals.widgets;
    widgets.inactive.bg_stroke = widgets.hovered.bg_stroke;
}

/// Relative luminance of an opaque colour (WCAG 2).
fn luminance(c: Color32) -> f64 {
    let linear = |v: u8| {
        let v = f64::from(v) / 255.0;
        if v <= 0.040_45 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(c.r()) + 0.7152 * linear(c.g()) + 0.0722 * linear(c.b())
}

/// Contrast ratio of two opaque colours, 1 to 21 (WCAG 2).
pub fn contrast(a: Color32, b: Color32) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// `colour`, moved `towards` black or white just until it reads on all `grounds`.
fn readable_colour(colour: Color32, grounds: &[Color32], towards: Color32) -> Color32 {
    let mix = |t: f32| {
        let part = |a: u8, b: u8| (f32::from(a) + (f32::from(b) - f32::from(a)) * t).round() as u8;
        Color32::from_rgb(part(colour.r(), towards.r()), part(colour.g(), towards.g()), part(colour.b(), towards.b()))
    };
    (0..=50)
        .map(|i| mix(i as f32 / 50.0))
        .find(|c| grounds.iter().all(|g| contrast(*c, *g) >= MIN_CONTRAST))
        .unwrap_or(towards)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_gives_the_known_ends() {
        assert!((contrast(Color32::BLACK, Color32::WHITE) - 21.0).abs() < 1e-9);
        assert!((contrast(Color32::WHITE, Color32::WHITE) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn every_colour_has_enough_contrast_on_page_and_panel() {
        for theme in [Theme::dark(), Theme::light()] {
            let selection = visuals(&theme).selection;
            for (ground, g) in [("page", theme.page), ("panel", theme.panel)] {
                let locked = |colour: Color32| g.blend(colour.gamma_multiply(LOCKED_OPACITY));
                let mut named: Vec<(String, Color32)> = vec![
                    ("text".into(), theme.text),
                    ("secondary".into(), theme.secondary),
                    ("accent".into(), theme.accent),
                    ("fast".into(), theme.fast),
                    ("slow".into(), theme.slow),
                    ("warm".into(), theme.warm),
                    ("cool".into(), theme.cool),
                    ("error".into(), theme.error),
                    ("locked text".into(), locked(theme.text)),
                    ("locked secondary".into(), locked(theme.secondary)),
                ];
                named.extend((0..7).map(|i| (format!("variant {i}"), theme.series(i))));
                named.extend((0..Theme::GROUPS).map(|i| (format!("group {i}"), theme.group(i))));
                named.extend((0..3).map(|i| (format!("trace {i}"), theme.trace_colour(i))));
                let selected = ("a selected button".to_owned(), selection.stroke.color, g.blend(selection.bg_fill));
                for (name, c, under) in named.into_iter().map(|(name, c)| (name, c, g)).chain([selected]) {
                    let ratio = contrast(c, under);
                    assert!(ratio >= 4.5, "{name} on {ground}, dark {}: {ratio:.2}", theme.dark);
                }
            }
        }
    }

    #[test]
    fn controls_in_pop_ups_have_an_outline() {
        for theme in [Theme::dark(), Theme::light()] {
            let mut style = egui::Style { visuals: visuals(&theme), ..egui::Style::default() };
            popup_style(&mut style);
            let outline = style.visuals.widgets.inactive.bg_stroke;
            let ratio = contrast(outline.color, style.visuals.window_fill);
            assert!(outline.width >= 1.0 && ratio >= 3.0, "dark {}: {ratio:.2}", theme.dark);
        }
    }

    /// The sum of the differences of the three channels.
    fn difference(a: Color32, b: Color32) -> u32 {
        let [a, b] = [a, b].map(|c| [c.r(), c.g(), c.b()]);
        a.iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(b))).sum()
    }

    /// Neighbouring traces differ in lightness as well as in colour.
    #[test]
    fn traces_are_distinguishable() {
        for (theme, least) in [(Theme::dark(), 80), (Theme::light(), 160)] {
            for (i, j) in [(0, 1), (1, 2)] {
                let (a, b) = (theme.trace_colour(i), theme.trace_colour(j));
                let (far, steps) = (difference(a, b), contrast(a, b));
                assert!(far >= least && steps >= 1.4, "traces {i} and {j}, dark {}: {far}, {steps:.2}", theme.dark);
            }
        }
    }

    /// A chart may have the variants that read one trace beside all others. On paper two dark lines look alike, whatever
    /// their hues.
    #[test]
    fn variants_are_told_from_traces() {
        for (theme, least) in [(Theme::dark(), 70), (Theme::light(), 90)] {
            for (i, strength) in (0..7).flat_map(|i| (0..3).map(move |strength| (i, strength))) {
                let (variant, trace) = (theme.series(i), theme.trace_colour(strength));
                let far = difference(variant, trace);
                assert!(far > least, "variant {i} and trace {strength} look alike (dark {}): {far}", theme.dark);
                let steps = contrast(variant, trace);
                assert!(
                    theme.dark || strength < 2 || steps > 1.5,
                    "variant {i} is as dark as the slow trace: {steps:.2}"
                );
            }
        }
    }

    #[test]
    fn variant_colours_stay_apart() {
        for theme in [Theme::dark(), Theme::light()] {
            for i in 0..Theme::GROUPS {
                for j in 0..i {
                    let far = difference(theme.group(i), theme.group(j));
                    assert!(far > 60, "groups {i} and {j} look alike (dark {}): {far}", theme.dark);
                }
            }
            // as many as Traces compares by default; amber and vermillion are nearer on the dark ground
            for (i, j) in (0..7).flat_map(|i| (0..i).map(move |j| (i, j))) {
                let least = if theme.dark && i >= 5 { 80 } else { 90 };
                let far = difference(theme.series(i), theme.series(j));
                assert!(far > least, "variants {i} and {j} look alike (dark {}): {far}", theme.dark);
            }
        }
    }
}
