// The labeling page: shows a question, takes an answer, shows the next one.

import { $, alertOf, count, make, percent, say } from "./elements.js";
import { curve, qualityWords } from "./quality.js";
import { itemWords, neighbor, table, whole } from "./rows.js";
import { Refused, newKey, remembered, send } from "./server.js";

const WITH_DIGITS = 10; // labels that have a digit; where there are more, these are the ten that the model thinks likeliest

let session; // what is told once: title, classes, strategy
let question = null; // what is before the annotator
let history = []; // the annotator's last entries, the latest first
let chosen = new Set(); // codes of the labels that are ticked
let order = []; // codes in the order in which they are shown
let busy = false;

const annotator = remembered(() => localStorage, "oneof-annotator", () => session.annotator);
const ownWindow = remembered(() => sessionStorage, "oneof-window", newKey);

// -- asking and answering

// One thing at a time: what is pressed while an answer is on its way is not for the next question.
async function during(work) {
  if (busy) return;
  busy = true;
  document.body.setAttribute("aria-busy", "true");
  try {
    await work();
  } catch (error) {
    if (error instanceof Refused) {
      await next();
      alertOf(`Not written: ${error.message}`);
    } else {
      alertOf(error.message);
    }
  } finally {
    busy = false;
    document.body.removeAttribute("aria-busy");
  }
}

function who() {
  return { annotator: annotator.get(), window: ownWindow.get() };
}

async function next() {
  show(await send("ask", who()));
}

function answer(kind) {
  if (!question) return;
  const labels = [...chosen].sort((a, b) => a - b);
  const named = kind === "one of" || kind === "none of";
  if (named && !labels.length) return say(`Tick one label or more first, or press d if you don’t know.`);
  if (kind === "none of" && labels.length === session.classes.length) return say("That would rule out every label.");
  return during(async () => {
    const content = { question: question.id, kind, labels: named ? labels : [], key: newKey() };
    const told = await send("answer", content);
    show(told, `Written: ${words(kind, content.labels)}.`);
  });
}

function undo() {
  return during(async () => {
    const last = history[0];
    const told = await send("undo", { ...who(), key: newKey(), number: last ? last.number : null });
    show(told);
    if (told.undone) tick(told.undone.labels);
    say(told.undone ? `Taken back: ${words(told.undone.kind, told.undone.labels)}. Row ${question.row} again.` : "There is nothing to take back.");
  });
}

function look(row) {
  return during(async () => show(await send("look", { ...who(), row }), `Row ${row} again.`));
}

// -- showing

function show(told, sentence = "") {
  question = told.question;
  history = told.state.history;
  chosen = new Set();
  $("question").hidden = !question;
  $("done").hidden = Boolean(question);
  if (question) showQuestion();
  showState(told.state);
  $("status").textContent = `${sentence} ${question ? `Row ${question.row}. ${itemWords(question.item)}` : "Every row has its answer."}`;
  $("said").textContent = sentence;
  window.scrollTo({ top: 0 });
}

function showQuestion() {
  $("reason").textContent = reason();
  const beside = question.item.kind === "table";
  $("item").replaceChildren(beside ? table(question.item, question.near) : whole(question.item, question.row));
  $("near").hidden = beside || !question.near.length;
  $("near-rows").classList.toggle("pictures", question.item.kind === "image");
  $("near-rows").replaceChildren(...(beside ? [] : question.near.map(neighbor)));
  order = arranged();
  $("find").hidden = session.classes.length <= WITH_DIGITS;
  $("filter").value = "";
  $("candidates").replaceChildren(...order.map(candidate));
  filter();
  tick(question.standing ? question.standing.labels : []);
}

function reason() {
  const told = question.learned ? `Learned from ${count(question.learned, "row")}.` : "The model has learned nothing yet.";
  const score = question.score === null ? "" : scoreWords(question.score);
  if (question.purpose === "check") return `Row ${question.row}, drawn at random to check the model. ${score} ${told}`;
  if (question.purpose === "free") return `Row ${question.row}, opened by you. ${told}`;
  return question.score === null ? `Row ${question.row}, drawn at random. ${told}` : `Row ${question.row}, asked because its label tells most. ${score} ${told}`;
}

function scoreWords(score) {
  const names = { mutual_information: "Information score", entropy: "Entropy", margin: "Closeness of the two likeliest" };
  const unit = session.strategy === "entropy" ? " nats" : ""; // information is approximate, and may exceed what a label can tell
  return names[session.strategy] ? `${names[session.strategy]} ${score.toFixed(2)}${unit}.` : "";
}

