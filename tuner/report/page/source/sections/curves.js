// What would fit more blocks of the winner on an SM, and what would cost it one?
import { axis } from '../chart.js';
import { configText, sizeText, typeText } from '../data.js';
import { bytes, percent } from '../format.js';
import { star, styleAt } from '../theme.js';
import { winnerOf } from './search.js';

/** What a block takes of an SM: its column, what it is called, and how an amount is written and drawn. */
const kResources = [
  { column: 'threads', name: 'Threads per block', short: 'threads', text: String, place: Number },
  { column: 'registers', name: 'Registers per thread', short: 'registers', text: String, place: Number },
  {
    column: 'smem_bytes',
    name: 'Shared memory per block',
    short: 'shared memory',
    text: bytes,
    place: (amount) => amount / 1024,
  },
];

const winnersOf = (data, state) =>
  state.devices.map((device) => winnerOf(data, device, state)).filter((winner) => winner?.curves);

function tip(winner, resource, amount, warps, title) {
  return [
    [title],
    [resource.short, resource.text(amount)],
    ['warps on an SM', `${warps} of ${winner.device.max_warps_per_sm}`],
    ['occupancy', percent(warps / winner.device.max_warps_per_sm, 0)],
    ['winner', `${winner.family} ${configText(winner)}`],
  ];
}

function seriesOf(look, winner, index, resource) {
  const style = styleAt(look, index);
  const curve = winner.curves[resource.column];
  const here = winner[resource.column] ?? 0;
  const { name } = winner.device;
  return [
    {
      type: 'line',
      name,
      step: 'end',
      symbol: style.symbol,
      symbolSize: index === 0 ? 9 : 5, // Where two curves are one, both are seen.
      showAllSymbol: true,
      lineStyle: { color: style.color, width: 2, type: style.dash },
      itemStyle: { color: style.color },
      data: curve.map(([amount, warps]) => ({
        value: [resource.place(amount), warps],
        tip: tip(winner, resource, amount, warps, name),
      })),
    },
    {
      type: 'scatter',
      name: `winner on ${name}`,
      symbol: star,
      symbolSize: index === 0 ? 24 : 15,
      itemStyle: { color: style.color, borderColor: look.ink, borderWidth: 1 },
      data: [
        {
          value: [resource.place(here), winner.warps_per_sm],
          tip: tip(winner, resource, here, winner.warps_per_sm, `${name}, as it is`),
        },
      ],
      z: 5,
    },
  ];
}

function option(look, winners, resource) {
  const ends = winners.map((winner) => resource.place(winner.curves[resource.column].at(-1)[0]));
  return {
    grid: { left: 42, right: 20, top: 34, bottom: 48 },
    xAxis: axis(look, resource.name.replace('memory', 'memory, KiB'), {
      type: 'value',
      min: 0,
      max: Math.max(...ends),
    }),
    yAxis: axis(look, 'warps on an SM', {
      vertical: true,
      type: 'value',
      min: 0,
      max: Math.max(...winners.map((winner) => winner.device.max_warps_per_sm)),
      interval: 8,
    }),
    series: winners.flatMap((winner, index) => seriesOf(look, winner, index, resource)),
  };
}

const table = (winners, { column }) => ({
  columns: ['gpu', column, 'warps_per_sm', 'occupancy', 'is_winner'],
  rows: winners.flatMap((winner) => [
    [winner.device.name, winner[column] ?? 0, winner.warps_per_sm, winner.occupancy, 1],
    ...winner.curves[column].map(([amount, warps]) => [
      winner.device.name,
      amount,
      warps,
      warps / winner.device.max_warps_per_sm,
      0,
    ]),
  ]),
});

export const curves = {
  id: 'curves',
  title: 'What bounds the occupancy',
  text:
    'How many warps would an SM hold if a block of the winner took more or less of one thing, and as much as now of ' +
    'the others? ★ is the winner as it is. Where a curve is 0 no such block can run.',
  legend: (data, state, look) =>
    winnersOf(data, state).map((winner, index) => ({ name: winner.device.name, ...styleAt(look, index) })),
  charts(data, state) {
    const winners = winnersOf(data, state);
    if (!winners.length) return [];
    const { problem } = winners[0];
    return kResources.map((resource) => ({
      title: `${resource.name}: ${sizeText(problem)} ${typeText(problem)}`,
      file: `occupancy_against_${resource.column}_${problem.name.replaceAll(/[^a-z0-9]+/gi, '_')}`,
      height: 300,
      option: (look) => option(look, winners, resource),
      table: table(winners, resource),
    }));
  },
};
