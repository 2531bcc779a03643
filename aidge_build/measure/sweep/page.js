// SPDX-License-Identifier: MIT
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const rows = data.rows.map((values, number) => {
    const row = { number };
    data.columns.forEach((name, place) => { row[name] = values[place]; });
    return row;
  });
  // What is compared: -1 where less is better.
  const FIGURES = [
    { name: "ram_bytes", title: "RAM, B", better: -1 },
    { name: "flash_bytes", title: "flash, B", better: -1 },
    { name: "instructions", title: "instructions", better: -1 },
    { name: "milliseconds", title: "milliseconds", better: -1 },
    { name: "accuracy", title: "accuracy", better: 1 },
  ];
  const COMPARED = FIGURES.filter((figure) => figure.name !== "milliseconds");
  const COLORS = ["arena", "weights", "layers", "stack", "library", "kernels", "other", "padding"];
  const STEP = 200;
  const known = (name) => rows.some((row) => row[name] !== null);
  const figures = FIGURES.filter((figure) => known(figure.name));
  const distinct = (name) => [...new Set(rows.map((row) => row[name]))].sort();
  const shown = (value) => {
    if (value === null) return "";
    if (typeof value !== "number") return value;
    return Number.isInteger(value) ? value.toLocaleString("en-US") : value.toPrecision(4);
  };
  const made = (name, attributes, ...inside) => {
    const svg = ["line", "text", "circle", "polyline", "title", "g"].includes(name);
    const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
    element.append(...inside);
    return element;
  };

  // The front of a task: what no other point is at least as good as in everything known, and better in something.
  const beats = (one, other) => {
    let isBetter = false;
    for (const { name, better } of COMPARED) {
      const [a, b] = [one[name], other[name]];
      if ((a === null) !== (b === null) || (a !== null && (a - b) * better < 0)) return false;
      if (a !== b) isBetter = true;
    }
    return isBetter;
  };
  const frontOf = (chosen) => {
    const fronts = new Map();
    const seen = new Map(); // rows with equal figures share a fate
    const order = chosen.filter((row) => row.state === "fits" && row.ram_bytes !== null);
    for (const row of [...order].sort((a, b) => a.ram_bytes - b.ram_bytes)) {
      const key = JSON.stringify([row.task, ...COMPARED.map(({ name }) => row[name])]);
      if (seen.has(key)) { seen.get(key).push(row); continue; }
      seen.set(key, [row]);
      const front = fronts.get(row.task) || [];
      if (!front.some((other) => beats(other, row))) {
        fronts.set(row.task, [...front.filter((other) => !beats(row, other)), row]);
      }
    }
    const found = new Set();
    for (const front of fronts.values()) {
      for (const row of front) {
        const key = JSON.stringify([row.task, ...COMPARED.map(({ name }) => row[name])]);
        for (const equal of seen.get(key)) found.add(equal.number);
      }
    }
    return found;
  };

  const filters = document.getElementById("filters");
  const CHOICES = ["task", "model", "options", "board", "state"];
  for (const name of CHOICES) {
    const values = distinct(name);
    const select = made("select", { name }, made("option", { value: "" }, `all ${values.length}`));
    values.forEach((value) => select.append(made("option", { value }, value)));
    if (values.length > 1) filters.append(made("label", {}, name, select));
  }
  for (const figure of figures) {
    const word = figure.better < 0 ? "at most" : "at least";
    const input = made("input", { name: figure.name, type: "number", step: "any", min: "0" });
    filters.append(made("label", {}, `${figure.title.split(",")[0]} ${word}`, input));
  }
  filters.append(made("label", { class: "tick" }, made("input", { type: "checkbox", name: "front" }), "only the front"));

  const value = (name) => (filters.elements[name] ? filters.elements[name].value : "");
  const passes = (row) =>
    CHOICES.every((name) => value(name) === "" || row[name] === value(name)) &&
    figures.every(({ name, better }) => {
      const limit = value(name);
      return limit === "" || (row[name] !== null && (row[name] - Number(limit)) * better >= 0);
    });

  const across = document.getElementById("across");
  const up = document.getElementById("up");
  for (const select of [across, up]) {
    figures.forEach(({ name, title }) => select.append(made("option", { value: name }, title)));
  }
  const preferred = ["accuracy", "instructions", "flash_bytes"].find((name) => known(name));
  if (preferred) up.value = preferred;

  const models = distinct("model");
  const colorOf = (row) => `var(--${COLORS[models.indexOf(row.model) % COLORS.length]})`;
  const frame = { left: 100, right: 24, top: 28, bottom: 42, width: 1212, height: 470 };

  // Round numbers between two: 1, 2, 5, 10... in steps of one size, or growing.
  const steps = (least, most) => {
    const rough = (most - least) / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((one) => one * power >= rough) * power;
    const ticks = [];
    for (let number = Math.ceil(least / step); number * step <= most; number += 1) ticks.push(number * step);
    return ticks;
  };
  const decades = (least, most) => {
    const ticks = [];
    for (let power = 10 ** Math.floor(Math.log10(least)); power <= most; power *= 10) {
      ticks.push(...[1, 2, 5].map((one) => one * power).filter((one) => one >= least && one <= most));
    }
    return ticks;
  };
  // A scale from figures to places: logarithmic where the largest is many times the smallest.
  const scale = (values, from, to) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const logs = low > 0 && high / low > 8;
    const [a, b] = logs ? [Math.log(low), Math.log(high)] : [low, high];
    const span = b - a || Math.abs(b) || 1;
    const [begin, end] = [a - span * 0.04, b + span * 0.04];
    const place = (one) => from + ((logs ? Math.log(one) : one) - begin) / (end - begin) * (to - from);
    const [least, most] = logs ? [Math.exp(begin), Math.exp(end)] : [begin, end];
    return { place, ticks: logs ? decades(least, most) : steps(least, most) };
  };
  const rounded = (one) => {
    if (one === 0) return "0";
    const unit = Math.abs(one) >= 1e6 ? [1e6, " M"] : Math.abs(one) >= 1e4 ? [1e3, " k"] : [1, ""];
    return `${Number((one / unit[0]).toPrecision(3)).toLocaleString("en-US")}${unit[1]}`;
  };

  const bestOfTwo = (points, x, y) => {
    const better = Object.fromEntries(FIGURES.map((figure) => [figure.name, figure.better]));
    const sorted = [...points].sort((a, b) => (b[x] - a[x]) * better[x] || (b[y] - a[y]) * better[y]);
    const line = [];
    for (const point of sorted) {
      if (!line.length || (point[y] - line[line.length - 1][y]) * better[y] > 0) line.push(point);
    }
    return line;
  };

  let picked = new Set();
  const draw = (chosen, front) => {
    const [x, y] = [across.value, up.value];
    const picture = document.getElementById("picture");
    picture.replaceChildren();
    const points = chosen.filter((row) => row.state === "fits" && row[x] !== null && row[y] !== null);
    if (!points.length) {
      picture.append(made("text", { class: "axis", x: frame.width / 2, y: frame.height / 2, "text-anchor": "middle" }, "nothing that fits has both figures"));
      document.getElementById("legend").replaceChildren();
      return;
    }
    const bottom = frame.height - frame.bottom;
    const horizontal = scale(points.map((row) => row[x]), frame.left, frame.width - frame.right);
    const vertical = scale(points.map((row) => row[y]), bottom, frame.top);
    for (const tick of vertical.ticks) {
      const at = vertical.place(tick);
      picture.append(made("line", { class: "grid", x1: frame.left, x2: frame.width - frame.right, y1: at, y2: at }));
      picture.append(made("text", { class: "axis", x: frame.left - 8, y: at + 4, "text-anchor": "end" }, rounded(tick)));
    }
    for (const tick of horizontal.ticks) {
      picture.append(made("text", { class: "axis", x: horizontal.place(tick), y: bottom + 18, "text-anchor": "middle" }, rounded(tick)));
    }
    const title = (name) => FIGURES.find((figure) => figure.name === name).title;
    picture.append(made("text", { class: "axis", x: frame.width - frame.right, y: bottom + 34, "text-anchor": "end" }, title(x)));
    picture.append(made("text", { class: "axis", x: 4, y: 12 }, title(y)));
    const tasks = [...new Set(points.map((row) => row.task))];
    for (const task of tasks) {
      const line = bestOfTwo(points.filter((row) => row.task === task), x, y);
      const places = line.map((row) => `${horizontal.place(row[x])},${vertical.place(row[y])}`);
      picture.append(made("polyline", { class: "join", points: places.join(" ") }));
    }
    const places = new Map();
    for (const row of points) {
      const key = JSON.stringify([row.model, row[x], row[y]]);
      if (!places.has(key)) places.set(key, []);
      places.get(key).push(row);
    }
    const large = (group) => group.some((row) => front.has(row.number));
    for (const group of [...places.values()].sort((a, b) => large(a) - large(b))) {
      const first = group[0];
      const names = group.slice(0, 12).map((row) => `${row.board}, ${row.options}`);
      if (group.length > names.length) names.push(`and ${group.length - names.length} more`);
      const tip = [`${first.model}: ${title(x)} ${shown(first[x])}, ${title(y)} ${shown(first[y])}`, ...names].join("\n");
      const style = [large(group) ? "front" : "", group.some((row) => picked.has(row.number)) ? "picked" : ""].join(" ").trim();
      const attributes = { cx: horizontal.place(first[x]), cy: vertical.place(first[y]), r: large(group) ? 7 : 4.5, class: style, style: `fill: ${colorOf(first)}` };
      const circle = made("circle", attributes, made("title", {}, tip));
      circle.addEventListener("click", () => {
        picked = new Set(group.map((row) => row.number));
        update();
        const line = document.querySelector("#points tr.picked");
        if (line) line.scrollIntoView({ block: "center" });
      });
      picture.append(circle);
    }
    const names = [...new Set(points.map((row) => row.model))].sort();
    document.getElementById("legend").replaceChildren(...names.map((model) =>
      made("span", {}, made("i", { style: `background: ${colorOf({ model })}` }), model)));
  };

  const NUMBERS = ["ram_bytes", "arena_bytes", "stack_bytes", "flash_bytes", "constants_bytes", "instructions", "milliseconds",
    "milliseconds_uncached", "accuracy"];
  const TITLES = { ram_bytes: "RAM", arena_bytes: "arena", stack_bytes: "stack", flash_bytes: "flash", constants_bytes: "constants",
    milliseconds_uncached: "uncached" };
  const columns = ["model", "options", "board", "state", ...NUMBERS.filter(known), "reason"].filter(
    (name) => name !== "reason" || rows.some((row) => row.reason));
  const sort = { name: "", direction: 1 };
  let limit = STEP;
  const head = made("tr");
  for (const name of columns) {
    const cell = made("th", { class: NUMBERS.includes(name) ? "number" : "", tabindex: "0" }, TITLES[name] || name);
    const turn = () => {
      sort.direction = sort.name === name ? -sort.direction : 1;
      sort.name = name;
      update();
    };
    cell.addEventListener("click", turn);
    cell.addEventListener("keydown", (event) => { if (event.key === "Enter") turn(); });
    head.append(cell);
  }
  document.querySelector("#points thead").append(head);

  const compare = (a, b) => {
    const [one, other] = [a[sort.name], b[sort.name]];
    if (one === null || other === null) return (one === null) - (other === null); // what is not known comes last
    const order = typeof one === "number" ? one - other : one.localeCompare(other);
    return order * sort.direction || a.number - b.number;
  };
  const cellOf = (row, name) => {
    const text = name === "accuracy" && row.accuracy !== null ? `${row.measure} ${shown(row.accuracy)}` : shown(row[name]);
    const error = row[`${name}_error`];
    const style = NUMBERS.includes(name) ? "number" : name === "state" ? row.state.split(" ").pop() : name;
    const words = error ? `${text} ± ${shown(error)} %` : text;
    const cell = made("td", { class: style }, name === "reason" ? made("div", {}, words) : words);
    if (name === "reason") cell.title = row.reason;
    if (name === "options") cell.title = row.words;
    return cell;
  };
  const list = (chosen, front) => {
    const ordered = sort.name ? [...chosen].sort(compare) : chosen;
    const first = [...ordered.filter((row) => picked.has(row.number)), ...ordered.filter((row) => !picked.has(row.number))];
    document.querySelector("#points tbody").replaceChildren(...first.slice(0, limit).map((row) => {
      const style = [front.has(row.number) ? "front" : "", picked.has(row.number) ? "picked" : ""].join(" ").trim();
      return made("tr", { class: style }, ...columns.map((name) => cellOf(row, name)));
    }));
    document.getElementById("more").hidden = chosen.length <= limit;
    [...head.children].forEach((cell, place) => {
      cell.setAttribute("aria-sort", columns[place] !== sort.name ? "none" : sort.direction > 0 ? "ascending" : "descending");
    });
  };

  const update = () => {
    const passing = rows.filter(passes);
    const front = frontOf(passing);
    const chosen = filters.elements.front.checked ? passing.filter((row) => front.has(row.number)) : passing;
    const fitting = chosen.filter((row) => row.state === "fits").length;
    document.getElementById("chosen").textContent =
      `${shown(chosen.length)} of ${shown(rows.length)} points are shown, ${shown(fitting)} of them fit, ${shown(front.size)} are the front.`;
    draw(chosen, front);
    list(chosen, front);
  };
  document.getElementById("more").addEventListener("click", () => { limit += STEP; update(); });
  filters.addEventListener("input", () => { picked = new Set(); limit = STEP; update(); });
  filters.addEventListener("submit", (event) => event.preventDefault());
  across.addEventListener("input", update);
  up.addEventListener("input", update);
  update();
})();
