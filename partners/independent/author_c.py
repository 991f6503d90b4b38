"""Fourteen people at a table with books, hats and balls on it: characters by a novelist who also designs games."""

from dond_marl.position import Position, remainder
from partners.independent import AGREE, DISAGREE, END, INSIST, PROPOSE, program


def points(p: Position, items):
    """The worth of items to me, as tenths of the whole pool."""
    (u, v, w), (a, b, c), (x, y, z) = p.values, p.pool, items
    return 10 * (u * x + v * y + w * z) / max(1, u * a + v * b + w * c)


def points_offered(p: Position):
    """The points that each of the other's claims would have left me, in order."""
    return [points(p, remainder(p.pool, keep)) for keep in p.other_claims()]


def cheapest(p: Position, want, taste=sum):
    """The split that just reaches want, and of those the one with the lowest taste (fewest things)."""
    return min((s for s in p.splits() if points(p, s) >= want), key=lambda s: (points(p, s), taste(s)), default=p.pool)


def move(p: Position, items, step):
    """Items with one more (step 1) of the dearest thing there is to add, or one less (step -1) of the cheapest."""
    kinds = [i for i in range(3) if (items[i] < p.pool[i] if step > 0 else items[i] > 0)]
    if not kinds:
        return tuple(items)
    i = max(kinds, key=lambda i: (step * p.values[i], i))
    return tuple(k + step * (j == i) for j, k in enumerate(items))


TASTES = [(2.5 * a, 2.5 * b, 2.5 * (4 - a - b)) for a in range(5) for b in range(5 - a)]


@program(memory=True, chance=False)
def bookmaker(p):
    """Keeps odds on 15 pictures of what the other cares for (few people ask for little of what they love, or refuse
    much of it) and bids on the split with the best expected profit; takes an offer that beats the bet. Own
    idea: a racecourse bookmaker who never looks at the horse, only at the money.
    """
    if p.turns_left == 1 and p.can_agree and p.worth(p.offer) > 0:
        return AGREE, None
    pictures = []
    for taste in TASTES:
        a, b, c = (share / max(1, n) for share, n in zip(taste, p.pool))
        odds, requested = 1.0, 9.0
        for is_own, act, keep in p.acts:
            worth = a * keep[0] + b * keep[1] + c * keep[2] if keep else 7
            if is_own and worth < 4.5:
                odds *= 0.6 ** (4.5 - worth)  # he refused all the rest?
            elif not is_own:
                odds *= 0.6 ** max(0.0, requested - worth)  # he requested for that little?
                requested -= 1.0
        pictures.append((odds, a, b, c))
    top = max(pictures)[0]
    pictures = [picture for picture in pictures if picture[0] > top / 20]
    total = sum(picture[0] for picture in pictures)
    needs = 0.8 + 0.4 * p.turns_left  # below this he never agrees
    later = 3.0 + 0.35 * p.turns_left if p.turns_left > 2 else 0  # what a refusal leaves me
    gains = {s: points(p, s) for s in p.splits() if not any(k and not v for k, v in zip(s, p.values))}

    def bet(split):
        x, y, z = remainder(p.pool, split)
        chance = 0.0
        for odds, a, b, c in pictures:
            yes = (a * x + b * y + c * z - needs) / 3
            chance += odds * (0.02 if yes < 0.02 else yes if yes < 0.97 else 0.97)
        return later + (gains[split] - later) * chance / total

    bets = {s: bet(s) for s, gain in gains.items() if gain > later}
    best = max(bets, key=bets.get, default=p.pool)
    if p.can_agree and points(p, p.offer) >= bets.get(best, 10):
        return AGREE, None
    return PROPOSE, best


