// Light, dark, or as the system has it. A plain script that runs before the page is drawn, so that nothing flashes.
(() => {
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
