"use strict";
// Each column heading becomes a button that sorts; without scripts the tables stand as they are.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.querySelectorAll("thead th[data-column]")];
  if (!body || body.rows.length < 2) continue;
  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      body.append(...[...body.rows].sort((a, b) => compare(a, b, Number(head.dataset.column), sign)));
    });
  }
}
function compare(first, second, column, sign) {
  const [a, b] = [first.cells[column], second.cells[column]];
  const [x, y] = [a.dataset.value, b.dataset.value];
  if (x !== undefined && y !== undefined) return sign * (Number(x) - Number(y));
  if (x !== undefined || y !== undefined) return x === undefined ? 1 : -1; // no value: last
  return sign * a.textContent.localeCompare(b.textContent, undefined, { numeric: true });
}
// A printed page shows what is folded away on the screen.
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});
