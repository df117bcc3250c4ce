// Images that can be enlarged, and audio files.

import { $, make } from "./elements.js";

const STEP = 1.25; // factor of a step of the zoom
const [LEAST, MOST] = [1, 16]; // zoom as multiples of the size at which the whole image is visible

let zoom = 1;

function failed(element, file) {
  element.addEventListener("error", () => element.replaceWith(make("p", "alert", `The file ${file} cannot be displayed.`)));
}

export function picture(item, row) {
  const image = make("img");
  image.alt = `Row ${row}: ${item.text}`;
  failed(image, item.text);
  image.src = `image/${row}`;
  return image;
}

// Return the image of the open question with a button that enlarges it.
export function zoomable(item, row) {
  const wrapper = make("div", "zoomable");
  const image = picture(item, row);
  const button = make("button", "enlarge");
  button.type = "button";
  button.id = "enlarge";
  button.setAttribute("aria-haspopup", "dialog");
  const key = make("kbd");
  key.dataset.key = "zoom";
  button.append("Enlarge ", key);
  button.addEventListener("click", () => enlarge(image));
  image.addEventListener("click", () => enlarge(image));
  image.addEventListener("error", () => button.remove());
  wrapper.append(image, button);
  return wrapper;
}

export function player(item, row) {
  const wrapper = make("div", "audio");
  const audio = make("audio");
  audio.controls = true;
  audio.preload = "metadata";
  audio.setAttribute("aria-label", `Row ${row}: sound ${item.text}`);
  failed(audio, item.text);
  audio.src = `audio/${row}`;
  const name = make("p", "note", item.text);
  name.translate = false;
  wrapper.append(audio, name);
  return wrapper;
}

// Open the dialog with an image, and return whether there is one.
function enlarge(image) {
  if (!image?.isConnected || !image.naturalWidth) return false;
  const large = image.cloneNode();
  $("zoom-image").replaceChildren(large);
  $("zoom").showModal();
  setZoom(1);
  $("zoom-image").focus();
  return true;
}

// Set the zoom; the point of the image at (x, y) of the scrolled area, by default its center, stays in place.
function setZoom(value, x = $("zoom-image").clientWidth / 2, y = $("zoom-image").clientHeight / 2) {
  const area = $("zoom-image");
  const image = area.firstElementChild;
  const next = Math.min(MOST, Math.max(LEAST, value));
  const fitted = Math.min(area.offsetWidth / image.naturalWidth, area.offsetHeight / image.naturalHeight); // without scroll bars
  const [left, top] = [(area.scrollLeft + x) / zoom, (area.scrollTop + y) / zoom];
  image.style.width = `${Math.max(1, Math.floor(image.naturalWidth * fitted * next))}px`;
  zoom = next;
  area.scrollTo(left * next - x, top * next - y);
  $("zoom-out").disabled = next === LEAST;
  $("zoom-in").disabled = next === MOST;
  $("zoom-factor").textContent = `${Math.round(100 * next)} %`;
}

export function listenToZoom() {
  $("zoom-in").addEventListener("click", () => setZoom(zoom * STEP));
  $("zoom-out").addEventListener("click", () => setZoom(zoom / STEP));
  $("zoom-close").addEventListener("click", () => $("zoom").close());
  $("zoom").addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const factors = { "+": zoom * STEP, "=": zoom * STEP, "-": zoom / STEP, 0: 1 };
    if (!Object.hasOwn(factors, event.key)) return;
    setZoom(factors[event.key]);
    event.preventDefault();
  });
  // Pinching on a touchpad is a wheel event with Ctrl.
  $("zoom-image").addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return; // scrolls
    event.preventDefault();
    const box = $("zoom-image").getBoundingClientRect();
    setZoom(zoom * Math.exp(-event.deltaY / 200), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
}

// Enlarge the image of the open question; false if there is none, so that the key has no effect.
export function enlargeQuestion() {
  return enlarge($("item").querySelector("img"));
}