@program(memory=True, chance=False)
def same_price_other_basket(p):
    """A market trader: the price stays, but the basket may change. Tries another basket of about the same worth each
    time, the one nearest to what the customer has requested for so far, and lowers the price only slowly; never
    puts worthless things into a basket of one's own, and with no basket left to try says the last one louder.
    After trade-off negotiation in the manner of Faratin, Sierra and Jennings.
    """
    tried, desired = p.own_claims(), p.other_claims()
    price = (8, 8, 7, 6, 5)[min(4, len(tried))]
    if p.can_agree and (points(p, p.offer) >= price or (p.turns_left == 1 and p.worth(p.offer) > 0)):
        return AGREE, None

    def liking(split):
        leaves = remainder(p.pool, split)
        overlap = sum((t + 1) * min(x, y) for t, keep in enumerate(desired) for x, y in zip(leaves, keep))
        return overlap, sum(leaves), -points(p, split)

    baskets = [s for s in p.splits() if points(p, s) >= price and p.worth(s) > p.worth(move(p, s, -1))]
    lowest = min((points(p, s) for s in baskets), default=0)
    baskets = [s for s in baskets if points(p, s) <= lowest + 1.5]
    fresh = [s for s in baskets if s not in tried]
    basket = max(fresh or baskets or [p.pool], key=liking)
    return (PROPOSE if basket in fresh else INSIST), basket


@program(memory=True, chance=False)
def limit_tester(p):
    """A child testing limits: while the other's offers get better, repeats the same demand and says it louder; when
    they stand still, gives just one notch; when they get worse, takes fright and offers the middle. Own idea.
    """
    incoming, own_claims = points_offered(p), p.own_claims()
    if not own_claims:
        if p.can_agree and incoming[-1] >= 8:
            return AGREE, None
        return PROPOSE, cheapest(p, 9)
    requested = points(p, own_claims[-1])
    change = incoming[-1] - incoming[-2] if len(incoming) > 1 else 0
    if p.can_agree and (incoming[-1] >= requested - 1 or (p.turns_left == 1 and incoming[-1] > 0)):
        return AGREE, None
    if p.turns_left <= 3 and p.can_agree and incoming[-1] >= 6 - (change <= 0):
        return AGREE, None  # no more to be had
    if change > 0 and p.turns_left > 3:
        return INSIST, own_claims[-1]
    if change < 0 or p.turns_left <= 3:
        return PROPOSE, cheapest(p, max(4, (requested + (incoming or [0])[-1]) / 2))
    lower = [s for s in p.splits() if 6 <= points(p, s) < requested]
    return PROPOSE, max(lower, key=lambda s: (points(p, s), -sum(s)), default=own_claims[-1])


@program(memory=True, chance=False)
def ledger_keeper(p):
    """The aunt who keeps accounts: writes down, in her own points, how far the other has come since the first offer,
    and comes down by exactly that, plus one on credit; a step back is charged too. Near the end she writes off
    a debt once. Agrees when the books balance; leaves with nothing rather than be cheated on the last act.
    """
    incoming = points_offered(p)
    received = incoming[-1] - incoming[0] if incoming else 0
    credit = 1 if incoming else 0
    written_off = 2 if p.turns_left <= 4 else 0
    demand = min(10, max(5, 9 - received - credit - written_off))
    if p.can_agree:
        if incoming[-1] >= demand or (incoming[-1] >= 5 and received >= 4):
            return AGREE, None
        if p.turns_left == 1:
            return (AGREE if incoming[-1] >= 3 else END), None
    last = p.own_claims()[-1:]
    keep = cheapest(p, demand)
    return (INSIST if last == [keep] else PROPOSE), keep


