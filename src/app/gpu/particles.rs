//! Particles carried by a vector field, by `shaders/particles.wgsl`: a compute pass moves them, a render pass draws
//! streaks. Their positions depend on the step alone, so that painting a step twice moves nothing.

use std::{collections::HashMap, sync::Arc};

use bytemuck::{Pod, Zeroable};
use eframe::{
    egui::{PaintCallbackInfo, Rect, Shape},
    egui_wgpu::{CallbackResources, CallbackTrait, ScreenDescriptor, wgpu},
};

use super::{
    Target,
    colour::opaque,
    paint_callback,
    resources::{
        DrawPipeline, bind, buffer, buffer_entry, compute_pipeline, data_texture, group_layout, shader, texture_entry,
        uniform_entry, upload, view_of,
    },
};

/// The number of particles that are moved; the picture chooses how many of them are drawn.
pub const COUNT: u32 = 32_768;
/// Particles of a stiff field ([`Stepping::StiffAlongX`]); only those that are drawn are moved.
pub const MAX_STIFF: u32 = 65_536;
/// Steps that a particle lives.
pub const LIFE: u32 = 96;
/// Share of the way that a streak's end catches up in a step: streaks are about 1/CATCH_UP steps long.
const CATCH_UP: f32 = 0.09;
const WORKGROUP_SIZE: u32 = 64;

/// The method that moves a particle in a step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Stepping {
    /// The explicit midpoint rule.
    #[default]
    Midpoint,
    /// Exactly for what is linear in x (the exponential Rosenbrock-Euler rule), so that a field that is stiff along x
    /// carries particles onto its zero and not past it. A step goes at most `longest` of a side along x: a particle that
    /// would be faster stays on its path and takes more steps. Only what is drawn is moved.
    StiffAlongX { longest: f32 },
}

impl Stepping {
    /// The longest move as the shader takes it; 0 stands for the midpoint rule.
    fn longest(self) -> f32 {
        match self {
            Stepping::Midpoint => 0.0,
            Stepping::StiffAlongX { longest } => longest.max(1e-6),
        }
    }
}

/// A vector field over the unit square: `data.len() == rows * cols`, row 0 at y = 0, samples on the edges; velocities
/// in sides of the square a unit of time. A particle does not move where the field is not finite.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VectorField {
    pub rows: usize,
    pub cols: usize,
    pub data: Vec<[f32; 2]>,
}

#[derive(Debug, Clone)]
pub struct Particles {
    /// The identity of the field: each has particles of its own.
    pub key: u64,
    /// Grows when the field changes.
    pub revision: u64,
    pub field: Arc<VectorField>,
    /// The step to show, counted from any origin.
    pub step: u64,
    /// A new field is shown as if it had always been there: for pictures that stand still.
    pub settled: bool,
    /// Time of a step, in the field's units of time.
    pub dt: f32,
    pub stepping: Stepping,
    /// The number of particles drawn, at most [`COUNT`], or [`MAX_STIFF`] of a stiff field.
    pub drawn: u32,
    /// Points for one side of the square: along its x and along its y.
    pub across: [f32; 2],
    pub along: [f32; 2],
    /// Points from the painted rectangle's corner to the square's (0, 0).
    pub origin: [f32; 2],
    /// sRGB, and strength of the densest part of a streak.
    pub colour: [u8; 3],
    pub strength: f32,
    /// Width of a streak in points.
    pub width: f32,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ParticlesError {
    #[error("a field of {rows} x {cols} samples; it takes 2 to {max} on a side")]
    Size { rows: usize, cols: usize, max: u32 },
    #[error("the graphics adapter runs no compute shaders, so there are no particles")]
    NoCompute,
}

impl Particles {
    /// The number of particles that are moved.
    fn moved(&self) -> u32 {
        match self.stepping {
            Stepping::Midpoint => COUNT,
            Stepping::StiffAlongX { .. } => self.drawn.min(MAX_STIFF),
        }
    }

