// What do the studies' tables look like as curves?
import { axis, legendAbove, octaves, roundTop } from '../chart.js';
import { digits } from '../format.js';
import { styleAt } from '../theme.js';

/** What a study may vary, and what it may tell: the first of each that a file has is its axis. */
const kVaried = ['row', 'edge', 'size', 'n', 'block', 'tile', 'threads', 'registers', 'smem_bytes', 'm'];
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
const kMostCurves = 12;
const kHeight = 380;
/** What a table of a study is about, for people. */
const kDocuments = {
  s0: 'Homework',
  s1: 'Thread coarsening',
  s2: 'Lecture',
  s3: 'Slides on boundaries',
  s4: 'Recitation',
};
const kAxes = {
  edge: 'size: edge of the cube with as many multiply-adds',
  n: 'size: m = n = k',
  size: 'size: m = n = k',
  block: 'threads of a block',
  tile: 'edge of a tile',
  threads: 'threads of a block',
  registers: 'registers of a thread',
  smem_bytes: 'shared memory of a block, bytes',
  m: 'rows: m',
};

const isNumber = (text) => text !== '' && Number.isFinite(Number(text));

/** "Thread coarsening (s1): kernels by size and tile" of the document s1 and its table "1 kernels by size and tile". */
function titleOf(document, table) {
  const what = table === 'tuned' ? 'tuned kernels' : table?.replace(/^\d+ /, '');
  const name = kDocuments[document] ? `${kDocuments[document]} (${document})` : document.replaceAll('_', ' ');
  return what ? `${name}: ${what}` : name;
}

/** Rows of products that are no cubes have a place among those that are. */
const withEdge = (row) => (row.m && row.n && row.k ? { ...row, edge: String(Math.cbrt(row.m * row.n * row.k)) } : row);

/** A file of `mmtune study` has many tables, any other is one. */
function tablesOf(file) {
  const tables = new Map();
  for (const row of file.rows) {
    const title = titleOf(row.document ?? file.name, row.table);
    tables.set(title, [...(tables.get(title) ?? []), row]);
  }
  return [...tables].map(([title, rows]) => ({ title, rows, device: file.device, plan: planOf(rows.map(withEdge)) }));
}

/** What a row's name says beside its size: "tile 16" of "256 tile 16", nothing of "256" and "1000x500x2000". */
const rowText = (row) => (row ?? '').replace(/^\d+(x\d+)*(\s+|$)/, '');

const distinct = (values) => new Set(values).size;

/** Texts that tell the rows of one place on the axis apart: as few as tell as much as all of them. */
function textsOf(rows, x) {
  const isText = (name) => !rows.every((row) => row[name] === '' || isNumber(row[name]));
  const others = Object.keys(rows[0]).filter((name) => !kSilent.includes(name) && name !== 'column' && isText(name));
  const all = ['column', ...others]
    .filter((name) => name in rows[0])
    .map((name) => (row) => row[name])
    .concat((row) => rowText(row.row))
    .filter((text) => distinct(rows.map(text)) > 1)
    // What follows from the place tells nothing more.
    .filter((text) => distinct(rows.map((row) => `${row[x]} ${text(row)}`)) > distinct(rows.map((row) => row[x])));
  const tells = (texts) => distinct(rows.map((row) => texts.map((text) => text(row)).join('|')));
  const needed = [];
  for (const text of all) if (tells([...needed, text]) > tells(needed)) needed.push(text);
  return needed;
}

/** What the axis of this column is called. */
function axisName(rows, x) {
  if (x === 'edge' && rows.every(({ m, n, k }) => m === n && n === k)) return kAxes.size;
  if (x !== 'row') return kAxes[x] ?? x;
  if (rows.every((row) => Number(row.row) === Number(row.m))) return kAxes.size;
  return rows[0].table?.match(/ by (\w+)/)?.[1] ?? 'row of the table';
}

