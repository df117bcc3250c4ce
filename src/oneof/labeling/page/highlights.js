// Texts with marked words.

import { make } from "./elements.js";
import { state } from "./state.js";
import { text } from "./strings.js";

// Append a text with marked words to an element, as text and never as markup, and return a legend, or null without words.
export function appendText(element, content, highlight) {
  let at = 0;
  const title = highlight ? legendText(highlight) : "";
  for (const [begin, end] of highlight?.spans ?? []) {
    const mark = make("mark", "", content.slice(begin, end));
    mark.title = title;
    element.append(content.slice(at, begin), mark);
    at = end;
  }
  element.append(content.slice(at));
  return highlight?.spans.length ? make("p", "note legend", title) : null;
}

function legendText({ label, runner_up: other }) {
  return text("row.highlight", { label: state.session.classes[label], other: state.session.classes[other] });
}
