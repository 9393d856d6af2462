// How fast is each size, and how far from the peak and from cuBLAS?
import { axis, legendAbove, octaves, roundTop } from '../chart.js';
import { configText, edge, evidenceText, isSquare, sizeText, tflops } from '../data.js';
import { digits, percent, time } from '../format.js';
import { markOf, styleAt } from '../theme.js';

/** So little beyond a power of two is still drawn at the end of the axis. */
const kRounding = 0.01;

/** Of more winners only those that are cubes have whiskers. */
const kMostWhiskers = 60;

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
  const { color, symbol, dash } = styleAt(look, index);
  return {
    type: 'line',
    name,
    data: runs.map(item),
    symbol,
    symbolSize: 8,
    showAllSymbol: true,
    lineStyle: { color, width: 2, type: dash },
    itemStyle: { color },
    z: 5 - index,
  };
}

function pointSeries(look, name, index, runs, item) {
  const { color, symbol } = styleAt(look, index);
  const { size, opacity } = markOf(runs.length);
  return {
    type: 'scatter',
    name,
    data: runs.map(item),
    symbol,
    symbolSize: size,
    itemStyle: { color: 'transparent', borderColor: color, borderWidth: size > 8 ? 2 : 1, opacity },
    z: 2,
  };
}

/** Our winners by where their times come from, each with its name and the number of its style. */
const groupsOf = (winners) =>
  ['measured', 'predicted']
    .map((evidence, i) => ({
      name: evidence === 'measured' ? 'mmtune' : 'mmtune, predicted',
      style: 2 * i,
      runs: winners.filter((winner) => winner.evidence === evidence),
    }))
    .filter(({ runs }) => runs.length);

function option(look, winners, benchmarks, peak, top) {
  const ours = (winner) => ({ value: [edge(winner.problem), winner.tflops], tip: ourTip(winner) });
  const theirs = (row) => ({ value: [edge(row.problem), tflops(row.problem, row.opponent_us)], tip: theirTip(row) });
  const square = (run) => isSquare(run.problem);
  const other = (run) => !isSquare(run.problem);
  const series = [];
  for (const { name, style, runs } of groupsOf(winners)) {
    if (runs.some(square)) series.push(lineSeries(look, name, style, runs.filter(square), ours));
    if (runs.some(other)) series.push(pointSeries(look, `${name}, other shapes`, style, runs.filter(other), ours));
  }
  if (benchmarks.length) {
    const anyPredicted = winners.some((winner) => winner.evidence === 'predicted');
    const rival = `${benchmarks[0].rival}${anyPredicted ? ', measured' : ''}`;
    series.push(lineSeries(look, rival, 1, benchmarks.filter(square), theirs));
    if (benchmarks.some(other))
      series.push(pointSeries(look, `${rival}, other shapes`, 1, benchmarks.filter(other), theirs));
  }
  const { legend, height } = legendAbove(
    look,
    series.map(({ name }) => name),
  );
  if (peak) {
    series[0].markLine = {
      silent: true,
      symbol: 'none',
      data: [{ yAxis: peak }],
      lineStyle: { color: look.quiet, type: [2, 3], width: 1.5 },
      label: { position: 'insideStartTop', formatter: `peak ${digits(peak)} TFLOP/s`, color: look.quiet, fontSize: 12 },
    };
  }
  const measured = winners.filter((winner) => winner.evidence === 'measured');
  const drawn = measured.length > kMostWhiskers ? measured.filter(square) : measured;
  series.push({
    type: 'custom',
    name: 'quartiles',
    renderItem: whisker(look, look.series[0]),
    data: drawn.map(({ problem, q1_us, q3_us }) => [edge(problem), tflops(problem, q3_us), tflops(problem, q1_us)]),
    encode: { x: 0, y: [1, 2] },
    silent: true,
    z: 2,
  });
  const powers = [...winners, ...benchmarks].map((run) => Math.log2(edge(run.problem)));
  const first = Math.floor(Math.min(...powers) + kRounding);
  const last = Math.max(Math.ceil(Math.max(...powers) - kRounding), first + 1);
  const grid = { left: 46, right: 28, top: 34 + height, bottom: 48 };
  return {
    legend,
    grid,
    xAxis: octaves(
      look,
      'size: edge of the cube with as many multiply-adds',
      [2 ** first, 2 ** last],
      look.width - grid.left - grid.right,
    ),
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
      title: `${device.name}: ${state.precision} ${state.layout}${evidenceText(winners)}`,
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
