// check.js NODE_MODULES FOLDER: the manifests of the folder are what the schemas that Kubernetes publishes ask for, and a
// Job's pods are told how many they are. No network, no cluster.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const [modules, folder] = process.argv.slice(2);
const load = createRequire(join(resolve(modules), 'any.js'));
const { parseAllDocuments } = load('yaml');

// The schemas leave further fields open, and a mistyped one would be ignored. So whatever a validator never asks for is
// unknown: `unread` gets its path.
function watched(value, path, unread) {
  if (value === null || typeof value !== 'object') return value;
  const left = new Set(Object.keys(value).map((key) => `${path}/${key}`));
  unread.push(left);
  const inner = new Map();
  return new Proxy(value, {
    get(target, key) {
      if (typeof key === 'symbol') return target[key];
      left.delete(`${path}/${key}`);
      if (!inner.has(key)) inner.set(key, watched(target[key], `${path}/${key}`, unread));
      return inner.get(key);
    },
    ownKeys(target) {
      left.clear(); // a map with keys of the user's choice, which is read as a whole
      return Reflect.ownKeys(target);
    },
  });
}

function faultsOf(document) {
  const { apiVersion, kind } = document;
  const Model = load(`kubernetes-models/${apiVersion}`)[kind];
  if (!Model) return [`${apiVersion} ${kind}: unknown`];
  const unread = [];
  try {
    Model.prototype.validate.call(watched(document, '', unread));
  } catch (error) {
    return [error.message];
  }
  return unread.flatMap((left) => [...left].map((path) => `${path}: unknown field`));
}

function check(condition, message) {
  if (condition) return;
  console.error(message);
  process.exitCode = 1;
}

const documents = readdirSync(folder)
  .filter((name) => name.endsWith('.yaml'))
  .flatMap((name) => parseAllDocuments(readFileSync(join(folder, name), 'utf8')).map((each) => ({ name, each })));
for (const { name, each } of documents) {
  check(each.errors.length === 0, `${name}: ${each.errors}`);
  for (const fault of faultsOf(each.toJS())) check(false, `${name}: ${fault}`);
}

const job = documents.find(({ name }) => name === 'tune.yaml').each.toJS();
const env = Object.fromEntries(job.spec.template.spec.containers[0].env.map(({ name, value }) => [name, value]));
check(job.spec.completionMode === 'Indexed', 'tune.yaml: no Indexed Job');
check(env.MMTUNE_SHARDS === String(job.spec.completions), 'tune.yaml: MMTUNE_SHARDS is not the number of completions');

// The check itself: each of these is a fault.
const spoilt = [
  (copy) => (copy.spec.completions = 'many'),
  (copy) => (copy.spec.completionsMode = 'Indexed'),
  (copy) => delete copy.spec.template,
  (copy) => (copy.spec.template.spec.containers[0].volumeMount = []),
  (copy) => (copy.spec.template.spec.containers[0].env[0].valu = '1'),
  (copy) => (copy.spec.template.spec.volumes[0].emptyDir = 5),
];
for (const spoil of spoilt) {
  const copy = structuredClone(job);
  spoil(copy);
  check(faultsOf(copy).length > 0, `not found: ${spoil}`);
}
console.log(`${documents.length} manifests, ${spoilt.length} spoilt ones`);
