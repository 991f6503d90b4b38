"""Fourteen bargaining programs after ideas of experimental economics. Each is a function of the position alone."""

from bisect import bisect_left
from functools import cache, lru_cache
from itertools import product
from math import exp

from dond_marl.position import Position, remainder
from partners.independent import AGREE, DISAGREE, END, INSIST, PROPOSE, dot, program

# ---- shared helpers -------------------------------------------------------------------------------------------------


@cache
def possible_values(pool):
    """All values under which the pool is worth 10, or nearly so where none makes it 10."""
    every = list(product(range(11), repeat=3))
    return [v for v in every if dot(v, pool) == 10] or [v for v in every if 8 <= dot(v, pool) <= 12]


@cache
def usual_values(pool):
    """The mean worth of one item of each type to an unknown other seat."""
    options = possible_values(pool)
    return tuple(sum(v[i] for v in options) / len(options) for i in range(3))


def offers(position):
    """All that the other has offered so far, as what this seat would get."""
    return [remainder(position.pool, keep) for keep in position.other_claims()]


def appetite(position):
    """The mean share of each type that the other has claimed; one half before its first claim."""
    other_claims = position.other_claims()
    return tuple(
        sum(k[i] for k in other_claims) / (len(other_claims) * position.pool[i]) if other_claims else 0.5
        for i in range(3)
    )


def least_above(position, target, leave):
    """The cheapest split worth at least the target; of equal ones, that which leaves most of `leave` (per item)."""
    enough = [s for s in position.splits() if position.worth(s) >= min(target, position.whole)]
    return min(enough, key=lambda s: (position.worth(s), dot(leave, s), sum(s)))


def guessed_values(position):
    """Bayes: the other's mean values; it claims what it likes, and turns down what it likes less."""
    options, other_claims, own_claims = possible_values(position.pool), position.other_claims(), position.own_claims()
    refused = [remainder(position.pool, keep) for keep in own_claims[-2:]]
    weights = []
    for v in options:
        weight = 1.0
        for keep in other_claims:
            weight *= (0.5 + dot(v, keep)) ** 2
        for items in refused:
            weight *= 1.3 - dot(v, items) / 10
        weights.append(weight)
    total = sum(weights)
    return tuple(sum(w * v[i] for w, v in zip(weights, options)) / total for i in range(3))


# ---- 1 --------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def odds(pool, offer):
    """The odds, for each split, that its rest is worth at least 0, 1 .. 10 to the other, who likes its last claim."""
    options, claim = possible_values(pool), remainder(pool, offer)
    if any(offer):
        options = [v for v in options if dot(v, claim) >= 5] or options
    table = {}
    for s in product(*(range(n + 1) for n in pool)):
        leaves = remainder(pool, s)
        worths = sorted(dot(v, leaves) for v in options)
        table[s] = [1 - bisect_left(worths, least) / len(worths) for least in range(11)]
    return table


def plan(position: Position, turns_left: int):
    """Best offer and its expected points, `turns_left` acts before the end, by reasoning from the end backwards."""
    if turns_left <= 1:
        return None, 0
    later = max(plan(position, turns_left - 2)[1], 4.5 if turns_left > 2 else 0)
    table, values, least = odds(position.pool, position.offer), position.values, 2 + (turns_left - 1) // 2
    gain = {s: later + table[s][least] * (dot(values, s) - later) for s in position.splits()}
    best = max(gain, key=lambda s: (gain[s], -sum(s)))
    return best, gain[best]


@program(memory=False, chance=False)
def backward_reasoner(position):
    """Reasons back from the last act (Stahl 1972; Rubinstein 1982), against an other of unknown values who takes
    less as time runs out: offers what earns most on average, agrees to what equals the value of going on.
    """
    best, value = plan(position, position.turns_left)
    worth = position.worth(position.offer)
    if position.can_agree and worth > 0 and worth >= min(value, 8):
        return AGREE, None
    return PROPOSE, best or position.pool


