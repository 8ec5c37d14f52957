// A matrix as colours: one texel a cell, nearest sampling when cells are large, an average of up to
// 4 x 4 cells when several fall on one pixel. Cells without a value take the colour `missing`; those
// whose value is not a finite number are hatched on it.

struct Style {
    // Left, top, right, bottom of the shown window, in cells.
    window: vec4<f32>,
    // Columns and rows.
    size: vec2<f32>,
    // Values that take the first and the last colour (their logarithms when log_scale is 1).
    range: vec2<f32>,
    missing: vec4<f32>,
    // The colour of the hatching.
    not_finite: vec4<f32>,
    // Row of the stack of colour tables.
    map: u32,
    log_scale: u32,
    // 1 where the target itself turns linear light into sRGB.
    srgb_target: u32,
    padding: u32,
}

@group(0) @binding(0) var<uniform> style: Style;
@group(0) @binding(1) var cells: texture_2d<f32>;
@group(0) @binding(2) var tables: texture_2d<f32>;

struct Corner {
    @builtin(position) position: vec4<f32>,
    @location(0) cell: vec2<f32>,
}

// One triangle that covers the viewport.
@vertex
fn vs_main(@builtin(vertex_index) index: u32) -> Corner {
    let uv = vec2<f32>(f32((index << 1u) & 2u), f32(index & 2u));
    var out: Corner;
    out.position = vec4<f32>(uv.x * 2.0 - 1.0, 1.0 - uv.y * 2.0, 0.0, 1.0);
    out.cell = mix(style.window.xy, style.window.zw, uv);
    return out;
}

// NaN and infinities have all exponent bits set. (A comparison with itself may be optimised away.)
fn is_number(v: f32) -> bool {
    return (bitcast<u32>(v) & 0x7f800000u) != 0x7f800000u;
}

fn is_infinite(v: f32) -> bool {
    return (bitcast<u32>(v) & 0x7fffffffu) == 0x7f800000u;
}

// The distance of the stripes of the hatching, pixels.
const STRIPES: f32 = 8.0;

fn linear_of(c: vec3<f32>) -> vec3<f32> {
    let low = c / 12.92;
    let high = pow((c + 0.055) / 1.055, vec3<f32>(2.4));
    return select(high, low, c <= vec3<f32>(0.04045));
}

@fragment
fn fs_main(in: Corner) -> @location(0) vec4<f32> {
    // Cells on one pixel; taken before any branch, as derivatives must be.
    let footprint = max(abs(dpdx(in.cell)), abs(dpdy(in.cell)));
    if (any(in.cell < vec2<f32>(0.0)) || any(in.cell >= style.size)) {
        discard;
    }
    let taps = vec2<i32>(clamp(ceil(footprint - 0.5), vec2<f32>(1.0), vec2<f32>(4.0)));
    let last = vec2<i32>(style.size) - 1;
    var sum = 0.0;
    var count = 0.0;
    var has_infinite = false;
    for (var j = 0; j < taps.y; j++) {
        for (var i = 0; i < taps.x; i++) {
            let share = (vec2<f32>(f32(i), f32(j)) + 0.5) / vec2<f32>(taps) - 0.5;
            let reach = select(vec2<f32>(0.0), share * footprint, taps > vec2<i32>(1));
            let at = clamp(vec2<i32>(floor(in.cell + reach)), vec2<i32>(0), last);
            let v = textureLoad(cells, at, 0).r;
            if (is_number(v) && (style.log_scale == 0u || v >= 0.0)) {
                sum += v;
                count += 1.0;
            }
            has_infinite = has_infinite || is_infinite(v);
        }
    }
    var colour = style.missing.rgb;
    if (count > 0.0) {
        var v = sum / count;
        if (style.log_scale == 1u) {
            v = log(max(v, 1e-37));
        }
        let t = clamp((v - style.range.x) / (style.range.y - style.range.x), 0.0, 1.0);
        colour = textureLoad(tables, vec2<i32>(i32(round(t * 255.0)), i32(style.map)), 0).rgb;
    }
    if (has_infinite) {
        // A cell smaller than the stripes are apart is filled, so that a single one is seen.
        let is_small = any(footprint > vec2<f32>(1.0 / STRIPES));
        let is_stripe = fract((in.position.x + in.position.y) / STRIPES) < 0.5;
        colour = select(style.missing.rgb, style.not_finite.rgb, is_small || is_stripe);
    }
    if (style.srgb_target == 1u) {
        colour = linear_of(colour);
    }
    return vec4<f32>(colour, 1.0);
}
