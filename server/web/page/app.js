// Wires the page: polls and feed in, panels out. The one place that knows what the state of the connection is.

import {Book} from "./book.js";
import {BatchChart, CandleChart, DepthChart, available, latencyChart, requestsChart, setDefaults, tradesChart} from "./charts.js";
import {byId, setText, setVariable} from "./dom.js";
import {Feed} from "./feed.js";
import {duration, figure, joined, span} from "./format.js";
import {isSymbol, readSignIn} from "./links.js";
import {Ladder, SymbolList, Tape, isTrading, linkTo, showQuote} from "./market.js";
import {History, parse, value} from "./metrics.js";
import {Tiles, showCommands, showFacts, showJournal, showOrders, showStages} from "./panels.js";
import {Poll} from "./poll.js";
import {Replay, isReplaying} from "./replay.js";
import {Trade} from "./trade.js";

const stale_s = 2.5;       // figures older than this are called old
const feed_drop_s = 5;     // without an answer for so long, the WebSocket is not trusted either
const market_ms_min = 80;  // between two drawings of the book
const chart_ms_min = 400;  // and of the chart beside it

const no_book = new Book(null);  // what there is to see where no symbol is shown

const now_s = () => performance.now() / 1000;

// 1. What is known.
const past = new History();
const tiles = new Tiles(byId("tiles"));
const ladder = new Ladder();
const tape = new Tape();
const symbols = new SymbolList({choose: (symbol) => { location.hash = linkTo(symbol); }});
let readyText = null;   // what /readyz says against being ready
let fault = null;       // why an answer of /metrics was no use
let freshAt_s = null;   // when the newest useful one came
let feedLostAt_s = null;
let symbolsLostAt_s = null;

// 2. Charts, if the library came.
let charts = null;
function drawCharts() {
  if (!available()) return;
  setDefaults();
  if (charts) {
    for (const chart of Object.values(charts)) chart.draw();
    return;
  }
  charts = {requests: requestsChart(byId("requests-chart")), trades: tradesChart(byId("trades-chart")), latency: latencyChart(byId("latency-chart")),
            depth: new DepthChart(byId("depth")), batches: new BatchChart(byId("batches")), candles: new CandleChart(byId("candles"))};
}

// 3. Figures, once a second.
function takeMetrics([text], response) {
  const series = response.ok ? parse(text) : null;
  if (series === null || value(series, "exchange_requests_total") === null) {
    fault = response.ok ? "the server's figures cannot be read" : `it answers ${response.status}: ${text.trim().slice(0, 120)}`;
    return showState();
  }
  fault = null;
  const wasAway = freshAt_s === null || now_s() - freshAt_s > stale_s;
  freshAt_s = now_s();
  if (past.add(freshAt_s, series) || wasAway) {
    feed.hurry();
    symbolsPoll.hurry();
    readyPoll.hurry();
  }
  showFigures();
  showState();
}

function showFigures() {
  const now = past.latest.time;
  tiles.show(past, now);
  showFacts(past, Date.now() / 1000);
  showStages(past);
  showCommands(past);
  showOrders(past);
  const counted = showJournal(past);
  const point = past.points.at(-1) ?? {};
  setText(byId("requests-now"), figure(point.requests ?? NaN));
  setText(byId("trades-now"), figure(point.trades ?? NaN));
  setText(byId("p50-now"), joined(duration(point.p50 ?? NaN)));
  setText(byId("p99-now"), joined(duration(point.p99 ?? NaN)));
  if (!charts) return;
  for (const chart of [charts.requests, charts.trades, charts.latency]) chart.show(past.points, now);
  if (counted) charts.batches.show(counted);
}

// 4. The market, as it moves.
// Beside the page, which a proxy may have put under another path.
function webSocketAddress() {
  const address = new URL("ws", location.href);
  address.protocol = address.protocol.replace("http", "ws");
  return address.href;
}

const feed = new Feed({
  url: webSocketAddress(),
  changed: () => {
    feedLostAt_s = feed.state === "live" ? null : feedLostAt_s ?? now_s();
    drawMarketSoon();
  },
  took: (message) => trade.took(message),
  ordered: () => trade.keepOrders(),
});
const trade = new Trade({feed, symbols});
const replay = new Replay({changed: () => drawMarketSoon()});

let marketDrawn_ms = 0, chartDrawn_ms = 0, drawing = null;
function drawMarketSoon(pause_ms = market_ms_min) {
  if (drawing !== null || document.hidden) return;
  drawing = setTimeout(() => requestAnimationFrame(() => {
    drawing = null;
    drawMarket();
  }), Math.max(0, marketDrawn_ms + pause_ms - performance.now()));
}

