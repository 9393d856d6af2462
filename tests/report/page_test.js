// page_test.js MMTUNE FOLDER LIBRARIES: a report of a model's database in headless Chromium. Every chart is drawn, values
// on screen are those of the database, in light, in dark, on a phone and on paper, without a network or an error.
// Screenshots stay in FOLDER.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const [program, folder, libraries] = process.argv.slice(2);
const work = resolve(folder);
const database = join(work, 'model.db');
const report = join(work, 'report.html');
const kLargestReport = 2_000_000;

const mmtune = (...words) =>
  execFileSync(program, [...words, '--db', database], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

const browserPath = (process.env.PATH ?? '')
  .split(':')
  .flatMap((place) => ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(place, name)))
  .find(existsSync);
if (!browserPath) {
  console.log('SKIPPED: Chromium is not installed');
  process.exit(0);
}

/** Of the eight configurations that are searched, those that are worth trying. */
const kTrialsOfASize = 6;

/** A result of `mmtune bench` for a size of the database and one that is not in it. */
const kBenchmark =
  'set,precision,layout,m,n,k,mmtune_us,cublas_us,cublaslt_us,ratio,ratio_low,ratio_high,family,config\n' +
  'square,fp32,nn,256,256,256,10.000,8.000,7.500,0.7500,0.7400,0.7600,simt,BM=32\n' +
  'square,fp32,nn,512,512,512,20.000,16.000,,0.8000,0.7900,0.8100,simt,BM=32\n';
const kOpponentTflops = [(2 * 256 ** 3) / 7.5e6, (2 * 512 ** 3) / 16e6];

/** Two tiles of two kernels at two sizes, as a table of `mmtune study` has them. */
const kKernels = [
  ['simple', 'naive'],
  ['coarsened', 'tiled_coarsened'],
];
const studyRows = (n, tile) =>
  kKernels.map(
    ([column, family]) =>
      `s1,1 kernels by size and tile,${n} tile ${tile},${column},int32,${n},${n},${n},${family},${n * tile}\n`,
  );
const kStudy = [
  'document,table,row,column,precision,m,n,k,family,gflops\n',
  ...[256, 1024].flatMap((n) => [16, 32].flatMap((tile) => studyRows(n, tile))),
].join('');

function makeReport() {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  const tune = (device, sizes) =>
    mmtune(
      'tune',
      '-q',
      '--device',
      device,
      '--sizes',
      sizes,
      '--family',
      'tiled_coarsened',
      '--strategy',
      'exhaustive',
      '--only',
      'TILE=8,16 UNROLL=8 CM=1,2 CN=1,2',
    );
  tune('model:h200', '256,512,256x64x512');
  tune('model:a100', '256,512');
  writeFileSync(join(work, 'gemm.csv'), kBenchmark);
  writeFileSync(join(work, 'tiles.csv'), kStudy);
  const file = (name) => `h200=${join(work, name)}`;
  mmtune('report', '-q', '-o', report, '--bench', file('gemm.csv'), '--study', file('tiles.csv'));
  assert.ok(statSync(report).size < kLargestReport, `the report has ${statSync(report).size} bytes`);
  return JSON.parse(mmtune('show', '--format', 'json'));
}

/** Opens the report and hands its page, its faults and what it asked the network for to `check`. */
async function withPage(browser, options, check) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    acceptDownloads: true,
    ...options,
  });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const faults = [];
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('request', (request) => /^(file|data|blob):/.test(request.url()) || faults.push(`asks for ${request.url()}`));
  await page.goto(`file://${report}`);
  await check(page);
  assert.deepEqual(faults, []);
  await context.close();
}

/** Charts of each section where one GPU is shown, and where another stands beside it. */
const kAlone = { speed: 1, roofline: 1, heatmap: 1, occupancy: 1, curves: 3, trace: 1, study: 1 };
const kBeside = { speed: 2, roofline: 2, heatmap: 2, occupancy: 2, curves: 3, trace: 2, study: 1 };

const showBeside = (page) =>
  page.locator('#controls').getByLabel('beside').selectOption({ label: 'NVIDIA A100-SXM4-80GB' });

async function checkDrawn(page, expected) {
  for (const [section, charts] of Object.entries(expected)) {
    const drawn = await page.$$eval(`#${section} .stage svg`, (all) =>
      all.map((svg) => ({ width: svg.getBoundingClientRect().width, shapes: svg.querySelectorAll('path').length })),
    );
    assert.equal(drawn.length, charts, section);
    for (const { width, shapes } of drawn)
      assert.ok(width > 200 && shapes > 6, `${section}: ${width} wide, ${shapes} shapes`);
  }
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= window, `${content} pixels wide in a window of ${window}`);
}

