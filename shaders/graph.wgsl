// A graph as a picture: edges as one batch of thin quads (loops as rings), their heads as triangles, nodes as one batch of discs, both smooth at
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
    // Length of arrowheads in points; below zero only the selected node's edges have them, at 0 none has.
    arrow: f32,
    // Factor on radii; strength and pixel width of edges; what is left of edges that are not of the
    // selected node; how much light rather than paint edges are; length from which they grow fainter.
    radius_scale: f32,
    strength: f32,
    width: f32,
    dim: f32,
    glow: f32,
    fade: f32,
    // sRGB.
    ground: vec4<f32>,
    accent: vec4<f32>,
    negative: vec4<f32>,
    // The colour of edges of positive weight; where its alpha is 0, they have those of their nodes.
    positive: vec4<f32>,
    srgb_target: u32,
    pixel: f32,
    padding_after: vec2<f32>,
}

@group(0) @binding(0) var<uniform> look: Look;
@group(0) @binding(1) var places: texture_2d<f32>;
// Colour of each node, and how much it stands out.
@group(0) @binding(2) var colours: texture_2d<f32>;
// Radius of each node in points.
@group(0) @binding(3) var radii: texture_2d<f32>;

fn texel(i: u32) -> vec2<i32> {
    return vec2<i32>(i32(i % look.columns), i32(i / look.columns));
}

fn place(i: u32) -> vec2<f32> {
    return textureLoad(places, texel(i), 0).xy;
}

