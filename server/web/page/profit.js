// What an account gained by trading, and how that came about: what its executions brought, and the shares that they left, at
// the last prices. What it was given does not count. Pure.

import {units} from "./decimal.js";

const points_max = 600;
const pause_us = 1e6;  // between two points that changes of the price alone make

export class TradingProfit {
  #newest;              // execution: those up to it are taken
  #cash = 0n;           // units of cash
  #shares = new Map();  // by symbol, beyond those given; below 0: sold of those
  #prices = new Map();  // by symbol, the last one: {price in units, time_us}
  #byPrice = false;     // whether the last point shows nothing but a new price
  points = [];          // {time_us, profit}, oldest first

  // The profit of the fills up to this execution, oldest first, and of what take() gets from then on.
  constructor(fills = [], newest = 0) {
    this.#newest = 0;
    for (const fill of fills) this.take(fill);
    this.#newest = newest;
  }

  // A fill: an execution, as an event or a row of the account's fills has it.
  take({execution, symbol, side, time_us, ...texts}) {
    if (execution <= this.#newest) return;
    const shares = units(texts.shares), price = units(texts.price);
    const sign = side === "buy" ? 1n : -1n;
    this.#cash -= sign * shares * price;
    this.#shares.set(symbol, (this.#shares.get(symbol) ?? 0n) + sign * shares);
    this.#prices.set(symbol, {price, time_us});
    this.#add(time_us, false);
  }

  // The last price of a symbol, and when it came about.
  notePrice(symbol, price, time_us) {
    const known = this.#prices.get(symbol);
    if (!this.#shares.get(symbol) || known.price === price || known.time_us > time_us) return;
    this.#prices.set(symbol, {price, time_us});
    this.#add(time_us, true);
  }

  // In units of cash.
  get profit() {
    let profit = this.#cash;
    for (const [symbol, shares] of this.#shares) profit += shares * this.#prices.get(symbol).price;
    return profit;
  }

  #add(time_us, byPrice) {
    const {points} = this, last = points.at(-1), before = points.at(-2);
    const point = {time_us: Math.max(time_us, last?.time_us ?? 0), profit: this.profit};
    if (byPrice && this.#byPrice && point.time_us - before.time_us < pause_us) points.pop();
    points.push(point);
    this.#byPrice = byPrice;
    if (points.length > points_max) this.points = points.filter((_, i) => i % 2 === 0 || i === points.length - 1);
  }
}

// Where the curve goes in a box: the corners of its line, and the height of zero, which it always shows.
export function curve(points, width, height) {
  const profits = points.map(({profit}) => Number(profit));
  const high = Math.max(0, ...profits), low = Math.min(0, ...profits), first = points[0]?.time_us ?? 0;
  const length = Math.max(1, (points.at(-1)?.time_us ?? 0) - first);
  const y = (profit) => 1 + (height - 2) * (high === low ? 0.5 : (high - profit) / (high - low));
  return {corners: points.map(({time_us}, i) => [width * (time_us - first) / length, y(profits[i])]), zero: y(0)};
}
