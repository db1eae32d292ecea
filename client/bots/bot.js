// Quotes a bid and an ask around the last price: node bot.js ACCOUNT SYMBOL HOST:PORT
// Or paste it into the console of the dashboard, with your account and symbol in the next line.
const [account = "1001", symbol = "SPY", server = globalThis.location?.host] =
  globalThis.process?.argv.slice(2) ?? [];
const login = { account, key: "" }; // of the account, if the server has --auth
// Numbers of JavaScript are not exact: prices and shares are whole numbers of 0.00000001.
const [size, positionMax, distance] = ["10", "50", "0.10"].map(units);

let price, quoted; // the last price, and the one that the open orders are around
let [position, cash] = [0n, 0n]; // bought and earned since the start
let nextRef = Date.now();
const openRefs = new Set(); // of the orders that are not known to have ended

function units(decimal) {
  const [whole, rest = ""] = decimal.split(".");
  return BigInt(whole + rest.padEnd(8, "0"));
}
const decimal = (units) => `${units / 100000000n}.${String(units % 100000000n).padStart(8, "0")}`;

const socket = new WebSocket(`ws://${server}/ws`);
const send = (request) => socket.send(JSON.stringify(request));
socket.onopen = () => {
  send({ id: "login", login });
  send({ id: "cancel", cancel_all: { symbol } }); // of an earlier run
  send({ subscribe: login });
};
socket.onclose = () => {
  throw new Error("the connection is closed");
};
socket.onmessage = ({ data }) => {
  const message = JSON.parse(data);
  if (message.error && message.id !== "cancel") { // which may find nothing open
    socket.close();
    throw new Error(message.error);
  }
  if (message.type === "account") send({ subscribe: symbol }); // from here on, every event comes
  for (const event of message.events ?? []) {
    if (event.event === "executed" && openRefs.has(event.ref)) {
      const bought = units(event.shares) * (event.side === "buy" ? 1n : -1n);
      position += bought;
      cash -= bought * units(event.price);
      const profit = Number(cash + position * units(event.price)) / 1e16;
      console.log(`${event.side} ${event.shares} at ${event.price}: ` +
        `position ${Number(position) / 1e8}, profit ${profit.toFixed(2)}`);
      quoted = null;
    }
    if (event.open === "0") openRefs.delete(event.ref);
  }
  if (message.trades) { // a snapshot has the newest first, an update last
    const newest = message.trades.at(message.type === "snapshot" ? 0 : -1);
    price = newest ? units(newest.price) : price ?? units("100");
  }
  if (openRefs.size > 0 && quoted !== price) {
    send({ id: "cancel", cancel_all: { symbol } });
  } else if (price && openRefs.size === 0) {
    for (const [side, sign] of [["buy", 1n], ["sell", -1n]]) {
      if (sign * position + size > positionMax) continue;
      const [limit, ref] = [decimal(price - sign * distance), `${side}-${nextRef++}`];
      const order = { symbol, side, shares: decimal(size), limit, ref };
      send({ id: ref, place: { ...order, cancel_on_disconnect: true } });
      openRefs.add(ref);
    }
  }
  quoted = price;
};
