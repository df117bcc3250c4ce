// Answers in words.

import { withDegree } from "./degrees.js";
import { state } from "./state.js";
import { either, text } from "./strings.js";

export function answerText(kind, codes, degree = null) {
  if (kind === "unknown") return text("said.unknown");
  if (kind === "skip") return text("said.skip");
  const labels = either(codes.map((code) => state.session.classes[code]));
  return withDegree(kind === "none of" ? text("said.none_of", { labels }) : labels, degree);
}
