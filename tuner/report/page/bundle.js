// bundle.js LIBRARIES OUTPUT: makes one HTML file of index.html, source/style.css and source/main.js. LIBRARIES is the
// node_modules folder that package-lock.json describes.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const libraries = resolve(process.argv[2]);
const esbuild = createRequire(join(libraries, 'x.js'))('esbuild');

const bundled = (file) =>
  esbuild.buildSync({
    entryPoints: [join(here, 'source', file)],
    bundle: true,
    minify: true,
    write: false,
    charset: 'utf8',
    format: 'iife',
    legalComments: 'eof',
    target: ['chrome100', 'firefox100', 'safari15'],
    nodePaths: [libraries],
    define: { 'process.env.NODE_ENV': '"production"' },
  }).outputFiles[0].text;

const page = readFileSync(join(here, 'index.html'), 'utf8')
  .replace('/* style.css */', () => bundled('style.css'))
  .replace('/* main.js */', () => bundled('main.js'));
writeFileSync(process.argv[3], page);
