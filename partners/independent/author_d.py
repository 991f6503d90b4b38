"""Fourteen bargaining programs: people in a classroom, and people who bargain for a living."""

from __future__ import annotations

from dond_marl.position import Position, remainder
from partners.independent import AGREE, DISAGREE, END, INSIST, PROPOSE, Items, program

Move = tuple[int, Items | None]


def score(position: Position, items: Items) -> float:
    """Worth of items to this seat, as tenths of the whole pool."""
    return 10 * position.worth(items) / position.whole if position.whole else 10.0


def own_acts(position: Position) -> int:
    """The number of acts that this seat has behind it (both seats act in turn)."""
    return (position.max_turns - position.turns_left) // 2


def by_value(position: Position) -> list[int]:
    """The three types, dearest item first."""
    return sorted(range(3), key=lambda kind: -position.values[kind])


def change(items: Items, kind: int, by: int) -> Items:
    """The same items with some more or fewer of one type."""
    changed = list(items)
    changed[kind] += by
    return (changed[0], changed[1], changed[2])


def useful(position: Position) -> Items:
    """Everything that is worth anything to this seat."""
    a, b, c = (n if value else 0 for n, value in zip(position.pool, position.values))
    return (a, b, c)


def drop_cheapest(position: Position, items: Items, times: int) -> Items:
    """The items without the cheapest few, worthless ones first."""
    for kind in reversed(by_value(position)):
        gone = min(items[kind], max(0, times))
        items, times = change(items, kind, -gone), times - gone
    return items


def distance(first: Items, second: Items) -> int:
    """The number of items that would have to change hands between two splits."""
    return sum(abs(a - b) for a, b in zip(first, second))


@program(memory=False, chance=False)
def hats_are_mine(position: Position) -> Move:
    """Talks of whole types only ("you take the hats, I take the rest") and finds an offer that cuts a type untidy.

    From the way pupils word it: a type is one thing to them, and a mixed offer is answered with a tidy one near to it.
    """
    floor = (8, 7, 6, 5, 4)[min(4, own_acts(position))]
    tidy = [keep for keep in position.splits() if all(k in (0, n) for k, n in zip(keep, position.pool))]
    tidy = [keep for keep in tidy if 0 < sum(keep) < sum(position.pool)] or tidy
    offer_is_tidy = position.offer in tidy
    if position.can_agree:
        if position.turns_left == 1 and score(position, position.offer) >= 2:
            return AGREE, None
        if score(position, position.offer) >= floor + (0 if offer_is_tidy else 1.5):
            return AGREE, None
    good = [keep for keep in tidy if score(position, keep) >= floor]
    good = good or [max(tidy, key=lambda keep: (position.worth(keep), -sum(keep)))]
    if position.last_act is None:
        return PROPOSE, max(good, key=lambda keep: (position.worth(keep), -sum(keep)))
    ask = min(good, key=lambda keep: (distance(keep, position.offer), position.worth(keep)))
    return (INSIST if position.can_agree and not offer_is_tidy else PROPOSE), ask


@program(memory=False, chance=False)
def same_number_each(position: Position) -> Move:
    """Fair is when both get as many items; which items matters less to it, and fewer than a third is an insult.

    A pupil's fairness rule. Early it asks for the dearest half; late it takes what the other leaves it and fills it up.
    """
    total = sum(position.pool)
    half = total // 2 if position.turns_left <= position.max_turns - 4 else (total + 1) // 2
    points, number = score(position, position.offer), sum(position.offer)
    if position.can_agree:
        if points >= 7 or (number >= half and points >= (5 if position.turns_left > 4 else 3)):
            return AGREE, None
        if position.turns_left == 1:
            return (AGREE if 3 * number >= total and points > 0 else DISAGREE), None
    keep = position.offer
    if position.turns_left > 4:  # early on it still looks for the dear half, later it leaves the other its wishes
        keep = (0, 0, 0)
    keep = drop_cheapest(position, keep, sum(keep) - half)
    for kind in by_value(position):
        keep = change(keep, kind, min(position.pool[kind] - keep[kind], half - sum(keep)))
    while score(position, keep) < 4:  # half of the items, but all the wrong ones: swap one
        dear = next((k for k in by_value(position) if keep[k] < position.pool[k]), None)
        cheap = next((k for k in reversed(by_value(position)) if keep[k]), None)
        if dear is None or cheap is None or position.values[dear] <= position.values[cheap]:
            break
        keep = change(change(keep, cheap, -1), dear, 1)
    return PROPOSE, keep


