// Which kernel won each size, and why?
import { configText, differences, edge, evidenceText, sizeText } from '../data.js';
import { csv, digits, percent, time } from '../format.js';
import { download, element } from '../elements.js';

const limits = {
  threads: 'threads',
  blocks: 'the number of blocks',
  registers: 'registers',
  'shared memory': 'shared memory',
};

/** Sentences about a winner, each from stored or predicted numbers. */
export function reasons(winner) {
  const said = [];
  const [first, second] = winner.shares;
  if (first) {
    said.push(
      `The model puts ${percent(first.value, 0)} of the time in ${first.name}` +
        (second ? ` and ${percent(second.value, 0)} in ${second.name}.` : '.'),
    );
  }
  const floor = Math.max(winner.arithmetic_floor_us ?? 0, winner.memory_floor_us ?? 0);
  if (floor > 0) {
    const what = winner.arithmetic_floor_us >= winner.memory_floor_us ? 'arithmetic' : 'memory';
    said.push(`It takes ${digits(winner.median_us / floor)} times the floor of ${time(floor)} that ${what} sets.`);
  }
  if (winner.limit) {
    const limit = limits[winner.limit];
    said.push(
      `${percent(winner.occupancy, 0)} occupancy, ${winner.blocks_per_sm} blocks an SM` +
        (limit ? `, limited by ${limit}; ` : '; ') +
        `${digits(winner.waves)} waves of ${winner.blocks} blocks.`,
    );
  }
  if (winner.runnerUp) {
    const slower = winner.runnerUp.median_us / winner.median_us - 1;
    const comparison = slower >= 0.0005 ? `${percent(slower)} slower` : 'as fast';
    said.push(`The runner-up is ${comparison}: ${differences(winner, winner.runnerUp).join(', ')}.`);
  }
  return said;
}

const remarks = (winner) => [
  ...(winner.state === 'current' ? [] : [`${winner.state}: ${winner.reason}`]),
  ...(winner.deterministic ? [] : ['not deterministic']),
];

const columns = [
  { name: 'Size', of: (winner) => sizeText(winner.problem), key: (winner) => edge(winner.problem), number: true },
  { name: 'Family', of: (winner) => winner.family },
  { name: 'TFLOP/s', of: (winner) => digits(winner.tflops, 4), key: (winner) => winner.tflops, number: true },
  { name: 'Time', of: (winner) => time(winner.median_us), key: (winner) => winner.median_us, number: true },
  { name: '% of peak', of: share, key: (winner) => winner.peakShare ?? -1, number: true },
  {
    name: '× cuBLAS',
    of: (winner) => digits(winner.benchmark?.ratio ?? null),
    key: (winner) => winner.benchmark?.ratio ?? -1,
    number: true,
    optional: (winner) => winner.benchmark !== null,
  },
  { name: 'Registers', of: (winner) => winner.registers ?? '–', key: (winner) => winner.registers ?? -1, number: true },
  { name: 'Occupancy', of: (winner) => percent(winner.occupancy, 0), key: (winner) => winner.occupancy, number: true },
  { name: 'Limit', of: (winner) => winner.limit ?? '–' },
  { name: 'Source', of: (winner) => [winner.evidence, ...remarks(winner)].join('; ') },
];

function share(winner) {
  if (winner.peakShare === null) return '–';
  const bar = element('span', {
    class: 'bar',
    style: `--share: ${Math.min(winner.peakShare, 1)}`,
    'aria-hidden': 'true',
  });
  return element('span', { class: 'share' }, percent(winner.peakShare), bar);
}

function sharesList(winner) {
  const shown = winner.shares.filter((each) => each.value >= 0.005);
  return element(
    'ul',
    { class: 'shares' },
    shown.map((each) =>
      element(
        'li',
        { style: `--share: ${each.value}` },
        element('span', {}, each.name),
        element('b', {}, percent(each.value, 0)),
      ),
    ),
  );
}

function explanation(winner, width) {
  return element(
    'tr',
    { class: 'why' },
    element(
      'td',
      { colspan: width },
      element(
        'details',
        {},
        element(
          'summary',
          {},
          element('b', {}, 'Why: '),
          reasons(winner)[0] ?? 'nothing is known of this GPU or family.',
        ),
        element('p', {}, reasons(winner).slice(1).join(' ')),
        element('p', { class: 'config' }, `${winner.family} ${configText(winner)}`),
        winner.shares.length ? sharesList(winner) : null,
      ),
    ),
  );
}

