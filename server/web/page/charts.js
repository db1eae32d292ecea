// The charts, drawn by Chart.js, which is the global Chart of chart.min.js. Without it the rest of the page works on.

import {cumulated} from "./book.js";
import {approximate} from "./decimal.js";
import {rem} from "./dom.js";
import {clock, counted, duration, figure, joined, mark} from "./format.js";
import {kept_s} from "./metrics.js";

const axis_rem = 4.2;  // of every time chart, so that their times stand above each other
const candle_count_min = 30;
const span_gap_s = 6;  // few requests are sampled when few come: gaps up to this are bridged

export const available = () => typeof globalThis.Chart === "function";

const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const faint = (colour, opacity) => colour + Math.round(opacity * 255).toString(16).padStart(2, "0");  // of #rrggbb

export function setDefaults() {
  const {defaults} = globalThis.Chart;
  Object.assign(defaults.font, {family: getComputedStyle(document.body).fontFamily, size: rem() * 0.8});
  Object.assign(defaults, {color: variable("--muted"), animation: false, maintainAspectRatio: false, events: ["mousemove", "mouseout", "touchstart"]});
  defaults.plugins.legend.display = false;
  Object.assign(defaults.plugins.tooltip, {
    backgroundColor: variable("--text"), titleColor: variable("--panel"), bodyColor: variable("--panel"), boxPadding: 4, padding: rem() * 0.5,
  });
}

const grid = () => ({color: variable("--faint-line"), borderColor: variable("--line"), tickLength: rem() * 0.25});

function ago(seconds, oldest_s) {
  return seconds === 0 ? "now" : oldest_s < -60 ? `−${-seconds / 60} min` : `−${-seconds} s`;
}

// The 1, 2 or 5 of a decade at or below (rounding Math.floor) or above.
function round125(value, rounding) {
  const decade = 10 ** Math.floor(Math.log10(value));
  const steps = rounding === "down" ? [5, 2, 1] : [1, 2, 5, 10];
  const share = value / decade;
  const step = rounding === "down" ? steps.find((s) => s <= share * 1.0001) : steps.find((s) => s >= share * 0.9999);
  return decade * (step ?? 1);
}

// Whole minutes that hold all points: a page just opened does not show five empty ones.
function width_s(points, now_s) {
  const oldest_s = points.length ? now_s - points[0].time : 0;
  return Math.min(kept_s, Math.max(1, Math.ceil((oldest_s - 1) / 60)) * 60);
}

class Drawing {
  constructor(canvas, options = {}) {
    Object.assign(this, {canvas, ...options});
    this.draw();
  }

  // Also again, when colours or the size of the text have changed.
  draw() {
    this.chart?.destroy();
    this.chart = new globalThis.Chart(this.canvas, this.configuration());
    if (this.shown) this.show(...this.shown);
  }

  show(...shown) {
    this.shown = shown;
    this.place(...shown);
    this.chart.update("none");
  }
}

