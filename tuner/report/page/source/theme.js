// Colours, symbols and dashes. Whatever a colour tells apart, a symbol, a dash or a label tells apart too.

const themes = {
  light: {
    surface: '#ffffff',
    ink: '#1b1c1e',
    quiet: '#5c6068',
    grid: '#e4e6ea',
    axis: '#9aa0a9',
    series: ['#1f6fd6', '#c2570c', '#0f8059', '#7648c8', '#b3261e', '#4d6b00', '#8a5a00'],
    heat: ['#e9f1fc', '#b9d4f6', '#7fb0ec', '#3f83d8', '#1b5aad', '#0c3672'],
    heatInk: ['#1b1c1e', '#ffffff'],
  },
  dark: {
    surface: '#1a1c1f',
    ink: '#eceef1',
    quiet: '#a6acb6',
    grid: '#31353b',
    axis: '#6d747e',
    series: ['#6fabff', '#ff9d4d', '#45c996', '#b99bff', '#ff8079', '#a9c94f', '#e0b25a'],
    heat: ['#1d2b40', '#234673', '#2c66a9', '#4b8fd9', '#86bbf5', '#c9e1ff'],
    heatInk: ['#eceef1', '#10151c'],
  },
};

// Paths, since a legend would stretch shapes by name, but a circle.
export const symbols = [
  'circle',
  'path://M0 0 H10 V10 H0 Z',
  'path://M5 0 L10 10 H0 Z',
  'path://M5 0 L10 5 L5 10 L0 5 Z',
  'path://M0 3 L3 0 L5 2 L7 0 L10 3 L8 5 L10 7 L7 10 L5 8 L3 10 L0 7 L2 5 Z',
  'path://M0 4 H4 V0 H6 V4 H10 V6 H6 V10 H4 V6 H0 Z',
  'path://M0 0 H10 L5 10 Z',
  'path://M5 0 L10 4 L8 10 H2 L0 4 Z',
];
export const star = 'path://M5 0 L6.2 3.6 L10 3.8 L7 6.1 L8.1 10 L5 7.8 L1.9 10 L3 6.1 L0 3.8 L3.8 3.6 Z';
export const cross = 'path://M1 0 L5 4 L9 0 L10 1 L6 5 L10 9 L9 10 L5 6 L1 10 L0 9 L4 5 L0 1 Z';
export const dashes = ['solid', [7, 4], [2, 3], [9, 3, 2, 3]];

/** Of the series of this number: no two of the first 56 agree in colour and symbol. */
export const styleAt = (look, index) => ({
  color: look.series[index % look.series.length],
  symbol: symbols[index % symbols.length],
  dash: dashes[index % dashes.length],
});

/** So many marks overlap: the more there are, the smaller and the more transparent they are. */
export const markOf = (count) =>
  count > 300 ? { size: 5, opacity: 0.4 } : count > 60 ? { size: 7, opacity: 0.6 } : { size: 9, opacity: 0.85 };

const prefersDark = window.matchMedia('(prefers-color-scheme: dark)');
let chosen = 'auto';

export const themeName = () => (chosen === 'auto' ? (prefersDark.matches ? 'dark' : 'light') : chosen);
export const theme = () => themes[themeName()];
export const chosenTheme = () => chosen;

/** "auto", "light" or "dark". */
export function chooseTheme(name) {
  chosen = name;
  document.documentElement.dataset.theme = themeName();
}

/** Calls back when the system changes its mind and the page follows it. */
export function watchTheme(changed) {
  prefersDark.addEventListener('change', () => {
    chooseTheme(chosen);
    changed();
  });
}
