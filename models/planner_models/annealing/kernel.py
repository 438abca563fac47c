"""One chain of annealing: moves, their cost from counts, and the loop that accepts them.

A proposal is a set of disjoint *transpositions*: seats that trade what they hold, idle ones
included. It is carried out, priced from the counts on the way, and taken back if refused. Each
proposal reads its own row of `DRAWS` random numbers, so a chain is a function of its seed alone.

Everything here runs as plain Python on lists, and compiled on arrays (`compiled.py`): it uses
indexing, integers and loops, and no function from elsewhere but `exp`. One file holds all of it
because a compiled function is cached under the time stamp of its own file.
"""

from math import exp

from planner_models.annealing.state import Row, State, Tables

DRAWS = 9  # random numbers a proposal: which move, up to seven choices, acceptance

# Shares of the moves, summed up. Pieces mend what misfits; on thousands of slots any two rarely do.
ANY, PARTNER, LANES, PIECE, TRADE = 0.10, 0.30, 0.35, 0.70, 0.90

COST, BEST, CLOCK, ACCEPTED = range(4)  # what a tally counts
HEAT, COOLING = range(2)


def relocate(t: Tables, s: State, slot: int, here: int, there: int) -> int:
    """Move one slot between seats; the difference of cost."""
    delta = 0
    s.sits[slot] = there
    for l in range(t.levels):
        p = t.domain[l * t.seats + here]
        q = t.domain[l * t.seats + there]
        if p == q:
            break  # levels nest: the coarser ones do not part them either
        delta += recount_rings(t, s, slot, l, p, q)
        delta += recount_crosses(t, s, slot, l, p, q)
        delta += repriced_links(t, s, slot, l, p, q)
    return delta


def recount_rings(t: Tables, s: State, slot: int, l: int, p: int, q: int) -> int:
    """A slot leaves domain p of level l for q: what its rings pay more."""
    delta = 0
    for j in range(t.ring_at[slot], t.ring_at[slot + 1]):
        g = t.ring[j]
        cell = t.counts_at[l] + g * t.domains[l]
        was = s.touched[l * t.groups + g]
        now = was
        s.count[cell + p] -= 1
        if s.count[cell + p] == 0:
            now -= 1
        if s.count[cell + q] == 0:
            now += 1
        s.count[cell + q] += 1
        if now != was:
            s.touched[l * t.groups + g] = now
            links = now - was
            if was == 1:
                links = now
            elif now == 1:
                links = -was
            delta += t.weight[l * t.groups + g] * links
    return delta


def recount_crosses(t: Tables, s: State, slot: int, l: int, p: int, q: int) -> int:
    """The same for its all-to-alls: it parts from who stays in p and joins who is in q."""
    delta = 0
    for j in range(t.cross_at[slot], t.cross_at[slot + 1]):
        g = t.cross[j]
        cell = t.counts_at[l] + g * t.domains[l]
        s.count[cell + p] -= 1
        delta += t.weight[l * t.groups + g] * (s.count[cell + p] - s.count[cell + q])
        s.count[cell + q] += 1
    return delta


def repriced_links(t: Tables, s: State, slot: int, l: int, p: int, q: int) -> int:
    """The same for its pair links."""
    delta = 0
    for j in range(t.link_at[slot], t.link_at[slot + 1]):
        d = t.domain[l * t.seats + s.sits[t.link[j]]]
        if d == p:
            delta += t.level_weight[l] * t.link_weight[j]
        elif d == q:
            delta -= t.level_weight[l] * t.link_weight[j]
    return delta


def transpose(t: Tables, s: State, x: int, y: int) -> int:
    """Seats x and y trade what they hold; the difference of cost."""
    a = s.held[x]
    b = s.held[y]
    delta = 0
    if a >= 0:
        delta += relocate(t, s, a, x, y)
    if b >= 0:
        delta += relocate(t, s, b, y, x)
    s.held[x] = b
    s.held[y] = a
    return delta


def partner(t: Tables, slot: int, u: float, v: float) -> int:
    """A random peer: any group or link of the slot alike, then any member; -1 if it has none."""
    rings = int(t.ring_at[slot + 1] - t.ring_at[slot])
    crosses = int(t.cross_at[slot + 1] - t.cross_at[slot])
    links = int(t.link_at[slot + 1] - t.link_at[slot])
    k = int(u * (rings + crosses + links))
    if k < rings:
        return member(t, t.ring[t.ring_at[slot] + k], v)
    if k < rings + crosses:
        return member(t, t.cross[t.cross_at[slot] + k - rings], v)
    if links == 0:
        return -1
    return int(t.link[t.link_at[slot] + k - rings - crosses])


