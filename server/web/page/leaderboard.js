// The leaderboard for a projector: asks once a second for what has changed, and lets rows glide to their new places.

import {byId, make, motionReduced, setText} from "./dom.js";
import {clock, span} from "./format.js";
import {Poll} from "./poll.js";
import {grouped} from "./decimal.js";
import {keysOf, leaders, pageStarts, placesOf, placesOn, rounded, rowsIn, signed} from "./standings.js";

const page_s = 8;     // for which a page is shown if there are several
const glide_ms = 700;
const rows_least = 0.07;  // of the height of a screen of 16 to 9

let board = null;     // the newest leaderboard
let tag = null;       // of it
let asOf = null;      // when the server last confirmed it
let page = 0;         // which one is shown
let problem = "";     // why the newest answer was none
const rows = new Map();  // by key, those in the table

// 1. What is asked for: "" the newest round, "all", or a number.
const wanted = () => /^#(all|\d+)$/.exec(location.hash)?.[1] ?? "";
const pathOf = (round) => "api/leaderboard" + (round === "all" ? "" : `?round=${round || "newest"}`);

const poll = new Poll({
  path: pathOf(wanted()),
  every_s: 1,
  // What is a second old does, so that the server makes one answer for all viewers.
  headers: () => ({"Cache-Control": "max-age=1", ...(tag === null ? {} : {"If-None-Match": tag})}),
  take: ([text], response) => {
    if (response.status === 304) return confirm();
    if (!response.ok) return fail(read(text)?.error ?? `the server answers ${response.status}`);
    const answer = read(text);
    if (!Array.isArray(answer?.rounds) || !Array.isArray(answer.standings)) return fail("the answer is not a leaderboard");
    board = answer;
    tag = response.headers.get("ETag");
    confirm();
    showRounds();
    show();
  },
  failed: () => fail("the server cannot be reached"),
});

// The JSON of an answer; null where it is something else, such as the page of a proxy that asks for a password.
function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function choose() {
  poll.stop();
  poll.path = pathOf(wanted());
  board = tag = null;
  page = 0;
  rows.clear();
  byId("standings").tBodies[0].replaceChildren();
  poll.start();
}

// 2. Whether it is up to date.
function confirm() {
  asOf = Date.now();
  problem = "";
  showState();
}

function fail(why) {
  problem = why;
  showState();
}

function showState() {
  const state = byId("state");
  state.dataset.state = problem ? "away" : asOf === null ? "connecting" : "live";
  setText(state.lastElementChild, problem ? "Not live" : asOf === null ? "Connecting" : "Live");
  const notice = byId("notice");
  notice.hidden = !problem;
  setText(notice.firstElementChild, problem ? "Connection lost:" : "");
  setText(notice.lastElementChild, problem && `${problem}. ${asOf === null ? "" : `This is of ${clock(asOf * 1000)}. `}Trying again.`);
  layOut();
}

// 3. The round.
function showRounds() {
  const select = byId("rounds");
  const options = [["", "current"], ["all", "all"], ...board.rounds.map(({round, name}) => [String(round), `${round}: ${name}`])];
  const isShown = select.options.length === options.length && options.every(([, text], i) => select.options[i].text === text);
  if (!isShown) select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
  select.value = wanted();
}

function showTime() {
  if (board === null) return;
  const {rounds, round} = board;
  const shown = rounds.find((one) => one.round === round);
  setText(byId("round-name"), shown ? shown.name : rounds.length ? "All rounds" : "Leaderboard");
  document.title = `${shown ? shown.name : "Leaderboard"} – Exchange`;
  const first = shown ?? rounds[0], next = rounds.find((one) => one.round === round + 1);
  const until = shown && next ? `${clock(first.began_at_us)} to ${clock(next.began_at_us)}` : first ? `since ${clock(first.began_at_us)}, for ${lasting(first)}` : "";
  setText(byId("round-time"), (shown ? `Round ${round}, ` : first ? `Rounds 1 to ${rounds.length}, ` : "") + until);
}

const lasting = ({began_at_us}) => span(Math.max(0, Date.now() - began_at_us / 1000) / 1000);

