// Review of labels of the table that are probably wrong: the labels next to the proposal, and progress.

import { $ } from "./elements.js";
import { state } from "./state.js";
import { count, either, number, percent } from "./words.js";

// Codes of the labels that a button of the review answers with, or null without a proposal.
export function reviewedLabels(kind) {
  const question = state.question;
  if (!question?.proposal || !question.candidates) return null;
  return kind === "keep" ? question.candidates : [question.proposal.label];
}

export function showReview() {
  const kept = reviewedLabels("keep");
  $("review").hidden = !kept;
  if (!kept) return;
  const { label, probability } = state.question.proposal;
  $("review-current").textContent = either(kept.map((code) => state.session.classes[code]));
  $("review-proposal").textContent = state.session.classes[label];
  $("review-probability").textContent = probability === null ? "" : `The labels are wrong with probability ${percent(probability)}.`;
}

export function showReviewProgress(review) {
  $("review-progress").hidden = !review;
  if (!review) return;
  const { n_flagged: n, n_checked: checked, n_kept: kept, n_changed: changed, n_unknown: unknown } = review;
  $("review-bar").max = n;
  $("review-bar").value = checked;
  $("review-words").textContent = `${number(checked)} of ${count(n, "flagged row")} checked`;
  $("review-summary").textContent = `${number(kept)} kept, ${number(changed)} changed, ${number(unknown)} not known.`;
}
