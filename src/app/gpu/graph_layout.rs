//! A graph's layout on the device, by `shaders/graph_layout.wgsl`: buffers, and compute passes for a step of forces.

use bytemuck::{Pod, Zeroable};
use eframe::egui_wgpu::wgpu;

use super::resources::{bind, buffer, buffer_entry, compute_pipeline, group_layout, shader, uniform_entry};

const WORKGROUP_SIZE: u32 = 64;
/// The largest number of nodes that one dispatch reaches on every device.
const MAX_NODES: usize = 65_535 * WORKGROUP_SIZE as usize;
/// Dynamic offsets are multiples of this on every device.
const UNIFORM_STRIDE: u64 = 256;
/// Steps that one call can make; more are made by further calls.
pub const MAX_STEPS: usize = 512;
/// Places are padded to rows of this many, so that they can be copied into a texture.
pub const ROW: u32 = 256;

/// A node for the forces. `first..end` are its springs.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
pub struct Node {
    pub mass: f32,
    pub first: u32,
    pub end: u32,
    /// 1 if the node is pinned at its position.
    pub held: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
pub struct Spring {
    pub to: u32,
    pub strength: f32,
}

/// Strengths of the forces, and how repulsion is summed; as in the shader.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
pub struct ForceUniform {
    pub count: u32,
    /// Cells on a side of the finest grid: 2 to this power, 2 to 10; 0 for all pairs.
    pub levels: u32,
    /// Parts that a cell's side is divided into.
    pub parts: f32,
    /// The mass that a 1 in a cell's integer sum stands for.
    pub quantum: f32,
    pub repulsion: f32,
    pub gravity: f32,
    pub reach: f32,
    pub softening: f32,
    pub damping: f32,
    /// Padding up to the shader's next field.
    pub padding: [f32; 7],
}

/// The parameters that change from step to step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepParams {
    pub temperature: f32,
    pub loose: f32,
}

/// The layout must equal the struct of the same fields in the shader.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct StepUniform {
    temperature: f32,
    loose: f32,
    /// The place of the first value of the bounding box that the step reads.
    box_now: u32,
    level: u32,
}

impl StepUniform {
    /// Padded with zeros to the distance at which a uniform may lie behind another.
    fn row(&self) -> [u8; UNIFORM_STRIDE as usize] {
        let mut row = [0; UNIFORM_STRIDE as usize];
        row[..size_of::<Self>()].copy_from_slice(bytemuck::bytes_of(self));
        row
    }
}

/// The compute pipelines of every pass of a step, and how their buffers are bound.
pub struct Kernels {
    layout: wgpu::BindGroupLayout,
    clear_box: wgpu::ComputePipeline,
    gather: wgpu::ComputePipeline,
    weigh: wgpu::ComputePipeline,
    sum_up: wgpu::ComputePipeline,
    step_exact: wgpu::ComputePipeline,
    step_grid: wgpu::ComputePipeline,
    write_bounds: wgpu::ComputePipeline,
}

impl Kernels {
    pub fn new(device: &wgpu::Device) -> Self {
        let module = shader(device, "graph layout", include_str!("../../../shaders/graph_layout.wgsl"));
        let compute = wgpu::ShaderStages::COMPUTE;
        let forces = uniform_entry(0, compute, size_of::<ForceUniform>());
        // one row of the turns for each step, at an offset
        let mut turn = uniform_entry(1, compute, size_of::<StepUniform>());
        if let wgpu::BindingType::Buffer { has_dynamic_offset, .. } = &mut turn.ty {
            *has_dynamic_offset = true;
        }
        let entry = |binding, read_only, size| {
            buffer_entry(binding, compute, wgpu::BufferBindingType::Storage { read_only }, size)
        };
        let layout = [
            forces,
            turn,
            entry(2, true, 16),
            entry(3, true, 8),
            entry(4, true, 8),
            entry(5, false, 8),
            entry(6, false, 32),
            entry(7, false, 4),
            entry(8, false, 16),
        ];
        let layout = group_layout(device, "graph layout", &layout);
        let pipeline = |name: &str| compute_pipeline(device, &module, name, &layout);
        Self {
            clear_box: pipeline("clear_box"),
            gather: pipeline("gather"),
            weigh: pipeline("weigh"),
            sum_up: pipeline("sum_up"),
            step_exact: pipeline("step_exact"),
            step_grid: pipeline("step_grid"),
            write_bounds: pipeline("write_bounds"),
            layout,
        }
    }

