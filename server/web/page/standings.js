// What a leaderboard shows of the standings: figures, keys of rows, and which rows. Pure.

import {grouped} from "./decimal.js";

export const leaders = 3;  // rows that stay while the others are paged through

// A decimal rounded to `places`, exactly: of a tie, away from 0.
export function rounded(text, places) {
  const [whole, fraction = ""] = text.replace("-", "").split(".");
  let units = BigInt(whole + fraction.padEnd(places, "0").slice(0, places));
  if ((fraction[places] ?? "0") >= "5") units += 1n;
  const digits = units.toString().padStart(places + 1, "0");
  const shown = places ? digits.slice(0, -places) + "." + digits.slice(-places) : digits;
  return (text.startsWith("-") && units > 0n ? "-" : "") + shown;
}

// How many decimals these texts need, of 2 at most.
export function placesOf(texts) {
  return texts.some((text) => text.includes(".")) ? 2 : 0;
}

// "+1,234.50", "−3.00" or "0".
export function signed(text, places) {
  const shown = rounded(text, places);
  if (shown.startsWith("-")) return "−" + grouped(shown.slice(1));
  return (/[1-9]/.test(shown) ? "+" : "") + grouped(shown);
}

// One for each row, which stays with its account: several may have the same name.
export function keysOf(standings) {
  const seen = new Map();
  return standings.map(({account, name}) => {
    const key = account === undefined ? `name ${name}` : `account ${account}`;
    const before = seen.get(key) ?? 0;
    seen.set(key, before + 1);
    return before === 0 ? key : `${key} ${before}`;
  });
}

// Where the pages begin that show `count` rows, `rows` at a time, below the leaders, which are on each.
export function pageStarts(count, rows) {
  if (count <= rows) return [0];
  const starts = [];
  for (let start = leaders; start < count; start += rows - leaders) starts.push(start);
  return starts;
}

// The places that a page shows.
export function placesOn(start, count, rows) {
  if (count <= rows) return [...Array(count).keys()];
  const first = Math.min(start, count - 1);
  return [0, 1, 2].concat(Array.from({length: Math.min(rows - leaders, count - first)}, (_, i) => first + i));
}

// The number of rows that fit, 10 to 20, each at least `least` of the screen.
export function rowsIn(height, least) {
  return Math.max(10, Math.min(20, Math.floor(height / least)));
}
