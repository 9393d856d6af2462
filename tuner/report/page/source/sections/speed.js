// How fast is each size, and how far from the peak and from cuBLAS?
import { axis, roundTop } from '../chart.js';
import { configText, edge, isSquare, sizeText, tflops } from '../data.js';
import { digits, percent, time } from '../format.js';
import { dashes, symbols } from '../theme.js';

/** So little beyond a power of two is still drawn at the end of the axis. */
const kRounding = 0.01;

/** A vertical line from the upper to the lower quartile of the samples. */
function whisker(look, color) {
  return (params, api) => {
    const [x, low] = api.coord([api.value(0), api.value(1)]);
    const high = api.coord([api.value(0), api.value(2)])[1];
    const line = (x1, y1, x2, y2) => ({
      type: 'line',
      shape: { x1, y1, x2, y2 },
      style: { stroke: color, lineWidth: 1.5 },
    });
    return {
      type: 'group',
      children: [line(x, low, x, high), line(x - 4, low, x + 4, low), line(x - 4, high, x + 4, high)],
    };
  };
}

function ourTip(winner) {
  const { problem } = winner;
  const spread = [winner.q3_us, winner.q1_us].map((us) => digits(tflops(problem, us), 4)).join('–');
  return [
    [`mmtune, ${sizeText(problem)} ${problem.precision} ${problem.layout}`],
    ['speed', `${digits(winner.tflops, 4)} TFLOP/s (${winner.evidence})`],
    ['quartiles', `${spread} TFLOP/s`],
    ['of the peak', percent(winner.peakShare)],
    ['time', time(winner.median_us)],
    ['kernel', winner.family],
    ['configuration', configText(winner)],
  ];
}

function theirTip(row) {
  return [
    [`${row.opponent}, ${sizeText(row.problem)} ${row.problem.precision} ${row.problem.layout}`],
    ['speed', `${digits(tflops(row.problem, row.opponent_us), 4)} TFLOP/s`],
    ['time', time(row.opponent_us)],
    [
      'mmtune is',
      `${digits(row.ratio, 4)} times as fast (95 %: ${digits(row.ratio_low, 4)}–${digits(row.ratio_high, 4)})`,
    ],
    ['measured in', row.file],
  ];
}

const bySize = (a, b) => edge(a.problem) - edge(b.problem);

function lineSeries(look, name, index, runs, item) {
  const color = look.series[index];
  return {
    type: 'line',
    name,
    data: runs.map(item),
    symbol: symbols[index],
    symbolSize: 9,
    showAllSymbol: true,
    lineStyle: { color, width: 2, type: dashes[index] },
    itemStyle: { color },
    endLabel: { show: true, formatter: name, color, fontSize: 13, fontWeight: 600, distance: 8 },
    labelLayout: { moveOverlap: 'shiftY' },
    z: 3 - index,
  };
}

function pointSeries(look, name, index, runs, item) {
  return {
    type: 'scatter',
    name,
    data: runs.map(item),
    symbol: symbols[index],
    symbolSize: 9,
    itemStyle: { color: look.surface, borderColor: look.series[index], borderWidth: 2 },
    z: 3,
  };
}

function option(look, winners, benchmarks, peak, top) {
  const ours = (winner) => ({ value: [edge(winner.problem), winner.tflops], tip: ourTip(winner) });
  const theirs = (row) => ({ value: [edge(row.problem), tflops(row.problem, row.opponent_us)], tip: theirTip(row) });
  const square = (run) => isSquare(run.problem);
  const other = (run) => !isSquare(run.problem);
  const series = [lineSeries(look, 'mmtune', 0, winners.filter(square), ours)];
  series.push({
    type: 'custom',
    name: 'quartiles',
    renderItem: whisker(look, look.series[0]),
    data: winners.map(({ problem, q1_us, q3_us }) => [edge(problem), tflops(problem, q3_us), tflops(problem, q1_us)]),
    encode: { x: 0, y: [1, 2] },
    silent: true,
    z: 2,
  });
  const rival = benchmarks[0]?.rival;
  if (rival) series.push(lineSeries(look, rival, 1, benchmarks.filter(square), theirs));
  if (winners.some(other)) series.push(pointSeries(look, 'mmtune, other shapes', 0, winners.filter(other), ours));
  if (benchmarks.some(other))
    series.push(pointSeries(look, `${rival}, other shapes`, 1, benchmarks.filter(other), theirs));
  if (peak) {
    series[0].markLine = {
      silent: true,
      symbol: 'none',
      data: [{ yAxis: peak }],
      lineStyle: { color: look.quiet, type: [2, 3], width: 1.5 },
      label: { position: 'insideStartTop', formatter: `peak ${digits(peak)} TFLOP/s`, color: look.quiet, fontSize: 12 },
    };
  }
  const powers = [...winners, ...benchmarks].map((run) => Math.log2(edge(run.problem)));
  const first = Math.floor(Math.min(...powers) + kRounding);
  const last = Math.max(Math.ceil(Math.max(...powers) - kRounding), first + 1);
  return {
    grid: { left: 46, right: 76, top: 34, bottom: 48 },
    xAxis: axis(look, 'size: edge of the cube with as many multiply-adds', {
      type: 'log',
      logBase: 2,
      min: 2 ** first,
      max: 2 ** last,
    }),
    yAxis: axis(look, 'TFLOP/s', { vertical: true, type: 'value', min: 0, max: top }),
    series,
  };
}

export const speed = {
  id: 'speed',
  title: 'Speed against size',
  text:
    'How fast is the best kernel of each size, and what could be gained? Whiskers reach from quartile to quartile of ' +
    'the samples; the dotted line is the peak of the unit that multiplies at the boost clock. Hollow symbols are ' +
    'products that are not cubes.',
  charts(data, state) {
    const of = (list, device) =>
      list
        .filter(
          (run) =>
            run.device === device && run.problem.precision === state.precision && run.problem.layout === state.layout,
        )
        .sort(bySize);
    const panels = state.devices
      .map((device) => ({ device, winners: of(data.winners, device), benchmarks: of(data.benchmarks, device) }))
      .filter((panel) => panel.winners.length);
    const speeds = panels.flatMap(({ device, winners, benchmarks }) => [
      device.peaks[state.precision] ?? 0,
      ...winners.map((winner) => winner.tflops),
      ...benchmarks.map((row) => tflops(row.problem, row.opponent_us)),
    ]);
    const top = roundTop(speeds);
    return panels.map(({ device, winners, benchmarks }) => ({
      title: `${device.name}: ${state.precision} ${state.layout}`,
      file: `speed_${device.number}_${state.precision}_${state.layout}`,
      option: (look) => option(look, winners, benchmarks, device.peaks[state.precision], top),
      table: {
        columns: ['series', 'm', 'n', 'k', 'tflops', 'low_tflops', 'high_tflops', 'median_us'],
        rows: [
          ...winners.map((winner) => [
            `mmtune (${winner.evidence})`,
            winner.problem.m,
            winner.problem.n,
            winner.problem.k,
            winner.tflops,
            tflops(winner.problem, winner.q3_us),
            tflops(winner.problem, winner.q1_us),
            winner.median_us,
          ]),
          ...benchmarks.map((row) => [
            row.opponent,
            row.problem.m,
            row.problem.n,
            row.problem.k,
            tflops(row.problem, row.opponent_us),
            null,
            null,
            row.opponent_us,
          ]),
        ],
      },
    }));
  },
};
