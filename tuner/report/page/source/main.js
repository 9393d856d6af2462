// The page: what is chosen, and the sections that show it.
import { drawCharts, drawForPrint, redrawCharts } from './chart.js';
import { edge, isSquare, read, sizeText } from './data.js';
import { choice, element } from './elements.js';
import { count, digits, percent } from './format.js';
import { curves } from './sections/curves.js';
import { heatmap } from './sections/heatmap.js';
import { occupancy } from './sections/occupancy.js';
import { roofline } from './sections/roofline.js';
import { speed } from './sections/speed.js';
import { study } from './sections/study.js';
import { trace } from './sections/trace.js';
import { winners } from './sections/winners.js';
import { chooseTheme, chosenTheme, theme, watchTheme } from './theme.js';

const data = read(JSON.parse(document.getElementById('data').textContent));
data.families = [...new Set([...data.winners, ...data.trials].map((run) => run.family))].sort();

const sections = [speed, roofline, heatmap, occupancy, curves, trace, study, winners];

const typesOf = (devices) => [
  ...new Set(
    data.trials
      .filter((trial) => devices.includes(trial.device))
      .map(({ problem }) => `${problem.precision} ${problem.layout}`),
  ),
];

/** Problems of the type that are shown, by size. */
function problemsOf(state) {
  const found = new Set(
    data.trials
      .filter((trial) => state.devices.includes(trial.device))
      .map((trial) => trial.problem)
      .filter((problem) => problem.precision === state.precision && problem.layout === state.layout),
  );
  return [...found].sort((a, b) => edge(a) - edge(b));
}

/** The GPU that has most results; predictions count only where nothing was measured. */
function mainDevice() {
  const isMeasured = (winner) => winner.evidence === 'measured';
  const counted = data.winners.some(isMeasured) ? data.winners.filter(isMeasured) : data.winners;
  const results = (device) => counted.filter((winner) => winner.device === device).length;
  return data.devices.reduce((most, device) => (results(device) > results(most) ? device : most));
}

const state = { devices: [mainDevice()], family: null, x: null, y: null };

/** What is shown exists, whatever was changed. */
function settle() {
  const types = typesOf(state.devices);
  if (!types.includes(`${state.precision} ${state.layout}`)) [state.precision, state.layout] = types[0].split(' ');
  const problems = problemsOf(state);
  if (!problems.some((problem) => problem.name === state.problem)) {
    state.problem = (problems.filter(isSquare).at(-1) ?? problems.at(-1)).name;
  }
}

function change(changes) {
  Object.assign(state, changes);
  settle();
  draw();
}

function masthead() {
  const { about } = data;
  const dates = data.winners.map((winner) => winner.created.slice(0, 10)).sort();
  const period = dates.length ? (dates[0] === dates.at(-1) ? dates[0] : `${dates[0]} to ${dates.at(-1)}`) : '';
  const measured = data.winners.filter((winner) => winner.evidence === 'measured');
  const predicted = data.winners.filter((winner) => winner.evidence === 'predicted');
  const shown = measured.length ? measured : predicted;
  const source = measured.length ? '' : ', predicted';
  const best = shown.reduce((top, winner) => (winner.tflops > (top?.tflops ?? 0) ? winner : top), null);
  const shares = shown
    .map((winner) => winner.peakShare)
    .filter((value) => value !== null)
    .sort((a, b) => a - b);
  // What was measured says nothing of kernels whose times are predicted.
  const isMeasured = ({ device }) => measured.some((winner) => winner.device === device);
  const races = data.benchmarks.filter((row) => row.ratio > 0 && isMeasured(row));
  const mean = Math.exp(races.reduce((sum, row) => sum + Math.log(row.ratio), 0) / races.length);
  const tiles = [
    ['decided', count(data.winners.length, 'problem')],
    ['tried', count(about.trials, 'trial')],
    ...(best ? [[`fastest${source}`, `${digits(best.tflops)} TFLOP/s`]] : []),
    ...(shares.length
      ? [[`median of the peak${source}`, percent(shares[Math.floor(shares.length / 2)], 0)]]
      : []),
    ...(races.length
      ? [[`against ${races[0].rival}, measured`, `${digits(mean)} ×, ${count(races.length, 'problem')}`]]
      : []),
  ];
  document.getElementById('masthead').replaceChildren(
    element(
      'h1',
      {},
      `Matrix products on ${data.devices.length > 2 ? `${data.devices.length} GPUs` : data.devices.map((device) => device.name).join(' and ')}`,
    ),
    element(
      'p',
      { class: 'where' },
      [about.database, period, `mmtune ${about.version} (${about.commit})`].filter(Boolean).join(' · '),
    ),
    predicted.length
      ? element(
          'p',
          { class: 'notice' },
          element('b', {}, 'Predicted: '),
          measured.length
            ? `${predicted.length} of these ${count(data.winners.length, 'time')}`
            : 'all of these times',
          ' come from the model of a GPU, not from a measurement. Titles say where that is so.',
        )
      : '',
    element(
      'dl',
      { class: 'tiles' },
      tiles.map(([name, value]) => element('div', {}, element('dt', {}, name), element('dd', {}, value))),
    ),
  );
  const left = about.trials - data.trials.length;
  document
    .getElementById('footer')
    .replaceChildren(
      element(
        'p',
        {},
        left > 0
          ? `The page has ${data.trials.length} of ${count(about.trials, 'trial')}: the fastest of each size, each that was the best so far, and an even sample of the others. `
          : '',
        'TFLOP/s count a multiply-add as two operations: 2·m·n·k. Made by mmtune; charts by Apache ECharts.',
      ),
    );
}