    pub fn shape(self, rect: Rect, target: Target) -> Result<Shape, ParticlesError> {
        let VectorField { rows, cols, data } = &*self.field;
        let fits = |n: usize| (2..=target.max_texture as usize).contains(&n);
        if !fits(*rows) || !fits(*cols) || data.len() != rows * cols {
            return Err(ParticlesError::Size { rows: *rows, cols: *cols, max: target.max_texture });
        }
        if !target.compute {
            return Err(ParticlesError::NoCompute);
        }
        let Self { key, revision, field, step, settled, dt, stepping, drawn, across, along, origin, .. } = &self;
        let motion = (key, revision, Arc::as_ptr(field), step, settled, dt, stepping, drawn);
        let look = (across, along, origin, self.colour, self.strength, self.width, target);
        let drawn = format!("particles {motion:?} {look:?}");
        Ok(paint_callback(rect, &drawn, ParticlesCallback { particles: self, rect, target }).into())
    }
}

/// The parameters of the compute pass, with the layout of the shader's struct of the same fields.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Pod, Zeroable)]
struct MotionUniform {
    done: u32,
    wanted: u32,
    life: u32,
    count: u32,
    dt: f32,
    catch_up: f32,
    longest: f32,
    padding: f32,
}

/// The parameters of the render pass, with the layout of the shader's struct of the same fields.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Pod, Zeroable)]
struct StreakUniform {
    across: [f32; 2],
    along: [f32; 2],
    origin: [f32; 2],
    viewport: [f32; 2],
    colour: [f32; 4],
    width: f32,
    step: u32,
    life: u32,
    srgb_target: u32,
}

struct ParticlesCallback {
    particles: Particles,
    rect: Rect,
    target: Target,
}

impl ParticlesCallback {
    fn streak_uniform(&self, pixels_per_point: f32) -> StreakUniform {
        let p = &self.particles;
        let [r, g, b, _] = opaque(p.colour);
        let scaled = |v: [f32; 2]| v.map(|v| v * pixels_per_point);
        StreakUniform {
            across: scaled(p.across),
            along: scaled(p.along),
            origin: scaled(p.origin),
            viewport: scaled([self.rect.width().max(1.0), self.rect.height().max(1.0)]),
            colour: [r, g, b, p.strength],
            width: (p.width * pixels_per_point).max(1.0),
            step: shader_step(p.step),
            life: LIFE,
            srgb_target: self.target.format.is_srgb().into(),
        }
    }
}

/// The shader counts from [`LIFE`], so that a particle always has a whole life of steps before it.
fn shader_step(step: u64) -> u32 {
    LIFE + (step % (1 << 30)) as u32
}

/// The range of steps, as (from, to), that leads from the step `done` to the step `wanted`; `None` if they are equal. No
/// particle lives longer than [`LIFE`] steps, so that [`LIFE`] steps suffice from any start.
fn steps_to_make(done: Option<u32>, wanted: u32) -> Option<(u32, u32)> {
    match done {
        Some(done) if done == wanted => None,
        Some(done) if done < wanted && wanted - done < LIFE => Some((done, wanted)),
        _ => Some((wanted - LIFE, wanted)),
    }
}

/// The resources of one set of particles on the device.
struct ParticlesEntry {
    revision: u64,
    /// The step that the particles have reached; `None` if they must be computed anew.
    done: Option<u32>,
    /// The number of particles that have been moved to that step.
    moved: u32,
    field: wgpu::Texture,
    particles: wgpu::Buffer,
    flow: wgpu::Buffer,
    look: wgpu::Buffer,
    move_group: wgpu::BindGroup,
    drawing: wgpu::BindGroup,
    used: u64,
}

struct ParticlesPipelines {
    advance: wgpu::ComputePipeline,
    draw: wgpu::RenderPipeline,
    moving: wgpu::BindGroupLayout,
    drawing: wgpu::BindGroupLayout,
    entries: HashMap<u64, ParticlesEntry>,
    turn: u64,
    /// Steps that were made so far; a test holds it.
    steps: u64,
}

/// Particles not painted for this many paints of any are forgotten.
const KEPT_TURNS: u64 = 1024;

pub fn steps_made(resources: &CallbackResources) -> u64 {
    resources.get::<ParticlesPipelines>().map_or(0, |p| p.steps)
}

impl CallbackTrait for ParticlesCallback {
    fn prepare(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        screen: &ScreenDescriptor,
        encoder: &mut wgpu::CommandEncoder,
        resources: &mut CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        let pipelines = resources
            .entry::<ParticlesPipelines>()
            .or_insert_with(|| ParticlesPipelines::new(device, self.target.format));
        pipelines.update(device, queue, encoder, self, screen.pixels_per_point);
        vec![]
    }

