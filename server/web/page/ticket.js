// The ticket of the Trade view: one order at a time, each with a reference of its own, so that it can be sent again.

import {cashDecimal, decimal, decimals, grouped, units} from "./decimal.js";
import {byId, make, setText} from "./dom.js";
import {isTrading, isTyping} from "./market.js";
import {refusalOf} from "./requests.js";

const cash_decimals_max = 4;

// Cash as far as one reads.
export function cashText(value) {
  const exact = grouped(cashDecimal(value), 2);
  const extra = Math.max(0, decimals(exact) - cash_decimals_max);
  return (extra ? `${exact.slice(0, -extra)}…` : exact).replace("-", "−");
}

// All of it is in the title.
export function showCash(element, value, before = "") {
  const text = cashText(value);
  setText(element, before + text);
  element.title = text.endsWith("…") ? grouped(cashDecimal(value), 2) : "";
}

export const sharesText = (value) => grouped(decimal(value));
export const orderText = ({side, symbol}) => `${side === "buy" ? "▲ buy" : "▼ sell"} ${symbol}`;

// Puts an error beside its field, or into `said` where the form has no such field.
export function complain(form, said, [field, text]) {
  accept(form, said);
  const input = form.elements[field];
  const isField = input instanceof HTMLElement && !input.disabled;
  say(said, isField ? "" : text, true);
  if (!isField) return;
  const words = make("span", "error", text);
  words.id = `${form.id}-${field}-error`;
  words.setAttribute("role", "alert");
  input.after(words);
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-describedby", words.id);
  input.focus();
}

// Takes back what complain() put there.
export function accept(form, said) {
  say(said, "");
  for (const input of form.querySelectorAll("[aria-invalid]")) {
    byId(input.getAttribute("aria-describedby"))?.remove();
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-describedby");
  }
}

export function say(said, text, isError = false) {
  said.classList.toggle("error", isError);
  setText(said, text);
}

const newReference = () => "web-" + [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join("-");

export class Ticket {
  #symbol = null;
  #sending = 0;  // orders without an answer
  #late = null;  // reference of the last order that was not there when the page asked for it

  constructor(feed) {
    Object.assign(this, {feed, form: byId("ticket"), said: byId("said")});
    this.fields = this.form.elements;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.form.addEventListener("input", () => this.show());
    this.fields.limit.addEventListener("keydown", (event) => {
      const up = {ArrowUp: true, ArrowDown: false}[event.key];
      if (up === undefined) return;
      event.preventDefault();
      this.#step(up);
    });
    for (const table of [byId("ladder"), byId("tape")]) {
      table.addEventListener("click", ({target}) => {
        const price = target.closest("tr")?.dataset.price;
        if (!isTrading() || !price) return;
        this.#fillLimit(price);
        (this.fields.shares.value ? this.fields.limit : this.fields.shares).focus();
      });
    }
    document.addEventListener("keydown", (event) => this.#key(event));
  }

  select(symbol) {
    if (symbol === this.#symbol) return;
    this.#symbol = symbol;
    this.fields.limit.value = "";
    accept(this.form, this.said);
    this.show();
  }

  show() {
    const {side, kind, shares, limit} = this.fields;
    const {account, accountState} = this.feed;
    limit.disabled = kind.value === "market";
    setText(byId("ticket-symbol"), this.#symbol ?? "");
    const verb = side.value === "buy" ? "Buy" : "Sell";
    const live = accountState === "live", frozen = live && account.isFrozen, canSend = live && !frozen && this.#symbol !== null;
    const button = byId("send"), amount = units(shares.value.trim());
    button.disabled = !canSend || this.#sending > 0;
    button.className = `main ${side.value}`;
    let text = `${verb} ${amount === null ? "" : sharesText(amount)} ${this.#symbol}`;
    if (this.#sending) text = "Sending …";
    else if (!live) text = account ? "Connecting …" : `Sign in to ${verb.toLowerCase()}`;
    else if (frozen) text = "Account is frozen";
    else if (!canSend) text = "Choose a symbol";
    setText(button, text);
    const cost = kind.value === "market" ? null : (amount ?? 0n) * (units(limit.value.trim()) ?? 0n);
    if (cost) showCash(byId("cost"), cost, side.value === "buy" ? "Reserves cash: " : "Brings at least: ");
    else setText(byId("cost"), kind.value === "market" ? "At the best prices there are, whatever they are." : "");
    const late = this.#late && account?.orderOf(this.#late);
    if (late) {
      this.#late = null;
      say(this.said, `Order ${late} has arrived after all.`);
    }
    if (this.#sending && !live) say(this.said, "The connection is lost. The order will be sent again, and cannot be executed twice.");
  }

  // Sends an order of this tab, or sends it again.
  async place(place, sent) {
    ++this.#sending;
    this.show();
    const response = await this.feed.requests.ask({place}, sent);
    --this.#sending;
    this.#late = response.code === "not_received" ? place.ref : this.#late;
    if (response.order) {
      accept(this.form, this.said);
      const {shares} = this.fields;
      if (shares.value.trim() === place.shares) shares.value = "";  // so that a second Enter sends nothing
      say(this.said, `Order ${response.order} ${response.status === 201 ? "is accepted" : "had arrived before the connection broke"}.`);
      this.show();
    } else {
      this.show();
      complain(this.form, this.said, refusalOf(response));
    }
  }

  #submit() {
    const {side, kind, shares, limit, stp} = this.fields;
    accept(this.form, this.said);
    const place = {symbol: this.#symbol, side: side.value, shares: shares.value.trim(), ref: newReference()};
    if (kind.value === "market") place.type = "market";
    else place.limit = limit.value.trim();
    if (kind.value === "post") place.post = true;
    if (kind.value === "ioc" || kind.value === "fok") place.tif = kind.value;
    if (stp.value !== "none") place.stp = stp.value;
    this.place(place);
  }

  // The next price of the book from that in the field.
  #step(up) {
    const {bids = [], asks = []} = this.feed.book ?? {};
    const now = units(this.fields.limit.value);
    const prices = [...asks.toReversed(), ...bids];  // falling
    let next = up ? prices.findLast(({price}) => price > now) : prices.find(({price}) => price < now);
    if (now === null) next = this.fields.side.value === "buy" ? asks[0] : bids[0];
    if (next) this.#fillLimit(next.priceText);
  }

  #fillLimit(price) {
    const {kind, limit} = this.fields;
    if (kind.value === "market") kind.value = "limit";
    limit.value = price;
    this.show();
  }

  #key(event) {
    if (!isTrading() || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && this.form.contains(event.target)) {
      this.form.reset();
      accept(this.form, this.said);
      this.show();
    }
    const side = {b: "buy", s: "sell"}[event.key];
    if (!side || isTyping(event.target)) return;
    event.preventDefault();
    this.fields.side.value = side;
    this.show();
    this.fields.shares.focus();
  }
}