def member(t: Tables, g: int, v: float) -> int:
    """A random member of a group."""
    first = t.member_at[g]
    return int(t.member[first + int(v * (t.member_at[g + 1] - first))])


def any_two(t: Tables, s: State, u: Row, r: int) -> int:
    """Two random seats."""
    s.left[0] = int(u[r] * t.seats)
    s.right[0] = int(u[r + 1] * t.seats)
    return 1


def to_partner(t: Tables, s: State, u: Row, r: int) -> int:
    """A random slot to a random seat of the domain in which a partner of it sits."""
    slot = int(u[r] * t.slots)
    peer = partner(t, slot, u[r + 1], u[r + 2])
    if peer < 0:
        return 0
    l = int(u[r + 3] * t.levels)
    row = t.first_domain[l] + t.domain[l * t.seats + s.sits[peer]]
    first = t.seat_at[row]
    s.left[0] = s.sits[slot]
    s.right[0] = t.seat[first + int(u[r + 4] * (t.seat_at[row + 1] - first))]
    return 1


def lanes(t: Tables, s: State, kind: int, u: Row, r: int) -> int:
    """Two random lanes of one bundle."""
    slot = int(u[r] * t.slots)
    bundle = t.bundle[kind * t.slots + slot]
    if bundle < 0:
        return 0
    first = t.bundled_at[bundle]
    s.left[0] = s.sits[slot]
    s.right[0] = s.sits[t.bundled[first + int(u[r + 1] * (t.bundled_at[bundle + 1] - first))]]
    return 1


def trade(t: Tables, s: State, kind: int, u: Row, r: int) -> int:
    """Two whole bundles of one size, a third of the time with the lanes of one rotated."""
    bundle = t.bundle[kind * t.slots + int(u[r] * t.slots)]
    if bundle < 0:
        return 0
    row = t.alike_at[t.alike[bundle]]
    other = t.alikes[row + int(u[r + 1] * (t.alike_at[t.alike[bundle] + 1] - row))]
    if other == bundle:
        return 0
    first = t.bundled_at[bundle]
    size = int(t.bundled_at[bundle + 1] - first)
    turn = int(3.0 * u[r + 2] * size)  # below `size` a third of the time: that lane, else none
    if turn >= size:
        turn = 0
    for i in range(size):
        s.left[i] = s.sits[t.bundled[first + i]]
        s.right[i] = s.sits[t.bundled[t.bundled_at[other] + (i + turn) % size]]
    return size


def piece(t: Tables, s: State, kind: int, clock: int, u: Row, r: int) -> int:
    """The piece of a bundle in one domain against as many seats of another domain.

    The other domain is that of a partner or that of a random seat. Half the time one piece of
    equal size is looked for first.
    """
    slot = int(u[r] * t.slots)
    level = int(u[r + 1] * t.levels)
    target = int(u[r + 3] * t.seats)
    if u[r + 2] < 0.5:
        peer = partner(t, slot, 2.0 * u[r + 2], u[r + 3])
        if peer >= 0:
            target = s.sits[peer]
    there = t.domain[level * t.seats + target]
    if there == t.domain[level * t.seats + s.sits[slot]]:
        return 0
    need = piece_at(t, s, kind, level, s.sits[slot], s.left, 0)
    row = t.first_domain[level] + there
    size = t.seat_at[row + 1] - t.seat_at[row]
    if size < need:
        return 0
    turn = int(u[r + 4] * size)
    if u[r + 5] < 0.5 and equal_piece(t, s, kind, level, row, turn, need):
        return need
    return fill(t, s, kind, level, row, turn, need, clock)


def piece_at(t: Tables, s: State, kind: int, level: int, seat: int, out: Row, n: int) -> int:
    """Append the seats of the piece at `seat`: the part of its bundle that shares its domain.

    An idle seat, or a slot in no bundle of this kind, is a piece of one. Returns the new length.
    """
    slot = s.held[seat]
    bundle = -1
    if slot >= 0:
        bundle = t.bundle[kind * t.slots + slot]
    if bundle < 0:
        out[n] = seat
        return n + 1
    d = t.domain[level * t.seats + seat]
    for j in range(t.bundled_at[bundle], t.bundled_at[bundle + 1]):
        other = s.sits[t.bundled[j]]
        if t.domain[level * t.seats + other] == d:
            out[n] = other
            n += 1
    return n


