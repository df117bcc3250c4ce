// Agreement of several annotators: Krippendorff's alpha, their accuracies, and the rows on which they differ.

import { showPairs, showWork } from "./annotators.js";
import { answerText } from "./answers.js";
import { $, make } from "./elements.js";
import { focusQuestion, state } from "./state.js";
import { number, parts, percent, text } from "./strings.js";

export function showAgreement(agreement, openRow) {
  const { statistics } = agreement; // for the lead only
  $("agreement").hidden = false;
  $("agreement-words").textContent = text(statistics ? "agreement.heading" : "agreement.own");
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
  $("alpha-words").replaceChildren(...alphaText(statistics, nShared));
  showPairs(statistics);
  $("annotators").replaceChildren(...statistics.annotators.map((one) => annotatorLine(one)));
  $("accuracy-words").textContent = accuracyText(statistics);
}

function alphaText({ alpha, alpha_interval: interval, masi_alpha: masi }, n) {
  if (!n) return parts("agreement.no_shared", { option: make("code", "", "--annotations-per-item 2") });
  const shared = text("agreement.shared", { n });
  if (alpha === null) return parts("agreement.undefined", { shared });
  const limits = interval && { level: percent(0.95), low: number(interval[0], 2), high: number(interval[1], 2) };
  const range = limits ? `${text("agreement.interval", limits)} ` : "";
  return [range, text("agreement.scale", { shared }), masi === null ? "" : ` ${text("agreement.masi", { alpha: number(masi, 2) })}`];
}

function accuracyText(statistics) {
  const known = statistics.annotators.filter((one) => one.accuracy !== null);
  const bars = known.length ? text("agreement.bars", { level: percent(0.9) }) : "";
  const isComplete = known.length === statistics.annotators.length;
  const needed = isComplete ? "" : text("agreement.needed", { n: statistics.min_shared_rows });
  const copies = statistics.copies.map((names) => text("agreement.copies", { names: names.join(", ") }));
  return [bars, needed, ...copies].filter(Boolean).join(" ");
}

function annotatorLine(annotator) {
  const line = make("tr", annotator.is_chance ? "chance" : "");
  const name = make("th", "", annotator.name);
  name.scope = "row";
  if (annotator.is_chance) name.append(make("small", "", text("agreement.chance")));
  const accuracy = make("td", "", annotator.accuracy === null ? "–" : percent(annotator.accuracy));
  if (annotator.accuracy !== null) {
    const limits = { low: percent(annotator.low), high: percent(annotator.high) };
    accuracy.append(range(annotator), make("small", "", text("agreement.range", limits)));
  }
  line.append(name, make("td", "", number(annotator.n_answers)), accuracy);
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

function conflictsText({ n_shared: nShared, n_conflicts: n }) {
  if (!nShared) return "";
  return n ? text("agreement.conflicts", { n }) : text("agreement.no_conflicts");
}

function noteText(agreement) {
  const [n, hidden] = [agreement.conflicts.length, agreement.n_hidden];
  const isPart = n > 0 && n + hidden < agreement.n_conflicts;
  const listed = isPart ? text("agreement.listed", { n }) : n > 1 ? text("agreement.order") : "";
  const colors = state.session.is_lead && n ? text("agreement.colors") : "";
  return `${listed} ${hidden ? text("agreement.hidden", { n: hidden }) : ""} ${colors}`.trim();
}

function conflictItem(conflict, openRow) {
  const button = make("button");
  button.type = "button";
  const row = String(conflict.row);
  const summary = make("span", "summary", conflict.summary || text("row.number", { row }));
  button.append(summary, ...(conflict.answers.length ? opinionLines(conflict) : [make("span", "", text("quality.answers", { n: conflict.n_answers }))]));
  button.append(make("span", "visually-hidden", text("agreement.open", { row })));
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
  const estimate = { label: answerText("one of", [conflict.label]), probability: percent(conflict.probability) };
  const opinions = make("span", "opinions");
  conflict.answers.forEach((one, index) => {
    opinions.append(index ? " · " : "", make("span", one.differs ? "differs" : "", opinionText(one)));
  });
  return [opinions, make("span", "summary", text("agreement.most_probable", estimate))];
}

export function opinionText({ annotator, kind, labels, degree }) {
  const answer = answerText(kind, labels, degree);
  return annotator === null ? answer : text("agreement.said", { annotator, answer });
}
