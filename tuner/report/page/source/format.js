// How numbers are written.

/** With so many significant digits and no exponent: 0.0123, 4.56, 1234. */
export function digits(value, significant = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const decimals = significant - 1 - Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.min(Math.max(decimals, 0), 12));
}

export const percent = (share, decimals = 1) =>
  share === null || share === undefined ? '–' : `${(100 * share).toFixed(decimals)} %`;

/** Microseconds in the unit that reads best. */
export function time(us) {
  if (us === null || us === undefined) return '–';
  if (us < 1000) return `${digits(us)} µs`;
  return us < 1e6 ? `${digits(us / 1000)} ms` : `${digits(us / 1e6)} s`;
}

export function bytes(count) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const unit = count > 0 ? Math.min(Math.floor(Math.log2(count) / 10), units.length - 1) : 0;
  return `${digits(count / 2 ** (10 * unit))} ${units[unit]}`;
}

/** "1 trial", "2 trials". */
export const count = (number, noun) => `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`;

/** A CSV text of {columns, rows}. */
export function csv({ columns, rows }) {
  const field = (value) => {
    const text = value === null || value === undefined ? '' : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(field).join(',')).join('\n') + '\n';
}
