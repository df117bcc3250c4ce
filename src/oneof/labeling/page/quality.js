// Estimated quality of the model, as text and as a curve over the answers.

import { count, draw, percent } from "./elements.js";

export function qualityText(estimate) {
  if (!estimate.n_checks) return "Not known yet. It is estimated on random rows, which the model predicts before you answer.";
  const partial = estimate.n_checks - estimate.n_exact;
  const result = partial ? "a label that your answer allows" : "the right label";
  const text = `The model predicted ${result} for ${estimate.n_covered} of the last ${count(estimate.n_checks, "random row")}, before you answered.`;
  return partial ? `${text} ${count(partial, "answer")} had several labels, so the accuracy may be lower.` : text;
}

export function curve(points) {
  const [width, height, left, bottom] = [300, 120, 38, 18];
  const last = points.at(-1).n_answers;
  const first = points[0].n_answers;
  const x = (n) => left + ((width - left - 6) * (n - first)) / Math.max(1, last - first);
  const y = (rate) => 6 + (height - bottom - 6) * (1 - rate);
  const drawing = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Estimate over time: ${percent(points[0].rate)} after ${count(first, "answer")}, ${percent(points.at(-1).rate)} after ${last}.` });
  for (const rate of [0, 0.5, 1]) {
    drawing.append(draw("line", { class: "axis", x1: left, x2: width - 6, y1: y(rate), y2: y(rate) }));
    drawing.append(draw("text", { x: left - 5, y: y(rate) + 4, "text-anchor": "end" }, percent(rate).replace(" ", "")));
  }
  const upper = points.map((p) => `${x(p.n_answers)},${y(p.high)}`);
  const lower = points.map((p) => `${x(p.n_answers)},${y(p.low)}`).reverse();
  drawing.append(draw("polygon", { class: "band", points: [...upper, ...lower].join(" ") }));
  drawing.append(draw("polyline", { class: "line", points: points.map((p) => `${x(p.n_answers)},${y(p.rate)}`).join(" ") }));
  drawing.append(draw("text", { x: left, y: height - 3 }, count(first, "answer")));
  drawing.append(draw("text", { x: width - 6, y: height - 3, "text-anchor": "end" }, String(last)));
  return drawing;
}
