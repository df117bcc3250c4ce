// Rows as they are shown: a text, an image, or a table beside the nearest rows whose labels are known.

import { make } from "./elements.js";

export function whole(item, row) {
  if (item.kind === "image") return picture(item, row);
  if (!item.text) return make("p", "note", "There is no text in this row.");
  const text = make("p", "text", item.text);
  text.tabIndex = 0; // it may have to be scrolled
  text.setAttribute("role", "region");
  text.setAttribute("aria-label", `Text of row ${row}`);
  return text;
}

function picture(item, row) {
  const image = make("img");
  image.alt = `Row ${row}: ${item.text}`;
  image.addEventListener("error", () => image.replaceWith(make("p", "alert", `The image ${item.text} cannot be shown.`)));
  image.src = `image/${row}`;
  return image;
}

// The row as a column, beside the nearest rows whose labels are known.
export function table(item, nearest) {
  const head = make("tr");
  head.append(make("td"), make("th", "this", "This row"));
  for (const near of nearest) {
    const cell = make("th", "", near.labels.join(" or "));
    cell.append(make("small", "", `row ${near.row}`));
    head.append(cell);
  }
  const body = make("tbody");
  item.cells.forEach(([name, value], place) => {
    const line = make("tr");
    line.append(make("th", "", name), make("td", "this", value));
    for (const near of nearest) {
      const other = near.item.cells[place][1];
      line.append(make("td", other === value ? "same" : "", other));
    }
    for (const cell of line.children) if (cell.tagName === "TH") cell.scope = "row";
    body.append(line);
  });
  for (const cell of head.children) if (cell.tagName === "TH") cell.scope = "col";
  const found = make("table");
  const caption = make("caption", "unseen", nearest.length ? "This row, and the nearest rows with a label" : "This row");
  const top = make("thead");
  top.append(head);
  found.append(caption, top, body);
  const around = make("div", "beside");
  around.tabIndex = 0;
  around.setAttribute("role", "region");
  around.setAttribute("aria-label", caption.textContent);
  around.append(found);
  return around;
}

export function neighbor(near) {
  const line = make("li");
  line.append(make("b", "", near.labels.join(" or ")));
  line.append(near.item.kind === "image" ? picture(near.item, near.row) : make("p", "text", near.item.text));
  return line;
}

export function itemWords(item) {
  if (item.kind === "table") return item.cells.slice(0, 12).map(([name, value]) => `${name}: ${value}`).join(", ");
  return item.kind === "text" ? item.text.slice(0, 500) : `Image ${item.text}`;
}
