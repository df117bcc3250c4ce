// Display of the open question: why it is asked, its row, its labels and the nearest labeled rows.

import { opinionText } from "./agreement.js";
import { showCandidates } from "./candidates.js";
import { $, make } from "./elements.js";
import { showReview } from "./review.js";
import { content, neighborItem, table } from "./rows.js";
import { state } from "./state.js";
import { showColorKey, showTexts } from "./texts.js";
import { count, either, number } from "./words.js";

export function showQuestion() {
  const question = state.question;
  const isTable = question.item.kind === "table";
  $("reason").textContent = reason(question);
  showItem();
  $("others").hidden = !question.others.length;
  $("others-answers").replaceChildren(...question.others.map((one) => make("li", "", opinionText(one))));
  $("neighbors").hidden = isTable || !question.neighbors.length;
  $("neighbors-rows").classList.toggle("pictures", question.item.kind === "image");
  $("neighbors-rows").replaceChildren(...(isTable ? [] : question.neighbors.map(neighborItem)));
  showTexts(question);
  showColorKey(question);
  showReview();
  showCandidates();
  measure();
}

// Measure the heights above the row and of the labels and buttons, for the table to end between them.
function measure() {
  const { style } = document.documentElement;
  style.setProperty("--above", `${$("item").getBoundingClientRect().top + window.scrollY}px`);
  style.setProperty("--answering", `${$("answering").offsetHeight}px`);
}

new ResizeObserver(measure).observe($("answering"));

// The table of a phone differs from that of a wide window.
export function showItem() {
  const { item, neighbors, row } = state.question;
  $("item").replaceChildren(item.kind === "table" ? table(item, neighbors) : content(item, row));
}

function reason(question) {
  const score = question.score === null ? "" : scoreText(question.score);
  const fitted = question.n_labeled ? `Fitted on ${count(question.n_labeled, "row")}.` : "The model has not been fitted yet.";
  return [purpose(question), ["query", "check"].includes(question.purpose) && !question.is_suspected ? score : "", fitted].filter(Boolean).join(" ");
}

function purpose({ row, purpose: why, is_suspected: isSuspected, candidates, score }) {
  const given = {
    check: "drawn at random to evaluate the model", free: "opened by you", review: "in dispute",
    "informed review": "with the answers of the others",
  }[why];
  if (given) return `Row ${row}, ${given}.`;
  if (isSuspected) {
    const labels = (candidates ?? []).map((code) => state.session.classes[code]);
    const [noun, verb] = labels.length === 1 ? ["label", "is"] : ["labels", "are"];
    return `Row ${row}, suspected: its ${noun} ${either(labels)} ${verb} probably wrong.`;
  }
  return `Row ${row}, ${score === null ? "drawn at random" : "the most informative one"}.`;
}

// The information is an approximation, which may exceed the entropy of a label.
function scoreText(score) {
  const value = number(score, 2);
  const texts = {
    mutual_information: `Information score ${value}.`, entropy: `Entropy ${value} nats.`, margin: `Similarity of the top two ${value}.`,
  };
  return texts[state.session.strategy] ?? "";
}