// Lines over the last minutes. series: [{key, name, colour (a CSS variable), thin, fill}]; format(value) names a value,
// mark(value) a line of the grid.
class TimeChart extends Drawing {
  configuration() {
    const {format, mark = format, logarithmic = false, times = true} = this;
    const decadeOnly = (value) => {
      const share = Math.round(value / 10 ** Math.floor(Math.log10(value) + 1e-9));
      const {min, max} = this.chart?.scales.y ?? {min: 1, max: 10};
      return max / min > 150 ? share === 1 : [1, 2, 5].includes(share);
    };
    return {
      type: "line",
      data: {datasets: this.series.map(({name, colour, thin, fill}) => ({
        label: name, data: [], borderColor: variable(colour), backgroundColor: faint(variable(colour), 0.12), borderWidth: Math.max(1, rem() * (thin ? 0.07 : 0.12)),
        fill: fill ?? false, spanGaps: span_gap_s, borderJoinStyle: "round",
        pointRadius: (context) => (alone(context.dataset.data, context.dataIndex) ? rem() * 0.14 : 0),
        pointBackgroundColor: variable(colour), pointHitRadius: 8, pointHoverRadius: rem() * 0.22,
      }))},
      options: {
        parsing: false, normalized: true, interaction: {mode: "index", intersect: false}, layout: {autoPadding: false, padding: {top: rem() * 0.4, right: rem()}},
        scales: {
          x: {type: "linear", min: -kept_s, max: 0, grid: grid(),
              ticks: {stepSize: 60, display: times, padding: rem() * 0.3, maxRotation: 0, callback: (value) => ago(value, this.chart?.options.scales.x.min ?? -kept_s)}},
          y: {type: logarithmic ? "logarithmic" : "linear", beginAtZero: !logarithmic, grid: grid(), suggestedMax: logarithmic ? undefined : 4,
              afterFit: (scale) => { scale.width = rem() * axis_rem; },
              ticks: {maxTicksLimit: 6, callback: (value) => (!logarithmic || decadeOnly(value) ? mark(value) : null)}},
        },
        plugins: {tooltip: {callbacks: {
          title: (items) => (items.length ? `${Math.round(-items[0].parsed.x)} s ago` : ""),
          label: (item) => `${item.dataset.label} ${format(item.parsed.y)}`,
        }}},
      },
    };
  }

  place(points, now_s) {
    const {x} = this.chart.options.scales;
    x.min = -width_s(points, now_s);
    // Chart.js leaves what is out of sight as it was, and fills from there.
    const seen = points.filter(({time}) => time - now_s >= x.min);
    this.series.forEach(({key}, i) => {
      this.chart.data.datasets[i].data = seen.map((point) => ({x: point.time - now_s, y: point[key] ?? NaN}));
    });
    x.ticks.stepSize = x.min < -120 ? 60 : x.min < -60 ? 30 : 15;
    if (this.logarithmic) {
      const all = points.flatMap((point) => this.series.map(({key}) => point[key])).filter((value) => value > 0);
      const {y} = this.chart.options.scales;
      y.min = all.length ? round125(Math.min(...all), "down") : 1e-4;
      y.max = Math.max(all.length ? round125(Math.max(...all), "up") : 1e-2, y.min * 10);
    }
  }
}

// A point with nothing on either side would not be seen in a line.
function alone(data, i) {
  const has = (point) => point !== undefined && Number.isFinite(point.y);
  return has(data[i]) && !has(data[i - 1]) && !has(data[i + 1]);
}

export const requestsChart = (canvas) =>
  new TimeChart(canvas, {series: [{key: "requests", name: "requests/s", colour: "--requests", fill: "origin"}], format: figure, times: false});
export const tradesChart = (canvas) =>
  new TimeChart(canvas, {series: [{key: "trades", name: "trades/s", colour: "--trades", fill: "origin"}], format: figure});
export const latencyChart = (canvas) => new TimeChart(canvas, {
  series: [{key: "p50", name: "median", colour: "--p50", fill: 1}, {key: "p99", name: "p99", colour: "--p99", thin: true}],
  format: (seconds) => joined(duration(seconds)), mark, logarithmic: true,
});

// Cumulated shares by price. Prices and shares become floats here, for pixels.
export class DepthChart extends Drawing {
  configuration() {
    const side = (label, colour, stepped) => ({
      label, data: [], stepped, fill: "origin", pointRadius: 0, pointHitRadius: 6, borderWidth: Math.max(1.5, rem() * 0.11),
      borderColor: variable(colour), backgroundColor: faint(variable(colour), 0.18),
    });
    return {
      type: "line",
      // Chart.js steps at the point before for "after": seen from the left, bids fall right behind a level, asks rise at it.
      data: {datasets: [side("bids", "--bid", "after"), side("asks", "--ask", "before")]},
      options: {
        parsing: false, normalized: true, interaction: {mode: "nearest", axis: "x", intersect: false}, layout: {padding: {top: 4, right: 8}},
        scales: {
          x: {type: "linear", grid: grid(), ticks: {maxRotation: 0, maxTicksLimit: 6, includeBounds: false}},
          y: {beginAtZero: true, grid: grid(), ticks: {maxTicksLimit: 5, callback: (value) => figure(value)}},
        },
        plugins: {tooltip: {callbacks: {
          title: (items) => (items.length ? `at ${items[0].parsed.x}` : ""),
          label: (item) => `${counted(item.parsed.y, "share", "shares", figure(item.parsed.y))} ${item.dataset.label === "bids" ? "bid there or higher" : "asked there or lower"}`,
        }}},
      },
    };
  }

