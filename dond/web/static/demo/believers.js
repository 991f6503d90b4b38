// Scripted partners that reason about what the other seat may value: the same as partners/scripted/bayesian.py.
// They know how the demo's scenarios are drawn (the legal space of Lewis et al. 2017) and read claims as
// Boltzmann-rational. Expectations are rounded to 1 / 2**20 before they are compared.
"use strict";

const ONE = 2 ** 20, LEWIS_WHOLE = 10;

Object.assign(PARTNERS, {
  nash_seeker(turn, { rationality }) {
    const claim = nashSplit(turn, expectedValues(turn, rationality));
    return answer(turn, turn.gift >= worth(turn.values, claim), claim);
  },

  prosocial(turn, { rationality }) {
    const values = expectedValues(turn, rationality), every = splits(turn.counts);
    const sum = (split) => share(turn, worth(turn.values, split)) + worth(values, rest(turn.counts, split));
    const claim = favourite(every, sum);
    const asGood = share(turn, turn.gift) + worth(values, rest(turn.counts, turn.offer)) >= sum(claim);
    return answer(turn, asGood || turn.gift >= worth(turn.values, claim), claim);
  },

  nice_tit_for_tat(turn, { rationality }) {
    const t = progress(turn), values = expectedValues(turn, rationality), heard = made(turn.theirs).length > 0;
    const { first, best, split: bestSplit } = firstAndBest(turn);
    const target = heard ? niceTarget(turn, nashSplit(turn, values), first, best, t) : turn.whole;
    const points = worth(turn.values, worstAtLeast(turn, target));
    const band = splits(turn.counts).filter((split) => worth(turn.values, split) === points);
    let claim = favourite(band, (split) => worth(values, rest(turn.counts, split)));
    if (heard && best >= worth(turn.values, claim)) claim = bestSplit;
    return answer(turn, turn.gift >= worth(turn.values, claim) || (t >= 0.98 && turn.gift > 0), claim);
  },

  ultimatum(turn) {
    const chances = chancesLeft(turn);
    const expects = (split) => worth(turn.values, split) * chances(rest(turn.counts, split));
    const claim = favourite(splits(turn.counts), expects);
    const lastOfAll = turn.maxTurns - turn.taken === 1;
    const enough = turn.gift * ONE >= expects(claim) || (lastOfAll && turn.gift > 0);
    return answer(turn, enough, claim, ownTurn(turn) ? INSIST : PROPOSE);
  },

  zeuthen(turn, { rationality }) {
    const values = expectedValues(turn, rationality), claimed = made(turn.own).length > 0;
    const left = (split) => clip(worth(values, rest(turn.counts, split)), 0, ONE);
    const mine = claimed ? latest(turn.own) : keepValued(turn), own = worth(turn.values, mine);
    const theirs = turn.gift * clip(worth(values, rest(turn.counts, turn.offer)), 0, ONE);
    const concedes = claimed && own * Math.max(worth(values, rest(turn.counts, mine)), 0) <= theirs;
    const larger = splits(turn.counts).filter((split) => worth(turn.values, split) * left(split) > theirs);
    const conceded = favourite(larger, (split) => worth(turn.values, split));
    const givesIn = concedes && (conceded === null || worth(turn.values, conceded) <= turn.gift);
    const lastOfAll = turn.maxTurns - turn.taken === 1;
    const accept = givesIn || turn.gift >= own || (lastOfAll && turn.gift > 0);
    return answer(turn, accept, concedes && !givesIn ? conceded : mine);
  },
});

// The split with the highest score, the first of equals; null where there are none.
function favourite(every, score) {
  return least(every, (split) => [-score(split)]);
}

// What some points are of the seat's whole value, in 1 / 2**20.
const share = (turn, points) => Math.floor((points * ONE) / Math.max(turn.whole, 1));

const nashSplit = (turn, values) =>
  favourite(splits(turn.counts), (split) => worth(turn.values, split) * worth(values, rest(turn.counts, split)));

// Which values the partner may have, each as likely as the others: the pool is worth 10 to it, every item is worth
// something to somebody and some item to both. A view that no such scenario has leaves all that are worth 10.
function types(turn) {
  const worthTen = splits([10, 10, 10]).filter((values) => worth(values, turn.counts) === LEWIS_WHOLE);
  const legal = worthTen.filter((values) =>
    values.every((value, item) => value || turn.values[item]) && values.some((value, item) => value && turn.values[item]));
  return legal.length ? legal : worthTen;
}

// What an item of each type is expected to be worth to the partner, in 1 / 2**20 of its whole value.
function expectedValues(turn, rationality) {
  const every = types(turn), claims = made(turn.theirs);
  const total = [0, 1, 2].map((item) => claims.reduce((sum, claim) => sum + claim[item], 0));
  const logs = every.map((values) =>
    worth(values, total) * (rationality / LEWIS_WHOLE) - claims.length * logNormalizer(turn.counts, values, rationality));
  const top = Math.max(...logs), weights = logs.map((log) => Math.exp(log - top) / every.length);
  const sum = weights.reduce((a, b) => a + b, 0);
  return [0, 1, 2].map((item) =>
    rint(every.reduce((mean, values, place) => mean + (values[item] / LEWIS_WHOLE) * (weights[place] / sum), 0) * ONE));
}

// The logarithm of the sum of exp(rationality * share) over all splits: a product over the item types.
function logNormalizer(counts, values, rationality) {
  return counts.reduce((total, count, item) => {
    let sum = 0;
    for (let kept = 0; kept <= count; kept++) sum += Math.exp(((rationality * values[item]) / LEWIS_WHOLE) * kept);
    return total + Math.log(sum);
  }, 0);
}

// How probably what is left is worth something to the partner, in 1 / 2**20: a function of the items left.
function chancesLeft(turn) {
  const every = types(turn);
  const chance = (left) => every.filter((values) => worth(values, left) > 0).length / every.length;
  const known = new Map(splits([1, 1, 1]).map((some) => [String(some), rint(chance(some) * ONE)]));
  return (left) => known.get(String(left.map((number) => (number > 0 ? 1 : 0))));
}

// What the first and the best of the partner's claims leave the seat, 0 before any, and the best one's split.
function firstAndBest(turn) {
  let first = 0, best = -1, split = [0, 0, 0];
  made(turn.theirs).forEach((claim, place) => {
    const left = rest(turn.counts, claim), points = worth(turn.values, left);
    if (place === 0) first = points;
    if (points > best) [best, split] = [points, left];
  });
  return { first, best: Math.max(best, 0), split };
}

function niceTarget(turn, nash, first, best, t) {
  const whole = Math.max(turn.whole, 1), opening = first / whole;
  const fair = clip((worth(turn.values, nash) / whole) * (1.4 - 0.6 * (1 - opening)), 0.5, 1);
  const gap = fair - opening;
  const factor = gap > 0 ? clip((best / whole - opening) / gap, 0, 1) : 1;
  const target = 1 - factor * (1 - fair), bonus = Math.min(Math.max(0.1, 20 * (t - 0.91)), 1);
  return needed(target - bonus * (target - fair), turn.whole);
}
