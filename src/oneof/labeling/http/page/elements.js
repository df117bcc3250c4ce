// DOM elements and messages. Text is always inserted as text, never as markup.

export const $ = (id) => document.getElementById(id);

// Show a message and announce it to screen readers, which do not notice a label selected by its digit key.
export function announce(sentence) {
  $("message").textContent = sentence;
  $("status").textContent = sentence;
}

// Show a sentence; hide the alert without one.
export function showAlert(sentence) {
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