    fn paint(&self, _info: PaintCallbackInfo, pass: &mut wgpu::RenderPass<'static>, resources: &CallbackResources) {
        let Some(pipelines) = resources.get::<ParticlesPipelines>() else { return };
        let Some(entry) = pipelines.entries.get(&self.particles.key) else { return };
        pass.set_pipeline(&pipelines.draw);
        pass.set_bind_group(0, &entry.drawing, &[]);
        pass.set_vertex_buffer(0, entry.particles.slice(..));
        pass.draw(0..4, 0..self.particles.drawn.min(self.particles.moved()));
    }
}

impl ParticlesPipelines {
    fn new(device: &wgpu::Device, format: wgpu::TextureFormat) -> Self {
        let module = shader(device, "particles", include_str!("../../../shaders/particles.wgsl"));
        let (compute, written) = (wgpu::ShaderStages::COMPUTE, wgpu::BufferBindingType::Storage { read_only: false });
        let moving = [
            uniform_entry(0, compute, size_of::<MotionUniform>()),
            texture_entry(1, compute),
            buffer_entry(2, compute, written, 16),
        ];
        let moving = group_layout(device, "particles, moving", &moving);
        let look = uniform_entry(0, wgpu::ShaderStages::VERTEX_FRAGMENT, size_of::<StreakUniform>());
        let drawing = group_layout(device, "particles, drawing", &[look]);
        let advance = compute_pipeline(device, &module, "advance", &moving);
        let draw = DrawPipeline {
            label: "particles, drawing",
            module: &module,
            entry_points: ["vs_main", "fs_main"],
            group_layouts: &[Some(&drawing)],
            instance: Some((wgpu::vertex_attr_array![0 => Float32x4].as_slice(), 16)),
            topology: wgpu::PrimitiveTopology::TriangleStrip,
            format,
            blend: Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
        }
        .make(device);
        Self { advance, draw, moving, drawing, entries: HashMap::new(), turn: 0, steps: 0 }
    }

    fn new_entry(&self, device: &wgpu::Device, size: (u32, u32)) -> ParticlesEntry {
        let field = data_texture(device, "particles", size.into(), wgpu::TextureFormat::Rg32Float);
        let buffer = |size: usize, usage| buffer(device, "particles", size as u64, usage);
        let particles = buffer(MAX_STIFF as usize * 16, wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::VERTEX);
        let flow = buffer(size_of::<MotionUniform>(), wgpu::BufferUsages::UNIFORM);
        let look = buffer(size_of::<StreakUniform>(), wgpu::BufferUsages::UNIFORM);
        let view = view_of(&field);
        let moved =
            [flow.as_entire_binding(), wgpu::BindingResource::TextureView(&view), particles.as_entire_binding()];
        let move_group = bind(device, "particles, moving", &self.moving, moved);
        let drawing = bind(device, "particles, drawing", &self.drawing, [look.as_entire_binding()]);
        ParticlesEntry {
            revision: 0,
            done: None,
            moved: 0,
            field,
            particles,
            flow,
            look,
            move_group,
            drawing,
            used: self.turn,
        }
    }

    /// Brings the device up to date with particles about to be painted.
    fn update(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        paint: &ParticlesCallback,
        pixels_per_point: f32,
    ) {
        self.turn += 1;
        let (wanted, turn) = (&paint.particles, self.turn);
        let size = (wanted.field.cols as u32, wanted.field.rows as u32);
        let fits = self.entries.get(&wanted.key).is_some_and(|e| (e.field.width(), e.field.height()) == size);
        if !fits {
            let entry = self.new_entry(device, size);
            self.entries.insert(wanted.key, entry);
            self.entries.retain(|key, e| *key == wanted.key || turn - e.used < KEPT_TURNS);
        }
        let Some(entry) = self.entries.get_mut(&wanted.key) else { return };
        entry.used = turn;
        if !fits || entry.revision != wanted.revision {
            upload(queue, &entry.field, &wanted.field.data);
            entry.revision = wanted.revision;
            if wanted.settled {
                entry.done = None;
            }
        }
        queue.write_buffer(&entry.look, 0, bytemuck::bytes_of(&paint.streak_uniform(pixels_per_point)));
        let count = wanted.moved();
        if count > entry.moved {
            entry.done = None;
        }
        let Some((done, to)) = steps_to_make(entry.done, shader_step(wanted.step)) else { return };
        let longest = wanted.stepping.longest();
        let flow = MotionUniform {
            done,
            wanted: to,
            life: LIFE,
            count,
            dt: wanted.dt,
            catch_up: CATCH_UP,
            longest,
            padding: 0.0,
        };
        queue.write_buffer(&entry.flow, 0, bytemuck::bytes_of(&flow));
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.advance);
        pass.set_bind_group(0, &entry.move_group, &[]);
        pass.dispatch_workgroups(count.div_ceil(WORKGROUP_SIZE), 1, 1);
        (entry.done, entry.moved) = (Some(to), count);
        self.steps += u64::from(to - done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_painted_twice_is_made_once() {
        assert_eq!(steps_to_make(Some(100), 100), None);
        assert_eq!(steps_to_make(Some(100), 103), Some((100, 103)));
        for anew in [None, Some(300), Some(1)] {
            assert_eq!(steps_to_make(anew, 200), Some((200 - LIFE, 200)), "from {anew:?}: every one is born within");
        }
        assert!(steps_to_make(None, shader_step(0)).is_some());
    }
}
