// A chart with its heading, its keyboard, its readout, its data as a table, and its exports.
//
// A chart is described by {title, file, height, option, table}: `option(look)` gives ECharts' options for the theme and
// the width in `look`; each item of its series that has `tip`, a list of [label, value], can be pointed at. `table` is
// {columns, rows}: what the chart shows, for CSV and for readers.
import * as echarts from 'echarts/core';
import { CustomChart, HeatmapChart, LineChart, ScatterChart } from 'echarts/charts';
import {
  GridComponent,
  LegendComponent,
  MarkLineComponent,
  TooltipComponent,
  VisualMapComponent,
} from 'echarts/components';
import { LabelLayout } from 'echarts/features';
import { SVGRenderer } from 'echarts/renderers';
import { download, element, plainTable } from './elements.js';
import { count, csv } from './format.js';
import { theme } from './theme.js';

echarts.use([
  CustomChart,
  HeatmapChart,
  LineChart,
  ScatterChart,
  GridComponent,
  LegendComponent,
  MarkLineComponent,
  TooltipComponent,
  VisualMapComponent,
  LabelLayout,
  SVGRenderer,
]);

const kFont = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
const kHint = 'Point at a symbol for its values, or press the arrow keys.';
const live = new Set();

/** An axis with thin grid lines and a title with its unit. */
export function axis(look, name, more = {}) {
  const vertical = more.vertical ?? false;
  return {
    name,
    nameLocation: vertical ? 'end' : 'middle',
    nameGap: vertical ? 14 : 30,
    nameTextStyle: {
      color: look.quiet,
      fontSize: 12,
      align: vertical ? 'left' : 'center',
      padding: vertical ? [0, 0, 0, -38] : 0,
    },
    axisLine: { show: !vertical, lineStyle: { color: look.axis } },
    axisTick: { show: false },
    splitLine: { show: true, lineStyle: { color: look.grid, width: 1 } },
    ...more,
    axisLabel: { color: look.quiet, fontSize: 12, hideOverlap: true, formatter: String, ...more.axisLabel },
  };
}

/** A logarithmic axis with a label and a line at every power of two, or as many octaves apart as there is room for. */
export function octaves(look, name, [min, max], pixels, more = {}) {
  const kLabel = more.vertical ? 28 : 52; // pixels that a label takes
  const count = Math.log2(max / min);
  const step = [1, 2, 3, 4, 5, 6, 8, 10].find((each) => (count / each) * kLabel <= pixels) ?? 12;
  const first = Math.ceil(Math.log2(min) / step - 1e-9) * step;
  const ticks = [];
  for (let power = first; 2 ** power <= max * (1 + 1e-9); power += step) ticks.push(2 ** power);
  return axis(look, name, {
    type: 'log',
    logBase: 2,
    min,
    max,
    ...more,
    axisTick: { show: false, customValues: ticks },
    splitLine: { show: true, lineStyle: { color: look.grid, width: 1 }, customValues: ticks },
    axisLabel: { customValues: ticks, hideOverlap: false, ...more.axisLabel },
  });
}

/** A legend in lines above the chart, so that no label covers a line, and how high it is. */
export function legendAbove(look, names) {
  const kLine = 22, kIcon = 46, kLetter = 7;
  let lines = 1;
  let used = 0;
  for (const name of names) {
    const width = kIcon + kLetter * name.length;
    if (used > 0 && used + width > look.width) [lines, used] = [lines + 1, 0];
    used += width;
  }
  return {
    height: lines * kLine,
    legend: {
      data: names,
      top: 0,
      left: 0,
      itemGap: 14,
      itemWidth: 28,
      itemHeight: 9,
      selectedMode: false,
      textStyle: { color: look.ink, fontSize: 12 },
    },
  };
}

/** The end of a linear axis that begins at 0: a round number above all values. */
export function roundTop(values) {
  const value = 1.05 * Math.max(...values);
  const unit = value > 0 ? 10 ** Math.floor(Math.log10(value)) : 1;
  return [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8].find((step) => step * unit >= value) * unit || 10 * unit;
}

function tooltipOf(params) {
  const tip = params.data?.tip;
  if (!tip) return '';
  const [title, ...lines] = tip;
  return element(
    'div',
    { class: 'tip' },
    element('strong', {}, title[0]),
    element(
      'dl',
      {},
      lines.map(([label, value]) => [element('dt', {}, label), element('dd', {}, value)]),
    ),
  );
}

const spoken = ([title, ...lines]) => [title[0], ...lines.map(([label, value]) => `${label} ${value}`)].join(' · ');

