// The Replay view: any moment of a closed day, and the day as it goes on from there. Its book, trades and chart are drawn
// by those of the live view.

import {available} from "./charts.js";
import {decimalsOf, grouped} from "./decimal.js";
import {byId, listRows, make, makeSvg, setText} from "./dom.js";
import {basic, clock, counted, nothing, whole} from "./format.js";
import {isTyping} from "./market.js";
import {Moments, holdings, readLink, timeOf} from "./moments.js";
import {orderText, say, sharesText, showCash} from "./ticket.js";

const changes_a_page = 1000;
const ahead_min = 300;       // changes: then the next page is asked for
const ahead_s = 5;           // or seconds of the reader
const frame_s_max = 0.25;    // a hidden page does not jump ahead
const link_ms = 1000;        // between two links in the address while it plays
const again_ms = 1000;       // after the server said that it is not so far yet
const slow_ms = 400;         // then the page says that it waits
const rows_shown_max = 50;

export const isReplaying = () => document.body.dataset.view === "replay";

const tradingText = (trading) => (trading === "open" ? "" : trading === "volatility" ? "volatility auction, " : `${trading}, `);
const exactClock = (time_us) => `${clock(time_us)}.${String(Math.floor(time_us / 1000) % 1000).padStart(3, "0")}`;

export class Replay {
  #link = null;        // what the address asked for last
  #days = null;
  #summary = null;     // of the day and symbol
  #asking = null;      // AbortController of a seek
  #more = null;        // a promise: the next page is under way
  #playing = false;
  #now_us = 0;
  #frame_ms = 0;
  #linked_ms = 0;
  #login = null;       // {account, key, header} of the account that is shown

