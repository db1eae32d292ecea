// Requests over the WebSocket, until their responses come; and what a refusal means, in words. Pure.

const again_ms = 30_000;  // an order older than this is not sent again: the market has moved

// Two clocks, in ms: a clock of the day, which may be set, and one that only rises, but may rest while the machine sleeps.
const clocks = () => ({day: Date.now(), rising: performance.now()});

// How old it is that was sent then, by the clock that says more. Infinity: the clock of the day was set back.
function age(then, now) {
  return now.day < then.day ? Infinity : Math.max(now.day - then.day, now.rising - then.rising);
}

export class Requests {
  #last = 0;
  #waiting = new Map();  // number: {content, sent, resolve}, `sent` as clocks() returned it then

  // send(message) may send nothing where there is no connection: resend() follows. changed() is called when orders are
  // sent or answered.
  constructor(send, changed = () => {}) { Object.assign(this, {send, changed}); }

  // The response to, for example, {cancel: {order: 1}}. Where it was lost with the connection, its code is "lost", or, for
  // an order, it is the response to its next sending, which its reference keeps from being executed twice.
  ask(content, sent = clocks()) {
    return new Promise((resolve) => {
      const id = ++this.#last;
      this.#waiting.set(id, {content, sent, resolve});
      if (content.place) this.changed();
      this.send({id, ...content});
    });
  }

  // False where it does not answer an order: then the server executes nothing now, but may have executed an earlier sending.
  take(response) {
    const asked = this.#waiting.get(response.id);
    if (!asked) return true;
    if (asked.content.place && response.status === 503) return false;
    this.#waiting.delete(response.id);
    if (asked.content.place) this.changed();
    asked.resolve(asked.isQuery && response.code === "unknown_order" ? {...response, code: "not_received"} : response);
    return true;
  }

  // The connection ended. `all`: nothing is to be sent again.
  lose(all = false) {
    for (const [id, {content, resolve}] of this.#waiting) {
      if (content.place && !all) continue;
      this.#waiting.delete(id);
      resolve({id, code: "lost"});
    }
    if (all) this.changed();
  }

  // On a new connection.
  resend(now = clocks()) {
    for (const [id, asked] of this.#waiting) {
      const {place} = asked.content;
      asked.isQuery = age(asked.sent, now) > again_ms;
      if (place) this.send(asked.isQuery ? {id, query: {order: `ref:${place.ref}`}} : {id, place});
    }
  }

  // What keep() returned before the page was loaded again, as the pairs of an order and when it was sent.
  static kept(orders, now = clocks()) {
    return orders.filter(({place}) => place).map(({place, day, age_ms}) => [place, {day, rising: now.rising - age_ms}]);
  }

  // The orders not answered.
  keep(now = clocks()) {
    return [...this.#waiting.values()].filter(({content}) => content.place)
        .map(({content: {place}, sent}) => ({place, day: sent.day, age_ms: now.rising - sent.rising}));
  }
}

const words = {
  insufficient_funds: ["shares", "Not enough free cash."],
  insufficient_shares: ["shares", "Not enough free shares."],
  cannot_fill: ["shares", "It cannot be executed in full now."],
  executed_more: ["shares", "That much of it was executed already."],
  would_execute: ["limit", "It would be executed at once, so it was not posted."],
  unknown_account: ["account", "There is no such account, or the key is not its key."],
  key_changed: ["account", "The key of this account was changed or revoked: sign in with its key."],
  account_frozen: [null, "The operator has frozen this account."],
  malformed_id: ["account", "An account is 1 to 64 digits."],
  nothing_open: [null, "Nothing of this order is open any more."],
  no_open_orders: [null, "No order is open."],
  lost: [null, "The connection broke before the answer: see the open orders for what holds."],
  not_received: [null, "The connection broke, and the order has not arrived so far. It was not sent again, but it may still arrive: watch the open orders before you enter it once more."],
};
const fields = /\b(shares|limit|side|stp|tif|type|account|key)\b/;

// [the field that it belongs to, or null; a sentence] of a response that is an error.
export function refusalOf({code, error = "refused"}) {
  if (words[code]) return words[code];
  const text = `${error[0].toUpperCase()}${error.slice(1)}${error.endsWith("plain decimal number") ? ", such as 1234.5" : ""}`;
  return [fields.exec(error)?.[1] ?? null, /[.?!]$/.test(text) ? text : `${text}.`];
}
