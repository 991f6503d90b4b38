// The tour of the table, once for each browser: four steps that cover nothing they explain. Escape, Skip or the first act ends it.
const TOUR = [
  [".lanes", "The pile", "Tap an item to move it between you, below, and your partner, above."],
  [".side.me", "What it is worth", "Items are worth points to you, and other points to your partner. Neither sees the other's."],
  [".acts", "What you say", "Propose the split on the table, or accept theirs. You can type a sentence instead."],
  [".status", "How it ends", "Acts are counted here. Without a deal both get nothing. Afterwards you see what each act cost."],
];

function startTour() {
  let seen = false;
  try { seen = Boolean(localStorage.getItem("toured")); } catch { seen = true; }
  if (seen || document.querySelector(".tour") || !document.querySelector(".game .board")) return;
  const before = document.activeElement;
  const card = document.createElement("section");
  card.className = "tour panel";
  card.setAttribute("role", "dialog");
  card.setAttribute("aria-labelledby", "tour-title");
  card.setAttribute("aria-describedby", "tour-text");
  const made = (tag, className, id) => {
    const part = document.createElement(tag);
    part.className = className;
    if (id) part.id = id;
    card.append(part);
    return part;
  };
  const place = made("p", "quiet"), title = made("h2", "", "tour-title"), text = made("p", "", "tour-text");
  const skip = made("button", "button small"), on = made("button", "button primary small");
  skip.type = on.type = "button";
  skip.textContent = "Skip";
  let step = 0, shown = null;

  function show() {
    shown?.classList.remove("toured");
    const [, name, words] = TOUR[step];
    place.textContent = `${step + 1} of ${TOUR.length}`;
    title.textContent = name;
    text.textContent = words;
    on.textContent = step + 1 < TOUR.length ? "Next" : "Begin";
    mark();
    on.focus({ preventScroll: true });
  }
  // Also after a change of the page, as when a hint arrives and moves everything down.
  function mark() {
    if (!card.isConnected) return;
    shown = document.querySelector(TOUR[step][0]);
    if (!shown) { end(); return; } // the table was left
    shown.classList.add("toured");
    shown.scrollIntoView({ block: "center" });
    card.classList.remove("above");
    const own = card.getBoundingClientRect();
    const isCovered = (part) => {
      const { top, bottom, left, right } = part.getBoundingClientRect();
      return bottom > own.top && top < own.bottom && right > own.left && left < own.right;
    };
    const fitsAbove = shown.getBoundingClientRect().top > own.height + 24; // then the acts are kept free too
    if (isCovered(shown) || (fitsAbove && isCovered(document.querySelector(".acts")))) card.classList.add("above");
  }
  function close() {
    document.removeEventListener("shown", mark);
    document.removeEventListener("submit", close);
    shown?.classList.remove("toured");
    card.remove();
    try { localStorage.setItem("toured", "yes"); } catch { /* it is shown again next time */ }
  }
  function end() {
    close();
    const back = before && before !== document.body && before.isConnected ? before : document.querySelector(".game");
    back?.focus({ preventScroll: true });
  }
  skip.addEventListener("click", end);
  on.addEventListener("click", () => { step += 1; if (step < TOUR.length) show(); else end(); });
  card.addEventListener("keydown", (event) => { if (event.key === "Escape") end(); });
  document.addEventListener("shown", mark);
  document.addEventListener("submit", close);
  document.body.append(card); // outside of <main>, whose content changes
  show();
}
document.addEventListener("shown", startTour);
startTour();
