// Labeling page: show a question, send the answer, show the next question.

import { showAgreement } from "./agreement.js";
import { $, announce, count, make, percent, showAlert } from "./elements.js";
import { curve, qualityText } from "./quality.js";
import { content, itemText, neighborItem, table } from "./rows.js";
import { Conflict, newKey, send, sendQuietly, stored } from "./server.js";

const AGREEMENT_PAUSE = 5; // between requests of the agreement, as a multiple of their time, to limit the work of the server
const N_DIGIT_KEYS = 10; // labels with a digit key; with more labels, the ten most probable ones

let session; // title, classes, strategy
let question = null; // the open question
let history = []; // the annotator's last entries, latest first
let selected = new Set(); // codes of the selected labels
let order = []; // codes in display order
let busy = false;

let agreementOf = null; // number of the last entry, and annotator, of the displayed agreement
let agreementPause = Promise.resolve(); // ends when the agreement may be requested again

const annotator = stored(() => localStorage, "oneof-annotator", () => session.annotator);
const ownWindow = stored(() => sessionStorage, "oneof-window", newKey);

// -- questions and answers

// Run one request at a time: keys pressed during a request must not answer the next question.
async function exclusive(request) {
  if (busy) return;
  busy = true;
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
    busy = false;
    document.body.removeAttribute("aria-busy");
  }
}

function identity() {
  return { annotator: annotator.get(), window: ownWindow.get() };
}

async function next() {
  show(await send("ask", identity()));
}

function answer(kind) {
  if (!question) return;
  const labels = [...selected].sort((a, b) => a - b);
  const named = kind === "one of" || kind === "none of";
  if (named && !labels.length) return announce(`Select one or more labels first, or press d for “don’t know”.`);
  if (kind === "none of" && labels.length === session.classes.length) return announce("This would exclude every label.");
  return exclusive(async () => {
    const content = { question: question.id, kind, labels: named ? labels : [], key: newKey() };
    const response = await send("answer", content);
    show(response, `Saved: ${answerText(kind, content.labels)}.`);
  });
}

function undo() {
  return exclusive(async () => {
    const last = history[0];
    const response = await send("undo", { ...identity(), key: newKey(), number: last ? last.number : null });
    show(response);
    if (response.undone) select(response.undone.labels);
    announce(response.undone ? `Undone: ${answerText(response.undone.kind, response.undone.labels)}. Row ${question.row} is open again.` : "There is nothing to undo.");
  });
}

function openRow(row) {
  return exclusive(async () => show(await send("open", { ...identity(), row }), `Row ${row} is open again.`));
}

// -- display

function show(response, sentence = "") {
  question = response.question;
  history = response.state.history;
  selected = new Set();
  $("question").hidden = !question;
  $("done").hidden = Boolean(question);
  if (question) showQuestion();
  showState(response.state);
  $("status").textContent = `${sentence} ${question ? `Row ${question.row}. ${itemText(question.item)}` : "All rows are labeled."}`;
  $("message").textContent = sentence;
  window.scrollTo({ top: 0 });
}

function showQuestion() {
  $("reason").textContent = reason();
  const isTable = question.item.kind === "table";
  $("item").replaceChildren(isTable ? table(question.item, question.neighbors) : content(question.item, question.row));
  $("neighbors").hidden = isTable || !question.neighbors.length;
  $("neighbors-rows").classList.toggle("pictures", question.item.kind === "image");
  $("neighbors-rows").replaceChildren(...(isTable ? [] : question.neighbors.map(neighborItem)));
  order = displayOrder();
  $("find").hidden = session.classes.length <= N_DIGIT_KEYS;
  $("filter").value = "";
  $("candidates").replaceChildren(...order.map(candidateButton));
  filter();
  select(question.current_answer ? question.current_answer.labels : []);
}

