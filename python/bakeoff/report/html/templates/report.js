// The page is complete without this script: it only lets a reader point, pick and set off.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const root = document.documentElement;
  root.classList.add("scripted");

  // ---- numbers -------------------------------------------------------------------------------------------------
  const digits = (value) => (Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : value.toPrecision(3));
  const scaled = (value, units) => {
    for (const [unit, size] of units) if (Math.abs(value) >= size * 0.9995) return `${digits(value / size)} ${unit}`;
    return digits(value);
  };
  const words = (value, unit) => {
    if (unit === "ms") return value ? scaled(value, [["s", 1e3], ["ms", 1], ["µs", 1e-3]]) : "0";
    if (unit.startsWith("bytes")) {
      const suffix = unit.slice(5);
      return scaled(value, [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10], ["B", 1]]) + suffix;
    }
    if (unit === "ratio") return `${digits(value * 100)} %`;
    return unit === "ops/s" ? `${digits(value)}/s` : `${digits(value)} ${unit}`.trim();
  };

  // ---- reading values back from a drawing ------------------------------------------------------------------------
  const axis = (text) => {
    const [kind, low, high, ...unit] = text.split(",");
    return { kind, low: Number(low), high: Number(high), unit: unit.join(",") };
  };
  const value = (scale, share) =>
    scale.kind === "log" ? scale.low * (scale.high / scale.low) ** share : scale.low + (scale.high - scale.low) * share;
  const place = (scale, at) => {
    if (scale.kind === "nines") return `p${((1 - 10 ** -at) * 100).toPrecision(6).replace(/\.?0+$/, "")}`;
    return scale.kind === "points" ? "" : `${digits(at)} ${scale.unit}`;
  };
  const panels = new Map(); // drawing -> its panels, read when it is first pointed at
  const panelsOf = (svg) => {
    if (!panels.has(svg)) {
      panels.set(svg, all("g.panel", svg).map((group) => {
        const [x, y, width, height] = group.dataset.plot.split(",").map(Number);
        const owners = new Set(all("polyline", group).map((line) => line.parentNode)); // one line may have gaps
        const pointsOf = (line) => line.getAttribute("points").split(" ").map((p) => p.split(",").map(Number));
        const lines = [...owners].map((owner) => ({ owner, points: all("polyline", owner).flatMap(pointsOf) }));
        return { group, x, y, width, height, lines, xs: axis(group.dataset.x), ys: axis(group.dataset.y) };
      }));
    }
    return panels.get(svg);
  };
  const nearest = (points, x) => points.reduce((best, p) => (Math.abs(p[0] - x) < Math.abs(best[0] - x) ? p : best));

  const tip = document.createElement("div");
  tip.id = "tip";
  document.body.append(tip);
  const show = (event, text) => {
    tip.textContent = text; // never as markup: names come from plans and databases
    tip.style.display = "block";
    const box = tip.getBoundingClientRect();
    const left = event.clientX + 14 + box.width > innerWidth ? event.clientX - 14 - box.width : event.clientX + 14;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 4))}px`;
  };
  const rule = document.createElementNS("http://www.w3.org/2000/svg", "line");
  rule.setAttribute("class", "rule");
  const hide = () => {
    tip.style.display = "none";
    rule.remove();
  };

  const readout = (panel, x) => {
    const rows = [];
    for (const line of panel.lines) {
      if (line.owner.classList.contains("faded") || line.owner.style.display === "none") continue;
      const [px, py] = nearest(line.points, x);
      if (Math.abs(px - x) > panel.width / 2) continue;
      rows.push([value(panel.ys, (panel.y + panel.height - py) / panel.height), line.owner.dataset.name]);
    }
    rows.sort((a, b) => b[0] - a[0]);
    const listed = rows.slice(0, 12).map(([v, name]) => `${name}: ${words(v, panel.ys.unit)}`);
    if (rows.length > 12) listed.push(`and ${rows.length - 12} more`);
    const at = place(panel.xs, value(panel.xs, (x - panel.x) / panel.width));
    return [at && `${panel.group.dataset.name}, ${at}`, ...listed].filter(Boolean).join("\n");
  };
  const pointed = (svg, event) => {
    const mark = event.target.closest("[data-tip]");
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const panel = panelsOf(svg).find(
      (p) => at.x >= p.x && at.x <= p.x + p.width && at.y >= p.y - 4 && at.y <= p.y + p.height + 4);
    if (mark) {
      rule.remove();
      return show(event, mark.dataset.tip);
    }
    if (!panel || !panel.lines.length) return hide();
    for (const [name, v] of [["x1", at.x], ["x2", at.x], ["y1", panel.y], ["y2", panel.y + panel.height]]) {
      rule.setAttribute(name, v);
    }
    if (rule.parentNode !== svg) svg.append(rule);
    const text = readout(panel, at.x);
    return text ? show(event, text) : hide();
  };
  for (const svg of all("svg.chart")) {
    for (const title of all("title", svg)) {
      title.parentNode.dataset.tip = title.textContent; // the page's own hint instead of the browser's slow one
      title.remove();
    }
    svg.addEventListener("pointermove", (event) => pointed(svg, event));
    svg.addEventListener("pointerleave", hide);
  }

  // ---- setting off one contestant, or one repetition ---------------------------------------------------------------
  let series = null;
  let repetition = "";
  const paint = () => {
    for (const part of all("svg.chart [data-series]")) {
      if (part.classList.contains("key")) part.classList.toggle("faded", series !== null && part.dataset.series !== series);
      else {
        const other = series !== null && part.dataset.series !== series;
        part.classList.toggle("faded", other || (repetition !== "" && part.dataset.rep && part.dataset.rep !== repetition));
      }
    }
  };
  for (const key of all("svg.chart .key")) {
    key.addEventListener("click", () => {
      series = series === key.dataset.series ? null : key.dataset.series;
      paint();
    });
  }

  // ---- picking a setting -------------------------------------------------------------------------------------------
  const settings = all(".details-of-setting");
  const picker = document.getElementById("setting");
  if (picker) {
    const pick = () => settings.forEach((d, n) => {
      d.open = String(n) === picker.value;
      d.hidden = !d.open;
    });
    picker.addEventListener("change", pick);
    pick();
  }
  const reps = document.getElementById("repetition");
  if (reps) {
    reps.addEventListener("change", () => {
      repetition = reps.value;
      paint();
    });
  }

  // ---- long tables are folded on a screen and whole on paper ------------------------------------------------------
  const folded = all("details.in-print");
  folded.forEach((d) => { d.open = false; });
  addEventListener("beforeprint", () => folded.forEach((d) => { d.open = true; }));
  addEventListener("afterprint", () => folded.forEach((d) => { d.open = false; }));
})();
