"""Random rules as texts, and random logs of short cases for them."""

from __future__ import annotations

from random import Random

TYPES = "ABCD"
TEXTS = ("p", "q", "r", None)
#: Columns of a log: the case, a time with ties, and what conditions read, NULLs among it.
COLUMNS = "u int, t int, type string, x int, y double, d decimal(6, 2), s string"


def random_log(random: Random, cases: int) -> list[tuple[object, ...]]:
    """Rows of cases of up to eight events."""
    rows: list[tuple[object, ...]] = []
    for case in range(cases):
        time = 0
        for _ in range(random.randint(0, 8)):
            time += random.choice((0, 1, 1, 2))
            x = random.choice((None, *range(-1, 6)))
            y = random.choice((None, 0.5, 1.5, 2.0, float("nan")))
            d = None if x is None else f"{x}.{random.choice(('00', '50'))}"
            rows.append((case, time, random.choice(TYPES), x, y, d, random.choice(TEXTS)))
    return rows


def random_rule(random: Random) -> str:
    """The text of a block or a clause; now and then one that is refused."""
    return _clause(random) if random.random() < 0.25 else _block(random)


def _one(random: Random, name: str) -> str:
    """A condition of one event."""
    return random.choice((
        f"{name}.x > {random.randint(-1, 4)}", f"{random.randint(0, 4)} >= {name}.x",
        f"{name}.x <> {random.randint(0, 3)}",
        f"{name}.x IN (1, 2, 4)", f"{name}.s = '{random.choice('pq')}'", f"{name}.s > 'p'", f"{name}.s IN ('p', 'r')",
        f"{name}.y > 1.5", f"{name}.y <= 1.5", f"{name}.y = 2", f"{name}.d >= 2.5", f"{name}.d < 3", f"{name}.x > 1.5",
        f"{name}.x % 2 = 0", f"{name}.s IS NOT NULL", f"NOT {name}.x = 2", f"({name}.x > 3 OR {name}.s = 'q')",
        f"{name}.d > {name}.x",
    ))  # fmt: skip


def _block(random: Random) -> str:
    terms: list[str] = []
    single: list[str] = []
    kleene: list[str] = []
    negated: list[str] = []
    length = random.randint(1, 4)
    for n in range(length):
        name = f"v{n}"
        type_ = random.choice((*TYPES, *TYPES, "(A|B)"))
        kind = random.random()
        if 0 < n < length - 1 and kind < 0.2 and not (negated and negated[-1] == f"v{n - 1}"):
            terms.append(f"!{random.choice(TYPES)} {name}")
            negated.append(name)
        elif kind < 0.4:
            terms.append(f"{type_}{random.choice(('+', '+', '{1,2}', '*' if single else '+'))} {name}[]")
            kleene.append(name)
        else:
            terms.append(f"{type_} {name}")
            single.append(name)
    conditions = [
        _one(random, f"{n}[i]" if n in kleene else n) for n in (*single, *kleene, *negated) if random.random() < 0.4
    ]
    if len(single) > 1 and random.random() < 0.5:
        # The texts are no numbers, which is an error of the whole set.
        left = random.choice((f"{single[1]}.x", f"try_cast({single[1]}.s AS INT)"))
        conditions.append(f"{left} {random.choice(('=', '<>', '>'))} {single[0]}.x"
                          if random.random() < 0.5 else f"{single[1]}.s = {single[0]}.s")  # fmt: skip
    if kleene and random.random() < 0.4:
        conditions.append(f"{kleene[0]}[i].x >= {kleene[0]}[i-1].x")
    if kleene and random.random() < 0.2:
        conditions.append(f"avg({kleene[0]}[].x) > 1")
    if random.random() < 0.08:
        conditions.append("[s]")
    if random.random() < 0.04:
        conditions.append(random.choice((f"{(single or kleene)[0]}.z = 1", "no_such(1)")))
    out = [f"PATTERN SEQ({', '.join(terms)})"]
    if conditions:
        out.append(f"WHERE {' AND '.join(conditions)}")
    if random.random() < 0.4:
        out.append(f"WITHIN {random.randint(0, 6)}")
    strategy = random.choice(("", "", "SKIP TILL ANY MATCH", "STRICT CONTIGUITY", "SKIP TILL NEXT MATCH"))
    if strategy:
        out.append(f"EVENT SELECTION {strategy}")
    if matches := random.choice(("", "MATCHES FIRST", "MATCHES NON OVERLAPPING")):
        out.append(matches)
    if random.random() < 0.1:
        out.append("STRICT TIME")
    if (single or kleene) and random.random() < 0.5:
        items = [f"{n}.{c} AS {n}{c}" for n in single for c in "xyds" if random.random() < 0.3]
        items += [random.choice((f"count({n}[].x)", f"sum({n}[].d)", f"avg({n}[].x)", f"max({n}[].s)")) + f" AS of_{n}"
                  for n in kleene]  # fmt: skip
        if len(single) > 1:
            items += [f"{single[1]}.t - {single[0]}.t AS took", f"concat({single[0]}.s, {single[1]}.s) AS both"]
        out.append(f"RETURN {', '.join([f'{single[0]}.u AS u' if single else f'min({kleene[0]}[].u) AS u', *items])}")
    return " ".join(out)


def _clause(random: Random) -> str:
    pattern = random.choice(("A B", "A B+", "A B* C", "A+ C?", "(A | B) C", "A B{1,2} C", "PERMUTE(A, B)"))
    conditions = {"A": "type = 'A'", "B": random.choice((_one(random, "B"), "B.x > A.x", "x > PREV(x)", "type = 'B'")),
                  "C": random.choice((_one(random, "C"), "type = 'C'", "C.x <= LAST(A.x)"))}  # fmt: skip
    used = [name for name in "ABC" if name in pattern]
    define = ", ".join(f"{name} AS {conditions[name]}" for name in used)
    skip = random.choice(("", "AFTER MATCH SKIP TO NEXT ROW"))
    within = f"WITHIN {random.randint(0, 6)}" if random.random() < 0.3 else ""
    measures = random.choice(
        ("A.x AS ax, count(*) AS n", "LAST(s) AS s, sum(x) AS total", "CLASSIFIER() AS c, FIRST(y) AS y")
    )
    return f"MATCH_RECOGNIZE (MEASURES A.u AS u_, {measures} {skip} PATTERN ({pattern}) {within} DEFINE {define})"