def equal_piece(t: Tables, s: State, kind: int, level: int, row: int, turn: int, need: int) -> bool:
    """Write a piece of `need` seats of a domain into `right`, if the domain has one."""
    first = t.seat_at[row]
    size = t.seat_at[row + 1] - first
    for j in range(size):
        seat = t.seat[first + (turn + j) % size]
        if piece_at(t, s, kind, level, seat, s.right, 0) == need:
            return True
    return False


def fill(
    t: Tables, s: State, kind: int, level: int, row: int, turn: int, need: int, clock: int
) -> int:
    """Write `need` seats of a domain into `right`: whole pieces while they fit, then any seats."""
    first = t.seat_at[row]
    size = t.seat_at[row + 1] - first
    taken = 0
    for j in range(size):
        seat = t.seat[first + (turn + j) % size]
        if taken < need and abs(s.mark[seat]) != clock:
            end = piece_at(t, s, kind, level, seat, s.right, taken)
            seen = clock if end <= need else -clock  # too large now is too large later
            for i in range(taken, end):
                s.mark[s.right[i]] = seen
            if end <= need:
                taken = end
    for j in range(size):
        seat = t.seat[first + (turn + j) % size]
        if taken < need and s.mark[seat] != clock:
            s.right[taken] = seat
            taken += 1
    return need


def propose(t: Tables, s: State, clock: int, u: Row, r: int) -> int:
    """Write a proposal's transpositions into `left` and `right`; how many, 0 for none."""
    move = u[r]
    blocks = t.kinds - t.pieces
    if move < ANY:
        return any_two(t, s, u, r + 2)
    if move < PARTNER or t.kinds == 0:
        return to_partner(t, s, u, r + 2)
    if blocks > 0 and (move >= TRADE or t.pieces == 0):
        return trade(t, s, t.pieces + int(u[r + 1] * blocks), u, r + 2)
    kind = int(u[r + 1] * t.pieces)
    if move < LANES:
        return lanes(t, s, kind, u, r + 2)
    if move < PIECE:
        return piece(t, s, kind, clock, u, r + 2)
    return trade(t, s, kind, u, r + 2)


def run(t: Tables, s: State, u: Row, proposals: int, tally: Row, heat: Row, best: Row) -> None:
    """Carry a chain on by some proposals.

    Args:
        t: the task's tables.
        s: the state, carried on in place.
        u: [proposals * DRAWS] uniform random numbers in [0, 1).
        proposals: how many.
        tally: cost, best cost, proposals so far, accepted so far; carried on.
        heat: temperature, and its factor a proposal; carried on.
        best: [seats] what the seats held at best cost, kept up.
    """
    cost = tally[COST]
    least = tally[BEST]
    clock = tally[CLOCK]
    temperature = heat[HEAT]
    ahead = False  # whether the state is cheaper than what `best` holds
    for i in range(proposals):
        clock += 1
        temperature *= heat[COOLING]
        n = propose(t, s, clock, u, i * DRAWS)
        if n == 0 or frozen(s, n) > 0:
            continue
        delta = carry_out(t, s, n)
        if delta > 0 and u[i * DRAWS + DRAWS - 1] >= exp(-delta / temperature):
            carry_out(t, s, n)
            continue
        if ahead and delta >= 0:  # the state before this proposal was the best so far
            ahead = False
            keep(t, s, best, n)
        cost += delta
        if cost < least:
            least = cost
            ahead = True
        tally[ACCEPTED] += 1
    if ahead:
        keep(t, s, best, 0)
    tally[COST] = cost
    tally[BEST] = least
    tally[CLOCK] = clock
    heat[HEAT] = temperature


def frozen(s: State, n: int) -> int:
    """How many seats of a proposal hold a frozen slot."""
    found = 0
    for j in range(n):
        found += s.fixed[s.left[j]] + s.fixed[s.right[j]]
    return found


def carry_out(t: Tables, s: State, n: int) -> int:
    """Make the proposal's transpositions; made again, they are undone. The difference of cost."""
    delta = 0
    for j in range(n):
        delta += transpose(t, s, s.left[j], s.right[j])
    return delta


def keep(t: Tables, s: State, best: Row, n: int) -> None:
    """Copy the state as it was before its last n transpositions."""
    for x in range(t.seats):
        best[x] = s.held[x]
    for j in range(n):
        x = s.left[j]
        y = s.right[j]
        best[x] = s.held[y]
        best[y] = s.held[x]