# ---- 2 --------------------------------------------------------------------------------------------------------------


@program(memory=True, chance=False)
def zeuthen_reader(position):
    """Guesses the other's values from its acts and then follows Zeuthen (1930; Harsanyi 1956): the seat with more to
    lose from a breakdown, relative to its own claim, gives way, and just enough that it is the other's turn.
    """
    pool, other_values, got = position.pool, guessed_values(position), position.worth(position.offer)
    own_claims, other_claims = position.own_claims(), position.other_claims()
    gain = {s: (position.worth(s), dot(other_values, remainder(pool, s))) for s in position.splits()}

    def risks(s):
        claimed = max(dot(other_values, other_claims[-1]), 0.1)
        return (gain[s][0] - got) / max(gain[s][0], 0.1), (claimed - gain[s][1]) / claimed

    if position.turns_left == 1:
        return (AGREE, None) if position.can_agree and got > 0 else (INSIST, (own_claims or [pool])[-1])
    fair = max(gain, key=lambda s: (gain[s][0] * gain[s][1], gain[s]))
    if not own_claims or not other_claims:
        keep = max((s for s in gain if gain[s][1] >= 3), key=gain.get)
        return (AGREE, None) if position.can_agree and got >= gain[keep][0] else (PROPOSE, keep)
    keep = last = own_claims[-1]
    my_risk, their_risk = risks(last)
    if my_risk <= their_risk or position.turns_left <= 3:
        lower = [s for s in gain if got <= gain[s][0] <= gain[last][0] and gain[s][1] > gain[last][1]]
        enough = [s for s in lower if risks(s)[0] >= risks(s)[1]]
        keep = max(enough, key=gain.get) if enough else max(lower, key=lambda s: gain[s][0] * gain[s][1], default=last)
        keep = fair if position.turns_left == 2 and gain[fair][0] >= got else keep
    if position.can_agree and (got >= gain[keep][0] or (position.turns_left <= 3 and got >= 5)):
        return AGREE, None
    return (INSIST if keep == last else PROPOSE), keep


# ---- 3 --------------------------------------------------------------------------------------------------------------


@program(memory=True, chance=False)
def equal_worth_explorer(position):
    """Before it comes down it tries other bundles of the same worth to itself, those first that take least of what the
    other asks for (trade-offs: Faratin, Sierra and Jennings 2002; equivalent offers: Medvec and Galinsky). It comes
    down when all that leave the other something have been tried, and late in the game also because of the clock.
    """
    worth, tried, wish, turns_left = position.worth, set(position.own_claims()), appetite(position), position.turns_left
    got, best = worth(position.offer), max(map(worth, offers(position)), default=0)
    floor = 5 if turns_left > 3 else 4
    if position.can_agree and (got >= 8 or (turns_left == 1 and got > 0) or (turns_left <= 4 and got >= floor + 1)):
        return AGREE, None
    levels = sorted({worth(s) for s in position.splits() if floor <= worth(s) <= 9}, reverse=True)
    levels = levels if levels and (levels[0] >= 7 or turns_left <= 5) else [position.whole] + levels
    ceiling = 6 if turns_left <= 3 else 7 if turns_left <= 5 else 10
    levels = [w for w in levels if best <= w <= ceiling] or levels[:1]
    for level in levels:
        near = [s for s in position.splits() if worth(s) == level and s not in tried]
        leaves = [s for s in near if dot(wish, remainder(position.pool, s)) >= 0.8]
        if leaves:
            if position.can_agree and got >= level:
                return AGREE, None
            return PROPOSE, min(leaves, key=lambda s: (dot(wish, s), sum(s)))
    if position.can_agree and got >= floor:
        return AGREE, None
    return INSIST, least_above(position, floor, wish)


# ---- 4 --------------------------------------------------------------------------------------------------------------


