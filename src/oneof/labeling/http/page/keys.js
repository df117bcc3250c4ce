// Keyboard shortcuts, which the annotator can change or switch off (WCAG 2.2, 2.1.4).

import { stored } from "./state.js";

export const SHORTCUTS = {
  accept: { key: "Enter", name: "It is one of these" },
  reject: { key: "n", name: "None of these" },
  unknown: { key: "d", name: "Don’t know" },
  skip: { key: "s", name: "Skip" },
  undo: { key: "u", name: "Undo" },
  sure: { key: "y", name: "Sure" },
  probably: { key: "p", name: "Probably" },
  guess: { key: "g", name: "A guess" },
  find: { key: "/", name: "Find a label" },
  keep: { key: "k", name: "Keep the labels" },
  take: { key: "t", name: "Take the proposal" },
  zoom: { key: "z", name: "Enlarge" },
};

const changed = stored(() => localStorage, "oneof-keys", () => "{}");
const usage = stored(() => localStorage, "oneof-shortcuts", () => "on");

export const shortcutsOn = () => usage.get() === "on";

export function useShortcuts(on) {
  usage.set(on ? "on" : "off");
  showKeys();
}

function changedKeys() {
  try { return JSON.parse(changed.get()) ?? {}; } catch { return {}; }
}

export function keyOf(action) {
  const key = changedKeys()[action];
  return typeof key === "string" ? key : SHORTCUTS[action].key;
}

// Set the key of an action, "" for none, or return why it is not possible.
export function setKey(action, key) {
  if (/^\s$/.test(key)) return "The space bar presses buttons and cannot be used here.";
  if (/^\d$/.test(key)) return "Digits select labels and cannot be used here.";
  const other = Object.keys(SHORTCUTS).find((name) => key && name !== action && keyOf(name) === key);
  if (other) return `The key ${key} is already used for “${SHORTCUTS[other].name}”.`;
  changed.set(JSON.stringify({ ...changedKeys(), [action]: key }));
  showKeys();
  return "";
}

export function resetKeys() {
  changed.set("{}");
  showKeys();
}

// Show the keys of actions in elements with data-key, and of labels in elements with data-digit.
export function showKeys() {
  const on = shortcutsOn();
  document.body.classList.toggle("without-keys", !on);
  for (const element of document.querySelectorAll("[data-key], [data-digit]")) {
    const key = element.dataset.digit ?? keyOf(element.dataset.key);
    const control = element.closest("button") ?? element.parentElement.querySelector("input");
    element.textContent = key;
    element.hidden = !key;
    element.setAttribute("aria-hidden", "true"); // aria-keyshortcuts has the key for screen readers
    if (on && key) control.setAttribute("aria-keyshortcuts", key); else control.removeAttribute("aria-keyshortcuts");
  }
}

// Run the action of a pressed key; `selectDigit` is called with a digit.
export function listen(actions, selectDigit) {
  showKeys();
  document.addEventListener("keydown", (event) => {
    if (!shortcutsOn() || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
    const target = event.target;
    if (target.matches("input, select, textarea") || document.querySelector("dialog[open]")) return;
    // Enter on a label or a degree submits the selection (the space bar selects); other controls keep their own action.
    if (event.key === "Enter" && target.closest("button:not(.candidate, .degree), a, summary, audio, video")) return;
    if (/^\d$/.test(event.key)) {
      if (selectDigit(Number(event.key))) event.preventDefault();
      return;
    }
    const action = Object.keys(SHORTCUTS).find((name) => keyOf(name) === event.key);
    if (!action || actions[action]() === false) return;
    event.preventDefault();
  });
}
