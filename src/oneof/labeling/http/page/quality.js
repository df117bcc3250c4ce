// Estimated quality of the model, as text and as a curve over the answers.

import { $, draw } from "./elements.js";
import { count, number, percent } from "./words.js";

export function showQuality({ estimate, curve: points, last_error: error }) {
  const { rate, low, high } = estimate;
  $("rate").textContent = rate === null ? "–" : percent(rate);
  $("interval").textContent = rate === null ? "" : `95% interval: ${percent(low)} to ${percent(high)}`;
  $("chance").textContent = rate === null ? "" : chanceText(estimate);
  $("quality").textContent = qualityText(estimate);
  $("curve").replaceChildren(...(points.length > 1 ? [curve(points, estimate.chance)] : []));
  $("model").textContent = error ? `The model could not be fitted: ${error}` : "";
}

// A rate has a meaning only in comparison with that of labels drawn at random.
function chanceText({ low, high, chance }) {
  const relation = low > chance ? "Better than" : high < chance ? "Worse than" : "Not yet better than";
  return `${relation} random labels (${percent(chance)}).`;
}

function qualityText({ n_checks: n, n_covered: covered, n_exact: nExact }) {
  if (!n) return "Not known yet. It is estimated on random rows, which the model predicts before you answer.";
  const rows = `${number(covered)} of the last ${count(n, "random row")}`;
  if (n === nExact) return `The model had predicted the answer for ${rows}. Wrong answers make this rate too low.`;
  const several = `${count(n - nExact, "answer")} had several labels, so the accuracy may be lower.`;
  return `The model predicted a label that your answer allows for ${rows}, before you answered. ${several}`;
}

function curve(points, chance) {
  const [width, height, left, bottom] = [300, 120, 38, 18];
  const last = points.at(-1).n_answers;
  const first = points[0].n_answers;
  const x = (n) => left + ((width - left - 6) * (n - first)) / Math.max(1, last - first);
  const y = (rate) => 6 + (height - bottom - 6) * (1 - rate);
  const drawing = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": curveText(points, chance) });
  for (const rate of [0, 0.5, 1]) {
    drawing.append(draw("line", { class: "axis", x1: left, x2: width - 6, y1: y(rate), y2: y(rate) }));
    drawing.append(draw("text", { x: left - 5, y: y(rate) + 4, "text-anchor": "end" }, percent(rate).replace(/\s/, "")));
  }
  const upper = points.map((p) => `${x(p.n_answers)},${y(p.high)}`);
  const lower = points.map((p) => `${x(p.n_answers)},${y(p.low)}`).reverse();
  drawing.append(draw("polygon", { class: "band", points: [...upper, ...lower].join(" ") }));
  drawing.append(draw("line", { class: "chance", x1: left, x2: width - 6, y1: y(chance), y2: y(chance) }));
  drawing.append(draw("polyline", { class: "line", points: points.map((p) => `${x(p.n_answers)},${y(p.rate)}`).join(" ") }));
  drawing.append(draw("text", { x: left, y: height - 3 }, count(first, "answer")));
  drawing.append(draw("text", { x: width - 6, y: height - 3, "text-anchor": "end" }, number(last)));
  return drawing;
}

function curveText(points, chance) {
  const [first, last] = [points[0], points.at(-1)];
  const start = `${percent(first.rate)} after ${count(first.n_answers, "answer")}`;
  return `Estimate over time: ${start}, ${percent(last.rate)} after ${number(last.n_answers)}. Random labels: ${percent(chance)}.`;
}
