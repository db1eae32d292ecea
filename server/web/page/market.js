// The market side of the page: list of symbols, order book, tape.

import {cumulated, spread} from "./book.js";
import {approximate, decimal, decimalsOf, grouped, units} from "./decimal.js";
import {byId, listRows, make, motionReduced, rem, rowsOf, setText, setTexts, setVariable} from "./dom.js";
import {clock, counted, nothing, whole} from "./format.js";

const symbols_shown_max = 150;
const levels_shown_max = 30;  // a side
const trades_shown_max = 40;

export const isTrading = () => document.body.dataset.view === "trade";
export const linkTo = (symbol, trading = isTrading()) => (trading ? "#trade/" : "#") + encodeURIComponent(symbol ?? "");

export const isTyping = (element) => element.matches?.("input:not([type=radio]), select, textarea") ?? false;

export class SymbolList {
  constructor({choose}) {
    this.all = null;  // of /api/symbols; null until it is known
    this.chosen = null;
    this.live = null;  // {symbol, last, bid, ask} of the book on the page, which is newer
    this.decimals = 0;  // shown of each price
    this.search = byId("search");
    this.search.addEventListener("input", () => this.show());
    this.search.addEventListener("keydown", (event) => {
      const found = this.found();
      const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
      if (event.key === "Enter" && found.length) choose(found[0].symbol);
      if (event.key === "Escape") this.search.value = "";
      if (step && found.length) {
        const at = found.findIndex(({symbol}) => symbol === this.chosen);
        choose(found[Math.max(0, Math.min(found.length - 1, at + step))].symbol);
        event.preventDefault();
      }
      if (event.key === "Enter" || event.key === "Escape") this.show();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      event.preventDefault();
      this.search.focus();
    });
  }

  // What a search finds, what begins so first.
  found() {
    const wanted = this.search.value.trim().toLowerCase();
    const all = this.all ?? [];
    if (!wanted) return all;
    const starts = all.filter(({symbol}) => symbol.toLowerCase().startsWith(wanted));
    return [...starts, ...all.filter(({symbol}) => !symbol.toLowerCase().startsWith(wanted) && symbol.toLowerCase().includes(wanted))];
  }

  fact(symbol) { return this.all?.find((one) => one.symbol === symbol) ?? null; }

  // The one with the most trades, else the first.
  busiest() {
    return (this.all ?? []).reduce((best, one) => (best === null || one.trades > best.trades ? one : best), null)?.symbol ?? null;
  }

  show() {
    if (this.all === null) return;
    const found = this.found();
    let shown = found.slice(0, symbols_shown_max);
    const chosen = this.fact(this.chosen);
    if (chosen && found.includes(chosen) && !shown.includes(chosen)) shown = [chosen, ...shown.slice(0, -1)];
    const none = this.all.length === 0;
    byId("no-symbols").hidden = !none;
    byId("symbols").parentElement.hidden = none;
    this.search.parentElement.hidden = none;
    setText(byId("symbols-count"), none ? "" : found.length < this.all.length ? `${whole(found.length)} of ${whole(this.all.length)}` : whole(this.all.length));
    const left = found.length - shown.length;
    byId("symbols-more").hidden = left === 0;
    setText(byId("symbols-more"), `${whole(left)} more: search to find them`);

    // Points under each other where prices have up to two decimals.
    this.decimals = Math.min(2, decimalsOf(shown.flatMap(({last, bid, ask}) => [last, bid, ask])));
    const makeRow = () => make("tr", "", make("td", "", make("a")), make("td", "number"), make("td", "number"), make("td", "number"));
    rowsOf(byId("symbols").tBodies[0], shown.length, makeRow).forEach((tr, i) => {
      const {symbol} = shown[i];
      const link = tr.cells[0].firstChild;
      setText(link, symbol);
      this.#showTrading(tr, this.live?.symbol === symbol ? this.live.trading : shown[i].trading);
      if (link.getAttribute("href") !== linkTo(symbol)) link.setAttribute("href", linkTo(symbol));
      const isChosen = symbol === this.chosen;
      if (isChosen !== tr.classList.contains("chosen")) {
        tr.classList.toggle("chosen", isChosen);
        if (isChosen) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
      this.#showPrices(tr, this.live?.symbol === symbol ? this.live : shown[i]);
    });
  }

  // The row of the book on the page changes with it; null if that is not live.
  follow(book) {
    this.live = book && {symbol: book.symbol, trading: book.trading, last: book.trades[0]?.price ?? this.fact(book.symbol)?.last, bid: book.bids[0]?.priceText, ask: book.asks[0]?.priceText};
    const row = byId("symbols").querySelector("tr.chosen");
    if (!row || this.live?.symbol !== this.chosen) return;
    this.#showTrading(row, this.live.trading);
    this.#showPrices(row, this.live);
  }

  #showTrading(tr, trading = "open") {
    const {dataset} = tr.cells[0].firstChild;
    if (dataset.trading !== trading) dataset.trading = trading;
  }

