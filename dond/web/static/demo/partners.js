// Scripted partners that look at points alone: the same as those of partners/scripted, where each has its source.
// PARTNERS maps a name to act(turn, parameters) -> {act, oA}; the parameters and their defaults come from Python.
"use strict";

const PARTNERS = {
  heuristic(turn, { accept_ratio, insist_ratio, demand }) {
    const enough = needed(turn.lastAct === INSIST ? insist_ratio : accept_ratio, turn.whole);
    const claim = demand === 1 ? keepValued(turn) : fill(turn, needed(demand, turn.whole));
    return answer(turn, turn.gift >= enough, claim);
  },

  tough: (turn) => answer(turn, turn.gift >= turn.whole, keepValued(turn)),

  first_acceptable_offer: (turn, { tau }) => answer(turn, turn.gift >= needed(tau / 10, turn.whole), keepValued(turn)),

  pushover: (turn, { demand }) => answer(turn, true, worstAtLeast(turn, needed(demand, turn.whole))),

  stubborn(turn, { demand, floor, late }) {
    const atLast = turn.maxTurns - turn.taken <= late;
    const claim = atLast ? worstAtLeast(turn, needed(floor, turn.whole)) : fill(turn, needed(demand, turn.whole));
    const act = !atLast && ownTurn(turn) ? INSIST : PROPOSE;
    return answer(turn, turn.gift >= worth(turn.values, claim), claim, act);
  },

  versatile(turn, { accept_ratio }) {
    const claimed = new Set(made(turn.own).map(String)), ranks = ranking(turn);
    const claim = ranks.find((split) => !claimed.has(String(split))) ?? ranks[0];
    return answer(turn, turn.gift >= Math.min(worth(turn.values, claim), needed(accept_ratio, turn.whole)), claim);
  },

  boulware: timeBased,
  linear: timeBased,
  conceder: timeBased,

  bluffer(turn, { pace, floor }) {
    const claim = [...turn.counts];
    let spare = turn.whole - needed(floor, turn.whole), left = pace * ownTurn(turn);
    for (const item of [0, 1, 2].sort((a, b) => turn.values[a] - turn.values[b])) {
      const value = turn.values[item], affordable = value > 0 ? Math.floor(spare / value) : left;
      const gives = Math.min(left, affordable, claim[item]);
      claim[item] -= gives;
      left -= gives;
      spare -= gives * value;
    }
    return answer(turn, turn.gift >= worth(turn.values, claim), claim);
  },

  random(turn) {
    const legal = [PROPOSE, INSIST, AGREE, DISAGREE, END].filter((act) => turn.mask[act]);
    const act = legal[Math.floor(turn.noise[0] * legal.length)];
    return { act, oA: act <= INSIST ? randomSplit(turn) : [0, 0, 0] };
  },

  nice: (turn) => answer(turn, true, randomSplit(turn)),

  mixed_thresholds(turn, { low, high, ask }) {
    const level = (from, to, noise) => linspace(from, to, 8)[Math.floor(noise * 8)];
    const enough = needed(level(low, high, turn.noise[0]), turn.whole);
    return answer(turn, turn.gift >= enough, worstAtLeast(turn, needed(level(ask, 1, turn.noise[1]), turn.whole)));
  },

  sniper(turn, { patience, fair }) {
    const ready = turn.noise[0] < progress(turn) ** patience, enough = needed(fair, turn.whole);
    const claim = ready ? worstAtLeast(turn, enough) : keepValued(turn);
    return answer(turn, turn.gift >= (ready ? enough : turn.whole), claim);
  },

  naive_tit_for_tat(turn, { kindness }) {
    let target = turn.whole;
    if (ownTurn(turn)) target = Math.max(needed(1 - kindness, turn.whole) - turn.gift, 0);
    if (ownTurn(turn) === 1) {
      const cheapest = Math.min(100, ...turn.values.filter((value, item) => value > 0 && turn.counts[item] > 0));
      target = Math.min(target, Math.max(turn.whole - cheapest, 0));
    }
    return answer(turn, turn.gift >= target, worstAtLeast(turn, target));
  },

  micro(turn) {
    const ranks = ranking(turn), number = distinct(turn.own);
    const ready = number <= distinct(turn.theirs) && number < worthwhile(turn, ranks);
    const claim = atRank(turn, ranks, ready ? number : Math.floor(turn.noise[0] * number));
    const lowest = atRank(turn, ranks, ready ? number : number - 1);
    return answer(turn, turn.gift >= worth(turn.values, lowest), claim);
  },

  concession_rule(turn, { target, bottom }) {
    const high = needed(target / 10, turn.whole), low = needed(bottom / 10, turn.whole);
    const opening = turn.values.includes(0) ? keepValued(turn) : fill(turn, high);
    const opened = made(turn.own).length > 0, heard = made(turn.theirs).length > 0;
    const mine = opened ? latest(turn.own) : opening, conceded = concede(turn, mine);
    const happy = turn.gift >= Math.min(high, worth(turn.values, mine));
    const settles = heard && (happy || (opened && turn.gift >= worth(turn.values, conceded) && turn.gift >= low));
    const firm = worth(turn.values, conceded) < low;
    const claim = settles ? rest(turn.counts, latest(turn.theirs)) : opened && !firm ? conceded : mine;
    return answer(turn, settles, claim, opened && firm && !settles ? INSIST : PROPOSE);
  },

  aspiration_adaptation(turn, { start, step, floor }) {
    const most = Math.ceil((start - floor) / step - 1e-9), better = needed(step, turn.whole);
    let down = 0, best = 0;
    for (const points of worthLeft(turn)) {
      if (points <= best) down += 1;
      else if (points >= best + better) down -= 1;
      down = clip(down, 0, most);
      best = Math.max(best, points);
    }
    const enough = needed(Math.max(start - step * down, floor), turn.whole);
    return answer(turn, turn.gift >= enough, worstAtLeast(turn, enough));
  },

  punisher(turn, { fair, insult, patience }) {
    const insulting = needed(insult, turn.whole), enough = needed(fair, turn.whole);
    const insults = worthLeft(turn).filter((points) => points >= 0 && points < insulting).length;
    if (insults > patience) return { act: END, oA: [0, 0, 0] };
    return answer(turn, turn.gift >= enough, worstAtLeast(turn, enough));
  },
};

function timeBased(turn, { exponent, floor }) {
  const enough = needed(floor + (1 - floor) * (1 - progress(turn) ** exponent), turn.whole);
  return answer(turn, turn.gift >= enough, worstAtLeast(turn, enough));
}

const randomSplit = (turn) => turn.counts.map((count, item) => Math.floor(turn.noise[1 + item] * (count + 1)));

function linspace(low, high, number) {
  const step = (high - low) / (number - 1);
  return Array.from({ length: number }, (_, place) => (place === number - 1 ? high : low + place * step));
}

// A claim less the item missed least, plus what the partner does not want.
function concede(turn, mine) {
  const interest = turn.counts.map((_, item) =>
    made(turn.theirs).reduce((sum, claim) => sum + (claim[item] > 0 ? 1 : -1), 1));
  const loss = turn.values.map((value, item) => (mine[item] ? value * 10 - interest[item] * turn.whole : Infinity));
  const given = loss.indexOf(Math.min(...loss));
  return mine.map((kept, item) => {
    if (item === given) return Math.max(kept - 1, 0);
    return turn.values[item] > 0 && interest[item] < 0 ? turn.counts[item] : kept;
  });
}