// Radius in pixels of the picture.
fn radius_of(i: u32) -> f32 {
    return textureLoad(radii, texel(i), 0).x * look.radius_scale * look.pixel;
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

// The colour of an edge at one of its nodes.
fn edge_colour(node: u32, ink: f32) -> vec3<f32> {
    if (ink < 0.0) {
        return look.negative.rgb;
    }
    return select(textureLoad(colours, texel(node), 0).rgb, look.positive.rgb, look.positive.a > 0.0);
}

struct EdgeCorner {
    @builtin(position) position: vec4<f32>,
    @location(0) colour: vec4<f32>,
    // Pixels from the middle line, and half the width; of a loop, pixels from its middle.
    @location(1) across: vec2<f32>,
    // Of a loop: its radius and half the width of its line. Of a line: 0.
    @location(2) ring: vec2<f32>,
}

// How strongly an edge is drawn, and half its width.
fn ink_of(ends: vec2<u32>, ink: f32, far: f32) -> vec2<f32> {
    let chosen = look.selected < look.count;
    let weight = abs(ink);
    if (chosen && (ends.x == look.selected || ends.y == look.selected)) {
        // Of the node's own edges the strong ones stand out among themselves.
        return vec2<f32>(0.25 + 0.6 * weight, 0.5 * look.pixel * (1.0 + 1.2 * weight));
    }
    // A long edge is as visible as a short one if it is fainter.
    let fainter = clamp(look.fade / max(far, 1.0), 0.12, 1.0);
    let alpha = look.strength * (0.3 + 0.7 * weight) * fainter;
    return vec2<f32>(select(alpha, alpha * look.dim, chosen), 0.5 * look.width * (0.7 + 0.6 * weight));
}

// An edge from a node to itself: a ring above it.
fn loop_corner(corner: u32, node: u32, ink: f32) -> EdgeCorner {
    var out: EdgeCorner;
    let own = radius_of(node);
    let radius = max(0.8 * own, 3.5 * look.pixel);
    let drawn = ink_of(vec2<u32>(node, node), ink, 0.0);
    let middle = pixels(place(node)) - vec2<f32>(0.0, own + 0.7 * radius);
    let at = vec2<f32>(f32(corner & 1u), f32(corner >> 1u)) * 2.0 - 1.0;
    let half = max(drawn.y, 0.5 * look.pixel);
    out.across = at * (radius + half + 1.0);
    out.position = clip(middle + out.across);
    // Few edges are loops, and short ones are easily overseen.
    out.colour = vec4<f32>(edge_colour(node, ink), max(drawn.x, min(2.5 * drawn.x, 0.5)));
    out.ring = vec2<f32>(radius, half);
    return out;
}

@vertex
fn vs_edge(
    @builtin(vertex_index) corner: u32,
    @location(0) ends: vec2<u32>,
    @location(1) ink: f32,
) -> EdgeCorner {
    if (ends.x == ends.y) {
        return loop_corner(corner, ends.x, ink);
    }
    var out: EdgeCorner;
    out.position = NOWHERE;
    out.colour = vec4<f32>(0.0);
    out.across = vec2<f32>(0.0);
    out.ring = vec2<f32>(0.0);
    let a = pixels(place(ends.x));
    let b = pixels(place(ends.y));
    let way = b - a;
    let far = length(way);
    // What lies wholly off the picture, or within a pixel, is not drawn.
    let off = any(max(a, b) < vec2<f32>(0.0)) || any(min(a, b) > look.size);
    if (off || far < 0.5) {
        return out;
    }
    let at_end = (corner & 1u) == 1u;
    let colour = edge_colour(select(ends.x, ends.y, at_end), ink);
    let drawn = ink_of(ends, ink, far);
    let half = drawn.y;
    let direction = way / far;
    let side = vec2<f32>(-direction.y, direction.x) * (f32(corner >> 1u) * 2.0 - 1.0);
    let reach = half + 0.5;
    out.position = clip(select(a, b, at_end) + side * reach);
    out.colour = vec4<f32>(colour, drawn.x);
    out.across = vec2<f32>((f32(corner >> 1u) * 2.0 - 1.0) * reach, half);
    return out;
}

@fragment
fn fs_edge(in: EdgeCorner) -> @location(0) vec4<f32> {
    let is_loop = in.ring.x > 0.0;
    let off = select(abs(in.across.x), abs(length(in.across) - in.ring.x), is_loop);
    let half = select(in.across.y, in.ring.y, is_loop);
    let cover = clamp(half + 0.5 - off, 0.0, 1.0) * min(2.0 * half, 1.0);
    let alpha = in.colour.a * cover;
    return vec4<f32>(in.colour.rgb * alpha, alpha * (1.0 - look.glow));
}

struct ArrowCorner {
    @builtin(position) position: vec4<f32>,
    @location(0) colour: vec4<f32>,
    // Pixels back from the tip and to the side, and the length.
    @location(1) at: vec3<f32>,
}

// Half the width of an arrowhead for its length.
const ARROW = 0.42;

// The head of an edge, whose tip touches the rim of the node that it leads to.
@vertex
fn vs_arrow(
    @builtin(vertex_index) corner: u32,
    @location(0) ends: vec2<u32>,
    @location(1) ink: f32,
) -> ArrowCorner {
    var out: ArrowCorner;
    out.position = NOWHERE;
    out.colour = vec4<f32>(0.0);
    out.at = vec3<f32>(0.0);
    let own = look.selected < look.count && (ends.x == look.selected || ends.y == look.selected);
    let a = pixels(place(ends.x));
    let b = pixels(place(ends.y));
    let far = length(b - a);
    let free = far - radius_of(ends.x) - radius_of(ends.y);
    let head = min(abs(look.arrow) * look.pixel * (0.85 + 0.3 * abs(ink)), 0.7 * free);
    if (ends.x == ends.y || (look.arrow < 0.0 && !own) || head < 2.0) {
        return out;
    }
    let direction = (b - a) / far;
    let across = vec2<f32>(-direction.y, direction.x);
    let tip = b - direction * (radius_of(ends.y) + 0.5);
    let back = select(-1.0, head + 1.0, (corner & 1u) == 1u);
    let side = (ARROW * head + 1.0) * (f32(corner >> 1u) * 2.0 - 1.0);
    out.position = clip(tip - direction * back + across * side);
    out.at = vec3<f32>(back, side, head);
    let drawn = ink_of(ends, ink, far);
    let colour = edge_colour(ends.y, ink);
    // A head says which way, however faint its line is.
    let faint = look.selected < look.count && !own;
    out.colour = vec4<f32>(colour, select(clamp(1.8 * drawn.x, 0.35, 0.95), drawn.x, faint));
    return out;
}

@fragment
fn fs_arrow(in: ArrowCorner) -> @location(0) vec4<f32> {
    let inside = clamp(ARROW * in.at.x - abs(in.at.y) + 0.5, 0.0, 1.0) * clamp(in.at.z - in.at.x + 0.5, 0.0, 1.0);
    let alpha = in.colour.a * inside;
    return vec4<f32>(in.colour.rgb * alpha, alpha);
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
    out.radius = radius * look.radius_scale * look.pixel;
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