  #showPrices(tr, {last, bid, ask}) {
    setTexts(tr, [last, bid, ask].map((text) => (typeof text === "string" ? grouped(text, this.decimals) : nothing)), 1);
  }

  reveal() {
    // Within the list alone: scrollIntoView() would scroll the window too.
    const list = byId("symbols").parentElement, row = byId("symbols").querySelector("tr.chosen");
    if (!row) return;
    const [top, bottom] = [list.getBoundingClientRect().top + byId("symbols").tHead.offsetHeight, list.getBoundingClientRect().bottom];
    const box = row.getBoundingClientRect();
    if (box.top < top) list.scrollTop -= top - box.top;
    else if (box.bottom > bottom) list.scrollTop += box.bottom - bottom;
  }
}

// The levels next to the spread, as many as fit: asks above it, bids below, best in the middle.
export class Ladder {
  constructor() {
    this.space = byId("ladder-space");
    this.table = byId("ladder");
    this.asks = this.table.querySelector(".asks");
    this.bids = this.table.querySelector(".bids");
    this.levels = 8;
    this.priceDecimals = 0;  // shown of each price
  }

  // Fits the rows to the room.
  fit() {
    const room = this.space.clientHeight - rem() * 3.7;  // less head and middle
    this.levels = Math.max(3, Math.min(levels_shown_max, Math.floor(room / 2 / (rem() * 1.45))));
    setVariable(this.table, "--row", `${Math.min(rem() * 1.9, Math.max(rem() * 1.3, room / 2 / this.levels)).toFixed(2)}px`);
  }

  show(book) {
    const [asks, bids] = [book.asks.slice(0, this.levels), book.bids.slice(0, this.levels)];
    const all = [...asks, ...bids];
    const widest = {
      price: decimalsOf(all.map((level) => level.priceText)),
      shares: decimalsOf(all.map((level) => level.sharesText)),
      size: Math.max(1e-8, ...all.map((level) => approximate(level.shares))),
    };
    const totals = {asks: cumulated(asks), bids: cumulated(bids)};
    widest.total = Math.max(1e-8, approximate(totals.asks.at(-1) ?? 0n), approximate(totals.bids.at(-1) ?? 0n));
    this.#side("ask", this.asks, asks, totals.asks, widest, book.changed);
    this.#side("bid", this.bids, bids, totals.bids, widest, book.changed);
    book.changed.clear();

    this.priceDecimals = widest.price;

    this.#middle(book, all.length === 0, widest.price);
  }

