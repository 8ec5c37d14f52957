//! Small signs drawn with lines, and the button that shows one, since not every font has them.

use crate::ui::{panels::prelude::*, theme::CORNER};

/// `Loop` is a ring that closes on itself; the panels are a window with one at that side, filled where it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Icon {
    Play,
    Pause,
    Step,
    Reset,
    Follow,
    Loop,
    More,
    Close,
    LeftPanel { is_open: bool },
    RightPanel { is_open: bool },
    Search,
}

/// Draws `icon` in the middle of `rect`, about 12 points large.
pub fn paint(ui: &Ui, icon: Icon, rect: Rect, colour: Color32) {
    let c = rect.center();
    let p = |x: f32, y: f32| pos2(c.x + x, c.y + y);
    let line = Stroke::new(1.5, colour);
    let painter = ui.painter();
    let fill = |points: Vec<Pos2>| _ = painter.add(Shape::convex_polygon(points, colour, Stroke::NONE));
    let path = |points: Vec<Pos2>| _ = painter.add(Shape::line(points, line));
    let bar = |x: f32| _ = painter.rect_filled(Rect::from_min_size(p(x, -5.0), vec2(2.0, 10.0)), 0.5, colour);
    let side_panel = |side: f32, is_open: bool| {
        let window = Rect::from_center_size(c, vec2(14.0, 12.0));
        painter.rect_stroke(window, 2.0, line, StrokeKind::Inside);
        path(vec![p(1.75 * side, -5.5), p(1.75 * side, 5.5)]);
        if is_open {
            painter.rect_filled(Rect::from_two_pos(p(1.75 * side, -5.5), p(6.5 * side, 5.5)), 1.0, colour);
        }
    };
    match icon {
        Icon::Play => fill(vec![p(-4.0, -6.0), p(6.0, 0.0), p(-4.0, 6.0)]),
        Icon::Pause => {
            for x in [-4.5, 1.5] {
                painter.rect_filled(Rect::from_min_size(p(x, -5.5), vec2(3.0, 11.0)), 1.0, colour);
            }
        }
        Icon::Step => {
            fill(vec![p(-5.0, -5.0), p(2.5, 0.0), p(-5.0, 5.0)]);
            bar(3.5);
        }
        Icon::Reset => {
            let angles = (0..=20).map(|i| (-60.0 + 300.0 * i as f32 / 20.0_f32).to_radians());
            path(angles.map(|a| p(5.0 * a.cos(), 5.0 * a.sin())).collect());
            fill(vec![p(-1.2, -5.8), p(5.2, -5.8), p(4.0, 0.2)]);
        }
        Icon::Follow => {
            path(vec![p(-6.0, 0.0), p(1.0, 0.0)]);
            path(vec![p(-2.5, -3.5), p(1.5, 0.0), p(-2.5, 3.5)]);
            bar(4.0);
        }
        Icon::Loop => {
            path(vec![p(3.0, -4.5), p(-3.5, -4.5), p(-5.5, -2.5), p(-5.5, 2.5), p(-3.5, 4.5)]);
            path(vec![p(-3.0, 4.5), p(3.5, 4.5), p(5.5, 2.5), p(5.5, -2.5)]);
            fill(vec![p(1.5, -7.5), p(5.5, -4.5), p(1.5, -1.5)]);
        }
        Icon::More => [-5.0, 0.0, 5.0].into_iter().for_each(|x| _ = painter.circle_filled(p(x, 0.0), 1.5, colour)),
        Icon::Close => {
            path(vec![p(-4.0, -4.0), p(4.0, 4.0)]);
            path(vec![p(4.0, -4.0), p(-4.0, 4.0)]);
        }
        Icon::LeftPanel { is_open } => side_panel(-1.0, is_open),
        Icon::RightPanel { is_open } => side_panel(1.0, is_open),
        Icon::Search => {
            painter.circle_stroke(p(-1.0, -1.0), 4.0, line);
            path(vec![p(2.0, 2.0), p(5.5, 5.5)]);
        }
    }
}

/// A square button with a sign; `name` is its accessible name.
pub fn icon_button(ui: &mut Ui, theme: &Theme, icon: Icon, name: &str) -> Response {
    icon_button_in(ui, theme, icon, name, IconStyle::Plain)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IconStyle {
    Plain,
    On,
    /// The main button of a group.
    Primary,
}

pub fn icon_button_in(ui: &mut Ui, theme: &Theme, icon: Icon, name: &str, style: IconStyle) -> Response {
    let size = if style == IconStyle::Primary { vec2(40.0, 28.0) } else { Vec2::splat(28.0) };
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    let enabled = ui.is_enabled();
    response.widget_info(|| WidgetInfo::selected(Role::Button, enabled, style == IconStyle::On, name));
    if ui.is_rect_visible(rect) {
        let hot = response.hovered() || response.has_focus();
        let (ground, sign) = match style {
            IconStyle::Primary if !enabled => (theme.line, theme.text),
            IconStyle::Primary if hot => (theme.accent.gamma_multiply(0.85), theme.page),
            IconStyle::Primary => (theme.accent, theme.page),
            _ if hot => (theme.line, theme.text),
            IconStyle::On => (Color32::TRANSPARENT, theme.accent),
            IconStyle::Plain => (Color32::TRANSPARENT, theme.secondary),
        };
        let sign = if enabled { sign } else { sign.gamma_multiply(0.4) };
        ui.painter().rect_filled(rect, CORNER, ground);
        if response.has_focus() {
            ui.painter().rect_stroke(rect, CORNER, Stroke::new(1.0, theme.accent), StrokeKind::Inside);
        }
        paint(ui, icon, rect, sign);
    }
    response
}
