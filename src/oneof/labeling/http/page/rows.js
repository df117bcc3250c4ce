// Display of rows: a text, an image, an audio file, or a table with the nearest labeled rows.

import { make } from "./elements.js";
import { picture, player, zoomable } from "./media.js";
import { either } from "./words.js";

export const phone = window.matchMedia("(max-width: 560px)");
const LONG = 60; // characters from which a column of the table is wide

export function content(item, row) {
  if (item.kind === "image") return zoomable(item, row);
  if (item.kind === "audio") return player(item, row);
  if (!item.text) return make("p", "note", "This row has no text.");
  const paragraph = make("p", "text", item.text);
  paragraph.tabIndex = 0; // long texts can be scrolled
  paragraph.setAttribute("role", "region");
  paragraph.setAttribute("aria-label", `Text of row ${row}`);
  return paragraph;
}

// Show the row as a column next to the nearest labeled rows. On a phone, the name of each value is in a line of its own.
export function table(item, neighbors) {
  const head = make("tr");
  if (!phone.matches) head.append(make("td"));
  head.append(make("th", "this", "This row"));
  for (const neighbor of neighbors) {
    const cell = make("th", "", either(neighbor.labels));
    cell.append(make("small", "", `row ${neighbor.row}`));
    head.append(cell);
  }
  const header = make("thead");
  header.append(head);
  const body = make("tbody");
  item.cells.forEach(([name, value], index) => {
    const line = make("tr");
    const heading = make("th");
    heading.append(make("span", "", name));
    heading.scope = "row";
    line.append(make("td", "this"));
    line.firstChild.append(make("span", "cell", value));
    for (const neighbor of neighbors) {
      const other = neighbor.item.cells[index][1];
      const cell = make("td", other === value ? "same" : "");
      cell.append(make("span", "cell", other));
      line.append(cell);
    }
    const pinned = index < (item.n_pinned ?? 0);
    if (pinned) line.className = "pinned";
    const part = pinned ? header : body;
    if (phone.matches) part.append(nameLine(heading, neighbors.length + 1, line.className));
    else line.prepend(heading);
    part.append(line);
  });
  for (const cell of head.children) if (cell.tagName === "TH") cell.scope = "col";
  const isWide = [item, ...neighbors.map((neighbor) => neighbor.item)].some(({ cells }) => cells.some(([, value]) => value.length > LONG));
  const element = make("table", isWide ? "texts" : "");
  const caption = make("caption", "visually-hidden", neighbors.length ? "This row and the nearest labeled rows" : "This row");
  element.append(caption, header, body);
  const wrapper = make("div", "side-by-side");
  wrapper.tabIndex = 0;
  wrapper.setAttribute("role", "region");
  wrapper.setAttribute("aria-label", caption.textContent);
  wrapper.append(element);
  return wrapper;
}

// Return a line with the name of a value above it.
function nameLine(heading, nColumns, style) {
  const line = make("tr", `name ${style}`);
  heading.colSpan = nColumns;
  line.append(heading);
  return line;
}

export function neighborItem(neighbor) {
  const line = make("li");
  line.append(make("b", "", either(neighbor.labels)));
  const shown = { image: picture, audio: player }[neighbor.item.kind];
  line.append(shown ? shown(neighbor.item, neighbor.row) : make("p", "text", neighbor.item.text));
  return line;
}

export function itemText(item) {
  if (item.kind === "table") return item.cells.slice(0, 12).map(([name, value]) => `${name}: ${value}`).join(", ");
  if (item.kind === "audio") return `Sound ${item.text}`;
  return item.kind === "text" ? item.text.slice(0, 500) : `Image ${item.text}`;
}
