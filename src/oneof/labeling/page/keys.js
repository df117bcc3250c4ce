// Keyboard shortcuts.

import { N_DIGIT_KEYS, toggle } from "./candidates.js";
import { $ } from "./elements.js";
import { state } from "./state.js";
import { text } from "./strings.js";

const KEYS = { accept: "Enter", reject: "n", unknown: "d", skip: "s", undo: "u", find: "/" };

function keyName(key) {
  return key === "Enter" ? text("key.enter") : key;
}

// Run the action of a key, and show the keys in the elements with data-key.
export function listen(actions) {
  for (const element of document.querySelectorAll("[data-key]")) element.textContent = keyName(KEYS[element.dataset.key]);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
    const target = event.target;
    if (target.tagName === "INPUT") return;
    // Enter on a label submits the selection (the space bar selects); other buttons and links keep their own action.
    if (event.key === "Enter" && target.closest("button:not(.candidate), a")) return;
    if (/^\d$/.test(event.key) && state.question) {
      const code = state.order[(Number(event.key) + N_DIGIT_KEYS - 1) % N_DIGIT_KEYS];
      if (code === undefined || state.busy) return;
      event.preventDefault();
      toggle(code);
      return;
    }
    const action = Object.keys(KEYS).find((name) => KEYS[name] === event.key);
    if (!action || (action === "find" && $("find").hidden)) return;
    event.preventDefault();
    actions[action]();
  });
}
