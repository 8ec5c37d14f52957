//! The tile that is being drawn. Its charts keep a readable minimum size, for which the tile scrolls, and are noted.

use eframe::egui::{Context, Id, Rect, ScrollArea, Ui, Vec2, containers::scroll_area::ScrollAreaOutput};

/// The minimum size of a chart's data area in a tile, points.
pub const MIN_PLOT_SIZE: Vec2 = Vec2::new(260.0, 160.0);
/// Room of a chart around its data, and of the gap to its neighbour, points.
const CHART_MARGIN: Vec2 = Vec2::new(76.0, 48.0);

/// Minimum size of a tile with its bars and margins, points; in a smaller one the chart has to be scrolled.
pub const MIN_TILE_SIZE: Vec2 = Vec2::new(350.0, 300.0);

/// Height of the few lines of text that a view has, points.
const TEXT_HEIGHT: f32 = 60.0;

/// A chart or another picture, with the place where a tile has drawn it.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnPlot {
    pub tile: u64,
    pub chart: String,
    /// The area of its data, screen points, including what is scrolled out of view.
    pub area: Rect,
    pub in_sight: Rect,
}

/// The space of a tile's view, and the size of its content.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnTile {
    pub tile: u64,
    pub room: Vec2,
    pub content: Vec2,
}

/// A table of a tile, with the width available (`room`) and the width of all its columns (`content`).
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnTable {
    pub tile: u64,
    pub table: &'static str,
    pub room: f32,
    pub content: f32,
}

/// The tiles of one pass, with their charts, their other pictures and their tables.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DrawnTiles {
    pass: u64,
    pub plots: Vec<DrawnPlot>,
    /// Maps, graphs and other canvases.
    pub canvases: Vec<DrawnPlot>,
    pub tiles: Vec<DrawnTile>,
    pub tables: Vec<DrawnTable>,
}

const CURRENT_TILE_KEY: &str = "orrery plot tile";
const DRAWN_TILES_KEY: &str = "orrery drawn in tiles";
const PICTURE_KEY: &str = "orrery picture";

/// Marks everything drawn next as part of this tile.
pub fn begin_tile(ctx: &Context, tile: u64) {
    ctx.data_mut(|d| d.insert_temp(Id::unique(CURRENT_TILE_KEY), Some(tile)));
}

/// Ends what [`begin_tile`] began, and notes the room that the view had and the size of what it drew.
pub fn end_tile(ctx: &Context, room: Vec2, content: Vec2) {
    note_drawn(ctx, |drawn, tile| drawn.tiles.push(DrawnTile { tile, room, content }));
    ctx.data_mut(|d| d.insert_temp(Id::unique(CURRENT_TILE_KEY), None::<u64>));
}

/// The tile whose view is being drawn; `None` outside of tiles, as in a picture.
pub(super) fn current_tile(ctx: &Context) -> Option<u64> {
    ctx.data(|d| d.get_temp::<Option<u64>>(Id::unique(CURRENT_TILE_KEY))).flatten()
}

/// A picture, which has neither a list to open nor a bar to scroll: charts name all their lines, and all panels are shown.
#[derive(Debug, Clone, Copy)]
struct Picture {
    /// The last pass in which it was noted how much height lacks, and that height.
    pass: u64,
    missing_height: f32,
}

fn picture(ctx: &Context) -> Option<Picture> {
    ctx.data(|d| d.get_temp(Id::unique(PICTURE_KEY)))
}

/// Marks this context as one that draws a picture for a file, where nothing can be scrolled.
pub fn begin_picture(ctx: &Context) {
    ctx.data_mut(|d| d.insert_temp(Id::unique(PICTURE_KEY), Picture { pass: 0, missing_height: 0.0 }));
}

pub(super) fn is_picture(ctx: &Context) -> bool {
    picture(ctx).is_some()
}

/// Notes the height by which a picture is too low, as for the names of a chart's lines; elsewhere nothing is noted.
pub fn note_lacking(ctx: &Context, height: f32) {
    if is_picture(ctx) {
        let (pass, lacking) = (ctx.cumulative_pass_nr(), height.max(missing_height(ctx)));
        ctx.data_mut(|d| d.insert_temp(Id::unique(PICTURE_KEY), Picture { pass, missing_height: lacking }));
    }
}

/// The height by which a picture is too low in this pass, points.
pub fn missing_height(ctx: &Context) -> f32 {
    let pass = ctx.cumulative_pass_nr();
    picture(ctx).filter(|noted| noted.pass == pass).map_or(0.0, |noted| noted.missing_height)
}

/// Shows the rows of a table or of bars in a scroll area. A picture, which cannot be scrolled, grows by the rows without room.
pub fn rows_ui<R>(ui: &mut Ui, area: ScrollArea, rows: impl FnOnce(&mut Ui) -> R) -> ScrollAreaOutput<R> {
    let shown = area.show(ui, rows);
    let lacking = shown.content_size.y - shown.inner_rect.height();
    if lacking >= 1.0 {
        note_lacking(ui.ctx(), lacking.ceil());
    }
    shown
}

/// Notes where a chart's data are, if it is in a tile.
pub(super) fn note_plot(ui: &Ui, chart: &str, area: Rect) {
    note_picture(ui, chart, area, |drawn| &mut drawn.plots);
}

