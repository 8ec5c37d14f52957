//! Tests the particles without a window: their positions depend only on the step, drawing the same step twice computes
//! nothing, and they move along the field. Skipped with a message if there is no graphics adapter.

use std::{sync::Arc, time::Instant};

use crate::adapter::offscreen;
use eframe::egui::{Rect, pos2, vec2};
use orrery::gpu::{
    self,
    offscreen::{Image, Offscreen, Sheet},
    particles::{COUNT, LIFE, Particles, ParticlesError, Stepping, VectorField, steps_made},
};

const SIDE: f32 = 256.0;

/// Samples Van der Pol's vector field (mu = 1) over [-3, 3] x [-3, 3], in units of the square's side.
fn van_der_pol(n: usize) -> VectorField {
    let at = |i: usize| -3.0 + 6.0 * i as f32 / (n - 1) as f32;
    let field = |(x, y): (f32, f32)| [y / 6.0, ((1.0 - x * x) * y - x) / 6.0];
    let data = (0..n * n).map(|i| field((at(i % n), at(i / n)))).collect();
    VectorField { rows: n, cols: n, data }
}

fn particles(key: u64, field: VectorField, step: u64) -> Particles {
    Particles {
        key,
        revision: 1,
        field: Arc::new(field),
        step,
        settled: false,
        dt: 0.02,
        stepping: Stepping::Midpoint,
        drawn: 4096,
        across: [SIDE, 0.0],
        along: [0.0, -SIDE],
        origin: [0.0, SIDE],
        colour: [255, 255, 255],
        strength: 1.0,
        width: 1.5,
    }
}

fn draw(offscreen: &mut Offscreen, particles: &Particles) -> Image {
    let sheet = Sheet { size: [SIDE, SIDE], pixels_per_point: 1.0 };
    let rect = Rect::from_min_size(pos2(0.0, 0.0), vec2(SIDE, SIDE));
    offscreen
        .draw(
            sheet,
            |_| {},
            |ui| {
                let target = gpu::target(ui.ctx()).unwrap();
                ui.painter().add(particles.clone().shape(rect, target).unwrap());
            },
        )
        .unwrap()
}

fn n_steps(offscreen: &Offscreen) -> u64 {
    steps_made(&offscreen.render_state().renderer.read().callback_resources)
}

#[test]
fn particle_positions_do_not_depend_on_which_steps_are_drawn() {
    let Some(mut offscreen) = offscreen() else { return };
    let set = particles(1, van_der_pol(33), 500);
    let leapt = draw(&mut offscreen, &set);
    let after = n_steps(&offscreen);
    assert_eq!(after, u64::from(LIFE), "whoever comes anew is brought to the step in one go");
    let again = draw(&mut offscreen, &set);
    assert!(again == leapt && n_steps(&offscreen) == after, "to paint a step twice makes no step and the same picture");
    assert!(leapt.colours(64) >= 64, "streaks are to be seen");
    // the second set of particles is drawn at a few steps on the way, the third at a later step first
    let mut walked = particles(2, van_der_pol(33), 400);
    for step in [400, 401, 402, 410, 455] {
        walked.step = step;
        draw(&mut offscreen, &walked);
    }
    walked.step = 500;
    assert!(draw(&mut offscreen, &walked) == leapt, "walking and leaping to a step end apart");
    let mut back = particles(3, van_der_pol(33), 900);
    let late = draw(&mut offscreen, &back);
    back.step = 500;
    assert!(draw(&mut offscreen, &back) == leapt && late != leapt);
}

/// In a field that points right and down, few particles stay at the left edge and at the top.
#[test]
fn particles_follow_the_field() {
    let Some(mut offscreen) = offscreen() else { return };
    // a particle crosses a quarter of the square during its life
    let speed = 0.25 / (LIFE as f32 * 0.02);
    let wind = VectorField { rows: 2, cols: 2, data: vec![[speed, -speed]; 4] };
    let image = draw(&mut offscreen, &particles(1, wind, 300));
    let light = |inside: &dyn Fn(u32, u32) -> bool| -> u64 {
        let lit = |i: usize| u64::from(image.rgba[i * 4]);
        let at = |i: usize| (i as u32 % image.width, i as u32 / image.width);
        (0..(image.width * image.height) as usize).filter(|i| inside(at(*i).0, at(*i).1)).map(lit).sum()
    };
    let (left, middle) = (light(&|x, _| x < 16), light(&|x, _| (120..136).contains(&x)));
    assert!(left * 3 < middle, "{left} at the left edge, {middle} in the middle");
    let (top, middle) = (light(&|_, y| y < 16), light(&|_, y| (120..136).contains(&y)));
    assert!(top * 3 < middle, "{top} at the top, {middle} in the middle");
}

