// What bounds each size: arithmetic or memory?
import { axis } from '../chart.js';
import { sizeText } from '../data.js';
import { digits, percent } from '../format.js';
import { dashes, symbols } from '../theme.js';

const intensity = (problem) => problem.flops / problem.bytes;

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
const logLabel = (value) => (value >= 1 || value === 0 ? `${value}` : digits(value, 2));

function roofs(look, device, winners, precisions, range) {
  const start = Math.max(range.left, (range.bottom * 1000) / device.memory_bandwidth_gb_s);
  return precisions.flatMap((precision, index) => {
    if (!winners.some((winner) => winner.problem.precision === precision)) return [];
    const peak = device.peaks[precision];
    const color = look.series[index];
    return [
      {
        type: 'line',
        name: `roof of ${precision}`,
        symbol: 'none',
        silent: true,
        data: [
          [start, (device.memory_bandwidth_gb_s * start) / 1000],
          [ridge(device, precision), peak],
          [range.right, peak],
        ],
        lineStyle: { color, width: 2, type: dashes[index % dashes.length] },
        endLabel: {
          show: true,
          formatter: `${precision}\n${digits(peak)}`,
          color,
          fontSize: 12,
          lineHeight: 15,
          fontWeight: 600,
        },
        labelLayout: { moveOverlap: 'shiftY' },
      },
    ];
  });
}

function option(look, device, winners, precisions, range) {
  const series = roofs(look, device, winners, precisions, range);
  precisions.forEach((precision, index) => {
    series.push({
      type: 'scatter',
      name: precision,
      symbol: symbols[index],
      symbolSize: 10,
      itemStyle: { color: look.series[index], opacity: 0.85 },
      data: winners
        .filter((winner) => winner.problem.precision === precision)
        .map((winner) => ({ value: [intensity(winner.problem), winner.tflops], tip: tip(winner) })),
    });
  });
  return {
    grid: { left: 52, right: 64, top: 34, bottom: 48 },
    xAxis: axis(look, 'operations per byte that must move', {
      type: 'log',
      logBase: 2,
      min: range.left,
      max: range.right,
      axisLabel: { formatter: logLabel },
    }),
    yAxis: axis(look, `TFLOP/s; the slope is memory at ${digits(device.memory_bandwidth_gb_s / 1000)} TB/s`, {
      vertical: true,
      type: 'log',
      logBase: 2,
      min: range.bottom,
      max: range.top,
      axisLabel: { formatter: logLabel },
    }),
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
    precisionsOf(data, state).map((name, index) => ({ name, color: look.series[index], symbol: symbols[index] })),
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
      title: device.name,
      file: `roofline_${device.number}`,
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
