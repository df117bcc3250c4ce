// State of the page that several of its parts read, and values stored in the browser.

import { $ } from "./elements.js";
import { newKey } from "./server.js";

export const state = {
  session: null, // title, classes, strategy
  question: null, // the open question
  history: [], // the annotator's last entries, latest first
  selected: new Set(), // codes of the selected labels
  degree: null, // how certain the annotator is: "sure", "probably", "guess", or null
  order: [], // codes in display order
  busy: false, // whether a request is running
};

// Return the accessors of a value in localStorage or sessionStorage; `initial` is used until a value is set.
export function stored(storage, name, initial) {
  let value = null; // fallback for browsers without storage
  return {
    get() {
      try { value = storage().getItem(name) ?? value; } catch { /* not allowed */ }
      if (value === null) this.set(initial());
      return value;
    },
    set(newValue) {
      value = newValue;
      try { storage().setItem(name, newValue); } catch { /* not allowed */ }
    },
  };
}

export const annotator = stored(() => localStorage, "oneof-annotator", () => state.session.annotator);
const ownWindow = stored(() => sessionStorage, "oneof-window", newKey);

export function identity() {
  return { annotator: annotator.get(), window: ownWindow.get() };
}

export function focusQuestion() {
  $(state.question ? "question" : "done").focus({ preventScroll: true });
}
