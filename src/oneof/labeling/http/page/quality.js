// Estimated quality of the model, as text and as a curve over the answers.

import { draw } from "./elements.js";
import { number, percent, text } from "./strings.js";

export function qualityText({ n_checks: n, n_covered: covered, n_exact: nExact }) {
  if (!n) return text("quality.none");
  const partial = n - nExact;
  if (!partial) return text("quality.exact", { covered, n });
  return `${text("quality.allowed", { covered, n })} ${text("quality.partial", { n: partial })}`;
}

export function curve(points) {
  const [width, height, left, bottom] = [300, 120, 38, 18];
  const last = points.at(-1).n_answers;
  const first = points[0].n_answers;
  const x = (n) => left + ((width - left - 6) * (n - first)) / Math.max(1, last - first);
  const y = (rate) => 6 + (height - bottom - 6) * (1 - rate);
  const drawing = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": curveText(points) });
  for (const rate of [0, 0.5, 1]) {
    drawing.append(draw("line", { class: "axis", x1: left, x2: width - 6, y1: y(rate), y2: y(rate) }));
    drawing.append(draw("text", { x: left - 5, y: y(rate) + 4, "text-anchor": "end" }, percent(rate).replace(/\s/, "")));
  }
  const upper = points.map((p) => `${x(p.n_answers)},${y(p.high)}`);
  const lower = points.map((p) => `${x(p.n_answers)},${y(p.low)}`).reverse();
  drawing.append(draw("polygon", { class: "band", points: [...upper, ...lower].join(" ") }));
  drawing.append(draw("polyline", { class: "line", points: points.map((p) => `${x(p.n_answers)},${y(p.rate)}`).join(" ") }));
  drawing.append(draw("text", { x: left, y: height - 3 }, text("quality.answers", { n: first })));
  drawing.append(draw("text", { x: width - 6, y: height - 3, "text-anchor": "end" }, number(last)));
  return drawing;
}

function curveText(points) {
  const [first, last] = [points[0], points.at(-1)];
  return text("quality.curve", { first: percent(first.rate), n: first.n_answers, last: percent(last.rate), n_last: last.n_answers });
}
