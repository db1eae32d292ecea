// Figures as people read them. Floats only: exact decimals are in decimal.js. Pure.

export const nothing = "–";

const withCommas = new Intl.NumberFormat("en", {maximumFractionDigits: 0});

export function whole(value) {
  return Number.isFinite(value) ? withCommas.format(value) : nothing;
}

// Three digits or so: 0.42, 8.3, 1,234, 1.23 M.
export function figure(value) {
  if (!Number.isFinite(value)) return nothing;
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size < 0.995) return size < 0.01 ? "<0.01" : value.toFixed(2);
  if (size < 9.95) return value.toFixed(1).replace(/\.0$/, "");
  if (size < 999_950) return withCommas.format(value);
  if (size < 999.5e6) return (value / 1e6).toPrecision(3) + " M";
  return (value / 1e9).toPrecision(3) + " G";
}

// [figure, unit] of a time in seconds, three digits.
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return [nothing, ""];
  if (seconds === 0) return ["0", "µs"];
  for (const [unit, size] of [["µs", 1e-6], ["ms", 1e-3], ["s", 1]]) {
    const scaled = seconds / size;
    if (scaled < 999.5 || unit === "s") return [scaled < 0.1 ? "<0.1" : digits(scaled), unit];
  }
}

function digits(value) {
  if (value >= 99.95) return withCommas.format(value);
  return value >= 9.995 ? value.toFixed(1) : value.toFixed(value >= 0.995 ? 2 : 1);
}

// "500 µs", "1 ms", "1.5 ms": for marks on an axis.
export function mark(seconds) {
  const [figure, unit] = duration(seconds);
  return joined([figure.replace(/\.0+$|(\.\d*?)0+$/, "$1"), unit]);
}

// "1 batch", "2 batches", "1,234 batches"; `shown` in place of the number.
export function counted(value, one, many = `${one}s`, shown = whole(value)) {
  return `${shown} ${value === 1 ? one : many}`;
}

// [figure, unit] of bytes.
export function bytes(value) {
  if (!Number.isFinite(value)) return [nothing, ""];
  for (const [unit, size] of [["B", 1], ["KiB", 1024], ["MiB", 1024 ** 2]]) {
    if (value < 1000 * size) return [unit === "B" ? whole(value) : digits(value / size), unit];
  }
  return [digits(value / 1024 ** 3), "GiB"];
}

export const joined = ([figure, unit]) => (unit ? `${figure} ${unit}` : figure);

// "3 d 4 h", "4 h 12 min", "12 min 5 s", "5 s".
export function span(seconds) {
  if (!Number.isFinite(seconds)) return nothing;
  const s = Math.max(0, Math.floor(seconds));
  const parts = [[Math.floor(s / 86400), "d"], [Math.floor(s / 3600) % 24, "h"], [Math.floor(s / 60) % 60, "min"], [s % 60, "s"]];
  const first = parts.findIndex(([count]) => count > 0);
  return first < 0 ? "0 s" : parts.slice(first, first + 2).map(([count, unit]) => `${count} ${unit}`).join(" ");
}

// "14:03:07" of microseconds since the epoch, on the reader's clock.
export function clock(time_us) {
  const date = new Date(time_us / 1000);
  if (Number.isNaN(date.getTime())) return nothing;
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}

// The same with the day in front, if it is not today: "Nov 26, 14:03:07".
export function dayAndClock(time_us, now_ms = Date.now()) {
  const [date, today] = [new Date(time_us / 1000), new Date(now_ms)];
  const day = new Intl.DateTimeFormat("en", {month: "short", day: "numeric"});
  return (date.toDateString() === today.toDateString() ? "" : `${day.format(date)}, `) + clock(time_us);
}

// What "Authorization: Basic" carries.
export const basic = (account, key) => btoa(String.fromCharCode(...new TextEncoder().encode(`${account}:${key}`)));
