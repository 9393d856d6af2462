// Which values of two parameters go together?
import { axis } from '../chart.js';
import { configText } from '../data.js';
import { digits, percent } from '../format.js';
import { choice } from '../elements.js';
import { fileOf, isRun, panelsOf, titleOf, trialsOf } from './search.js';

/** The parameters that are shown first: a tile, then what coarsens it. */
const kTiles = ['TILE', 'BM', 'BX'];
const kCoarsening = ['CM', 'COARSE', 'TM', 'BN'];

/** The parameters of which the trials have more than one value. */
function parametersOf(trials) {
  const names = new Set(trials.flatMap((trial) => Object.keys(trial.config)));
  return [...names].filter((name) => new Set(trials.map((trial) => trial.config[name])).size > 1);
}

const preferred = (names, parameters, other) =>
  names.find((name) => parameters.includes(name) && name !== other) ?? parameters.find((name) => name !== other);

/** What is shown: the user's choice where that exists. */
function selection(data, state) {
  const trials = state.devices.flatMap((device) => trialsOf(data, device, state));
  const counts = new Map();
  for (const trial of trials) {
    counts.set(trial.family, (counts.get(trial.family) ?? 0) + (trial.family === 'tiled_coarsened' ? 1e6 : 1));
  }
  const families = [...counts.keys()]
    .filter((family) => parametersOf(trials.filter((trial) => trial.family === family)).length > 1)
    .sort((a, b) => counts.get(b) - counts.get(a));
  const family = families.includes(state.family) ? state.family : families[0];
  const parameters = parametersOf(trials.filter((trial) => trial.family === family));
  const x = parameters.includes(state.x) ? state.x : preferred(kTiles, parameters);
  const y = parameters.includes(state.y) && state.y !== x ? state.y : preferred(kCoarsening, parameters, x);
  return { families, family, parameters, x, y };
}

const inOrder = (values) => [...new Set(values)].sort((a, b) => Number(a) - Number(b) || a.localeCompare(b));

/** The fastest of each pair of values. */
function cellsOf(trials, x, y) {
  const cells = new Map();
  for (const trial of trials) {
    const key = `${trial.config[x]} ${trial.config[y]}`;
    const cell = cells.get(key) ?? { x: trial.config[x], y: trial.config[y], trials: 0, best: null };
    cell.trials += 1;
    if (trial.tflops !== null && !(cell.best?.tflops >= trial.tflops)) cell.best = trial;
    cells.set(key, cell);
  }
  return [...cells.values()];
}

function tipOf(cell, x, y, top) {
  const title = `${x} ${cell.x}, ${y} ${cell.y}`;
  if (!cell.best) return [[title], ['trials', `${cell.trials}, none right`]];
  return [
    [title],
    ['best speed', `${digits(cell.best.tflops, 4)} TFLOP/s`],
    ['of the best shown', percent(cell.best.tflops / top)],
    ['trials', `${cell.trials}`],
    ['with', configText(cell.best)],
  ];
}

function option(look, cells, axes, range, winner) {
  const [least, top] = range ?? [0, 1];
  const shade = (speed) => (top > least ? (speed - least) / (top - least) : 1);
  const isWinner = (cell) => Boolean(cell.best && isRun(cell.best, winner));
  const item = (cell) => {
    const speed = cell.best?.tflops;
    const wins = isWinner(cell);
    return {
      value: [axes.xs.indexOf(cell.x), axes.ys.indexOf(cell.y), speed ?? 0],
      tip: tipOf(cell, axes.x, axes.y, top),
      visualMap: speed !== undefined,
      itemStyle: {
        ...(speed === undefined ? { color: look.grid } : {}),
        ...(wins ? { borderColor: look.ink, borderWidth: 3 } : { borderColor: look.surface, borderWidth: 2 }),
      },
      label: {
        color: speed === undefined ? look.ink : look.heatInk[shade(speed) > 0.5 ? 1 : 0],
        formatter: speed ? `${digits(speed)}${wins ? ' ★' : ''}` : '×',
      },
    };
  };
  // The last is drawn above its neighbours, with its whole border.
  const drawn = [...cells].sort((a, b) => isWinner(a) - isWinner(b));
  return {
    grid: { left: 56, right: 14, top: 34, bottom: 78 },
    xAxis: axis(look, axes.x, { type: 'category', data: axes.xs, splitLine: { show: false } }),
    yAxis: axis(look, axes.y, { vertical: true, type: 'category', data: axes.ys, splitLine: { show: false } }),
    visualMap: {
      show: Boolean(range),
      min: least,
      max: top,
      orient: 'horizontal',
      left: 'center',
      bottom: 0,
      itemWidth: 12,
      itemHeight: Math.min(220, look.width / 2),
      text: [`${digits(top)} TFLOP/s`, digits(least)],
      textStyle: { color: look.quiet },
      inRange: { color: look.heat },
      calculable: false,
    },
    series: [{ type: 'heatmap', data: drawn.map(item), label: { show: true, fontSize: look.narrow ? 10 : 13 } }],
  };
}

export const heatmap = {
  id: 'heatmap',
  title: 'Two parameters',
  text:
    'Which values go together? Each cell has the fastest trial with these two values, whatever the others are, in ' +
    'TFLOP/s, the colours from the slowest to the fastest of them; ★ marks the winner, × on grey that no trial was ' +
    'right. Empty cells were not tried.',
  controls(data, state, change) {
    const { families, family, parameters, x, y } = selection(data, state);
    if (!family) return [];
    const named = (names) => names.map((name) => ({ value: name, text: name }));
    return [
      choice('Family', named(families), family, (value) => change({ family: value, x: null, y: null })),
      choice('Across', named(parameters), x, (value) => change({ x: value, y: value === y ? x : y })),
      choice('Up', named(parameters), y, (value) => change({ y: value, x: value === x ? y : x })),
    ];
  },
  charts(data, state) {
    const { family, x, y } = selection(data, state);
    if (!family) return [];
    const of = (panel) => panel.trials.filter((trial) => trial.family === family);
    const panels = panelsOf(data, state, (panel) => ({ ...panel, cells: cellsOf(of(panel), x, y) }));
    const cells = panels.flatMap((panel) => panel.cells);
    const axes = { x, y, xs: inOrder(cells.map((cell) => cell.x)), ys: inOrder(cells.map((cell) => cell.y)) };
    const speeds = cells.flatMap((cell) => (cell.best ? [cell.best.tflops] : []));
    const range = speeds.length ? [Math.min(...speeds), Math.max(...speeds)] : null; // null: none was right
    return panels.map((panel) => ({
      title: `${titleOf(panel)}, ${family}`,
      file: `${fileOf('heatmap', panel)}_${family}_${x}_${y}`,
      height: 140 + 44 * axes.ys.length,
      option: (look) => option(look, panel.cells, axes, range, panel.winner),
      table: {
        columns: [x, y, 'best_tflops', 'trials', 'config'],
        rows: panel.cells.map((cell) => [
          cell.x,
          cell.y,
          cell.best?.tflops ?? null,
          cell.trials,
          cell.best ? configText(cell.best) : '',
        ]),
      },
    }));
  },
};