/// Notes where a picture is that is not a chart, if it is in a tile.
pub fn note_canvas(ui: &Ui, name: &str, area: Rect) {
    note_picture(ui, name, area, |drawn| &mut drawn.canvases);
}

fn note_picture(ui: &Ui, name: &str, area: Rect, list: fn(&mut DrawnTiles) -> &mut Vec<DrawnPlot>) {
    let in_sight = area.intersect(ui.clip_rect());
    note_drawn(ui.ctx(), |drawn, tile| list(drawn).push(DrawnPlot { tile, chart: name.to_owned(), area, in_sight }));
}

/// Notes how wide a table that scrolls by itself is, and how much of that is visible.
pub fn note_table(ctx: &Context, table: &'static str, room: f32, content: f32) {
    note_drawn(ctx, |drawn, tile| drawn.tables.push(DrawnTable { tile, table, room, content }));
}

/// Notes from now on what is drawn in tiles, for [`drawn`] to measure. Unmeasured windows note nothing.
pub fn watch(ctx: &Context) {
    ctx.data_mut(|d| d.insert_temp(Id::unique(DRAWN_TILES_KEY), DrawnTiles::default()));
}

/// Adds something to what is noted of the tile that is being drawn.
fn note_drawn(ctx: &Context, add: impl FnOnce(&mut DrawnTiles, u64)) {
    let Some(tile) = current_tile(ctx) else { return };
    let pass = ctx.cumulative_pass_nr();
    ctx.data_mut(|d| {
        let Some(mut drawn) = d.remove_temp::<DrawnTiles>(Id::unique(DRAWN_TILES_KEY)) else { return };
        if drawn.pass != pass {
            drawn = DrawnTiles { pass, ..DrawnTiles::default() };
        }
        add(&mut drawn, tile);
        d.insert_temp(Id::unique(DRAWN_TILES_KEY), drawn);
    });
}

/// The tiles as they were last drawn while they were watched ([`watch`]).
pub fn drawn(ctx: &Context) -> DrawnTiles {
    ctx.data(|d| d.get_temp(Id::unique(DRAWN_TILES_KEY))).unwrap_or_default()
}

/// True if a chart has its minimum width in this space beside something else; always true outside of tiles.
pub fn fits(ctx: &Context, width: f32) -> bool {
    current_tile(ctx).is_none() || width >= MIN_PLOT_SIZE.x + CHART_MARGIN.x
}

/// True if two charts fit beside one another in this width: more than `wide`, and in a tile also more than their
/// minimum widths.
pub fn fits_two(ctx: &Context, width: f32, wide: f32) -> bool {
    let least = if current_tile(ctx).is_some() { 2.0 * (MIN_PLOT_SIZE.x + CHART_MARGIN.x) } else { 0.0 };
    width > wide.max(least)
}

/// True if a view's text comes below its chart: in a tile too low for both, so that the whole chart is visible.
pub fn are_words_last(ui: &Ui) -> bool {
    is_lower(ui, MIN_PLOT_SIZE.y + CHART_MARGIN.y + TEXT_HEIGHT)
}

/// True in a tile that has less height left than this, points; never outside of tiles.
pub fn is_lower(ui: &Ui, height: f32) -> bool {
    current_tile(ui.ctx()).is_some() && ui.available_height() < height
}

/// Minimum height of a chart with what is around its data, points: in a tile; elsewhere it is drawn at any height.
pub fn min_chart_height(ctx: &Context) -> f32 {
    if current_tile(ctx).is_some() { MIN_PLOT_SIZE.y + CHART_MARGIN.y } else { 0.0 }
}

/// Charts of one x axis that are beside one another: 1, where they have their minimum heights above one another, and
/// outside of tiles; in a tile that is too low for that as many as have their minimum widths.
pub fn columns(ctx: &Context, room: Vec2, charts: usize) -> usize {
    let least = MIN_PLOT_SIZE + CHART_MARGIN;
    match current_tile(ctx).is_some() && room.y < least.y * charts as f32 {
        true => ((room.x / least.x) as usize).clamp(1, charts.max(1)),
        false => 1,
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::{Pos2, RawInput, vec2};

    use super::*;

    #[test]
    fn a_picture_lacks_the_height_of_rows_without_room() {
        let lacking = |is_picture: bool, height: f32| {
            let (ctx, mut lacking) = (Context::default(), 0.0);
            if is_picture {
                begin_picture(&ctx);
            }
            let screen_rect = Some(Rect::from_min_size(Pos2::ZERO, vec2(100.0, 100.0)));
            let input = RawInput { screen_rect, ..RawInput::default() };
            let pass = ctx.run_ui(input, |ui| {
                let area = ScrollArea::vertical().auto_shrink([false, false]);
                rows_ui(ui, area, |ui| ui.allocate_space(vec2(10.0, height)));
                lacking = missing_height(ui.ctx());
            });
            pass.drop_without_applying_deltas();
            lacking
        };
        assert_eq!([lacking(true, 250.0), lacking(true, 80.0), lacking(false, 250.0)], [150.0, 0.0, 0.0]);
    }
}
