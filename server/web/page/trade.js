// The Trade view: sign-in, ticket, chart, own orders, executions and positions. All of it follows the feed.

import {Account, curve} from "./account.js";
import {Candles} from "./candles.js";
import {available} from "./charts.js";
import {decimal, decimalsOf, grouped, units} from "./decimal.js";
import {byId, listRows, make, setText, setTexts} from "./dom.js";
import {basic, clock, counted, dayAndClock, nothing} from "./format.js";
import {isTrading} from "./market.js";
import {Requests, refusalOf} from "./requests.js";
import {Ticket, accept, cashText, complain, orderText, say, sharesText, showCash} from "./ticket.js";

const rows_shown_max = 200;
const past_pages_max = 10;   // of earlier fills
const past_tries_max = 5, past_pause_ms = 1000;
const said_pause_ms = 1000;  // executions of this time are one text for screen readers

// What this tab keeps while it is loaded again; nothing where storage is forbidden or full.
function keep(name, value) {
  try {
    sessionStorage.removeItem(name);  // nothing old stays where the new does not fit
    sessionStorage.setItem(name, JSON.stringify(value));
  } catch {
    // then a reload asks to sign in
  }
}
function kept(name) {
  try {
    return JSON.parse(sessionStorage.getItem(name));
  } catch {
    return null;
  }
}

// The newest fills of an account, newest first, and the newest execution of the exchange then. Null, or an exception: try again;
// undefined: that is of no use.
async function readFills(id, key) {
  const headers = key ? {Authorization: `Basic ${basic(id, key)}`} : {};
  const fills = [];
  let newest = null, before = "newest";
  for (let pages = 0; before && pages < past_pages_max; ++pages) {
    const response = await fetch(`api/accounts/${id}/fills?before=${before}`, {cache: "no-store", headers});
    if (!response.ok) return response.status === 503 ? null : undefined;
    const page = await response.json();
    fills.push(...page.fills);
    newest ??= page.newest_execution;
    before = page.next;
  }
  return [fills, newest];
}

// Why what was open of an order is canceled though no request asked for it.
const endings = {immediate: "not filled at once", stp: "met own order", disconnect: "connection ended"};

// The table, or what stands in its place where it has no rows: that there are none, if that is known.
function showTable(name, rows, account, none) {
  byId(`no-${name}`).hidden = rows.length > 0;
  setText(byId(`no-${name}`), account ? none : "Shown after the sign-in.");
  byId(name).parentElement.hidden = rows.length === 0;
}

export class Trade {
  #symbol = null;
  #width_s = 5;
  #loaded = false;     // whether the candles have what the server has
  #said = 0;           // number of the newest execution that was said
  #saying = null;
  #rows = new Map();   // order: its body in the table
  #kept = null;        // the snapshot that the tab keeps
  #pastOf = null;      // the snapshot of the account whose earlier fills are asked for

