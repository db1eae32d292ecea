// What is read from /metrics, as figures and tables: tiles, stages, journal, commands.

import {byId, listRows, make, makeSvg, rowsOf, setFigure, setText} from "./dom.js";
import {bytes, counted, duration, figure, joined, mark, nothing, span, whole} from "./format.js";
import {commandRows, labelled, mean, orderRows, quantile, stageRows, value} from "./metrics.js";

const recent_s = 10;  // the time that quantiles and means cover
const rate_s = 3;            // and rates: less jumps about, more is late
const spark_s = 60;

// Latency of the last seconds, or of a minute where few requests came.
const latencyOf = (history) => history.enough("exchange_request_seconds", [recent_s, 60], 20);

const timeOf = ({seconds, counted}) => (counted?.count > 0 ? (seconds ? `last ${seconds} s` : "since start") : "none timed yet");
const noteOf = ({seconds, counted}) => (counted?.count > 0 ? `${seconds ? `last ${seconds} s` : "since start"}, ${whole(counted.count)} timed` : "none timed yet");

// key, name, figure and note from a history. `metric` reads a gauge of the newest reading.
const tiles = [
  {key: "requests", name: "Requests", show: (history) => [[figure(history.rate("exchange_requests_total", rate_s)), "/s"],
    `${whole(metric(history, "exchange_requests_total"))} in all`]},
  {key: "trades", name: "Trades", show: (history) => [[figure(history.rate("exchange_executions_total", rate_s)), "/s"],
    `${whole(metric(history, "exchange_executions_total"))} in all`]},
  {key: "p50", name: "p50 latency", show: (history) => [duration(quantile(latencyOf(history).counted, 0.5)), timeOf(latencyOf(history))]},
  {key: "p99", name: "p99 latency", show: (history) => [duration(quantile(latencyOf(history).counted, 0.99)), timeOf(latencyOf(history))]},
  {key: "connections", name: "Connections", show: (history) => [[whole(metric(history, "exchange_connections")), ""], policies(history)]},
  {key: "queue", name: "Queue", show: (history) => [[whole(metric(history, "exchange_queue_depth")), ""], "for the core"]},
  {key: "lag", name: "Tables behind", show: (history) => [duration(metric(history, "exchange_projection_lag_seconds")),
    counted(metric(history, "exchange_projection_lag_batches"), "batch", "batches")]},
  {key: "cpu", name: "CPU", show: (history) => [[percent(history.rate("process_cpu_seconds_total", rate_s)), "%"], "of one CPU"]},
  {key: "memory", name: "Memory", show: (history) => [bytes(metric(history, "process_resident_memory_bytes")),
    counted(metric(history, "exchange_orders_in_memory"), "order", "orders", figure(metric(history, "exchange_orders_in_memory")))]},
];

const metric = (history, name) => (history.latest ? value(history.latest.series, name) : null);
const percent = (share) => (Number.isFinite(share) ? whole(share * 100) : nothing);

function policies(history) {
  const all = history.latest ? labelled(history.latest.series, "exchange_connections") : [];
  if (all.length > 1) return all.map((sample) => `${sample.labels.policy} ${whole(sample.value)}`).join(", ");
  return all[0]?.labels.policy ? `policy ${all[0].labels.policy}` : "";
}

