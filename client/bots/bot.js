// Quotes a bid and an ask around the last price: node bot.js ACCOUNT SYMBOL HOST:PORT
// Or paste it into the console of the dashboard, with your account and symbol in the next line.
const [account = "2001", symbol = "SPY", server = globalThis.location?.host] =
  globalThis.process?.argv.slice(2) ?? [];
const login = { account, key: "" }; // of the account, if the server has --auth
// Numbers of JavaScript are not exact: prices and shares are whole numbers of 0.00000001.
const [size, positionMax, distance] = ["10", "50", "0.10"].map(units);

let [price, quoted] = [0n, 0n]; // the last price, and the one that the orders are around
let [position, cash] = [0n, 0n]; // bought and earned since the start
const [refs, limits] = [{}, {}]; // of each side's order, until it is known to have ended
let nextRef = Date.now();

function units(decimal) {
  const [whole, rest = ""] = decimal.split(".");
  return BigInt(whole + rest.padEnd(8, "0"));
}
const decimal = (units) => `${units / 100000000n}.${String(units % 100000000n).padStart(8, "0")}`;

const socket = new WebSocket(`ws://${server}/ws`);
const send = (request) => socket.send(JSON.stringify(request));
socket.onopen = () => {
  send({ id: "login", login });
  send({ id: "try", cancel_all: { symbol } }); // of an earlier run
  send({ subscribe: login });
};
socket.onclose = () => {
  throw new Error("the connection is closed");
};
socket.onmessage = ({ data }) => {
  const message = JSON.parse(data);
  if (message.error && message.id !== "try") { // which may find nothing open
    socket.close();
    throw new Error(message.error);
  }
  if (message.type === "account") send({ subscribe: symbol }); // from here on, every event comes
  for (const event of message.events ?? []) {
    if (!event.ref || event.ref !== refs[event.side]) continue;
    if (event.event === "executed") {
      const shares = units(event.shares) * (event.side === "buy" ? 1n : -1n);
      position += shares;
      cash -= shares * units(event.price);
      const profit = Number(cash + position * units(event.price)) / 1e16;
      console.log(`${event.side} ${event.shares} at ${event.price}: ` +
        `position ${Number(position) / 1e8}, profit ${profit.toFixed(2)}`);
    }
    if (event.open === "0") delete refs[event.side];
  }
  if (message.trades) { // a snapshot has the newest first, an update last
    const newest = message.trades.at(message.type === "snapshot" ? 0 : -1);
    price = newest ? units(newest.price) : price || units("100");
  }
  if (!price) return;
  // If the price falls, the bid moves first, so that it never meets the ask.
  const sides = [["buy", 1n], ["sell", -1n]];
  for (const [side, sign] of price < quoted ? sides : sides.reverse()) {
    const terms = { side, shares: decimal(size), limit: decimal(price - sign * distance) };
    if (!refs[side] && sign * position + size <= positionMax) {
      refs[side] = `${side}-${nextRef++}`;
      const order = { symbol, ref: refs[side], cancel_on_disconnect: true, ...terms };
      send({ id: refs[side], place: order });
    } else if (refs[side] && limits[side] !== terms.limit) {
      send({ id: "try", replace: { order: `ref:${refs[side]}`, ...terms } });
    }
    limits[side] = terms.limit;
  }
  quoted = price;
};
