// Plots: SVG drawn at the width of its place, from the numbers embedded in the page.

class View {
  constructor(figure, plot) {
    Object.assign(this, { figure, plot, hidden: new Set(), at: null });
    this.canvas = figure.querySelector(".canvas");
    this.legend = html("ul", { className: "legend" });
    this.legend.setAttribute("aria-label", "Series: press to hide or show");
    this.said = html("p", { className: "quiet" });
    this.said.setAttribute("aria-live", "polite");
    this.numbers = figure.querySelector("details");
    this.canvas.after(this.legend, this.said);
    this.panel = plot.panels[0];
    this.controls();
    this.numbers.addEventListener("toggle", () => this.tabulate());
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerdown", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => this.look(null));
    this.canvas.addEventListener("focusout", () => this.look(null));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => { if (this.canvas.clientWidth !== this.width) this.draw(); }).observe(this.canvas);
    this.name();
    this.draw();
  }

  controls() {
    const { plot } = this;
    const datasets = [...new Set(plot.panels.map((p) => p.dataset))];
    const views = (dataset) => plot.panels.filter((p) => p.dataset === dataset).map((p) => p.view);
    const box = html("div", { className: "controls" });
    const choose = (label) => {
      const select = html("select");
      const wrapper = html("label", {}, label, select);
      box.append(wrapper);
      return [select, wrapper];
    };
    const [first, firstLabel] = choose("dataset");
    const [second, secondLabel] = choose("view");
    const fill = (select, names, kept) => {
      select.replaceChildren(...names.map((name) => html("option", { textContent: name, value: name })));
      if (names.includes(kept)) select.value = kept;
    };
    const change = () => {
      fill(second, views(first.value), second.value || this.preferred(views(first.value)));
      secondLabel.hidden = views(first.value).length < 2;
      this.panel = plot.panels.find((p) => p.dataset === first.value && p.view === second.value);
      this.name();
      this.look(null);
      this.draw();
      this.tabulate();
    };
    fill(first, datasets, null);
    first.addEventListener("change", change);
    second.addEventListener("change", change);
    firstLabel.hidden = datasets.length < 2;
    fill(second, views(datasets[0]), this.preferred(views(datasets[0])));
    secondLabel.hidden = views(datasets[0]).length < 2;
    this.panel = plot.panels.find((p) => p.dataset === datasets[0] && p.view === second.value);
    if (plot.panels.length > 1) this.canvas.before(box);
  }

  preferred(views) { return views.find((v) => v.startsWith("b = 8")) ?? views[0]; }

  shown() { return this.panel.series.filter((s) => !this.hidden.has(s.name)); }

  name() {
    this.legend.replaceChildren(...this.panel.series.map((series) => {
      const button = html("button", { type: "button" }, swatch(series), series.name);
      button.setAttribute("aria-pressed", String(!this.hidden.has(series.name)));
      button.addEventListener("click", () => {
        this.hidden.has(series.name) ? this.hidden.delete(series.name) : this.hidden.add(series.name);
        button.setAttribute("aria-pressed", String(!this.hidden.has(series.name)));
        this.draw();
      });
      return html("li", {}, button);
    }));
  }

  described() {
    const { plot, panel } = this;
    const parts = panel.series.filter((s) => s.points.length).map((s) => {
      if (panel.categories) return `${s.name}: ${s.points.length} datasets`;
      const ys = s.points.map((p) => p[1]);
      const [low, high] = [Math.min(...ys), Math.max(...ys)];
      return low === high ? `${s.name} ${amount(low)}` : `${s.name} ${amount(low)} to ${amount(high)}`;
    });
    const what = [panel.dataset, panel.view].filter(Boolean).join(", ");
    return `${plot.title}: ${what}. ${plot.y || plot.x} for ${parts.join("; ")}. Arrow keys read values; the numbers are below.`;
  }

  draw() {
    const { plot, panel } = this;
    this.width = this.canvas.clientWidth;
    const width = Math.max(240, this.width);
    const names = panel.categories;
    const height = names ? names.length * 19 + 54 : Math.round(Math.min(430, Math.max(250, width * 0.5)));
    const series = this.shown();
    const points = series.flatMap((s) => s.points);
    const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", tabindex: 0, "aria-label": this.described() });
    this.canvas.replaceChildren(svg);
    this.look(null);
    if (!points.length) {
      svg.append(node("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, "All series are hidden."));
      this.x = null;
      return;
    }
    const left = names ? Math.min(150, Math.max(...names.map((n) => n.length)) * LABEL + 8) : 58;
    const box = { left, right: width - 14, top: 12, bottom: height - 42 };
    const xs = points.map((p) => this.clipped(p[0]));
    const spread = points.flatMap((p) => (p[2] && !plot.yLog ? [p[1] - p[2], p[1] + p[2]] : [p[1]]));
    let [low, high] = range(xs, plot.xLog, 0.03);
    if (plot.band) [low, high] = [Math.min(low, -1.5 * plot.band), Math.max(high, 1.5 * plot.band)];
    this.x = scale(low, high, box.left, box.right, plot.xLog);
    this.y = names
      ? scale(-0.5, names.length - 0.5, box.bottom, box.top, false)
      : scale(...range(spread, plot.yLog, 0.06), box.bottom, box.top, plot.yLog);
    this.box = box;
    this.axes(svg, xs);
    this.taken = new Map();
    for (const one of series) this.curve(svg, one);
    this.names(svg, series);
    this.cursor = node("g", { class: "look" });
    svg.append(this.cursor);
  }

  axes(svg, xs) {
    const { plot, panel, x, y, box } = this;
    const line = (cls, x1, y1, x2, y2) => svg.append(node("line", { class: cls, x1, y1, x2, y2 }));
    const write = (text, at, extra) => svg.append(node("text", { ...at, ...extra }, text));
    if (plot.band) {
      svg.append(node("rect", { class: "band", x: x.at(-plot.band), y: box.top, width: x.at(plot.band) - x.at(-plot.band), height: box.bottom - box.top }));
    }
    const room = (box.right - box.left) / 70;
    const ticks = plot.xLog ? logTicks(x.low, x.high, xs) : linearTicks(x.low, x.high, room, xs);
    for (const tick of thinned(ticks, x.at, 10)) {
      line(tick === 0 ? "zero" : "grid", x.at(tick), box.top, x.at(tick), box.bottom);
      write(short(tick), { x: x.at(tick), y: box.bottom + 17 }, { "text-anchor": "middle" });
    }
    if (panel.categories) {
      panel.categories.forEach((name, i) => {
        line("grid", box.left, y.at(i), box.right, y.at(i));
        const cut = name.length > 20 ? `${name.slice(0, 19)}…` : name;
        write(cut, { x: box.left - 8, y: y.at(i) + 4 }, { "text-anchor": "end" });
      });
    } else {
      const steps = plot.yLog ? logTicks(y.low, y.high, []) : linearTicks(y.low, y.high, 6);
      for (const tick of steps) {
        line("grid", box.left, y.at(tick), box.right, y.at(tick));
        write(short(tick), { x: box.left - 7, y: y.at(tick) + 4 }, { "text-anchor": "end" });
      }
      const middle = (box.top + box.bottom) / 2;
      write(plot.y, { x: 13, y: middle }, { "text-anchor": "middle", transform: `rotate(-90 13 ${middle})` });
    }
    line("axis", box.left, box.bottom, box.right, box.bottom);
    write(plot.x, { x: (box.left + box.right) / 2, y: box.bottom + 36 }, { "text-anchor": "middle" });
  }

  clipped(value) {
    const { limit } = this.plot;
    return limit ? Math.min(limit, Math.max(-limit, value)) : value;
  }

  // A point beyond the limit of the axis: an arrow at the edge and its value. Those of one line stand side by side.
  arrow([value, line]) {
    const side = Math.sign(value);
    const before = this.taken.get(`${line} ${side}`) ?? 0;
    this.taken.set(`${line} ${side}`, before + 1);
    const [a, b] = [this.x.at(this.clipped(value)) - side * before * 58, this.y.at(line)];
    const points = `${a + side * 6},${b} ${a - side * 4},${b - 5} ${a - side * 4},${b + 5}`;
    const text = signed(value);
    return [
      node("polygon", { points, class: "mark beyond" }),
      node("text", { class: "name", x: a - side * 8, y: b + 4, "text-anchor": side > 0 ? "end" : "start" }, text),
    ];
  }

  curve(svg, series) {
    const { x, y, plot, panel } = this;
    const group = node("g", { class: `c-${series.color} series`, "data-series": series.name });
    const inside = series.points.filter((p) => this.clipped(p[0]) === p[0]);
    for (const p of series.points) if (!inside.includes(p)) group.append(...this.arrow(p));
    const spots = inside.map((p) => [x.at(p[0]), y.at(p[1])]);
    if (!panel.categories && !plot.yLog) {
      inside.forEach((p, i) => {
        if (p[2]) group.append(node("line", { class: "bar", x1: spots[i][0], x2: spots[i][0], y1: y.at(p[1] - p[2]), y2: y.at(p[1] + p[2]) }));
      });
    }
    if (series.line !== "none" && spots.length > 1) {
      const d = spots.map(([a, b], i) => `${i ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`).join("");
      group.append(node("path", { class: `line ${series.line}`, d }));
    }
    const r = series.line === "none" ? 5 : 3.6;
    if (series.marker !== "none") for (const [a, b] of spots) group.append(marker(series.marker, a, b, r));
    svg.append(group);
  }

  // Names beside single points, where there is room for them; the legend has all of them.
  names(svg, series) {
    const { x, y, box, panel } = this;
    const single = panel.categories ? [] : series.filter((s) => s.line === "none" && s.points.length === 1);
    const spots = single.map((s) => [x.at(s.points[0][0]), y.at(s.points[0][1])]);
    const taken = spots.map(([a, b]) => [a - 6, b - 6, a + 6, b + 6]);
    single.forEach((s, i) => {
      const [a, b] = spots[i];
      const half = s.name.length * LABEL / 2;
      const free = [[a + 9 + half, b], [a - 9 - half, b], [a, b - 15], [a, b + 15]].map(([u, v]) => [u - half, v - 7, u + half, v + 7]).find((r) =>
        r[0] >= box.left && r[2] <= box.right && r[1] >= box.top && r[3] <= box.bottom &&
        taken.every((o) => r[2] < o[0] || r[0] > o[2] || r[3] < o[1] || r[1] > o[3]));
      if (!free) return;
      taken.push(free);
      svg.append(node("text", { class: "name", x: (free[0] + free[2]) / 2, y: (free[1] + free[3]) / 2 + 4, "text-anchor": "middle" }, s.name));
    });
  }

  // Places where a reader can stop: values of x, or lines of categories.
  stops() {
    if (!this.x) return [];
    if (this.panel.categories) return this.panel.categories.map((_, i) => i);
    return [...new Set(this.shown().filter((s) => s.marker !== "none" || s.points.length > 2).flatMap((s) => s.points.map((p) => p[0])))].sort((a, b) => a - b);
  }

  point(event) {
    const stops = this.stops();
    if (!stops.length) return;
    const place = this.canvas.getBoundingClientRect();
    const axis = this.panel.categories ? this.y : this.x;
    const here = this.panel.categories ? event.clientY - place.top : event.clientX - place.left;
    this.look(stops.reduce((a, b) => (Math.abs(axis.at(b) - here) < Math.abs(axis.at(a) - here) ? b : a)));
  }

  key(event) {
    const stops = this.stops();
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (event.key === "Escape") return this.look(null);
    if (!step || !stops.length) return;
    event.preventDefault();
    const now = this.at === null ? (step > 0 ? -1 : stops.length) : stops.indexOf(this.at);
    this.look(stops[Math.min(stops.length - 1, Math.max(0, now + step))], true);
  }

  look(at, aloud = false) {
    this.at = at;
    this.canvas.querySelector(".tip")?.remove();
    this.cursor?.replaceChildren();
    if (at === null || !this.x) return;
    const { x, y, box, panel, plot } = this;
    const lines = panel.categories !== undefined;
    const near = (v) => (lines || !plot.xLog ? Math.abs(v - at) < 1e-9 : Math.abs(v / at - 1) < 1e-6);
    const found = this.shown().flatMap((s) => s.points.filter((p) => near(lines ? p[1] : p[0])).map((p) => [s, p]));
    if (!lines) found.sort((a, b) => b[1][1] - a[1][1]);
    const place = lines
      ? { x1: box.left, x2: box.right, y1: y.at(at), y2: y.at(at) }
      : { x1: x.at(at), x2: x.at(at), y1: box.top, y2: box.bottom };
    this.cursor.append(node("line", { class: "cursor", ...place }));
    const title = lines ? panel.categories[at] : `${plot.x} = ${short(at)}`;
    const tip = html("div", { className: "tip" }, html("b", { textContent: title }));
    for (const [series, p] of found) {
      const value = lines ? signed(p[0]) : amount(p[1], p[2]);
      tip.append(html("div", {}, swatch(series), html("span", { textContent: series.name }), html("span", { textContent: value })));
    }
    this.canvas.append(tip);
    const anchor = lines ? x.at(x.high) : x.at(at);
    const right = anchor + 14 + tip.offsetWidth <= this.width;
    tip.style.left = `${right ? anchor + 14 : Math.max(0, anchor - 14 - tip.offsetWidth)}px`;
    tip.style.top = `${lines ? Math.min(Math.max(0, y.at(at) + 12), box.bottom - tip.offsetHeight) : box.top}px`;
    if (aloud) this.said.textContent = tip.innerText.replace(/\s+/g, " ");
  }

  // The same numbers as a table, made when a reader opens it.
  tabulate() {
    if (!this.numbers.open) return;
    const { plot, panel } = this;
    const head = (text, scope) => { const th = html("th", { textContent: text }); th.scope = scope; return th; };
    const rows = new Map();
    for (const s of panel.series) {
      for (const p of s.points) {
        const key = panel.categories ? panel.categories[p[1]] : p[0];
        if (!rows.has(key)) rows.set(key, new Map());
        rows.get(key).set(s.name, panel.categories ? amount(p[0]) : amount(p[1], p[2]));
      }
    }
    const keys = [...rows.keys()];
    if (!panel.categories) keys.sort((a, b) => a - b);
    const top = html("tr", {}, head(panel.categories ? "dataset" : plot.x, "col"), ...panel.series.map((s) => head(s.name, "col")));
    const body = keys.map((key) => html("tr", {}, head(panel.categories ? key : short(key), "row"),
      ...panel.series.map((s) => html("td", { textContent: rows.get(key).get(s.name) ?? "" }))));
    const table = html("table", {}, html("thead", {}, top), html("tbody", {}, ...body));
    const box = html("div", { className: "scroll", tabIndex: 0 }, table);
    this.numbers.querySelector(".scroll")?.remove();
    this.numbers.append(box);
  }
}

const plots = JSON.parse(document.getElementById("plots").textContent);
for (const plot of plots) {
  const figure = document.getElementById(`plot-${plot.key}`);
  if (figure) new View(figure, plot);
}