@program(memory=False, chance=True)
def i_just_want_these(position: Position) -> Move:
    """Falls in love with one type and holds on to all of it, but is easy, and a little random, about everything else.

    A pupil who writes "I really need the books" - now and then the type with the dearest item, not the one worth most.
    """
    totals = [n * value for n, value in zip(position.pool, position.values)]
    by_total = position.character[0] < 0.75
    love = max(range(3), key=lambda kind: totals[kind] if by_total else position.values[kind])
    has_love = position.offer[love] == position.pool[love]
    nearly = position.offer[love] >= position.pool[love] - 1
    points = score(position, position.offer)
    late = position.turns_left <= 4
    if position.can_agree:
        if points >= (5 if has_love else 8):
            return AGREE, None
        if late and ((has_love and points >= 4) or (nearly and points >= 5 and position.luck[0] < 0.5)):
            return AGREE, None
        if position.turns_left == 1:
            return (AGREE if points >= 2 else DISAGREE), None
    keep = change((0, 0, 0), love, position.pool[love])
    easiness = 0.9 - 0.17 * own_acts(position) + 0.3 * (position.character[1] - 0.5)
    for kind in by_value(position):
        if kind != love and position.values[kind]:
            more = int(max(0.0, easiness) * position.pool[kind] + position.luck[1 + kind] * (easiness > 0))
            keep = change(keep, kind, min(more, position.pool[kind]))
    if score(position, keep) < 4:
        other_kinds = [k for k in by_value(position) if k != love]
        keep = change(keep, other_kinds[0], position.pool[other_kinds[0]] - keep[other_kinds[0]])
    refused = position.can_agree and not has_love
    return (INSIST if refused and position.luck[5] < 0.6 else PROPOSE), keep


@program(memory=False, chance=True)
def half_listening(position: Position) -> Move:
    """Bargains sensibly with one eye on the telephone: reads offers the wrong way round, mixes up two values, restarts.

    The usual slips in a chat: "I get the hats" read as "you get the hats", the value sheet read one line off.
    """
    luck, character = position.luck, position.character
    values = list(position.values)
    if luck[1] < 0.15:  # one line off in the value sheet
        first = int(character[0] * 3)
        values[first], values[first - 1] = values[first - 1], values[first]
    offer = position.offer
    if luck[0] < 0.12:  # who gets the hats?
        offer = remainder(position.pool, offer)

    def believed(items: Items) -> float:
        pool_value = sum(value * n for value, n in zip(values, position.pool))
        return 10 * sum(value * n for value, n in zip(values, items)) / max(1, pool_value)

    want = 7 + 2 * character[1] - 0.7 * own_acts(position)
    if luck[2] < 0.1:  # forgot how far they had come
        want = 8.5
    if position.can_agree:
        ready = want - (1 if luck[3] < 0.3 else 0)
        if believed(offer) >= ready or (position.turns_left == 1 and believed(offer) >= 1):
            return AGREE, None
    near = [keep for keep in position.splits() if want <= believed(keep) <= want + 1.5 and keep != position.pool]
    if not near:
        near = [min(position.splits(), key=lambda keep: abs(believed(keep) - want))]
    fewest = min(sum(keep) for keep in near)
    near = [keep for keep in near if sum(keep) <= fewest + 1]  # does not care to ask for much that is worth little
    return PROPOSE, near[int(luck[4] * len(near))]