// 4. The rows.
const capacity = () => {
  const height = byId("main").clientHeight - headHeight();
  return rowsIn(height, rows_least * Math.min(innerHeight, innerWidth * 9 / 16));
};
const headHeight = () => byId("standings").tHead.offsetHeight;

function layOut() {
  const height = (byId("main").clientHeight - headHeight()) / capacity();
  const style = byId("standings").style;
  style.setProperty("--row-height", `${Math.floor(height * 100) / 100}px`);
  style.setProperty("--row-font", `${Math.round(Math.min(height * 0.56, innerWidth * 0.052))}px`);
}

function show({turned = false} = {}) {
  if (board === null) return;
  const {standings} = board;
  const nothing = byId("nothing"), table = byId("standings");
  table.hidden = standings.length === 0;
  nothing.hidden = standings.length > 0;
  setText(nothing, board.rounds.length === 0 ? "The first round has not begun." : "No trades in this round yet.");
  showTime();
  if (standings.length === 0) return setText(byId("shown"), "");
  layOut();

  const most = capacity(), starts = pageStarts(standings.length, most);
  page %= starts.length;
  const places = placesOn(starts[page], standings.length, most);
  const paged = starts.length > 1;
  setText(byId("shown"), paged ? `${starts[page] + 1} to ${places.at(-1) + 1} of ${standings.length}` : `${standings.length} in all`);

  const before = new Map([...rows].map(([key, row]) => [key, row.getBoundingClientRect().top]));
  const keys = keysOf(standings), decimals = placesOf(standings.map((one) => one.profit));
  const volumeDecimals = placesOf(standings.map((one) => one.volume));
  const shown = places.map((place) => {
    const row = rows.get(keys[place]) ?? makeRow();
    fill(row, standings[place], decimals, volumeDecimals);
    row.classList.toggle("leads", place < leaders);
    row.classList.toggle("last-leader", paged && place === leaders - 1);
    return [keys[place], row];
  });
  rows.clear();
  for (const [key, row] of shown) rows.set(key, row);
  const body = table.tBodies[0];
  if (shown.length !== body.rows.length || shown.some(([, row], i) => row !== body.rows[i])) body.replaceChildren(...rows.values());
  if (!motionReduced()) glide(before, turned);
}

function makeRow() {
  return make("tr", "", make("td", "rank"), make("td", "name"), make("td", "profit"), make("td", "volume"), make("td", "trades"));
}

function fill(row, {rank, account, name, profit, volume, trades}, decimals, volumeDecimals) {
  const [rankCell, nameCell, profitCell, volumeCell, tradesCell] = row.cells;
  setText(rankCell, String(rank));
  setText(nameCell, name ?? account);
  nameCell.title = name ?? account;
  nameCell.classList.toggle("account", name === undefined);
  setText(profitCell, signed(profit, decimals));
  profitCell.classList.toggle("gain", profitCell.textContent.startsWith("+"));
  profitCell.classList.toggle("loss", profitCell.textContent.startsWith("−"));
  setText(volumeCell, grouped(rounded(volume, volumeDecimals)));
  setText(tradesCell, grouped(String(trades)));
}

// From where each row was, also on its way: what moves up passes above what moves down.
function glide(before, turned) {
  for (const [key, row] of rows) {
    for (const animation of row.getAnimations()) animation.cancel();
    const top = row.getBoundingClientRect().top, from = before.get(key);
    const options = {duration: glide_ms, easing: "ease-in-out"};
    if (from === undefined) {
      row.animate([{opacity: 0}, {opacity: 1}], options);
    } else if (Math.abs(from - top) >= 1 && !turned) {
      row.style.position = "relative";
      row.style.zIndex = from > top ? "2" : "1";
      row.animate([{transform: `translateY(${from - top}px)`}, {transform: "none"}], options);
    }
  }
}

// 5. Time and window.
byId("rounds").addEventListener("change", (event) => { location.hash = event.target.value; });
addEventListener("hashchange", choose);
addEventListener("resize", () => show());
addEventListener("online", () => poll.hurry());
document.addEventListener("visibilitychange", () => (document.hidden ? poll.stop() : poll.start()));
setInterval(showTime, 1000);
setInterval(() => {
  page += 1;
  if (!document.hidden) show({turned: true});
}, page_s * 1000);
showState();
if (!document.hidden) poll.start();
