// What scripted partners share: what the seat to move sees, and how it chooses among the splits of the pool.
// The same as partners/scripted/{offers,claims}.py, for one game at a time.
"use strict";

// What the seat to move sees; `noise` are 4 or more uniforms in [0, 1), fresh each turn.
function view(state, noise) {
  const seat = mover(state), theirs = state.claims[1 - seat], { counts, utilities } = state.scenario;
  const turn = {
    counts,
    values: utilities[seat],
    seat,
    taken: state.history.length,
    maxTurns: state.rules.maxTurns,
    mask: actMask(state),
    lastAct: lastAct(state, 1 - seat),
    offer: theirs ? rest(counts, theirs) : [0, 0, 0], // what the partner's latest claim leaves
    own: claimsOf(state, seat),
    theirs: claimsOf(state, 1 - seat),
    noise,
  };
  turn.whole = worth(turn.values, counts);
  turn.gift = worth(turn.values, turn.offer);
  turn.onTheTable = turn.mask[AGREE];
  return turn;
}

// What a seat claimed on each of its turns, null where it made no offer.
function claimsOf(state, seat) {
  return state.history.filter((_, turn) => turn % 2 === seat).map(({ act, oA }) => (act <= INSIST ? oA : null));
}

const made = (claims) => claims.filter((claim) => claim !== null);
const distinct = (claims) => new Set(made(claims).map(String)).size;
const latest = (claims) => made(claims).at(-1) ?? [0, 0, 0];
// What each of the partner's claims leaves the seat in points, -1 where it made none.
const worthLeft = (turn) => turn.theirs.map((claim) => (claim ? worth(turn.values, rest(turn.counts, claim)) : -1));

// The fewest points that are at least `share` of `whole`.
const needed = (share, whole) => Math.ceil(share * whole - 1e-9);
const clip = (number, low, high) => Math.min(Math.max(number, low), high);
const ownTurn = (turn) => Math.floor(turn.taken / 2);

// The time on the seat's own turns: 0 at its first, 1 at its last.
function progress(turn) {
  const last = Math.floor((turn.maxTurns - turn.seat + 1) / 2) - 1;
  return last > 0 ? ownTurn(turn) / last : 1;
}

// Rounded to the nearest whole number, halves to the even one.
function rint(number) {
  const floor = Math.floor(number), over = number - floor;
  return over > 0.5 || (over === 0.5 && floor % 2) ? floor + 1 : floor;
}

// AGREE where `accept` and an offer is on the table, otherwise `act` with the claim.
function answer(turn, accept, oA, act = PROPOSE) {
  return accept && turn.onTheTable ? { act: AGREE, oA: [0, 0, 0] } : { act, oA };
}

const keepValued = (turn) => turn.counts.map((count, item) => (turn.values[item] > 0 ? count : 0));

// Every split of the pool, counting up with the last type fastest.
function splits(counts) {
  const every = [];
  for (let a = 0; a <= counts[0]; a++)
    for (let b = 0; b <= counts[1]; b++) for (let c = 0; c <= counts[2]; c++) every.push([a, b, c]);
  return every;
}

const items = (split) => split[0] + split[1] + split[2];

// The first of `some` with the smallest key; keys are lists of numbers, compared from the left.
function least(some, key) {
  let best = null, bestKey = null;
  for (const one of some) {
    const own = key(one), place = bestKey ? own.findIndex((number, index) => number !== bestKey[index]) : 0;
    if (!bestKey || (place >= 0 && own[place] < bestKey[place])) [best, bestKey] = [one, own];
  }
  return best;
}

// The split worth least to the seat among those worth at least `target` points, which is cut to the whole pool.
function worstAtLeast(turn, target) {
  const enough = clip(target, 0, turn.whole);
  const some = splits(turn.counts).filter((split) => worth(turn.values, split) >= enough);
  return least(some, (split) => [worth(turn.values, split), items(split)]);
}

// The most valuable items first, item by item, until they are worth `target` points.
function fill(turn, target) {
  const taken = [0, 0, 0];
  let missing = target;
  for (const item of [0, 1, 2].sort((a, b) => turn.values[b] - turn.values[a])) {
    const value = turn.values[item];
    if (!value) continue;
    taken[item] = Math.min(Math.ceil(Math.max(missing, 0) / value), turn.counts[item]);
    missing -= taken[item] * value;
  }
  return taken;
}

// The seat's splits from its best to its worst, without those that keep something worthless to it.
function ranking(turn) {
  const order = (a, b) => worth(turn.values, b) - worth(turn.values, a) || items(a) - items(b);
  return splits(keepValued(turn)).sort(order);
}

// Split number `rank` of the ranked ones, at most the last that is worth anything.
function atRank(turn, ranks, rank) {
  return ranks[clip(rank, 0, Math.max(worthwhile(turn, ranks) - 1, 0))];
}

const worthwhile = (turn, ranks) => ranks.filter((split) => worth(turn.values, split) > 0).length;
