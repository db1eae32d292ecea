// One account, kept from a snapshot and numbered events (docs/account-stream.md). Pure: knows no socket and no page.

import {cashUnits, units} from "./decimal.js";

const news_max = 500;
const points_max = 600;
const pause_us = 1e6;  // between two points that changes of the price alone make
const refusals = ["unknown_account", "malformed_id", "too_many_subscriptions", "key_changed"];  // asking again changes nothing

// What the operator lets the account do, as a snapshot and two other messages have it; absent: as usual.
const rulesOf = ({access, role, orders_max, orders_per_second_max, position_max}) => ({access, role, orders_max, orders_per_second_max, position_max});

export class Account {
  #known = null;  // what #reserves() returns, until an order changes

  // `kept`: what keep() returned in this tab before it was loaded again; the events since are applied to it anew.
  constructor(id, key, kept = null) {
    Object.assign(this, {id, key, refusal: null, rules: {}});
    if (kept) this.#begin(kept.snapshot);
    else this.#forget();
    this.seen = kept?.seen ?? null;
  }

  keep() { return {snapshot: this.snapshot, seen: this.seen}; }

  // Executions, newest first; those since the snapshot are also in `news`, with the cancels that no request asked for.
  get fills() { return [...this.news.filter(({event}) => event === "executed"), ...this.earlier]; }
  // Those that are not in `news`.
  get earlier() {
    const keyOf = ({execution, order}) => `${execution} ${order}`;
    const known = new Set(this.news.map(keyOf));
    return this.past.filter((fill) => !known.has(keyOf(fill)));
  }
  get known() { return this.number !== null; }
  get isFrozen() { return this.rules.access === "frozen"; }
  // Whether it has the events that there were when it subscribed.
  get isCurrent() { return this.known && this.number >= this.awaited; }

  // What to subscribe to: a snapshot, or every event behind the last one. That one too, where it shows whether this is still
  // the store that it came from.
  get subscription() {
    const from = this.known && (this.snapshot.batch > 0 ? Math.max(1, this.number) : this.number + 1);
    return {account: this.id, ...(this.key && {key: this.key}), ...(from && {from})};
  }

  // What the server has of the account's fills up to this execution, newest first. Those since then have come, or will, as events.
  takePast(fills, newest) {
    const since = this.news.filter(({event, execution}) => event === "executed" && execution > newest).reverse();
    this.past = fills;
    this.trading = new TradingProfit(fills.toReversed(), newest);
    for (const event of since) this.trading.take(event);
  }

  // The number of the order with this reference, by what is known of open orders, executions and cancels; undefined: none.
  orderOf(ref) { return [...this.orders.values(), ...this.news].find((one) => one.ref === ref)?.order; }

  // Takes a message of the stream: "taken", "refused", "resubscribe" (for a snapshot: this is another store), or "drop" (a
  // gap, or the server cannot answer now).
  take(message) {
    if (["account", "subscribed", "rules"].includes(message.type)) this.rules = rulesOf(message);
    if (message.type === "account") {
      this.#begin(message);
    } else if (message.type === "subscribed") {
      this.awaited = message.newest;
    } else if (message.type === "events") {
      for (const event of message.events) {
        if (!this.#agrees(event)) {
          this.#forget();
          return "resubscribe";
        }
        if (event.number <= this.number) continue;  // had before
        if (event.number !== this.number + 1) return "drop";
        this.#apply(event);
        this.number = event.number;
        if (event.number > (this.seen?.number ?? 0)) this.seen = {number: event.number, batch: event.batch, time_us: event.time_us};
      }
    } else if (message.type === "error") {
      if (message.code === "unknown_event") {
        this.#forget();
        return "resubscribe";
      }
      if (!refusals.includes(message.code)) return "drop";
      this.refusal = message;
      return "refused";
    }
    return "taken";
  }

  // By open orders; a market buy reserves nothing.
  get reserved() { return this.#reserves().cash; }
  reservedShares(symbol) { return this.#reserves().shares.get(symbol) ?? 0n; }
  freeShares(symbol) { return this.positions.get(symbol) ?? 0n; }
  shares(symbol) { return this.freeShares(symbol) + this.reservedShares(symbol); }

  // Whether an event can be of the store of the snapshot and of the newest event seen: a store that took its place has events
  // of the same numbers.
  #agrees({number, batch, time_us}) {
    const {seen, snapshot} = this;
    if (seen?.number === number) return batch === seen.batch && time_us === seen.time_us;
    if (!(snapshot.batch > 0)) return true;
    return number <= snapshot.number ? batch <= snapshot.batch : batch > snapshot.batch;
  }

  #reserves() {
    if (this.#known) return this.#known;
    const known = this.#known = {cash: 0n, shares: new Map()};
    for (const {side, symbol, open, each} of this.orders.values()) {
      if (side === "buy") known.cash += open * each;
      else known.shares.set(symbol, (known.shares.get(symbol) ?? 0n) + open);
    }
    return known;
  }

  #forget() {
    this.#known = null;
    Object.assign(this, {number: null, awaited: 0, snapshot: null, seen: null, balance: 0n, news: [], past: [], trading: new TradingProfit(), positions: new Map(), orders: new Map()});
  }

  #begin(snapshot) {
    this.#forget();
    Object.assign(this, {number: snapshot.number, snapshot, balance: cashUnits(snapshot.balance)});
    for (const {symbol, shares} of snapshot.positions) this.positions.set(symbol, units(shares));
    for (const order of snapshot.orders) this.#open(order);
    this.#spread(cashUnits(snapshot.reserved ?? "0") - this.#reserves().cash);
  }

  // `reserved`: the cash of a market buy that an auction collects.
  #open({order, ref, symbol, side, shares, limit, open}, reserved = 0n) {
    const own = {order, ref, symbol, side, shares: units(shares), limit: units(limit), open: units(open)};
    this.orders.set(order, {...own, each: own.limit ?? reserved / own.open});
  }

  // What a snapshot has reserved beside the limits is of such market buys.
  #spread(reserved) {
    const market = [...this.orders.values()].filter(({side, limit}) => side === "buy" && limit === null);
    const open = market.reduce((sum, order) => sum + order.open, 0n);
    for (const order of market) order.each = reserved / open;
    this.#known = null;
  }

  #apply(event) {
    this.#known = null;
    const {order, symbol, shares} = event;
    if (event.event === "opened" || event.event === "replaced") {
      this.#open(event, this.balance - cashUnits(event.balance));
    } else if (event.event === "executed") {
      const own = this.orders.get(order);
      if (own) own.open = units(event.open);
      if (own?.open === 0n) this.orders.delete(order);
      this.trading.take(event);
    } else if (event.event === "canceled") {
      this.orders.delete(order);
    }
    const isNews = event.event === "executed" || (event.event === "canceled" && event.reason !== "client");
    if (isNews) this.news = [event, ...this.news].slice(0, news_max);
    this.balance = cashUnits(event.balance);
    if (symbol) this.positions.set(symbol, units(event.position));
  }
}

// What an account gained by trading, and how that came about: what its executions brought, and the shares that they left, at
// the last prices. What it was given does not count.
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
