// Building blocks of plots: nodes, numbers as text, markers, scales and ticks.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const LABEL = 7; // rough width of a character of 12 px

function node(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function html(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function short(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return String(value).replace("-", "\u2212");
  if (size >= 1e5 || size < 1e-3) return value.toExponential(0).replace("e+", "e").replace("-", "\u2212");
  return String(Number(value.toPrecision(4))).replace("-", "\u2212");
}

function amount(value, spread) {
  const digits = Math.abs(value) < 1 ? value.toPrecision(3) : value.toFixed(2);
  const text = digits.replace("-", "\u2212");
  return spread === null || spread === undefined ? text : `${text} ± ${spread.toFixed(2)}`;
}

function signed(value) { return (value > 0 ? "+" : "") + amount(value); }

function marker(shape, x, y, r) {
  if (shape === "circle") return node("circle", { cx: x, cy: y, r, class: "mark" });
  const corners = {
    square: [[-1, -1], [1, -1], [1, 1], [-1, 1]],
    diamond: [[0, -1.4], [1.4, 0], [0, 1.4], [-1.4, 0]],
    triangle: [[0, -1.3], [1.25, 1], [-1.25, 1]],
    star: [...Array(10).keys()].map((i) => {
      const reach = i % 2 ? 0.65 : 1.6;
      return [reach * Math.sin(i * Math.PI / 5), -reach * Math.cos(i * Math.PI / 5)];
    }),
  }[shape];
  const points = corners.map(([a, b]) => `${(x + a * r * 0.9).toFixed(1)},${(y + b * r * 0.9).toFixed(1)}`).join(" ");
  return node("polygon", { points, class: "mark" });
}

function swatch(series) {
  const picture = node("svg", { class: `swatch c-${series.color}`, width: 28, height: 12, viewBox: "0 0 28 12", "aria-hidden": "true" });
  if (series.line !== "none") picture.append(node("line", { x1: 1, x2: 27, y1: 6, y2: 6, class: `line ${series.line}` }));
  if (series.marker !== "none") picture.append(marker(series.marker, 14, 6, 4));
  return picture;
}

// A scale turns numbers into pixels.
function scale(low, high, from, to, log) {
  const f = log ? Math.log : (v) => v;
  const width = f(high) - f(low) || 1;
  const at = (v) => from + (to - from) * (f(v) - f(low)) / width;
  return { at, low, high, log };
}

function linearTicks(low, high, count, values = []) {
  const own = [...new Set(values)].sort((a, b) => a - b);
  if (own.length > 1 && own.length < 10 && own.every(Number.isInteger)) return own;
  const raw = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((m) => m * power >= raw * 0.999) * power;
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

function logTicks(low, high, values) {
  const inside = (v) => v >= low * 0.999 && v <= high * 1.001;
  const own = [...new Set(values)].sort((a, b) => a - b);
  const powersOfTwo = own.length > 1 && own.length < 10 && own.every((v) => Number.isInteger(Math.log2(v)));
  if (powersOfTwo) return own;
  const decades = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) decades.push(e);
  const some = decades.map((e) => 10 ** e).filter(inside);
  return some.length >= 3 ? some : decades.flatMap((e) => [1, 2, 5].map((m) => m * 10 ** e)).filter(inside);
}

function thinned(ticks, at, room) {
  let last = -Infinity;
  return ticks.filter((tick) => {
    const [x, need] = [at(tick), short(tick).length * LABEL + room];
    if (Math.abs(x - last) < need) return false;
    last = x;
    return true;
  });
}

function range(values, log, share) {
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (log) {
    const grow = low === high ? 2 : (high / low) ** share;
    return [low / grow, high * grow];
  }
  const grow = low === high ? 1 : (high - low) * share;
  return [low - grow, high + grow];
}