/** Equal to as many digits as the page shows. */
const assertShown = (shown, stored, what) =>
  assert.ok(Math.abs(parseFloat(shown) - stored) <= 0.00051 * stored + 1e-9, `${what}: ${shown} instead of ${stored}`);

const sizeText = ({ m, n, k }) => (m === n && n === k ? `${m}` : `${m}×${n}×${k}`);

async function checkWinners(page, stored) {
  const shown = await page.$$eval('#winners figure', (figures) =>
    figures.flatMap((figure) =>
      [...figure.querySelectorAll('tr.winner')].map((row) => ({
        gpu: figure.querySelector('h3').textContent.split(':')[0],
        ...Object.fromEntries([...row.cells].map((cell) => [cell.dataset.label, cell.textContent])),
        why: row.nextElementSibling.textContent,
      })),
    ),
  );
  assert.equal(shown.length, stored.length);
  for (const winner of stored) {
    const row = shown.find((each) => each.gpu === winner.gpu && each.Size === sizeText(winner));
    assert.ok(row, `${winner.gpu} ${sizeText(winner)}`);
    assertShown(row['TFLOP/s'], winner.tflops, 'TFLOP/s');
    assert.equal(row.Registers, String(winner.registers));
    assert.equal(row.Occupancy, `${Math.round(100 * winner.occupancy)} %`);
    assert.ok(row.why.includes(winner.config), row.why);
    assert.ok(row.why.includes('occupancy') && row.why.includes('runner-up'), row.why);
  }
}

/** The rows of a chart's own table. */
async function tableOf(page, section, chart) {
  const details = page.locator(`#${section} figure`).nth(chart).locator('.data');
  await details.locator('summary').click();
  await details.locator('td').first().waitFor();
  const columns = await details.locator('th').allTextContents();
  const rows = await details
    .locator('tbody tr')
    .evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  return rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])));
}

async function checkTables(page, stored) {
  const ofH200 = stored.filter((row) => row.gpu === 'NVIDIA H200');
  const place = (await page.locator('#speed h3').first().textContent()).includes('H200') ? 0 : 1;
  const speed = await tableOf(page, 'speed', place);
  for (const winner of ofH200) {
    const row = speed.find(
      (each) =>
        each.series === 'mmtune (predicted)' &&
        `${each.m} ${each.n} ${each.k}` === `${winner.m} ${winner.n} ${winner.k}`,
    );
    assertShown(row.tflops, winner.tflops, 'speed');
    assert.equal(Number(row.median_us), winner.median_us);
  }
  const theirs = speed.filter((row) => row.series.startsWith('cublas')).map((row) => Number(row.tflops));
  assert.deepEqual(
    theirs.map((value) => value.toFixed(6)),
    kOpponentTflops.map((value) => value.toFixed(6)),
  );

  const best = ofH200.find((row) => row.m === 512).tflops;
  const trials = await tableOf(page, 'trace', place);
  assert.equal(trials.length, kTrialsOfASize);
  const [counts] = JSON.parse(mmtune('db', 'check', '--format', 'json'));
  assert.match(await page.locator('.tiles').textContent(), new RegExp(`tried${counts.trials} trials`));
  assertShown(Math.max(...trials.map((row) => Number(row.tflops))), best, 'trace');
  assertShown(
    Math.max(...(await tableOf(page, 'heatmap', place)).map((row) => Number(row.best_tflops))),
    best,
    'heat map',
  );
}

