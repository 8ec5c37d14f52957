// One step of a force-directed layout: repulsion between all nodes (all pairs in tiles, or a pyramid
// of cells), springs, gravity, and a step no longer than the temperature. The forces are those of
// ForceAtlas2 (Jacomy et al. 2014) with springs that can be loosened towards LinLog (Noack 2007).
// Cells are summed in whole numbers, so that a step comes out the same whatever order threads run in.

struct ForceUniform {
    count: u32,
    // Cells on a side of the finest grid: 2 to this power. 0: all pairs.
    levels: u32,
    // Parts that a cell's side is divided into.
    parts: f32,
    // Mass of one unit of a cell's sum.
    quantum: f32,
    repulsion: f32,
    gravity: f32,
    reach: f32,
    softening: f32,
    damping: f32,
    padding: vec3<f32>,
}

struct Turn {
    temperature: f32,
    loose: f32,
    // Which of the two boxes holds the places before the step: 0 or 4.
    box_now: u32,
    // For `sum_up`: the level that is summed.
    level: u32,
}

struct Node {
    mass: f32,
    // Its springs: from, to.
    first: u32,
    end: u32,
    // 1: it stays.
    held: u32,
}

struct Spring {
    to: u32,
    strength: f32,
}

@group(0) @binding(0) var<uniform> forces: ForceUniform;
@group(0) @binding(1) var<uniform> turn: Turn;
@group(0) @binding(2) var<storage, read> nodes: array<Node>;
@group(0) @binding(3) var<storage, read> springs: array<Spring>;
@group(0) @binding(4) var<storage, read> before: array<vec2<f32>>;
@group(0) @binding(5) var<storage, read_write> after: array<vec2<f32>>;
// Two boxes, each: max x, max y, max -x, max -y, as numbers that keep their order.
@group(0) @binding(6) var<storage, read_write> boxes: array<atomic<u32>, 8>;
// Of each finest cell: units of mass, and their places within the cell summed.
@group(0) @binding(7) var<storage, read_write> sums: array<atomic<u32>>;
// Centre of mass and mass of each cell, coarsest level first.
@group(0) @binding(8) var<storage, read_write> cells: array<vec4<f32>>;

const COARSEST: u32 = 2u;
const TILE: u32 = 64u;

var<workgroup> tile: array<vec4<f32>, TILE>;
var<workgroup> corner: array<vec4<f32>, TILE>;

// f32 as u32 in the same order, and back.
fn ordered(v: f32) -> u32 {
    let bits = bitcast<u32>(v);
    return bits ^ select(0x80000000u, 0xffffffffu, (bits >> 31u) == 1u);
}

fn from_ordered(u: u32) -> f32 {
    return bitcast<f32>(u ^ select(0xffffffffu, 0x80000000u, (u >> 31u) == 1u));
}

// NaN and infinities have all exponent bits set.
fn is_number(v: f32) -> bool {
    return (bitcast<u32>(v) & 0x7f800000u) != 0x7f800000u;
}

// min x, min y, max x, max y
fn box_at(which: u32) -> vec4<f32> {
    let high = vec2<f32>(from_ordered(atomicLoad(&boxes[which])), from_ordered(atomicLoad(&boxes[which + 1u])));
    let low = vec2<f32>(from_ordered(atomicLoad(&boxes[which + 2u])), from_ordered(atomicLoad(&boxes[which + 3u])));
    return vec4<f32>(-low, high);
}

// Corner of the square around all nodes, and the side of a finest cell.
fn square() -> vec3<f32> {
    let b = box_at(turn.box_now);
    let extent = max(max(b.z - b.x, b.w - b.y), 1e-3);
    return vec3<f32>(b.xy, extent / f32(1u << forces.levels));
}

fn home(p: vec2<f32>, sq: vec3<f32>) -> vec2<u32> {
    let at = max((p - sq.xy) / sq.z, vec2<f32>(0.0));
    return min(vec2<u32>(at), vec2<u32>((1u << forces.levels) - 1u));
}

fn first_cell(level: u32) -> u32 {
    return ((1u << (2u * level)) - (1u << (2u * COARSEST))) / 3u;
}

// The box of the next step is empty.
@compute @workgroup_size(4)
fn clear_box(@builtin(local_invocation_index) k: u32) {
    atomicStore(&boxes[(4u - turn.box_now) + k], 0u);
}

// Each node adds itself to its cell.
@compute @workgroup_size(64)
fn gather(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= forces.count) {
        return;
    }
    let sq = square();
    let p = before[i];
    let cell = home(p, sq);
    let inside = clamp((p - sq.xy) / sq.z - vec2<f32>(cell), vec2<f32>(0.0), vec2<f32>(1.0));
    let units = u32(nodes[i].mass / forces.quantum + 0.5);
    let c = 3u * (cell.y * (1u << forces.levels) + cell.x);
    atomicAdd(&sums[c], units);
    atomicAdd(&sums[c + 1u], units * u32(inside.x * forces.parts));
    atomicAdd(&sums[c + 2u], units * u32(inside.y * forces.parts));
}

