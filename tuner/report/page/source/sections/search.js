// What the sections about one search share: the trials of a size on a GPU, and how families are told apart.
import { configText, evidenceText, sizeText, typeText } from '../data.js';
import { digits, percent, time } from '../format.js';
import { markOf, star, styleAt } from '../theme.js';

/** Measured ones, or predicted ones where none is measured: the two never share a chart. */
export function trialsOf(data, device, state) {
  const all = data.trials.filter((trial) => trial.device === device && trial.problem.name === state.problem);
  const measured = all.filter((trial) => trial.evidence === 'measured');
  return measured.length ? measured : all;
}

export const winnerOf = (data, device, state) =>
  data.winners.find((winner) => winner.device === device && winner.problem.name === state.problem);

export const isRun = (trial, winner) =>
  winner && trial.family === winner.family && trial.values === winner.values && trial.evidence === winner.evidence;

/** For each GPU that is shown and has trials of this problem: what `chart` makes of them. */
export function panelsOf(data, state, chart) {
  return state.devices
    .map((device) => ({ device, trials: trialsOf(data, device, state), winner: winnerOf(data, device, state) }))
    .filter((panel) => panel.trials.length)
    .map(chart);
}

export const titleOf = ({ device, trials }) =>
  `${device.name}: ${sizeText(trials[0].problem)} ${typeText(trials[0].problem)}${evidenceText(trials)}`;

export const fileOf = (what, { device, trials }) =>
  `${what}_${device.number}_${trials[0].problem.name.replaceAll(/[^a-z0-9]+/gi, '_')}`;

/** A colour and a symbol for each family, the same in all charts. */
export const styleOf = (data, look, family) => styleAt(look, data.families.indexOf(family));

/** A series for each family: a mark, which `point` makes, for each of its trials that `isShown`. */
export function familyMarks(look, data, trials, point, isShown = () => true) {
  const { size, opacity } = markOf(trials.length);
  return [...new Set(trials.map((trial) => trial.family))].map((family) => {
    const { symbol, color } = styleOf(data, look, family);
    return {
      type: 'scatter',
      name: family,
      symbol,
      symbolSize: size,
      itemStyle: { color, opacity },
      data: trials.filter((trial) => trial.family === family && isShown(trial)).map(point),
    };
  });
}

/** The families among the trials that are shown. */
export function familyLegend(data, state, look) {
  const shown = new Set(state.devices.flatMap((device) => trialsOf(data, device, state)).map((trial) => trial.family));
  return data.families
    .filter((family) => shown.has(family))
    .map((family) => ({ name: family, ...styleOf(data, look, family) }));
}

/** The families, and the star that marks the winner. */
export const familyLegendWithWinner = (data, state, look) => [
  ...familyLegend(data, state, look),
  { name: 'winner', color: look.ink, symbol: star },
];

export function trialTip(trial, winner) {
  return [
    [`${trial.family}, trial ${trial.order}${isRun(trial, winner) ? ', the winner' : ''}`],
    ...(trial.tflops === null
      ? [['outcome', trial.outcome.replaceAll('_', ' ')]]
      : [
          ['speed', `${digits(trial.tflops, 4)} TFLOP/s (${trial.evidence})`],
          ['time', time(trial.median_us)],
          ['occupancy', percent(trial.occupancy, 0)],
        ]),
    ['configuration', configText(trial)],
  ];
}

export const trialTable = (trials) => ({
  columns: ['trial', 'family', 'config', 'outcome', 'tflops', 'median_us', 'occupancy', 'smem_bytes'],
  rows: trials.map((trial) => [
    trial.order,
    trial.family,
    configText(trial),
    trial.outcome,
    trial.tflops,
    trial.median_us,
    trial.occupancy,
    trial.smem_bytes,
  ]),
});
