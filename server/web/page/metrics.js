// Reading the Prometheus text format, what may be said of two readings: rates and quantiles of the time between; and the
// readings of the last minutes, and the points of the charts made of them. Pure: time comes as an argument, in seconds.

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

export const kept_s = 300;  // what the charts show
const pause_s = 3.5;        // more than this between two readings is a gap in the charts
const counters = ["exchange_requests_total", "exchange_executions_total", "process_cpu_seconds_total"];
const stageNames = ["parse", "queue", "apply", "commit", "deliver", "write"];

const startOf = (reading) => value(reading.series, "process_start_time_seconds");

// Whether another process, or one that counts anew, answered in between.
function restarted(before, after) {
  const [started, starts] = [startOf(before), startOf(after)];
  if (started !== null && starts !== null && Math.abs(starts - started) > 1) return true;
  return counters.some((name) => {
    const [was, is] = [value(before.series, name), value(after.series, name)];
    return was !== null && is !== null && is < was;
  });
}

export class History {
  constructor() {
    this.readings = [];  // {time, series}, of one process, oldest first
    this.points = [];    // {time, requests, trades, p50, p99, ...}: null where not known; a point of nulls is a gap
  }

  get latest() { return this.readings.at(-1) ?? null; }

  // True where the server was restarted since the reading before.
  add(time, series) {
    const reading = {time, series};
    const before = this.latest;
    const anew = before !== null && restarted(before, reading);
    if (anew) this.readings = [];
    this.readings.push(reading);
    while (this.readings.length > 2 && this.readings[1].time < time - kept_s) this.readings.shift();
    if (anew || (before && time - before.time > pause_s)) this.points.push({time: time - 0.5});
    if (before && !anew) this.points.push(this.#point(before, reading));
    while (this.points.length && this.points[0].time < time - kept_s - 5) this.points.shift();
    return anew;
  }

  // The newest reading that is at least so old, or the oldest of all.
  #since(seconds) {
    const end = this.latest.time - seconds;
    return this.readings.findLast((reading) => reading.time <= end + 0.3) ?? this.readings[0];
  }

  // Growth of a counter per second, over the last seconds.
  rate(name, seconds, labels = {}) {
    if (this.readings.length < 2) return null;
    const before = this.#since(seconds);
    // A counter with labels appears with its first count.
    const was = value(before.series, name, labels) ?? (Object.keys(labels).length ? 0 : null);
    return rate(was, value(this.latest.series, name, labels), this.latest.time - before.time);
  }

  // What a histogram counted in the last seconds, as difference() returns it.
  recent(name, seconds, labels = {}) {
    if (this.readings.length < 2) return null;
    return difference(histogram(this.#since(seconds).series, name, labels), histogram(this.latest.series, name, labels));
  }

  // As recent(), of the shortest of these times (seconds) in which enough was counted, else since the server started.
  // {counted, seconds}, with seconds null for the latter.
  enough(name, times, count_min, labels = {}) {
    for (const seconds of times) {
      const counted = this.recent(name, seconds, labels);
      if (counted && counted.count >= count_min) return {counted, seconds};
    }
    return {counted: this.latest ? difference(null, histogram(this.latest.series, name, labels)) : null, seconds: null};
  }

  #point(before, after) {
    const seconds = after.time - before.time;
    const growth = (name) => rate(value(before.series, name), value(after.series, name), seconds);
    const request = difference(histogram(before.series, "exchange_request_seconds"), histogram(after.series, "exchange_request_seconds"));
    return {
      time: after.time,
      requests: growth("exchange_requests_total"),
      trades: growth("exchange_executions_total"),
      p50: quantile(request, 0.5),
      p99: quantile(request, 0.99),
      cpu: growth("process_cpu_seconds_total"),
      memory: value(after.series, "process_resident_memory_bytes"),
      connections: value(after.series, "exchange_connections"),
      queue: value(after.series, "exchange_queue_depth"),
      lag: value(after.series, "exchange_projection_lag_seconds"),
    };
  }
}

// [{kind, result, count, rate}] of the commands executed, refusals of each kind after what went well; zero counts left out.
export function commandRows(history, seconds) {
  if (!history.latest) return [];
  const name = "exchange_commands_total";
  const rows = labelled(history.latest.series, name)
      .filter((sample) => sample.labels.kind && sample.labels.result && sample.value > 0)
      .map(({labels, value: count}) => ({kind: labels.kind, result: labels.result, count, rate: history.rate(name, seconds, labels)}));
  const errors = value(history.latest.series, "exchange_client_errors_total");
  if (errors > 0) rows.push({kind: "not understood", result: "malformed", count: errors, rate: history.rate("exchange_client_errors_total", seconds)});
  const kinds = ["order", "replace", "cancel", "cancel_all", "query", "create_account", "create_symbol", "place_shares"];
  const rank = (kind) => (kinds.includes(kind) ? kinds.indexOf(kind) : kinds.length);
  return rows.sort((a, b) => rank(a.kind) - rank(b.kind) || (b.result === "ok") - (a.result === "ok") || b.count - a.count);
}

// [{event, label, count, rate}] of the orders opened, by kind, and of those canceled, by reason; zero counts left out.
export function orderRows(history, seconds) {
  if (!history.latest) return [];
  const rows = (event, name, label) => labelled(history.latest.series, name)
      .filter((sample) => sample.labels[label] && sample.value > 0)
      .map(({labels, value: count}) => ({event, label: labels[label], count, rate: history.rate(name, seconds, labels)}));
  return [...rows("opened", "exchange_orders_total", "kind"), ...rows("canceled", "exchange_canceled_orders_total", "reason")];
}

// [{stage, p50, p99, mean, count}] in seconds, and the time that they cover.
export function stageRows(history, times, count_min) {
  const whole = history.enough("exchange_stage_seconds", times, count_min, {stage: "commit"});
  const rows = stageNames.map((stage) => {
    const counted = whole.seconds === null
        ? history.enough("exchange_stage_seconds", [], 0, {stage}).counted
        : history.recent("exchange_stage_seconds", whole.seconds, {stage});
    return {stage, p50: quantile(counted, 0.5), p99: quantile(counted, 0.99), mean: mean(counted), count: counted?.count ?? 0};
  });
  return {rows, seconds: whole.seconds, count: whole.counted?.count ?? 0};
}
