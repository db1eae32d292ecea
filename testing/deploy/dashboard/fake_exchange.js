// Stands in for the server: put into the page before its own scripts, so that a test says what is answered and sent.
(() => {
  const exchange = window.exchange = {
    down: false,
    metrics: "",
    symbols: [],
    ready: [200, "ready"],
    sockets: [],
    sent: [],   // what the page sent over its WebSockets
    asked: {},  // how often each path was asked for
    counters: {requests: 0, executions: 0},
    send(message) { this.sockets.at(-1).onmessage({data: typeof message === "string" ? message : JSON.stringify(message)}); },
    snapshot(symbol, sequence, bids, asks, trades = []) { this.send({type: "snapshot", symbol, sequence, bids, asks, trades}); },
    update(symbol, sequence, bids, asks, trades = []) { this.send({type: "update", symbol, sequence, bids, asks, trades}); },
    text(more = {}) {
      const {requests, executions, store = 1, started = 1700000000} = {...this.counters, ...more};
      return 'exchange_info{policy="pool",threads="3",store="sqlite",version="9.9"} 1\n' +
        `exchange_requests_total ${requests}\nexchange_executions_total ${executions}\nexchange_store_available ${store}\n` +
        `exchange_connections{policy="pool"} 42\nprocess_start_time_seconds ${started}\n`;
    },
  };
  exchange.metrics = exchange.text();

  window.fetch = async (path) => {
    const name = String(path);
    exchange.asked[name] = (exchange.asked[name] ?? 0) + 1;
    if (exchange.down) throw new TypeError("Failed to fetch");
    if (name === "metrics") return new Response(exchange.metrics, {status: 200});
    if (name === "readyz") return new Response(exchange.ready[1], {status: exchange.ready[0]});
    if (name === "api/symbols") return new Response(JSON.stringify({batch: 1, symbols: exchange.symbols}), {status: 200});
    return new Response("no such path", {status: 404});
  };

  window.WebSocket = class {
    static OPEN = 1;
    constructor(url) {
      this.url = url;
      this.readyState = 0;
      exchange.sockets.push(this);
      setTimeout(() => {
        if (exchange.down) return this.close();
        this.readyState = 1;
        this.onopen?.({});
      });
    }
    send(text) { exchange.sent.push(JSON.parse(text)); }
    close() {
      this.readyState = 3;
      setTimeout(() => this.onclose?.({}));
    }
  };
})();