@program(memory=False, chance=True)
def inequity_averse(position):
    """Dislikes having less and, somewhat, having more (Fehr and Schmidt 1999), with their mix of types drawn once:
    some do not care about fairness, some turn down unequal deals even at the end. Counts on average values.
    """
    pool, worth, turns_left = position.pool, position.worth, position.turns_left
    draw = position.character[0]
    envy, guilt = (0, 0) if draw < 0.3 else (0.5, 0.25) if draw < 0.6 else (1, 0.6) if draw < 0.9 else (4, 0.6)
    usual = usual_values(pool)

    def liking(s):
        points, other = worth(s), dot(usual, remainder(pool, s))
        return points - envy * max(other - points, 0) - guilt * max(points - other, 0)

    give = 2.5 + 0.25 * (10 - turns_left)
    keep = max(
        (s for s in position.splits() if dot(usual, remainder(pool, s)) >= min(give, 5)),
        key=lambda s: (liking(s), -sum(s)),
    )
    if position.can_agree:
        requested = liking(keep) * (0.85 if turns_left > 5 else 0.7 if turns_left > 2 else 0.5)
        if liking(position.offer) >= requested or (turns_left == 1 and liking(position.offer) > 0):
            return AGREE, None
        if turns_left == 1:
            return DISAGREE, None
    return PROPOSE, keep


# ---- 5 --------------------------------------------------------------------------------------------------------------


@program(memory=True, chance=False)
def step_for_step(position):
    """Graduated reciprocation (Osgood's GRIT 1962; Esser and Komorita 1975): one announced first step down, then it
    matches what the other has given since its first offer, and takes its step back when the other goes back. One
    more step of good will in the middle and one at the end, when nothing moves.
    """
    got = [position.worth(items) for items in offers(position)]
    own_claims, turns_left = position.own_claims(), position.turns_left
    conceded = got[-1] - got[0] if got else 0
    backward = len(got) >= 2 and got[-1] < got[-2]
    good_will = (len(own_claims) >= 1) + (turns_left <= 5) + (turns_left <= 2) - backward
    target = max(9 - max(conceded, 0) - good_will, 4)
    newest = got[-1] if got else 0
    if position.can_agree and (
        newest >= target or (turns_left <= 2 and newest >= 4) or (turns_left == 1 and newest >= 2)
    ):
        return AGREE, None
    keep = least_above(position, target, appetite(position))
    return (INSIST if backward else PROPOSE), keep


# ---- 6 --------------------------------------------------------------------------------------------------------------


@program(memory=True, chance=True)
def eleventh_hour(position):
    """The deadline effect (Roth, Murnighan and Schoumaker 1988): stays high, or just says the same again, until the
    last moment, and then reaches for the best thing that the other ever offered, with a little on top when it dares.
    When its last moment comes is drawn once; a late one may miss the train.
    """
    worth, turns_left, offered = position.worth, position.turns_left, offers(position)
    got = worth(position.offer)
    hour = 2 + int(position.character[0] * 3)
    if position.can_agree and (got >= 8 or (turns_left == 1 and got > 0)):
        return AGREE, None
    own_claims = position.own_claims()
    if turns_left > hour:
        if own_claims and position.luck[0] < 0.7:
            return INSIST, own_claims[-1]
        return PROPOSE, least_above(position, 9 if position.character[1] < 0.4 else 7.5, appetite(position))
    best = max(offered, key=worth, default=None)
    if best is None or worth(best) < 4:
        return PROPOSE, least_above(position, 6 if turns_left > 2 else 5, appetite(position))
    if position.can_agree and got >= worth(best) and position.character[2] < 0.7:
        return AGREE, None
    missing = [i for i in range(3) if best[i] < position.pool[i] and position.values[i] > 0]
    if missing and position.character[2] >= 0.7:
        extra = min(missing, key=lambda i: position.values[i])
        best = tuple(n + (i == extra) for i, n in enumerate(best))
    return PROPOSE, best


# ---- 7 --------------------------------------------------------------------------------------------------------------


