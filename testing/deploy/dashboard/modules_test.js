// Tests of the page's pure modules. Run inside a browser by test_page.py: run() returns [{name, failure}].

import {Account, TradingProfit, curve} from "/account.js";
import {Book, cumulated, spread} from "/book.js";
import {cashDecimal as money, cashUnits, decimal, decimals, grouped, units} from "/decimal.js";
import {bytes, clock, counted, dayAndClock, duration, figure, mark, nothing, span} from "/format.js";
import {History, commandRows, difference, histogram, kept_s, labelled, mean, orderRows, parse, quantile, rate, stageRows, value} from "/metrics.js";
import {batchShares} from "/charts.js";
import {Candles} from "/candles.js";
import {isSymbol, readSignIn} from "/links.js";
import {Moments, holdings, readLink, timeOf} from "/moments.js";
import {Requests, refusalOf} from "/requests.js";
import {keysOf, pageStarts, placesOf, placesOn, rounded, rowsIn, signed} from "/standings.js";

const printed = (thing) => JSON.stringify(thing, (key, item) => (typeof item === "bigint" ? `${item}n` : Number.isNaN(item) ? "NaN" : item === Infinity ? "Infinity" : item));

function equal(got, wanted) {
  if (printed(got) !== printed(wanted)) throw new Error(`got ${printed(got)}, wanted ${printed(wanted)}`);
}

function near(got, wanted) {
  if (!(Math.abs(got - wanted) <= 1e-9 * Math.abs(wanted))) throw new Error(`got ${got}, wanted about ${wanted}`);
}

const bucketText = (name, labels, counts) => {
  const lines = Object.entries(counts).map(([le, count]) => `${name}_bucket{${labels}le="${le}"} ${count}`);
  return lines.join("\n") + `\n${name}_sum{${labels.slice(0, -1)}} 1.5\n`;
};

const snapshot = (sequence, bids, asks, trades = []) => ({type: "snapshot", symbol: "SPY", sequence, bids, asks, trades});
const update = (sequence, bids, asks, trades = []) => ({type: "update", symbol: "SPY", sequence, bids, asks, trades});
const trade = (id, price = "10") => ({id, price, shares: "1", taker: "buy", time_us: 1});
const shown = (side) => side.map((level) => `${level.priceText}x${level.sharesText}/${level.orders}`).join(" ");

const accountSnapshot = (number, more = {}) => ({type: "account", number, account: "1", balance: "1000", positions: [{symbol: "SPY", shares: "5", reserved: "2"}], open_orders: 2,
  orders: [{order: 3, symbol: "SPY", side: "buy", shares: "4", limit: "9.5", open: "4"}, {order: 4, symbol: "SPY", side: "sell", shares: "2", limit: "11", open: "2"}], ...more});
const events = (...list) => ({type: "events", account: "1", events: list});
const executed = (number, more) => ({number, event: "executed", order: 3, symbol: "SPY", side: "buy", role: "maker", ...more});

// A page of /api/moments: from a bid of 4 at 10, of which account 1 has all, behind command 5.
const moment = (changes, until, end = false) => ({symbol: "SPY", changes, until, until_us: until * 1000, end, state: {position: 5, time_us: 5000,
  bids: [["10", "4", 1]], asks: [], trades: [trade(1)], account: {account: "1", balance: "60", reserved: "40", open_orders: 1,
    positions: [{symbol: "SPY", shares: "2", reserved: "0"}], orders: [{order: 3, symbol: "SPY", side: "buy", shares: "4", limit: "10", open: "4"}]}}});
const bidsChange = (position, shares, more = {}) => ({position, time_us: position * 1000, bids: [["10", shares, shares === "0" ? 0 : 1]], asks: [], trades: [], ...more});
const ownChange = (open, canceled, balance, reserved) => ({account: {balance, reserved, open_orders: open === "0" ? 0 : 1,
  positions: [{symbol: "SPY", shares: "3", reserved: "0"}], orders: [{order: 3, symbol: "SPY", side: "buy", shares: "4", limit: "10", open, canceled}]}});
const bought = {...trade(2), buy_order: 3, sell_order: 9};