function controls() {
  const named = (device) => ({ value: String(device.number), text: device.name });
  const [first, second] = state.devices;
  const types = typesOf(state.devices).map((type) => ({ value: type, text: type }));
  const others = data.devices.filter((device) => device !== first).map(named);
  const show = (...numbers) =>
    change({ devices: numbers.filter((number) => number !== '').map((number) => data.devices[number]) });
  document.getElementById('controls').replaceChildren(
    choice('GPU', data.devices.map(named), String(first.number), (value) =>
      show(value, second && second.number !== Number(value) ? String(second.number) : ''),
    ),
    ...(others.length
      ? [
          choice('beside', [{ value: '', text: 'none' }, ...others], second ? String(second.number) : '', (value) =>
            show(String(first.number), value),
          ),
        ]
      : []),
    choice('Type', types, `${state.precision} ${state.layout}`, (value) => {
      const [precision, layout] = value.split(' ');
      change({ precision, layout });
    }),
    choice(
      'Size',
      problemsOf(state).map((problem) => ({ value: problem.name, text: sizeText(problem) })),
      state.problem,
      (problem) => change({ problem }),
    ),
    choice(
      'Theme',
      ['auto', 'light', 'dark'].map((name) => ({ value: name, text: name })),
      chosenTheme(),
      (name) => {
        chooseTheme(name);
        draw();
      },
    ),
  );
}

/** Which symbol is what: of a list of {name, color, symbol}. */
function legend(entries) {
  const mark = ({ name, color, symbol }) => {
    const circle = 'M5 0 A5 5 0 1 0 5 10 A5 5 0 1 0 5 0 Z';
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    svg.setAttribute('viewBox', '0 0 10 10');
    svg.setAttribute('aria-hidden', 'true');
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    path.setAttribute('d', symbol === 'circle' ? circle : symbol.replace('path://', ''));
    path.setAttribute('fill', color);
    svg.append(path);
    return element('li', {}, svg, name);
  };
  return element('ul', { class: 'legend' }, entries.map(mark));
}

function drawSection(section) {
  const host = document.getElementById(section.id);
  const panels = host.querySelector('.panels');
  host.querySelector('.choices').replaceChildren(...(section.controls?.(data, state, change) ?? []));
  if (section.legend) host.querySelector('.choices').append(legend(section.legend(data, state, theme())));
  if (section.draw) {
    section.draw(panels, data, state);
    return;
  }
  const charts = section.charts(data, state);
  host.hidden = charts.length === 0;
  drawCharts(panels, charts);
}

function draw() {
  controls();
  sections.forEach(drawSection);
}

function build() {
  document
    .getElementById('charts')
    .replaceChildren(
      ...sections.map((section) =>
        element(
          'section',
          { id: section.id, 'aria-labelledby': `${section.id}-title` },
          element('h2', { id: `${section.id}-title` }, section.title),
          element('p', { class: 'question' }, section.text),
          element('div', { class: 'choices' }),
          element('div', { class: 'panels' }),
        ),
      ),
    );
  masthead();
}

function watch() {
  watchTheme(draw);
  let width = document.documentElement.clientWidth;
  window.addEventListener('resize', () => {
    const now = document.documentElement.clientWidth;
    if (now !== width) requestAnimationFrame(redrawCharts);
    width = now;
  });
  let before = 'auto';
  window.addEventListener('beforeprint', () => {
    before = chosenTheme();
    chooseTheme('light');
    for (const details of document.querySelectorAll('.why details')) details.open = true;
    drawForPrint();
  });
  window.addEventListener('afterprint', () => {
    chooseTheme(before);
    draw();
  });
}

chooseTheme('auto');
settle();
build();
draw();
watch();