function reason() {
  const fitted = question.n_labeled ? `Fitted on ${count(question.n_labeled, "row")}.` : "The model has not been fitted yet.";
  const score = question.score === null ? "" : scoreText(question.score);
  if (question.purpose === "check") return `Row ${question.row}, drawn at random to evaluate the model. ${score} ${fitted}`;
  if (question.purpose === "free") return `Row ${question.row}, opened by you. ${fitted}`;
  if (question.is_suspected) return `Row ${question.row}, suspected: its ${givenLabels()} probably wrong. ${fitted}`;
  return question.score === null ? `Row ${question.row}, drawn at random. ${fitted}` : `Row ${question.row}, the most informative one. ${score} ${fitted}`;
}

function givenLabels() {
  const names = (question.candidates || []).map((code) => session.classes[code]);
  return names.length > 1 ? `labels ${names.join(", ")} are` : `label ${names.join("")} is`;
}

function scoreText(score) {
  const names = { mutual_information: "Information score", entropy: "Entropy", margin: "Similarity of the top two" };
  const unit = session.strategy === "entropy" ? " nats" : ""; // information is an approximation and may exceed the entropy of a label
  return names[session.strategy] ? `${names[session.strategy]} ${score.toFixed(2)}${unit}.` : "";
}

function displayOrder() {
  const codes = session.classes.map((_, code) => code);
  if (codes.length > N_DIGIT_KEYS && question.proba) codes.sort((a, b) => question.proba[b] - question.proba[a] || a - b);
  return codes;
}

function candidateButton(code, index) {
  const button = make("button", "candidate");
  button.type = "button";
  button.dataset.code = code;
  button.setAttribute("aria-pressed", "false");
  const digit = index < N_DIGIT_KEYS ? String((index + 1) % 10) : "";
  const proba = question.proba ? question.proba[code] : null;
  const outside = question.candidates !== null && !question.candidates.includes(code);
  button.classList.toggle("outside", outside);
  if (proba !== null) {
    const bar = make("span", "bar");
    bar.style.width = `${100 * proba}%`;
    button.append(bar);
  }
  const key = digit ? make("kbd", "", digit) : make("span");
  const label = make("span", "label", session.classes[code]);
  label.title = session.classes[code]; // long labels are truncated
  key.setAttribute("aria-hidden", "true");
  button.append(key, label, make("span", "proba", proba === null ? "" : percent(proba)));
  button.setAttribute("aria-label", `${session.classes[code]}${proba === null ? "" : `, probability ${percent(proba)}`}${outside ? ", not a candidate in the table" : ""}`);
  if (digit) button.setAttribute("aria-keyshortcuts", digit);
  button.addEventListener("click", () => toggle(code));
  return button;
}

function toggle(code) {
  if (selected.has(code)) selected.delete(code); else selected.add(code);
  select([...selected]);
}

function select(codes) {
  selected = new Set(codes);
  for (const button of $("candidates").children) button.setAttribute("aria-pressed", String(selected.has(Number(button.dataset.code))));
  $("accept").disabled = !selected.size;
  $("reject").disabled = !selected.size || selected.size === session.classes.length;
  $("accept").firstChild.textContent = selected.size === 1 ? "It is this " : "It is one of these ";
  $("reject").firstChild.textContent = selected.size === 1 ? "It is not this " : "None of these ";
  if (selected.size) announce(answerText("one of", [...selected].sort((a, b) => a - b)) + "?");
  else if ($("message").textContent.endsWith("?")) announce("No label is selected.");
}

function showState(state) {
  const answered = state.n_rows - state.n_remaining;
  $("progress").max = state.n_rows;
  $("progress").value = answered;
  $("progress-words").textContent = `${answered.toLocaleString("en")} of ${count(state.n_rows, "row")}`;
  const estimate = state.estimate;
  $("rate").textContent = estimate.rate === null ? "–" : percent(estimate.rate);
  $("interval").textContent = estimate.rate === null ? "" : `95 %: ${Math.round(100 * estimate.low)} to ${percent(estimate.high)}`;
  $("quality").textContent = qualityText(estimate);
  $("curve").replaceChildren(...(state.curve.length > 1 ? [curve(state.curve)] : []));
  $("model").textContent = state.last_error ? `The model could not be fitted: ${state.last_error}` : "";
  $("history").replaceChildren(...history.map(historyItem));
  $("history-none").hidden = history.length > 0;
  $("undo").disabled = !history.length;
  updateAgreement(state);
}

