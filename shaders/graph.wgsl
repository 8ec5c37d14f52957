// A graph as a picture: edges as one batch of thin quads, nodes as one batch of discs, both smooth at
// their rims, into a texture of their own; a last pass lays that texture onto the page. Where the
// nodes are comes from a texture, so that it does not matter who computed it.

struct Look {
    // Place in the middle of the picture; pixels for a unit of length; 0: everything is fitted in.
    centre: vec2<f32>,
    scale: f32,
    // Pixels that stay free at the rims when everything is fitted in.
    margin: f32,
    // Pixels.
    size: vec2<f32>,
    count: u32,
    columns: u32,
    // A node's number, or more than there are.
    selected: u32,
    padding: u32,
    // Factor on radii; strength and pixel width of edges; what is left of edges that are not of the
    // selected node; how much light rather than paint edges are; length from which they grow fainter.
    swell: f32,
    strength: f32,
    width: f32,
    dim: f32,
    glow: f32,
    fade: f32,
    // sRGB.
    ground: vec4<f32>,
    accent: vec4<f32>,
    negative: vec4<f32>,
    srgb_target: u32,
    pixel: f32,
    padding_after: vec2<f32>,
}

@group(0) @binding(0) var<uniform> look: Look;
@group(0) @binding(1) var places: texture_2d<f32>;
// Colour of each node, and how much it stands out.
@group(0) @binding(2) var colours: texture_2d<f32>;

fn texel(i: u32) -> vec2<i32> {
    return vec2<i32>(i32(i % look.columns), i32(i / look.columns));
}

fn place(i: u32) -> vec2<f32> {
    return textureLoad(places, texel(i), 0).xy;
}

// Place to pixels of the picture.
fn pixels(p: vec2<f32>) -> vec2<f32> {
    if (look.scale > 0.0) {
        return (p - look.centre) * look.scale + 0.5 * look.size;
    }
    let low = place(look.count);
    let high = place(look.count + 1u);
    let room = max(look.size - 2.0 * look.margin, vec2<f32>(1.0));
    let extent = max(high - low, vec2<f32>(1e-3));
    let scale = min(room.x / extent.x, room.y / extent.y);
    return (p - 0.5 * (low + high)) * scale + 0.5 * look.size;
}

fn clip(px: vec2<f32>) -> vec4<f32> {
    let ndc = px / look.size * 2.0 - 1.0;
    return vec4<f32>(ndc.x, -ndc.y, 0.0, 1.0);
}

const NOWHERE = vec4<f32>(-2.0, -2.0, 0.0, 1.0);

struct EdgeCorner {
    @builtin(position) position: vec4<f32>,
    @location(0) colour: vec4<f32>,
    // Pixels from the middle line, and half the width.
    @location(1) across: vec2<f32>,
}

@vertex
fn vs_edge(
    @builtin(vertex_index) corner: u32,
    @location(0) ends: vec2<u32>,
    @location(1) ink: f32,
) -> EdgeCorner {
    var out: EdgeCorner;
    out.position = NOWHERE;
    out.colour = vec4<f32>(0.0);
    out.across = vec2<f32>(0.0);
    let a = pixels(place(ends.x));
    let b = pixels(place(ends.y));
    let way = b - a;
    let far = length(way);
    // What lies wholly off the picture, or within a pixel, is not drawn.
    let off = any(max(a, b) < vec2<f32>(0.0)) || any(min(a, b) > look.size);
    if (off || far < 0.5) {
        return out;
    }
    let chosen = look.selected < look.count;
    let own = chosen && (ends.x == look.selected || ends.y == look.selected);
    let at_end = (corner & 1u) == 1u;
    let dress = textureLoad(colours, texel(select(ends.x, ends.y, at_end)), 0);
    var colour = select(dress.rgb, look.negative.rgb, ink < 0.0);
    let weight = abs(ink);
    // A long edge is as visible as a short one if it is fainter.
    let fainter = clamp(look.fade / far, 0.12, 1.0);
    var alpha = look.strength * (0.3 + 0.7 * weight) * fainter;
    var half = 0.5 * look.width * (0.7 + 0.6 * weight);
    if (own) {
        // Of the node's own edges the strong ones stand out among themselves.
        alpha = 0.25 + 0.6 * weight;
        half = 0.5 * look.pixel * (1.0 + 1.2 * weight);
    } else if (chosen) {
        alpha *= look.dim;
    }
    let direction = way / far;
    let side = vec2<f32>(-direction.y, direction.x) * (f32(corner >> 1u) * 2.0 - 1.0);
    let reach = half + 0.5;
    out.position = clip(select(a, b, at_end) + side * reach);
    out.colour = vec4<f32>(colour, alpha);
    out.across = vec2<f32>((f32(corner >> 1u) * 2.0 - 1.0) * reach, half);
    return out;
}

