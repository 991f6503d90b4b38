// Generated programs: the interpreter of partners/scripted/generated.py for one game, and a program in words.
// The parameters hold the program's number, and from Python the `dials` (name and pieces), their `levels`, and `phrases`.
"use strict";

const [COUNT, EVEN, MIRROR] = [0, 1, 2]; // models of what the partner wants
const [WORST, FEWEST, , NEAREST, FAIREST, BEST, WHOLE_TYPES] = [0, 1, 2, 3, 4, 5, 6]; // among splits that are about as good
const [, CONSTANT, PATH, COMBINED] = [0, 1, 2, 3]; // rules of acceptance
const [, ROUNDED, COUNTED, BIASED] = [0, 1, 2, 3]; // perceptions of the own values
const SHARE = 4096, POINTS = 512;

PARTNERS.generated = (turn, parameters) => {
  const dials = dialsOf(parameters), seen = perceived(turn, dials), whole = Math.max(seen.whole, 1);
  const past = worthLeft(seen).map((points) => points / whole), every = splits(seen.counts);
  const aspiration = aspirationOf(seen, dials, past), repeats = (claim) => {
    const place = [...seen.own].reverse().findIndex((own) => String(own) !== String(claim));
    return place < 0 ? seen.own.length : place;
  };
  let claim = claimOf(seen, dials, every, aspiration);
  let accept = accepts(seen, dials, past, aspiration, worth(seen.values, claim) / whole), leave = leaves(seen, dials, past);
  const act = repeats(claim) >= dials.emphasis ? INSIST : PROPOSE;
  if (turn.noise[0] < dials.slip) {
    claim = every[Math.floor(turn.noise[1] * every.length)];
    accept = leave = false;
  }
  return leave ? { act: END, oA: [0, 0, 0] } : answer(turn, accept, claim, act);
};

