// The labels of the open question as buttons, the selected ones, and the degree of certainty.

import { $, announce, make } from "./elements.js";
import { showKeys } from "./keys.js";
import { focusQuestion, state } from "./state.js";
import { answerText, percent } from "./words.js";

const N_DIGIT_KEYS = 10; // labels with a digit key; with more labels, the ten most probable ones

export function showCandidates() {
  const { question, session } = state;
  state.order = displayOrder();
  $("find").hidden = session.classes.length <= N_DIGIT_KEYS;
  $("filter").value = "";
  $("candidates").replaceChildren(...state.order.map(candidateButton));
  $("candidates").scrollTop = 0;
  showKeys();
  filter();
  select(question.current_answer ? question.current_answer.labels : []);
  setDegree(question.current_answer ? question.current_answer.degree : null);
}

function displayOrder() {
  const { question, session } = state;
  const codes = session.classes.map((_, code) => code);
  if (codes.length > N_DIGIT_KEYS && question.proba) codes.sort((a, b) => question.proba[b] - question.proba[a] || a - b);
  return codes;
}

function candidateButton(code, index) {
  const { question, session } = state;
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
  const key = make(digit ? "kbd" : "span", "digit");
  if (digit) key.dataset.digit = digit;
  const label = make("span", "label", session.classes[code]);
  label.title = session.classes[code]; // long labels are truncated
  label.translate = false;
  button.append(key, label, proba === null ? make("span") : probabilityText(proba));
  if (outside) button.append(make("span", "visually-hidden", "not a candidate in the table"));
  button.addEventListener("click", () => toggle(code));
  return button;
}

function probabilityText(proba) {
  const element = make("span", "proba");
  element.append(make("span", "visually-hidden", "probability "), percent(proba));
  return element;
}

function toggle(code) {
  if (state.selected.has(code)) state.selected.delete(code); else state.selected.add(code);
  select([...state.selected], code);
}

// Select or deselect the label of a digit key, and return whether there is one.
export function toggleDigit(digit) {
  const code = state.question && !state.busy ? state.order[(digit + N_DIGIT_KEYS - 1) % N_DIGIT_KEYS] : undefined;
  if (code !== undefined) toggle(code);
  return code !== undefined;
}

// Select labels, and show one of them, by default the first.
export function select(codes, shown = codes[0]) {
  const before = state.selected.size;
  const selected = state.selected = new Set(codes);
  for (const button of $("candidates").children) button.setAttribute("aria-pressed", String(selected.has(Number(button.dataset.code))));
  $("accept").disabled = !selected.size;
  $("reject").disabled = !selected.size || selected.size === state.session.classes.length;
  $("accept").firstElementChild.textContent = selected.size === 1 ? "It is this" : "It is one of these";
  $("reject").firstElementChild.textContent = selected.size === 1 ? "It is not this" : "None of these";
  reveal($("candidates").querySelector(`[data-code="${shown}"]`));
  if (selected.size) announce(`${answerText("one of", [...selected].sort((a, b) => a - b))}?`);
  else if (before) announce("No label is selected.");
}

// Scroll the labels to one that is not visible. The page itself does not move.
function reveal(button) {
  const list = $("candidates");
  const top = button ? button.offsetTop - list.offsetTop : list.scrollTop;
  if (top < list.scrollTop || top + (button?.offsetHeight ?? 0) > list.scrollTop + list.clientHeight) list.scrollTop = top;
}

export function filter() {
  const query = $("filter").value.trim().toLowerCase();
  for (const button of $("candidates").children) button.hidden = !state.session.classes[Number(button.dataset.code)].toLowerCase().includes(query);
}

$("filter").addEventListener("input", filter);
$("filter").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" && event.key !== "Escape") return;
  event.preventDefault();
  const first = [...$("candidates").children].find((button) => !button.hidden);
  const chosen = event.key === "Enter" && first && $("filter").value.trim() ? first : null;
  $("filter").value = "";
  filter();
  if (chosen) toggle(Number(chosen.dataset.code));
  focusQuestion();
});

// Choose a degree, or none, and show it on the buttons.
export function setDegree(degree) {
  state.degree = degree;
  for (const button of $("degrees").querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.degree === degree));
}

// Choose a degree, or none if it is chosen already; return false without a question, which leaves the key to the browser.
export function toggleDegree(degree) {
  if (!state.question || state.busy) return false;
  setDegree(state.degree === degree ? null : degree);
  return true;
}

for (const button of $("degrees").querySelectorAll("button")) button.addEventListener("click", () => toggleDegree(button.dataset.degree));
