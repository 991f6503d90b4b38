// The rules of dond_marl/game.py once more, for the browser. A test plays the same games by both and compares them.
//
// A scenario is {counts: [3], utilities: [[3], [3]]}, rules are {maxTurns, disagree: "ends" | "rejects"}, an action is
// {act, oA: [3]}: oA is what the speaker keeps, and counts for PROPOSE and INSIST. States are values: nothing changes one.
"use strict";

const PROPOSE = 0, INSIST = 1, AGREE = 2, DISAGREE = 3, END = 4;

function worth(utilities, items) {
  return utilities[0] * items[0] + utilities[1] * items[1] + utilities[2] * items[2];
}

function rest(counts, oA) {
  return counts.map((count, item) => count - oA[item]);
}

function newGame(scenario, rules) {
  return { scenario, rules, history: [], claims: [null, null], outcome: null };
}

function mover(state) {
  return state.history.length % 2;
}

// The latest act of a seat; null before its first.
function lastAct(state, seat) {
  const taken = state.history.length;
  const place = (taken + 1) % 2 === seat ? taken - 1 : taken - 2;
  return place >= 0 ? state.history[place].act : null;
}

// Which of the five acts the seat to move may say.
function actMask(state) {
  if (state.outcome) return [false, false, false, false, false];
  const last = lastAct(state, 1 - mover(state));
  return [true, true, last !== null && last <= INSIST, true, true];
}

function isLegal(state, action) {
  if (!actMask(state)[action.act]) return false;
  if (action.act > INSIST) return true;
  const counts = state.scenario.counts;
  return action.oA.length === 3 && action.oA.every((kept, item) => Number.isInteger(kept) && 0 <= kept && kept <= counts[item]);
}

// The negotiation after the seat to move has said `action`; an illegal act is an error.
function apply(state, action) {
  if (!isLegal(state, action)) throw new RangeError(`not legal here: ${JSON.stringify(action)}`);
  const seat = mover(state), offer = action.act <= INSIST;
  const made = { act: action.act, oA: offer ? [...action.oA] : [0, 0, 0] };
  const claims = [...state.claims];
  if (offer) claims[seat] = made.oA;
  const history = [...state.history, made];
  return { ...state, history, claims, outcome: outcomeOf(state, made.act, seat, claims) };
}

function outcomeOf(state, act, seat, claims) {
  const { scenario, rules } = state, nothing = { allocation: null, scores: [0, 0] };
  if (act === AGREE) {
    const offered = claims[1 - seat], mine = rest(scenario.counts, offered);
    return deal(scenario, "AGREE", seat === 0 ? [mine, offered] : [offered, mine]);
  }
  if (act === DISAGREE && rules.disagree === "ends") return { ending: "DISAGREE", ...nothing };
  if (act !== END && rules.maxTurns - state.history.length > 1) return null;
  const ending = act === END ? "END" : "TURN_LIMIT", [first, second] = claims;
  const fits = first && second && rest(scenario.counts, first).every((left, item) => left === second[item]);
  return fits ? deal(scenario, ending, [first, second]) : { ending, ...nothing };
}

function deal(scenario, ending, allocation) {
  return { ending, allocation, scores: allocation.map((items, seat) => worth(scenario.utilities[seat], items)) };
}