/** Each curve is what `mmtune occupancy` says of the winner's block with another amount of one thing. */
async function checkCurves(page, stored) {
  const columns = ['threads', 'registers', 'smem_bytes'];
  const [winner] = stored.filter((row) => row.gpu === 'NVIDIA H200' && row.m === 512);
  assert.match(await page.locator('#curves h3').first().textContent(), /: 512 fp32 nn/);
  const tables = [];
  for (const i of columns.keys()) {
    const rows = await tableOf(page, 'curves', i);
    tables.push(rows.filter((row) => row.gpu === winner.gpu));
    assert.equal(new Set(rows.map((row) => row.gpu)).size, 2);
  }
  const block = Object.fromEntries(columns.map((column, i) => [column, tables[i].find((row) => row.is_winner === '1')[column]]));
  assert.equal(block.registers, String(winner.registers));
  assert.equal(block.smem_bytes, String(winner.smem_bytes));
  const warpsOf = ({ threads, registers, smem_bytes }) => {
    const words = ['--threads', threads, '--registers', registers, '--smem', smem_bytes, '--device', 'model:h200'];
    return JSON.parse(mmtune('occupancy', '--format', 'json', ...words))[0].active_warps;
  };
  columns.forEach((column, i) => {
    const curve = tables[i].filter((row) => row.is_winner === '0');
    assert.ok(curve.length >= 3, `${column}: ${curve.length} steps`);
    assert.ok(new Set(curve.map((row) => row.warps_per_sm)).size >= 2, column);
    for (const row of [tables[i][0], ...curve.slice(0, 4), curve.at(-1)]) {
      assert.equal(Number(row.warps_per_sm), warpsOf({ ...block, [column]: row[column] }), `${column} ${row[column]}`);
    }
  });

  const chart = page.locator('#curves figure').nth(1);
  await chart.locator('.stage').focus();
  await page.keyboard.press('Home');
  assert.match(await chart.locator('.readout').textContent(), /1 of \d+: .*registers 1 · warps on an SM \d+ of 64/);
  await page.keyboard.press('End');
  assert.match(await chart.locator('.readout').textContent(), /as it is/);
}

async function checkKeyboard(page, stored) {
  const first = page.locator('#speed figure').first();
  const gpu = (await first.locator('h3').textContent()).split(':')[0];
  await first.locator('.stage').focus();
  await page.keyboard.press('Home');
  const said = await first.locator('.readout').textContent();
  const smallest = stored.find((row) => row.gpu === gpu && row.m === 256 && row.k === 256);
  assert.match(said, /mmtune, 256 fp32 nn/);
  assertShown(said.match(/speed ([\d.]+) TFLOP/)[1], smallest.tflops, 'keyboard');
  await page.keyboard.press('ArrowRight');
  assert.match(await first.locator('.readout').textContent(), /512 fp32 nn/);
  assert.ok(await first.locator('.tip').isVisible(), 'no tip');
}

async function checkHover(page) {
  const curves = page.locator('#curves .stage').first();
  await curves.scrollIntoViewIfNeeded();
  const place = await curves.boundingBox();
  const star = await curves.evaluate((stage) => {
    const stars = [...stage.querySelectorAll('path')].filter((path) => path.getBoundingClientRect().width > 15);
    const boxes = stars.map((path) => path.getBoundingClientRect()).filter((box) => box.width < 25 && box.height > 15);
    return { x: boxes.at(-1).x + boxes.at(-1).width / 2, y: boxes.at(-1).y + boxes.at(-1).height / 2 };
  });
  await page.mouse.move(place.x + 5, place.y + 5);
  await page.mouse.move(star.x, star.y);
  assert.match(await page.locator('#curves .readout').first().textContent(), /as it is · threads \d+ · warps on an SM/);
  const stage = page.locator('#heatmap .stage').first();
  await stage.scrollIntoViewIfNeeded();
  const box = await stage.boundingBox();
  for (let across = 0.15; across < 0.95; across += 0.1) await page.mouse.move(box.x + across * box.width, box.y + 70);
  assert.match(await page.locator('#heatmap .readout').first().textContent(), /TILE .* best speed/);
}

async function checkExports(page) {
  const save = async (name) => {
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.locator('#speed figure').first().getByRole('button', { name }).click(),
    ]);
    return readFileSync(await file.path(), 'utf8');
  };
  assert.match(await save(/SVG/), /^<svg[^]*mmtune[^]*<\/svg>$/);
  assert.match(await save(/CSV/), /^series,m,n,k,tflops,.*\nmmtune \(predicted\),256,/);
}

/** What is predicted is called so, and a measured ratio to cuBLAS is not said of it. */
async function checkEvidence(page) {
  assert.match(await page.locator('.notice').textContent(), /all of these times come from the model/);
  assert.doesNotMatch(await page.locator('.tiles').textContent(), /cuBLAS/);
  assert.match(await page.locator('.tiles').textContent(), /fastest, predicted/);
  for (const section of ['speed', 'roofline', 'heatmap', 'occupancy', 'trace', 'winners'])
    assert.match(await page.locator(`#${section} h3`).first().textContent(), /predicted/, section);
  const legend = (await page.locator('#speed svg text').allTextContents()).join('|');
  assert.match(legend, /mmtune, predicted/);
  assert.match(legend, /cuBLAS, measured/);
}