@program(memory=True, chance=False)
def reads_your_hands(position: Position) -> Move:
    """Learns which types the other clings to and picks, among splits good enough for itself, the one dearest to them.

    A professional's log-rolling: what they keep first and give up last is what they are paid in; ask for the rest.
    """
    weight = [1.0, 1.0, 1.0]
    for number, keep in enumerate(position.other_claims()):
        for kind in range(3):
            weight[kind] += (1 + number) * (keep[kind] / max(1, position.pool[kind]) - 0.5)
    weight = [max(0.1, w) for w in weight]
    total = sum(w * n for w, n in zip(weight, position.pool)) or 1.0

    def for_them(keep: Items) -> float:
        return 10 * sum(w * n for w, n in zip(weight, remainder(position.pool, keep))) / total

    floor = (8, 7.5, 7, 6, 5)[min(4, own_acts(position))]
    if position.turns_left == 2:  # after this offer they can only take it or leave it
        fine = [keep for keep in position.splits() if for_them(keep) >= 2.5 or position.worth(keep) == 0]
        ask = max(fine, key=lambda keep: (position.worth(keep), for_them(keep)))
        if position.can_agree and score(position, position.offer) >= min(8, score(position, ask)):
            return AGREE, None
        return INSIST, ask
    if position.can_agree:
        if position.turns_left == 1 and position.worth(position.offer) > 0:
            return AGREE, None
        if score(position, position.offer) >= floor:
            return AGREE, None
    good = [keep for keep in position.splits() if score(position, keep) >= floor]
    return PROPOSE, max(good, key=lambda keep: (for_them(keep) + 0.4 * score(position, keep), -sum(keep)))


@program(memory=True, chance=False)
def reads_the_tape(position: Position) -> Move:
    """A trader who watches how fast the other's offers rise: sits still while they rise, pays one tick when they stall.

    Floor traders' rule: never bid against yourself while the market is coming to you.
    """
    tape = [score(position, remainder(position.pool, keep)) for keep in position.other_claims()]
    requested = position.own_claims()
    offers_left = position.turns_left // 2  # further offers that the other can still make
    speed = (tape[-1] - tape[-min(3, len(tape))]) / (min(3, len(tape)) - 1) if len(tape) > 1 else 0.0
    bid = tape[-1] if tape else 0.0
    close = min(9.0, bid + speed * offers_left)
    ladder = sorted({score(position, keep) for keep in position.splits() if 5 <= score(position, keep) <= 9})
    ladder = ladder or [10.0]
    if not requested:
        level = ladder[-1]
    else:
        level = score(position, requested[-1])
        stalled = len(tape) > 1 and tape[-1] - tape[-2] <= 0
        if stalled or (close < 5 and len(tape) > 1):
            level = max([step for step in ladder if step < level], default=ladder[0])
    if position.can_agree:
        if position.turns_left == 1:
            return (AGREE if position.worth(position.offer) else DISAGREE), None
        if bid >= level or (bid >= 5 and position.turns_left <= 3) or (bid >= 6 and bid >= close):
            return AGREE, None
    most = useful(position)
    same = [keep for keep in position.splits() if score(position, keep) == level]
    same = [keep for keep in same if all(k <= n for k, n in zip(keep, most))]
    same = same or [most]
    other_claims = position.other_claims()
    if not other_claims:
        return PROPOSE, min(same, key=sum)
    ask = min(same, key=lambda keep: (distance(keep, remainder(position.pool, other_claims[-1])), sum(keep)))
    return (INSIST if requested and requested[-1] == ask else PROPOSE), ask


@program(memory=True, chance=True)
def meets_in_the_middle(position: Position) -> Move:
    """Anchors high, then always proposes the middle between its last ask and their offer, rounded to what can be cut.

    "Let us split the difference", the oldest compromise; how high it anchors and how near is near enough is character.
    """
    anchor = 7.5 + 2 * position.character[0]
    near_enough = 1 + 1.5 * position.character[1]
    requested = position.own_claims()
    bid = score(position, position.offer)
    last = score(position, requested[-1]) if requested else anchor
    if position.can_agree:
        if (requested and last - bid <= near_enough and bid >= 4) or bid >= anchor - 1:
            return AGREE, None
        if position.turns_left == 1:
            return (AGREE if bid >= 2 else DISAGREE), None
        if position.turns_left <= 5 and bid >= 5 and position.luck[0] < 0.35:  # "fine, done"
            return AGREE, None
    other_claims = position.other_claims()
    aim = max(4.5, (last + bid) / 2) if requested and other_claims else last
    if requested and len(other_claims) > 1 and other_claims[-1] == other_claims[-2] and position.luck[1] < 0.5:
        return INSIST, requested[-1]  # they did not come half of the way, so neither does it
    home = requested[-1] if requested else useful(position)

    def misfit(keep: Items) -> tuple[float, int, int]:
        short = 0.1 if score(position, keep) < aim else 0.0  # rounds in its own favour
        wasted = sum(keep[kind] for kind in range(3) if position.values[kind] == 0)
        return (abs(score(position, keep) - aim) + short, wasted, distance(keep, home))

    return PROPOSE, min(position.splits(), key=misfit)


