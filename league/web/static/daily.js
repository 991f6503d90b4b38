// The streak of the deal of the day: which days were played, kept by this browser alone.
function keptStreak() {
  try {
    const kept = JSON.parse(localStorage.getItem("daily"));
    if (kept && typeof kept.last === "string" && Number.isInteger(kept.streak)) return kept;
  } catch { /* nothing readable is kept */ }
  return null;
}

function dayBefore(day) {
  return new Date(Date.parse(`${day}T00:00:00Z`) - 86400000).toISOString().slice(0, 10);
}

function days(number) {
  return number === 1 ? "1 day" : `${number} days`;
}

function showStreak(day) {
  const kept = keptStreak();
  let text = "Play it to begin a streak.";
  if (kept && kept.last === day) text = `Played: ${kept.score} of ${kept.whole} points. Streak: ${days(kept.streak)}.`;
  else if (kept && kept.last === dayBefore(day)) text = `Streak: ${days(kept.streak)}. Play today to go on.`;
  for (const place of document.querySelectorAll(".daily-streak")) place.textContent = text;
}

function countDay(day, score, whole) {
  const kept = keptStreak();
  if (!kept || kept.last < day) {
    const streak = kept && kept.last === dayBefore(day) ? kept.streak + 1 : 1;
    try {
      localStorage.setItem("daily", JSON.stringify({ last: day, streak, score, whole }));
    } catch { /* this browser keeps nothing */ }
  }
  showStreak(day);
}
