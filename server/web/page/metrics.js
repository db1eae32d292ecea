// Reading the Prometheus text format, and what may be said of two readings: rates and quantiles of the time between. Pure.

const escapes = {n: "\n", "\\": "\\", '"': '"'};
const sampleShape = /^([A-Za-z_:][A-Za-z0-9_:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?$/;
const labelShape = /\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(,|$)/y;

function number(text) {
  const special = /^([+-]?)(Inf|NaN)$/i.exec(text);
  if (!special) return text.trim() === "" ? NaN : Number(text);
  if (/nan/i.test(special[2])) return NaN;
  return special[1] === "-" ? -Infinity : Infinity;
}

// {name: value} of `policy="loop",threads="2"`, or null where it is not that.
function labels(text) {
  const found = {};
  labelShape.lastIndex = 0;
  while (labelShape.lastIndex < text.length) {
    const label = labelShape.exec(text);
    if (!label) return null;
    found[label[1]] = label[2].replace(/\\(.)/g, (all, escaped) => escapes[escaped] ?? all);
  }
  return found;
}

// Map of name to [{labels, value}]. A line that is no sample is passed over: one odd line must not blind the page.
export function parse(text) {
  const series = new Map();
  for (const line of String(text).split("\n")) {
    if (!line || line[0] === "#") continue;
    const parts = sampleShape.exec(line.trim());
    if (!parts) continue;
    const found = parts[2] ? labels(parts[2]) : {};
    if (found === null) continue;
    if (!series.has(parts[1])) series.set(parts[1], []);
    series.get(parts[1]).push({labels: found, value: number(parts[3])});
  }
  return series;
}

const matches = (sample, wanted) => Object.entries(wanted).every(([name, value]) => sample.labels[name] === value);

// Sum of the samples with these labels; null where there is none or it is no finite number.
export function value(series, name, wanted = {}) {
  const found = (series.get(name) ?? []).filter((sample) => matches(sample, wanted));
  const sum = found.reduce((total, sample) => total + sample.value, 0);
  return found.length && Number.isFinite(sum) ? sum : null;
}

export const labelled = (series, name) => series.get(name) ?? [];

// {bounds, below (cumulative), sum, count}, bounds rising and +Infinity last; null where there is none.
export function histogram(series, name, wanted = {}) {
  const buckets = (series.get(`${name}_bucket`) ?? [])
      .filter((sample) => matches(sample, wanted) && Number.isFinite(sample.value))
      .map((sample) => ({bound: number(sample.labels.le ?? ""), below: sample.value}))
      .filter((bucket) => !Number.isNaN(bucket.bound))
      .sort((a, b) => (a.bound === b.bound ? 0 : a.bound - b.bound));
  if (!buckets.length || buckets.at(-1).bound !== Infinity) return null;
  return {
    bounds: buckets.map((bucket) => bucket.bound),
    below: buckets.map((bucket) => bucket.below),
    sum: value(series, `${name}_sum`, wanted) ?? 0,
    count: buckets.at(-1).below,
  };
}

// {bounds, counts (of each bucket alone), sum, count} of what was added between two histograms. `before` may be null:
// since the beginning. Null where they do not belong together, as after a restart.
export function difference(before, after) {
  if (!after) return null;
  if (before && before.bounds.join() !== after.bounds.join()) return null;
  const added = after.below.map((below, i) => below - (before ? before.below[i] : 0));
  const counts = added.map((below, i) => below - (i ? added[i - 1] : 0));
  if (counts.some((count) => count < 0)) return null;
  return {bounds: after.bounds, counts, sum: after.sum - (before ? before.sum : 0), count: added.at(-1)};
}

// Value that a share `q` (0 to 1) of all is not above, linear within its bucket; null where nothing was counted.
// Above the last finite bound the result is that bound: no more is known.
export function quantile(counted, q) {
  if (!counted || !(counted.count > 0)) return null;
  const rank = q * counted.count;
  let below = 0;
  for (let i = 0; i < counted.counts.length; ++i) {
    const count = counted.counts[i];
    if (count > 0 && below + count >= rank) {
      const low = i ? counted.bounds[i - 1] : 0;
      const high = counted.bounds[i];
      return high === Infinity ? low : low + (high - low) * Math.max(0, rank - below) / count;
    }
    below += count;
  }
  return null;
}

export const mean = (counted) => (counted && counted.count > 0 ? counted.sum / counted.count : null);

// Growth per second of a counter; null where a reading is missing, no time passed, or the counter went back.
export function rate(before, after, seconds) {
  if (before === null || after === null || !(seconds > 0) || after < before) return null;
  return (after - before) / seconds;
}
