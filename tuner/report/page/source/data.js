// The report's tables as objects, and what follows from them. Their columns: tuner/report/content.h.

/** Rows of a table as objects with its columns as keys. */
function rows(table) {
  return table.rows.map((row) => Object.fromEntries(table.columns.map((name, i) => [name, row[i]])));
}

/** RFC 4180: [{column: text}], of a text with a header line. */
export function parseCsv(text) {
  const records = [[]];
  const field = /(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r?\n|$)/gy;
  for (let match = field.exec(text); match; match = field.exec(text)) {
    records.at(-1).push(match[1] === undefined ? match[2] : match[1].replaceAll('""', '"'));
    if (field.lastIndex >= text.length) break;
    if (match[3] !== ',') records.push([]);
  }
  const [header, ...lines] = records.filter((line) => line.length > 1 || line[0]);
  return lines.map((line) => Object.fromEntries(header.map((name, i) => [name, line[i] ?? ''])));
}

const number = (text) => (text === '' || text === undefined ? null : Number(text));

/** TFLOP/s of a problem that takes so many microseconds. */
export const tflops = (problem, us) => (us > 0 ? (problem.flops / us) * 1e-6 : null);

/** The edge of the cube with as many multiply-adds. */
export const edge = (problem) => Math.cbrt(problem.m * problem.n * problem.k);

export const isSquare = (problem) => problem.m === problem.n && problem.n === problem.k;

export const sizeText = (problem) => (isSquare(problem) ? `${problem.m}` : `${problem.m}×${problem.n}×${problem.k}`);

export const typeText = (problem) => `${problem.precision} ${problem.layout}`;

/** Where the times of these runs come from, for a title: ", predicted", or nothing where all are measured. */
export function evidenceText(runs) {
  const predicted = runs.filter((run) => run.evidence === 'predicted').length;
  if (predicted === 0) return '';
  return predicted === runs.length ? ', predicted' : ', measured and predicted';
}

/** A setting of a configuration as "TILE=16 CM=2". */
export const configText = (run) =>
  Object.entries(run.config)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

/** What differs between two runs: ["CM 2 → 4"]; the family if that does. */
export function differences(from, to) {
  if (from.family !== to.family) return [`${from.family} → ${to.family}`];
  return Object.keys({ ...from.config, ...to.config })
    .filter((name) => from.config[name] !== to.config[name])
    .map((name) => `${name} ${from.config[name] ?? '–'} → ${to.config[name] ?? '–'}`);
}

/** "amount warps amount warps …" as [[amount, warps]]. */
function curve(text) {
  const numbers = text.split(' ').map(Number);
  return Array.from({ length: numbers.length / 2 }, (_, i) => [numbers[2 * i], numbers[2 * i + 1]]);
}

/** For a winner the curves of its block; nothing where its GPU or family is unknown. */
function curvesOf(table) {
  const name = ({ device, threads, registers, smem_bytes }) =>
    [device, threads, registers ?? 0, smem_bytes].join(' ');
  const found = new Map(
    rows(table).map((row) => [
      name(row),
      {
        threads: curve(row.against_threads),
        registers: curve(row.against_registers),
        smem_bytes: curve(row.against_smem),
      },
    ]),
  );
  return (winner) => found.get(name({ ...winner, device: winner.device.number })) ?? null;
}

/** All that the page shows. */
export function read(tables) {
  const devices = rows(tables.devices).map((device, number) => ({ ...device, number, peaks: {} }));
  for (const peak of rows(tables.peaks)) devices[peak.device].peaks[peak.precision] = peak.peak_tflops;
  const problems = rows(tables.problems);
  const shapes = rows(tables.shapes).map((shape) => ({ ...shape, names: shape.names ? shape.names.split(' ') : [] }));
  const subject = (row) => {
    const values = row.values === '' ? [] : row.values.split(' ');
    const shape = shapes[row.shape];
    const config = Object.fromEntries(shape.names.map((name, i) => [name, values[i]]));
    return { ...row, device: devices[row.device], problem: problems[row.problem], family: shape.family, config };
  };
  const trials = rows(tables.trials)
    .map(subject)
    .map((trial) => ({
      ...trial,
      tflops: trial.outcome === 'ok' ? tflops(trial.problem, trial.median_us) : null,
    }));
  const files = rows(tables.files).map((file) => ({
    ...file,
    device: devices[file.device],
    rows: parseCsv(file.text),
  }));
  const benchmarks = files.filter((file) => file.kind === 'bench').flatMap(benchmarkRows);
  const curves = curvesOf(tables.curves);
  const winners = rows(tables.winners)
    .map(subject)
    .map((winner) => ({ ...withNeighbours(winner, trials, benchmarks), curves: curves(winner) }));
  return {
    about: rows(tables.about)[0],
    devices,
    trials,
    winners,
    benchmarks,
    studies: files.filter((file) => file.kind === 'study'),
  };
}

/** Of a file of `mmtune bench`. */
function benchmarkRows(file) {
  return file.rows.map((row) => {
    const [m, n, k] = [row.m, row.n, row.k].map(Number);
    const times = Object.keys(row).filter((name) => name.endsWith('_us') && name !== 'mmtune_us' && row[name] !== '');
    const opponent = times.reduce((best, name) => (Number(row[name]) < Number(row[best]) ? name : best), times[0]);
    return {
      device: file.device,
      file: file.name,
      problem: { precision: row.precision, layout: row.layout, m, n, k, flops: 2 * m * n * k },
      mmtune_us: number(row.mmtune_us),
      opponent: opponent?.replace(/_us$/, ''),
      rival: opponent?.startsWith('cublas') ? 'cuBLAS' : opponent?.replace(/_us$/, ''),
      opponent_us: number(row[opponent]),
      kernel: `measured ${row.family} ${row.config}`,
      ratio: number(row.ratio),
      ratio_low: number(row.ratio_low),
      ratio_high: number(row.ratio_high),
    };
  });
}

/** What tells a kernel that was measured from others: a prediction is none of them. */
const kernelText = (run) => `${run.evidence} ${run.family} ${configText(run)}`;

const sameProblem = (a, b) =>
  a.precision === b.precision && a.layout === b.layout && a.m === b.m && a.n === b.n && a.k === b.k;

function withNeighbours(winner, trials, benchmarks) {
  const { device, problem } = winner;
  const others = trials.filter(
    (trial) =>
      trial.device === device &&
      trial.problem === problem &&
      trial.evidence === winner.evidence &&
      trial.tflops !== null &&
      (trial.family !== winner.family || trial.values !== winner.values),
  );
  const runnerUp = others.reduce((best, each) => (!best || each.median_us < best.median_us ? each : best), null);
  const speed = tflops(problem, winner.median_us);
  const peak = device.peaks[problem.precision] ?? null;
  return {
    ...winner,
    tflops: speed,
    peak,
    peakShare: peak ? speed / peak : null,
    runnerUp,
    benchmark:
      benchmarks.find(
        (row) => row.kernel === kernelText(winner) && row.device === device && sameProblem(row.problem, problem),
      ) ?? null,
    shares: Object.entries(winner)
      .filter(([name, value]) => name.startsWith('share ') && value > 0)
      .map(([name, value]) => ({ name: name.slice('share '.length), value }))
      .sort((a, b) => b.value - a.value),
  };
}
