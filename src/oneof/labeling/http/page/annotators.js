// Tables about several annotators: agreement of each pair, confused classes, and the progress of each annotator.

import { $, make } from "./elements.js";
import { state } from "./state.js";
import { count, number, percent } from "./words.js";

// Show who differs from whom, and between which labels.
export function showPairs({ pairs, confused }) {
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

export function showWork(progress) {
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
