// Does occupancy explain speed?
import { axis, roundTop } from '../chart.js';
import { familyLegendWithWinner, familyMarks, fileOf, isRun, panelsOf, titleOf, trialTable, trialTip } from './search.js';
import { star } from '../theme.js';

/** How far the marks of equal occupancy are spread, in percent of the warps. */
const kSpread = 2;

/** Where a trial stands: beside others of its occupancy, by its order, so that each is seen. */
function place(trial) {
  const golden = (trial.order * 0.618034) % 1;
  return Math.min(Math.max(100 * trial.occupancy + kSpread * (golden - 0.5), 0), 100);
}

function option(look, data, { trials, winner }, top) {
  const point = (trial) => ({ value: [place(trial), trial.tflops], tip: trialTip(trial, winner) });
  const series = familyMarks(look, data, trials, point, (trial) => !isRun(trial, winner));
  const best = trials.filter((trial) => isRun(trial, winner));
  series.push({
    type: 'scatter',
    name: 'winner',
    symbol: star,
    symbolSize: 20,
    itemStyle: { color: look.ink, borderColor: look.surface, borderWidth: 1 },
    data: best.map((trial) => ({ ...point(trial), value: [100 * trial.occupancy, trial.tflops] })),
    z: 5,
  });
  return {
    grid: { left: 46, right: 24, top: 34, bottom: 48 },
    xAxis: axis(look, 'occupancy: % of the warps that an SM can hold', { type: 'value', min: 0, max: 100 }),
    yAxis: axis(look, 'TFLOP/s', { vertical: true, type: 'value', min: 0, max: top }),
    series,
  };
}

export const occupancy = {
  id: 'occupancy',
  title: 'Occupancy against speed',
  text:
    'Do more warps on an SM make a kernel faster? Every right trial of the size. Fast kernels often need many ' +
    'registers, and so leave room for few warps. Marks of equal occupancy are spread a little to the sides.',
  legend: familyLegendWithWinner,
  charts(data, state) {
    const panels = panelsOf(data, state, (panel) => ({
      ...panel,
      trials: panel.trials.filter((trial) => trial.tflops !== null && trial.occupancy !== null),
    })).filter((panel) => panel.trials.length);
    const top = roundTop(panels.flatMap((panel) => panel.trials.map((trial) => trial.tflops)));
    return panels.map((panel) => ({
      title: titleOf(panel),
      file: fileOf('occupancy', panel),
      option: (look) => option(look, data, panel, top),
      table: trialTable(panel.trials),
    }));
  },
};
