// Candles of one symbol, made of its trades as they come. Floats, for pixels alone. Pure.

const widths_s = [1, 5, 60];
const kept_max = 600;  // of each width

export class Candles {
  #last = null;    // the last trade in them
  #before = [];    // trades that came before what there was of them was loaded; null: it is

  constructor() { this.#clear(); }

  // Those of this width (seconds), oldest first: {start (seconds since the epoch), open, high, low, close, shares}.
  // Where nothing was traded there is none.
  of(width_s) { return this.candles.get(width_s); }

  // Before trades are loaded: add() keeps what comes for afterwards.
  wait() { this.#before = []; }

  get isLoaded() { return this.#before === null; }

  // The newest trades that the server has, oldest first; what is known already is passed over. Where the last trade known is
  // not among them, they are of another store, or trades between were missed: then the candles begin anew, since they would
  // show a wrong price, or have a hole.
  load(trades) {
    const last = this.#last;
    if (!trades.some(({id, time_us, price, shares}) => id === last?.id && time_us === last.time_us && price === last.price && shares === last.shares)) this.#clear();
    const before = this.#before ?? [];
    this.#before = null;
    this.add(trades);
    this.add(before);
  }

  add(trades) {
    if (this.#before) return this.#before.push(...trades);
    for (const trade of trades) {
      if (trade.id <= (this.#last?.id ?? 0)) continue;
      this.#last = trade;
      for (const width_s of widths_s) this.#take(this.of(width_s), width_s, trade);
    }
  }

  #take(candles, width_s, trade) {
    const [price, shares] = [Number(trade.price), Number(trade.shares)];
    const start = Math.floor(trade.time_us / 1e6 / width_s) * width_s;
    const last = candles.at(-1);
    if (last && start <= last.start) {  // clocks may go back: then it belongs to the last one
      last.high = Math.max(last.high, price);
      last.low = Math.min(last.low, price);
      last.close = price;
      last.shares += shares;
    } else {
      candles.push({start, open: price, high: price, low: price, close: price, shares});
      if (candles.length > kept_max) candles.shift();
    }
  }

  #clear() {
    this.#last = null;
    this.candles = new Map(widths_s.map((width_s) => [width_s, []]));
  }
}
