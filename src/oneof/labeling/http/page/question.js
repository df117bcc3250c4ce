// Display of the open question: why it is asked, its row, its labels and the nearest labeled rows.

import { opinionText } from "./agreement.js";
import { showCandidates } from "./candidates.js";
import { $, make } from "./elements.js";
import { legend } from "./highlights.js";
import { showReview } from "./review.js";
import { content, neighborItem, table } from "./rows.js";
import { state } from "./state.js";
import { either, number, text } from "./strings.js";
import { showColorKey, showTexts } from "./texts.js";

export function showQuestion() {
  const question = state.question;
  const isTable = question.item.kind === "table";
  $("reason").textContent = reason(question);
  showItem();
  $("legend").textContent = legend(question.highlight);
  $("others").hidden = !question.others.length;
  $("others-answers").replaceChildren(...question.others.map((one) => make("li", "", opinionText(one))));
  $("neighbors").hidden = isTable || !question.neighbors.length;
  $("neighbors-rows").classList.toggle("pictures", question.item.kind === "image");
  $("neighbors-rows").replaceChildren(...(isTable ? [] : question.neighbors.map(neighborItem)));
  showTexts(question);
  showColorKey(question);
  showReview();
  showCandidates();
}

// The table of a phone differs from that of a wide window.
export function showItem() {
  const { item, neighbors, row, highlight } = state.question;
  $("item").replaceChildren(item.kind === "table" ? table(item, neighbors) : content(item, row, highlight));
}

function reason(question) {
  const score = question.score === null ? "" : scoreText(question.score);
  const fitted = question.n_labeled ? text("question.fitted", { n: question.n_labeled }) : text("question.not_fitted");
  return [purpose(question), ["query", "check"].includes(question.purpose) && !question.is_suspected ? score : "", fitted].filter(Boolean).join(" ");
}

function purpose(question) {
  const row = String(question.row);
  if (question.purpose === "check") return text("question.check", { row });
  if (question.purpose === "free") return text("question.free", { row });
  if (question.purpose === "review") return text("question.review", { row });
  if (question.purpose === "informed review") return text("question.informed", { row });
  if (question.is_suspected) {
    const labels = (question.candidates ?? []).map((code) => state.session.classes[code]);
    return text("question.suspected", { row, labels: either(labels), n: labels.length });
  }
  return text(question.score === null ? "question.random" : "question.informative", { row });
}

function scoreText(value) {
  const score = number(value, 2);
  switch (state.session.strategy) {
    case "mutual_information": return text("score.mutual_information", { score }); // an approximation, which may exceed the entropy of a label
    case "entropy": return text("score.entropy", { score });
    case "margin": return text("score.margin", { score });
    default: return "";
  }
}