/// Here x relaxes to the middle a thousand times faster than the step length. The explicit midpoint rule is unstable
/// and moves all particles out of the square; the stiff method moves them onto the middle line.
#[test]
fn the_stiff_method_moves_particles_onto_the_zero_of_the_field() {
    let Some(mut offscreen) = offscreen() else { return };
    let n = 65;
    let data = (0..n * n).map(|i| [-5e4 * ((i % n) as f32 / (n - 1) as f32 - 0.5), 0.02]).collect();
    let field = VectorField { rows: n, cols: n, data };
    let lit = |image: &Image| -> [u64; 2] {
        let mut light = [0; 2];
        for (i, pixel) in image.rgba.chunks(4).enumerate() {
            let x = i as u32 % image.width;
            light[usize::from(!(96..160).contains(&x))] += u64::from(pixel[0]);
        }
        light
    };
    let stiff = Particles { stepping: Stepping::StiffAlongX { longest: 0.05 }, ..particles(1, field.clone(), 300) };
    let [middle, elsewhere] = lit(&draw(&mut offscreen, &stiff));
    assert!(middle > 3 * elsewhere && middle > 0, "{middle} in the middle, {elsewhere} elsewhere");
    let [lost, _] = lit(&draw(&mut offscreen, &particles(2, field, 300)));
    assert!(lost * 10 < middle, "{lost} by the midpoint rule");
    // when the number of drawn particles grows, the added ones must be at their correct positions at once
    let fewer = Particles { drawn: 64, key: 3, ..stiff.clone() };
    draw(&mut offscreen, &fewer);
    assert!(draw(&mut offscreen, &Particles { key: 3, ..stiff.clone() }) == draw(&mut offscreen, &stiff));
}

#[test]
fn a_new_field_is_shown_as_settled_where_that_is_wanted() {
    let Some(mut offscreen) = offscreen() else { return };
    let calm = VectorField { rows: 2, cols: 2, data: vec![[0.1, 0.1]; 4] };
    let mut p = particles(1, calm, 300);
    p.settled = true;
    draw(&mut offscreen, &p);
    (p.field, p.revision) = (Arc::new(van_der_pol(2)), 2);
    let changed = draw(&mut offscreen, &p);
    let mut fresh = particles(2, van_der_pol(2), 300);
    fresh.settled = true;
    assert!(changed == draw(&mut offscreen, &fresh));
}

/// Every frame moves all particles, also those that are not drawn. The test prints the time per frame.
#[test]
fn every_frame_moves_all_particles() {
    let Some(mut offscreen) = offscreen() else { return };
    let mut p = particles(1, van_der_pol(64), 1000);
    let stiff = Stepping::StiffAlongX { longest: 0.05 };
    let (plain, few, most) = (Stepping::Midpoint, 5_000, 50_000);
    let cases = [(0, false, plain), (0, true, plain), (COUNT / 5, true, plain), (COUNT, true, plain)];
    for (drawn, moving, stepping) in cases.into_iter().chain([(few, true, stiff), (most, true, stiff)]) {
        (p.drawn, p.stepping) = (drawn, stepping);
        draw(&mut offscreen, &p);
        let (begun, before) = (Instant::now(), n_steps(&offscreen));
        for _ in 0..3 {
            p.step += u64::from(moving);
            draw(&mut offscreen, &p);
        }
        let each = begun.elapsed().as_secs_f64() * 1000.0 / 3.0;
        println!("{}: {drawn} drawn, moving {moving}, {stepping:?}: {each:.1} ms a picture", offscreen.adapter());
        assert_eq!(n_steps(&offscreen) - before, if moving { 3 } else { 0 });
    }
}

#[test]
fn invalid_fields_and_targets_are_refused_with_a_reason() {
    let mut target = gpu::Target {
        format: eframe::wgpu::TextureFormat::Rgba8Unorm,
        max_texture: 64,
        compute: true,
        software: false,
    };
    let rect = Rect::from_min_size(pos2(0.0, 0.0), vec2(8.0, 8.0));
    let wrong = VectorField { rows: 1, cols: 4, data: vec![[0.0; 2]; 4] };
    let words = particles(1, wrong, 0).shape(rect, target).err().unwrap().to_string();
    assert!(words.contains("1 x 4"), "{words}");
    target.compute = false;
    assert_eq!(particles(1, van_der_pol(8), 0).shape(rect, target).err(), Some(ParticlesError::NoCompute));
}
