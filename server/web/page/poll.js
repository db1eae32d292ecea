// Asks for one path again and again, and less often while there is no answer.

const pause_s_max = 5;
const answer_s_max = 4;
const pages_max = 10;

export class Poll {
  #timer = null;
  #asking = null;  // AbortController of the request under way

  // take(texts, response) gets each complete response, of any status, as the texts of its pages; failed(error) is called
  // if none came. next(text): the path of the page after it, or null. headers(): fields of each request.
  constructor({path, every_s, take, next = () => null, failed = () => {}, headers = () => ({})}) {
    Object.assign(this, {path, every_s, take, next, failed, headers, failures: 0, next_s: null});
  }

  get running() { return this.#timer !== null || this.#asking !== null; }

  start() {
    if (!this.running) this.#ask();
  }

  stop() {
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#asking?.abort();
    this.#asking = null;
  }

  // At once, as when the network is back.
  hurry() {
    if (this.#timer === null) return;
    this.stop();
    this.start();
  }

  async #ask() {
    this.#timer = null;
    const asking = this.#asking = new AbortController();
    const limit = setTimeout(() => asking.abort(), answer_s_max * 1000);
    const began_s = performance.now() / 1000;
    const texts = [];
    let response = null, error = null;
    try {
      for (let path = this.path; path !== null && texts.length < pages_max; path = response.ok ? this.next(texts.at(-1)) : null) {
        response = await fetch(path, {signal: asking.signal, cache: "no-store", headers: this.headers()});
        texts.push(await response.text());
      }
    } catch (failure) {
      error = failure;
    }
    clearTimeout(limit);
    if (this.#asking !== asking) return;  // stopped meanwhile
    this.#asking = null;
    const now_s = performance.now() / 1000;
    this.failures = error ? this.failures + 1 : 0;
    // An even beat while all is well: the time that the answer took is part of the pause. Not all of it, since rates over
    // a short time jump about.
    const pause_s = error ? Math.min(pause_s_max, 2 ** (this.failures - 1)) : Math.max(this.every_s / 2, this.every_s - (now_s - began_s));
    this.next_s = now_s + pause_s;
    this.#timer = setTimeout(() => this.#ask(), pause_s * 1000);
    if (error) this.failed(error);
    else this.take(texts, response);
  }
}
