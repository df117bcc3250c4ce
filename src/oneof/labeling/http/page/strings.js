// Texts of the page in the language of the reader, from strings/LANGUAGE.json, and formats of numbers and lists.
// A text with a number has plural forms by the value `n`. Numbers among the values are formatted; identifiers such as a
// row number are passed as text.

import { stored } from "./storage.js";

export const LANGUAGES = { en: "English", de: "Deutsch", fr: "Français" };
export const chosenLanguage = stored(() => localStorage, "oneof-language", () => ""); // empty: that of the browser

export const language = readersLanguage();

const table = await (await fetch(`strings/${language}.json`, { credentials: "omit", redirect: "error" })).json();
const plurals = new Intl.PluralRules(language);
const alternatives = new Intl.ListFormat(language, { type: "disjunction" });

// Return the language of the link (?lang=de), of the settings, or the first one of the browser that has a table.
function readersLanguage() {
  const wanted = [new URLSearchParams(window.location.search).get("lang") ?? "", chosenLanguage.get(), ...navigator.languages];
  return wanted.map((tag) => tag.toLowerCase().split("-")[0]).find((tag) => Object.hasOwn(LANGUAGES, tag)) ?? "en";
}

// Return a text of the table with its values: text("question.fitted", {n: 3}).
export function text(key, values = {}) {
  return parts(key, values).map((part) => part.textContent ?? part).join("");
}

// Return the same as a list of strings and elements, for values that are elements.
export function parts(key, values = {}) {
  const entry = table[key];
  if (entry === undefined) throw new Error(`no text: ${key}`);
  const form = typeof entry === "string" ? entry : entry[plurals.select(values.n)] ?? entry.other;
  return form.split(/\{(\w+)\}/).map((part, index) => (index % 2 ? shown(values[part], `${key}: ${part}`) : part)).filter((part) => part !== "");
}

function shown(value, name) {
  if (value === undefined) throw new Error(`no value: ${name}`);
  return typeof value === "number" ? number(value) : value;
}

export function number(value, digits = 0) {
  return value.toLocaleString(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function percent(fraction) {
  const format = (value) => value.toLocaleString(language, { style: "percent" });
  return fraction > 0 && fraction < 0.005 ? `<${format(0.01)}` : format(fraction);
}

// Return names as alternatives: "finch, owl, or wren".
export function either(names) {
  return alternatives.format(names);
}

// Insert the texts of the elements that name them: data-text is the content, in which elements with data-slot are
// values; data-label and data-title are attributes.
export function translate(root = document) {
  document.documentElement.lang = language;
  for (const element of root.querySelectorAll("[data-text]")) {
    const slots = [...element.querySelectorAll("[data-slot]")].map((slot) => [slot.dataset.slot, slot]);
    element.replaceChildren(...parts(element.dataset.text, Object.fromEntries(slots)));
  }
  for (const element of root.querySelectorAll("[data-label]")) element.setAttribute("aria-label", text(element.dataset.label));
  for (const element of root.querySelectorAll("[data-title]")) element.title = text(element.dataset.title);
}
