//! The drawings (SVG) of a view's charts and canvases as one.

use eframe::egui::{Pos2, Rect, Vec2, vec2};

use crate::ui::{
    plot::{
        Chart, ChartState,
        svg::{self, Svg},
    },
    theme::Theme,
};

/// The drawings of the visible charts of a view, each with its corner. Such a view marks all of them as hidden before
/// it shows any ([`ChartState::clear_visibility`]).
pub fn shown_drawings<'c, 's>(
    charts: impl IntoIterator<Item = (Chart<'c>, &'s ChartState)>,
    theme: &Theme,
) -> Vec<(Pos2, String)> {
    let drawing = |(chart, state): (Chart<'c>, &'s ChartState)| Some((state.corner?, chart.svg(state, theme)?));
    charts.into_iter().filter_map(drawing).collect()
}

/// Joins drawings into one at their positions; if one is taller than in its tile, those below it move down. `None` if
/// there are none.
pub fn joined(name: &str, mut drawings: Vec<(Pos2, String)>, theme: &Theme) -> Option<String> {
    if drawings.len() < 2 {
        return drawings.pop().map(|(_, drawing)| drawing);
    }
    drawings.sort_by(|(a, _), (b, _)| a.y.total_cmp(&b.y).then(a.x.total_cmp(&b.x)));
    let corner = drawings.iter().fold(Pos2::new(f32::INFINITY, f32::INFINITY), |corner, (at, _)| corner.min(*at));
    let (mut places, mut size): (Vec<Rect>, _) = (vec![], Vec2::ZERO);
    for (at, drawing) in &drawings {
        let place = Rect::from_min_size(*at - corner.to_vec2(), svg::size_of(drawing).unwrap_or_default());
        let is_above = |other: &&Rect| other.left() < place.right() && place.left() < other.right();
        let top = places.iter().filter(is_above).map(|above| above.bottom()).fold(place.top(), f32::max);
        let place = place.translate(vec2(0.0, top - place.top()));
        size = size.max(place.max.to_vec2());
        places.push(place);
    }
    let mut sheet = Svg::new(name, size, theme.panel);
    for (nth, ((_, drawing), place)) in drawings.iter().zip(places).enumerate() {
        sheet.add_drawing(place, drawing, nth);
    }
    Some(sheet.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawings_are_joined_whole() {
        let theme = Theme::dark();
        let one = |at: [f32; 2], wide: f32, high: f32| {
            let mut one = Svg::new("one", vec2(wide, high), theme.panel);
            one.raw("<clipPath id=\"plot\"/><g clip-path=\"url(#plot)\"/>");
            (Pos2::from(at) + vec2(40.0, 70.0), one.finish())
        };
        let all = |parts: Vec<(Pos2, String)>| joined("t", parts, &theme).unwrap();
        // the upper one is higher than it stood in the tile
        let above = all(vec![one([0.0, 150.0], 280.0, 100.0), one([0.0, 0.0], 300.0, 200.0)]);
        let beside = all(vec![one([310.0, 0.0], 280.0, 100.0), one([0.0, 0.0], 300.0, 200.0)]);
        assert_eq!(svg::size_of(&above), Some(vec2(300.0, 300.0)));
        assert_eq!(svg::size_of(&beside), Some(vec2(590.0, 200.0)));
        assert!(above.contains("x=\"0\" y=\"200\"") && above.contains("\"plot1\"") && above.contains("#plot0)"));
        assert_eq!(above.matches("</svg>").count(), 3);
        let left = vec![one([0.0, 0.0], 300.0, 200.0), one([310.0, 0.0], 280.0, 90.0), one([310.0, 95.0], 280.0, 90.0)];
        assert!(all(left).contains("x=\"310\" y=\"95\""), "two beside one that is as high as both");
        assert_eq!(joined("t", vec![], &theme), None);
    }
}
