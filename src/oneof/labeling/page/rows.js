// Display of rows: a text, an image, or a table with the nearest labeled rows.

import { make } from "./elements.js";

export function content(item, row) {
  if (item.kind === "image") return picture(item, row);
  if (!item.text) return make("p", "note", "This row has no text.");
  const text = make("p", "text", item.text);
  text.tabIndex = 0; // long texts can be scrolled
  text.setAttribute("role", "region");
  text.setAttribute("aria-label", `Text of row ${row}`);
  return text;
}

function picture(item, row) {
  const image = make("img");
  image.alt = `Row ${row}: ${item.text}`;
  image.addEventListener("error", () => image.replaceWith(make("p", "alert", `The image ${item.text} cannot be displayed.`)));
  image.src = `image/${row}`;
  return image;
}

// Show the row as a column next to the nearest labeled rows.
export function table(item, neighbors) {
  const head = make("tr");
  head.append(make("td"), make("th", "this", "This row"));
  for (const neighbor of neighbors) {
    const cell = make("th", "", neighbor.labels.join(" or "));
    cell.append(make("small", "", `row ${neighbor.row}`));
    head.append(cell);
  }
  const body = make("tbody");
  item.cells.forEach(([name, value], index) => {
    const line = make("tr");
    line.append(make("th", "", name), make("td", "this", value));
    for (const neighbor of neighbors) {
      const other = neighbor.item.cells[index][1];
      line.append(make("td", other === value ? "same" : "", other));
    }
    for (const cell of line.children) if (cell.tagName === "TH") cell.scope = "row";
    body.append(line);
  });
  for (const cell of head.children) if (cell.tagName === "TH") cell.scope = "col";
  const element = make("table");
  const caption = make("caption", "visually-hidden", neighbors.length ? "This row and the nearest labeled rows" : "This row");
  const header = make("thead");
  header.append(head);
  element.append(caption, header, body);
  const wrapper = make("div", "side-by-side");
  wrapper.tabIndex = 0;
  wrapper.setAttribute("role", "region");
  wrapper.setAttribute("aria-label", caption.textContent);
  wrapper.append(element);
  return wrapper;
}

export function neighborItem(neighbor) {
  const line = make("li");
  line.append(make("b", "", neighbor.labels.join(" or ")));
  line.append(neighbor.item.kind === "image" ? picture(neighbor.item, neighbor.row) : make("p", "text", neighbor.item.text));
  return line;
}

export function itemText(item) {
  if (item.kind === "table") return item.cells.slice(0, 12).map(([name, value]) => `${name}: ${value}`).join(", ");
  return item.kind === "text" ? item.text.slice(0, 500) : `Image ${item.text}`;
}