@program(memory=True, chance=False)
def loss_averse_anchorer(position):
    """The first number offered is an anchor (Galinsky and Mussweiler 2001): a stingy first offer makes it ask for less,
    a generous one for more. The best offer so far is its reference point: anything lower hurts 2.25 times as much
    (Tversky and Kahneman 1992), so it insists on what it once 'had' and rather risks a breakdown.
    """
    offered = [position.worth(items) for items in offers(position)]
    own_claims, turns_left = position.own_claims(), position.turns_left
    if not offered:
        return PROPOSE, least_above(position, 8, usual_values(position.pool))
    reference, newest = max(offered), offered[-1]
    aim = max(0.6 * 8 + 0.4 * (2 * min(offered[0], 5) - 1) - 0.35 * (10 - turns_left), 4.5, reference)
    if own_claims:
        aim = min(aim, position.worth(own_claims[-1]))
    feeling = (newest - reference) * (1 if newest >= reference else 2.25) + newest - aim
    if position.can_agree and (
        feeling >= (-0.6 if turns_left > 4 else -1.6) or (turns_left <= 2 and newest >= max(reference, 1))
    ):
        return AGREE, None
    if turns_left == 1:
        return (
            (AGREE, None)
            if position.can_agree and newest >= reference / 2.25 and newest > 0
            else (INSIST, (own_claims or [position.pool])[-1])
        )
    if newest < reference:
        return INSIST, max(offers(position), key=position.worth)
    return PROPOSE, least_above(position, aim, appetite(position))


# ---- 8 --------------------------------------------------------------------------------------------------------------


@program(memory=False, chance=False)
def fixed_pie_believer(position):
    """Takes it for granted that the other values things as it does itself (Thompson and Hastie 1990). What is worth
    nothing to it, it keeps, as no seat values it; what it claims above half, the other must lack. Gets tough when
    the other seems to claim more than half and is nice as soon as the other seems to be nice.
    """
    turns_left, got, worth = position.turns_left, position.worth(position.offer), position.worth
    silent = position.last_act is None
    if position.can_agree and (got >= 6 or (got == 5 and turns_left <= 6) or (turns_left <= 2 and got >= 3)):
        return AGREE, None
    target = 7 if silent else 5 if got >= 4 else 6 if turns_left > 4 else 5
    if position.last_act == INSIST and got < 4 and turns_left > 3:
        target += 1
    enough = [s for s in position.splits() if worth(s) >= target]
    keep = min(enough, key=lambda s: (worth(s), -sum(s)), default=position.pool)
    return (INSIST if got <= 3 and not silent and turns_left <= 6 else PROPOSE), keep


# ---- 9 --------------------------------------------------------------------------------------------------------------


@program(memory=False, chance=False)
def whole_piles(position):
    """Thinks in piles, not points: 'the books are mine, the hats are yours, about the balls we can talk'. Its best
    pile is not for sale; the worst pile it gives away at once, the middle one in halves and then whole, and it
    judges an offer by the piles in it, so that it may pass over points. My own; separable issues, as in Raiffa.
    """
    pool, turns_left = position.pool, position.turns_left
    piles = sorted(range(3), key=lambda i: (position.values[i] * pool[i], position.values[i]), reverse=True)
    best, middle, worst = piles
    rich = position.values[best] * pool[best] >= 6
    share = 1 if turns_left > 6 else 0.5 if turns_left > 3 else 0 if rich else 0.5
    keep = [0, 0, 0]
    keep[best] = pool[best]
    keep[middle] = int(pool[middle] * share + 0.5) if position.values[middle] else 0
    if position.can_agree:
        offer = position.offer
        whole_best = offer[best] == pool[best]
        if whole_best and (offer[middle] >= keep[middle] or turns_left <= 2):
            return AGREE, None
        if (
            turns_left <= 4
            and offer[middle] == pool[middle]
            and offer[best] * 2 >= pool[best]
            and position.values[middle]
        ):
            return AGREE, None
        if turns_left <= 2 and position.worth(offer) >= 1 + 2 * turns_left:
            return AGREE, None
        if not offer[best]:
            return INSIST, tuple(keep)
    return PROPOSE, tuple(keep)