@program(memory=True, chance=False)
def offended_diplomat(p):
    """Courteous, with a schedule of concessions, until a proposal leaves her country almost nothing. The first such
    slight is put down to ignorance; each later one raises her demand and makes her insist. A clear improvement
    is an apology and is forgiven. A third slight in a row near the end recalls the ambassador.
    """
    incoming, slights = points_offered(p), 0
    for t, offer in enumerate(incoming):
        better = t > 0 and offer >= incoming[t - 1] + 1.5
        if better:
            slights = 0
        elif offer <= 2:
            slights += 1
    offended = slights >= 2
    turn = len(p.own_claims())
    demand = (8, 7, 6.5, 6, 5)[min(4, turn)] + (slights - 1 if offended else 0)
    if p.can_agree and not offended and points(p, p.offer) >= demand - 1:
        return AGREE, None
    if p.turns_left <= 3 and slights >= 3:
        return DISAGREE, None
    if p.turns_left == 1:
        return (AGREE if p.can_agree and points(p, p.offer) >= 3 else END), None
    return (INSIST if offended else PROPOSE), cheapest(p, min(9, demand))


@program(memory=True, chance=False)
def ritual_host(p):
    """A host of the old school (the Persian taarof): the first good offer must be refused, by handing one thing back;
    the second may be taken. Poor offers are met with a gift, one thing more each time, but never below four
    points. Opens with fewer things than a merchant would.
    """
    incoming, own_claims = points_offered(p), p.own_claims()
    if not incoming:
        return PROPOSE, cheapest(p, 6)
    good = sum(offer >= 5 for offer in incoming)
    if p.can_agree and incoming[-1] >= 5 and (good >= 2 or p.turns_left <= 2):
        return AGREE, None
    if p.turns_left == 1:
        return (AGREE if p.can_agree and incoming[-1] > 0 else END), None
    if incoming[-1] >= 5:
        back = move(p, p.offer, -1)
        return PROPOSE, back if points(p, back) >= 4 else p.offer
    gift = move(p, own_claims[-1] if own_claims else cheapest(p, 8, taste=lambda s: -sum(s)), -1)
    return (PROPOSE, gift) if points(p, gift) >= 5 else (INSIST, own_claims[-1] if own_claims else cheapest(p, 5))


