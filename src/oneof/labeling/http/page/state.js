// State of the page that several of its parts read: the session, the open question, and the annotator of this browser.

import { $ } from "./elements.js";
import { newKey } from "./server.js";
import { stored } from "./storage.js";

export const state = {
  session: null, // title, classes, strategy
  question: null, // the open question
  history: [], // the annotator's last entries, latest first
  selected: new Set(), // codes of the selected labels
  degree: null, // how certain the annotator is: "sure", "probably", "guess", or null
  order: [], // codes in display order
  busy: false, // whether a request is running
};

export const annotator = stored(() => localStorage, "oneof-annotator", () => state.session.annotator);
const ownWindow = stored(() => sessionStorage, "oneof-window", newKey);

export function identity() {
  return { annotator: annotator.get(), window: ownWindow.get() };
}

export function focusQuestion() {
  $(state.question ? "question" : "done").focus({ preventScroll: true });
}