function drawMarket() {
  marketDrawn_ms = performance.now();
  const then = isReplaying(), {book} = then ? replay : feed;
  showEmpty(book);
  const waits = then ? replay.isWaiting : feed.state !== "live";
  for (const panel of ["book", "tape", "depth", "candles"]) document.querySelector(`.panel.${panel}`).classList.toggle("waiting", waits);
  ladder.show(book ?? no_book);
  tape.show((book ?? no_book).trades);
  symbols.follow(feed.state === "live" ? feed.book : null);
  if (then) showNav();
  else trade.show();
  const symbol = then ? replay.symbol : symbols.chosen;
  showQuote(symbol, book, then ? null : symbols.fact(symbol), ladder.priceDecimals);
  if (!book || !charts) return;
  const [chart, ...shown] = then ? [charts.candles, ...replay.chartShown] : isTrading() ? [charts.candles, ...trade.chartShown] : [charts.depth, book];
  if (chart.shown?.[0] !== shown[0] || marketDrawn_ms - chartDrawn_ms >= chart_ms_min) {
    chartDrawn_ms = marketDrawn_ms;
    chart.show(...shown);
  } else {
    drawMarketSoon(chart_ms_min);
  }
}

// What to do where there is nothing to see.
function showEmpty(book) {
  if (isReplaying()) {
    byId("book-empty").hidden = byId("tape-empty").hidden = true;
    return;
  }
  const {chosen} = symbols;
  const missing = feed.state === "unknown" || (chosen && symbols.all && !symbols.fact(chosen) && !book?.known);
  const empty = book?.known && !book.bids.length && !book.asks.length;
  let text = "", command = "";
  if (missing && !isSymbol(chosen)) text = "The address does not name a symbol, which is 1 to 32 letters and digits. Choose one.";
  else if (missing) [text, command] = [`There is no symbol ${chosen}. Choose another, or make it:`, `exchange-cli create symbol ${chosen} 1=500`];
  else if (symbols.all?.length === 0) text = "The order book of a symbol is shown here, once there is one.";
  else if (empty) text = `There are no bids or offers for ${chosen}. An order that finds no match rests here.`;
  const box = byId("book-empty");
  box.hidden = text === "";
  setText(box.firstElementChild, text);
  box.lastElementChild.hidden = command === "";
  setText(box.lastElementChild, command);
  document.querySelector(".panel.depth").classList.toggle("none", text !== "" || !book);
  const noTrade = !missing && book?.known && !book.trades.length;
  byId("tape-empty").hidden = !noTrade;
  setText(byId("tape-empty").firstChild, noTrade ? `No trade in ${chosen} since the server started.` : "");
}

function pageOfSymbols(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;  // as no answer
  }
}

function nextPageOfSymbols(text) {
  const next = pageOfSymbols(text)?.next;
  return typeof next === "string" ? `api/symbols?after=${encodeURIComponent(next)}` : null;
}

function takeSymbols(texts, response) {
  const pages = response.ok ? texts.map(pageOfSymbols) : [null];
  if (!pages.every((page) => Array.isArray(page?.symbols))) return loseSymbols();
  symbolsLostAt_s = null;
  symbols.all = pages.flatMap((page) => page.symbols).filter((one) => typeof one?.symbol === "string");
  if (symbols.chosen === null) choose(symbols.busiest());
  else if (feed.state === "unknown" && symbols.fact(symbols.chosen)) feed.hurry();
  symbols.show();
  drawMarketSoon();
}

function loseSymbols() { symbolsLostAt_s ??= now_s(); }

function choose(symbol) {
  if (symbol !== null && !isReplaying() && location.hash !== linkTo(symbol)) window.history.replaceState(null, "", linkTo(symbol));
  symbols.chosen = symbol;
  trade.select(symbol);
  feed.select(symbol);
  symbols.show();
  symbols.reveal();
  showNav();
}

function showNav() {
  const links = {dashboard: linkTo(symbols.chosen, false), trade: linkTo(symbols.chosen, true), replay: replay.link};
  for (const [view, link] of Object.entries(links)) {
    const element = byId(`to-${view}`);
    if (element.getAttribute("href") !== link) element.href = link;
    if (view === document.body.dataset.view) element.setAttribute("aria-current", "page");
    else element.removeAttribute("aria-current");
  }
}

// "#SPY", in the Trade view "#trade/SPY", in the Replay view "#replay/DAY/SPY@812". A link that signs in, "#sign-in=7:KEY",
// leaves no key in the address; the browser's history has it already, which no page can change.
function followAddress() {
  if (location.hash.startsWith("#sign-in")) {
    const link = readSignIn(location.hash);
    window.history.replaceState(null, "", "#trade/");
    trade.followLink(link);
  }
  const [, trading, name] = /^#(trade\/)?(.*)$/s.exec(location.hash || "#");
  const replaying = location.hash.startsWith("#replay");
  document.body.dataset.view = replaying ? "replay" : trading ? "trade" : "dashboard";
  replay.follow(replaying ? location.hash : null);
  if (replaying) return showNav();
  let symbol = null;
  try {
    symbol = decodeURIComponent(name) || null;
  } catch {
    // no symbol, then
  }
  choose(symbol ?? symbols.chosen ?? symbols.busiest());
}