@program(memory=True, chance=True)
def bluffer(p):
    """Pretends to love the pile that means least to him: insists on all of it and his true favourite, for one to
    three acts. Then he gives it up with a great sigh and wants the pile he really loves, and more, in return.
    If the other lets him have the decoy and keeps the rest, he is caught, and half the time comes down fast.
    """
    order = sorted(range(3), key=lambda i: (p.values[i] * p.pool[i], i))
    decoy, middle, love = order
    own_claims = p.own_claims()
    acted, length = len(own_claims), 1 + int(3 * p.character[0])
    caught = p.last_act is not None and p.offer[decoy] == p.pool[decoy] and points(p, p.offer) < 4
    want = 8 - 0.9 * acted - (1.5 if caught and p.luck[0] < 0.5 else 0)
    if p.can_agree and points(p, p.offer) >= (max(want, 4) if p.turns_left > 1 else 1):
        return AGREE, None
    if acted < length and not caught:
        keep = tuple(p.pool[i] if i != middle else p.pool[i] // 2 - (acted > 0 and p.pool[i] > 1) for i in range(3))
        return (INSIST if acted and p.luck[1] < 0.7 else PROPOSE), keep
    keep = [p.pool[i] if i == love else 0 for i in range(3)]
    for i in (middle, decoy):
        while points(p, keep) < max(want, 4) and keep[i] < p.pool[i]:
            keep[i] += 1
    while points(p, keep) - p.values[love] >= max(want, 4) and keep[love] > 1:
        keep[love] -= 1
    return PROPOSE, tuple(keep)


@program(memory=False, chance=False)
def collector(p):
    """A collector of complete sets: a pile is worth having only whole. Asks for the two best sets, then for the best
    and the least; near the end for the best alone, and if that is too little breaks the second set at last, and
    goes home without a deal when the favourite set is broken on the last act and the rest is poor.
    """
    a, b, c = sorted(range(3), key=lambda i: (-p.values[i] * p.pool[i], p.pool[i]))

    def sets(*kinds):
        return tuple(n if i in kinds else 0 for i, n in enumerate(p.pool))

    complete = p.offer[a] == p.pool[a]
    if p.can_agree:
        price = 9 if p.turns_left > 7 else 7 if p.turns_left > 4 else 5
        if points(p, p.offer) >= price + (0 if complete else 1.5):
            return AGREE, None
        if p.turns_left == 1:
            return (AGREE if complete or points(p, p.offer) >= 4 else END), None
    if p.turns_left > 7:
        return PROPOSE, sets(a, b)
    if p.turns_left > 4:
        return INSIST, sets(a, c) if p.values[c] and points(p, sets(a)) < 8 else sets(a)
    if points(p, sets(a)) >= 5:
        return INSIST, sets(a)
    extra = list(sets(a))
    while points(p, extra) < 5 and extra[b] < p.pool[b]:
        extra[b] += 1
    return PROPOSE, tuple(extra)


@program(memory=False, chance=False)
def one_more_thing(p):
    """Has no plan but the other's: takes what is offered and asks for one thing more, with a foot in the door. Builds
    a poor offer up, dearest thing first, until it looks like a living. Takes it as it stands when the other
    insists, or when it is late. Own idea, after a certain detective.
    """
    if p.last_act is None:
        return PROPOSE, move(p, p.pool, -1)
    worth = points(p, p.offer)
    if p.can_agree and (worth >= 8 or (worth >= 5 and (p.last_act == INSIST or p.turns_left <= 4))):
        return AGREE, None
    if p.turns_left == 1 and p.can_agree and worth >= 2:
        return AGREE, None
    keep = move(p, p.offer, 1)
    living = 7 if p.turns_left > 6 else 6 if p.turns_left > 3 else 5
    while points(p, keep) < living and keep != p.pool:
        keep = move(p, keep, 1)
    return PROPOSE, keep


@program(memory=False, chance=True)
def nervous_bidder(p):
    """A first-time bidder at an auction: each time names one of several sums near a comfortable one, blurted out more
    than chosen; the heart beats faster as time runs out, and then an offer that would have been refused is
    suddenly taken. The bold (by character) start higher and sometimes bang the table.
    """
    bold = p.character[0]
    comfort = 5 + 2.5 * bold - (1 + 2.5 * (1 - bold)) * (p.max_turns - p.turns_left) / p.max_turns
    worth = points(p, p.offer)
    if p.can_agree:
        yes = 1 / (1 + 2.72 ** (2.2 * (comfort - worth)))
        if p.luck[0] < yes or (p.turns_left == 1 and worth >= 2):
            return AGREE, None
    want = comfort + 2.5 * p.luck[1] + (0.5 if p.turns_left > 5 else 0)
    near = sorted(p.splits(), key=lambda s: (abs(points(p, s) - want), sum(s)))
    pick = near[int(p.luck[2] ** 2 * min(4, len(near)))]
    bang = p.last_act == INSIST and p.luck[3] < bold
    return (INSIST if bang else PROPOSE), pick


@program(memory=False, chance=True)
def price_tag(p):
    """A shopkeeper with one printed price, from six to eight by character, and always the same parcel: the one that
    gets there with the fewest things. Never haggles. In one shop of two there is a closing-time discount; in
    the other a buyer below the price is shown out at the end unless the shopkeeper needs to eat.
    """
    price = 6 + int(3 * p.character[0])
    discount = p.character[1] < 0.5
    enough = [s for s in p.splits() if points(p, s) >= price]
    parcel = min(enough, key=lambda s: (sum(s), points(p, s), s), default=p.pool)
    if p.can_agree and points(p, p.offer) >= price - (1.5 if discount and p.turns_left <= 3 else 0):
        return AGREE, None
    if p.turns_left == 1 and p.can_agree:
        return (AGREE if points(p, p.offer) >= (2 if discount else 5) or p.luck[0] < 0.3 else DISAGREE), None
    if discount and p.turns_left <= 3:
        return PROPOSE, move(p, parcel, -1)
    return (PROPOSE if p.last_act is None else INSIST), parcel


@program(memory=False, chance=True)
def tired_parent(p):
    """Half of every pile each, and stop it. Never sees that people like different things. Keeps two odd ones at first,
    the dearest, and one later on, and says it twice as loud when the other insists, except when nerves give way
    and any bearable offer will do.
    """
    halves = [n // 2 for n in p.pool]
    odd = sorted((i for i in range(3) if p.pool[i] % 2), key=lambda i: -p.values[i])
    evening = p.max_turns - p.turns_left
    retained = max(1, min(2, len(odd)) - evening // 4)
    keep = tuple(h + (i in odd[:retained]) for i, h in enumerate(halves))
    worth = points(p, p.offer)
    if p.can_agree:
        nerves = 0.15 + 0.25 * p.character[0] if p.last_act == INSIST else 0.06
        bearable = 3 if p.luck[0] < nerves * (1 + evening / 4) else 6 - evening / 6
        if worth >= bearable or worth >= points(p, keep) + 1 or p.turns_left == 1:
            return AGREE, None
    return (INSIST if p.last_act == INSIST else PROPOSE), keep


@program(memory=False, chance=True)
def absent_minded(p):
    """A professor with something else on his mind: one pile (by character, never his dearest) he has not noticed until
    the game is half over; now and then he takes hats for balls; now and then he does not hear an offer. What he
    does with the table in his head is quite sensible, a steady descent from eight to five.
    """
    dearest = max(range(3), key=lambda i: p.values[i] * p.pool[i])
    unseen = (dearest + 1 + int(2 * p.character[0])) % 3 if p.turns_left > 5 else None
    values = [0 if i == unseen else v for i, v in enumerate(p.values)]
    if p.luck[0] < 0.15:
        values[1], values[2] = values[2], values[1]
    head = p._replace(values=tuple(values))
    want = 5 + (p.turns_left - 1) / 3
    deaf = p.luck[1] < 0.12 and p.turns_left > 2
    if p.can_agree and not deaf and (points(head, p.offer) >= want or (p.turns_left == 1 and p.luck[2] < 0.9)):
        return AGREE, None
    return PROPOSE, cheapest(head, want, taste=lambda s: sum(s) + p.character[1] * s[0])


@program(memory=False, chance=False)
def elder_sibling(p):
    """Divides as children do, by picking in turn: one for me, one for you. The elder picks first while the day is
    young; later the younger picks first, and at last twice. Takes for the younger what the younger's claim
    holds back most, or what she herself wants least. Counts things as well as points when judging an offer.
    """
    incoming = p.last_act is not None
    withheld = [(n - k) / max(1, n) if incoming else 0 for n, k in zip(p.pool, p.offer)]
    stock, keep = list(p.pool), [0, 0, 0]
    is_own_pick = p.turns_left > 5
    twice = p.turns_left <= 2
    while any(stock):
        kinds = [i for i in range(3) if stock[i]]
        if is_own_pick:
            i = max(kinds, key=lambda i: (p.values[i], stock[i]))
            keep[i] += 1
        else:
            i = max(kinds, key=lambda i: (withheld[i] * stock[i] / p.pool[i] - p.values[i] / 10, -i))
        stock[i] -= 1
        if twice and not is_own_pick:
            twice = False  # the younger picks once more
        else:
            is_own_pick = not is_own_pick
    worth = points(p, p.offer)
    fair = 2 * sum(p.offer) >= sum(p.pool)
    if p.can_agree:
        if worth >= min(7, points(p, keep)) or (fair and worth >= 5 and p.turns_left <= 7):
            return AGREE, None
        if p.turns_left == 1 and (worth >= 4 or (fair and worth >= 2)):
            return AGREE, None
    return PROPOSE, tuple(keep)
