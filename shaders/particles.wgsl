// Particles carried by a vector field over the unit square: a compute pass moves them (midpoint
// rule, or a rule for fields that are stiff along x), a render pass draws each as a short streak. A particle lives `life` steps and is then born
// anew at a place that depends only on its number and its generation, so that where it is at a step
// does not depend on how often it was painted.

struct Flow {
    // Steps done and steps to be done.
    done: u32,
    wanted: u32,
    life: u32,
    count: u32,
    // Time of one step, in the field's own time.
    dt: f32,
    // Share of the way that a streak's end catches up in one step.
    catch_up: f32,
    // Longest way along x in a step of the stiff rule, in sides of the square; 0 for the midpoint rule.
    longest: f32,
    padding: f32,
}

@group(0) @binding(0) var<uniform> flow: Flow;
// Velocity in squares a unit of time; row 0 lies at y = 0.
@group(0) @binding(1) var field: texture_2d<f32>;
// Head and end of the streak, in the unit square.
@group(0) @binding(2) var<storage, read_write> particles: array<vec4<f32>>;

// pcg (Jarzynski and Olano 2020).
fn scrambled(v: u32) -> u32 {
    let state = v * 747796405u + 2891336453u;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return (word >> 22u) ^ word;
}

fn unit(v: u32) -> f32 {
    return f32(v >> 8u) / 16777216.0;
}

fn birthplace(particle: u32, generation: u32) -> vec2<f32> {
    let a = scrambled(particle ^ scrambled(generation));
    return vec2<f32>(unit(a), unit(scrambled(a)));
}

// NaN and infinities have all exponent bits set.
fn is_number(v: f32) -> bool {
    return (bitcast<u32>(v) & 0x7f800000u) != 0x7f800000u;
}

fn cell(at: vec2<i32>, last: vec2<i32>) -> vec2<f32> {
    let v = textureLoad(field, clamp(at, vec2<i32>(0), last), 0).rg;
    return select(vec2<f32>(0.0), v, is_number(v.x) && is_number(v.y));
}

// The field at a place, between its samples; samples lie on the edges of the square.
fn velocity(p: vec2<f32>) -> vec2<f32> {
    let last = vec2<i32>(textureDimensions(field)) - 1;
    let at = clamp(p, vec2<f32>(0.0), vec2<f32>(1.0)) * vec2<f32>(last);
    let corner = vec2<i32>(floor(at));
    let share = at - floor(at);
    let low = mix(cell(corner, last), cell(corner + vec2<i32>(1, 0), last), share.x);
    let high = mix(cell(corner + vec2<i32>(0, 1), last), cell(corner + vec2<i32>(1, 1), last), share.x);
    return mix(low, high, share.y);
}

// Parts of a step of the stiff rule.
const PARTS: u32 = 4u;

// A step that is exact for what is linear in x: x + t phi(t v') v with phi(z) = (e^z - 1) / z, where v' is dv/dx. One that
// would go further than allowed is cut short in both directions, so that the particle stays on its path.
fn stiff_step(start: vec2<f32>) -> vec2<f32> {
    let t = flow.dt / f32(PARTS);
    let most = flow.longest / f32(PARTS);
    let near = vec2<f32>(0.5 / (f32(textureDimensions(field).x) - 1.0), 0.0);
    var p = start;
    for (var part = 0u; part < PARTS; part++) {
        let v = velocity(p);
        let z = (velocity(p + near).x - velocity(p - near).x) / (2.0 * near.x) * t;
        let phi = select((exp(clamp(z, -30.0, 6.0)) - 1.0) / z, 1.0 + 0.5 * z, abs(z) < 1e-3);
        let way = vec2<f32>(v.x * phi, v.y) * t;
        p += way * min(1.0, most / max(abs(way.x), 1e-12));
    }
    return p;
}

fn inside(p: vec2<f32>) -> bool {
    return all(p >= vec2<f32>(0.0)) && all(p <= vec2<f32>(1.0));
}

@compute @workgroup_size(64)
fn advance(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if (i >= flow.count) {
        return;
    }
    let phase = scrambled(i) % flow.life;
    var head = particles[i].xy;
    var end = particles[i].zw;
    for (var step = flow.done + 1u; step <= flow.wanted; step++) {
        let turn = step + phase;
        if (turn % flow.life == 0u) {
            head = birthplace(i, turn / flow.life);
            end = head;
        } else if (inside(head)) {
            if (flow.longest > 0.0) {
                head = stiff_step(head);
            } else {
                let middle = head + velocity(head) * (0.5 * flow.dt);
                head += velocity(middle) * flow.dt;
            }
            end = mix(end, head, flow.catch_up);
        } else {
            // It has left: its streak draws in and is gone.
            end = mix(end, head, flow.catch_up);
        }
    }
    particles[i] = vec4<f32>(head, end);
}

struct Look {
    // Pixels of the target for one side of the square, along its x and its y.
    across: vec2<f32>,
    along: vec2<f32>,
    // Pixels from the viewport's corner to the square's (0, 0).
    origin: vec2<f32>,
    viewport: vec2<f32>,
    // sRGB and strength.
    colour: vec4<f32>,
    width: f32,
    step: u32,
    life: u32,
    srgb_target: u32,
}

@group(0) @binding(0) var<uniform> look: Look;

struct Corner {
    @builtin(position) position: vec4<f32>,
    @location(0) strength: f32,
}

fn pixels(p: vec2<f32>) -> vec2<f32> {
    return look.origin + look.across * p.x + look.along * p.y;
}

// A streak as a strip of four corners.
@vertex
fn vs_main(
    @builtin(vertex_index) corner: u32,
    @builtin(instance_index) particle: u32,
    @location(0) streak: vec4<f32>,
) -> Corner {
    let head = pixels(streak.xy);
    let end = pixels(streak.zw);
    let way = head - end;
    let far = length(way);
    let direction = select(vec2<f32>(1.0, 0.0), way / max(far, 1e-6), far > 1e-3);
    let side = vec2<f32>(-direction.y, direction.x) * (f32(corner >> 1u) * 2.0 - 1.0);
    let at_head = (corner & 1u) == 1u;
    var place = select(end - direction * 0.5, head + direction * 0.5, at_head) + side * (0.5 * look.width);
    let age = f32((look.step + scrambled(particle) % look.life) % look.life) / f32(look.life);
    let fade = min(age * 6.0, 1.0) * min((1.0 - age) * 6.0, 1.0);
    var out: Corner;
    // What has left the square is not drawn.
    if (!inside(streak.xy) || !is_number(streak.x + streak.y + streak.z + streak.w)) {
        place = vec2<f32>(-10.0);
    }
    let ndc = place / look.viewport * 2.0 - 1.0;
    out.position = vec4<f32>(ndc.x, -ndc.y, 0.0, 1.0);
    // Where hardly anything moves there is little to be seen.
    let moving = clamp(far / (4.0 * look.width), 0.2, 1.0);
    out.strength = select(0.0, fade * moving, at_head);
    return out;
}

fn linear_of(c: vec3<f32>) -> vec3<f32> {
    let low = c / 12.92;
    let high = pow((c + 0.055) / 1.055, vec3<f32>(2.4));
    return select(high, low, c <= vec3<f32>(0.04045));
}

@fragment
fn fs_main(in: Corner) -> @location(0) vec4<f32> {
    var colour = look.colour.rgb;
    if (look.srgb_target == 1u) {
        colour = linear_of(colour);
    }
    let alpha = look.colour.a * in.strength;
    return vec4<f32>(colour * alpha, alpha);
}