export class Tiles {
  constructor(list) {
    this.tiles = tiles.map(({key, name, show}) => {
      const line = makeSvg("path", {}), area = makeSvg("path", {class: "area"});
      const parts = {key, show, line, area, figure: make("p", "figure", nothing), note: make("p", "note")};
      const spark = makeSvg("svg", {viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true"}, area, line);
      const tile = make("li", "tile", make("h3", "", name), parts.figure, parts.note, spark);
      tile.dataset.key = key;
      list.append(tile);
      return parts;
    });
  }

  show(history, now_s) {
    const age_s = history.points.length ? now_s - history.points[0].time : 0;
    const width_s = Math.min(spark_s, Math.max(10, age_s));
    for (const tile of this.tiles) {
      const [shown, note] = tile.show(history);
      setFigure(tile.figure, shown);
      setText(tile.note, note);
      tile.note.title = note;
      const [line, area] = sparkPaths(history.points.map((point) => [100 * (1 - (now_s - point.time) / width_s), point[tile.key] ?? NaN]));
      tile.line.setAttribute("d", line);
      tile.area.setAttribute("d", area);
    }
  }
}

// SVG paths of a line and of the area under it, broken where a value is missing.
function sparkPaths(points) {
  const seen = points.filter(([x]) => x >= 0);
  const top = Math.max(...seen.map(([, y]) => y).filter(Number.isFinite), 0) || 1;
  let line = "", area = "", part = [];
  const finish = () => {
    if (part.length > 1) {
      const path = part.map(([x, y]) => `${x.toFixed(1)} ${(19 - 17 * y / top).toFixed(1)}`).join("L");
      line += "M" + path;
      area += `M${part[0][0].toFixed(1)} 20L${path}L${part.at(-1)[0].toFixed(1)} 20Z`;
    }
    part = [];
  };
  for (const point of seen) Number.isFinite(point[1]) ? part.push(point) : finish();
  finish();
  return [line, area];
}

// The header's facts.
export function showFacts(history, wallclock_s) {
  const info = history.latest ? labelled(history.latest.series, "exchange_info")[0]?.labels ?? {} : {};
  for (const fact of ["policy", "threads", "store", "version"]) setText(byId(fact), info[fact] || nothing);
  const started = metric(history, "process_start_time_seconds");
  const up = started === null ? nothing : span(wallclock_s - started);
  setText(byId("uptime"), up.replace(/( min) .*/, "$1"));  // seconds would change its width all the time
}

const stageFacts = {
  parse: ["transport", "bytes to commands"],
  queue: ["core", "waits for the core"],
  apply: ["core", "the batch, matched"],
  commit: ["journal", "made durable"],
  deliver: ["transport", "back to its thread"],
  write: ["transport", "XML to the socket"],
};

// Each bar begins where the one before ends; the thin line goes on to the stage's own p99.
export function showStages(history) {
  const {rows, seconds, count} = stageRows(history, [recent_s, 60], 20);
  const known = count > 0;
  byId("stages").hidden = byId("rooms").hidden = !known;
  byId("stages-empty").hidden = known;
  setText(byId("stages-of"), known ? noteOf({seconds, counted: {count}}) : "");
  if (!known) return;

  let end = 0;
  const bars = rows.map((row) => {
    const begin = end;
    end += row.p50 ?? 0;
    return {...row, begin, end};
  });
  const farthest = Math.max(...bars.map((bar) => bar.begin + (bar.p99 ?? 0)));
  const step = axisStep(Math.max(end * 1.02, Math.min(farthest, end * 1.8)));
  const width = step * 5;
  showAxis(byId("stages").querySelector(".axis"), step);

  const body = byId("stages").tBodies[0];
  rowsOf(body, bars.length + 1, stageRow).forEach((tr, i) => {
    const bar = bars[i];
    const [room, about] = bar ? stageFacts[bar.stage] : ["whole", "of the medians"];
    const [name, track, median, p99] = tr.cells;
    if (tr.className !== (bar ? "" : "whole")) tr.className = bar ? "" : "whole";
    setText(name.firstChild, bar ? bar.stage : "sum");
    setText(name.lastChild, about);
    name.title = about;
    setText(median, joined(duration(bar ? bar.p50 : end)));
    setText(p99, bar ? joined(duration(bar.p99)) : "");
    const line = track.firstChild;
    line.className = `track room-${room}`;
    place(line.children[1], bar ? bar.begin : 0, bar ? bar.end : end, width);
    place(line.children[0], bar ? bar.end : 0, bar ? bar.begin + (bar.p99 ?? 0) : 0, width);
  });
}

function stageRow() {
  const name = make("th", "", make("b"), " ", make("span"));
  const cells = [make("td", "", make("div", "track", make("u"), make("i"))), make("td", "number"), make("td", "number")];
  name.scope = "row";
  cells[0].setAttribute("aria-hidden", "true");
  return make("tr", "", name, ...cells);
}

function place(element, begin, end, width) {
  element.style.left = `${(100 * begin / width).toFixed(2)}%`;
  element.style.width = `${(100 * Math.max(0, Math.min(end, width) - begin) / width).toFixed(2)}%`;
}

// Five such steps hold the width.
function axisStep(width) {
  const exact = width / 5 || 1e-6;
  const decade = 10 ** Math.floor(Math.log10(exact));
  return decade * [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((step) => step * decade >= exact * 0.9999);
}

function showAxis(axis, step) {
  while (axis.children.length < 6) axis.append(make("span"));
  [...axis.children].forEach((span, i) => {
    span.style.left = `${i * 20}%`;
    setText(span, i ? mark(step * i) : "0");
  });
}

// Figures of the journal; returns the batch sizes counted in the last seconds, or null.
export function showJournal(history) {
  const rate = (name) => history.rate(name, recent_s);
  const [commits, commit_us] = [rate("exchange_batches_committed_total"), rate("exchange_commit_microseconds_total")];
  const batches = history.recent("exchange_batch_commands", recent_s);
  const [size, unit] = bytes(rate("exchange_journal_bytes_total"));
  const perBatch = mean(batches);
  setFigure(byId("commits"), [figure(commits), "/s"]);
  setFigure(byId("commit-time"), commits > 0 ? duration(commit_us / commits / 1e6) : [nothing, ""]);
  setFigure(byId("journal-bytes"), unit ? [size, `${unit}/s`] : [size, ""]);
  setFigure(byId("batch-mean"), [figure(perBatch ?? NaN), figure(perBatch ?? NaN) === "1" ? "command" : "commands"]);
  setText(byId("journal-of"), `last ${recent_s} s`);
  byId("batches-empty").hidden = batches?.count > 0;
  return batches?.count > 0 ? batches : null;
}

const words = (name) => name.replaceAll("_", " ");

// What a list counts, by two words, the first of which is not repeated.
function showCounts(list, rows, first, wordsOf) {
  listRows(byId(list), ["", "", "number", "number"], rows, (row, tr, before) => {
    tr.cells[0].className = before?.[first] === row[first] ? "repeated" : "";
    tr.cells[3].title = whole(row.count);
    return [...wordsOf(row, tr), figure(row.rate ?? NaN), figure(row.count)];
  });
}

export function showCommands(history) {
  const rows = commandRows(history, recent_s);
  byId("no-commands").hidden = rows.length > 0;
  byId("commands").parentElement.hidden = rows.length === 0;
  showCounts("commands", rows, "kind", ({kind, result}, tr) => {
    const ok = result === "ok";
    tr.className = ok ? "ok" : "refused";
    return [words(kind), ok ? "✓ ok" : `✕ ${words(result)}`];
  });
  const all = rows.reduce((sum, row) => sum + row.count, 0);
  const refused = rows.reduce((sum, row) => sum + (row.result === "ok" ? 0 : row.count), 0);
  setText(byId("refused"), all ? `${figure(refused)} refused of ${figure(all)}` : "");
}

export function showOrders(history) {
  const rows = orderRows(history, recent_s);
  byId("orders").hidden = rows.length === 0;
  showCounts("orders", rows, "event", ({event, label}) => [event, label]);
}
