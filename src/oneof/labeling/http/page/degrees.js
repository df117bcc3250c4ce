// How certain the annotator is of the open answer: sure, probably, a guess, or not stated. Each question begins without.

import { $ } from "./elements.js";
import { state } from "./state.js";

// Choose a degree, or none, and show it on the buttons.
export function setDegree(degree) {
  state.degree = degree;
  for (const button of $("degrees").querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.degree === degree));
}

// Choose a degree, or none if it is chosen already; return false without a question, which leaves the key to the browser.
export function toggleDegree(degree) {
  if (!state.question || state.busy) return false;
  setDegree(state.degree === degree ? null : degree);
  return true;
}

for (const button of $("degrees").querySelectorAll("button")) button.addEventListener("click", () => toggleDegree(button.dataset.degree));
