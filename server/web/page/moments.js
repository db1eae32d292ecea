// A closed day from one of its moments on: the book, the trades and an account, kept from a state and the changes that
// follow (docs/http-api.md, "Replays of closed days"). Pure: knows no server and no page.

import {Book} from "./book.js";
import {Candles} from "./candles.js";
import {cashUnits, decimal, units} from "./decimal.js";

const news_max = 100;

export class Moments {
  #pending = [];  // changes to come

  // `page`: of /api/moments.
  constructor({symbol, state, ...page}) {
    Object.assign(this, {book: new Book(symbol), candles: new Candles(), position: state.position, time_us: state.time_us, fills: [], news: []});
    this.isLost = this.book.take({type: "snapshot", symbol, sequence: 0, ...state}) !== "taken";
    this.candles.load(state.trades.toReversed());
    this.account = state.account && {
      ...state.account,
      positions: new Map(state.account.positions.map((one) => [one.symbol, one])),
      orders: new Map(state.account.orders.map((one) => [one.order, one])),
    };
    this.#extend(page);
  }

  // The page that follows.
  add(page) {
    if (page.state.position === this.until) this.#extend(page);
  }

  #extend({changes, until, until_us, end}) {
    this.#pending.push(...changes);
    Object.assign(this, {until, until_us, isEnd: end});
  }

  get ahead() { return this.#pending.length; }

  // Goes on to this time, or as far as changes are known. Returns the time that it came to.
  playTo(time_us) {
    let at = 0;
    while (at < this.#pending.length && this.#pending[at].time_us <= time_us) this.#take(this.#pending[at++]);
    this.#pending.splice(0, at);
    if (this.#pending.length === 0 && time_us >= this.until_us) this.#reach(this.until, this.until_us);
    return this.#pending.length ? time_us : Math.min(time_us, this.until_us);
  }

  // Goes on behind the next change that has trades. False: it is not known yet; all that is known was taken.
  playToTrade() {
    while (this.#pending.length) {
      const change = this.#pending.shift();
      this.#take(change);
      if (change.trades?.length) return true;
    }
    this.#reach(this.until, this.until_us);
    return false;
  }

  #reach(position, time_us) { Object.assign(this, {position, time_us}); }

  #take(change) {
    this.#reach(change.position, change.time_us);
    if (change.account) this.#takeAccount(change);
    if (!change.bids) return;
    const {book} = this;
    if (book.take({type: "update", symbol: book.symbol, sequence: book.sequence + 1, ...change}) !== "taken") this.isLost = true;
    this.candles.add(change.trades);
  }

  #takeAccount({time_us, trades = [], account}) {
    const {positions, orders, ...rest} = account;
    this.account = Object.assign(this.account ?? {positions: new Map(), orders: new Map()}, rest);
    for (const one of positions) this.account.positions.set(one.symbol, one);
    for (const order of orders) {
      const before = this.account.orders.get(order.order);
      for (const [what, shares, price] of happenings(before, order, trades)) {
        const one = {time_us, what, shares, price, order: order.order, side: order.side, symbol: order.symbol};
        this.news = [one, ...this.news].slice(0, news_max);
        if (what === "executed" && price) this.fills.push(one);
      }
      if (order.open === "0") this.account.orders.delete(order.order);
      else this.account.orders.set(order.order, order);
    }
  }
}

// [what, shares, price] of what a command did to an order, by what it was before.
function happenings(before, order, trades) {
  const all = [];
  const isNew = before === undefined;
  if (isNew) all.push(["opened", order.shares, order.limit]);
  else if (before.shares !== order.shares || before.limit !== order.limit) all.push(["replaced", order.shares, order.limit]);
  const own = trades.filter(({buy_order, sell_order}) => (order.side === "buy" ? buy_order : sell_order) === order.order);
  for (const {shares, price} of own) all.push(["executed", shares, price]);
  const canceled = units(order.canceled);
  if (!own.length && !isNew && canceled === 0n && before.shares === order.shares && before.open !== order.open)
    all.push(["executed", decimal(units(before.open) - units(order.open)), null]);  // of another symbol
  if (canceled > 0n && order.open === "0") all.push(["canceled", order.canceled, null]);
  return all;
}

// Cash and shares of a symbol, as the account has them: [free cash, reserved, free shares, reserved], in units.
export function holdings(account, symbol) {
  const position = account.positions.get(symbol);
  return [cashUnits(account.balance), cashUnits(account.reserved), units(position?.shares ?? "0"), units(position?.reserved ?? "0")];
}

// "#replay/monday/SPY@815" or "...@10:31:07", each part but the first optional: {day, symbol, position} or {..., clock}.
export function readLink(hash) {
  const [, day, symbol, place] = /^#replay\/?([^/@]*)\/?([^@]*)(?:@(.*))?$/.exec(hash) ?? [];
  const link = {day: day || null, symbol: symbol || null};
  if (/^\d+$/.test(place)) return {...link, position: Number(place)};
  if (/^\d{1,2}:\d{2}(:\d{2})?$/.test(place)) return {...link, clock: place};
  return link;
}

// The microseconds of a time of day ("10:31:07") at which it comes first in a day that began at first_us.
export function timeOf(clock, first_us) {
  const [hours, minutes, seconds = 0] = clock.split(":").map(Number);
  const date = new Date(first_us / 1000);
  date.setHours(hours, minutes, seconds, 0);
  if (date.getTime() * 1000 + 999_999 < first_us) date.setDate(date.getDate() + 1);
  return date.getTime() * 1000;
}
