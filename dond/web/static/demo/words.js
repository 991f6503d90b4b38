// Acts in plain English, as dond_marl/records/transcript.py words them, and what the page says of a game.
"use strict";

const NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
const OFFERS = [
  [
    ({ mine, left }) => `I'd like ${mine}; you can have ${left}.`,
    ({ mine, yours }) => `How about I take ${mine} and you get ${yours}?`,
    ({ mine, yours }) => `You can have ${yours} if I get ${mine}.`,
  ],
  [
    ({ mine, left }) => `I insist: I'd like ${mine}; you can have ${left}.`,
    ({ mine, yours }) => `I insist that I take ${mine} and you get ${yours}.`,
    ({ mine, yours }) => `I insist. You can have ${yours} if I get ${mine}.`,
  ],
];
const ANSWERS = {
  [AGREE]: ["Deal.", "Okay, agreed.", "That works for me."],
  [DISAGREE]: ["No, that doesn't work for me.", "I can't accept that.", "Sorry, no deal on that."],
  [END]: ["Enough talk: my last claim stands.", "Enough talk, let us choose.", "Enough talk from me."],
};
const WALKING_AWAY = ["No deal. I walk away.", "Then there is no deal.", "Sorry, no deal."];

// What the speaker of an act says, in one of three wordings; `final`: DISAGREE ends the game.
function inEnglish({ act, oA }, counts, variant, final) {
  const number = variant % 3;
  if (act > INSIST) return (act === DISAGREE && final ? WALKING_AWAY : ANSWERS[act])[number];
  const theirs = rest(counts, oA), yours = shareInWords(theirs, counts);
  const left = yours === "everything" || yours === "nothing" ? yours : "the rest";
  return OFFERS[act][number]({ mine: shareInWords(oA, counts), yours, left });
}

// "the two hats and one ball": a type that is taken whole has the article.
function shareInWords(some, counts) {
  if (some.every((number, item) => number === counts[item])) return "everything";
  const named = ITEMS.map((item, place) => {
    const number = some[place], plural = number === 1 ? item : `${item}s`;
    if (!number) return null;
    if (number < counts[place]) return `${NUMBERS[number]} ${plural}`;
    return number === 1 ? `the ${plural}` : `the ${NUMBERS[number]} ${plural}`;
  }).filter(Boolean);
  return [named.slice(0, -1).join(", "), ...named.slice(-1)].filter(Boolean).join(" and ") || "nothing";
}

function headline(state, seat) {
  const { history, scenario, claims } = state, said = history.at(-1);
  if (!said) return "You open. Tap items to sort them, then propose.";
  if (said.act === DISAGREE) return "They turned your offer down. Make another one.";
  const left = rest(scenario.counts, claims[1 - seat]);
  if (!left.some(Boolean)) return "They want everything: you would get nothing.";
  const how = said.act === INSIST ? "insist: you get" : "offer you";
  return `They ${how} ${inWords(left)}, worth ${points(worth(scenario.utilities[seat], left))} to you.`;
}

function timeLeft(state) {
  const left = state.rules.maxTurns - state.history.length;
  if (state.outcome) return "the talk is over";
  if (left === 1) return "Last act of all: accept, or claim exactly what they leave you";
  return `${left} acts left${left === 2 ? ", this is your last one" : ""}`;
}

function endingText(state, seat) {
  const { ending, allocation } = state.outcome, who = (state.history.length - 1) % 2 === seat ? "You" : "They";
  if (ending === "AGREE") return `Deal! ${who} accepted.`;
  if (ending === "DISAGREE") return `No deal. ${who} walked away.`;
  const how = ending === "TURN_LIMIT" ? "Time is up" : `${who} stopped the talk`;
  if (allocation) return `Deal! ${how}, and the claims fit.`;
  return `No deal. ${how}, and ${state.claims.includes(null) ? "not both had claimed" : "the claims do not fit"}.`;
}

// Every pair of scores that some split pays, for the viewer: best (on the Pareto frontier) and nash marked.
function possible(scenario, seat) {
  const spots = new Map();
  for (const kept of splits(scenario.counts)) {
    const mine = worth(scenario.utilities[seat], kept);
    const theirs = worth(scenario.utilities[1 - seat], rest(scenario.counts, kept));
    if (!spots.has(`${mine},${theirs}`)) spots.set(`${mine},${theirs}`, { mine, theirs, kept });
  }
  const every = [...spots.values()], product = Math.max(...every.map((spot) => spot.mine * spot.theirs));
  for (const spot of every) {
    spot.best = !every.some((other) => other !== spot && other.mine >= spot.mine && other.theirs >= spot.theirs);
    spot.nash = spot.best && spot.mine * spot.theirs === product;
  }
  return every;
}

function verdict(state, seat) {
  const spots = possible(state.scenario, seat), nash = spots.find((spot) => spot.nash);
  const fair = `${inWords(nash.kept)} for you, ${nash.mine} points to ${nash.theirs}`;
  if (!state.outcome.allocation) return `Both get nothing. A fair deal was there: ${fair}.`;
  const mine = state.outcome.scores[seat], theirs = state.outcome.scores[1 - seat];
  if (!mine || !theirs) {
    const who = mine ? "They" : theirs ? "You" : "You and they";
    return `${who} got nothing from this deal. A fair one was there: ${fair}.`;
  }
  const better = spots.filter((spot) =>
    spot.best && spot.mine >= mine && spot.theirs >= theirs && (spot.mine !== mine || spot.theirs !== theirs));
  if (!better.length) {
    const isNash = spots.some((spot) => spot.nash && spot.mine === mine && spot.theirs === theirs);
    return `An efficient deal${isNash ? ", with the largest product of both seats' points (Nash bargaining)" : ""}: neither side could have had more without the other having less.`;
  }
  const more = least(better, (spot) => [-spot.mine, -spot.theirs]);
  return `Points were left on the table: ${more.mine} for you and ${more.theirs} for them was possible.`;
}
