// Several annotators: Krippendorff's alpha, their accuracies and progress, and the rows and labels on which they differ.

import { $, make } from "./elements.js";
import { focusQuestion, state } from "./state.js";
import { answerText, count, number, percent } from "./words.js";

export function showAgreement(agreement, openRow) {
  const { statistics } = agreement; // for the lead only
  $("agreement").hidden = false;
  $("agreement-words").textContent = statistics ? "Agreement of the annotators" : "Your progress, and rows in dispute";
  $("statistics").hidden = !statistics;
  if (statistics) showStatistics(statistics, agreement.n_shared);
  showWork(agreement.progress);
  $("conflicts-words").textContent = conflictsText(agreement);
  $("conflicts-note").textContent = noteText(agreement);
  $("informed-choice").hidden = state.session.is_lead || !agreement.conflicts.length;
  $("conflicts").replaceChildren(...agreement.conflicts.map((conflict) => conflictItem(conflict, openRow)));
}

function showStatistics(statistics, nShared) {
  $("weighted").hidden = !nShared;
  $("alpha").textContent = statistics.alpha === null ? "–" : number(statistics.alpha, 2);
  $("alpha-words").textContent = alphaText(statistics, nShared);
  showPairs(statistics);
  $("annotators").replaceChildren(...statistics.annotators.map((one) => annotatorLine(one)));
  $("accuracy-words").textContent = accuracyText(statistics);
}

function alphaText({ alpha, alpha_interval: interval, masi_alpha: masi }, n) {
  if (!n) return "No row has answers of two annotators yet. Open a row of another annotator, or start with --annotations-per-item 2.";
  const shared = `${count(n, "row")} with several answers`;
  if (alpha === null) return `Not defined, since all answers are equal: ${shared}.`;
  const range = interval ? `95% interval: ${number(interval[0], 2)} to ${number(interval[1], 2)}. ` : "";
  const ofSets = masi === null ? "" : ` ${number(masi, 2)} with the MASI distance, by which sets that overlap differ less.`;
  return `${range}1 is equal answers, 0 is chance; from ${shared}.${ofSets}`;
}

function accuracyText({ annotators, copies, min_shared_rows: needed }) {
  const sentences = annotators.some((one) => one.accuracy !== null) ? ["The bar is the 90% interval, the mark in it the estimate."] : [];
  if (annotators.some((one) => one.accuracy === null)) {
    sentences.push(`The accuracy of an annotator is estimated from at least ${count(needed, "row")} that another annotator has answered, too.`);
  }
  for (const names of copies) sentences.push(`Possible copies, whose answers agree unusually often: ${names.join(", ")}.`);
  return sentences.join(" ");
}

