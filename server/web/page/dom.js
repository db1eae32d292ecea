// Small helpers to make and change elements without ever parsing text as HTML.

export const byId = (id) => document.getElementById(id);

// Changes the text only where it differs: an untouched element costs no layout.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setVariable(element, name, text) {
  if (element.style.getPropertyValue(name) !== text) element.style.setProperty(name, text);
}

export function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

export function makeSvg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, text] of Object.entries(attributes)) element.setAttribute(name, text);
  element.append(...children);
  return element;
}

// As many rows in a table's body as are wanted, made by makeRow() where they are missing.
export function rowsOf(body, count, makeRow) {
  while (body.rows.length > count) body.lastElementChild.remove();
  while (body.rows.length < count) body.append(makeRow());
  return [...body.rows];
}

export function setTexts(row, texts, first = 0) {
  texts.forEach((text, i) => setText(row.cells[first + i], text));
}

// The rows of a list show one text for each column. columns: the classes of their cells.
export function listRows(table, columns, rows, textsOf) {
  const all = rowsOf(table.tBodies[0], rows.length, () => make("tr", "", ...columns.map((name) => make("td", name))));
  all.forEach((row, i) => setTexts(row, textsOf(rows[i], row, rows[i - 1])));
}

// 1rem in pixels.
export const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;

// "412.5 µs" with its unit small.
export function setFigure(element, [figure, unit]) {
  const key = `${figure} ${unit}`;
  if (element.dataset.shown === key) return;
  element.dataset.shown = key;
  element.replaceChildren(figure, ...(unit ? [" ", make("small", "", unit)] : []));
}

export const motionReduced = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