const labelsOf = (page, section) =>
  page.locator(`#${section} .stage`).first().locator('svg text').allTextContents();

/** Axes have a label at every step, colours span the values, studies have names for people. */
async function checkReadable(page) {
  const powers = (await labelsOf(page, 'roofline'))
    .filter((text) => /^(1\/)?\d+$/.test(text))
    .map((text) => Math.log2(text.startsWith('1/') ? 1 / Number(text.slice(2)) : Number(text)))
    .filter(Number.isInteger);
  const steps = powers.slice(1).map((power, i) => power - powers[i]);
  assert.ok(powers.length >= 10, powers.join(' '));
  const upwards = steps.filter((step) => step > 0); // those of one axis, then those of the other
  assert.ok(
    upwards.every((step) => step === upwards[0] || step === upwards.at(-1)),
    steps.join(' '),
  );

  const cells = (await tableOf(page, 'heatmap', 0)).map((row) => Number(row.best_tflops));
  const ends = (await labelsOf(page, 'heatmap')).map(parseFloat);
  for (const end of [Math.min(...cells), Math.max(...cells)])
    assert.ok(ends.some((shown) => Math.abs(shown - end) <= 0.006 * end), `${end} in ${ends.join(' ')}`);

  const title = await page.locator('#study h3').first().textContent();
  assert.equal(title, 'Thread coarsening (s1): kernels by size and tile');
  const study = (await labelsOf(page, 'study')).join('|');
  for (const text of ['simple, tile 16', 'coarsened, tile 32', 'size: m = n = k'])
    assert.ok(study.includes(text), study);
  assert.ok(!study.includes('…') && !study.includes('gflops'), study);
  const hidden = await page.$$eval('#winners .across', (all) => all.map((box) => box.scrollHeight - box.clientHeight));
  assert.ok(hidden.length && hidden.every((pixels) => pixels <= 0), 'the winners are cut');
}

async function checkChoices(page) {
  await page.locator('#controls').getByLabel('beside').selectOption('none');
  assert.equal(await page.locator('#speed .stage svg').count(), 1);
  await page.locator('#controls').getByLabel('Size').selectOption('256');
  assert.match(await page.locator('#trace h3').first().textContent(), /: 256 fp32 nn/);
  assert.match(await page.locator('#curves h3').first().textContent(), /: 256 fp32 nn/);
}

const luminance = (page) =>
  page.$eval('figure', (figure) =>
    getComputedStyle(figure)
      .backgroundColor.match(/\d+/g)
      .reduce((sum, part) => sum + Number(part), 0),
  );

const stored = makeReport();
const { chromium } = createRequire(join(resolve(libraries), 'x.js'))('playwright-core');
const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'], timeout: 120_000 });
const keep = (page, name) => page.screenshot({ path: join(work, `${name}.png`), fullPage: true });

await withPage(browser, { colorScheme: 'light' }, async (page) => {
  await checkDrawn(page, kAlone);
  assert.match(await page.locator('#speed h3').first().textContent(), /H200/, 'it has most results');
  await checkEvidence(page);
  await checkReadable(page);
  await showBeside(page);
  await checkDrawn(page, kBeside);
  await keep(page, 'light');
  assert.ok((await luminance(page)) > 700);
  await checkWinners(page, stored);
  await checkTables(page, stored);
  await checkCurves(page, stored);
  await checkKeyboard(page, stored);
  await checkHover(page);
  await checkExports(page);
  await checkChoices(page);
});
await withPage(browser, { colorScheme: 'dark' }, async (page) => {
  await checkDrawn(page, kAlone);
  await keep(page, 'dark');
  assert.ok((await luminance(page)) < 150);
  await page.locator('#controls').getByLabel('Theme').selectOption('light');
  assert.ok((await luminance(page)) > 700);
});
await withPage(browser, { viewport: { width: 390, height: 844 } }, async (page) => {
  await checkDrawn(page, kAlone);
  await showBeside(page);
  await checkDrawn(page, kBeside);
  await keep(page, 'phone');
  await checkWinners(page, stored);
});
await withPage(browser, { colorScheme: 'dark' }, async (page) => {
  await page.pdf({ path: join(work, 'print.pdf') });
  await page.emulateMedia({ media: 'print' });
  assert.equal(await page.locator('#controls').isVisible(), false);
  await checkDrawn(page, kAlone);
});
await browser.close();
console.log('The report is drawn as it should be.');