// The finest cells from their sums, which are emptied for the next step.
@compute @workgroup_size(64)
fn weigh(@builtin(global_invocation_id) id: vec3<u32>) {
    let side = 1u << forces.levels;
    let c = id.x;
    if (c >= side * side) {
        return;
    }
    let units = atomicLoad(&sums[3u * c]);
    var cell = vec4<f32>(0.0);
    if (units > 0u) {
        let sq = square();
        let inside = vec2<f32>(f32(atomicLoad(&sums[3u * c + 1u])), f32(atomicLoad(&sums[3u * c + 2u])));
        let place = vec2<f32>(f32(c % side), f32(c / side)) + inside / (f32(units) * forces.parts);
        cell = vec4<f32>(sq.xy + sq.z * place, f32(units) * forces.quantum, 0.0);
        atomicStore(&sums[3u * c], 0u);
        atomicStore(&sums[3u * c + 1u], 0u);
        atomicStore(&sums[3u * c + 2u], 0u);
    }
    cells[first_cell(forces.levels) + c] = cell;
}

// The cells of a level from the four below each.
@compute @workgroup_size(64)
fn sum_up(@builtin(global_invocation_id) id: vec3<u32>) {
    let side = 1u << turn.level;
    let c = id.x;
    if (c >= side * side) {
        return;
    }
    let below = first_cell(turn.level + 1u) + (c / side) * 4u * side + (c % side) * 2u;
    var sum = vec3<f32>(0.0);
    for (var k = 0u; k < 4u; k++) {
        let child = cells[below + (k >> 1u) * 2u * side + (k & 1u)];
        sum += vec3<f32>(child.xy * child.z, child.z);
    }
    let weight = select(0.0, 1.0 / sum.z, sum.z > 0.0);
    cells[first_cell(turn.level) + c] = vec4<f32>(sum.xy * weight, sum.z, 0.0);
}

fn push(from_there: vec2<f32>, mass: f32) -> vec2<f32> {
    return from_there * (mass / (dot(from_there, from_there) + forces.softening));
}

// Springs and gravity join the push of the others, and the node goes its step.
fn moved(i: u32, p: vec2<f32>, pushed: vec2<f32>) -> vec2<f32> {
    let node = nodes[i];
    if (node.held == 1u) {
        return p;
    }
    let pull = forces.gravity * node.mass;
    var force = forces.repulsion * node.mass * pushed - pull * p;
    var stiffness = pull;
    for (var s = node.first; s < node.end; s++) {
        let spring = springs[s];
        let way = before[spring.to] - p;
        let k = spring.strength / (1.0 + turn.loose * length(way) / forces.reach);
        force += k * way;
        stiffness += k;
    }
    let by = forces.damping * force / stiffness;
    let share = min(turn.temperature / max(length(by), 1e-12), 1.0);
    let to = p + by * share;
    return select(p, to, is_number(to.x) && is_number(to.y));
}

// Writes the place, and widens the next step's box by it: each workgroup once.
fn settle(i: u32, lane: u32, to: vec2<f32>) {
    let alive = i < forces.count;
    if (alive) {
        after[i] = to;
    }
    corner[lane] = select(vec4<f32>(-3e38), vec4<f32>(to, -to), alive);
    workgroupBarrier();
    for (var half = TILE / 2u; half > 0u; half /= 2u) {
        if (lane < half) {
            corner[lane] = max(corner[lane], corner[lane + half]);
        }
        workgroupBarrier();
    }
    if (lane < 4u) {
        atomicMax(&boxes[(4u - turn.box_now) + lane], ordered(corner[0][lane]));
    }
}

// All pairs, a tile of nodes at a time.
@compute @workgroup_size(64)
fn step_exact(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = id.x;
    let p = before[min(i, forces.count - 1u)];
    var pushed = vec2<f32>(0.0);
    for (var from_node = 0u; from_node < forces.count; from_node += TILE) {
        let j = from_node + lane;
        var other = vec4<f32>(0.0);
        if (j < forces.count) {
            other = vec4<f32>(before[j], nodes[j].mass, 0.0);
        }
        tile[lane] = other;
        workgroupBarrier();
        for (var k = 0u; k < TILE; k++) {
            pushed += push(p - tile[k].xy, tile[k].z);
        }
        workgroupBarrier();
    }
    settle(i, lane, moved(min(i, forces.count - 1u), p, pushed));
}

// Near cells one by one, far ones by ever larger ones.
@compute @workgroup_size(64)
fn step_grid(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = min(id.x, forces.count - 1u);
    let p = before[i];
    let finest = vec2<i32>(home(p, square()));
    var pushed = vec2<f32>(0.0);
    for (var level = COARSEST; level <= forces.levels; level++) {
        let side = 1i << level;
        let here = finest >> vec2<u32>(forces.levels - level);
        let low = max((here >> vec2<u32>(1u)) * 2 - 2, vec2<i32>(0));
        let high = min((here >> vec2<u32>(1u)) * 2 + 4, vec2<i32>(side));
        let at = first_cell(level);
        for (var y = low.y; y < high.y; y++) {
            for (var x = low.x; x < high.x; x++) {
                var cell = cells[at + u32(y * side + x)];
                let off = abs(vec2<i32>(x, y) - here);
                if (max(off.x, off.y) <= 1) {
                    if (level < forces.levels) {
                        continue;
                    }
                    if (off.x + off.y == 0) {
                        let mass = nodes[i].mass;
                        let left = cell.z - mass;
                        let others = vec4<f32>((cell.xy * cell.z - p * mass) / left, left, 0.0);
                        cell = select(vec4<f32>(p, 0.0, 0.0), others, left >= 0.5 * forces.quantum);
                    }
                }
                pushed += push(p - cell.xy, cell.z);
            }
        }
    }
    settle(id.x, lane, moved(i, p, pushed));
}

// The corners of the box around all nodes follow the last node; the code that draws reads them.
@compute @workgroup_size(1)
fn write_bounds() {
    let b = box_at(turn.box_now);
    after[forces.count] = b.xy;
    after[forces.count + 1u] = b.zw;
}
