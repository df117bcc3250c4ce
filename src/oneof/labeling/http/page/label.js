// Labeling page: show a question, send the answer, show the next question.

import { select, setDegree, toggleDegree, toggleDigit } from "./candidates.js";
import { $, announce, showAlert } from "./elements.js";
import { listen } from "./keys.js";
import { enlargeQuestion, listenToZoom } from "./media.js";
import { showProgress } from "./progress.js";
import { listenToLength, reviewedLabels, showItem, showQuestion } from "./question.js";
import { itemText, phone } from "./rows.js";
import { Conflict, newKey, send } from "./server.js";
import { applyColors, listenToSettings } from "./settings.js";
import { annotator, focusQuestion, identity, state } from "./state.js";
import { answerText } from "./words.js";

// Run one request at a time: keys pressed during a request must not answer the next question.
async function exclusive(request) {
  if (state.busy) return;
  state.busy = true;
  document.body.setAttribute("aria-busy", "true");
  try {
    await request();
  } catch (error) {
    if (error instanceof Conflict) {
      await next();
      showAlert(`Not saved: ${error.message}`);
    } else {
      showAlert(error.message);
    }
  } finally {
    state.busy = false;
    document.body.removeAttribute("aria-busy");
  }
}

async function next() {
  show(await send("ask", identity()));
}

function answer(kind) {
  if (!state.question) return;
  const labels = [...state.selected].sort((a, b) => a - b);
  const named = kind === "one of" || kind === "none of";
  if (named && !labels.length) return announce("Select one or more labels first, or “Don’t know”.");
  if (kind === "none of" && labels.length === state.session.classes.length) return announce("This would exclude every label.");
  return exclusive(async () => {
    const content = { question: state.question.id, kind, labels: named ? labels : [], degree: named ? state.degree : null, key: newKey() };
    const response = await send("answer", content);
    show(response, `Saved: ${answerText(kind, content.labels, content.degree)}.`);
  });
}

// Answer with the labels of the table, or with the proposal.
function review(kind) {
  const labels = reviewedLabels(kind);
  if (!labels || state.busy) return false;
  select(labels);
  return answer("one of");
}

function undo() {
  return exclusive(async () => {
    const last = state.history[0];
    const response = await send("undo", { ...identity(), key: newKey(), number: last ? last.number : null });
    show(response);
    if (!response.undone) return announce("There is nothing to undo.");
    const { kind, labels, degree } = response.undone;
    select(labels);
    setDegree(degree);
    announce(`Undone: ${answerText(kind, labels, degree)}. ${openAgain(state.question.row)}`);
  });
}

const openAgain = (row) => `Row ${row} is open again.`;

function openRow(row, purpose = "free") {
  return exclusive(async () => show(await send("open", { ...identity(), row, purpose }), openAgain(row)));
}

// Focus the open question if the focused control has been removed, hidden or disabled, as screen readers would start again
// at the top of the page.
function keepFocus(focused) {
  if (focused === document.body || (focused.isConnected && focused.checkVisibility() && !focused.disabled)) return;
  focusQuestion();
}

function show(response, sentence = "") {
  const focused = document.activeElement;
  const question = state.question = response.question;
  state.history = response.state.history;
  state.selected = new Set();
  $("question").hidden = !question;
  $("done").hidden = Boolean(question);
  if (question) showQuestion();
  showProgress(response.state, openRow);
  const content = question ? `Row ${question.row}. ${itemText(question.item)}` : "All rows are labeled.";
  $("status").textContent = `${sentence} ${content}`;
  $("message").textContent = sentence;
  keepFocus(focused);
  window.scrollTo({ top: 0 });
}

const actions = {
  accept: () => answer("one of"), reject: () => answer("none of"), unknown: () => answer("unknown"), skip: () => answer("skip"),
  sure: () => toggleDegree("sure"), probably: () => toggleDegree("probably"), guess: () => toggleDegree("guess"),
  undo, find: () => ($("find").hidden ? false : $("filter").focus()),
  keep: () => review("keep"), take: () => review("take"), zoom: enlargeQuestion,
};

applyColors();
listen(actions, toggleDigit);
listenToSettings();
listenToZoom();
listenToLength();
phone.addEventListener("change", () => { if (state.question) showItem(); });
for (const id of ["accept", "reject", "unknown", "skip", "undo", "keep", "take"]) $(id).addEventListener("click", actions[id]);
$("undo-last").addEventListener("click", undo);
$("annotator").addEventListener("change", () => {
  const name = $("annotator").value.trim();
  if (!name) { $("annotator").value = annotator.get(); return; }
  annotator.set(name);
  $("annotator").blur();
  exclusive(next);
});

await exclusive(async () => {
  state.session = await send("session");
  document.title = state.session.title;
  $("title").textContent = state.session.title;
  $("annotator").value = annotator.get();
  await next();
});
