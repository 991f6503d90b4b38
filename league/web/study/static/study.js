// Makes the pages of a study pleasant; without it they work as well.
"use strict";
const opened = performance.now();

// How long the page was looked at, by the browser's own clock; a form is sent once.
for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) { event.preventDefault(); return; }
    form.dataset.sent = "yes";
    const field = form.elements.namedItem("browser");
    if (field) field.value = String(Math.round(performance.now() - opened));
  });
}
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

// What the chosen split is worth, as it is chosen.
const told = document.getElementById("told");
if (told) {
  const rows = [...document.querySelectorAll(".stepper-row")];
  const whole = told.closest("[data-whole]").dataset.whole;
  const show = () => {
    let worth = 0;
    const kept = [];
    for (const row of rows) {
      const chosen = row.querySelector("input:checked");
      const number = Number(chosen.value), item = row.dataset.item;
      worth += number * Number(chosen.dataset.worth);
      if (number) kept.push(`${number} ${item}${number > 1 ? "s" : ""}`);
      row.querySelectorAll(".glyph").forEach((glyph, place) => glyph.classList.toggle("given", place >= number));
    }
    const last = kept.pop();
    const words = last ? (kept.length ? `${kept.join(", ")} and ${last}` : last) : "nothing";
    told.textContent = `You keep ${words}: ${worth} ${worth === 1 ? "point" : "points"} of ${whole}.`;
    const detail = document.querySelector(".act.propose small");
    if (detail) detail.textContent = `this split, ${worth} ${worth === 1 ? "point" : "points"} for you`;
  };
  for (const row of rows) row.addEventListener("change", show);
  show();
}
const log = document.querySelector(".log");
if (log) log.scrollTop = log.scrollHeight;

// The page is loaded anew when something has changed that others, or time, have done.
const version = document.body.dataset.waits;
async function wait() {
  for (;;) {
    try {
      const answer = await fetch(`/changed?version=${version}`);
      if (!answer.ok || (await answer.json()).changed) { location.replace("/"); return; }
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 3000));
    }
  }
}
if (version !== undefined) wait();
