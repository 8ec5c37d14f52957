//! The sheet that asks for the properties of a view's picture: its size, its background, and PNG or SVG.

use crate::ui::panels::prelude::*;

/// Sizes to choose from, pixels.
const SIZES: [[u32; 2]; 4] = [[1600, 1000], [3200, 2000], [1920, 1080], [1200, 1200]];
/// Least and most of a side, pixels.
const SIDE_PIXELS: std::ops::RangeInclusive<u32> = 200..=8192;

pub fn picture_sheet_ui(ui: &mut Ui, shell: &mut Shell<'_>, order: &mut PictureOrder) {
    let secondary = shell.theme.secondary;
    ui.label(RichText::new(format!("Picture of {}", order.title)).text_style(theme::title_style()));
    let words =
        "Drawn anew from what the tile shows now, without buttons. It becomes higher where its content needs that.";
    ui.label(RichText::new(words).color(secondary));
    ui.add_space(8.0);
    ui.horizontal_wrapped(|ui| {
        for size in SIZES {
            let words = format!("{} \u{d7} {}", size[0], size[1]);
            ui.selectable_value(&mut order.size, size, words);
        }
    });
    ui.horizontal(|ui| {
        for (side, name) in order.size.iter_mut().zip(["width", "height"]) {
            let label = ui.label(small_text(name, secondary));
            ui.add(DragValue::new(side).range(SIDE_PIXELS).suffix(" px")).labelled_by(label.id);
        }
    });
    ui.horizontal(|ui| {
        ui.selectable_value(&mut order.dark, true, "dark");
        ui.selectable_value(&mut order.dark, false, "light");
        ui.separator();
        ui.selectable_value(&mut order.is_svg, false, "PNG").on_hover_text("Pixels.");
        let tip = "Lines and words, to be edited or printed at any size. What only a graphics card draws is left out.";
        ui.selectable_value(&mut order.is_svg, true, "SVG").on_hover_text(tip);
    });
    ui.add_space(8.0);
    ui.horizontal(|ui| {
        shell.on_click(ui.button(format!("Save {}\u{2026}", order.file())), FileAction::SavePicture(order.clone()));
        shell.on_click(ui.button("Cancel"), OpenAction::Back);
    });
}
