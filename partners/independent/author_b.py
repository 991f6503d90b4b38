"""Fourteen bargaining programs, each of its own kind. Helpers first; caches only hold results of pure functions."""

import functools
import itertools
import math

from dond_marl.position import Position, remainder
from partners.independent import AGREE, DISAGREE, END, INSIST, PROPOSE, dot, program


def cheapest(p: Position, want):
    """A split worth at least `want` that leaves the other as many items as possible, and no more points than
    needed.
    """
    want = min(want, p.whole)
    return min((s for s in p.splits() if p.worth(s) >= want), key=lambda s: (p.worth(s), sum(s)))


@functools.cache
def _possible_values(pool, valued):
    """All values that the other may have: worth 10 together, each item desired by someone, one desired by both."""
    every = itertools.product(*(range(10 // n + 1) for n in pool))
    return [
        v
        for v in every
        if dot(v, pool) == 10 and all(a or b for a, b in zip(v, valued)) and any(a and b for a, b in zip(v, valued))
    ]


def possible_values(p: Position):
    return _possible_values(p.pool, tuple(v > 0 for v in p.values))


@functools.cache
def _left_over(pool, valued):
    """The worth of the rest of each split to each possible other."""
    return {
        keep: [dot(v, remainder(pool, keep)) for v in _possible_values(pool, valued)]
        for keep in itertools.product(*(range(n + 1) for n in pool))
    }


def left_over(p: Position):
    return _left_over(p.pool, tuple(v > 0 for v in p.values))


def beliefs(p: Position, faith):
    """The probability of each possible other: it tends to claim what it likes and to refuse what it does not."""
    table, weights = left_over(p), [1.0] * len(possible_values(p))
    for is_own, act, keep in p.acts:
        if keep is None:
            continue
        if is_own:  # an offer of mine that was not agreed to
            weights = [w / (1 + math.exp(g - 6)) for w, g in zip(weights, table[tuple(keep)])]
        else:  # a claim: 10 less what it leaves to me, in the other's points
            likes = [math.exp(faith * (10 - g)) * (0.4 if g > 7 else 1) for g in range(11)]
            weights = [w * likes[g] for w, g in zip(weights, table[tuple(keep)])]
    total = sum(weights)
    return [w / total for w in weights]


# ------------------------------------------------------------------ strong ones

YES = [[1 / (1 + math.exp(1.1 * (7.2 - 0.45 * (10 - t) - g))) for g in range(11)] for t in range(11)]


@program(memory=True, chance=False)
def reads_the_customer(p):
    """Keeps a belief over all values that the other may have, learned from its claims and refusals (Bayesian
    learning as in Zeng and Sycara 1998), asks for the split of highest expected points, and agrees when
    an offer beats that expectation.
    """
    have = p.worth(p.offer)
    if p.turns_left == 1:
        return (AGREE, None) if p.can_agree and have > 0 else (END, None)
    claims = p.other_claims()
    best_seen = max((p.worth(remainder(p.pool, c)) for c in claims), default=0)
    later = 0.0 if p.turns_left == 2 else max(0.9 * best_seen, 6.2 - 0.35 * (10 - p.turns_left))
    yes, table, belief = YES[p.turns_left], left_over(p), beliefs(p, 0.55)
    likely = sorted(range(len(belief)), key=lambda k: -belief[k])[:8]  # the eight likeliest others will do
    total = sum(belief[k] for k in likely)
    belief = [(k, belief[k] / total) for k in likely]
    best, keep = -1.0, p.pool
    for s in p.splits():
        worth = p.worth(s)
        if worth < max(best, later, have):
            continue
        gains = table[s]
        says_yes = sum([w * yes[gains[k]] for k, w in belief])
        points = says_yes * worth + (1 - says_yes) * later
        if points > best:
            best, keep = points, s
    if p.can_agree and have >= best and have > 0:
        return AGREE, None
    return PROPOSE, keep


@functools.cache
def _share_content(pool, valued):
    """The share, for each split and each need, of possible other seats that value the rest at least at that need."""
    return {
        keep: [sum(g >= need for g in gains) / len(gains) for need in range(12)]
        for keep, gains in _left_over(pool, valued).items()
    }


@program(memory=False, chance=False)
def counts_back_from_the_end(p):
    """Works out backwards, as in textbook bargaining (Rubinstein, Stahl), what each of its later acts should
    bring against someone unknown whose needs sink and whose offers rise; never looks at who the other is,
    only at the clock.
    """
    content = _share_content(p.pool, tuple(v > 0 for v in p.values))
    have, value, keep = p.worth(p.offer), 0.0, p.pool
    acts = range(2 - p.turns_left % 2, p.turns_left + 1, 2)
    worths = [(s, p.worth(s)) for s in p.splits()]
    for t in acts:
        offered = 5.6 - 0.35 * t  # what I expect it to have offered me by then
        later = value
        if t == 1:
            value = offered
            continue
        need = min(7, 3 + t // 2)
        best = -1.0
        for s, worth in worths:
            yes = 0.25 * content[s][need + 1] + 0.5 * content[s][need] + 0.25 * content[s][need - 1]
            points = yes * worth + (1 - yes) * later
            if worth >= later and points > best:
                best, keep = points, s
        value = best if t == p.turns_left else max(best, offered)
    if p.turns_left == 1:
        return (AGREE, None) if p.can_agree and have > 0 else (PROPOSE, p.offer)
    if p.can_agree and have >= max(1, value):
        return AGREE, None
    return PROPOSE, keep


@program(memory=True, chance=True)
def dreams_up_one_opponent(p):
    """Thompson sampling (1933): draws one possible other from its beliefs at each act, believes in it for that
    act, and asks for the most that would still content it; another dream at the next act, so its offers
    explore.
    """
    have, draw, dream = p.worth(p.offer), p.luck[0], 0
    if p.turns_left <= 2 and p.can_agree and have >= (1 if p.turns_left == 1 else 4):
        return AGREE, None
    for dream, weight in enumerate(beliefs(p, 0.45)):
        draw -= weight
        if draw < 0:
            break
    need = 2.6 + 0.38 * (p.turns_left - 2) + 1.6 * (p.luck[1] - 0.5)
    table = left_over(p)
    content = [s for s in p.splits() if table[s][dream] >= need]
    keep = max(content, key=lambda s: (p.worth(s), table[s][dream]))
    if p.can_agree and have >= max(5, p.worth(keep) - 0.5):
        return AGREE, None
    if p.worth(keep) < 5:  # the dream is too dear: stand still at half
        keep = cheapest(p, 5)
    return PROPOSE, keep


@program(memory=True, chance=True)
def brinkman(p):
    """Schelling, The Strategy of Conflict: binds itself to one high demand and insists on it until a blink point
    that its character sets; then one offer built on what the other requested for least. Some of them do go
    over the cliff.
    """
    have, claims = p.worth(p.offer), p.other_claims()
    blink = 3 + int(p.character[0] * 3)  # acts left at which it gives in
    reckless = p.character[1] < 0.35
    floor = 7 if p.turns_left > blink else 5 if p.turns_left > 2 or reckless else 1
    if p.can_agree and have >= floor:
        return AGREE, None
    if p.turns_left == 1:
        return DISAGREE, None
    if p.turns_left > blink:
        stand = p.own_claims()[-1:] or [cheapest(p, 8)]
        return (PROPOSE if not p.own_claims() else INSIST), stand[0]
    # how often it claimed an item of each type, from 0 to 1; before any claim all alike
    craving = [(sum(c[i] for c in claims) + 1) / (len(claims) * n + 2) for i, n in enumerate(p.pool)]
    target = max(6 if p.turns_left > 2 else 5, have + 1)
    ways = [s for s in p.splits() if p.worth(s) >= min(target, p.whole)]
    keep = max(ways, key=lambda s: (dot(craving, remainder(p.pool, s)), p.worth(s)))
    return PROPOSE, keep


# ------------------------------------------------------------------ sensible but imperfect


@program(memory=False, chance=False)
def nearest_on_my_curve(p):
    """Faratin, Sierra and Jennings 2002, trading off by similarity: of all splits at its present level it asks
    for the one that looks most like the other's last offer; the level stays high and then sinks fast. It
    knows nothing of values.
    """

    def level(t):
        return 5 + 4 * (1 - ((10 - t) / 9) ** 2)

    have = p.worth(p.offer)
    want = level(p.turns_left)
    if p.can_agree and have >= min(want, level(max(1, p.turns_left - 2)) + 0.5):
        return AGREE, None
    if p.can_agree and p.turns_left <= 2 and have >= 4 - (p.turns_left == 1):
        return AGREE, None
    ways = [s for s in p.splits() if want <= p.worth(s) <= want + 1.5] or [cheapest(p, want)]
    if p.last_act is None:
        return PROPOSE, min(ways, key=lambda s: (sum(s), p.worth(s)))
    return PROPOSE, min(ways, key=lambda s: (sum(abs(a - b) for a, b in zip(s, p.offer)), p.worth(s)))


@program(memory=True, chance=False)
def pays_back_in_kind(p):
    """Reciprocity with a hand held out: comes down by as much as the other came up since its first offer (tit
    for tat, Axelrod), and where both stand still makes one small step unrequested, as in Osgood's GRIT of
    1962, then waits again.
    """
    offers = [p.worth(remainder(p.pool, c)) for c in p.other_claims()]
    requested = [p.worth(c) for c in p.own_claims()]
    start = requested[0] if requested else 8
    came_up = max(offers) - offers[0] if offers else 0
    welcome = max(0, offers[0] - 3) if offers else 0  # a kind first offer counts as a gift
    want = start - came_up - (welcome if requested else 0)
    if len(requested) >= 2 and len(offers) >= 2 and requested[-1] == requested[-2] and offers[-1] <= offers[-2]:
        want = min(want, requested[-1] - 1)  # the step unrequested
    elif requested:
        want = min(want, requested[-1])  # never takes a step back
    want = max(5, want)
    have = p.worth(p.offer)
    if p.can_agree and (have >= want or (p.turns_left <= 2 and have >= 4) or (p.turns_left == 1 and have >= 2)):
        return AGREE, None
    keep = cheapest(p, want)
    firm = requested and p.worth(keep) == requested[-1]
    return (INSIST, p.own_claims()[-1]) if firm else (PROPOSE, keep)


@program(memory=True, chance=True)
def thin_skinned(p):
    """A state machine, as bots in hobby games have: calm, cross, or done with you, found by going through all
    acts so far. Poor offers and insisting hurt it, better offers soothe it; calm it haggles, cross it
    insists, hurt too often it leaves.
    """
    hurt, last_offer, mine_last = 0.0, 0, None
    for is_own, act, keep in p.acts:
        if is_own:
            mine_last = keep or mine_last
            continue
        if keep is not None:
            points = p.worth(remainder(p.pool, keep))
            hurt += (points < 3) * 1.0 + (act == INSIST) * 0.7 - (points > last_offer) * 0.8 - (points >= 5) * 0.5
            hurt, last_offer = max(0.0, hurt), points
    skin = 1.2 + 1.3 * p.character[0]
    have = p.worth(p.offer)
    spent = 10 - p.turns_left
    if hurt > skin + 1.5 and p.luck[0] < 0.35:
        return DISAGREE, None
    if hurt > skin:
        if p.can_agree and have >= (6 if p.turns_left > 2 else 4):
            return AGREE, None
        return INSIST, mine_last or cheapest(p, 8)
    want = 8 - spent * (0.35 + 0.15 * p.character[1])
    if p.can_agree and (have >= want or (p.turns_left <= 2 and have >= 3)):
        return AGREE, None
    wish = min(10, math.ceil(want + (p.luck[1] < 0.3)))
    ways = [s for s in p.splits() if wish <= p.worth(s) <= wish + 1] or [cheapest(p, wish)]
    return PROPOSE, ways[int(p.luck[2] * len(ways))]


@program(memory=False, chance=False)
def playground_draft(p):
    """Thinks in picks, not in points: as when children choose teams, each side takes an item in turn (Brams and
    Taylor, The Win-Win Solution), the other first what it last claimed. Asks for its own team, at first
    with one pick too many.
    """
    claimed = list(remainder(p.pool, p.offer)) if p.last_act is not None else [0, 0, 0]
    stock, team = list(p.pool), [0, 0, 0]
    my_pick = True
    while any(stock):
        types = [i for i in range(3) if stock[i]]
        if my_pick:
            pick = max(types, key=lambda i: (p.values[i], -claimed[i], -stock[i]))
            team[pick] += 1
        else:
            pick = max(types, key=lambda i: (claimed[i] > 0, -p.values[i], claimed[i]))
            claimed[pick] -= 1
        stock[pick] -= 1
        my_pick = not my_pick
    fair, have = p.worth(team), p.worth(p.offer)
    if p.can_agree and (have >= fair or (p.turns_left <= 4 and have >= fair - 1) or (p.turns_left <= 2 and have >= 3)):
        return AGREE, None
    if p.turns_left > 6:  # one more than its due, the best that is left
        more = [i for i in range(3) if team[i] < p.pool[i] and p.values[i]]
        if more:
            team[max(more, key=lambda i: p.values[i])] += 1
    elif p.turns_left <= 3:  # gives its least pick back
        unloved = [i for i in range(3) if team[i] and p.values[i] < 4]
        if unloved:
            team[min(unloved, key=lambda i: p.values[i])] -= 1
    return PROPOSE, tuple(team)


@program(memory=True, chance=False)
def street_market(p):
    """Prices in place of a model of the other: what the other claims grows dear, what it leaves grows cheap
    (Walras), and it buys the best basket for half of all money (Varian 1974), at first with some borrowed
    money on top.
    """
    price = [1.0, 1.0, 1.0]
    for is_own, act, keep in p.acts:
        if keep is not None and not is_own:
            for i in range(3):
                share = keep[i] / p.pool[i]
                price[i] *= 0.75 + 0.6 * share
    money = dot(price, p.pool) / 2
    loan = 1 + 0.06 * max(0, p.turns_left - 3)
    basket = max(
        (s for s in p.splits() if dot(price, s) <= money * loan + 1e-9), key=lambda s: (p.worth(s), -dot(price, s))
    )
    plain = max(p.worth(s) for s in p.splits() if dot(price, s) <= money + 1e-9)
    have = p.worth(p.offer)
    if p.can_agree and (have >= p.worth(basket) or (have >= plain and p.turns_left < 8)):
        return AGREE, None
    if p.can_agree and p.turns_left <= 2 and have >= plain - 3:
        return AGREE, None
    return PROPOSE, basket


@program(memory=False, chance=False)
def collector(p):
    """Has one treasure, the type worth most to it in all, and cares for the rest only as small change: gives
    that away piece by piece, insists on the treasure, and agrees to whatever brings it whole. Own idea,
    after collectors at swap meets.
    """
    totals = [v * n for v, n in zip(p.values, p.pool)]
    treasure = max(range(3), key=lambda i: (totals[i], -p.pool[i]))
    enough = p.pool[treasure] - (1 if totals[treasure] >= 8 and p.pool[treasure] > 1 else 0)
    have, has_it = p.worth(p.offer), p.offer[treasure] >= enough
    if p.can_agree and has_it and have >= (7 if p.turns_left > 7 else 5 if p.turns_left > 3 else 4):
        return AGREE, None
    if (
        p.can_agree
        and p.turns_left <= 2
        and (has_it or 2 * p.offer[treasure] >= p.pool[treasure] or have >= 5 or (p.turns_left == 1 and have > 0))
    ):
        return AGREE, None
    change = sorted((i for i in range(3) if i != treasure), key=lambda i: p.values[i])
    keep = [0, 0, 0]
    keep[treasure] = p.pool[treasure] if p.turns_left > 5 else enough
    small = [i for i in reversed(change) for _ in range(p.pool[i]) if p.values[i]]
    pieces = max(0, (p.turns_left - 2) * len(small) // 9)  # of its small change, the dearest first
    if totals[treasure] < 5:  # a poor treasure needs company
        pieces = max(pieces, 1)
    for i in small[:pieces]:
        keep[i] += 1
    bare = sum(keep) == keep[treasure] and p.turns_left < 9
    return (INSIST if bare else PROPOSE), tuple(keep)


@program(memory=False, chance=True)
def tired_clerk(p):
    """A clerk at five in the afternoon: misjudges its own values a little for the whole game, reads some offers
    with two columns swapped, wants less the longer it takes, and now and then hangs up on a poor offer.
    Own idea.
    """
    felt = [max(0.0, v + 2.4 * (c - 0.5)) if v else 0.8 * (c > 0.7) for v, c in zip(p.values, p.character)]
    felt_total = dot(felt, p.pool) or 1.0
    tired = (10 - p.turns_left) / 9
    want = 0.5 + 0.25 * p.character[4] + 0.15 * (1 - tired) - 0.2 * tired**2  # a share of all, as it feels it
    offer = list(p.offer)
    if p.luck[0] < 0.05 + 0.15 * tired:
        i = int(p.luck[1] * 3)
        j = (i + 1) % 3
        offer[i], offer[j] = offer[j], offer[i]
    felt_offer = dot(felt, offer) / felt_total
    if p.can_agree and (felt_offer >= want or (p.turns_left <= 2 and felt_offer > 0.25)):
        return AGREE, None
    if p.turns_left <= 4 and p.can_agree and felt_offer < 0.2 and p.luck[2] < 0.2:
        return END, None
    ask = want + 0.12 * p.luck[3]
    ways = [s for s in p.splits() if dot(felt, s) / felt_total >= min(1.0, ask) - 1e-9]
    near = sorted(ways, key=lambda s: (dot(felt, s), sum(s)))[:2]
    return PROPOSE, near[int(p.luck[4] * len(near))]


@program(memory=False, chance=False)
def dearer_every_time(p):
    """Opens with its most reasonable offer and makes each later one dearer, the exploding offer of shops and job
    markets; shortly before the end it puts the first one back on the table. What it agrees to follows the
    clock, not its talk.
    """
    have = p.worth(p.offer)
    accepts = {10: 8, 9: 6, 8: 6, 7: 6, 6: 6, 5: 5, 4: 5, 3: 4, 2: 4, 1: 1}[p.turns_left]
    if p.can_agree and have >= accepts:
        return AGREE, None

    def generous(want):  # of the splits worth that much, or one more, the one with most types and items for the other
        ways = [s for s in p.splits() if want <= p.worth(s) <= want + 1] or [cheapest(p, want)]
        return max(
            ways, key=lambda s: (sum(x > 0 for x in remainder(p.pool, s)), sum(remainder(p.pool, s)), p.worth(s))
        )

    if p.turns_left <= 3:
        return (INSIST if p.turns_left == 3 else PROPOSE), generous(5)
    raised = 5 + (10 - p.turns_left) // 2
    return PROPOSE, generous(raised)


@program(memory=True, chance=True)
def red_herring(p):
    """The decoy of every haggling guide: at first claims loudly what it cares for least, leaves something dearer
    on the table, then gives the decoy up as if it hurt and wants the dear things for it. No bluff where
    no seat wants the decoy.
    """
    have, claims, rounds = p.worth(p.offer), p.other_claims(), len(p.own_claims())
    total = [v * n for v, n in zip(p.values, p.pool)]
    decoy, middle, best = sorted(range(3), key=lambda i: (total[i], p.character[i]))
    bluffs = 1 + (p.character[3] < 0.5)  # how many acts the bluff lasts
    if rounds and claims and not any(c[decoy] for c in claims):
        bluffs = 0  # no seat wants the decoy
    floor = 7 if rounds <= bluffs else 6 if p.turns_left > 3 else 5 if p.turns_left > 2 else 3
    if p.can_agree and have >= (1 if p.turns_left == 1 else floor):
        return AGREE, None
    keep = list(p.pool)
    if rounds < bluffs:
        keep[middle] = p.pool[middle] // 2 if p.pool[middle] > 1 else 0
        loud = rounds > 0 and p.luck[0] < 0.7
        return (INSIST if loud else PROPOSE), tuple(keep)
    keep[decoy] = p.pool[decoy] // 2 if rounds == bluffs and p.pool[decoy] > 1 else 0
    if rounds > bluffs:
        keep = [k if v else 0 for k, v in zip(keep, p.values)]  # what is worth nothing goes first
    down = rounds - bluffs - 1  # after that, piece by piece
    while down > 0 and p.worth(keep) > 5:
        loose = [i for i in range(3) if keep[i] and p.worth(keep) - p.values[i] >= 5]
        if not loose:
            break
        keep[min(loose, key=lambda i: (p.values[i], p.luck[1 + i]))] -= 1
        down -= 1
    return PROPOSE, tuple(keep)


@program(memory=True, chance=False)
def second_thoughts(p):
    """Loss aversion (Kahneman and Tversky 1979): measures each offer by the best that it let go by, will not
    take less than that before the end, and if its own wish sinks below it, asks for that offer back,
    insisting.
    """
    offered = [(p.worth(remainder(p.pool, c)), remainder(p.pool, c)) for c in p.other_claims()]
    have = p.worth(p.offer)
    missed = max(offered[:-1], default=(0, None), key=lambda x: x[0])
    wish = 9 - 0.5 * (10 - p.turns_left)
    if p.can_agree:
        if p.turns_left == 1 and have > 0:
            return AGREE, None
        if p.turns_left <= 3 and have >= max(4, missed[0] - 1):
            return AGREE, None
        gain = have - missed[0] if missed[1] is not None else 0
        if gain >= 0 and have >= max(5, wish - 0.5 - 0.6 * gain):  # a gain over what it knew feels good
            return AGREE, None
    if missed[1] is not None and missed[0] > have and missed[0] >= min(wish, 6):
        return INSIST, missed[1]
    requested = p.own_claims()
    keep = cheapest(p, max(5, wish))
    if (
        requested and len(offered) >= 2 and offered[-1][0] < offered[-2][0]
    ):  # it was robbed of something: no step down this time
        keep = requested[-1]
    return PROPOSE, keep