// The agreement is requested after the next question is shown, so that no annotator waits for it.
async function updateAgreement(state) {
  if (state.n_annotators < 2) { $("agreement").hidden = $("weighted").hidden = true; agreementOf = null; return; }
  const shown = `${state.last_entry} ${annotator.get()}`;
  if (agreementOf === shown) return;
  agreementOf = shown;
  const previous = agreementPause;
  let end;
  agreementPause = new Promise((done) => { end = done; });
  await previous;
  if (agreementOf !== shown) return end(); // there is a later request
  const start = performance.now();
  const agreement = await sendQuietly("agreement", { annotator: annotator.get() });
  setTimeout(end, AGREEMENT_PAUSE * (performance.now() - start));
  if (agreementOf === shown && agreement) showAgreement(agreement, answerText, openRow);
}

function historyItem(entry) {
  const button = make("button");
  button.type = "button";
  button.append(make("span", "", answerText(entry.kind, entry.labels)), make("span", "summary", entry.summary || `row ${entry.row}`));
  button.setAttribute("aria-label", `${answerText(entry.kind, entry.labels)}, row ${entry.row}: open again`);
  button.addEventListener("click", () => openRow(entry.row));
  const line = make("li");
  line.append(button);
  return line;
}

// -- texts

function answerText(kind, codes) {
  const names = codes.map((code) => session.classes[code]).join(" or ");
  return { "one of": names, "none of": `not ${names}`, unknown: "don’t know", skip: "skipped" }[kind];
}

// -- keys

function filter() {
  const query = $("filter").value.trim().toLowerCase();
  for (const button of $("candidates").children) button.hidden = !session.classes[Number(button.dataset.code)].toLowerCase().includes(query);
}

const keys = {
  Enter: () => answer("one of"), n: () => answer("none of"), d: () => answer("unknown"), s: () => answer("skip"), u: undo,
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
  const target = event.target;
  if (target.tagName === "INPUT") return;
  // Enter on a label submits the selection (the space bar selects); other buttons and links keep their own action.
  if (event.key === "Enter" && target.closest("button:not(.candidate), a")) return;
  if (event.key === "/" && !$("find").hidden) {
    event.preventDefault();
    $("filter").focus();
  } else if (/^\d$/.test(event.key) && question) {
    const code = order[(Number(event.key) + 9) % 10];
    if (code === undefined || busy) return;
    event.preventDefault();
    toggle(code);
  } else if (Object.hasOwn(keys, event.key)) {
    event.preventDefault();
    keys[event.key]();
  }
});

$("filter").addEventListener("input", filter);
$("filter").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" && event.key !== "Escape") return;
  event.preventDefault();
  const first = [...$("candidates").children].find((button) => !button.hidden);
  if (event.key === "Enter" && first && $("filter").value.trim()) toggle(Number(first.dataset.code));
  $("filter").value = "";
  filter();
  $("question").focus();
});
for (const [id, kind] of [["accept", "one of"], ["reject", "none of"], ["unknown", "unknown"], ["skip", "skip"]]) $(id).addEventListener("click", () => answer(kind));
$("undo").addEventListener("click", undo);
$("annotator").addEventListener("change", () => {
  const name = $("annotator").value.trim();
  if (!name) { $("annotator").value = annotator.get(); return; }
  annotator.set(name);
  $("annotator").blur();
  exclusive(next);
});

await exclusive(async () => {
  session = await send("session");
  document.title = session.title;
  $("title").textContent = session.title;
  $("annotator").value = annotator.get();
  await next();
});
