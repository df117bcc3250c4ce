// Texts with marked words.

import { make } from "./elements.js";
import { state } from "./state.js";
import { text } from "./strings.js";

// Append a text with marked words to an element, as text and never as markup.
export function appendText(element, content, highlight) {
  let at = 0;
  const title = legend(highlight);
  for (const [begin, end] of highlight?.spans ?? []) {
    const mark = make("mark", "", content.slice(begin, end));
    mark.title = title;
    element.append(content.slice(at, begin), mark);
    at = end;
  }
  element.append(content.slice(at));
}

// Return a sentence about the marked words, or an empty text without them.
export function legend(highlight) {
  if (!highlight?.spans.length) return "";
  const { label, runner_up: other } = highlight;
  return text("row.highlight", { label: state.session.classes[label], other: state.session.classes[other] });
}
