//! Tests that a menu and a list inside another menu open, and that the outer menu stays open.

use eframe::egui::{accesskit::Role, vec2};
use egui_kittest::{Harness, kittest::Queryable};
use orrery::ui::widgets::{
    choice_menu::{choice_box, controls_menu},
    typed::text_line,
};

#[derive(Default)]
struct Chosen {
    block: usize,
    text: String,
}

/// Draws a menu and opens it.
fn open() -> Harness<'static, Chosen> {
    let builder = Harness::builder().with_size(vec2(700.0, 400.0));
    let mut harness = builder.build_ui_state(
        |ui, chosen: &mut Chosen| {
            controls_menu(ui, "controls", |ui| {
                controls_menu(ui, "passage", |ui| drop(text_line(ui, &mut chosen.text, "text to read", "")));
                let blocks = (0..9).map(|block| (block, format!("block {block}")));
                choice_box(ui, "list of blocks", 90.0, "first", &mut chosen.block, blocks);
            });
        },
        Chosen::default(),
    );
    click(&mut harness, Role::Button, "controls");
    harness
}

fn click(harness: &mut Harness<'_, Chosen>, role: Role, name: &str) {
    harness.get_by_role_and_label(role, name).click();
    harness.run_steps(4);
}

#[test]
fn a_menu_in_a_menu_opens() {
    let mut harness = open();
    click(&mut harness, Role::Button, "passage");
    click(&mut harness, Role::TextInput, "text to read");
    harness.get_by_role_and_label(Role::TextInput, "text to read").type_text("the tide");
    harness.run_steps(4);
    assert_eq!(harness.state().text, "the tide");
}

#[test]
fn a_list_in_a_menu_opens() {
    let mut harness = open();
    click(&mut harness, Role::ComboBox, "list of blocks");
    harness.get_by_label("block 7").click();
    harness.run_steps(4);
    assert_eq!(harness.state().block, 7);
    assert!(harness.query_by_role_and_label(Role::ComboBox, "list of blocks").is_some(), "the menu is open still");
}

/// On the ground of a menu, controls without an outline are not seen.
#[test]
fn controls_of_a_menu_have_an_outline() {
    let builder = Harness::builder().with_size(vec2(700.0, 400.0));
    let mut harness = builder.build_ui_state(
        |ui, widths: &mut Vec<f32>| {
            controls_menu(ui, "controls", |ui| {
                *widths = vec![ui.visuals().widgets.inactive.bg_stroke.width];
                controls_menu(ui, "passage", |ui| widths.push(ui.visuals().widgets.inactive.bg_stroke.width));
            });
        },
        vec![],
    );
    for menu in ["controls", "passage"] {
        harness.get_by_role_and_label(Role::Button, menu).click();
        harness.run_steps(4);
    }
    assert_eq!(*harness.state(), [1.0; 2]);
}
