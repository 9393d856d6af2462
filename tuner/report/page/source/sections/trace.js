// How did the search get there?
import { axis, roundTop } from '../chart.js';
import { cross } from '../theme.js';
import { familyLegend, familyMarks, fileOf, panelsOf, titleOf, trialTable, trialTip } from './search.js';
import { digits } from '../format.js';

/** The trials that were faster than all before, in the order in which they were stored. */
function improvements(trials) {
  let best = 0;
  return trials.filter((trial) => trial.tflops > best && (best = trial.tflops));
}

function bestLine(look, trials, winner) {
  const steps = improvements(trials);
  const last = Math.max(...trials.map((trial) => trial.order));
  const data = steps.map((trial) => ({ value: [trial.order, trial.tflops], tip: trialTip(trial, winner) }));
  if (steps.length) data.push({ value: [last, steps.at(-1).tflops] });
  return {
    type: 'line',
    name: 'best so far',
    step: 'end',
    symbol: 'emptyCircle',
    symbolSize: (value, { dataIndex }) => (dataIndex < steps.length ? 9 : 0),
    showAllSymbol: true,
    lineStyle: { color: look.ink, width: 2, opacity: 0.7 },
    itemStyle: { color: look.ink },
    endLabel: {
      show: steps.length > 0,
      formatter: () => `best so far\n${digits(steps.at(-1).tflops, 4)}`,
      color: look.ink,
      lineHeight: 16,
      fontWeight: 600,
    },
    data,
    z: 5,
  };
}

function option(look, data, { trials, winner }, top) {
  const right = trials.filter((trial) => trial.tflops !== null);
  const failed = trials.filter((trial) => trial.tflops === null);
  const point = (trial) => ({ value: [trial.order, trial.tflops], tip: trialTip(trial, winner) });
  const series = familyMarks(look, data, right, point);
  series.push({
    type: 'scatter',
    name: 'failed',
    symbol: cross,
    symbolSize: 9,
    itemStyle: { color: look.series[4] },
    data: failed.map((trial) => ({ value: [trial.order, 0], tip: trialTip(trial, winner) })),
  });
  series.unshift(bestLine(look, trials, winner));
  return {
    grid: { left: 46, right: 92, top: 34, bottom: 48 },
    xAxis: axis(look, 'trial', {
      type: 'value',
      min: 0,
      max: Math.max(...trials.map((trial) => trial.order)),
      minInterval: 1,
    }),
    yAxis: axis(look, 'TFLOP/s', { vertical: true, type: 'value', min: 0, max: top }),
    series,
  };
}

export const trace = {
  id: 'trace',
  title: 'The search',
  text:
    'Did the search find its best early, or was it still improving? Trials in the order in which they were stored: ' +
    'those that raced in the end stand where they were timed last. × at the bottom is a trial that failed or was given up as too slow.',
  legend: familyLegend,
  charts(data, state) {
    const panels = panelsOf(data, state, (panel) => panel);
    const speeds = panels.flatMap((panel) => panel.trials.map((trial) => trial.tflops ?? 0));
    const top = roundTop(speeds);
    return panels.map((panel) => ({
      title: titleOf(panel),
      file: fileOf('trace', panel),
      option: (look) => option(look, data, panel, top),
      table: trialTable(panel.trials),
    }));
  },
};
