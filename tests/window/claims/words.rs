//! Checks that no word of the claims page is cut off: for a small ledger at many sizes, and for the built-in one by row.

use eframe::egui::{Key, Rect, accesskit::Role, vec2};
use egui_kittest::kittest::Queryable;
use orrery::experiments::claims::ledger::Ledger;

use super::{TestWindow, desk, desk_of};
use crate::clipping::faults_of;

fn rows(d: &TestWindow) -> Vec<Rect> {
    d.harness.query_all_by_role(Role::ListItem).map(|node| node.rect()).collect()
}

#[test]
fn words_of_claims_are_whole_at_every_size() {
    let mut d = desk();
    for id in ["X2", "X3"] {
        d.unfold(id);
    }
    for size in [[1280.0, 800.0], [1024.0, 700.0], [853.0, 533.0], [1920.0, 1080.0]] {
        d.harness.set_size(vec2(size[0], size[1]));
        d.steps(12);
        let faults = faults_of(&d.harness);
        assert!(faults.is_empty(), "{size:?}:\n{}", faults.join("\n"));
        let widest = rows(&d).iter().map(|row| row.right()).fold(0.0, f32::max);
        assert!(widest <= size[0], "{size:?}: a row ends at {widest}");
    }
}

/// One claim of each kind: with an interval, as a function of a setting, inconclusive, verified by a test, not run,
/// requiring a GPU or a text, without a rule.
const UNFOLDED: [&str; 9] = ["A2", "D7", "A22", "A7", "C10", "E20", "A21", "F1", "F4"];
/// A window height at which every row is visible, in points.
const WHOLE: f32 = 20_000.0;

#[test]
fn words_of_the_built_in_ledger_are_whole_in_both_themes() {
    let mut d = desk_of(Ledger::built_in().unwrap().entries(), None, false);
    d.click("Claims");
    d.harness.set_size(vec2(1280.0, WHOLE));
    d.steps(4);
    UNFOLDED.iter().for_each(|id| d.unfold(id));
    let (mut faults, mut grounds) = (vec![], vec![]);
    // 1280x800, and 4K at two pixels per point
    for (size, scale) in [(vec2(1280.0, 800.0), 1.0), (vec2(1920.0, 1080.0), 2.0)] {
        d.harness.set_pixels_per_point(scale);
        // the first frame after a change of scale ignores `set_size`
        d.steps(1);
        for _ in ["dark", "light"] {
            d.harness.remove_cursor();
            for size in [size, vec2(size.x, WHOLE)] {
                d.harness.set_size(size);
                d.steps(12);
                let width = d.harness.ctx.content_rect().width();
                assert!((width - size.x).abs() < 2.0, "{size} is {width} wide");
                let found = faults_of(&d.harness);
                faults.extend(found.into_iter().map(|fault| format!("{size}, {scale} pixels a point: {fault}")));
            }
            let last = rows(&d).iter().map(|row| row.bottom()).fold(0.0, f32::max);
            assert!(rows(&d).len() >= 120 && last < WHOLE, "the last of {} rows ends at {last}", rows(&d).len());
            grounds.push(d.harness.state().theme().page);
            d.harness.key_press(Key::D);
            d.steps(4);
        }
    }
    assert!(grounds[0] != grounds[1] && grounds[..2] == grounds[2..], "two themes at two sizes: {grounds:?}");
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