  constructor({feed, symbols}) {
    Object.assign(this, {feed, symbols, ticket: new Ticket(feed), candles: new Candles()});
    Object.assign(this, {signIn: byId("sign-in"), own: byId("own")});
    this.signIn.addEventListener("submit", (event) => {
      event.preventDefault();
      const {account, key} = this.signIn.elements;
      accept(this.signIn, byId("signed-said"));
      this.signInAs(account.value.trim(), key.value);
    });
    byId("sign-out").addEventListener("click", () => this.#signOut());
    byId("cancel-all").addEventListener("click", ({target}) =>
      this.#ask({cancel_all: {}}, target, ({orders}) => `${counted(orders.length, "order is", "orders are")} canceled.`));
    byId("widths").addEventListener("change", ({target}) => {
      this.#width_s = Number(target.value);
      this.feed.changed();
    });
  }

  signInAs(account, key) {
    byId("by-link").hidden = true;
    this.#follow(new Account(account, key));
  }

  // {account, key} of the address of the page; null where it is meant to sign in and cannot.
  followLink(link) {
    if (!link) {
      this.#signOut();  // rather than to go on as another account
      return say(byId("signed-said"), "This sign-in link is damaged: open it again as a whole, or type account and key.", true);
    }
    this.signInAs(link.account, link.key);
    byId("by-link").hidden = link.key === "";
  }

  // Signs in again after the page was loaded again, and asks about the orders that had no answer.
  start() {
    const tab = kept("trade");
    if (!tab || this.feed.account) return;
    const orders = kept("orders") ?? [];
    this.#follow(new Account(tab.account, tab.key, tab.base?.snapshot ? tab.base : null));
    for (const [place, sent] of Requests.kept(orders)) this.ticket.place(place, sent);
  }

  select(symbol) {
    if (symbol !== this.#symbol) this.candles = new Candles();
    this.#symbol = symbol;
    this.ticket.select(symbol);
  }

  // A message of the market data that the book has taken.
  took({type, trades}) {
    if (type === "update" && isTrading()) return this.candles.add(trades);
    this.#loaded = false;
    this.candles.wait();
  }

  #loadCandles({symbol, trades}) {
    const {candles} = this;
    this.#loaded = true;
    fetch(`api/trades?sym=${encodeURIComponent(symbol)}&limit=500`, {cache: "no-store"})
        .then((response) => response.json())
        .then((answer) => candles.load(answer.trades.reverse()))
        .catch(() => candles.load(trades.toReversed()))  // the few of the book, then
        .then(() => this.feed.changed());
  }

  // The orders that have no answer, with their age, for the page that is loaded next in this tab.
  keepOrders() { keep("orders", this.feed.requests.keep()); }

  // The page is left, perhaps to be loaded again.
  leave() {
    this.keepOrders();
    if (this.feed.account?.known) this.#keepAccount(this.feed.account);
  }

  show() {
    if (this.feed.accountState === "refused") this.#refuse();
    const account = this.feed.account?.known ? this.feed.account : null;
    document.body.classList.toggle("catching-up", account !== null && this.feed.accountState !== "live");
    this.signIn.hidden = account !== null;
    if (this.feed.account && !account) say(byId("signed-said"), "Signing in …");
    byId("holdings").hidden = account === null;
    if (account) {
      this.#askForPast(account);
      this.#notePrices(account);
      this.#sayFills(account);
    }
    if (!isTrading()) return;
    if (this.feed.book?.known && !this.#loaded) this.#loadCandles(this.feed.book);
    if (account) this.#showHoldings(account);
    this.ticket.show();
    this.#showOrders(account);
    this.#showFills(account);
    this.#showPositions(account);
    this.#showChartMissing();
  }

  // 1. Signing in and out.
  #follow(account) {
    this.#kept = null;
    this.#said = account?.number ?? 0;
    this.feed.follow(account);
  }

  #signOut() {
    keep("trade", null);
    byId("by-link").hidden = true;
    this.#follow(null);
    this.signIn.reset();
    this.signIn.hidden = false;
    this.signIn.elements.account.focus();
  }

  #refuse() {
    const {id, refusal} = this.feed.account;
    this.#signOut();
    this.signIn.elements.account.value = id;
    complain(this.signIn, byId("signed-said"), refusalOf(refusal));
  }

  // The fills from before the sign-in, once for each snapshot: that of another store has others.
  async #askForPast(account) {
    const {snapshot, id, key} = account;
    if (this.#pastOf === snapshot) return;
    this.#pastOf = snapshot;
    for (let tries = 0; tries < past_tries_max && this.#pastOf === snapshot; ++tries) {
      if (tries) await new Promise((resolve) => setTimeout(resolve, past_pause_ms));
      const found = await readFills(id, key).catch(() => null);
      if (found && account.snapshot === snapshot) {
        account.takePast(...found);
        this.feed.changed();
      }
      if (found !== null) return;
    }
  }

  #notePrices(account) {
    for (const symbol of account.positions.keys()) {
      const {price, time_us} = this.#last(symbol);
      if (price !== null) account.trading.notePrice(symbol, price, time_us);
    }
    if (this.#kept !== account.snapshot) this.#keepAccount(account);
  }