@program(memory=True, chance=False)
def item_for_item(position: Position) -> Move:
    """Gives up one item for each item that the other has given up, takes it back if they do, answers INSIST in kind.

    Reciprocity as in Osgood's GRIT: after two rounds without a move of either side it makes one small gift unrequested.
    """
    other_claims, requested = position.other_claims(), position.own_claims()
    first = useful(position)
    first = drop_cheapest(position, first, 1 if sum(first) > 1 else 0)
    conceded = sum(other_claims[0]) - sum(other_claims[-1]) if other_claims else 0
    frozen = sum(1 for before, after in zip(other_claims, other_claims[1:]) if sum(after) >= sum(before))
    gifts = frozen // 2
    steps = max(0, conceded) + gifts
    ask = first
    for _ in range(steps):  # rather an item that the other still claims, and the cheapest of these
        desired = [k for k in range(3) if ask[k] and (not other_claims or ask[k] > position.offer[k])]
        desired = desired or [k for k in range(3) if ask[k]]
        if not desired:
            break
        cheapest = min(desired, key=lambda kind: position.values[kind])
        if score(position, change(ask, cheapest, -1)) < 4:
            break
        ask = change(ask, cheapest, -1)
    bid = score(position, position.offer)
    if position.can_agree:
        if bid >= score(position, ask) - (2 if conceded >= 2 else 0) and bid >= 4:
            return AGREE, None
        if position.turns_left <= 2 and bid >= (3 if conceded > 0 else 5):
            return AGREE, None
        if position.turns_left == 1:
            return (AGREE if bid >= 2 else DISAGREE), None
    if position.last_act == INSIST and requested:
        return INSIST, requested[-1] if gifts == 0 else ask
    return PROPOSE, ask


