// The one WebSocket: a symbol's market data, an account's events, and its requests. Opened again with growing pauses,
// subscribed again after a gap.

import {Book} from "./book.js";
import {Requests} from "./requests.js";

const pause_s_max = 8;
const snapshot_s_max = 5;  // without one the connection is taken for dead
const account_s_max = 15;  // the server may wait for its tables

export class Feed {
  #socket = null;
  #timer = null;
  #waiting = null;   // until the snapshot
  #following = null; // until the first answer of the account
  #failures = 0;
  #running = false;

  // changed() is called whenever book, account or states are new, took(message) for each message of the book, ordered()
  // when orders are sent or answered. state: "off", "connecting", "waiting", "live", "unknown" (no such symbol);
  // accountState: "off", "waiting", "live", "refused".
  constructor({url, changed, took = () => {}, ordered = () => {}}) {
    Object.assign(this, {url, changed, took, book: null, state: "off", account: null, accountState: "off"});
    this.requests = new Requests((message) => this.#send(message), ordered);
  }

  start() {
    if (this.#running) return;
    this.#running = true;
    this.#failures = 0;
    this.#open();
  }

  stop() {
    this.#running = false;
    this.#close();
    this.#become("off");
  }

  // Shows this symbol from now on; null for none.
  select(symbol) {
    if (symbol === (this.book?.symbol ?? null)) return;
    if (this.book) this.#send({unsubscribe: this.book.symbol});
    this.book = symbol === null ? null : new Book(symbol);
    this.#subscribe();
    this.changed();
  }

  // Follows this account from now on; null for none. A new connection forgets the login of the one before.
  follow(account) {
    const before = this.account;
    this.account = account;
    this.accountState = account ? "waiting" : "off";  // the refusal was of the one before
    this.requests.lose(true);
    if (before && this.#running) this.#open();
    else this.#login();
    this.changed();
  }

  // At once, as when the server answers again; or once more where the symbol was not known.
  hurry() {
    if (!this.#running) return;
    if (this.#timer !== null) this.#open();
    else if (this.state === "unknown") this.#subscribe();
  }

  // The other end is gone though nothing said so.
  drop() {
    if (!this.#running || this.#timer !== null) return;
    this.#close();
    this.#again();
  }

  #open() {
    this.#close();
    this.#become("connecting");
    let socket;
    try {
      socket = this.#socket = new WebSocket(this.url);
    } catch {
      return this.#again();
    }
    const mine = (act) => (event) => { if (this.#socket === socket) act(event); };
    socket.onopen = mine(() => {
      this.#login();
      this.requests.resend();
      this.#subscribe();
    });
    socket.onmessage = mine((event) => this.#take(event.data));
    socket.onclose = mine(() => {
      this.#close();
      this.#again();
    });
  }

  #close() {
    clearTimeout(this.#timer);
    clearTimeout(this.#waiting);
    clearTimeout(this.#following);
    this.#timer = this.#waiting = this.#following = null;
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
    this.book?.forget();
    this.requests.lose();
    if (this.accountState !== "refused") this.accountState = this.account ? "waiting" : "off";
  }

  #again() {
    if (!this.#running) return;
    const pause_s = Math.min(pause_s_max, 0.5 * 2 ** this.#failures++) * (0.8 + 0.4 * Math.random());
    this.#become("connecting");
    this.#timer = setTimeout(() => this.#open(), pause_s * 1000);
  }

  #send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #login() {
    this.accountState = this.account ? "waiting" : "off";
    if (!this.account || this.#socket?.readyState !== WebSocket.OPEN) return;
    const {account} = this;
    this.requests.ask({login: {account: account.id, ...(account.key && {key: account.key})}}).then((response) => {
      if (account !== this.account || !(response.status >= 400)) return;
      // It was subscribed to with this key, which another has replaced since.
      const isChanged = response.code === "unknown_account" && this.accountState === "live";
      this.#takeAccount({...response, type: "error", ...(isChanged && {code: "key_changed"})});
    });
    this.#followAccount();
  }

  #followAccount() {
    this.#send({subscribe: this.account.subscription});
    clearTimeout(this.#following);
    this.#following = setTimeout(() => this.drop(), account_s_max * 1000);
  }

  #takeAccount(message) {
    clearTimeout(this.#following);
    const taken = this.account.take(message);
    if (taken === "drop") return this.drop();
    if (taken === "resubscribe") return this.#followAccount();
    if (taken === "refused") this.accountState = taken;
    else this.accountState = this.account.isCurrent ? "live" : "waiting";
    this.#failures = 0;
    this.changed();
  }

  #subscribe() {
    clearTimeout(this.#waiting);
    this.#waiting = null;
    if (this.#socket?.readyState !== WebSocket.OPEN) return;
    if (!this.book) return this.#become("live");
    this.#send({subscribe: this.book.symbol});
    this.#waiting = setTimeout(() => this.drop(), snapshot_s_max * 1000);
    this.#become("waiting");
  }

  #take(text) {
    let message = null;
    try {
      message = JSON.parse(text);
    } catch {
      // not JSON: null is dropped below
    }
    if (message === null || typeof message !== "object") return this.drop();
    if (message.type === "response") return this.requests.take(message) || this.drop();
    if (message.account !== undefined) return this.account?.id === message.account ? this.#takeAccount(message) : undefined;
    if (message.type === "error" && this.state === "waiting") {
      clearTimeout(this.#waiting);
      return this.#become("unknown");
    }
    const taken = this.book ? this.book.take(message) : "ignored";
    if (taken === "resubscribe") {
      if (message.type === "snapshot") return this.drop();  // asking at once for another odd one would go on for ever
      this.#subscribe();
    } else if (taken === "taken") {
      if (message.type === "snapshot") {
        clearTimeout(this.#waiting);
        this.#waiting = null;
        this.#failures = 0;
        this.#become("live");
      }
      this.took(message);
      this.changed();
    }
  }

  #become(state) {
    if (this.state === state) return;
    this.state = state;
    this.changed();
  }
}
