// Display of the open question: why it is asked, its row, its labels, the nearest labeled rows, and a review of its labels.

import { opinionText } from "./agreement.js";
import { showCandidates } from "./candidates.js";
import { $, make } from "./elements.js";
import { content, neighborItem, table } from "./rows.js";
import { state, stored } from "./state.js";
import { count, either, number, percent } from "./words.js";

const LONG_CELL = 160, LONG_TEXT = 600; // characters from which a text can be shortened
const shortened = stored(() => localStorage, "oneof-shorten", () => ""); // empty: in full

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

// Codes of the labels that a button of the review answers with, or null without a proposal.
export function reviewedLabels(kind) {
  const question = state.question;
  if (!question?.proposal || !question.candidates) return null;
  return kind === "keep" ? question.candidates : [question.proposal.label];
}

function showReview() {
  const kept = reviewedLabels("keep");
  $("review").hidden = !kept;
  if (!kept) return;
  const { label, probability } = state.question.proposal;
  $("review-current").textContent = either(kept.map((code) => state.session.classes[code]));
  $("review-proposal").textContent = state.session.classes[label];
  $("review-probability").textContent = probability === null ? "" : `The labels are wrong with probability ${percent(probability)}.`;
}

function showTexts({ item, neighbors }) {
  const items = [item, ...neighbors.map((neighbor) => neighbor.item)];
  $("shorten-choice").hidden = !items.some(isLong);
  applyLength();
}

function isLong(item) {
  if (item.kind === "table") return item.cells.some(([, value]) => value.length > LONG_CELL);
  return item.kind === "text" && item.text.length > LONG_TEXT;
}

function applyLength() {
  $("shorten").checked = Boolean(shortened.get());
  $("question").classList.toggle("shortened", $("shorten").checked);
}

export function listenToLength() {
  $("shorten").addEventListener("change", () => {
    shortened.set($("shorten").checked ? "yes" : "");
    applyLength();
  });
}

// Explain the colors and lines that the question has.
function showColorKey({ item, neighbors, proba, candidates }) {
  const isTable = item.kind === "table";
  const isSame = neighbors.some(({ item: other }) => isTable && other.cells.some(([, value], index) => value === item.cells[index][1]));
  const entries = [
    [isTable, "row", "the row to label"],
    [isTable && neighbors.length, "neighbor", "the nearest labeled rows, with their labels as headings"],
    [isSame, "same", "gray: the same value as the row to label"],
    [proba, "proba", "bar and percentage: probability of the label by the model"],
    [candidates && candidates.length < state.session.classes.length, "outside", "dashed: not a candidate in the table"],
  ];
  $("color-key").replaceChildren(...entries.filter(([shown]) => shown).map(([, name, sentence]) => entry(name, sentence)));
}

function entry(name, sentence) {
  const line = make("li");
  const sample = make("span", `sample ${name}`);
  sample.setAttribute("aria-hidden", "true");
  line.append(sample, " ", sentence);
  return line;
}