const tests = {
  "a closed day goes on from a moment with the changes after it, as far as they are known"() {
    const moments = new Moments(moment([bidsChange(7, "3", {trades: [bought], ...ownChange("3", "0", "60", "30")}), bidsChange(9, "0", {trading: "halted", ...ownChange("0", "3", "90", "0")})], 20));
    const at = () => [moments.position, shown(moments.book.bids), moments.book.trading, moments.book.trades.length, moments.ahead];
    equal(at(), [5, "10x4/1", "open", 1, 2]);
    equal([moments.playTo(6999), ...at()], [6999, 5, "10x4/1", "open", 1, 2]);
    equal([moments.playTo(8000), ...at()], [8000, 7, "10x3/1", "open", 2, 1]);
    equal(holdings(moments.account, "SPY").slice(2).map(decimal), ["3", "0"]);
    equal([moments.fills.map(({shares, price}) => [shares, price]), [...moments.account.orders.values()].map(({open}) => open)], [[["1", "10"]], ["3"]]);
    equal([moments.playTo(99000), ...at()], [20000, 20, "", "halted", 2, 0]);  // no further than is known
    equal([moments.news.map(({what, shares}) => [what, shares]), moments.account.orders.size], [[["canceled", "3"], ["executed", "1"]], 0]);
    moments.add({...moment([bidsChange(21, "2")], 30, true), state: {position: 19}});  // not the page that follows
    equal(moments.until, 20);
    moments.add({...moment([bidsChange(21, "2")], 30, true), state: {position: 20}});
    equal([moments.playTo(99000), ...at()], [30000, 30, "10x2/1", "open", 2, 0]);
  },
  "a step goes on behind the next trade, over changes without one"() {
    const moments = new Moments(moment([bidsChange(6, "5"), bidsChange(7, "4", {trades: [{...trade(2), buy_order: 8, sell_order: 9}]}), bidsChange(8, "3")], 20));
    equal([moments.playToTrade(), moments.position, moments.time_us, shown(moments.book.bids)], [true, 7, 7000, "10x4/1"]);
    equal([moments.playToTrade(), moments.position, shown(moments.book.bids)], [false, 20, "10x3/1"]);
    equal(moments.fills, []);
  },
  "a link leads to a day, a symbol, and a position or a time of day"() {
    equal(readLink("#replay/monday/SPY@815"), {day: "monday", symbol: "SPY", position: 815});
    equal(readLink("#replay/2026-11-26/SPY@9:05"), {day: "2026-11-26", symbol: "SPY", clock: "9:05"});
    equal(readLink("#replay/monday"), {day: "monday", symbol: null});
    equal([readLink("#replay/"), readLink("#replay"), readLink("#replay/x/Y@z")], [{day: null, symbol: null}, {day: null, symbol: null}, {day: "x", symbol: "Y"}]);
    const begin = new Date(2026, 10, 26, 22, 30, 15).getTime() * 1000;
    equal(timeOf("22:30:20", begin) - begin, 5e6);
    equal(timeOf("01:00", begin) - begin, (2 * 3600 + 29 * 60 + 45) * 1e6);  // the day went on behind midnight
  },
  "an account is what its snapshot says, and then what each event leaves"() {
    const account = new Account("1", "secret");
    equal(account.subscription, {account: "1", key: "secret"});
    equal(account.take(accountSnapshot(8)), "taken");
    equal([money(account.balance), money(account.reserved), decimal(account.shares("SPY")), decimal(account.reservedShares("SPY"))], ["1000", "38", "7", "2"]);
    equal(account.take(events(executed(9, {shares: "1.5", price: "9.5", open: "2.5", balance: "1000", position: "6.5"}),
                              {number: 10, event: "opened", order: 7, ref: "mine", symbol: "IBM", side: "buy", shares: "1", limit: "0.00000001", open: "1", balance: "999.9999999999999999", position: "0"},
                              {number: 11, event: "replaced", order: 4, symbol: "SPY", side: "sell", shares: "3", limit: "12", open: "3", balance: "999.9999999999999999", position: "5.5"},
                              {number: 12, event: "canceled", order: 3, symbol: "SPY", side: "buy", shares: "2.5", limit: "9.5", open: "0", reason: "client", balance: "1023.7499999999999999", position: "5.5"})), "taken");
    equal([...account.orders.values()].map(({order, ref, shares, limit, open}) => [order, ref ?? null, decimal(shares), decimal(limit), decimal(open)]),
          [[4, null, "3", "12", "3"], [7, "mine", "1", "0.00000001", "1"]]);
    equal([money(account.balance), money(account.reserved), account.fills.map(({number}) => number), account.subscription.from], ["1023.7499999999999999", "0.00000001", [9], 13]);
  },
  "what a market buy reserves in an auction is known from the balance, or from the whole of a snapshot"() {
    const opened = {number: 9, event: "opened", order: 7, symbol: "SPY", side: "buy", shares: "2", limit: null, open: "2", balance: "960", position: "5"};
    const account = new Account("1", "");
    account.take(accountSnapshot(8));
    account.take(events(opened));
    equal(money(account.reserved), "78");
    account.take(events({number: 10, event: "executed", order: 7, symbol: "SPY", side: "buy", role: "taker", shares: "1", price: "12", open: "1", balance: "968", position: "6"}));
    equal(money(account.reserved), "58");
    account.take(events({number: 11, event: "canceled", order: 7, symbol: "SPY", side: "buy", shares: "1", limit: null, open: "0", reason: "immediate", balance: "988", position: "6"}));
    equal(money(account.reserved), "38");
    const {orders} = accountSnapshot(0);
    account.take(accountSnapshot(12, {reserved: "58", orders: [...orders, {order: 8, symbol: "SPY", side: "buy", shares: "1", limit: null, open: "1"}]}));
    equal(money(account.reserved), "58");
  },
  "events that an account has had are passed over, and none is skipped"() {
    const account = new Account("1", "");
    account.take(accountSnapshot(8));
    const [nine, ten] = [9, 10].map((number) => executed(number, {shares: "1", price: "9.5", open: String(12 - number), balance: "1000", position: "6"}));
    equal([account.take(events(nine)), account.take(events(nine, ten)), account.number, account.fills.length], ["taken", "taken", 10, 2]);
    equal([account.take(events({...ten, number: 12})), account.number, account.subscription], ["drop", 10, {account: "1", from: 11}]);
    equal([account.take({type: "subscribed", from: 11, newest: 11}), account.isCurrent], ["taken", false]);
    equal([account.take(events({...ten, number: 11})), account.number, account.isCurrent], ["taken", 11, true]);
  },
  "an account of another store begins anew, and a refusal is kept for the reader"() {
    const account = new Account("1", "");
    account.take(accountSnapshot(8));
    equal([account.take({type: "error", code: "unknown_event"}), account.known, account.subscription], ["resubscribe", false, {account: "1"}]);
    equal(account.take({type: "error", code: "service_unavailable"}), "drop");
    equal([account.take({type: "error", code: "unknown_account"}), account.refusal.code], ["refused", "unknown_account"]);
  },
  "a store in the place of the one that an account is of is noticed by its events, however many it has"() {
    const opened = (number, batch) => ({number, event: "opened", order: number, symbol: "SPY", side: "buy", shares: "1", limit: "1", open: "1", balance: "1", position: "0", batch, time_us: batch * 10});
    const signedIn = (...list) => {
      const account = new Account("1", "");
      account.take(accountSnapshot(8, {batch: 100}));
      if (list.length) account.take(events(...list));
      return account;
    };
    const again = (account) => new Account("1", "", JSON.parse(JSON.stringify(account.keep())));
    const taken = (account, ...list) => [account.take(events(...list)), account.number];
    equal([signedIn().subscription.from, signedIn(opened(9, 101)).subscription.from, again(signedIn(opened(9, 101))).subscription.from], [8, 9, 8]);
    equal(taken(signedIn(), opened(8, 100), opened(9, 101)), ["taken", 9]);
    equal(taken(signedIn(opened(9, 101)), opened(9, 101), opened(10, 101)), ["taken", 10]);
    equal(taken(again(signedIn(opened(9, 101))), opened(8, 90), opened(9, 101), opened(10, 102)), ["taken", 10]);
    const another = ["resubscribe", null];
    equal(taken(signedIn(), opened(8, 101)), another);
    equal(taken(signedIn(), opened(8, 90), opened(9, 95)), another);
    equal(taken(signedIn(opened(9, 101)), opened(9, 102)), another);
    equal(taken(signedIn(opened(9, 101)), {...opened(9, 101), time_us: 7}), another);
    equal(taken(again(signedIn(opened(9, 101))), opened(8, 90), opened(9, 120)), another);
  },
  "the rules of an account are those of the newest message that has them"() {
    const account = new Account("1", "");
    account.take(accountSnapshot(8, {access: "frozen", orders_max: 7}));
    equal([account.isFrozen, account.rules], [true, {access: "frozen", orders_max: 7}]);
    account.take(events(executed(9, {shares: "4", price: "9.5", open: "0", balance: "1000", position: "9"})));
    equal([account.isFrozen, account.number], [true, 9]);
    equal([account.take({type: "rules", account: "1", position_max: "5"}), account.rules, account.number], ["taken", {position_max: "5"}, 9]);
    account.take({type: "subscribed", from: 10, newest: 9, access: "frozen"});
    equal(account.rules, {access: "frozen"});
    equal([account.take({type: "error", code: "key_changed"}), account.refusal.code], ["refused", "key_changed"]);
  },
  "profit is what trades brought and left, at the last prices, and what was given does not count"() {
    const account = new Account("1", "");
    const profit = () => money(account.trading.profit);
    account.take(accountSnapshot(8));
    account.trading.notePrice("SPY", units("10"), 1);
    equal([profit(), account.trading.points], ["0", []]);  // the shares that it had gain nothing
    account.take(events(executed(9, {shares: "4", price: "9.5", open: "0", balance: "1000", position: "9", time_us: 2e6})));
    equal(profit(), "0");
    account.trading.notePrice("SPY", units("10.00000001"), 3e6);
    equal(profit(), "2.00000004");  // 4 shares for 9.5
    account.take(events({number: 10, event: "shares_received", symbol: "SPY", side: "buy", shares: "100", balance: "1000", position: "109"},
                        {number: 11, event: "cash_received", balance: "5000"}));
    equal(profit(), "2.00000004");
    account.take(events(executed(12, {order: 4, side: "sell", shares: "6", price: "11", open: "0", balance: "5066", position: "103", time_us: 4e6})));
    equal(profit(), "6");  // bought for 38, sold for 66, and 2 less than before at 11
    account.trading.notePrice("SPY", units("12"), 3.5e6);  // older than the execution
    equal([profit(), account.trading.points.map((point) => [point.time_us, money(point.profit)])], ["6", [[2e6, "0"], [3e6, "2.00000004"], [4e6, "6"]]]);
  },
  "fills from before the sign-in count once, whether they come before their events or behind them"() {
    const fill = (execution, side, shares, price) => ({execution, order: 3, symbol: "SPY", side, shares, price, time_us: execution * 1e6});
    const event = (number, fill) => executed(number, {...fill, open: "1", balance: "1000", position: "9"});
    const [old, first, second, third] = [fill(4, "buy", "10", "9"), fill(5, "buy", "1", "10"), fill(7, "sell", "2", "12"), fill(8, "sell", "1", "11")];
    const account = new Account("1", "");
    account.take(accountSnapshot(8));
    account.take(events(event(9, first)));
    account.takePast([second, first, old], 7);  // the event of `second` is on its way
    const shown = () => [money(account.trading.profit), account.fills.map(({execution}) => execution), account.earlier.map(({execution}) => execution)];
    equal(shown(), ["32", [5, 7, 4], [7, 4]]);  // 24 − 10 − 90, and 9 at 12
    account.take(events(event(10, second), event(11, third)));
    equal(shown(), ["23", [8, 7, 5, 4], [4]]);  // 35 − 100, and 8 at 11
    equal(account.trading.points.map(({time_us}) => time_us / 1e6), [4, 5, 7, 8]);
    account.take({type: "error", code: "unknown_event"});  // another store
    equal([account.past, account.trading.points], [[], []]);
  },
  "an execution of two orders of one account is no profit"() {
    const trading = new TradingProfit();
    for (const side of ["buy", "sell"]) trading.take({execution: 1, symbol: "SPY", side, shares: "3", price: "7", time_us: 1});
    trading.notePrice("SPY", units("9"), 2);
    equal([money(trading.profit), trading.points.length], ["0", 2]);
  },
  "the points of a profit stay few, however long it goes on, and the newest is there"() {
    const trading = new TradingProfit();
    trading.take({symbol: "SPY", side: "buy", shares: "1", price: "1", time_us: 0});
    for (let i = 1; i <= 5000; ++i) trading.notePrice("SPY", BigInt(i + 1) * units("1"), i * 300_000);
    equal([trading.points.length <= 601, trading.points[0].time_us, trading.points.at(-1).time_us, money(trading.points.at(-1).profit)], [true, 0, 5000 * 300_000, "5000"]);
    trading.take({symbol: "SPY", side: "sell", shares: "1", price: "2", time_us: 5});  // a clock that was set back
    equal(trading.points.at(-1).time_us, 5000 * 300_000);
  },
  "a curve shows zero, its highest and its lowest"() {
    const at = (...profits) => curve(profits.map((profit, i) => ({time_us: i * 10, profit: BigInt(profit)})), 100, 32);
    equal(at(0, 50, -25), {corners: [[0, 21], [50, 1], [100, 31]], zero: 21});
    equal(at(10, 20), {corners: [[0, 16], [100, 1]], zero: 31});
    equal([at(), at(0)], [{corners: [], zero: 16}, {corners: [[0, 16]], zero: 16}]);
  },
  "an account goes on from what the tab kept, with the same events again"() {
    const first = new Account("1", "");
    first.take(accountSnapshot(8));
    const fill = executed(9, {shares: "4", price: "9.5", open: "0", balance: "1000", position: "9", time_us: 1});
    first.take(events(fill));
    const second = new Account("1", "", JSON.parse(JSON.stringify(first.keep())));
    equal(second.subscription.from, 9);
    second.take(events(fill));
    second.trading.notePrice("SPY", units("12"), 2);
    equal([second.number, second.fills.length, money(second.trading.profit)], [9, 1, "10"]);
  },
  "candles are made of trades, each counted once"() {
    const candles = new Candles();
    const at = (id, seconds, price, shares = "1") => ({id, price, shares, time_us: seconds * 1e6});
    candles.wait();
    candles.add([at(4, 61.5, "12"), at(5, 65, "8")]);
    candles.load([at(1, 59.9, "10"), at(3, 60, "11", "2.5"), at(4, 61.5, "12")]);
    const shown = (width_s) => candles.of(width_s).map(({start, open, high, low, close, shares}) => [start, open, high, low, close, shares]);
    equal(shown(60), [[0, 10, 10, 10, 10, 1], [60, 11, 12, 8, 8, 4.5]]);
    equal(shown(5), [[55, 10, 10, 10, 10, 1], [60, 11, 12, 11, 12, 3.5], [65, 8, 8, 8, 8, 1]]);
    equal(shown(1).map(([start]) => start), [59, 60, 61, 65]);
    candles.add([at(5, 65, "8"), at(6, 64, "9")]);  // had before; and a clock that went back
    equal(shown(5).at(-1), [65, 8, 9, 8, 9, 2]);
  },
  "candles of another store, or behind trades that were missed, begin anew"() {
    const at = (id, seconds, price) => ({id, price, shares: "1", time_us: seconds * 1e6});
    const day = (seconds, price, ...ids) => ids.map((id) => at(id, seconds, price));
    for (const [what, trades, wanted] of [
      ["no trade yet", [], [[60, 3, 3, 1]]],
      ["a lower number", day(100, "2", 1), [[60, 2, 3, 2]]],
      ["the same number", day(100, "2", 5, 6), [[60, 2, 3, 3]]],
      ["a higher number", day(100, "2", 5, 6, 7, 8), [[60, 2, 3, 5]]],
      ["more were missed than are asked for", day(100, "2", 900, 901), [[60, 2, 3, 3]]],
      ["it goes on", [...day(59, "1", 5, 6), ...day(100, "2", 7)], [[0, 1, 1, 6], [60, 2, 3, 2]]],
    ]) {
      const candles = new Candles();
      candles.load(day(59, "1", 1, 2, 3, 4, 5, 6));
      candles.wait();
      candles.add(day(100, "3", 1_000_000));  // what comes before they are loaded
      candles.load(trades);
      equal([what, candles.of(60).map(({start, open, close, shares}) => [start, open, close, shares])], [what, wanted]);
    }
  },
  "a link signs in with an account and a key, which may be written in percents or empty"() {
    equal(["#sign-in=7:key", "#sign-in=7%3Akey", "#sign-in=7:with%20space", "#sign-in=7:k%C3%A4se", "#sign-in=7:a:b#c", "#sign-in=7:100%", "#sign-in=7:"].map((hash) => readSignIn(hash)?.key),
          ["key", "key", "with space", "käse", "a:b#c", "100%", ""]);
    equal(["#sign-in", "#sign-in=", "#sign-in=7", "#sign-in=:key", "#sign-in=x:key", `#sign-in=${"1".repeat(65)}:key`, "#trade/SPY"].map(readSignIn), Array(7).fill(null));
  },
  "a symbol is 1 to 32 letters and digits"() {
    equal(["SPY", "a1", "X".repeat(32)].map(isSymbol), [true, true, true]);
    equal(["", "X".repeat(33), "X;curl evil|sh", "A B", "Ä", "A\n", "$(x)", "-a", "A/B"].filter(isSymbol), []);
  },
  "an order whose response was lost is sent again under its reference, other requests are unknown"() {
    const sent = [], answers = [];
    let changes = 0;
    const requests = new Requests((message) => sent.push(message), () => ++changes);
    const ask = (content, sent) => requests.ask(content, sent).then((response) => answers.push(response));
    const at = (day, rising = day) => ({day, rising});
    const order = {symbol: "SPY", side: "buy", shares: "1", limit: "2", ref: "web-1"};
    ask({login: {account: "1"}});
    ask({place: order}, at(1000));
    ask({cancel: {order: 7}});
    requests.take({type: "response", id: 1, status: 200});
    requests.lose();
    requests.resend(at(20_000));
    requests.lose();
    requests.resend(at(40_000));
    equal(sent.slice(1), [{id: 2, place: order}, {id: 3, cancel: {order: 7}}, {id: 2, place: order}, {id: 2, query: {order: "ref:web-1"}}]);
    equal(requests.keep(at(40_000)), [{place: order, day: 1000, age_ms: 39_000}]);
    equal(requests.take({type: "response", id: 2, status: 503, error: "the store is unavailable"}), false);
    equal(requests.take({type: "response", id: 2, status: 404, code: "unknown_order"}), true);
    requests.take({type: "response", id: 2, status: 201, order: 9});  // answered already
    equal([requests.keep(), changes], [[], 2]);
    return Promise.resolve().then(() => Promise.resolve()).then(() =>
      equal(answers.map(({id, code}) => [id, code ?? null]), [[1, null], [3, "lost"], [2, "not_received"]]));
  },
  "an order is not sent again where either clock says that it is old, or the clock of the day was set back"() {
    const sentAgain = (then, now) => {
      const sent = [], requests = new Requests((message) => sent.push(message));
      requests.ask({place: {ref: "a"}}, then);
      requests.lose();
      requests.resend(now);
      return sent.at(-1).place !== undefined;
    };
    const at = (day, rising) => ({day, rising});
    const then = at(500_000, 7_000);
    equal([at(520_000, 27_000), at(531_000, 8_000), at(501_000, 40_000), at(499_000, 8_000), at(100_000, 60_000)].map((now) => sentAgain(then, now)), [true, false, false, false, false]);
    const kept = (now) => Requests.kept([{place: {ref: "a"}, day: 500_000, age_ms: 20_000}], now)[0][1];  // in a page that was loaded anew
    equal([at(521_000, 100), at(535_000, 100), at(499_000, 100)].map((now) => sentAgain(kept(now), now)), [true, false, false]);
    equal(sentAgain(kept(at(521_000, 100)), at(522_000, 11_000)), false);  // it was 20 s old, and 11 s passed since
  },
  "a refusal is put into words, beside its field"() {
    const field = (code, error) => refusalOf({code, error})[0];
    equal(["insufficient_funds", "insufficient_shares", "cannot_fill", "would_execute", "executed_more", "unknown_account"].map((code) => field(code)),
          ["shares", "shares", "shares", "limit", "shares", "account"]);
    equal([field("malformed_number", "limit is not a number"), field("missing_attribute", "missing member 'shares'"), field("unknown_value", "side must be buy or sell")],
          ["limit", "shares", "side"]);
    equal(refusalOf({code: "too_many_orders", error: "too many open orders: at most 7"}), [null, "Too many open orders: at most 7."]);
    equal(refusalOf({code: "new_code"}), [null, "Refused."]);
    equal(refusalOf({code: "malformed_number", error: "shares is not a plain decimal number"}), ["shares", "Shares is not a plain decimal number, such as 1234.5."]);
  },

  "decimals are exact, to the last digit of the largest"() {
    equal(units("92233720367.99999999"), 9223372036799999999n);
    equal(decimal(9223372036799999999n), "92233720367.99999999");
    equal(decimal(units("0.00000001") + units("127.5")), "127.50000001");
    equal(decimal(units("0.1") + units("0.2")), "0.3");
    equal(decimal(-1n), "-0.00000001");
    equal([money(cashUnits("99.0000000000000001") + 1n), cashUnits("1.00000000000000001")], ["99.0000000000000002", null]);
    equal([units("127.5"), units("500"), units("0")], [12750000000n, 50000000000n, 0n]);
  },
  "what is no decimal has no units"() {
    for (const odd of ["", ".", "-", "-.", "1e3", "1.123456789", "1,5", "1.5.2", "+1", "NaN", " 1", null, undefined, 5, {}]) equal(units(odd), null);
    equal([".5", "5.", "-.5", "007", "1.500000000000"].map((text) => decimal(units(text))), ["0.5", "5", "-0.5", "7", "1.5"]);  // as the server
  },
  "thousands are set apart and no digit is dropped"() {
    equal(grouped("92233720367.99999999"), "92,233,720,367.99999999");
    equal(grouped("144", 2), "144.00");
    equal(grouped("1234.5", 2), "1,234.50");
    equal(grouped("145.678", 2), "145.678");
    equal([decimals("144"), decimals("145.67")], [0, 2]);
  },

  "a sample is read with its labels, escapes included"() {
    const series = parse('# TYPE x counter\nx{a="1",b="q\\"\\\\\\n,}"} 3 1700000000\nx{a="2",} 4\nplain 5e-3\r\n');
    equal(labelled(series, "x").map((sample) => sample.labels), [{a: "1", b: 'q"\\\n,}'}, {a: "2"}]);
    equal([value(series, "x"), value(series, "x", {a: "2"}), value(series, "plain")], [7, 4, 0.005]);
  },
  "odd lines are passed over and the rest is read"() {
    const series = parse('}{ what\nx{a=1} 2\nx{a="1" 2\n\nx 1 2 3\ny{} 7\nz NaN\nw +Inf\nv banana');
    equal([value(series, "x"), value(series, "y"), value(series, "z"), value(series, "w"), value(series, "v"), value(series, "absent")],
          [null, 7, null, null, null, null]);
    equal(parse("").size, 0);
    equal(parse(null).size, 0);
  },
  "a rate needs two readings, time between them, and growth"() {
    equal([rate(10, 30, 2), rate(10, 10, 1), rate(null, 30, 2), rate(10, null, 2), rate(10, 30, 0), rate(30, 10, 2)], [10, 0, null, null, null, null]);
  },
  "a histogram is sorted by its bounds and needs the last one"() {
    const text = 'h_bucket{s="a",le="+Inf"} 10\nh_bucket{s="a",le="0.1"} 4\nh_bucket{s="a",le="0.01"} 1\nh_bucket{s="b",le="0.01"} 1\nh_sum{s="a"} 2.5\n';
    equal(histogram(parse(text), "h", {s: "a"}), {bounds: [0.01, 0.1, Infinity], below: [1, 4, 10], sum: 2.5, count: 10});
    equal(histogram(parse(text), "h", {s: "b"}), null);
    equal(histogram(parse(text), "g"), null);
  },
  "what two histograms differ by is what was counted between them"() {
    const read = (counts) => histogram(parse(bucketText("h", "", counts)), "h");
    const before = read({1: 2, 2: 5, "+Inf": 5}), after = read({1: 2, 2: 9, "+Inf": 10});
    equal(difference(before, after), {bounds: [1, 2, Infinity], counts: [0, 4, 1], sum: 0, count: 5});
    equal(difference(null, after).counts, [2, 7, 1]);
    equal(difference(after, before), null);  // counts that go back: another process
    equal(difference(before, read({1: 2, 3: 9, "+Inf": 10})), null);
    equal(difference(before, null), null);
  },
  "quantiles lie within their bucket, in proportion"() {
    const counted = {bounds: [10, 20, 40, Infinity], counts: [0, 10, 10, 0], sum: 0, count: 20};
    equal([quantile(counted, 0.25), quantile(counted, 0.5), quantile(counted, 0.75), quantile(counted, 1)], [15, 20, 30, 40]);
    equal(quantile({bounds: [10, Infinity], counts: [4, 0], sum: 0, count: 4}, 0.5), 5);
    equal(quantile({bounds: [10, Infinity], counts: [0, 3], sum: 0, count: 3}, 0.99), 10);  // all that is known of it
    equal([quantile({bounds: [1, Infinity], counts: [0, 0], sum: 0, count: 0}, 0.5), quantile(null, 0.5), mean(null)], [null, null, null]);
    equal(mean({sum: 3, count: 4}), 0.75);
  },

  "rates and quantiles of the last seconds come from the readings around them"() {
    const history = new History();
    for (let t = 0; t <= 20; ++t) {
      history.add(t, parse(`exchange_requests_total ${t * t}\n` + bucketText("exchange_request_seconds", "", {0.001: t, 0.002: 2 * t, "+Inf": 2 * t})));
    }
    equal(history.rate("exchange_requests_total", 1), 39);
    equal(history.rate("exchange_requests_total", 10), 30);
    equal(history.rate("exchange_requests_total", 1000), 20);
    equal(history.points.map((point) => point.requests), Array.from({length: 20}, (_, i) => 2 * i + 1));
    equal([history.points[3].p50, history.points[3].p99], [0.001, 0.00198]);
    equal(history.points[3].trades, null);
    equal(history.enough("exchange_request_seconds", [5, 10], 20), {counted: history.recent("exchange_request_seconds", 10), seconds: 10});
    equal(history.enough("exchange_request_seconds", [5, 10], 1000).seconds, null);
  },
  "a restart begins anew and leaves a gap, no negative rates"() {
    const history = new History();
    equal(history.add(0, parse("exchange_requests_total 100\nprocess_start_time_seconds 5")), false);
    equal(history.add(1, parse("exchange_requests_total 110\nprocess_start_time_seconds 5")), false);
    equal(history.add(2, parse("exchange_requests_total 3\nprocess_start_time_seconds 5")), true);
    equal(history.rate("exchange_requests_total", 10), null);
    history.add(3, parse("exchange_requests_total 10\nprocess_start_time_seconds 5"));
    equal(history.rate("exchange_requests_total", 10), 7);
    equal(history.add(4, parse("exchange_requests_total 99\nprocess_start_time_seconds 77")), true);  // higher, yet another process
    equal(history.points.map((point) => point.requests ?? null), [10, null, 7, null]);
  },
  "a pause is a gap in the charts, and old readings go"() {
    const history = new History();
    history.add(0, parse("exchange_requests_total 0"));
    history.add(1, parse("exchange_requests_total 5"));
    history.add(11, parse("exchange_requests_total 25"));
    equal(history.points.map((point) => [point.time, point.requests ?? null]), [[1, 5], [10.5, null], [11, 2]]);
    for (let t = 12; t < 1000; ++t) history.add(t, parse("exchange_requests_total 25"));
    if (history.readings.length > kept_s + 3 || history.points.length > kept_s + 7) throw new Error(`${history.readings.length} readings are kept`);
    equal(history.points.at(-1).requests, 0);
  },
  "readings without any number do not disturb"() {
    const history = new History();
    history.add(0, parse(""));
    history.add(1, parse("exchange_requests_total NaN"));
    equal(history.rate("exchange_requests_total", 5), null);
    equal(commandRows(history, 10), []);
    equal(stageRows(history, [10], 1).count, 0);
  },
  "commands are listed by kind, refusals after what went well, zeros left out"() {
    const history = new History();
    const text = (funds) => 'exchange_commands_total{kind="cancel",result="ok"} 0\nexchange_commands_total{kind="query",result="ok"} 3\n' +
      'exchange_commands_total{kind="replace",result="executed_more"} 4\n' +
      `exchange_commands_total{kind="order",result="insufficient_funds"} ${funds}\nexchange_commands_total{kind="order",result="ok"} 2\nexchange_client_errors_total 1`;
    history.add(0, parse(text(40)));
    history.add(10, parse(text(50)));
    equal(commandRows(history, 10).map(({kind, result, count, rate}) => [kind, result, count, rate]),
          [["order", "ok", 2, 0], ["order", "insufficient_funds", 50, 1], ["replace", "executed_more", 4, 0], ["query", "ok", 3, 0], ["not understood", "malformed", 1, 0]]);
  },
  "orders are listed by kind, then those canceled, zeros left out"() {
    const history = new History();
    const text = (ioc) => 'exchange_orders_total{kind="limit"} 7\nexchange_orders_total{kind="fok"} 0\n' +
      `exchange_orders_total{kind="ioc"} ${ioc}\nexchange_canceled_orders_total{reason="client"} 2`;
    equal(orderRows(history, 10), []);
    history.add(0, parse(text(10)));
    history.add(10, parse(text(40)));
    equal(orderRows(history, 10).map(({event, label, count, rate}) => [event, label, count, rate]),
          [["opened", "limit", 7, 0], ["opened", "ioc", 40, 3], ["canceled", "client", 2, 0]]);
  },
  "a refusal seen for the first time has a rate"() {
    const history = new History();
    history.add(0, parse("exchange_requests_total 1"));
    history.add(10, parse('exchange_requests_total 1\nexchange_commands_total{kind="order",result="insufficient_funds"} 20'));
    equal(commandRows(history, 10)[0].rate, 2);
  },
  "stages cover the shortest time that has enough, else all since the start"() {
    const text = (n) => ["parse", "commit"].map((stage) => bucketText("exchange_stage_seconds", `stage="${stage}",`, {0.001: n, "+Inf": n})).join("");
    const history = new History();
    history.add(0, parse(text(100)));
    history.add(10, parse(text(105)));
    const since = stageRows(history, [10], 20);
    equal([since.seconds, since.count, since.rows[0].stage, since.rows[0].p50, since.rows[1].p50], [null, 105, "parse", 0.0005, null]);
    history.add(20, parse(text(205)));
    const recent = stageRows(history, [10], 20);
    equal([recent.seconds, recent.count, recent.rows[3].count], [10, 100, 100]);
  },
  "batch sizes are named by the range of their bucket"() {
    equal(batchShares({bounds: [1, 2, 4, 8, Infinity], counts: [5, 0, 15, 0, 0], count: 20}),
          [{label: "1", share: 0.25}, {label: "2", share: 0}, {label: "3–4", share: 0.75}]);
    equal(batchShares({bounds: [1, Infinity], counts: [0, 2], count: 2})[1], {label: "over 1", share: 1});
  },

  "a snapshot and updates make the book, best first"() {
    const book = new Book("SPY");
    equal(book.take(update(1, [], [])), "ignored");
    equal(book.take(snapshot(3, [["145.67", "60", 1]], [["146", "5", 1], ["145.9", "7", 2]])), "taken");
    equal(book.take(update(4, [["145.67", "0", 0], ["144", "10", 1], ["145.1", "1", 1]], [["145.9", "9", 3], ["147", "0", 0]])), "taken");
    equal([shown(book.bids), shown(book.asks), book.sequence], ["145.1x1/1 144x10/1", "145.9x9/3 146x5/1", 4]);
    equal(decimal(spread(book)), "0.8");
    equal(book.changed.has(`bid ${units("144")}`), true);
    equal(spread(new Book("SPY")), null);
  },
  "prices are compared as numbers, not as texts"() {
    const book = new Book("SPY");
    book.take(snapshot(1, [["9", "1", 1], ["10", "1", 1]], [["100", "1", 1], ["20.5", "1", 1]]));
    book.take(update(2, [["9.5", "2", 1], ["10.00", "3", 2]], []));
    equal([shown(book.bids), shown(book.asks)], ["10.00x3/2 9.5x2/1 9x1/1", "20.5x1/1 100x1/1"]);
  },
  "a gap, a repeat or an odd message asks for a new snapshot, and nothing is taken before it"() {
    for (const odd of [update(5, [], []), update(3, [], []), update(2, [], []), update("4", [], []), update(4, [["x", "1", 1]], []), update(4, null, []),
                       update(4, [["1", "1"]], []), update(4, [], [], [{price: "1"}])]) {
      const book = new Book("SPY");
      book.take(snapshot(3, [["1", "60", 1]], []));
      equal(book.take(odd), "resubscribe");
      equal([book.known, shown(book.bids)], [false, "1x60/1"]);
      equal(book.take(update(4, [["1", "0", 0]], [])), "ignored");
      equal(book.take(snapshot(9, [["2", "1", 1]], [])), "taken");
      equal(book.take(update(10, [["3", "1", 1]], [])), "taken");
      equal(shown(book.bids), "3x1/1 2x1/1");
    }
  },
  "a book is open unless a message says how it trades"() {
    const book = new Book("SPY");
    const auction = {price: "10", volume: "3", surplus: "-1", market_buys: "0", market_sells: "2"};
    book.take({...snapshot(1, [["10", "3", 1]], [["9", "2", 1]]), trading: "auction", auction});
    equal([book.trading, book.auction, decimal(spread(book))], ["auction", auction, "-1"]);
    book.take({...update(2, [], []), trading: "halted"});
    equal([book.trading, book.auction], ["halted", null]);
    book.take(update(3, [], []));
    equal(book.trading, "open");
  },
  "a restarted server counts from its own start"() {
    const book = new Book("SPY");
    book.take(snapshot(100, [], []));
    equal([book.take(snapshot(0, [], [])), book.take(update(1, [], []))], ["taken", "taken"]);
  },
  "messages of other symbols are passed over"() {
    const book = new Book("SPY");
    book.take(snapshot(3, [], []));
    equal(book.take({...update(8, [], []), symbol: "XYZ"}), "ignored");
    equal(book.take({type: "unsubscribed", symbol: "SPY"}), "ignored");
    equal(book.sequence, 3);
  },
  "the tape is newest first and has an end"() {
    const book = new Book("SPY");
    book.take(snapshot(1, [], [], [trade(2), trade(1)]));
    book.take(update(2, [], [], [trade(3), trade(4)]));
    equal(book.trades.map(({id}) => id), [4, 3, 2, 1]);
    book.take(update(3, [], [], Array.from({length: 80}, (_, i) => trade(5 + i))));
    equal([book.trades.length, book.trades[0].id, book.trades[49].id], [50, 84, 35]);
  },
  "a side that was cut off at a thousand levels is asked for again when half is gone"() {
    const book = new Book("SPY");
    const bids = Array.from({length: 1000}, (_, i) => [String(2000 - i), "1", 1]);
    book.take(snapshot(1, bids, []));
    equal(book.take(update(2, bids.slice(0, 500).map(([price]) => [price, "0", 0]), [])), "taken");
    equal(book.take(update(3, [["1500", "0", 0]], [])), "resubscribe");
    const whole = new Book("SPY");
    whole.take(snapshot(1, bids.slice(0, 999), []));
    equal(whole.take(update(2, bids.slice(0, 998).map(([price]) => [price, "0", 0]), [])), "taken");
  },
  "beyond where a side was cut off nothing is taken, since it would have holes"() {
    const book = new Book("SPY");
    const bids = Array.from({length: 1000}, (_, i) => [String(2000 - i), "1", 1]);
    const asks = Array.from({length: 1000}, (_, i) => [String(2001 + i), "1", 1]);
    book.take(snapshot(1, bids, asks));
    equal(book.take(update(2, [["1000.5", "1", 1], ["1001", "7", 1], ["1002.5", "1", 1]], [["3000.5", "1", 1], ["2000.5", "1", 1]])), "taken");
    equal([book.bids.length, book.asks.length, shown(book.bids.slice(-3))], [1001, 1001, "1002.5x1/1 1002x1/1 1001x7/1"]);
    equal(shown(book.asks.slice(0, 1)), "2000.5x1/1");
  },
  "shares are cumulated exactly"() {
    const book = new Book("SPY");
    book.take(snapshot(1, [["3", "0.1", 1], ["2", "0.2", 1], ["1", "92233720000", 1]], []));
    equal(cumulated(book.bids).map(decimal), ["0.1", "0.3", "92233720000.3"]);
  },

  "a profit is rounded exactly, with its sign"() {
    equal([["1.005", 2], ["-1.005", 2], ["0.994999999999999999", 2], ["9.999", 2], ["-0.004", 2], ["7", 2], ["7.5", 0], ["123456789012345678.5", 0]].map(([text, places]) => rounded(text, places)),
          ["1.01", "-1.01", "0.99", "10.00", "0.00", "7.00", "8", "123456789012345679"]);
    equal([["12345.5", 2], ["-12345.5", 2], ["0", 0], ["-0.001", 2], ["5", 0]].map(([text, places]) => signed(text, places)), ["+12,345.50", "−12,345.50", "0", "0.00", "+5"]);
    equal([placesOf(["1", "-2"]), placesOf(["1", "2.5"]), placesOf([])], [0, 2, 0]);
  },
  "a row stays with its account, also where names repeat"() {
    equal(keysOf([{name: "A"}, {account: "7"}, {name: "A"}, {account: "7", name: "B"}]), ["name A", "account 7", "name A 1", "account 7 1"]);
  },
  "pages show each row once, below the leaders"() {
    equal([pageStarts(0, 10), pageStarts(10, 10), pageStarts(11, 10), pageStarts(24, 10)], [[0], [0], [3, 10], [3, 10, 17]]);
    equal([placesOn(0, 2, 10), placesOn(3, 11, 10), placesOn(10, 11, 10)], [[0, 1], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [0, 1, 2, 10]]);
    for (const count of [12, 24, 200]) {
      const seen = pageStarts(count, 11).flatMap((start) => placesOn(start, count, 11).slice(3));
      equal(seen, Array.from({length: count - 3}, (_, i) => i + 3));
    }
    equal([rowsIn(100, 50), rowsIn(1200, 80), rowsIn(9999, 80)], [10, 15, 20]);
  },
  "one is not several"() {
    equal([1, 0, 2, 1234, NaN].map((n) => counted(n, "batch", "batches")), ["1 batch", "0 batches", "2 batches", "1,234 batches", `${nothing} batches`]);
    equal([counted(1, "order"), counted(3, "order")], ["1 order", "3 orders"]);
  },
  "figures have about three digits"() {
    equal([0, 0.001, 0.42, 8.34, 9.97, 123.4, 17853, 1234567, NaN, null, Infinity].map(figure),
          ["0", "<0.01", "0.42", "8.3", "10", "123", "17,853", "1.23 M", nothing, nothing, nothing]);
    equal([0, 4.2e-6, 312e-6, 999.7e-6, 0.00421, 2, NaN].map((s) => duration(s).join(" ").trim()), ["0 µs", "4.20 µs", "312 µs", "1.00 ms", "4.21 ms", "2.00 s", nothing]);
    equal([1e-3, 1.5e-3, 5e-4].map(mark), ["1 ms", "1.5 ms", "500 µs"]);
    equal([0, 512, 2048, 50e6, NaN].map((b) => bytes(b).join(" ").trim()), ["0 B", "512 B", "2.00 KiB", "47.7 MiB", nothing]);
    equal([0, 59, 61, 3600 * 27, -5, NaN].map(span), ["0 s", "59 s", "1 min 1 s", "1 d 3 h", "0 s", nothing]);
    const day = new Date(2024, 1, 2, 3, 4, 5).getTime();
    equal([clock(undefined), clock(day * 1000)], [nothing, "03:04:05"]);
    equal([dayAndClock(day * 1000, day + 60_000), dayAndClock(day * 1000, day + 86_400_000)], ["03:04:05", "Feb 2, 03:04:05"]);
  },
};

export function run() {
  return Promise.all(Object.entries(tests).map(async ([name, test]) => {
    try {
      await test();
      return {name, failure: null};
    } catch (error) {
      return {name, failure: String(error.stack ?? error)};
    }
  }));
}
