// The order book of one symbol, kept from a snapshot and numbered updates. Pure: knows no socket and no page.

import {units} from "./decimal.js";

const trades_max = 50;
const levels_sent_max = 1000;  // a snapshot has no more of a side
const levels_known_min = 500;  // of a side that has more than were sent: below this it is time to ask again

// {price, shares: units; priceText, sharesText; orders}, or null where the message is odd.
function level(row) {
  if (!Array.isArray(row)) return null;
  const [price, shares] = [units(row[0]), units(row[1])];
  if (price === null || shares === null || !Number.isInteger(row[2])) return null;
  return {price, shares, orders: row[2], priceText: row[0], sharesText: row[1]};
}

function levels(rows) {
  const all = Array.isArray(rows) ? rows.map(level) : [null];
  return all.includes(null) ? null : all;
}

const goodTrade = (trade) => units(trade?.price) !== null && units(trade?.shares) !== null;

// Where a price is, or belongs, in levels that are best first.
function place(side, price, better) {
  let low = 0, high = side.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (better(side[middle].price, price)) low = middle + 1;
    else high = middle;
  }
  return low;
}

const edge = (side) => (side.length >= levels_sent_max ? side.at(-1).price : null);
const higher = (a, b) => a > b;
const lower = (a, b) => a < b;

function replaceLevel(side, changed, better) {
  const at = place(side, changed.price, better);
  const there = at < side.length && side[at].price === changed.price;
  if (changed.orders === 0) {
    if (there) side.splice(at, 1);
  } else {
    side.splice(at, there ? 1 : 0, changed);
  }
}

export class Book {
  constructor(symbol) {
    this.symbol = symbol;
    this.sequence = null;  // null: no snapshot yet, or lost
    this.bids = [];        // best first
    this.asks = [];
    this.trades = [];      // newest first
    this.trading = "open";  // or halted, auction or volatility
    this.auction = null;    // what it would execute now: {price, volume, surplus, market_buys, market_sells}, texts; price and surplus may be null
    this.changed = new Set();  // "bid 145.67" of levels that updates changed; the view that shows them clears it
    this.bidsEdge = this.asksEdge = null;  // worst price known of a side that was cut off; null where all of it is known
  }

  get known() { return this.sequence !== null; }

  // Takes a message of the stream. "taken", "ignored" (of another symbol, or before a snapshot), or "resubscribe":
  // a gap in the sequence, an odd message, or a side of which too little is known.
  take(message) {
    if (message.symbol !== this.symbol) return "ignored";
    if (message.type === "snapshot") return this.#snapshot(message);
    if (message.type === "update") return this.#update(message);
    return "ignored";
  }

  forget() { this.sequence = null; }

  #read(message) {
    const bids = levels(message.bids), asks = levels(message.asks);
    const trades = Array.isArray(message.trades) && message.trades.every(goodTrade) ? message.trades : null;
    const {trading = "open", auction = null} = message;
    return bids && asks && trades && Number.isSafeInteger(message.sequence) ? {bids, asks, trades, trading, auction} : null;
  }

  #snapshot(message) {
    const read = this.#read(message);
    if (!read) return this.#lost();
    this.bids = read.bids.sort((a, b) => (higher(a.price, b.price) ? -1 : 1));
    this.asks = read.asks.sort((a, b) => (lower(a.price, b.price) ? -1 : 1));
    this.bidsEdge = edge(this.bids);
    this.asksEdge = edge(this.asks);
    this.trades = read.trades.slice(0, trades_max);
    Object.assign(this, {trading: read.trading, auction: read.auction});
    this.changed.clear();
    this.sequence = message.sequence;
    return "taken";
  }

  #update(message) {
    if (!this.known) return "ignored";
    const read = message.sequence === this.sequence + 1 ? this.#read(message) : null;
    if (!read) return this.#lost();
    for (const changed of read.bids) this.#change("bid", this.bids, changed, higher, this.bidsEdge);
    for (const changed of read.asks) this.#change("ask", this.asks, changed, lower, this.asksEdge);
    this.trades = [...read.trades.slice(-trades_max).reverse(), ...this.trades].slice(0, trades_max);
    Object.assign(this, {trading: read.trading, auction: read.auction});
    this.sequence = message.sequence;
    const fewKnown = (this.bidsEdge !== null && this.bids.length < levels_known_min) ||
      (this.asksEdge !== null && this.asks.length < levels_known_min);
    return fewKnown ? this.#lost() : "taken";
  }

  #change(name, side, changed, better, edge) {
    if (edge !== null && better(edge, changed.price)) return;  // beyond it the book would have holes
    replaceLevel(side, changed, better);
    this.changed.add(`${name} ${changed.price}`);
  }

  // What was known stays to be looked at until the next snapshot.
  #lost() {
    this.sequence = null;
    return "resubscribe";
  }
}

// Shares up to and including each level, in units.
export function cumulated(side) {
  let total = 0n;
  return side.map((level) => (total += level.shares));
}

// Best ask less best bid in units, or null where a side is empty.
export function spread(book) {
  return book.bids.length && book.asks.length ? book.asks[0].price - book.bids[0].price : null;
}