# ---- 10 -------------------------------------------------------------------------------------------------------------


@program(memory=True, chance=True)
def indignant_receiver(position):
    """Answers intentions, not only numbers (Gueth, Schmittberger and Schwarze 1982; Rabin 1993): tiny offers, steps
    back and insisting offend it, steps forward appease it. Offended, it asks for more, answers in kind, and may end
    the talks at its own cost; appeased, it is the softest of partners.
    """
    turns_left, got = position.turns_left, [position.worth(items) for items in offers(position)]
    touchy = 0.5 + position.character[0]
    anger = 0.0
    for before, newest in zip([None] + got, got):
        anger += 1 if newest <= 1 else 0.5 if newest <= 3 else 0
        if before is not None:
            anger += 1 if newest < before else -0.8 if newest > before else 0.3
        anger = max(anger, -1)
    anger = touchy * (anger + 0.4 * sum(act == INSIST for is_own, act, _ in position.acts if not is_own))
    newest = got[-1] if got else 0
    pride = max(6.5 - 0.3 * (10 - turns_left) + 0.8 * anger, 3)
    if position.can_agree and newest >= pride:
        return AGREE, None
    if anger >= 2.5 and turns_left <= 5 and position.luck[0] < 0.15 * anger:
        return (DISAGREE if position.last_act == INSIST else END), None
    if turns_left == 1:
        content = newest >= 3 or (newest >= 1 and anger < 1.5)
        return (AGREE, None) if position.can_agree and content else (END, None)
    keep = least_above(position, min(pride + 1, 9), appetite(position))
    return (INSIST if anger >= 1.5 else PROPOSE), keep


# ---- 11 -------------------------------------------------------------------------------------------------------------


@program(memory=False, chance=False)
def door_in_the_face(position):
    """A request that must be refused first, then a large step down that asks to be returned (Cialdini et al. 1975):
    everything it values, then at once a moderate claim on which it insists to near the end; last, it splits the
    difference in points between that claim and the offer it has.
    """
    turns_left, got, worth = position.turns_left, position.worth(position.offer), position.worth
    usual = usual_values(position.pool)
    if turns_left >= 9:
        if position.can_agree and got >= 8:
            return AGREE, None
        return PROPOSE, tuple(n if v else 0 for n, v in zip(position.pool, position.values))
    moderate = max(
        position.splits(), key=lambda s: (min(worth(s), 6.5) + 0.4 * dot(usual, remainder(position.pool, s)), worth(s))
    )
    if position.can_agree and (
        got >= worth(moderate) or (turns_left <= 4 and got >= 5) or (turns_left <= 2 and got >= 3)
    ):
        return AGREE, None
    if turns_left > 4:
        return (PROPOSE if turns_left >= 7 else INSIST), moderate
    if turns_left == 1 and position.can_agree and got >= 1:
        return AGREE, None
    return PROPOSE, least_above(position, (worth(moderate) + got) / 2, usual)


# ---- 12 -------------------------------------------------------------------------------------------------------------


@program(memory=False, chance=True)
def logit_erring(position):
    """Errs as in quantal response equilibria (McKelvey and Palfrey 1995): weighs every split by what it may bring and
    draws one, the better the likelier; agrees by the same kind of draw, so that costly errors are rare. Guesses the
    odds from the number of items that it leaves. How sharp it is is drawn once; near the end it cares more.
    """
    pool, turns_left, usual = position.pool, position.turns_left, usual_values(position.pool)
    sharp = (1 + 1.5 * position.character[0]) * (1 if turns_left > 3 else 1.6)
    hope = 5.2 if turns_left > 2 else 2.5 if turns_left == 2 else 0.8

    def brings(s):
        leaves = dot(usual, remainder(pool, s)) + (0.8 if position.last_act is not None else 0)
        odds_yes = 1 / (1 + exp(1.3 * (1.5 + 0.35 * turns_left - leaves)))
        return odds_yes * position.worth(s) + (1 - odds_yes) * hope * 0.6

    if position.can_agree:
        gap = position.worth(position.offer) - hope - 0.12 * turns_left
        if position.luck[0] < 1 / (1 + exp(-sharp * gap)):
            return AGREE, None
    splits = position.splits()
    weights = [exp(2 * sharp * brings(s)) for s in splits]
    mark = position.luck[1] * sum(weights)
    for s, weight in zip(splits, weights):
        mark -= weight
        if mark <= 0:
            break
    return PROPOSE, s


