// Light or dark, before anything is painted: the theme that was chosen last, otherwise the system's.
"use strict";
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem("theme", theme); } catch { /* this browser stores nothing */ }
}
try {
  const stored = localStorage.getItem("theme");
  if (stored) document.documentElement.dataset.theme = stored;
} catch { /* as of a page opened as a file */ }
document.addEventListener("click", (event) => {
  if (!event.target.closest(".theme")) return;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  setTheme((document.documentElement.dataset.theme || (dark ? "dark" : "light")) === "dark" ? "light" : "dark");
});