  #keepAccount(account) {
    this.#kept = account.snapshot;
    keep("trade", {account: account.id, key: account.key, base: account.keep()});
  }

  // The last price of a symbol, in units, and its time; a price of null where it is not known.
  #last(symbol) {
    const {book} = this.feed, newest = symbol === book?.symbol ? book.trades[0] : undefined;
    const {last, last_time_us} = this.symbols.fact(symbol) ?? {};
    return newest ? {price: units(newest.price), time_us: newest.time_us} : {price: units(last), time_us: last_time_us};
  }

  // 2. What the account has.
  #showHoldings(account) {
    const {reserved} = account;
    setText(byId("who"), account.id);
    byId("who").dataset.number = account.number;
    setText(byId("account-state"), this.feed.accountState === "live" ? "live" : "connecting …");
    showCash(byId("free-cash"), account.balance);
    showCash(byId("reserved-cash"), reserved, "reserved: ");
    setText(byId("position-symbol"), this.#symbol ?? "");
    setText(byId("free-shares"), sharesText(account.freeShares(this.#symbol)));
    setText(byId("reserved-shares"), `reserved: ${sharesText(account.reservedShares(this.#symbol))}`);
    this.#showProfit(account.trading);
    const {role, orders_max, orders_per_second_max, position_max} = account.rules;
    setText(byId("frozen"), account.isFrozen ? "The operator has frozen this account: orders and changes are refused, cancels work." : "");
    const limits = [orders_max && counted(orders_max, "open order"), orders_per_second_max && `${counted(orders_per_second_max, "order")} a second`,
      position_max && `${grouped(position_max)} shares of a symbol`].filter(Boolean);
    const operates = role === "operator" ? "It may do what the operator does." : "";
    setText(byId("limits"), [limits.length ? `At most ${limits.join(", ")}.` : "", operates].filter(Boolean).join(" "));
  }

  #showProfit({profit, points}) {
    byId("profit").className = profit > 0n ? "good" : profit < 0n ? "bad" : "";
    showCash(byId("profit"), profit, profit > 0n ? "+" : "");
    setText(byId("profit-since"), points.length ? `since ${dayAndClock(points[0].time_us)}` : "no trade yet");
    const {corners, zero} = curve(points, 100, 30);
    const [zeroPath, line] = byId("profit-curve").children;
    zeroPath.setAttribute("d", `M0 ${zero}H100`);
    line.setAttribute("d", corners.length > 1 ? `M${corners.map((corner) => corner.map((one) => one.toFixed(2)).join(" ")).join("L")}` : "");
    const all = points.map((point) => point.profit);
    const [low, high] = [all.reduce((a, b) => (b < a ? b : a), 0n), all.reduce((a, b) => (b > a ? b : a), 0n)];
    setText(byId("profit-range"), points.length ? `low ${cashText(low)}, high ${cashText(high)}` : "");
  }

  #showPositions(account) {
    const held = [...account?.positions.keys() ?? []].filter((symbol) => account.shares(symbol) > 0n).slice(0, rows_shown_max);
    showTable("positions", held, account, "No shares.");
    listRows(byId("positions"), ["", "number", "number"], held, (symbol, tr) => {
      const shares = account.shares(symbol), {price: last} = this.#last(symbol);
      if (last !== null) showCash(tr.cells[2], shares * last);
      return [symbol, sharesText(shares), last === null ? nothing : tr.cells[2].textContent];
    });
  }

  // 3. Executions.
  #showFills(account) {
    const all = account ? [...account.news, ...account.earlier].slice(0, rows_shown_max) : [];
    showTable("fills", all, account, "None yet.");
    const places = decimalsOf(all.map(({price}) => price));
    listRows(byId("fills"), ["", "", "number", "number", ""], all, (one, tr) => {
      tr.className = one.side;
      tr.dataset.number = one.number ?? "";
      const how = one.price ? [grouped(one.price, places), one.role] : ["canceled", endings[one.reason] ?? one.reason];
      return [clock(one.time_us), orderText(one), grouped(one.shares), ...how];
    });
  }

  #sayFills(account) {
    if (this.#saying !== null || !(account.news[0]?.number > this.#said)) return;
    this.#saying = setTimeout(() => {
      this.#saying = null;
      if (this.feed.account !== account) return;
      const fresh = account.news.filter(({number}) => number > this.#said);
      if (!fresh.length) return;
      const {number, order, side, shares, symbol, price} = fresh[0];
      const bought = `${side === "buy" ? "bought" : "sold"} ${grouped(shares)} ${symbol} at ${grouped(price ?? "0")}`;
      const last = price ? bought : `order ${order} is canceled`;
      setText(byId("fills-said"), fresh.length === 1 ? `New: ${last}.` : `${fresh.length} events, the last: ${last}.`);
      this.#said = number;
    }, said_pause_ms);
  }

  // 4. Open orders.
  #showOrders(account) {
    const all = account ? [...account.orders.values()].reverse() : [];
    const shown = all.slice(0, rows_shown_max);
    showTable("own", shown, account, "No open orders.");
    const limits = shown.map(({limit}) => (limit === null ? null : decimal(limit)));
    const places = decimalsOf(limits);
    byId("cancel-all").hidden = all.length === 0;
    setText(byId("cancel-all"), `Cancel all ${all.length}`);
    const there = new Set(shown.map(({order}) => order));
    for (const [order, body] of this.#rows) {
      if (there.has(order)) continue;
      if (body.contains(document.activeElement)) this.own.parentElement.focus();
      body.remove();
      this.#rows.delete(order);
    }
    shown.forEach((order, i) => {
      const body = this.#rows.get(order.order) ?? this.#orderRow(order.order);
      if (this.own.tBodies[i] !== body) this.own.insertBefore(body, this.own.tBodies[i] ?? null);
      const [row] = body.rows;
      row.className = order.side;
      const part = order.open === order.shares ? "" : ` of ${sharesText(order.shares)}`;
      setTexts(row, [orderText(order), sharesText(order.open) + part, limits[i] ? grouped(limits[i], places) : "market"]);
    });
  }

  #orderRow(order) {
    const action = (text, act) => {
      const button = make("button", "", text);
      button.type = "button";
      button.setAttribute("aria-label", `${text} order ${order}`);
      button.addEventListener("click", act);
      return button;
    };
    const change = action("Change", () => this.#change(order, body));
    const cancel = action("Cancel", () => this.#ask({cancel: {order}}, cancel, `Order ${order} is canceled.`));
    const buttons = make("td", "actions", change, cancel);
    const body = make("tbody", "", make("tr", "", make("td"), make("td", "number"), make("td", "number"), buttons));
    this.#rows.set(order, body);
    return body;
  }

  // A line below the order, with its fields. A market order, which an auction collects, has no limit yet: with one it becomes
  // a limit order.
  #change(number, body) {
    const {side, shares, limit} = this.feed.account.orders.get(number);
    const input = (name, value) => {
      const field = make("input");
      Object.assign(field, {name, value: value === null ? "" : decimal(value), inputMode: "decimal", maxLength: 40, autocomplete: "off"});
      if (value === null) field.placeholder = "of a limit order";
      return make("label", "", `${name === "shares" ? "Shares in all" : "Limit"} `, field);
    };
    const close = () => {
      body.rows[1]?.remove();
      body.rows[0].querySelector("button").focus();
    };
    const back = make("button", "", "Leave");
    back.type = "button";
    back.addEventListener("click", close);
    const form = make("form", "", input("shares", shares), input("limit", limit), make("button", "main", "Change"), back);
    form.id = `change-${number}`;
    form.noValidate = true;
    form.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const {shares, limit} = form.elements;
      const replace = {order: number, side, shares: shares.value.trim(), limit: limit.value.trim()};
      if (await this.#ask({replace}, form.elements[2], `Order ${number} is changed.`, form) && body.isConnected) close();
    });
    body.rows[1]?.remove();
    body.append(make("tr", "change", make("td", "", form)));
    body.rows[1].cells[0].colSpan = 4;
    form.elements.shares.select();
  }

  // Whether it went well; else the page says why.
  async #ask(content, button, done, form = null) {
    const said = byId("own-said");
    if (this.feed.accountState !== "live") return say(said, "Not connected: nothing was sent.", true);
    const focused = document.activeElement === button;
    button.disabled = true;
    const response = await this.feed.requests.ask(content);
    button.disabled = false;
    if (focused) (button.isConnected ? button : this.own.parentElement).focus();
    if (response.status < 400) {
      say(said, typeof done === "string" ? done : done(response));
      return true;
    }
    if (form?.isConnected) complain(form, said, refusalOf(response));
    else say(said, refusalOf(response)[1], true);
    return false;
  }

  // 5. The chart: what it shows.
  get chartShown() {
    const fills = this.feed.account?.fills.filter(({symbol}) => symbol === this.#symbol) ?? [];
    return [this.candles.of(this.#width_s), this.#width_s, fills];
  }

  #showChartMissing() {
    const empty = byId("candles-empty");
    empty.hidden = available() && this.chartShown[0].length > 0;
    const none = this.feed.state === "live" && this.candles.isLoaded ? "No trade yet." : this.feed.book ? "Waiting for the trades …" : nothing;
    setText(empty.firstElementChild, available() ? none : "The chart needs Chart.js, which did not arrive.");
  }
}