@program(memory=True, chance=True)
def hungry_before_lunch(position: Position) -> Move:
    """Starts modestly, means to be quick: out of patience it takes a middling offer, halves every type, or walks out.

    The pupil of the last lesson before lunch; it bears with people who move, and ends the talk with those who do not.
    """
    patience = 1 + int(3 * position.character[0])
    acts_done = own_acts(position)
    other_claims = position.other_claims()
    bids = [score(position, remainder(position.pool, keep)) for keep in other_claims]
    bid = bids[-1] if bids else 0.0
    moved = len(bids) > 1 and bid > bids[0]
    modest = 6 + 1.5 * position.character[1]
    if position.can_agree:
        if bid >= modest or (position.turns_left == 1 and bid >= 2):
            return AGREE, None
        if acts_done >= patience and bid >= (5 if moved else 6) - (acts_done - patience):
            return AGREE, None
    if acts_done >= patience + 2 and len(bids) > 2 and not moved:
        if position.luck[0] < 0.5:
            return (DISAGREE if position.luck[1] < 0.5 else END), None
    if acts_done >= patience:  # half of every type, the odd ones by what they are worth to it
        keep = (position.pool[0] // 2, position.pool[1] // 2, position.pool[2] // 2)
        for kind in by_value(position)[:2]:
            if 2 * keep[kind] < position.pool[kind] and score(position, keep) < 6:
                keep = change(keep, kind, 1)
        return (INSIST if acts_done > patience else PROPOSE), keep
    good = [keep for keep in position.splits() if modest <= score(position, keep) <= modest + 2.5]
    good = good or [useful(position)]
    good.sort(key=sum)
    return PROPOSE, good[int(position.luck[2] ** 2 * len(good))]


@program(memory=True, chance=False)
def lays_out_a_menu(position: Position) -> Move:
    """Offers different packages of about the same worth to itself, nearest to their wishes first, before it comes down.

    Equivalent offers, as taught to sales people, and the similarity trade-offs of Faratin, Sierra and Jennings (2002).
    """
    requested, other_claims = position.own_claims(), position.other_claims()
    left_to_me = position.offer if other_claims else None
    steps = (8, 7, 6, 5, 4.5)
    slowest = min(4, own_acts(position) // 2 + (2 if position.turns_left <= 3 else 0))
    bid = score(position, position.offer)
    for number, level in enumerate(steps):
        top = 10 if number == 0 else steps[number - 1]
        dishes = [keep for keep in position.splits() if level <= score(position, keep) < top and keep not in requested]
        dishes = [keep for keep in dishes if all(k == 0 or value for k, value in zip(keep, position.values))]
        tried = sum(1 for keep in requested if level <= score(position, keep) < top)
        if position.can_agree and bid >= level and (number >= slowest or bid >= 7):
            return AGREE, None
        if dishes and tried < 2 and number >= slowest:
            if left_to_me is None:
                return PROPOSE, max(dishes, key=lambda keep: (position.worth(keep), -sum(keep)))
            return PROPOSE, min(dishes, key=lambda keep: (distance(keep, left_to_me), -position.worth(keep)))
    if position.can_agree and position.turns_left == 1 and bid > 0:
        return AGREE, None
    again = [keep for keep in requested if score(position, keep) >= 4.5] or [useful(position)]  # "as I said"
    return INSIST, min(again, key=lambda keep: (distance(keep, position.offer), sum(keep)))


@program(memory=False, chance=False)
def who_speaks_last(position: Position) -> Move:
    """Works out who makes the last offer: if itself, it waits for it; if the other, it wants a deal before that.

    A trader's look at the clock. It sugars every ask with one of each type of which there is more than one.
    """
    mine_is_last = position.turns_left % 2 == 0
    rounds = (position.turns_left - 1) // 2  # own acts still to come after this one
    bid = score(position, position.offer)
    if mine_is_last:
        floor = 7 if rounds else 6
        enough = 8 if rounds else 6
    else:
        floor = (5, 5, 5.5, 6.5, 8)[min(4, rounds)]
        enough = max(4, floor - 1)
    if position.can_agree:
        if bid >= enough or (position.turns_left == 1 and bid > 0):
            return AGREE, None
    sugar = [1 if n > 1 else 0 for n in position.pool]
    sweet = [keep for keep in position.splits() if all(n - k >= s for n, k, s in zip(position.pool, keep, sugar))]
    sweet = [keep for keep in sweet if score(position, keep) >= floor]
    if mine_is_last:
        fits = sweet or [keep for keep in position.splits() if score(position, keep) >= floor and keep != position.pool]
        fits = fits or [useful(position)]
        ask = max(fits, key=lambda keep: (position.worth(keep), -sum(keep)))
        return (INSIST if rounds == 0 else PROPOSE), ask
    fits = sweet or [keep for keep in position.splits() if score(position, keep) >= floor]
    ask = min(fits, key=lambda keep: (position.worth(keep), sum(keep)))
    return (INSIST if rounds == 1 else PROPOSE), ask


@program(memory=False, chance=False)
def one_more_and_done(position: Position) -> Move:
    """Takes the other's offer as the ground and asks for one thing on top, giving back what is worth nothing to it.

    The nibble: "throw in the second hat and we have a deal"; it lets the other do the designing and the giving.
    """
    bid = score(position, position.offer)
    if position.can_agree:
        enough = 8 if position.turns_left > 6 else 7 if position.turns_left > 4 else 6 if position.turns_left > 2 else 5
        if bid >= enough or (position.turns_left == 1 and bid > 0):
            return AGREE, None
    if position.last_act is None:  # nothing to build on: the dearest type whole, one of each other type
        dear = by_value(position)[0]
        a, b, c = (n if kind == dear else min(1, max(0, n - 1)) for kind, n in enumerate(position.pool))
        return PROPOSE, (a, b, c)
    ground = position.offer
    for kind in range(3):
        if position.values[kind] == 0:
            ground = change(ground, kind, -ground[kind])
    low = 5 if position.turns_left <= 6 else 6
    added = 0
    for kind in by_value(position):
        while ground[kind] < position.pool[kind] and (added == 0 or score(position, ground) < low):
            ground, added = change(ground, kind, 1), added + 1
    if ground == position.pool:  # no seat gives everything: something small back
        ground = drop_cheapest(position, ground, 1)
    if added == 1 and position.turns_left <= 4:
        return INSIST, ground  # so near to a deal: only this one thing
    return PROPOSE, ground


@program(memory=True, chance=False)
def does_not_forget(position: Position) -> Move:
    """Opens honestly at about six, asks for more after each insult and for less after each kindness, and can walk out.

    An uncle at the flea market. Everybody may open high once; after that, mean, repeated and growing claims are noted.
    """
    other_claims = [(act, keep) for is_own, act, keep in position.acts if not is_own and keep is not None]
    insults = kindness = 0
    for (_, before), (act, after) in zip(other_claims, other_claims[1:]):
        points_left = score(position, remainder(position.pool, after))
        if points_left > score(position, remainder(position.pool, before)) and act == PROPOSE:
            kindness += 1
        elif points_left < 3 or act == INSIST or sum(after) > sum(before):
            insults += 1
    want = min(9.0, max(5.0, 6 + insults - kindness))
    bid = score(position, position.offer)
    if position.can_agree:
        if bid >= want - (0.5 if kindness else 0):
            return AGREE, None
        if insults >= 3 and kindness == 0 and position.turns_left <= 3:
            return DISAGREE, None
        if position.turns_left == 1:
            return (AGREE if bid >= 3 + insults - kindness and bid > 0 else DISAGREE), None
        if position.turns_left <= 3 and bid >= 5 and insults == 0:
            return AGREE, None
    enough = [keep for keep in position.splits() if score(position, keep) >= want]
    if insults > kindness:  # out of spite the dearest types whole, and in a voice
        return INSIST, max(enough, key=lambda keep: (max(k * v for k, v in zip(keep, position.values)), -sum(keep)))
    return PROPOSE, min(enough, key=lambda keep: (sum(keep), position.worth(keep), distance(keep, position.offer)))


@program(memory=True, chance=True)
def says_it_again(position: Position) -> Move:
    """Has one idea at the start and says it again and again; parts with a single item, late; closes by saying it back.

    People who never type "deal": they repeat the other's offer as their own, and then end the talk.
    """
    requested, other_claims = position.own_claims(), position.other_claims()
    first, second, third = by_value(position)
    if requested:
        idea = requested[0]
    else:
        share = int(position.pool[second] * 0.5 + position.character[0])
        idea = change(change((0, 0, 0), first, position.pool[first]), second, min(share, position.pool[second]))
        if position.character[1] < 0.3 and position.values[third] and position.pool[third]:
            idea = change(idea, third, 1)
        while score(position, idea) < 5:  # small comfort: add until it is half
            kind = next(k for k in (first, second, third) if idea[k] < position.pool[k])
            idea = change(idea, kind, 1)
    bid = score(position, position.offer)
    if requested and other_claims and requested[-1] == position.offer and bid > 0:
        return END, None  # both have said the same: no need for more words
    pressed = sum(1 for is_own, act, _ in position.acts if not is_own and act == INSIST)
    soft = drop_cheapest(position, idea, 1)
    gives = (pressed >= 2 or position.turns_left <= 4) and score(position, soft) >= 4
    keep_now = soft if gives else idea
    if other_claims and position.can_agree:
        if bid >= score(position, keep_now) - (1 if position.turns_left <= 3 else 0):
            if position.turns_left > 2 and bid < 8:
                return PROPOSE, position.offer  # says it back
            return AGREE, None
        if (position.turns_left <= 2 and bid >= 5) or (position.turns_left == 1 and bid >= 2):
            return AGREE, None
    stubborn = bool(requested) and requested[-1] == keep_now and position.luck[0] < 0.7
    return (INSIST if stubborn else PROPOSE), keep_now
