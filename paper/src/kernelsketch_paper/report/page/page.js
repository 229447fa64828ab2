// The page: theme, choice of settings, sorting of tables, and the mark of the current section.
const root = document.documentElement;

function stored(name, value) {
  try {
    if (value === undefined) return localStorage.getItem(name);
    localStorage.setItem(name, value);
  } catch { /* a page opened from a file may have no storage; then the theme is not kept */ }
  return null;
}

function setUpTheme() {
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const name = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to the ${dark() ? "light" : "dark"} theme`);
  };
  const kept = stored("kernelsketch-theme");
  if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    stored("kernelsketch-theme", root.dataset.theme);
    name();
  });
  system.addEventListener("change", name);
  button.hidden = false;
  name();
}

function setUpChoice() {
  const places = [...document.querySelectorAll("[data-choice-switch]")];
  if (!places.length) return;
  const options = [["test", "test rows"], ["cv", "cross-validation"], ["both", "both"]];
  const show = (choice) => {
    root.dataset.choice = choice;
    for (const cell of document.querySelectorAll("th[data-spans]")) {
      const spans = JSON.parse(cell.dataset.spans);
      cell.hidden = spans[choice] === 0;
      cell.colSpan = Math.max(1, spans[choice]);
    }
    for (const input of document.querySelectorAll(".switch input")) input.checked = input.value === choice;
  };
  places.forEach((place, number) => {
    const box = document.createElement("fieldset");
    box.className = "switch";
    const legend = document.createElement("legend");
    legend.textContent = "Settings chosen by";
    box.append(legend);
    for (const [value, text] of options) {
      const label = document.createElement("label");
      const input = document.createElement("input");
      Object.assign(input, { type: "radio", name: `choice-${number}`, value });
      input.addEventListener("change", () => show(value));
      label.append(input, text);
      box.append(label);
    }
    place.append(box);
  });
  show("test");
}

// A click on a heading sorts the table; empty cells stay last.
function setUpSorting() {
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const original = [...body.rows];
    const heads = [...table.querySelectorAll("th[data-column]")];
    for (const head of heads) {
      const column = Number(head.dataset.column);
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        for (const other of heads) other.removeAttribute("aria-sort");
        const text = head.classList.contains("text");
        const order = text ? ["ascending", "descending", null] : ["descending", "ascending", null];
        const now = order[(order.indexOf(before) + 1) % order.length];
        if (!now) return void body.append(...original);
        head.setAttribute("aria-sort", now);
        const sign = now === "ascending" ? 1 : -1;
        const key = (row) => row.cells[column].dataset.value ?? "";
        body.append(...[...original].sort((a, b) => {
          const [x, y] = [key(a), key(b)];
          if (x === "" || y === "") return (x === "") - (y === "");
          return sign * (text ? x.localeCompare(y, "en", { numeric: true }) : x - y);
        }));
      });
    }
  }
}

function setUpContents() {
  const links = new Map([...document.querySelectorAll(".toc a")].map((a) => [a.hash.slice(1), a]));
  const bar = document.querySelector(".toc ul");
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      const link = links.get(entry.target.id);
      link.setAttribute("aria-current", "true");
      bar.scrollTo({ left: link.offsetLeft - bar.clientWidth / 3 });
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  for (const section of document.querySelectorAll("main > section")) seen.observe(section);
}

// Tables that are wider than the page say so, because the last columns are not in sight. The others are shown whole.
function setUpWideTables() {
  const seen = new ResizeObserver((entries) => {
    for (const box of new Set(entries.map((entry) => entry.target.closest(".scroll")))) {
      const wide = box.scrollWidth > box.clientWidth + 1;
      box.closest(".item")?.classList.toggle("wide", wide);
      box.classList.toggle("whole", !wide);
    }
  });
  for (const box of document.querySelectorAll(".scroll")) {
    seen.observe(box);
    for (const table of box.querySelectorAll("table")) seen.observe(table);
  }
}

setUpTheme();
setUpWideTables();
setUpChoice();
setUpSorting();
setUpContents();
