// Critical-difference diagrams: ranks on a line, and bars that join methods that the test cannot distinguish.

function drawRanking(place, ranking) {
  const narrow = place.clientWidth < 520; // no room for names beside the axis: each gets a line of its own below it
  const width = narrow ? place.clientWidth : 640;
  const [margin, top, step, bar] = [narrow ? 12 : 150, 62, 22, 9];
  const { methods, ranks, groups, critical, title } = ranking;
  const n = methods.length;
  const high = Math.max(n, Math.ceil(ranks[n - 1]));
  const half = Math.ceil(n / 2);
  const x = scale(1, high, margin, width - margin, false).at;
  const under = top + 14 + bar * groups.length;
  const height = under + step * (narrow ? n : half) + 10;
  const said = methods.map((name, i) => `${name} ${ranks[i].toFixed(2)}`).join(", ");
  const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}: ${said}` });
  const line = (cls, x1, y1, x2, y2) => svg.append(node("line", { class: cls, x1, y1, x2, y2 }));
  const write = (text, at) => svg.append(node("text", at, text));
  line("ink", x(1), top, x(high), top);
  for (let tick = 1; tick <= high; tick++) {
    line("ink", x(tick), top, x(tick), top - 6);
    write(String(tick), { x: x(tick), y: top - 11, "text-anchor": "middle" });
  }
  const end = x(Math.min(high, 1 + critical));
  line("ink", x(1), 22, end, 22);
  for (const at of [x(1), end]) line("ink", at, 18, at, 26);
  write(`critical difference ${critical.toFixed(2)}`, { x: x(1), y: 12 });
  groups.forEach(([first, last], i) => {
    const y = top + 10 + bar * i;
    line("clique", x(ranks[first]) - 3, y, x(ranks[last]) + 3, y);
  });
  const ends = methods.map((_, i) => {
    const at = x(ranks[i]);
    if (narrow) return { at, edge: at + (at > width / 2 ? -8 : 8), y: under + step * i + 8, left: at > width / 2 };
    const left = i < half;
    return { at, edge: left ? margin - 12 : width - margin + 12, y: under + step * (left ? i : n - 1 - i) + 8, left };
  });
  for (const { at, edge, y } of ends) svg.append(node("path", { class: "leader", d: `M${at} ${top}V${y}H${edge}` }));
  ends.forEach(({ edge, y, left }, i) => {
    const anchor = { x: edge + (left ? -6 : 6), y: y + 4, "text-anchor": left ? "end" : "start" };
    write(`${methods[i]} ${ranks[i].toFixed(2)}`, { class: "method", ...anchor });
  });
  place.replaceChildren(svg);
}

for (const ranking of JSON.parse(document.getElementById("rankings").textContent)) {
  const place = document.querySelector(`#ranking-${CSS.escape(ranking.key)} .ranks`);
  new ResizeObserver(() => drawRanking(place, ranking)).observe(place);
  drawRanking(place, ranking);
}
