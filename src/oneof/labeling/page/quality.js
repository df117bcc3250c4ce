// How often the model was right: in words, and as a curve over the answers.

import { count, draw, percent } from "./elements.js";

export function qualityWords(found) {
  if (!found.checks) return "Not known yet. Some questions are rows drawn at random: they tell, as the model guesses before you answer.";
  const partial = found.checks - found.exact;
  const guessed = partial ? "what your answers allow" : "right";
  const right = `Before you answered, the model guessed ${guessed} in ${found.covered} of the last ${count(found.checks, "row")} drawn at random.`;
  return partial ? `${right} ${count(partial, "answer")} left several labels, so it may be less.` : right;
}

export function curve(points) {
  const [wide, high, left, foot] = [300, 120, 38, 18];
  const last = points.at(-1).answers;
  const first = points[0].answers;
  const x = (n) => left + ((wide - left - 6) * (n - first)) / Math.max(1, last - first);
  const y = (rate) => 6 + (high - foot - 6) * (1 - rate);
  const drawing = draw("svg", { viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": `Estimate over time: ${percent(points[0].rate)} after ${count(first, "answer")}, ${percent(points.at(-1).rate)} after ${last}.` });
  for (const rate of [0, 0.5, 1]) {
    drawing.append(draw("line", { class: "axis", x1: left, x2: wide - 6, y1: y(rate), y2: y(rate) }));
    drawing.append(draw("text", { x: left - 5, y: y(rate) + 4, "text-anchor": "end" }, percent(rate).replace(" ", "")));
  }
  const there = points.map((p) => `${x(p.answers)},${y(p.high)}`);
  const back = points.map((p) => `${x(p.answers)},${y(p.low)}`).reverse();
  drawing.append(draw("polygon", { class: "band", points: [...there, ...back].join(" ") }));
  drawing.append(draw("polyline", { class: "line", points: points.map((p) => `${x(p.answers)},${y(p.rate)}`).join(" ") }));
  drawing.append(draw("text", { x: left, y: high - 3 }, count(first, "answer")));
  drawing.append(draw("text", { x: wide - 6, y: high - 3, "text-anchor": "end" }, String(last)));
  return drawing;
}
