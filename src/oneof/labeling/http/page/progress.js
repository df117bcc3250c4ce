// Progress of the labeling, the quality of the model, the annotator's last answers and the agreement.

import { showAgreement } from "./agreement.js";
import { $, draw, make } from "./elements.js";
import { sendQuietly } from "./server.js";
import { annotator, state } from "./state.js";
import { answerText, count, number, percent } from "./words.js";

const AGREEMENT_PAUSE = 5; // between requests of the agreement, as a multiple of their time, to limit the work of the server

let agreementOf = null; // number of the last entry, and annotator, of the displayed agreement
let agreementPause = Promise.resolve(); // ends when the agreement may be requested again

export function showProgress(progress, openRow) {
  const answered = progress.n_rows - progress.n_remaining;
  $("progress").max = progress.n_rows;
  $("progress").value = answered;
  $("progress-words").textContent = `${number(answered)} of ${count(progress.n_rows, "row")}`;
  showQuality(progress);
  $("history").replaceChildren(...state.history.map((entry) => historyItem(entry, openRow)));
  $("history-none").hidden = state.history.length > 0;
  $("undo").disabled = $("undo-last").disabled = !state.history.length;
  showReviewProgress(progress.review);
  $("export").hidden = $("done-note").hidden = !progress.can_export;
  updateAgreement(progress, openRow);
}

// The agreement is requested after the next question is shown, so that no annotator waits for it.
async function updateAgreement(progress, openRow) {
  if (progress.n_annotators < 2 && !state.session.is_lead) { $("agreement").hidden = true; agreementOf = null; return; }
  const shown = `${progress.last_entry} ${annotator.get()}`;
  if (agreementOf === shown) return;
  agreementOf = shown;
  const previous = agreementPause;
  let end;
  agreementPause = new Promise((done) => { end = done; });
  await previous;
  if (agreementOf !== shown) return end(); // there is a later request
  const start = performance.now();
  const agreement = await sendQuietly("agreement", { annotator: annotator.get() });
  setTimeout(end, AGREEMENT_PAUSE * (performance.now() - start));
  if (agreementOf === shown && agreement) showAgreement(agreement, openRow);
}

function historyItem(entry, openRow) {
  const { row } = entry;
  const button = make("button");
  button.type = "button";
  button.append(make("span", "", answerText(entry.kind, entry.labels, entry.degree)), make("span", "summary", entry.summary || `row ${row}`));
  button.append(make("span", "visually-hidden", `row ${row}: open again`));
  button.addEventListener("click", () => openRow(entry.row));
  const line = make("li");
  line.append(button);
  return line;
}

function showQuality({ estimate, curve: points, last_error: error }) {
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

function showReviewProgress(review) {
  $("review-progress").hidden = !review;
  if (!review) return;
  const { n_flagged: n, n_checked: checked, n_kept: kept, n_changed: changed, n_unknown: unknown } = review;
  $("review-bar").max = n;
  $("review-bar").value = checked;
  $("review-words").textContent = `${number(checked)} of ${count(n, "flagged row")} checked`;
  $("review-summary").textContent = `${number(kept)} kept, ${number(changed)} changed, ${number(unknown)} not known.`;
}
