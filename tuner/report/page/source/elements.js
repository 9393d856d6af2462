// Elements of the page from plain data. Text is always text: names in a database are no HTML.

/** element('p', {class: 'note'}, 'text', child, …); functions among the attributes are listeners. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') made.addEventListener(name, value);
    else made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** A labelled choice of {value, text}; `change` gets the value. */
export function choice(label, options, value, change) {
  const select = element(
    'select',
    { change: (event) => change(event.target.value) },
    options.map((option) => element('option', { value: option.value, selected: option.value === value }, option.text)),
  );
  return element('label', { class: 'choice' }, element('span', {}, label), select);
}

/** A table of {columns, rows} of texts and numbers. */
export function plainTable({ columns, rows }) {
  const cell = (value) =>
    element('td', { class: typeof value === 'number' ? 'number' : null }, value === null ? '' : String(value));
  return element(
    'table',
    { class: 'plain' },
    element(
      'thead',
      {},
      element(
        'tr',
        {},
        columns.map((name) => element('th', { scope: 'col' }, name)),
      ),
    ),
    element(
      'tbody',
      {},
      rows.map((row) => element('tr', {}, row.map(cell))),
    ),
  );
}

/** Lets the user keep a text as a file. */
export function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  element('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
