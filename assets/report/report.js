"use strict";
// Curves with the numbers under the pointer, and one scrubber for all figures. Without scripts the figures stand at the last step.
const SVG = "http://www.w3.org/2000/svg";
const make = (name, attributes, parent) => {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (parent) parent.append(node);
  return node;
};
const words = (v) => (v === null ? "-" : Math.abs(v) >= 1e-3 && Math.abs(v) < 1e6 || v === 0 ? String(+v.toPrecision(6)) : v.toExponential(4));

// Round steps between two ends: about `wanted` of them.
const ticks = (low, high, wanted) => {
  const raw = (high - low) / wanted || 1, unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * unit).find((s) => s >= raw);
  const found = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) found.push(+v.toPrecision(12));
  return found;
};

class Curve {
  constructor(root, channel) {
    this.channel = channel;
    this.log = false;
    this.svg = make("svg", { viewBox: "0 0 640 260", role: "img", "aria-label": channel.name });
    const positive = channel.series.every((s) => s.values.every((v) => v === null || v > 0));
    const header = document.createElement("header"), title = document.createElement("h3");
    title.textContent = channel.name;
    header.append(title);
    if (positive && channel.series.some((s) => s.values.length > 1)) {
      const button = document.createElement("button");
      button.textContent = "log";
      button.onclick = () => { this.log = !this.log; button.textContent = this.log ? "linear" : "log"; this.draw(); };
      header.append(button);
    }
    this.legend = document.createElement("div");
    this.legend.className = "legend";
    root.append(header, this.svg, this.legend);
    this.svg.onpointermove = (e) => this.point(e);
    this.svg.onpointerleave = () => { this.at = null; this.say(); };
    this.draw();
  }

  draw() {
    const { series } = this.channel, f = this.log ? Math.log10 : (v) => v;
    const ends = (s, i) => (s.sd ? [s.values[i] - s.sd[i], s.values[i] + s.sd[i]] : [s.values[i]]);
    const known = series.flatMap((s) => s.values.flatMap((v, i) => (v === null ? [] : ends(s, i)))).map(f).filter(Number.isFinite);
    const steps = series.flatMap((s) => [s.steps[0], s.steps[s.steps.length - 1]]);
    let [low, high] = known.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
    if (!(high > low)) { low = (Number.isFinite(low) ? low : 0) - 0.5; high = low + 1; }
    const first = Math.min(...steps), last = Math.max(...steps, first + 1);
    this.x = (step) => 56 + ((step - first) / (last - first)) * 572;
    this.step = (x) => first + ((x - 56) / 572) * (last - first);
    this.y = (v) => 228 - ((f(v) - low) / (high - low)) * 212;
    this.svg.replaceChildren();
    for (const v of ticks(low, high, 4)) {
      const y = 228 - ((v - low) / (high - low)) * 212;
      make("line", { x1: 56, x2: 628, y1: y, y2: y, stroke: "#e4e1da" }, this.svg);
      make("text", { x: 50, y: y + 4, "text-anchor": "end" }, this.svg).textContent = words(this.log ? 10 ** v : v);
    }
    for (const v of ticks(first, last, 6)) make("text", { x: this.x(v), y: 246, "text-anchor": "middle" }, this.svg).textContent = v;
    make("text", { x: 628, y: 258, "text-anchor": "end" }, this.svg).textContent = "step";
    // One standard deviation on either side; below what a logarithm has, to the foot of the chart.
    const kept = (v) => { const y = this.y(v); return Number.isFinite(y) ? Math.min(Math.max(y, 16), 228) : 228; };
    for (const s of series.filter((s) => s.sd)) {
      const edge = (i, sign) => `${this.x(s.steps[i]).toFixed(1)} ${kept(s.values[i] + sign * s.sd[i]).toFixed(1)}`;
      const parts = [[]]; // a step without a spread leaves a gap
      s.values.forEach((v, i) => { if (v === null || s.sd[i] === null) parts.push([]); else parts[parts.length - 1].push(i); });
      for (const at of parts) {
        const path = at.map((i) => edge(i, 1)).concat(at.reverse().map((i) => edge(i, -1))).join("L");
        if (path) make("path", { d: `M${path}Z`, fill: s.colour, "fill-opacity": 0.18, stroke: "none" }, this.svg);
      }
    }
    for (const s of series) {
      let path = "", pen = false;
      s.values.forEach((v, i) => {
        if (v === null) { pen = false; return; }
        path += `${pen ? "L" : "M"}${this.x(s.steps[i]).toFixed(1)} ${this.y(v).toFixed(1)}`;
        pen = true;
      });
      make("path", { d: path, fill: "none", stroke: s.colour, "stroke-width": 1.5, "stroke-linejoin": "round" }, this.svg);
      if (s.values.length === 1 && s.values[0] !== null) make("circle", { cx: this.x(s.steps[0]), cy: this.y(s.values[0]), r: 3, fill: s.colour }, this.svg);
    }
    this.line = make("line", { y1: 16, y2: 228, stroke: "#5d6670", visibility: "hidden" }, this.svg);
    this.say();
  }

  point(event) {
    const box = this.svg.getBoundingClientRect();
    this.at = this.step(((event.clientX - box.left) / box.width) * 640);
    this.say();
  }

  // The values at the recorded step nearest to the pointer, or the last ones.
  say() {
    this.legend.replaceChildren();
    let shown = null;
    for (const s of this.channel.series) {
      let i = s.steps.length - 1;
      if (this.at !== null && this.at !== undefined) {
        let [a, b] = [0, i];
        while (b - a > 1) { const m = (a + b) >> 1; if (s.steps[m] <= this.at) a = m; else b = m; }
        i = this.at - s.steps[a] <= s.steps[b] - this.at ? a : b;
        shown = s.steps[i];
      }
      const entry = document.createElement("span"), mark = document.createElement("i");
      mark.style.background = s.colour;
      entry.append(mark, `${s.label} ${words(s.values[i])}${s.sd && s.sd[i] !== null ? ` ± ${words(s.sd[i])}` : ""} (step ${s.steps[i]})`);
      entry.title = s.values[i] === null ? "not a number" : String(s.values[i]);
      this.legend.append(entry);
    }
    this.line.setAttribute("visibility", shown === null ? "hidden" : "visible");
    if (shown !== null) { this.line.setAttribute("x1", this.x(shown)); this.line.setAttribute("x2", this.x(shown)); }
  }
}

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const holder = document.getElementById("curves");
if (holder) for (const channel of read("curve-data")) {
  const figure = document.createElement("figure");
  figure.className = "curve";
  holder.append(figure);
  new Curve(figure, channel);
}
const scrubber = document.getElementById("scrubber");
if (scrubber) {
  const { steps, views } = read("view-data"), range = scrubber.querySelector("input"), output = scrubber.querySelector("output");
  const show = () => {
    const at = Number(range.value);
    output.textContent = `step ${steps[at]}`;
    for (const [id, view] of Object.entries(views)) {
      const image = document.getElementById(id), place = view.at[at];
      image.style.visibility = place === null ? "hidden" : "visible"; // nothing was there yet
      if (place !== null) image.src = view.pictures[place];
    }
  };
  range.oninput = show;
  scrubber.hidden = false;
  show();
}
