// What the page is made of: elements, numbers in words, and the two sentences that tell of what happened.
// Text goes into the page as text, never as markup.

export const $ = (id) => document.getElementById(id);

// Shown, and told to screen readers, which would not notice a label that is ticked by its digit.
export function say(sentence) {
  $("said").textContent = sentence;
  $("status").textContent = sentence;
}

export function alertOf(sentence) {
  $("alert").textContent = sentence;
  $("alert").hidden = !sentence;
}

export function make(name, style = "", text = "") {
  const element = document.createElement(name);
  if (style) element.className = style;
  if (text) element.textContent = text;
  return element;
}

export function draw(name, attributes, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text) element.textContent = text;
  return element;
}

export function count(n, what) {
  return `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
}

export function percent(share) {
  return share > 0 && share < 0.005 ? "<1 %" : `${Math.round(100 * share)} %`;
}