@fragment
fn fs_edge(in: EdgeCorner) -> @location(0) vec4<f32> {
    let cover = clamp(in.across.y + 0.5 - abs(in.across.x), 0.0, 1.0) * min(2.0 * in.across.y, 1.0);
    let alpha = in.colour.a * cover;
    return vec4<f32>(in.colour.rgb * alpha, alpha * (1.0 - look.glow));
}

struct NodeCorner {
    @builtin(position) position: vec4<f32>,
    @location(0) colour: vec4<f32>,
    // Pixels from the middle.
    @location(1) off: vec2<f32>,
    @location(2) radius: f32,
    // 1: held, 2: selected.
    @location(3) @interpolate(flat) marks: u32,
}

@vertex
fn vs_node(
    @builtin(vertex_index) corner: u32,
    @location(0) node: u32,
    @location(1) radius: f32,
    @location(2) held: u32,
) -> NodeCorner {
    var out: NodeCorner;
    out.radius = radius * look.swell * look.pixel;
    out.colour = textureLoad(colours, texel(node), 0);
    out.marks = held | select(0u, 2u, node == look.selected);
    let reach = out.radius + select(1.5, 5.5, out.marks > 1u) * look.pixel + 1.0;
    let at = vec2<f32>(f32(corner & 1u), f32(corner >> 1u)) * 2.0 - 1.0;
    out.off = at * reach;
    out.position = clip(pixels(place(node)) + out.off);
    return out;
}

fn over(low: vec4<f32>, high: vec4<f32>) -> vec4<f32> {
    return high + low * (1.0 - high.a);
}

fn paint(colour: vec3<f32>, alpha: f32) -> vec4<f32> {
    return vec4<f32>(colour * alpha, alpha);
}

@fragment
fn fs_node(in: NodeCorner) -> @location(0) vec4<f32> {
    let far = length(in.off);
    let shown = in.colour.a;
    // A rim of the ground's colour keeps neighbours apart.
    let rim = min(0.35 * in.radius, 1.2 * look.pixel);
    var out = paint(look.ground.rgb, clamp(in.radius + rim + 0.5 - far, 0.0, 1.0) * 0.85 * shown);
    let lit = in.colour.rgb + (1.0 - in.colour.rgb) * 0.18 * clamp(1.0 - far / max(in.radius, 1.0), 0.0, 1.0);
    out = over(out, paint(lit, clamp(in.radius + 0.5 - far, 0.0, 1.0) * shown));
    if ((in.marks & 1u) != 0u) {
        out = over(out, paint(look.ground.rgb, clamp(max(0.42 * in.radius, look.pixel) + 0.5 - far, 0.0, 1.0)));
    }
    if (in.marks > 1u) {
        let middle = in.radius + 3.0 * look.pixel;
        out = over(out, paint(look.accent.rgb, clamp(0.9 * look.pixel + 0.5 - abs(far - middle), 0.0, 1.0)));
    }
    return out;
}

@group(1) @binding(0) var picture: texture_2d<f32>;

struct PageCorner {
    @builtin(position) position: vec4<f32>,
    @location(0) uv: vec2<f32>,
}

@vertex
fn vs_page(@builtin(vertex_index) corner: u32) -> PageCorner {
    let uv = vec2<f32>(f32(corner & 1u), f32(corner >> 1u));
    return PageCorner(vec4<f32>(uv.x * 2.0 - 1.0, 1.0 - uv.y * 2.0, 0.0, 1.0), uv);
}

fn linear_of(c: vec3<f32>) -> vec3<f32> {
    let low = c / 12.92;
    let high = pow((c + 0.055) / 1.055, vec3<f32>(2.4));
    return select(high, low, c <= vec3<f32>(0.04045));
}

@fragment
fn fs_page(in: PageCorner) -> @location(0) vec4<f32> {
    let last = vec2<i32>(textureDimensions(picture)) - 1;
    let at = clamp(vec2<i32>(in.uv * look.size), vec2<i32>(0), last);
    var out = textureLoad(picture, at, 0);
    if (look.srgb_target == 1u) {
        out = vec4<f32>(linear_of(out.rgb), out.a);
    }
    return out;
}
