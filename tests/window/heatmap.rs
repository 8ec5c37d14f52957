//! Tests the heatmap pipeline without a window: exact colours, gaps, the logarithmic scale, one upload for many frames,
//! and a large map. Skipped with a message if there is no graphics adapter.

use std::{sync::Arc, time::Instant};

use crate::adapter::offscreen;
use eframe::egui::{Rect, pos2, vec2};
use orrery::gpu::{
    self,
    colour::ColourMap,
    heatmap::{Cells, Heatmap, HeatmapError, NOT_FINITE, uploads},
    offscreen::{Image, Offscreen, Sheet},
};

fn heatmap(rows: usize, cols: usize, data: Vec<f32>) -> Heatmap {
    Heatmap {
        key: 1,
        revision: 1,
        cells: Arc::new(Cells { rows, cols, data }),
        map: ColourMap::Viridis,
        range: [0.0, 1.0],
        log: false,
        window: [0.0, 0.0, cols as f32, rows as f32],
        missing: [10, 20, 30],
        not_finite: [200, 210, 220],
    }
}

fn draw(offscreen: &mut Offscreen, heatmap: &Heatmap, side: f32) -> Image {
    let sheet = Sheet { size: [side, side], pixels_per_point: 1.0 };
    offscreen
        .draw(
            sheet,
            |_| {},
            |ui| {
                let target = gpu::target(ui.ctx()).unwrap();
                let rect = Rect::from_min_size(pos2(0.0, 0.0), vec2(side, side));
                ui.painter().add(heatmap.clone().shape(rect, target).unwrap());
            },
        )
        .unwrap()
}

fn pixel(image: &Image, x: u32, y: u32) -> [u8; 3] {
    let i = ((y * image.width + x) * 4) as usize;
    [image.rgba[i], image.rgba[i + 1], image.rgba[i + 2]]
}

fn near(a: [u8; 3], b: [u8; 3]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.abs_diff(b) <= 1)
}

#[test]
fn cells_have_the_colours_of_their_values() {
    let Some(mut offscreen) = offscreen() else { return };
    // the rows from the top are (0, 1) and (missing, 0.5)
    let map = heatmap(2, 2, vec![0.0, 1.0, f32::NAN, 0.5]);
    let image = draw(&mut offscreen, &map, 64.0);
    for ((x, y), want) in [
        ((16, 16), ColourMap::Viridis.at(0.0)),
        ((48, 16), ColourMap::Viridis.at(1.0)),
        ((16, 48), [10, 20, 30]),
        ((48, 48), ColourMap::Viridis.at(0.5)),
        ((31, 31), ColourMap::Viridis.at(0.0)),
        ((32, 31), ColourMap::Viridis.at(1.0)),
    ] {
        let got = pixel(&image, x, y);
        assert!(near(got, want), "at {x},{y}: {got:?}, not {want:?}");
    }
}

#[test]
fn a_value_that_is_not_finite_has_a_look_of_its_own() {
    let Some(mut offscreen) = offscreen() else { return };
    let colours_of = |image: &Image, cell: [u32; 2]| {
        let inside = (cell[0]..cell[0] + 32).flat_map(|x| (cell[1]..cell[1] + 32).map(move |y| (x, y)));
        inside.map(|(x, y)| pixel(image, x, y)).collect::<std::collections::BTreeSet<_>>()
    };
    // NaN stands for a masked cell
    let image = draw(&mut offscreen, &heatmap(2, 2, vec![0.0, NOT_FINITE, f32::NAN, f32::NEG_INFINITY]), 64.0);
    let hatched = std::collections::BTreeSet::from([[10, 20, 30], [200, 210, 220]]);
    assert_eq!(colours_of(&image, [32, 0]), hatched);
    assert_eq!(colours_of(&image, [32, 32]), hatched, "whatever its sign");
    assert_eq!(colours_of(&image, [0, 32]), std::collections::BTreeSet::from([[10, 20, 30]]));
    // one of very many, of a pixel each, and of less than one
    for side in [64, 128] {
        let mut data = vec![0.5; side * side];
        data[side * side / 2 + side / 2] = NOT_FINITE;
        let image = draw(&mut offscreen, &heatmap(side, side, data), 64.0);
        assert_eq!(pixel(&image, 32, 32), [200, 210, 220], "{side}");
    }
}

#[test]
fn a_window_shows_its_cells_and_the_log_scale_places_decades() {
    let Some(mut offscreen) = offscreen() else { return };
    let mut map = heatmap(1, 4, vec![1e-4, 1e-2, 1.0, 0.0]);
    map.window = [1.0, 0.0, 2.0, 1.0];
    (map.log, map.range) = (true, [1e-4, 1.0]);
    let image = draw(&mut offscreen, &map, 32.0);
    assert!(
        near(pixel(&image, 3, 3), ColourMap::Viridis.at(0.5))
            && near(pixel(&image, 28, 28), ColourMap::Viridis.at(0.5))
    );
    map.window = [3.0, 0.0, 4.0, 1.0];
    let image = draw(&mut offscreen, &map, 32.0);
    assert!(near(pixel(&image, 16, 16), ColourMap::Viridis.at(0.0)), "zero is below the first colour");
}

#[test]
fn many_frames_of_a_large_map_upload_it_once() {
    let Some(mut offscreen) = offscreen() else { return };
    let side = 1024;
    let data = (0..side * side).map(|i| (i % side) as f32 / side as f32).collect();
    let mut map = heatmap(side, side, data);
    draw(&mut offscreen, &map, 600.0);
    let begun = Instant::now();
    for i in 0..10 {
        map.window = [i as f32, 0.0, 512.0 + i as f32, 512.0];
        draw(&mut offscreen, &map, 600.0);
    }
    println!("1024 x 1024 on {}: {:.1} ms a picture", offscreen.adapter(), begun.elapsed().as_secs_f64() * 100.0);
    let count = |o: &Offscreen| uploads(&o.render_state().renderer.read().callback_resources);
    assert_eq!(count(&offscreen), 1, "panning uploads nothing");
    map.revision += 1;
    draw(&mut offscreen, &map, 600.0);
    assert_eq!(count(&offscreen), 2);
}

#[test]
fn empty_and_oversized_heatmaps_are_refused_with_a_reason() {
    let target =
        gpu::Target { format: eframe::wgpu::TextureFormat::Rgba8Unorm, max_texture: 8, compute: true, software: false };
    let rect = Rect::from_min_size(pos2(0.0, 0.0), vec2(8.0, 8.0));
    assert_eq!(heatmap(0, 0, vec![]).shape(rect, target).err(), Some(HeatmapError::Empty));
    let words = heatmap(9, 1, vec![0.0; 9]).shape(rect, target).err().unwrap().to_string();
    assert!(words.contains("9 x 1") && words.contains("at most 8"), "{words}");
}