  place(book) {
    const [bids, asks] = [steps(book.bids), steps(book.asks)];
    const {x} = this.chart.options.scales;
    Object.assign(x, range(bids, asks));
    const inside = (point) => point.x >= x.min && point.x <= x.max;
    const shown = (points) => (points.length ? [{x: points[0].x, y: 0}, ...reaching(points, inside, x)] : []);
    this.chart.data.datasets[0].data = shown(bids).reverse();
    this.chart.data.datasets[1].data = shown(asks);
  }
}

// Points within the range, and the last of them drawn out to its edge where the book goes on.
function reaching(points, inside, {min, max}) {
  const within = points.filter(inside);
  if (within.length && within.length < points.length) {
    const edge = points.at(-1).x < points[0].x ? min : max;
    within.push({x: edge, y: within.at(-1).y});
  }
  return within;
}

const steps = (side) => {
  const totals = cumulated(side);
  return side.map((level, i) => ({x: approximate(level.price), y: approximate(totals[i])}));
};

// Prices to show: about what holds nine tenths of the shares, neither side more than three times as wide as the other.
function range(bids, asks) {
  const reach = (points) => {
    if (!points.length) return null;
    const enough = points.find((point) => point.y >= 0.9 * points.at(-1).y);
    return Math.abs(enough.x - points[0].x);
  };
  const best = bids[0]?.x ?? asks[0]?.x;
  if (best === undefined) return {min: 0, max: 1};
  const middle = bids.length && asks.length ? (bids[0].x + asks[0].x) / 2 : best;
  const reaches = [reach(bids), reach(asks)].filter((r) => r !== null);
  const gap = bids.length && asks.length ? asks[0].x - bids[0].x : 0;
  const half = Math.max(Math.min(Math.max(...reaches), 3 * Math.min(...reaches) || Infinity), gap, middle * 1e-4, 1e-8) * 1.1;
  return {min: Math.max(0, middle - half), max: middle + half};
}

// Candles, the shares traded below them, and own executions. Bodies and wicks are bars that float.
export class CandleChart extends Drawing {
  configuration() {
    const colours = ({raw}) => variable(raw?.close < raw?.open ? "--ask" : "--bid");
    const bars = (label, more) => ({label, data: [], grouped: false, minBarLength: 1, ...more});
    return {
      type: "bar",
      data: {datasets: [
        {label: "own", type: "scatter", data: [], pointStyle: "triangle", rotation: ({raw}) => (raw?.side === "sell" ? 180 : 0), radius: rem() * 0.42,
         backgroundColor: ({raw}) => variable(raw?.side === "sell" ? "--ask" : "--bid"), borderColor: variable("--text"), borderWidth: 1.5},
        bars("body", {backgroundColor: colours}),
        bars("wick", {backgroundColor: colours, barThickness: Math.max(1, rem() * 0.08)}),
        bars("shares", {backgroundColor: faint(variable("--muted"), 0.35), yAxisID: "shares"}),
      ]},
      options: {
        interaction: {mode: "nearest", axis: "x", intersect: false}, layout: {padding: {top: 4, right: 4}},
        scales: {
          x: {type: "linear", offset: false, grid: grid(), ticks: {maxRotation: 0, maxTicksLimit: 7, includeBounds: false, callback: (value) => clock(value * 1e6)}},
          y: {position: "right", grid: grid(), ticks: {maxTicksLimit: 7, includeBounds: false}},
          shares: {display: false, beginAtZero: true},
        },
        plugins: {tooltip: {
          filter: ({dataset}) => dataset.label !== "wick" && dataset.label !== "shares",
          callbacks: {
            title: (items) => (items.length ? clock(items[0].raw.at * 1e6) : ""),
            label: ({raw}) => (raw.side ? `own ${raw.side}: ${raw.text}` : [`open ${raw.open}, close ${raw.close}`, `high ${raw.high}, low ${raw.low}`, counted(raw.shares, "share", "shares", figure(raw.shares))]),
          },
        }},
      },
    };
  }