function annotatorLine(annotator) {
  const accuracy = make("td", "", annotator.accuracy === null ? "–" : percent(annotator.accuracy));
  if (annotator.accuracy !== null) {
    accuracy.append(range(annotator), make("small", "", `${percent(annotator.low)} to ${percent(annotator.high)}`));
  }
  const element = line(annotator.name, [make("td", "", number(annotator.n_answers)), accuracy]);
  if (annotator.is_chance) {
    element.className = "chance";
    element.firstChild.append(make("small", "", "no better than chance"));
  }
  return element;
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

function conflictsText({ n_shared: nShared, n_conflicts: n }) {
  if (!nShared) return "";
  return n ? `${count(n, "row")} with answers that exclude each other` : "No row has answers that exclude each other.";
}

function noteText(agreement) {
  const [n, hidden] = [agreement.conflicts.length, agreement.n_hidden];
  const isPart = n > 0 && n + hidden < agreement.n_conflicts;
  const listed = isPart ? `The ${count(n, "least certain row")} ${n === 1 ? "is" : "are"} listed.` : n > 1 ? "The least certain row is the first." : "";
  const colors = state.session.is_lead && n ? "Orange answers exclude the most probable label." : "";
  const unlisted = hidden ? `${count(hidden, "row")} that you may still be asked ${hidden === 1 ? "is" : "are"} not listed.` : "";
  return [listed, unlisted, colors].filter(Boolean).join(" ");
}

function conflictItem(conflict, openRow) {
  const button = make("button");
  button.type = "button";
  const { row } = conflict;
  const summary = make("span", "summary", conflict.summary || `row ${row}`);
  button.append(summary, ...(conflict.answers.length ? opinionLines(conflict) : [make("span", "", count(conflict.n_answers, "answer"))]));
  button.append(make("span", "visually-hidden", `Row ${row}: open the row`));
  button.addEventListener("click", async () => {
    const isInformed = state.session.is_lead || $("informed").checked;
    await openRow(conflict.row, isInformed ? "informed review" : "review");
    focusQuestion(); // so that Enter submits an answer, and does not open this row again
  });
  const line = make("li");
  line.append(button);
  return line;
}

// The answers to a row in dispute, as the lead sees them.
function opinionLines(conflict) {
  const estimate = `most probable: ${answerText("one of", [conflict.label])} ${percent(conflict.probability)}`;
  const opinions = make("span", "opinions");
  conflict.answers.forEach((one, index) => {
    opinions.append(index ? " · " : "", make("span", one.differs ? "differs" : "", opinionText(one)));
  });
  return [opinions, make("span", "summary", estimate)];
}

export function opinionText({ annotator, kind, labels, degree }) {
  const answer = answerText(kind, labels, degree);
  return annotator === null ? answer : `${annotator}: ${answer}`;
}

// Show who differs from whom, and between which labels.
function showPairs({ pairs, confused }) {
  const { names, n_hidden: nHidden } = pairs;
  $("pairs").hidden = names.length < 2;
  $("pairs-head").replaceChildren(make("td"), ...names.map((name) => heading(name, "col")));
  $("pairs-body").replaceChildren(...names.map((name, row) => line(name, names.map((_, column) => pairCell(pairs, row, column)))));
  $("pairs-note").textContent = nHidden ? `The ${count(names.length, "annotator")} with the most common rows are listed.` : "";
  $("confused").hidden = !confused.length;
  $("confused-body").replaceChildren(...confused.map(({ first, second, n_pairs: n }) => {
    const label = (code) => state.session.classes[code];
    return line(label(first), [make("td", "", label(second)), make("td", "", number(n, Number.isInteger(n) ? 0 : 1))]);
  }));
}

function showWork(progress) {
  const hasGold = progress.some((one) => one.gold);
  $("work").hidden = !progress.length;
  $("work-words").textContent = state.session.is_lead ? "Progress of the annotators" : "Your progress";
  $("work-gold").hidden = $("work-gold-note").hidden = !hasGold;
  $("work-body").replaceChildren(...progress.map((one) => workLine(one, hasGold)));
}

function workLine(one, hasGold) {
  const share = (n) => make("td", "", one.n_answers ? percent(n / one.n_answers) : "–");
  const nShown = one.n_answers + one.n_skipped;
  const skipped = make("td", "", nShown ? percent(one.n_skipped / nShown) : "–");
  const cells = [
    make("td", "", number(one.n_answers)), make("td", "", one.rate === null ? "–" : number(one.rate)),
    share(one.n_sets), share(one.n_unknown), skipped, make("td", "", lastText(one.seconds_since_last)),
  ];
  if (hasGold) cells.push(goldCell(one.gold));
  return line(one.name, cells);
}

function lastText(seconds) {
  if (seconds === null) return "–";
  const minutes = Math.floor(seconds / 60);
  return `${minutes < 60 ? count(minutes, "minute") : count(Math.floor(minutes / 60), "hour")} ago`;
}

function goldCell(gold) {
  if (!gold) return make("td", "", "–");
  const cell = make("td", "", percent(gold.rate));
  cell.append(make("small", "", `${percent(gold.low)} to ${percent(gold.high)}, ${count(gold.n_rows, "row")}`));
  return cell;
}

function pairCell({ n_shared: shared, n_equal: equal, n_compatible: compatible }, row, column) {
  const n = shared[row][column];
  if (row === column) return make("td", "own", "·");
  if (!n) return make("td", "", "–");
  const cell = make("td", "", percent(equal[row][column] / n));
  cell.append(make("small", "", `of ${count(n, "row")}`));
  const share = percent(compatible[row][column] / n);
  if (compatible[row][column] > equal[row][column]) cell.append(make("small", "", `${share} with a common label`));
  return cell;
}

function line(name, cells) {
  const element = make("tr");
  element.append(heading(name, "row"), ...cells);
  return element;
}

function heading(name, scope) {
  const cell = make("th", "", name);
  cell.scope = scope;
  return cell;
}
