#pragma once
// The style and the script of a report's page, for html_page.cpp alone.

namespace exchange::loadgen {

inline constexpr const char* page_style = R"(
:root { color-scheme: light dark; --ink: #20242b; --soft: #5d6570; --paper: #fdfdfc; --line: #e2e4e8; --card: #f4f5f6;
  --bad: #9f1d2c; --bad-paper: #fbecec; --warn: #7a4d00; --warn-paper: #fcf3e0; --good: #226a41; --good-paper: #ebf5ee; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e4e7eb; --soft: #9ca5b1; --paper: #16191d; --line: #30353c; --card: #1e2227;
    --bad: #ffa3a8; --bad-paper: #3a1c20; --warn: #f3c26b; --warn-paper: #352a14; --good: #86d2a4; --good-paper: #182b20; }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 2.2rem clamp(1rem, 3vw, 2.4rem) 4rem; max-width: 76rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif; overflow-wrap: anywhere; }
h1 { margin: 0; font-size: clamp(1.35rem, 1.1rem + 1.4vw, 1.9rem); font-weight: 650; line-height: 1.2; letter-spacing: -.012em; }
h2 { margin: 3rem 0 1rem; padding-bottom: .35rem; border-bottom: 1px solid var(--line); font-size: 1.15rem; font-weight: 650; break-after: avoid; }
h3 { margin: 0 0 .4rem; font-size: .95rem; font-weight: 600; }
p { margin: .4rem 0; }
.about { color: var(--soft); margin-bottom: 1.4rem; }
.note { color: var(--soft); font-size: .88rem; max-width: 46rem; }
.notice { margin: .6rem 0; padding: .7rem 1rem; border-left: 4px solid; border-radius: 0 6px 6px 0; break-inside: avoid; print-color-adjust: exact; }
.notice strong { font-weight: 650; }
.notice p, .notice ul { margin: .2rem 0 0; font-size: .92rem; }
.bad { color: var(--bad); } .notice.bad { background: var(--bad-paper); }
.warn { color: var(--warn); } .notice.warn { background: var(--warn-paper); }
.good { color: var(--good); } .notice.good { background: var(--good-paper); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(12.5rem, 100%), 1fr)); gap: .8rem; margin: 1.4rem 0 0; }
.card { padding: .85rem 1.1rem 1rem; background: var(--card); border-radius: 8px; break-inside: avoid; print-color-adjust: exact; }
.card h3 { color: var(--soft); font-size: .84rem; font-weight: 500; margin: 0; }
.card .figure { font-size: 1.9rem; font-weight: 600; line-height: 1.25; letter-spacing: -.02em; font-variant-numeric: tabular-nums; }
.card dl { display: grid; grid-template-columns: 1fr auto; gap: .05rem .8rem; margin: .3rem 0 0; font-size: .88rem; }
.card dt { color: var(--soft); } .card dd { margin: 0; text-align: right; font-variant-numeric: tabular-nums; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(27rem, 100%), 1fr)); gap: 2.2rem 2.6rem; }
/* Drawings side by side stand level, however tall what is above them. */
.charts.level > figure { display: flex; flex-direction: column; }
.charts.level .chart { margin-top: auto; padding-top: .35rem; }
.charts table { width: 100%; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem 1.2rem .28rem 0; text-align: left; vertical-align: baseline; border-bottom: 1px solid var(--line); }
th { font-weight: 500; color: var(--soft); overflow-wrap: normal; }
thead th { font-size: .86em; }
.number { text-align: right; white-space: nowrap; }
td:last-child, th:last-child { padding-right: 0; }
tr { break-inside: avoid; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(21rem, 100%), 1fr)); gap: 1.8rem 3rem; align-items: start; }
.sides table { width: 100%; }
.sides .plain th { width: 42%; }
.stages { width: 100%; }
.stages td:nth-child(2) { width: 48%; padding-right: 1.4rem; }
.stages td div { height: .85rem; border-radius: 2px; background: var(--c0); min-width: 2px; print-color-adjust: exact; }
pre { margin: 0 0 1.6rem; padding: .8rem 1rem; background: var(--card); border-radius: 6px; white-space: pre-wrap;
  font: .86rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; print-color-adjust: exact; }
.words { font: .92em ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; white-space: pre-wrap; }
#readout { position: fixed; display: none; z-index: 1; padding: .4rem .65rem; border-radius: 5px; background: var(--ink); color: var(--paper);
  font-size: .8rem; line-height: 1.45; white-space: pre; pointer-events: none; font-variant-numeric: tabular-nums; }
@media (max-width: 560px) {
  body { padding-top: 1.2rem; font-size: 15px; }
  h2 { margin-top: 2.2rem; }
  th, td { padding-right: .8rem; }
  .stages td:nth-child(2) { width: 26%; padding-right: .7rem; }
  .wide { display: none; }
}
@media print {
  :root { --paper: #fff; }
  body { font-size: 10.5pt; max-width: none; padding: 0; }
  h2 { margin-top: 1.6rem; }
  .cards { grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); }
  .charts { grid-template-columns: 1fr 1fr; gap: 1.2rem 1.6rem; }
}
)";

// Shows the tooltip of what is pointed at or touched at once, and beside the pointer. XML does
// without its less-than and ampersand.
inline constexpr const char* page_script = R"(
(function () {
  var box = document.createElement("div");
  box.id = "readout";
  document.body.appendChild(box);
  document.querySelectorAll(".chart .hit").forEach(function (hit) {
    var title = hit.querySelector("title"), text = title.textContent;
    title.remove();
    function show(event) {
      box.textContent = text;
      box.style.display = "block";
      var room = document.documentElement.clientWidth - box.offsetWidth - 8;
      box.style.left = Math.max(4, Math.min(event.clientX + 14, room)) + "px";
      box.style.top = Math.max(4, event.clientY - box.offsetHeight - 14) + "px";
    }
    hit.addEventListener("pointermove", show);
    hit.addEventListener("pointerdown", show);
    hit.addEventListener("pointerleave", function () { box.style.display = "none"; });
  });
})();
)";

}  // namespace exchange::loadgen