// 5. How it stands with the server.
function connectionState() {
  if (document.hidden) return "paused";
  const age_s = freshAt_s === null ? Infinity : now_s() - freshAt_s;
  if (metricsPoll.failures > 0) return "away";
  if (freshAt_s === null && fault === null) return "connecting";
  if (age_s > stale_s) return "stale";
  if (value(past.latest.series, "exchange_store_available") === 0) return "store";
  if (value(past.latest.series, "exchange_active") === 0) return "standby";
  if (readyText !== null) return "unready";
  if (feedLostAt_s !== null && now_s() - feedLostAt_s > stale_s && symbols.chosen !== null && feed.state !== "unknown") return "feed";
  if (symbolsLostAt_s !== null && now_s() - symbolsLostAt_s > stale_s) return "symbols";
  return "live";
}

function showState() {
  const state = connectionState();
  const age = freshAt_s === null ? null : `${span(now_s() - freshAt_s)} ago`;
  const pause_s = Math.ceil((metricsPoll.next_s ?? 0) - now_s());
  const again = pause_s > 0 ? `Asking again in ${pause_s} s.` : "Asking again.";
  const old = age ? ` What is shown is from ${age}.` : "";
  const [shape, name, headline, text] = {
    live: ["live", "Live"],
    paused: ["paused", "Paused"],
    connecting: ["connecting", "Connecting"],
    stale: ["stale", "Stale", fault ? "The server answers, but not with figures." : "The server is slow to answer.", `${fault ? `${fault}.` : ""}${old}`],
    feed: ["stale", "No market data", "The order book does not arrive.", "The server answers otherwise; subscribing again."],
    symbols: ["stale", "Stale", "The list of symbols does not arrive.", "The server answers otherwise; asking again."],
    store: ["store", "Store unavailable", "The store is unavailable.", "Nothing is acknowledged until it is available again; nothing acknowledged before is lost. The server resumes by itself."],
    standby: ["stale", "Standby", "This server is a standby: another one is active.", "It shows the market as it follows, executes nothing, and takes over when the active server ends."],
    unready: ["store", "Not ready", "The server is not ready:", readyText ?? ""],
    away: ["away", "Disconnected", "The server does not answer.", `${again}${old}`],
  }[state];
  const pill = byId("state");
  if (pill.dataset.state !== shape) pill.dataset.state = shape;
  setText(pill.lastElementChild, name);
  document.body.classList.toggle("old", state === "away" || state === "stale");
  const notice = byId("notice");
  notice.hidden = !headline;
  notice.classList.toggle("bad", state === "away");
  setText(notice.firstElementChild, headline ?? "");
  setText(notice.lastElementChild, (text ?? "").trim());
}

const metricsPoll = new Poll({path: "metrics", every_s: 1, take: takeMetrics, failed: showState});
const symbolsPoll = new Poll({path: "api/symbols", every_s: 2, take: takeSymbols, failed: loseSymbols, next: nextPageOfSymbols});
const readyPoll = new Poll({path: "readyz", every_s: 2, take: ([text], response) => {
  readyText = response.ok ? null : text.trim().slice(0, 200) || `status ${response.status}`;
  showState();
}});
const polls = [metricsPoll, symbolsPoll, readyPoll];

// 6. No requests and no drawing while the page is hidden.
function followVisibility() {
  if (document.hidden) {
    polls.forEach((poll) => poll.stop());
    if (!feed.account) feed.stop();  // else executions go on to arrive
  } else {
    polls.forEach((poll) => poll.start());
    feed.start();
  }
  showState();
}

function refit() {
  ladder.fit();
  tape.fit();
  drawMarketSoon();
}

addEventListener("hashchange", () => {
  followAddress();
  refit();
});
addEventListener("online", () => polls.forEach((poll) => poll.hurry()));
document.addEventListener("visibilitychange", followVisibility);
addEventListener("pagehide", () => trade.leave());
document.addEventListener("themechange", drawCharts);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();  // the hash is the symbol's
  byId("main").focus();
});
const top = document.querySelector(".top");
new ResizeObserver(() => setVariable(document.documentElement, "--top-height", `${top.offsetHeight}px`)).observe(top);
const sizes = new ResizeObserver(refit);
for (const space of [byId("ladder-space"), byId("tape-space")]) sizes.observe(space);
let width = innerWidth;
addEventListener("resize", () => {
  if (width === innerWidth) return;
  width = innerWidth;
  drawCharts();  // fonts follow the size of the page
});
setInterval(() => {
  if (document.hidden) return;
  if (metricsPoll.failures > 0 && freshAt_s !== null && now_s() - freshAt_s > feed_drop_s) feed.drop();
  showState();
}, 500);

drawCharts();
followAddress();
trade.start();
followVisibility();