/** The column on each axis and the curves: rows that agree in what tells them apart. */
function planOf(rows) {
  const names = Object.keys(rows[0] ?? {});
  const numeric = (name) => names.includes(name) && rows.some((row) => isNumber(row[name]));
  const everywhere = (name) => names.includes(name) && rows.every((row) => isNumber(row[name]));
  const counted = (name) => distinct(rows.map((row) => row[name]));
  const x = kVaried.filter((name) => everywhere(name) && counted(name) > 1).sort((a, b) => counted(b) - counted(a))[0];
  const told = kTold.find(([name]) => numeric(name));
  if (!x || !told) return null;
  const texts = textsOf(rows, x);
  const curves = new Map();
  for (const row of rows) {
    if (!isNumber(row[x]) || !isNumber(row[told[0]])) continue;
    const name = texts
      .map((text) => text(row))
      .filter(Boolean)
      .join(', ');
    curves.set(name, [...(curves.get(name) ?? []), row]);
  }
  return { x, xName: axisName(rows, x), y: told[0], unit: told[1], curves: [...curves] };
}

/** An axis of speeds or times: from 0 where they are alike, logarithmic where they are not. */
function yAxis(look, unit, values, pixels) {
  const kAlike = 20;
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (!(least > 0) || most / least <= kAlike) {
    return axis(look, unit, { vertical: true, type: 'value', min: 0, max: roundTop(values) });
  }
  const power = (value, round) => 2 ** round(Math.log2(value));
  return octaves(look, unit, [power(least / 1.2, Math.floor), power(most * 1.2, Math.ceil)], pixels, {
    vertical: true,
    axisLabel: { formatter: (value) => (value < 1 ? digits(value, 2) : String(value)) },
  });
}

function option(look, title, { x, xName, y, unit, curves }) {
  const told = (row) => Object.entries(row).filter(([column, value]) => value !== '' && column !== 'edge');
  const tip = (name, row) => [[name || title], ...told(row)];
  const shown = curves.slice(0, kMostCurves);
  const names = shown.map(([name]) => name).filter(Boolean);
  const { legend, height } = names.length ? legendAbove(look, names) : { height: 0 };
  const values = shown.flatMap(([, rows]) => rows.map((row) => Number(row[y])));
  const places = shown.flatMap(([, rows]) => rows.map((row) => Number(row[x])));
  const grid = { left: 56, right: 28, top: 34 + height, bottom: 48 };
  const power = (value, round) => 2 ** round(Math.log2(value));
  return {
    legend,
    grid,
    xAxis: octaves(
      look,
      xName,
      [power(Math.min(...places) * 1.01, Math.floor), power(Math.max(...places) * 0.99, Math.ceil)],
      look.width - grid.left - grid.right,
    ),
    yAxis: yAxis(look, unit, values, kHeight - grid.top - grid.bottom),
    series: shown.map(([name, rows], index) => {
      const { color, symbol, dash } = styleAt(look, index);
      return {
        type: 'line',
        name,
        data: rows
          .map((row) => ({ value: [Number(row[x]), Number(row[y])], tip: tip(name, row) }))
          .sort((a, b) => a.value[0] - b.value[0]),
        symbol,
        symbolSize: 8,
        showAllSymbol: true,
        lineStyle: { color, width: 2, type: dash },
        itemStyle: { color },
      };
    }),
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
      .map(({ title, rows, device, plan }) => ({
        title: [
          title,
          ...(state.devices.length > 1 ? [device.name] : []),
          ...(plan.curves.length > kMostCurves ? [`${kMostCurves} of ${plan.curves.length} curves`] : []),
        ].join(', '),
        file: `study_${title.replaceAll(/[^a-z0-9]+/gi, '_')}`,
        height: kHeight,
        option: (look) => option(look, title, plan),
        table: { columns: Object.keys(rows[0]), rows: rows.map((row) => Object.values(row)) },
      }));
  },
};
