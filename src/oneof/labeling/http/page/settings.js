// Settings of the page, which are stored in the browser: colors and keyboard shortcuts.

import { $, make } from "./elements.js";
import { SHORTCUTS, keyOf, resetKeys, setKey, shortcutsOn, useShortcuts } from "./keys.js";
import { focusQuestion, stored } from "./state.js";

const MODIFIERS = ["Alt", "AltGraph", "CapsLock", "Control", "Fn", "Meta", "Shift"];

const colors = stored(() => localStorage, "oneof-colors", () => "system"); // system, light or dark

export function applyColors() {
  document.documentElement.dataset.colors = colors.get();
}

export function listenToSettings() {
  $("colors").value = colors.get();
  $("use-shortcuts").checked = shortcutsOn();
  $("keys").append(...Object.keys(SHORTCUTS).map(keyField));
  showFields();
  $("settings-open").addEventListener("click", () => { $("settings-message").textContent = ""; $("settings").showModal(); });
  $("settings-close").addEventListener("click", () => { $("settings").close(); focusQuestion(); });
  $("settings").addEventListener("close", focusQuestion); // also by Escape, so that Enter submits an answer, and does not open the settings again
  $("colors").addEventListener("change", () => { colors.set($("colors").value); applyColors(); });
  $("use-shortcuts").addEventListener("change", () => { useShortcuts($("use-shortcuts").checked); showFields(); });
  $("keys-reset").addEventListener("click", () => { resetKeys(); showFields("The default keys are set."); });
}

function keyField(action) {
  const field = make("label", "", SHORTCUTS[action].name);
  const input = make("input");
  input.dataset.action = action;
  input.autocomplete = "off";
  input.spellcheck = false;
  input.setAttribute("autocapitalize", "off");
  input.setAttribute("aria-describedby", "keys-note");
  input.addEventListener("focus", () => input.select());
  input.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || MODIFIERS.includes(event.key)) return;
    const isCleared = event.key === "Backspace" || event.key === "Delete";
    if (event.key.length > 1 && event.key !== "Enter" && !isCleared) return; // Tab, Escape, or the keyboard of a phone
    event.preventDefault();
    change(action, isCleared ? "" : event.key);
  });
  input.addEventListener("input", () => change(action, [...input.value].at(-1) ?? ""));
  field.append(input);
  return field;
}

function change(action, key) {
  const problem = setKey(action, key);
  showFields(problem || `${SHORTCUTS[action].name}: ${key ? `key ${key}` : "no key"}.`);
}

function showFields(message = "") {
  $("settings-message").textContent = message;
  $("keys-reset").disabled = !shortcutsOn();
  for (const input of $("keys").querySelectorAll("input")) {
    input.value = keyOf(input.dataset.action);
    input.disabled = !shortcutsOn();
  }
}