/** The items that can be pointed at, from left to right in each series. */
function points(option) {
  return option.series.flatMap((series, seriesIndex) =>
    (series.data ?? []).flatMap((item, dataIndex) => (item?.tip ? [{ seriesIndex, dataIndex, tip: item.tip }] : [])),
  );
}

class Chart {
  constructor(host, description) {
    this.description = description;
    this.stage = element('div', {
      class: 'stage',
      tabindex: 0,
      role: 'img',
      'aria-roledescription': 'chart',
      'aria-label': `${description.title}. Arrow keys read the values.`,
      style: `height: ${description.height ?? 380}px`,
      keydown: (event) => this.key(event),
      blur: () => this.instance.dispatchAction({ type: 'hideTip' }),
    });
    this.readout = element('p', { class: 'readout', 'aria-live': 'polite' }, kHint);
    host.append(this.heading(), this.stage, this.readout, this.dataTable());
    this.instance = echarts.init(this.stage, null, { renderer: 'svg' });
    this.instance.on('mouseover', (event) => event.data?.tip && this.say(spoken(event.data.tip)));
    this.place = -1;
    this.draw();
    live.add(this);
  }

  heading() {
    const { title, file, table } = this.description;
    const button = (text, label, click) =>
      element('button', { type: 'button', 'aria-label': `${label}: ${title}`, click }, text);
    return element(
      'figcaption',
      {},
      element('h3', {}, title),
      element(
        'span',
        { class: 'exports' },
        button('SVG', 'Save the chart as SVG', () => download(`${file}.svg`, 'image/svg+xml', this.svg())),
        button('CSV', 'Save the data as CSV', () => download(`${file}.csv`, 'text/csv', csv(table))),
      ),
    );
  }

  /** Made when it is opened, since most never are. */
  dataTable() {
    const { table } = this.description;
    const box = element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Data' });
    const fill = () => box.firstChild || box.append(plainTable(table));
    return element(
      'details',
      { class: 'data', toggle: fill },
      element('summary', {}, `Data: ${count(table.rows.length, 'row')}`),
      box,
    );
  }

  draw() {
    const width = this.stage.clientWidth;
    const look = { ...theme(), width, narrow: width < 480 };
    this.option = this.description.option(look);
    this.points = points(this.option);
    this.instance.setOption(
      {
        animation: false,
        backgroundColor: look.surface,
        textStyle: { fontFamily: kFont, color: look.ink },
        tooltip: {
          trigger: 'item',
          confine: true,
          formatter: tooltipOf,
          backgroundColor: look.surface,
          borderColor: look.axis,
          textStyle: { color: look.ink, fontSize: 13 },
        },
        ...this.option,
      },
      { notMerge: true },
    );
  }

  resize(width) {
    this.instance.resize({ width });
    this.draw();
  }

  say(text) {
    this.readout.textContent = text;
  }

  key(event) {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    const last = this.points.length - 1;
    if (event.key in steps) this.place = Math.min(Math.max(this.place + steps[event.key], 0), last);
    else if (event.key === 'Home') this.place = 0;
    else if (event.key === 'End') this.place = last;
    else return;
    event.preventDefault();
    const point = this.points[this.place];
    if (!point) return;
    this.instance.dispatchAction({ type: 'downplay' });
    this.instance.dispatchAction({ type: 'highlight', seriesIndex: point.seriesIndex, dataIndex: point.dataIndex });
    this.instance.dispatchAction({ type: 'showTip', seriesIndex: point.seriesIndex, dataIndex: point.dataIndex });
    this.say(`${this.place + 1} of ${last + 1}: ${spoken(point.tip)}`);
  }

  svg() {
    return decodeURIComponent(this.instance.getDataURL({ type: 'svg' }).replace(/^[^,]*,/, ''));
  }

  dispose() {
    live.delete(this);
    this.instance.dispose();
  }
}

/** Draws the charts of a section, side by side; what was there before is gone. */
export function drawCharts(host, descriptions) {
  for (const chart of live) if (host.contains(chart.stage)) chart.dispose();
  host.replaceChildren();
  for (const description of descriptions) {
    const figure = element('figure');
    host.append(figure);
  }
  descriptions.forEach((description, i) => new Chart(host.children[i], description));
}

export function redrawCharts() {
  for (const chart of live) chart.resize();
}

/** On paper all charts have this width, which fits A4. */
export function drawForPrint() {
  for (const chart of live) chart.resize(640);
}
