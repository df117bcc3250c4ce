// Agreement of several annotators: Krippendorff's alpha, their accuracies, and the rows on which they differ.

import { $, count, make, percent } from "./elements.js";

export function showAgreement(agreement, answerText, openRow) {
  $("agreement").hidden = agreement.annotators.length < 2;
  $("weighted").hidden = !agreement.n_shared;
  $("alpha").textContent = agreement.alpha === null ? "–" : agreement.alpha.toFixed(2);
  $("alpha-words").textContent = alphaText(agreement);
  $("annotators").replaceChildren(...agreement.annotators.map((one) => annotatorLine(one)));
  $("accuracy-words").textContent = accuracyText(agreement);
  $("conflicts-words").textContent = conflictsText(agreement);
  $("conflicts-note").textContent = noteText(agreement);
  $("conflicts").replaceChildren(...agreement.conflicts.map((conflict) => conflictItem(conflict, answerText, openRow)));
}

function alphaText(agreement) {
  if (!agreement.n_shared) return "No row has answers of two annotators yet. Open a row of another annotator, or start with --annotations-per-item 2.";
  const shared = `${count(agreement.n_shared, "row")} with several answers`;
  if (agreement.alpha === null) return `Not defined, since all answers are equal: ${shared}.`;
  const sets = agreement.masi_alpha === null ? "" : ` ${agreement.masi_alpha.toFixed(2)} with the MASI distance, by which sets that overlap differ less.`;
  return `1 is equal answers, 0 is chance; from ${shared}.${sets}`;
}

function accuracyText(agreement) {
  if (agreement.annotators.every((one) => one.accuracy !== null)) return "";
  return `The accuracy of an annotator is estimated from at least ${count(agreement.min_shared_rows, "row")} that another annotator has answered, too.`;
}

function annotatorLine(annotator) {
  const line = make("tr", annotator.is_chance ? "chance" : "");
  const name = make("th", "", annotator.name);
  name.scope = "row";
  if (annotator.is_chance) name.append(make("small", "", "no better than chance"));
  const accuracy = make("td", "", annotator.accuracy === null ? "–" : percent(annotator.accuracy));
  if (annotator.accuracy !== null) accuracy.append(range(annotator), make("small", "", `${Math.round(100 * annotator.low)} to ${percent(annotator.high)}`));
  line.append(name, make("td", "", annotator.n_answers.toLocaleString("en")), accuracy);
  return line;
}

// Draw the accuracy and its interval on a line from 0 to 100 %; the text next to it has the numbers.
function range(annotator) {
  const line = make("span", "range");
  const [interval, point] = [make("i"), make("b")];
  interval.style.left = `${100 * annotator.low}%`;
  interval.style.width = `${100 * (annotator.high - annotator.low)}%`;
  point.style.left = `${100 * annotator.accuracy}%`;
  line.setAttribute("aria-hidden", "true");
  line.append(interval, point);
  return line;
}

function conflictsText(agreement) {
  if (!agreement.n_shared) return "";
  return agreement.n_conflicts ? `${count(agreement.n_conflicts, "row")} with answers that exclude each other` : "No row has answers that exclude each other.";
}

function noteText(agreement) {
  const n = agreement.conflicts.length;
  const listed = n + agreement.n_hidden < agreement.n_conflicts ? `The ${n} least certain rows are listed.` : n > 1 ? "The least certain row is the first." : "";
  const hidden = agreement.n_hidden ? `${count(agreement.n_hidden, "row")} that you may still be asked ${agreement.n_hidden === 1 ? "is" : "are"} not listed.` : "";
  return `${listed} ${hidden}`.trim();
}

function conflictItem(conflict, answerText, openRow) {
  const button = make("button");
  button.type = "button";
  const estimate = `${answerText("one of", [conflict.label])} ${percent(conflict.probability)}`;
  const opinions = make("span", "opinions");
  for (const one of conflict.answers) {
    const opinion = make("span", one.differs ? "differs" : "");
    opinion.append(`${one.annotator}: ${answerText(one.kind, one.labels)}`);
    opinions.append(...(opinions.children.length ? [" · "] : []), opinion);
  }
  button.append(make("span", "summary", conflict.summary || `row ${conflict.row}`), opinions, make("span", "summary", `most probable: ${estimate}`));
  const texts = conflict.answers.map((one) => `${one.annotator}: ${answerText(one.kind, one.labels)}`);
  button.setAttribute("aria-label", `Row ${conflict.row}. ${texts.join("; ")}. Most probable: ${estimate}. Open the row`);
  button.addEventListener("click", async () => {
    await openRow(conflict.row);
    $("question").focus(); // so that Enter submits an answer, and does not open this row again
  });
  const line = make("li");
  line.append(button);
  return line;
}
