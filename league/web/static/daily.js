// The streak of the deal of the day: which days were played, stored by this browser alone.
function storedStreak() {
  try {
    const stored = JSON.parse(localStorage.getItem("daily"));
    if (stored && typeof stored.last === "string" && Number.isInteger(stored.streak)) return stored;
  } catch { /* nothing readable is stored */ }
  return null;
}

function dayBefore(day) {
  return new Date(Date.parse(`${day}T00:00:00Z`) - 86400000).toISOString().slice(0, 10);
}

function days(number) {
  return number === 1 ? "1 day" : `${number} days`;
}

// Show the streak in every place for it, and count the day where a place holds the score of its game.
function showStreak() {
  for (const place of document.querySelectorAll(".daily-streak")) {
    const { day, score, whole } = place.dataset;
    if (score !== undefined) countDay(day, Number(score), Number(whole));
    delete place.dataset.score; // it is counted
    const stored = storedStreak();
    let text = "Play it to begin a streak.";
    if (stored && stored.last === day) text = `Played: ${stored.score} of ${stored.whole} points. Streak: ${days(stored.streak)}.`;
    else if (stored && stored.last === dayBefore(day)) text = `Streak: ${days(stored.streak)}. Play today to go on.`;
    if (place.textContent !== text) place.textContent = text;
  }
}

// Only the first game of a day counts.
function countDay(day, score, whole) {
  const stored = storedStreak();
  if (stored && stored.last >= day) return;
  const streak = stored && stored.last === dayBefore(day) ? stored.streak + 1 : 1;
  try {
    localStorage.setItem("daily", JSON.stringify({ last: day, streak, score, whole }));
  } catch { /* this browser stores nothing */ }
}
document.addEventListener("shown", showStreak);
showStreak();
