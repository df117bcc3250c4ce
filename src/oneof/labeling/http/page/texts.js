// Long texts in full, or shortened to a few lines, and the key of the colors of a question.

import { $, make } from "./elements.js";
import { state } from "./state.js";
import { stored } from "./storage.js";

const LONG_CELL = 160, LONG_TEXT = 600; // characters from which a text can be shortened
const shortened = stored(() => localStorage, "oneof-shorten", () => ""); // empty: in full

export function showTexts({ item, neighbors }) {
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
export function showColorKey({ item, neighbors, proba, candidates }) {
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