function arranged() {
  const codes = session.classes.map((_, code) => code);
  if (codes.length > WITH_DIGITS && question.shares) codes.sort((a, b) => question.shares[b] - question.shares[a] || a - b);
  return codes;
}

function candidate(code, place) {
  const button = make("button", "candidate");
  button.type = "button";
  button.dataset.code = code;
  button.setAttribute("aria-pressed", "false");
  const digit = place < WITH_DIGITS ? String((place + 1) % 10) : "";
  const share = question.shares ? question.shares[code] : null;
  const outside = question.possible !== null && !question.possible.includes(code);
  button.classList.toggle("outside", outside);
  if (share !== null) {
    const bar = make("span", "bar");
    bar.style.width = `${100 * share}%`;
    button.append(bar);
  }
  const key = digit ? make("kbd", "", digit) : make("span");
  const label = make("span", "label", session.classes[code]);
  label.title = session.classes[code]; // long ones are cut
  key.setAttribute("aria-hidden", "true");
  button.append(key, label, make("span", "share", share === null ? "" : percent(share)));
  button.setAttribute("aria-label", `${session.classes[code]}${share === null ? "" : `, guess ${percent(share)}`}${outside ? ", not among the labels of the table" : ""}`);
  if (digit) button.setAttribute("aria-keyshortcuts", digit);
  button.addEventListener("click", () => toggle(code));
  return button;
}

function toggle(code) {
  if (chosen.has(code)) chosen.delete(code); else chosen.add(code);
  tick([...chosen]);
}

function tick(codes) {
  chosen = new Set(codes);
  for (const button of $("candidates").children) button.setAttribute("aria-pressed", String(chosen.has(Number(button.dataset.code))));
  $("accept").disabled = !chosen.size;
  $("reject").disabled = !chosen.size || chosen.size === session.classes.length;
  $("accept").firstChild.textContent = chosen.size === 1 ? "It is this " : "It is one of these ";
  $("reject").firstChild.textContent = chosen.size === 1 ? "It is not this " : "None of these ";
  if (chosen.size) say(words("one of", [...chosen].sort((a, b) => a - b)) + "?");
  else if ($("said").textContent.endsWith("?")) say("Nothing is ticked.");
}

function showState(state) {
  const answered = state.rows - state.left;
  $("progress").max = state.rows;
  $("progress").value = answered;
  $("progress-words").textContent = `${answered.toLocaleString("en")} of ${count(state.rows, "row")}`;
  const found = state.estimate;
  $("rate").textContent = found.rate === null ? "–" : percent(found.rate);
  $("interval").textContent = found.rate === null ? "" : `95 %: ${Math.round(100 * found.low)} to ${percent(found.high)}`;
  $("quality").textContent = qualityWords(found);
  $("curve").replaceChildren(...(state.curve.length > 1 ? [curve(state.curve)] : []));
  $("model").textContent = state.trouble ? `The model could not be fitted: ${state.trouble}` : "";
  $("history").replaceChildren(...history.map(past));
  $("history-none").hidden = history.length > 0;
  $("undo").disabled = !history.length;
}

function past(entry) {
  const button = make("button");
  button.type = "button";
  button.append(make("span", "", words(entry.kind, entry.labels)), make("span", "about", entry.about || `row ${entry.row}`));
  button.setAttribute("aria-label", `${words(entry.kind, entry.labels)}, row ${entry.row}: open again`);
  button.addEventListener("click", () => look(entry.row));
  const line = make("li");
  line.append(button);
  return line;
}

// -- words

function words(kind, codes) {
  const names = codes.map((code) => session.classes[code]).join(" or ");
  return { "one of": names, "none of": `not ${names}`, unknown: "don’t know", skip: "skipped" }[kind];
}

// -- keys

function filter() {
  const wanted = $("filter").value.trim().toLowerCase();
  for (const button of $("candidates").children) button.hidden = !session.classes[Number(button.dataset.code)].toLowerCase().includes(wanted);
}

const keys = {
  Enter: () => answer("one of"), n: () => answer("none of"), d: () => answer("unknown"), s: () => answer("skip"), u: undo,
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
  const at = event.target;
  if (at.tagName === "INPUT") return;
  // Enter on a label accepts what is ticked, as everywhere (the space bar ticks it); other buttons and links do their own.
  if (event.key === "Enter" && at.closest("button:not(.candidate), a")) return;
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
  during(next);
});

await during(async () => {
  session = await send("begin");
  document.title = session.title;
  $("title").textContent = session.title;
  $("annotator").value = annotator.get();
  await next();
});