  place(candles, width_s, fills) {
    const end = (candles.at(-1)?.start ?? 0) + 2 * width_s;
    const room = Math.floor(this.canvas.clientWidth / (rem() * 0.55));
    const count = Math.max(candle_count_min, Math.min(room, (end - (candles[0]?.start ?? 0)) / width_s));
    const begin = end - count * width_s;
    const bars = candles.filter(({start}) => start >= begin).map((candle) => ({...candle, x: candle.start + width_s / 2, at: candle.start}));
    const own = fills.map(({time_us, price, side, shares}) => ({x: time_us / 1e6, at: time_us / 1e6, y: Number(price), side, text: `${shares} at ${price}`}))
        .filter((point) => point.x >= begin && point.x <= end);
    const [low, high] = [Math.min(...bars.map((bar) => bar.low)), Math.max(...bars.map((bar) => bar.high))];
    const space = (high - low || high / 100) / 10;
    const {x, y, shares} = this.chart.options.scales;
    Object.assign(x, {min: begin, max: end});
    if (bars.length) Object.assign(y, {min: low - 3 * space, max: high + space});  // shares are drawn in the space below
    shares.max = 5 * Math.max(1e-8, ...bars.map((bar) => bar.shares));
    const {datasets} = this.chart.data;
    [own, ...[(bar) => [bar.open, bar.close], (bar) => [bar.low, bar.high], (bar) => bar.shares].map((of) => bars.map((bar) => ({...bar, y: of(bar)})))]
        .forEach((data, i) => { datasets[i].data = data; });
    const thickness = Math.max(2, 0.7 * this.canvas.clientWidth / count);
    datasets[1].barThickness = datasets[3].barThickness = thickness;
  }
}

// Share of batches by the commands in them.
export class BatchChart extends Drawing {
  configuration() {
    return {
      type: "bar",
      data: {labels: [], datasets: [{data: [], backgroundColor: variable("--journal"), borderRadius: 3, categoryPercentage: 0.96, barPercentage: 0.92}]},
      options: {
        layout: {padding: {top: 4}},
        scales: {
          x: {grid: {display: false, borderColor: variable("--line")}, ticks: {maxRotation: 0, autoSkipPadding: 4}},
          y: {beginAtZero: true, grid: grid(), ticks: {maxTicksLimit: 4, callback: (value) => `${value} %`}},
        },
        plugins: {tooltip: {callbacks: {
          title: (items) => (items.length ? `${items[0].label} command${items[0].label === "1" ? "" : "s"} in a batch` : ""),
          label: (item) => `${item.parsed.y.toFixed(1)} % of batches`,
        }}},
      },
    };
  }

  place(counted) {
    const shares = batchShares(counted);
    this.chart.data.labels = shares.map(({label}) => label);
    this.chart.data.datasets[0].data = shares.map(({share}) => share * 100);
  }
}

// [{label, share}] of the buckets up to the last that counted anything: "1", "2", "3–4", "5–8", "over 8192".
export function batchShares({bounds, counts, count}) {
  const last = counts.findLastIndex((n) => n > 0);
  return counts.slice(0, last + 1).map((n, i) => {
    const high = Math.floor(bounds[i]), low = i ? Math.floor(bounds[i - 1]) + 1 : Math.min(1, high);
    const label = bounds[i] === Infinity ? `over ${low - 1}` : low >= high ? String(high) : `${low}–${high}`;
    return {label, share: count > 0 ? n / count : 0};
  });
}
