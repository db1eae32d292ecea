// A plain script that runs before the page is drawn: the theme (light, dark, or as the system has it), so that nothing
// flashes; and another try if a part of the page does not arrive, so that an unattended screen recovers by itself.
(() => {
  const reload_ms = 3000;
  addEventListener("error", (event) => {
    if (!(event.target instanceof HTMLScriptElement) || event.target.type !== "module") return;  // the charts alone may be missing
    const notice = document.getElementById("notice");
    notice.firstElementChild.textContent = "A part of this page did not arrive.";
    notice.lastElementChild.textContent = "Loading it again.";
    notice.hidden = false;
    setTimeout(() => location.reload(), reload_ms);
  }, {capture: true});  // such events do not bubble

  const choices = ["auto", "light", "dark"];
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;

  function chosen() {
    try {
      const kept = localStorage.getItem("theme");
      return choices.includes(kept) ? kept : "auto";
    } catch {
      return "auto";  // storage may be forbidden
    }
  }

  let choice = chosen();

  function apply() {
    root.dataset.theme = choice === "auto" ? (system.matches ? "dark" : "light") : choice;
    root.dataset.themeChoice = choice;
    const button = document.getElementById("theme");
    if (button) button.querySelector("span").textContent = choice[0].toUpperCase() + choice.slice(1);
    document.dispatchEvent(new Event("themechange"));
  }

  function next() {
    choice = choices[(choices.indexOf(choice) + 1) % choices.length];
    try {
      localStorage.setItem("theme", choice);
    } catch {
      // holds for this page alone, then
    }
    apply();
  }

  system.addEventListener("change", apply);
  apply();
  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", next);
    apply();
  });
})();