  // changed() is called when there is something to draw.
  constructor({changed}) {
    Object.assign(this, {changed, moments: null, form: byId("replay"), slider: byId("moment"), said: byId("replay-said"), accountForm: byId("then")});
    const {day, symbol, mark} = this.form.elements;
    this.form.addEventListener("submit", (event) => event.preventDefault());
    day.addEventListener("change", () => this.#go({day: day.value}));
    symbol.addEventListener("change", () => this.#go({day: day.value, symbol: symbol.value, time_us: this.#now_us}));
    mark.addEventListener("change", () => {
      this.#seek({position: Number(mark.value)});
      mark.value = "";
    });
    byId("play").addEventListener("click", () => this.#play(!this.#playing));
    byId("next-trade").addEventListener("click", () => this.#nextTrade());
    byId("copy-link").addEventListener("click", () => this.#copyLink());
    this.slider.addEventListener("input", () => this.#slide());
    this.accountForm.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#follow();
    });
    document.addEventListener("keydown", (event) => this.#key(event));
    document.addEventListener("visibilitychange", () => { if (!document.hidden) this.#tick(); });
  }

  get book() { return this.moments?.book ?? null; }
  get link() { return this.#link ?? "#replay/"; }
  get symbol() { return this.#summary?.symbol ?? null; }
  get isWaiting() { return this.#asking !== null; }
  get chartShown() {
    const width_s = Number(document.querySelector("#widths input:checked").value);
    return [this.moments.candles.of(width_s), width_s, this.moments.fills.filter(({symbol}) => symbol === this.symbol)];
  }

  // What the address says; null: another view is shown.
  follow(hash) {
    if (hash === null) return this.#play(false);
    if (hash === this.#link) return this.moments ? this.#show() : undefined;
    this.#link = hash;
    this.#go(readLink(hash));
  }

  // 1. The day, its symbols, and what the slider shows.
  async #go({day, symbol, ...place}) {
    this.#play(false);
    this.#wait();
    const days = await this.#ask("api/days");
    if (!days) return;
    this.#days = days.days;
    const playable = this.#days.filter(({whole, first_time_us}) => whole && first_time_us !== null);
    const newest = playable.reduce((best, one) => (best && best.last_time_us >= one.last_time_us ? best : one), null);
    const chosen = day ?? newest?.day;
    this.#showDays(chosen);
    if (!chosen) return this.#refuse("There is no closed day to replay yet: exchange-cli admin new-day closes one, and --keep-journal keeps its journal.");
    const of_day = await this.#ask(`api/days/${encodeURIComponent(chosen)}`);
    if (!of_day) return;
    const busiest = of_day.symbols.reduce((best, one) => (best && best.trades >= one.trades ? best : one), null);
    const named = symbol ?? busiest?.symbol;
    if (!named) return this.#refuse("No symbol was created on this day.");
    const summary = await this.#ask(`api/days/${encodeURIComponent(chosen)}?sym=${encodeURIComponent(named)}`);
    if (!summary) return;
    this.#summary = summary;
    this.#showSummary();
    const {first_time_us} = summary;
    this.#seek(place.clock ? {time_us: timeOf(place.clock, first_time_us)} : place);
  }

  #showDays(chosen) {
    const {day} = this.form.elements;
    const options = this.#days.map(({day, whole, problem}) => {
      const option = new Option(whole ? day : `${day} (not whole)`, day, false, day === chosen);
      option.disabled = !whole;
      option.title = problem ?? "";
      return option;
    });
    day.replaceChildren(...options);
    day.disabled = options.length === 0;
  }

  #showSummary() {
    const {day, symbol: name, symbols, marks, bins, trades_of_bin, first_time_us, last_time_us} = this.#summary;
    const {symbol, mark} = this.form.elements;
    this.form.elements.day.value = day;
    symbol.replaceChildren(...symbols.map(({symbol}) => new Option(symbol, symbol, false, symbol === name)));
    mark.replaceChildren(new Option("auction, halt …", ""), ...marks.map(({position, time_us, trading}) => new Option(`${clock(time_us)} ${trading}`, position)));
    mark.disabled = marks.length === 0;
    const length_us = Math.max(1, last_time_us - first_time_us);
    Object.assign(this.slider, {min: 0, max: length_us, step: Math.max(1, Math.ceil(length_us / 1000))});
    const at = (time_us) => bins * (time_us - first_time_us) / length_us;
    const most = Math.max(1, ...trades_of_bin);
    const spans = marks.map(({time_us, trading}, i) => makeSvg("rect", {class: trading, x: at(time_us), width: Math.max(0.4, at(marks[i + 1]?.time_us ?? last_time_us) - at(time_us)), y: 0, height: 40}));
    const bars = trades_of_bin.map((count, i) => [count, i]).filter(([count]) => count)
        .map(([count, i]) => makeSvg("rect", {class: "bar", x: i + 0.1, width: 0.8, y: 38 - 36 * count / most, height: 2 + 36 * count / most}));
    byId("day-trades").replaceChildren(...spans, ...bars);
    setText(byId("day-begin"), clock(first_time_us));
    setText(byId("day-end"), clock(last_time_us));
    const all = symbols.find(({symbol}) => symbol === name)?.trades ?? 0;
    setText(byId("day-about"), counted(all, "trade"));
  }

  // 2. Moments.
  // The JSON of the answer; undefined where there is none: then another question was asked, or the page says why. A server
  // that is not so far yet is asked again.
  async #ask(path, asking = this.#asking) {
    const slow = setTimeout(() => { if (this.#asking === asking) say(this.said, "The server replays the day up to there …"); }, slow_ms);
    try {
      while (true) {
        const response = await fetch(path, {signal: asking.signal, cache: "no-store", headers: path.includes("&account=") ? this.#login.header : {}});
        const answer = await response.json();
        if (this.#asking !== asking) return undefined;
        if (response.ok) return answer;
        if (response.status !== 503) return this.#refuse(`${answer.error[0].toUpperCase()}${answer.error.slice(1)}.`, answer.code);
        say(this.said, `${answer.error[0].toUpperCase()}${answer.error.slice(1)}.`);
        await new Promise((resolve) => setTimeout(resolve, again_ms));
      }
    } catch (error) {
      if (error.name !== "AbortError" && this.#asking === asking) this.#refuse("The server does not answer.");
      return undefined;
    } finally {
      clearTimeout(slow);
    }
  }

  #wait() {
    this.#asking?.abort();
    this.#asking = new AbortController();
    this.#showChartMissing();
    this.changed();
  }

  #refuse(sentence) {
    this.#asking = null;
    this.#play(false);
    say(this.said, sentence, true);
    this.#showChartMissing();
    this.changed();
  }

  #path(place) {
    const {day, symbol} = this.#summary;
    const account = this.#login ? `&account=${encodeURIComponent(this.#login.account)}` : "";
    return `api/moments?day=${encodeURIComponent(day)}&sym=${encodeURIComponent(symbol)}&${place}&limit=${changes_a_page}${account}`;
  }

  // To a position, or a time; else to the begin.
  async #seek({position, time_us}) {
    this.#wait();
    const asking = this.#asking;
    const page = await this.#ask(this.#path(time_us === undefined ? `from=${position ?? 0}` : `at=${Math.round(time_us)}`));
    if (!page || this.#asking !== asking) return false;
    this.#asking = null;
    this.#more = null;
    this.moments = new Moments(page);
    this.#now_us = time_us === undefined ? page.state.time_us : Math.max(time_us, page.state.time_us);
    say(this.said, "");
    this.#setLink();
    this.#show();
    return true;
  }

  #askForMore() {
    if (!this.moments.isEnd) this.#more ??= this.#fetchMore(this.moments);
    return this.#more;
  }

  async #fetchMore(moments) {
    try {
      const response = await fetch(this.#path(`from=${moments.until}`), {cache: "no-store", headers: this.#login?.header ?? {}});
      const page = response.ok ? await response.json() : null;
      if (page && this.moments === moments) moments.add(page);
      if (!page) await new Promise((resolve) => setTimeout(resolve, again_ms));
    } catch {
      await new Promise((resolve) => setTimeout(resolve, again_ms));
    }
    if (this.moments === moments) this.#more = null;
  }

  #slide() {
    this.#now_us = this.#summary.first_time_us + Number(this.slider.value);
    this.#showTime();
    this.#seek({time_us: this.#now_us});
  }

  // 3. Playing.
  #play(playing) {
    playing = playing && this.moments !== null;
    if (playing && this.moments.isEnd && this.moments.ahead === 0) return void this.#seek({}).then((found) => { if (found) this.#play(true); });
    const began = playing && !this.#playing;
    this.#playing = playing;
    setText(byId("play"), playing ? "❚❚ Pause" : "▶ Play");
    if (began) {
      this.#frame_ms = performance.now();
      this.#tick();
    } else if (!playing && this.moments && isReplaying()) {
      this.#setLink();
    }
  }

  #tick() {
    if (!this.#playing || document.hidden) return;
    const now_ms = performance.now();
    const speed = Number(this.form.elements.speed.value);
    if (!this.#asking) this.#goOn(Math.min(frame_s_max, (now_ms - this.#frame_ms) / 1000), speed);
    this.#frame_ms = now_ms;
    requestAnimationFrame(() => this.#tick());
  }

  #goOn(seconds, speed) {
    const {moments} = this;
    const before = moments.position;
    this.#now_us = Math.max(this.#now_us, moments.playTo(this.#now_us + seconds * speed * 1e6));
    if (moments.isLost) return void this.#seek({position: moments.position});
    if (moments.ahead < ahead_min || moments.until_us - this.#now_us < ahead_s * speed * 1e6) this.#askForMore();
    if (moments.position !== before) this.#show();
    else this.#showTime();
    if (performance.now() - this.#linked_ms > link_ms) this.#setLink();
    if (moments.isEnd && moments.ahead === 0) this.#play(false);
  }

  async #nextTrade() {
    const {moments} = this;
    if (!moments || this.#asking) return;
    this.#play(false);
    byId("next-trade").disabled = true;
    let found = moments.playToTrade();
    while (!found && !moments.isEnd && this.moments === moments) {
      await this.#askForMore();
      found = moments.playToTrade();
    }
    byId("next-trade").disabled = false;
    if (this.moments !== moments) return;
    this.#now_us = moments.time_us;
    say(this.said, found ? "" : "No trade follows on this day.");
    this.#setLink();
    this.#show();
  }

  #key(event) {
    const {target, key} = event;
    if (!isReplaying() || event.ctrlKey || event.metaKey || event.altKey || (isTyping(target) && target !== this.slider)) return;
    if (key === " " && !["BUTTON", "A", "SUMMARY"].includes(target.tagName)) this.#play(!this.#playing);
    else if (key === "n") this.#nextTrade();
    else return;
    event.preventDefault();
  }

  // 4. The link to the moment.
  #setLink() {
    this.#linked_ms = performance.now();
    if (!isReplaying()) return;
    const {day, symbol} = this.#summary;
    this.#link = `#replay/${day}/${encodeURIComponent(symbol)}@${this.moments.position}`;
    if (location.hash !== this.#link) window.history.replaceState(null, "", this.#link);
  }

  async #copyLink() {
    if (!this.moments) return;
    this.#setLink();
    try {
      await navigator.clipboard.writeText(location.href);
      say(this.said, "The link to this moment is copied.");
    } catch {  // browsers allow it on pages over TLS only
      say(this.said, "Copy the link from the address of this page: it leads to this moment.");
    }
  }

  // 5. The account.
  async #follow() {
    const {account, key} = this.accountForm.elements;
    const id = account.value.trim();
    const as = (header) => ({account: id, header});
    const own = {Authorization: `Basic ${basic(id, key.value)}`}, operators = {Authorization: `Bearer ${key.value}`};
    const said = byId("then-said");
    this.#login = id ? as(key.value ? own : {}) : null;
    say(said, "");
    if (!this.moments) return;
    const {position} = this.moments;
    const found = await this.#seek({position}) || (id && key.value && (this.#login = as(operators), await this.#seek({position})));
    if (found) return;
    this.#login = null;
    say(said, this.said.textContent, true);
    this.#seek({position});
  }

  #showAccount() {
    const {account, news} = this.moments;
    byId("then-of").hidden = !account;
    byId("then-orders").hidden = byId("then-news").hidden = true;
    setText(byId("then-none"), !this.#login ? "An account, and its key of that day or the operator's." : account ? "" : "This account does not exist yet.");
    if (!account) return;
    const [cash, reserved, shares, reservedShares] = holdings(account, this.symbol);
    setText(byId("then-who"), this.#login.account);
    showCash(byId("then-cash"), cash);
    showCash(byId("then-cash-reserved"), reserved, "reserved: ");
    setText(byId("then-symbol"), this.symbol);
    setText(byId("then-shares"), sharesText(shares));
    setText(byId("then-shares-reserved"), `reserved: ${sharesText(reservedShares)}`);
    const orders = [...account.orders.values()].reverse().slice(0, rows_shown_max);
    const places = decimalsOf(orders.map(({limit}) => limit));
    byId("then-orders").hidden = orders.length === 0;
    setText(byId("then-open"), account.open_orders ? counted(account.open_orders, "open order") : "No open orders.");
    listRows(byId("then-orders"), ["", "number", "number"], orders, (order, tr) => {
      tr.className = order.side;
      return [orderText(order), grouped(order.open), order.limit === null ? "market" : grouped(order.limit, places)];
    });
    byId("then-news").hidden = news.length === 0;
    listRows(byId("then-news"), ["", "", "number", ""], news.slice(0, rows_shown_max), (one, tr) => {
      tr.className = one.side;
      return [clock(one.time_us), orderText(one), grouped(one.shares), `${one.what}${one.price ? ` at ${grouped(one.price)}` : ""}`];
    });
  }

  #showTime() {
    const {first_time_us, commands} = this.#summary;
    if (document.activeElement !== this.slider || this.#playing) this.slider.value = this.#now_us - first_time_us;
    this.slider.setAttribute("aria-valuetext", exactClock(this.#now_us));
    setText(byId("moment-time"), exactClock(this.#now_us));
    setText(byId("moment-about"), this.moments ? `${tradingText(this.book.trading)}command ${whole(this.moments.position)} of ${whole(commands)}` : nothing);
  }

  #show() {
    this.#showTime();
    this.#showAccount();
    this.#showChartMissing();
    this.changed();
  }

  #showChartMissing() {
    const empty = byId("candles-empty");
    empty.hidden = available() && this.moments !== null && this.chartShown[0].length > 0;
    const none = this.moments ? "No trade before this moment." : nothing;
    setText(empty.firstElementChild, available() ? none : "The chart needs Chart.js, which did not arrive.");
  }
}