// The dials of a program by name; each is a function of its number and the dial's place.
function dialsOf({ program, dials, levels }) {
  const wrap = (number) => BigInt.asUintN(64, number);
  let mixed = BigInt(program);
  mixed = wrap((mixed ^ (mixed >> 30n)) * 0xbf58476d1ce4e5b9n);
  mixed = wrap((mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn);
  const seed = Number(BigInt.asUintN(32, mixed ^ (mixed >> 31n)));
  const values = {};
  dials.forEach(([name, pieces], place) => {
    let number = seed + Math.imul(place + 1, 0x9e3779b9);
    number = Math.imul(number ^ (number >>> 16), 0x85ebca6b);
    number = Math.imul(number ^ (number >>> 13), 0xc2b2ae35);
    values[name] = valueAt(pieces, (Math.floor(((number ^ (number >>> 16)) >>> 0) / (2 ** 32 / levels)) + 0.5) / levels);
  });
  values.end = Math.min(values.end, values.start);
  return values;
}

// The value at `uniform` in 0..1 of a dial that is uniform in low..high with each chance.
function valueAt(pieces, uniform) {
  let total = 0;
  const begins = pieces.map(([chance]) => (total += chance) - chance), piece = begins.findLastIndex((begin) => begin <= uniform);
  const [chance, low, high] = pieces[piece];
  return low + ((high - low) * (uniform - begins[piece])) / chance;
}

function perceived(turn, { perception, biased }) {
  const values = turn.values.map((value, item) => {
    if (perception === ROUNDED) return value >= 4 ? 6 : value > 0 ? 2 : 0;
    if (perception === COUNTED) return 1;
    return perception === BIASED && item === biased ? Math.min(value * 2, 10) : value;
  });
  return { ...turn, values, whole: worth(values, turn.counts) };
}

// The share of the perceived whole that the program wants now; `past`: the shares offered, negative without an offer.
function aspirationOf(turn, dials, past) {
  const time = progress(turn), number = ownTurn(turn), held = Math.floor(number / dials.hold) * dials.hold;
  let t = time >= 1 || number === 0 ? time : (time * held) / number;
  t = clip((t - dials.plateau) / (1 - dials.plateau), 0, 1);
  if (dials.steps > 0) t = Math.floor(t * dials.steps) / dials.steps;
  let share = dials.start - (dials.start - dials.end) * t ** dials.exponent;
  if (time >= 1) share *= dials.fold;
  const made = past.filter((offered) => offered >= 0), now = made.at(-1) ?? -1, before = made.at(-2) ?? -1;
  const mean = made.reduce((sum, offered) => sum + offered, 0) / made.length;
  const given = before >= 0 ? Math.max(now - [made[0], before, mean][dials.reference], 0) : 0;
  share -= dials.reciprocity * given;
  share += dials.firmness * (dials.start - share) * (before >= 0 && now <= before);
  share -= dials.yielding * (turn.lastAct === INSIST);
  return clip(share + (turn.noise[2] * 2 - 1) * dials.jitter, 0, 1);
}

// The favourite of the splits that are about as good as the aspiration; of equals the cheapest.
function claimOf(turn, dials, every, aspiration) {
  const enough = needed(aspiration, turn.whole), points = every.map((split) => worth(turn.values, split));
  const lowest = Math.min(turn.whole, ...points.filter((number) => number >= enough));
  const most = Math.max(lowest, enough + Math.floor(dials.slack * turn.whole)), score = scoring(turn, dials);
  let best = null, highest = -Infinity;
  every.forEach((split, place) => {
    const own = score(split, points[place]) * POINTS - points[place];
    if (points[place] >= enough && points[place] <= most && own > highest) [best, highest] = [split, own];
  });
  return best;
}

function scoring(turn, dials) {
  const { choice } = dials;
  if (choice === WORST || choice === BEST) return (_, points) => (choice === BEST ? points : -points);
  if (choice === FEWEST) return (split) => -items(split);
  if (choice === WHOLE_TYPES) return (split) => -split.filter((kept, item) => kept > 0 && kept < turn.counts[item]).length;
  const model = modelOf(turn, dials).map((share) => Math.floor(share * SHARE));
  if (choice === NEAREST) return (split) => -worth(model, split.map((kept, item) => Math.abs(kept - turn.offer[item])));
  return (split, points) => {
    const left = -worth(model, split);
    return choice === FAIREST ? Math.min(Math.floor((points * SHARE) / Math.max(turn.whole, 1)), SHARE + left) : left;
  };
}

// What one item of each type is worth to the partner by the program's model, in shares of its whole.
function modelOf(turn, { model, learning }) {
  const most = Math.max(...turn.values), weights = turn.values.map((value, item) => {
    const count = Math.max(turn.counts[item], 1);
    if (model === COUNT) return 1 + (learning * made(turn.theirs).reduce((sum, claim) => sum + claim[item], 0)) / count;
    return model === EVEN ? 1 / count : (model === MIRROR ? value : most - value) + 0.01;
  });
  const whole = worth(weights, turn.counts);
  return weights.map((weight) => weight / Math.max(whole, 0.01));
}

// Whether the offer on the table is good enough; `claimed`: the share of the claim instead.
function accepts(turn, dials, past, aspiration, claimed) {
  let offered = past.at(-1) ?? -1;
  const best = Math.max(-1, ...past.slice(0, -1)), late = progress(turn) >= 0.5 && best >= 0;
  let enough = claimed;
  if (dials.acceptance === CONSTANT) enough = dials.level;
  if (dials.acceptance === PATH) enough = aspiration;
  if (dials.acceptance === COMBINED) enough = late ? Math.min(aspiration, best) : aspiration;
  if (dials.envy > 0 && past.length) {
    const other = worth(rest(turn.counts, turn.offer), modelOf(turn, dials));
    offered -= dials.envy * Math.max(other - offered, 0);
  }
  enough = enough - dials.ease - dials.pressed * (turn.lastAct === INSIST);
  if (turn.taken >= turn.maxTurns - 2) enough *= dials.reserve;
  return offered >= enough - 1e-9;
}

// Whether the program ends the talk: its patience is over, or it makes no last offer.
function leaves(turn, dials, past) {
  const bored = dials.patience > 0 && ownTurn(turn) >= dials.patience && (past.at(-1) ?? -1) < dials.contempt;
  return bored || (turn.taken === turn.maxTurns - 1 && dials.closing > 0);
}

// What a program does, in words.
function described(parameters) {
  const dials = dialsOf(parameters);
  dials.range = dials.start - dials.end;
  const holds = ([, when]) => Object.entries(when).every(([name, [low, high]]) => low <= dials[name] && dials[name] < high);
  const shown = (_, name) => (dials[name] <= 1 ? `${rint(dials[name] * 100)}%` : String(rint(dials[name])));
  return parameters.phrases.filter(holds).map(([text]) => text.replace(/\{(\w+)\}/g, shown)).join("; ");
}