# ---- 13 -------------------------------------------------------------------------------------------------------------


@program(memory=False, chance=False)
def one_more_thing(position):
    """The nibbler: never makes a plan of its own but takes the offer on the table and adds one more item, and again
    one more, until little is left to add or the time is short. A poor offer it first fills up to half, with its
    dearest items. From market stalls, and from Columbo.
    """
    pool, values, turns_left = position.pool, position.values, position.turns_left
    order = sorted(range(3), key=lambda i: values[i], reverse=True)
    keep, got = list(position.offer), position.worth(position.offer)
    for i in order:
        while position.worth(keep) < 5 and keep[i] < pool[i] and values[i]:
            keep[i] += 1
    filled = position.worth(keep)
    desired = [i for i in order if keep[i] < pool[i] and values[i]]
    if desired and (turns_left > 2 or got < 3):
        dear = [i for i in desired if filled + values[i] <= 9 - (turns_left <= 4)]
        if dear and filled + values[dear[0]] <= 10 - 0.25 * (10 - turns_left):
            keep[dear[0]] += 1
    gain = position.worth(keep) - got
    if position.can_agree and (
        gain == 0 or (turns_left <= 3 and got >= 4 and gain <= 3) or (turns_left == 1 and got >= 1)
    ):
        return AGREE, None
    if position.last_act is None:
        return PROPOSE, least_above(position, 7, usual_values(pool))
    return PROPOSE, tuple(keep)


# ---- 14 -------------------------------------------------------------------------------------------------------------


@program(memory=True, chance=True)
def war_of_nerves(position):
    """Pretends that it cannot move (Abreu and Gul 2000; Kreps and Wilson 1982). One in five means it. The others
    stick to one claim, and at each act may give in, the likelier the more the other looks like one who truly cannot
    move: it repeats itself, it insists, the end is near. Giving in means taking the offer or, if poor, half.
    """
    turns_left, worth, character = position.turns_left, position.worth, position.character
    other_claims, own_claims, got = position.other_claims(), position.own_claims(), worth(position.offer)
    demand = (
        own_claims[0] if own_claims else least_above(position, 6.5 + 1.5 * character[1], usual_values(position.pool))
    )
    if position.can_agree and got >= worth(demand):
        return AGREE, None
    if character[0] < 0.2:
        if turns_left == 1 and position.can_agree and got >= 4:
            return AGREE, None
        return INSIST, demand
    stubborn = 0.15
    for before, after in zip(other_claims, other_claims[1:]):
        likelihood = 2.2 if after == before else 0.4
        stubborn = stubborn * likelihood / (stubborn * likelihood + 1 - stubborn)
    if position.last_act == INSIST:
        stubborn = min(2 * stubborn, 0.95)
    gives_in = stubborn * 0.5 + (0.75 if turns_left <= 2 else 0.3 if turns_left <= 4 else 0.03)
    broken = bool(own_claims) and own_claims[-1] != demand
    if other_claims and (broken or turns_left == 1 or position.luck[0] < gives_in):
        if position.can_agree and (got >= 4 or (turns_left == 1 and got > 0)):
            return AGREE, None
        return PROPOSE, least_above(position, max(5, got), appetite(position))
    return (INSIST if own_claims else PROPOSE), demand