const exported = {
  precision: (winner) => winner.problem.precision,
  layout: (winner) => winner.problem.layout,
  m: (winner) => winner.problem.m,
  n: (winner) => winner.problem.n,
  k: (winner) => winner.problem.k,
  family: (winner) => winner.family,
  config: configText,
  source: (winner) => winner.evidence,
  median_us: (winner) => winner.median_us,
  tflops: (winner) => winner.tflops,
  peak_share: (winner) => winner.peakShare,
  registers: (winner) => winner.registers,
  smem_bytes: (winner) => winner.smem_bytes,
  occupancy: (winner) => winner.occupancy,
  limit: (winner) => winner.limit,
  waves: (winner) => winner.waves,
  why: (winner) => reasons(winner).join(' '),
};

const csvTable = (winners) => ({
  columns: Object.keys(exported),
  rows: winners.map((winner) => Object.values(exported).map((of) => of(winner))),
});

/** So many rows are shown at first. */
const kFirstRows = 40;

/** The table of one GPU, sorted by a column; a click on a heading sorts by that. */
function tableOf(winners, sort, most, resort) {
  const shown = columns.filter((column) => !column.optional || winners.some(column.optional));
  const by = shown.find((column) => column.name === sort.name) ?? shown[0];
  const key = by.key ?? by.of;
  const sorted = [...winners].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) * (sort.down ? -1 : 1));
  const heading = (column) =>
    element(
      'th',
      {
        scope: 'col',
        class: column.number ? 'number' : null,
        'aria-sort': column === by ? (sort.down ? 'descending' : 'ascending') : null,
      },
      element(
        'button',
        { type: 'button', click: () => resort({ name: column.name, down: column === by && !sort.down }) },
        column.name,
      ),
    );
  const row = (winner) => [
    element(
      'tr',
      { class: 'winner' },
      shown.map((column) =>
        element('td', { class: column.number ? 'number' : null, 'data-label': column.name }, column.of(winner)),
      ),
    ),
    explanation(winner, shown.length),
  ];
  return element(
    'table',
    { class: 'winners' },
    element('thead', {}, element('tr', {}, shown.map(heading))),
    element('tbody', {}, sorted.slice(0, most).flatMap(row)),
  );
}

export const winners = {
  id: 'winners',
  title: 'Winners, and why',
  text:
    'Which kernel does each size of the chosen type get, and what explains its speed? Floors and occupancy follow from limits and from ' +
    'what the compiler reported; shares of the time are the model’s estimate, not a measurement.',
  draw(host, data, state) {
    host.replaceChildren();
    for (const device of state.devices) {
      const list = data.winners.filter(
        ({ device: of, problem }) =>
          of === device && problem.precision === state.precision && problem.layout === state.layout,
      );
      if (!list.length) continue;
      const box = element('div', {
        class: 'across',
        tabindex: 0,
        role: 'region',
        'aria-label': `Winners on ${device.name}`,
      });
      let most = kFirstRows;
      let order = { name: 'Size', down: false };
      const draw = (sort) => {
        order = sort;
        box.replaceChildren(tableOf(list, order, most, draw));
      };
      draw(order);
      const all = element(
        'button',
        {
          type: 'button',
          class: 'more',
          click: () => {
            most = list.length;
            draw(order);
            all.remove();
          },
        },
        `Show all ${list.length} sizes`,
      );
      const type = `${state.precision}_${state.layout}`;
      const save = () => download(`winners_${device.number}_${type}.csv`, 'text/csv', csv(csvTable(list)));
      host.append(
        element(
          'figure',
          { class: 'wide' },
          element(
            'figcaption',
            {},
            element('h3', {}, `${device.name}: ${state.precision} ${state.layout}${evidenceText(list)}`),
            element(
              'span',
              { class: 'exports' },
              element(
                'button',
                { type: 'button', 'aria-label': `Save the winners on ${device.name} as CSV`, click: save },
                'CSV',
              ),
            ),
          ),
          box,
          list.length > kFirstRows ? all : null,
        ),
      );
    }
  },
};
