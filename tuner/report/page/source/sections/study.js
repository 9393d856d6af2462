// What do the studies' tables look like as curves?
import { axis } from '../chart.js';
import { digits } from '../format.js';
import { dashes, symbols } from '../theme.js';

/** What a study may vary, and what it may tell: the first of each that a file has is its axis. */
const kVaried = ['row', 'size', 'n', 'block', 'tile', 'threads', 'registers', 'smem_bytes', 'm'];
const kTold = [
  ['gflops', 'GFLOP/s'],
  ['tflops', 'TFLOP/s'],
  ['kernel_ms', 'ms'],
  ['total_ms', 'ms'],
  ['median_us', 'µs'],
  ['time_ms', 'ms'],
  ['occupancy', 'share of the warps'],
  ['loss', 'share of the time'],
];
/** Texts that tell no curve from another. */
const kSilent = ['document', 'table', 'row', 'config', 'gpu', 'note', 'origin', 'layout'];
const kMostCurves = 7;

const isNumber = (text) => text !== '' && Number.isFinite(Number(text));

/** A file of `mmtune study` has many tables, any other is one. */
function tablesOf(file) {
  const tables = new Map();
  for (const row of file.rows) {
    const name = [row.document ?? file.name, row.table].filter(Boolean).join(', ');
    tables.set(name, [...(tables.get(name) ?? []), row]);
  }
  return [...tables].map(([name, rows]) => ({ name, rows, device: file.device, plan: planOf(rows) }));
}

/** The column on each axis and the curves: rows that agree in all texts. */
function planOf(rows) {
  const names = Object.keys(rows[0] ?? {});
  const numeric = (name) => names.includes(name) && rows.some((row) => isNumber(row[name]));
  const distinct = (name) => new Set(rows.map((row) => row[name])).size;
  const x = kVaried.filter((name) => numeric(name) && distinct(name) > 1).sort((a, b) => distinct(b) - distinct(a))[0];
  const told = kTold.find(([name]) => numeric(name));
  if (!x || !told) return null;
  const isText = (name) => !rows.every((row) => row[name] === '' || isNumber(row[name]));
  const texts = names.filter((name) => !kSilent.includes(name) && isText(name) && distinct(name) > 1);
  const curves = new Map();
  for (const row of rows) {
    if (!isNumber(row[x]) || !isNumber(row[told[0]])) continue;
    const name =
      texts
        .map((text) => row[text])
        .filter(Boolean)
        .join(' ') || told[0];
    curves.set(name, [...(curves.get(name) ?? []), row]);
  }
  return { x, y: told[0], unit: told[1], curves: [...curves].slice(0, kMostCurves) };
}

function option(look, { x, y, unit, curves }) {
  const tip = (name, row) => [[name], ...Object.entries(row).filter(([, value]) => value !== '')];
  return {
    grid: { left: 52, right: look.narrow ? 90 : 150, top: 34, bottom: 48 },
    xAxis: axis(look, x, { type: 'log', logBase: 2 }),
    yAxis: axis(look, unit, { vertical: true, type: 'log', axisLabel: { formatter: (value) => digits(value, 2) } }),
    series: curves.map(([name, rows], index) => ({
      type: 'line',
      name,
      data: rows
        .map((row) => ({ value: [Number(row[x]), Number(row[y])], tip: tip(name, row) }))
        .sort((a, b) => a.value[0] - b.value[0]),
      symbol: symbols[index],
      symbolSize: 8,
      showAllSymbol: true,
      lineStyle: { color: look.series[index], width: 2, type: dashes[index % dashes.length] },
      itemStyle: { color: look.series[index] },
      endLabel: {
        show: true,
        formatter: name,
        color: look.series[index],
        fontSize: 12,
        width: look.narrow ? 80 : 140,
        overflow: 'truncate',
      },
      labelLayout: { moveOverlap: 'shiftY' },
    })),
  };
}

export const study = {
  id: 'study',
  title: 'Studies',
  text: 'What do the experiments say on this GPU? One chart for each of their tables.',
  charts(data, state) {
    return data.studies
      .filter((file) => state.devices.includes(file.device))
      .flatMap(tablesOf)
      .filter(({ plan }) => plan)
      .map(({ name, rows, device, plan }) => ({
        title: `${name}, ${device.name}`,
        file: `study_${name.replaceAll(/[^a-z0-9]+/gi, '_')}`,
        option: (look) => option(look, plan),
        table: { columns: Object.keys(rows[0]), rows: rows.map((row) => Object.values(row)) },
      }));
  },
};
