// What bounds each size: arithmetic or memory?
import { octaves } from '../chart.js';
import { evidenceText, sizeText } from '../data.js';
import { digits, percent } from '../format.js';
import { markOf, styleAt } from '../theme.js';

const intensity = (problem) => problem.flops / problem.bytes;

const kHeight = 420;

/** The precisions of the winners in all charts, which share colours and symbols. */
const precisionsOf = (data, state) => [
  ...new Set(
    data.winners.filter((winner) => state.devices.includes(winner.device)).map(({ problem }) => problem.precision),
  ),
];

function tip(winner) {
  return [
    [`${sizeText(winner.problem)} ${winner.problem.precision} ${winner.problem.layout}`],
    ['speed', `${digits(winner.tflops, 4)} TFLOP/s (${winner.evidence})`],
    ['intensity', `${digits(intensity(winner.problem))} operations per byte`],
    ['of the roof', percent(winner.tflops / roof(winner, intensity(winner.problem)))],
    ['kernel', winner.family],
  ];
}

/** TFLOP/s that memory and arithmetic allow. */
const roof = ({ device, problem }, operationsPerByte) =>
  Math.min(device.peaks[problem.precision], (device.memory_bandwidth_gb_s * operationsPerByte) / 1000);

/** Operations per byte from which on arithmetic is the lower roof. */
const ridge = (device, precision) => (device.peaks[precision] * 1000) / device.memory_bandwidth_gb_s;

const power = (value, round) => 2 ** round(Math.log2(value));
const logLabel = (value) => (value >= 1 ? `${value}` : `1/${Math.round(1 / value)}`);

/** The peaks that are drawn, with the precisions that have them. */
function peaksOf(device, winners, precisions) {
  const peaks = new Map();
  for (const precision of precisions) {
    if (!winners.some((winner) => winner.problem.precision === precision)) continue;
    const peak = device.peaks[precision];
    peaks.set(peak, [...(peaks.get(peak) ?? []), precision]);
  }
  return peaks;
}

/** A roof for each precision; the peak that several share is written once, to the right of the lines. */
function roofs(look, device, winners, precisions, range) {
  const start = Math.max(range.left, (range.bottom * 1000) / device.memory_bandwidth_gb_s);
  return [...peaksOf(device, winners, precisions)].flatMap(([peak, names]) =>
    names.map((precision) => {
      const { color, dash } = styleAt(look, precisions.indexOf(precision));
      return {
        type: 'line',
        name: `roof of ${precision}`,
        symbol: 'none',
        silent: true,
        data: [
          [start, (device.memory_bandwidth_gb_s * start) / 1000],
          [ridge(device, precision), peak],
          [range.right, peak],
        ],
        lineStyle: { color, width: 2, type: dash },
        endLabel: {
          show: precision === names[0],
          formatter: look.narrow ? digits(peak) : `${digits(peak)} ${names.join(', ')}`,
          color: names.length > 1 ? look.ink : color,
          fontSize: 11,
          fontWeight: 600,
        },
        labelLayout: { moveOverlap: 'shiftY' },
      };
    }),
  );
}

/** Room for the labels on the right. */
const labelRoom = (look, device, winners, precisions) =>
  look.narrow
    ? 44
    : 50 + 7 * Math.max(...[...peaksOf(device, winners, precisions).values()].map((names) => names.join(', ').length));

function option(look, device, winners, precisions, range) {
  const series = roofs(look, device, winners, precisions, range);
  precisions.forEach((precision, index) => {
    const { color, symbol } = styleAt(look, index);
    const shown = winners.filter((winner) => winner.problem.precision === precision);
    const { size, opacity } = markOf(shown.length);
    series.push({
      type: 'scatter',
      name: precision,
      symbol,
      symbolSize: size,
      itemStyle: { color, opacity },
      data: shown.map((winner) => ({ value: [intensity(winner.problem), winner.tflops], tip: tip(winner) })),
      z: shown.length > 100 ? 2 : 3,
    });
  });
  const grid = { left: 52, right: labelRoom(look, device, winners, precisions), top: 34, bottom: 48 };
  return {
    grid,
    xAxis: octaves(
      look,
      'operations per byte that must move',
      [range.left, range.right],
      look.width - grid.left - grid.right,
      { axisLabel: { formatter: logLabel } },
    ),
    yAxis: octaves(
      look,
      `TFLOP/s; the slope is memory at ${digits(device.memory_bandwidth_gb_s / 1000)} TB/s`,
      [range.bottom, range.top],
      kHeight - grid.top - grid.bottom,
      { vertical: true, axisLabel: { formatter: logLabel } },
    ),
    series,
  };
}

export const roofline = {
  id: 'roofline',
  title: 'Roofline',
  text:
    'Is a size bound by arithmetic or by memory, and how far below that bound is its kernel? Every winner, at the ' +
    'operations that it does for each byte that must cross device memory at least once.',
  legend: (data, state, look) =>
    precisionsOf(data, state).map((name, index) => ({ name, ...styleAt(look, index) })),
  charts(data, state) {
    const panels = state.devices
      .filter((device) => device.memory_bandwidth_gb_s)
      .map((device) => ({ device, winners: data.winners.filter((winner) => winner.device === device && winner.peak) }))
      .filter((panel) => panel.winners.length);
    const all = panels.flatMap((panel) => panel.winners);
    const ridgeOf = ({ device, winners }) =>
      Math.min(...winners.map((winner) => ridge(device, winner.problem.precision)));
    const intensities = all.map((winner) => intensity(winner.problem));
    const range = {
      left: power(Math.min(...intensities, ...panels.map(ridgeOf)) / 2, Math.floor),
      right: power(Math.max(...intensities) * 1.5, Math.ceil),
      bottom: power(Math.min(...all.map((winner) => winner.tflops)) / 1.5, Math.floor),
      top: power(Math.max(...all.map((winner) => winner.peak)) * 1.2, Math.ceil),
    };
    return panels.map(({ device, winners }) => ({
      title: `${device.name}${evidenceText(winners)}`,
      file: `roofline_${device.number}`,
      height: kHeight,
      option: (look) => option(look, device, winners, precisionsOf(data, state), range),
      table: {
        columns: ['precision', 'layout', 'm', 'n', 'k', 'operations_per_byte', 'tflops', 'roof_tflops'],
        rows: winners.map((winner) => [
          winner.problem.precision,
          winner.problem.layout,
          winner.problem.m,
          winner.problem.n,
          winner.problem.k,
          intensity(winner.problem),
          winner.tflops,
          roof(winner, intensity(winner.problem)),
        ]),
      },
    }));
  },
};