    fn bind(&self, device: &wgpu::Device, resources: [wgpu::BindingResource<'_>; 9]) -> wgpu::BindGroup {
        bind(device, "graph layout", &self.layout, resources)
    }
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LayoutError {
    #[error("{nodes} nodes and {springs} springs are more than the adapter takes in one piece ({max} bytes)")]
    TooLarge { nodes: usize, springs: usize, max: u64 },
    #[error("the graph is inconsistent: {0}")]
    Inconsistent(&'static str),
}

pub struct GraphLayout {
    forces: ForceUniform,
    nodes: wgpu::Buffer,
    places: [wgpu::Buffer; 2],
    turns: wgpu::Buffer,
    /// Two bind groups: a step reads the first buffer of positions and writes the second, or the reverse.
    bind_groups: [wgpu::BindGroup; 2],
    /// Index of the current buffer of the two buffers of positions, and of the two bounding boxes.
    current: usize,
    steps: u64,
}

impl GraphLayout {
    /// Uploads a graph and its initial positions to the device. `forces.count` is taken from `nodes`.
    pub fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        kernels: &Kernels,
        nodes: &[Node],
        springs: &[Spring],
        start: &[[f32; 2]],
        forces: ForceUniform,
    ) -> Result<Self, LayoutError> {
        let forces = ForceUniform { count: nodes.len() as u32, ..forces };
        check_input(nodes, springs, start, &forces)?;
        let limits = device.limits();
        let max = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        let cells = if forces.levels > 0 { 1u64 << (2 * forces.levels) } else { 1 };
        // The levels above the finest have a third as many.
        let cell_bytes = (cells * 4 / 3 + 1) * 16;
        let sizes = [nodes.len() as u64 * 16, springs.len() as u64 * 8, cell_bytes];
        if sizes.iter().any(|s| *s > max) {
            return Err(LayoutError::TooLarge { nodes: nodes.len(), springs: springs.len(), max });
        }
        let storage = wgpu::BufferUsages::STORAGE;
        let make = |label, size, usage| buffer(device, label, size, usage);
        let padded = u64::from((forces.count + 2).next_multiple_of(ROW)) * 8;
        let node_buffer = make("graph, nodes", sizes[0], storage);
        let spring_buffer = make("graph, springs", sizes[1], storage);
        let places = ["graph, places", "graph, other places"]
            .map(|label| make(label, padded, storage | wgpu::BufferUsages::COPY_SRC));
        let boxes = make("graph, boxes", 32, storage);
        let sums = make("graph, sums", cells * 12, storage);
        let cell_buffer = make("graph, cells", cell_bytes, storage);
        let force_buffer = make("graph, forces", size_of::<ForceUniform>() as u64, wgpu::BufferUsages::UNIFORM);
        let turns = make("graph, turns", (MAX_STEPS as u64 + 1 + 16) * UNIFORM_STRIDE, wgpu::BufferUsages::UNIFORM);
        queue.write_buffer(&node_buffer, 0, bytemuck::cast_slice(nodes));
        queue.write_buffer(&spring_buffer, 0, bytemuck::cast_slice(springs));
        queue.write_buffer(&force_buffer, 0, bytemuck::bytes_of(&forces));
        let bind = |from: usize| {
            let turn = wgpu::BufferBinding {
                buffer: &turns,
                offset: 0,
                size: wgpu::BufferSize::new(size_of::<StepUniform>() as u64),
            };
            let resources = [
                force_buffer.as_entire_binding(),
                wgpu::BindingResource::Buffer(turn),
                node_buffer.as_entire_binding(),
                spring_buffer.as_entire_binding(),
                places[from].as_entire_binding(),
                places[1 - from].as_entire_binding(),
                boxes.as_entire_binding(),
                sums.as_entire_binding(),
                cell_buffer.as_entire_binding(),
            ];
            kernels.bind(device, resources)
        };
        let bound = [bind(0), bind(1)];
        let box_now = box_of(start);
        queue.write_buffer(&boxes, 0, bytemuck::cast_slice(&box_now.map(ordered)));
        let made = Self { forces, nodes: node_buffer, places, turns, bind_groups: bound, current: 0, steps: 0 };
        queue.write_buffer(&made.places[0], 0, bytemuck::cast_slice(start));
        queue.write_buffer(&made.places[0], u64::from(forces.count) * 8, bytemuck::cast_slice(&corners(box_now)));
        Ok(made)
    }

    /// Makes a step for each turn, at most [`MAX_STEPS`]; what is beyond is left out. One call for
    /// each submission: turns are written before the commands run.
    pub fn run(
        &mut self,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        kernels: &Kernels,
        turns: &[StepParams],
    ) {
        let turns = &turns[..turns.len().min(MAX_STEPS)];
        if turns.is_empty() {
            return;
        }
        let rows = turns.iter().enumerate().map(|(k, turn)| {
            let box_now = 4 * ((self.current + k) % 2) as u32;
            StepUniform { temperature: turn.temperature, loose: turn.loose, box_now, level: 0 }.row()
        });
        queue.write_buffer(&self.turns, LEVEL_ROWS * UNIFORM_STRIDE, rows.collect::<Vec<_>>().as_flattened());
        self.write_levels(queue, (self.current + turns.len()) % 2);
        let (groups, levels) = (self.forces.count.div_ceil(WORKGROUP_SIZE), self.forces.levels);
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        for k in 0..turns.len() {
            let bound = &self.bind_groups[self.current];
            let row = ((LEVEL_ROWS + k as u64) * UNIFORM_STRIDE) as u32;
            let mut dispatch = |pipeline: &wgpu::ComputePipeline, row: u32, groups: u32| {
                pass.set_pipeline(pipeline);
                pass.set_bind_group(0, bound, &[row]);
                pass.dispatch_workgroups(groups, 1, 1);
            };
            dispatch(&kernels.clear_box, row, 1);
            if levels > 0 {
                dispatch(&kernels.gather, row, groups);
                dispatch(&kernels.weigh, row, (1u32 << (2 * levels)).div_ceil(WORKGROUP_SIZE));
                for level in (2..levels).rev() {
                    let cells = 1u32 << (2 * level);
                    dispatch(&kernels.sum_up, level * UNIFORM_STRIDE as u32, cells.div_ceil(WORKGROUP_SIZE));
                }
                dispatch(&kernels.step_grid, row, groups);
            } else {
                dispatch(&kernels.step_exact, row, groups);
            }
            self.current = 1 - self.current;
        }
        // The bind group that writes the current positions also writes their bounding box.
        pass.set_pipeline(&kernels.write_bounds);
        pass.set_bind_group(0, &self.bind_groups[1 - self.current], &[0]);
        pass.dispatch_workgroups(1, 1, 1);
        self.steps += turns.len() as u64;
    }

    /// Row 0 names the box that is read back at the end, rows 2.. the levels that are summed.
    fn write_levels(&self, queue: &wgpu::Queue, last: usize) {
        let rows: [_; LEVEL_ROWS as usize] = std::array::from_fn(|level| {
            StepUniform { temperature: 0.0, loose: 0.0, box_now: 4 * last as u32, level: level as u32 }.row()
        });
        queue.write_buffer(&self.turns, 0, rows.as_flattened());
    }

    pub fn set_position(&self, queue: &wgpu::Queue, node: u32, place: [f32; 2]) {
        if node < self.forces.count && place[0].is_finite() && place[1].is_finite() {
            queue.write_buffer(&self.places[self.current], u64::from(node) * 8, bytemuck::bytes_of(&place));
        }
    }

    pub fn hold(&self, queue: &wgpu::Queue, node: u32, held: bool) {
        if node < self.forces.count {
            queue.write_buffer(&self.nodes, u64::from(node) * 16 + 12, bytemuck::bytes_of(&u32::from(held)));
        }
    }

    /// The current places, then the corners (min, max) of the box around all; whole rows of [`ROW`].
    pub fn places(&self) -> &wgpu::Buffer {
        &self.places[self.current]
    }

    pub fn count(&self) -> u32 {
        self.forces.count
    }

    pub fn steps(&self) -> u64 {
        self.steps
    }
}

/// The number of rows of `turns` that name grid levels; the rows of layout steps follow.
const LEVEL_ROWS: u64 = 16;

fn check_input(
    nodes: &[Node],
    springs: &[Spring],
    start: &[[f32; 2]],
    forces: &ForceUniform,
) -> Result<(), LayoutError> {
    let wrong = LayoutError::Inconsistent;
    if nodes.is_empty() || nodes.len() > MAX_NODES {
        return Err(wrong("a layout takes 1 to 4 million nodes"));
    }
    if start.len() != nodes.len() {
        return Err(wrong("each node needs one position"));
    }
    if forces.levels == 1 || forces.levels > 10 {
        return Err(wrong("the finest grid has 4 to 1024 cells on a side"));
    }
    let (n, s) = (nodes.len() as u32, springs.len() as u32);
    if nodes.iter().any(|node| node.first > node.end || node.end > s) {
        return Err(wrong("a node's springs are out of range"));
    }
    if springs.iter().any(|spring| spring.to >= n) { Err(wrong("a spring leads to no node")) } else { Ok(()) }
}

/// max x, max y, max -x, max -y.
pub(super) fn box_of(places: &[[f32; 2]]) -> [f32; 4] {
    let far = |b: [f32; 4], p: &[f32; 2]| [b[0].max(p[0]), b[1].max(p[1]), b[2].max(-p[0]), b[3].max(-p[1])];
    places.iter().fold([-3e38; 4], far)
}

/// The lower and the upper corner of a box.
pub(super) fn corners([right, bottom, left, top]: [f32; 4]) -> [[f32; 2]; 2] {
    [[-left, -top], [right, bottom]]
}

/// Maps floats to integers of the same order, like the function of this name in the shader.
fn ordered(v: f32) -> u32 {
    let bits = v.to_bits();
    bits ^ if bits >> 31 == 1 { u32::MAX } else { 1 << 31 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_order_as_bits() {
        let values = [-3e38f32, -2.0, -1e-9, 0.0, 1e-9, 2.0, 3e38];
        assert!(values.windows(2).all(|w| ordered(w[0]) < ordered(w[1])));
        assert!(ordered(-3e38) > 0, "zero is below all");
    }

    #[test]
    fn inconsistent_nodes_springs_and_positions_are_refused() {
        let forces = ForceUniform { levels: 0, ..ForceUniform::zeroed() };
        let node = Node { mass: 1.0, first: 0, end: 1, held: 0 };
        let spring = Spring { to: 0, strength: 1.0 };
        assert!(check_input(&[node], &[spring], &[[0.0; 2]], &forces).is_ok());
        assert!(check_input(&[node], &[], &[[0.0; 2]], &forces).is_err());
        assert!(check_input(&[node], &[Spring { to: 1, ..spring }], &[[0.0; 2]], &forces).is_err());
        assert!(check_input(&[], &[], &[], &forces).is_err());
        assert!(check_input(&[node], &[spring], &[], &forces).is_err());
    }
}
