// Progress of the labeling, the quality of the model, the annotator's last answers and the agreement.

import { showAgreement } from "./agreement.js";
import { $, make } from "./elements.js";
import { showQuality } from "./quality.js";
import { showReviewProgress } from "./review.js";
import { sendQuietly } from "./server.js";
import { annotator, state } from "./state.js";
import { answerText, count, number } from "./words.js";

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