  // The spread; or how the symbol trades, and what its auction would execute now.
  #middle(book, isEmpty, priceDecimals) {
    const {trading, auction, known} = book;
    const gap = spread(book);
    const label = trading === "open" ? "spread" : trading === "volatility" ? "volatility auction" : trading;
    const text = trading === "open" ? (gap === null ? "one-sided" : grouped(decimal(gap), priceDecimals))
      : !auction ? "" : auction.price === null ? "nothing yet" : `${grouped(auction.volume)} @ ${grouped(auction.price, priceDecimals)}`;
    const middle = byId("spread"), shown = trading === "open" && isEmpty ? "" : `${label} ${text}`;
    if (shown === "") setText(middle, known ? "empty" : nothing);
    else if (middle.dataset.shown !== shown) middle.replaceChildren(`${label} `, make("b", "", text));
    middle.dataset.shown = shown;
    const surplus = auction?.surplus ? `surplus ${grouped(auction.surplus)}` : "nothing would be executed";
    middle.title = auction ? `${surplus}; market orders: ${grouped(auction.market_buys)} to buy, ${grouped(auction.market_sells)} to sell` : "";
  }

  #side(name, body, levels, totals, widest, changed) {
    const makeRow = () => make("tr", "", make("td"), make("td"), make("td"), make("td"));
    const rows = rowsOf(body, this.levels, makeRow);
    if (name === "ask") rows.reverse();  // the best is at the bottom
    rows.forEach((tr, i) => {
      const level = levels[i];
      tr.classList.toggle("level", level !== undefined);
      tr.dataset.price = level?.priceText ?? "";
      const texts = level ? [grouped(level.priceText, widest.price), grouped(level.sharesText, widest.shares), whole(level.orders),
        grouped(decimal(totals[i]), widest.shares)] : ["", "", "", ""];
      if (tr.cells[0].textContent !== texts[0]) flashes.get(tr)?.cancel();  // it was of another level
      texts.forEach((text, cell) => {
        setText(tr.cells[cell], text);
        tr.cells[cell].title = text.length > 12 ? text : "";  // may be cut off
      });
      setVariable(tr, "--size", level ? `${(100 * approximate(level.shares) / widest.size).toFixed(1)}%` : "0%");
      setVariable(tr, "--total", level ? `${(100 * approximate(totals[i]) / widest.total).toFixed(1)}%` : "0%");
      if (level && changed.has(`${name} ${level.price}`)) flash(tr);
    });
  }
}

// A mark at the left end, away from the bars, that fades: opacity alone, which costs no layout and little paint.
const flashes = new WeakMap();
function flash(tr) {
  if (motionReduced()) return;
  flashes.get(tr)?.cancel();
  flashes.set(tr, tr.animate([{opacity: 1}, {opacity: 0}], {duration: 700, easing: "steps(7)", pseudoElement: "::before"}));
}

export class Tape {
  constructor() {
    this.space = byId("tape-space");
    this.table = byId("tape");
    this.rows = 10;
  }

  fit() {
    this.rows = Math.max(5, Math.min(trades_shown_max, Math.floor((this.space.clientHeight - rem() * 1.7) / (rem() * 1.58))));
  }

  show(trades) {
    const shown = trades.slice(0, this.rows);
    const priceDecimals = decimalsOf(shown.map((trade) => trade.price));
    const shareDecimals = decimalsOf(shown.map((trade) => trade.shares));
    listRows(this.table, ["", "", "number", "number"], shown, ({taker, time_us, price, shares}, tr) => {
      const side = taker === "buy" ? "buy" : "sell";
      if (tr.className !== side) tr.className = side;
      tr.dataset.price = price;
      return [clock(time_us), side === "buy" ? "▲ buy" : "▼ sell", grouped(price, priceDecimals), grouped(shares, shareDecimals)];
    });
  }
}

// Name, last price and which way it went, above the book.
export function showQuote(symbol, book, fact, priceDecimals) {
  setText(byId("book-symbol"), symbol ?? "");
  const [last, before] = book?.trades ?? [];
  const text = last?.price ?? fact?.last ?? null;
  const way = last && before ? units(last.price) - units(before.price) : 0n;
  const shown = text === null ? "" : `${grouped(text, priceDecimals)}${way > 0n ? " ▲" : way < 0n ? " ▼" : ""}`;
  const quote = byId("last");
  quote.className = `price ${way > 0n ? "bid" : way < 0n ? "ask" : ""}`;
  setText(quote, shown);
  quote.title = way > 0n ? "last price, higher than the one before" : way < 0n ? "last price, lower than the one before" : "last price";
  setText(byId("tape-count"), fact?.trades > 0 ? `${whole(fact.trades)} since start, ${fact.traded_shares === "1" ? "1 share" : `${grouped(fact.traded_shares)} shares`}` : "");
  document.title = symbol ? `${symbol}${text === null ? "" : " " + grouped(text)} – Exchange` : "Exchange";
}
