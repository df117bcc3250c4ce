// Numbers, lists and answers in words.

import { state } from "./state.js";

const alternatives = new Intl.ListFormat("en", { type: "disjunction" });

export function number(value, digits = 0) {
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function percent(fraction) {
  return fraction > 0 && fraction < 0.005 ? "<1%" : fraction.toLocaleString("en", { style: "percent" });
}

// Return a number with its noun: "1 row", "2 rows".
export function count(n, noun, nouns = `${noun}s`) {
  return `${number(n)} ${n === 1 ? noun : nouns}`;
}

// Return names as alternatives: "finch, owl, or wren".
export function either(names) {
  return alternatives.format(names);
}

export function answerText(kind, codes, degree = null) {
  if (kind === "unknown") return "don’t know";
  if (kind === "skip") return "skipped";
  const labels = either(codes.map((code) => state.session.classes[code]));
  return `${kind === "none of" ? "not " : ""}${labels}${degree ? ` (${degree === "guess" ? "a guess" : degree})` : ""}`;
}
