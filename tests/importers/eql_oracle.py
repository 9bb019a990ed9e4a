"""An evaluator of Elastic's EQL in plain Python, written from EQL's public documentation, as an oracle for tests.

    evaluate(text, events) -> list of matches, each the list of the indices of its events, in order of completion.

Sources: "EQL syntax reference" [S], "EQL function reference" [F], "Regular expression syntax" [R], "EQL search" [E].
Where they are silent: an event that fits several steps may take a place in several sequences, a step comes before
`until` of the same event, and a missing event is looked for when a sequence is complete.

Decisions and the sentences they come from
* Categories. "An event category is an indexed value of the event category field" [S]: equal to the value of
  event.category, case-sensitive; "To match events of any category, use the any keyword" [S].
* `==`, `!=`: "equal, case-sensitive ... Wildcards are not supported" [S]. `:` "Can only be used to compare strings.
  Supports wildcards and list lookups"; "The : operator is equivalent to like~" [S].
* `*` "matches zero or more characters", `?` "matches exactly one character" [S]; a pattern fits the whole string.
* regex: "To match a term, the regular expression must match the entire string"; "does not support anchor operators,
  such as ^ or $" [R].
* Ordering: "When comparing strings, the operator uses a case-sensitive lexicographic order" [S].
* "You cannot chain comparisons"; "You also cannot compare a field to another field, even if the fields are changed
  using a function" [S]: both are errors.
* Null. Functions with a null argument return null [F]; `field == null` and `!= null` test for a value ("To match events
  that do not contain a field value, compare the field to null" [S]); any other comparison with null is false, as one
  that "otherwise returns false" [S], so that `not` and `!=` are true of it.
* Optional fields: "If an optional field doesn't exist, the query replaces it with null" [S]. There is no mapping here,
  so a field that is absent is null with and without `?`; the `?` matters only in `by`.
* Sequences are "a state machine" [S]: "Only one pending sequence can be in each state at a time"; "If two pending
  sequences are in the same state at the same time, the most recent sequence overwrites the older one"; "the query uses
  a separate state machine for each unique by field value". A sequence that advances leaves its old state ("State A for
  root is empty"), a complete one leaves the machine. An event is offered to the steps from last to first, so it never
  takes two places in one sequence, yet it may both advance one sequence and begin (or advance) another.
* maxspan: "All events in a matching sequence must occur within this duration, starting at the first event's timestamp"
  [S]: last - first <= maxspan, inclusive.
* until: "If this expiration event occurs between matching events in a sequence, the sequence expires ... If the
  expiration event occurs after matching events in a sequence, the sequence is still considered a match" [S]: it ends
  the pending sequences of its key, but not one which this very event has just begun or advanced (not "between").
* runs: "is equivalent to" the same item repeated; "must be between 1 and 100 (inclusive)" [S]. Every event is returned.
* Join keys: "By default, a join key must be a non-null field value. To allow null join keys, use the ? operator" [S].
* Missing events: "events in a timespan-constrained sequence that do not meet a given condition"; "at the beginning, at
  the end, and/or in the middle"; "needs to have at least one positive clause"; "with maxspan is mandatory" [S]. A match
  of the positive steps counts only if no event with its key meets the missing condition: in the middle, between its
  neighbours; at the end, after the last event and within maxspan of the first; at the beginning, before the first event
  and within maxspan of the last.
* Ties: events are taken in the order of the list ("uses a tiebreaker field value to sort the events" [E]).
"""

import functools
import ipaddress
import itertools
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta


class EqlError(ValueError):
    """The text is no EQL query, or one that the documentation calls an error."""


# ---------------------------------------------------------------- words

TOKEN = re.compile(
    r'''
    (?P<skip>\s+ | //[^\n]* | /\*.*?\*/)
  | (?P<raw>"""(?:(?!""").)*"{0,2}""")
  | (?P<string>"(?:\\.|[^"\\\r\n])*")
  | (?P<time>\d+(?:nanos|micros|ms|d|h|m|s)\b)
  | (?P<number>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?(?![A-Za-z0-9_]))
  | (?P<name>[A-Za-z_@][A-Za-z0-9_@]*~?)
  | (?P<quoted>`(?:``|[^`])+`)
  | (?P<sign>==|!=|<=|>=|[<>=:+\-*/%()\[\],.?!|])
''',
    re.VERBOSE | re.DOTALL,
)
ESCAPE = re.compile(r"\\(?:u\{\{?([0-9a-fA-F]{2,8})\}\}?|(.))", re.DOTALL)
ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"'}
MICROSECONDS = {
    "d": 86_400_000_000,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
    "ms": 1000,
    "micros": 1,
    "nanos": 0.001,
}
RESERVED = {
    "and",
    "or",
    "not",
    "in",
    "in~",
    "like",
    "like~",
    "regex",
    "regex~",
    "by",
    "with",
    "until",
    "where",
    "null",
    "true",
    "false",
}  # these cannot begin a field name
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
LOOKUPS = (":", "like", "like~", "regex", "regex~", "in", "in~")


def unescape(text):
    """The value of an ordinary string: the escapes of the documentation's table and \\u{...}; no others."""

    def one(found):
        if found[1] and int(found[1], 16) <= 0x10FFFF:
            return chr(int(found[1], 16))
        if found[2] not in ESCAPED:
            raise EqlError(f"unknown escape \\{found[2]}")
        return ESCAPED[found[2]]

    return ESCAPE.sub(one, text)


def split_words(text):
    """The words of the text, as (kind, value) pairs, ending with ("end", "")."""
    words, place = [], 0
    while place < len(text):
        found = TOKEN.match(text, place)
        if not found:
            raise EqlError(f"cannot read {text[place : place + 20]!r}")
        kind, value, place = found.lastgroup, found[0], found.end()
        if kind == "raw":
            words.append(("string", value[3:-3]))
        elif kind == "string":
            words.append(("string", unescape(value[1:-1])))
        elif kind == "number":
            words.append(("number", int(value) if value.isdigit() else float(value)))
        elif kind == "quoted":
            words.append(("quoted", value[1:-1].replace("``", "`")))
        elif kind != "skip":
            words.append((kind, value))
    return [*words, ("end", "")]


# ---------------------------------------------------------------- grammar


@dataclass
class Step:
    """One item of a sequence, `[category where condition] by keys`, or the whole of an event query."""

    category: str | None  # None for `any`
    condition: tuple
    keys: list = field(default_factory=list)  # of ("field", path, optional)
    missing: bool = False


@dataclass
class Query:
    """A query as read: for an event query `steps` has one item; `runs` are already written out as repeated steps."""

    steps: list
    is_sequence: bool = False
    maxspan: int | None = None  # microseconds
    until: Step | None = None


def has_field(node):
    """Whether an expression mentions a field."""
    return isinstance(node, (tuple, list)) and (
        (node[:1] == ("field",) and len(node) == 3 and isinstance(node[1], tuple)) or any(map(has_field, node))
    )


class Parser:
    """A recursive descent parser. Expressions are tuples: ("literal", value), ("field", path, optional),
    ("call", name, insensitive, arguments), ("math", sign, left, right), ("negative", operand),
    ("compare", sign, left, right), ("in", left, values, insensitive), ("like"/"regex", left, patterns, insensitive),
    ("and"/"or", left, right), ("not", operand)."""

    def __init__(self, text):
        self.words, self.place = split_words(text), 0

    def peek(self, *wanted):
        """Whether the next word is one of the wanted signs or names."""
        return self.words[self.place][0] in ("sign", "name") and self.words[self.place][1] in wanted

    def accept(self, *wanted):
        """The next word if it is one of those wanted, and then go past it; else None."""
        return self.take() if self.peek(*wanted) else None

    def take(self, *kinds):
        """The value of the next word, which must be of one of these kinds (if any are given)."""
        kind, value = self.words[self.place]
        if kinds and kind not in kinds:
            raise EqlError(f"expected {' or '.join(kinds)}, found {value!r}")
        self.place += 1
        return value

    def need(self, wanted):
        """Go past a word that must come next."""
        if not self.accept(wanted):
            raise EqlError(f"expected {wanted!r}, found {self.words[self.place][1]!r}")

    def several(self, one):
        """One or more, with commas between them."""
        found = [one()]
        while self.accept(","):
            found.append(one())
        return found

    def query(self):
        """The whole text."""
        is_sequence = self.peek("sequence") and self.words[self.place + 1] != ("name", "where")
        query = self.sequence() if is_sequence else Query([self.event()])
        if self.words[self.place][0] != "end":
            raise EqlError(f"unexpected {self.words[self.place][1]!r}")  # pipes and samples are not supported
        return query

    def event(self):
        """`category where condition`."""
        kind, category = self.words[self.place]
        self.take("name", "string")
        self.need("where")
        return Step(None if (kind, category) == ("name", "any") else category, self.either())

    def sequence(self):
        """`sequence by ... with maxspan=... [..] ![..] until [..]`."""
        self.need("sequence")
        query = Query([], is_sequence=True)
        shared = self.keys()
        if self.accept("with"):
            self.need("maxspan")
            self.need("=")
            amount, unit = re.fullmatch(r"(\d+)(\w+)", self.take("time")).groups()
            query.maxspan = int(amount) * MICROSECONDS[unit]
            if not query.maxspan:
                raise EqlError("maxspan must be positive")
            shared = shared or self.keys()
        while self.peek("[", "!"):
            step = self.item(shared)
            runs = 1
            if self.accept("with"):
                self.need("runs")
                self.need("=")
                runs = self.take("number")
                if step.missing or not isinstance(runs, int) or not 1 <= runs <= 100:
                    raise EqlError("runs must be between 1 and 100, and not of a missing event")
            query.steps += [step] * runs
        if self.accept("until"):
            query.until = self.item(shared)
        if len(query.steps) < 2 or all(step.missing for step in query.steps):
            raise EqlError("a sequence needs two items, of which one is not a missing event")
        if any(step.missing for step in query.steps) and query.maxspan is None:
            raise EqlError("missing events need maxspan")
        if len({len(step.keys) for step in [*query.steps, query.until or query.steps[0]]}) > 1:
            raise EqlError("the items have different numbers of join keys")
        return query

    def item(self, shared):
        """`[event] by keys` or `![event] by keys`, with the keys of `sequence by` in front of its own."""
        missing = bool(self.accept("!"))
        self.need("[")
        step = self.event()
        self.need("]")
        step.keys, step.missing = shared + self.keys(), missing
        return step

    def keys(self):
        """`by field, ?field` or nothing."""
        return self.several(self.field) if self.accept("by") else []

    def field(self):
        """`a.b`, `?a.b`, with parts in backquotes or not."""
        optional, path = bool(self.accept("?")), [self.take("name", "quoted")]
        while self.accept("."):
            path.append(self.take("name", "quoted"))
        if self.words[self.place - 1][0] == "name" and path[-1].endswith("~"):
            raise EqlError(f"{path[-1]} is no field")
        return ("field", tuple(path), optional)

    def chain(self, operand, make, *signs):
        """Operands with signs between them, which group from the left."""
        left = operand()
        while sign := self.accept(*signs):
            left = make(sign, left, operand())
        return left

    def either(self):
        """`a or b`; binds less than `and`, which binds less than `not`, which binds less than comparisons."""
        return self.chain(self.both, lambda *node: node, "or")

    def both(self):
        return self.chain(self.negated, lambda *node: node, "and")

    def negated(self):
        return ("not", self.negated()) if self.accept("not") else self.comparison()

    def comparison(self):
        """A comparison, a lookup in a list, a pattern, or just a value."""
        left = self.sum()
        sign = self.accept(*COMPARISONS, *LOOKUPS)
        negative = not sign and self.peek("not") and self.accept("not")
        if negative:
            sign = self.accept("in", "in~") or self.need("in")
        if not sign:
            return left
        if sign in ("in", "in~"):
            self.need("(")
            right = tuple(self.several(self.sum))
            self.need(")")
            node = ("in", left, right, sign == "in~")
        elif sign in (":", "like", "like~", "regex", "regex~"):
            if self.accept("("):
                patterns = self.several(lambda: self.take("string"))
                self.need(")")
            else:
                patterns = [self.take("string")]
            kind, insensitive = ("regex" if sign.startswith("regex") else "like"), sign not in ("like", "regex")
            for pattern in patterns:
                compiled(kind, pattern, insensitive)  # a faulty pattern is an error of the query
            right, node = (), (kind, left, tuple(patterns), insensitive)
        else:
            right = self.sum()
            node = ("compare", sign, left, right)
        if has_field(left) and has_field(right):
            raise EqlError("a field cannot be compared to another field")
        if self.peek(*COMPARISONS, *LOOKUPS):
            raise EqlError("comparisons cannot be chained")
        return ("not", node) if negative else node

    def sum(self):
        return self.chain(self.product, lambda *node: ("math", *node), "+", "-")

    def product(self):
        return self.chain(self.signed, lambda *node: ("math", *node), "*")

    def signed(self):
        if self.accept("-"):
            return ("negative", self.signed())
        self.accept("+")
        return self.primary()

    def primary(self):
        """A literal, a field, a call of a function, or an expression in parentheses."""
        kind, value = self.words[self.place]
        if self.accept("("):
            inside = self.either()
            self.need(")")
            return inside
        if kind in ("number", "string"):
            return ("literal", self.take())
        if kind == "name" and value in ("null", "true", "false"):
            self.take()
            return ("literal", {"null": None, "true": True, "false": False}[value])
        if kind == "name" and self.words[self.place + 1] == ("sign", "(") and value not in RESERVED:
            return self.call()
        if kind == "quoted" or self.peek("?") or (kind == "name" and value not in RESERVED):
            return self.field()
        raise EqlError(f"unexpected {value!r}")

    def call(self):
        """`name(a, b)` or `name~(a, b)`."""
        written = self.take()
        name, insensitive = written.rstrip("~"), written.endswith("~")
        if name not in FUNCTIONS:
            raise EqlError(f"unknown function {name}")
        _, kinds, least = FUNCTIONS[name]
        if insensitive and name not in FOLDING:
            raise EqlError(f"{name} has no case-insensitive form")
        self.need("(")
        arguments = self.several(self.either)
        self.need(")")
        if len(arguments) < least or (len(arguments) > len(kinds) and "*" not in kinds):
            raise EqlError(f"wrong number of arguments of {name}")
        return ("call", name, insensitive, tuple(arguments))


# ---------------------------------------------------------------- patterns


def fold(text):
    """The text in lower case, character by character, so that positions stay the same."""
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


LUCENE = re.compile(
    r"""
    (?P<repeat>[*+?] | \{\d+(?:,\d*)?\})
  | (?P<set>\[\^?(?:\\[^A-Za-z0-9] | [^\\\]\[&~|])+\])
  | \\(?P<escaped>[^A-Za-z0-9])
  | "(?P<quoted>[^"]*)"
  | (?P<sign>[.()|])
  | (?P<plain>[^\\"\[\]{}\#@&<>~])
""",
    re.VERBOSE | re.DOTALL,
)


def lucene_regex(pattern):
    """A Lucene regular expression as one of Python's. Standard operators and "quoted" literals are known; `^` and `$`
    are ordinary characters; what only some settings of Lucene reserve, or what the documentation leaves open
    (backslash and a letter, doubled repetition), is an error rather than a guess."""
    out, place, before = [], 0, "("
    while place < len(pattern):
        found = LUCENE.match(pattern, place)
        if not found or (found["repeat"] and before in ("(", "|", "repeat")):
            raise EqlError(f"regular expression {pattern!r} at {pattern[place:]!r}")
        kind, text = found.lastgroup, found[found.lastgroup]
        out.append({"(": "(?:"}.get(text, text) if kind in ("repeat", "set", "sign") else f"(?:{re.escape(text)})")
        place, before = found.end(), text if kind == "sign" else kind
    return "".join(out)


@functools.cache
def compiled(kind, pattern, insensitive):
    """The compiled form of a `like` (wildcard) or `regex` pattern."""
    if kind == "like":
        pattern = fold(pattern) if insensitive else pattern
        return re.compile("".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in pattern), re.DOTALL)
    try:
        return re.compile(lucene_regex(pattern), re.DOTALL | (re.IGNORECASE if insensitive else 0))
    except re.error as error:
        raise EqlError(f"regular expression {pattern!r}: {error}") from error


def fits_pattern(kind, value, pattern, insensitive):
    """Whether a value is a string that fits the pattern from end to end."""
    if not isinstance(value, str):
        return False
    text = fold(value) if kind == "like" and insensitive else value
    return compiled(kind, pattern, insensitive).fullmatch(text) is not None


# ---------------------------------------------------------------- functions


def arithmetic(sign, left, right):
    """+ - * of two numbers."""
    return {"+": left + right, "-": left - right, "*": left * right}[sign]


def as_string(value):
    """ "string(true) returns "true", string(42.5) returns "42.5" "."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def cidr_match(address, *blocks):
    """Whether an address is in one of the blocks; what is no address is in none, a faulty block is an error."""
    try:
        networks = [ipaddress.ip_network(block, strict=False) for block in blocks]
    except ValueError as error:
        raise EqlError(str(error)) from error
    try:
        address = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(address in network for network in networks)


FUNCTIONS = {  # name: function of non-null values, kinds of its arguments (* repeats the last), least number of them
    "add": (functools.partial(arithmetic, "+"), "nn", 2),
    "cidrMatch": (cidr_match, "ss*", 2),
    "concat": (lambda *values: "".join(map(as_string, values)), "a*", 1),
    "endsWith": (lambda text, part, *, plain: plain(text).endswith(plain(part)), "ss", 2),
    "length": (len, "s", 1),
    "multiply": (functools.partial(arithmetic, "*"), "nn", 2),
    "startsWith": (lambda text, part, *, plain: plain(text).startswith(plain(part)), "ss", 2),
    "string": (as_string, "a", 1),
    "stringContains": (lambda text, part, *, plain: part != "" and plain(part) in plain(text), "ss", 2),  # "" is false
    "substring": (lambda text, start, end=None: text[start:end], "sii", 2),  # Python slices agree with the examples
    "subtract": (functools.partial(arithmetic, "-"), "nn", 2),
}
FOLDING = {"endsWith", "startsWith", "stringContains"}  # these have a `~` form
BOOLEAN = {"cidrMatch", "endsWith", "startsWith", "stringContains"}


def call_function(name, insensitive, arguments):
    """A function of one value (or None) per argument; null if an argument is null or of the wrong kind."""
    function, kinds, _ = FUNCTIONS[name]
    kinds = kinds.replace("*", kinds[-2] * len(arguments)) if "*" in kinds else kinds
    for value, wanted in zip(arguments, kinds, strict=False):
        if value is None or wanted not in {"string": "sa", "bool": "ba"}.get(
            kind_of(value), "nia" if isinstance(value, int) else "na"
        ):
            return None
    if name in FOLDING:
        return function(*arguments, plain=fold if insensitive else str)
    return function(*arguments)


# ---------------------------------------------------------------- conditions


def kind_of(value):
    """ "bool", "string", "number", or the name of another type; values of different kinds are never equal."""
    if isinstance(value, bool):
        return "bool"
    return {int: "number", float: "number", str: "string"}.get(type(value), type(value).__name__)


def lookup(document, path):
    """All values at a path of names: a list counts as all its elements, null and absent as none at all."""
    if isinstance(document, list):
        return [value for element in document for value in lookup(element, path)]
    if not path:
        return [] if document is None or isinstance(document, dict) else [document]
    found = []
    for count in range(1, len(path) + 1 if isinstance(document, dict) else 0):
        key = ".".join(path[:count])
        if key in document:
            found += lookup(document[key], path[count:])
    return found


def holds(sign, left, right):
    """A comparison of two values which are not null (`!=` is handled by the caller)."""
    if kind_of(left) != kind_of(right):
        return False
    if sign == "==":
        return left == right
    return (
        kind_of(left) != "bool"
        and {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[sign]
    )


class Evaluator:
    """Conditions on one event. An expression has a list of values, since a field may have several; no value is null.
    A condition over lists holds if it holds for some choice of elements; `!=` and `not in` hold if `==` and `in`
    do not."""

    def __init__(self, event):
        self.event = event

    def values(self, node):
        """The values of an expression, without nulls."""
        kind = node[0]
        if kind == "literal":
            return [] if node[1] is None else [node[1]]
        if kind == "field":
            return lookup(self.event, node[1])
        if kind == "negative":
            return [-value for value in self.values(node[1]) if kind_of(value) == "number"]
        if kind == "math":
            pairs = itertools.product(self.values(node[2]), self.values(node[3]))
            results = [arithmetic(node[1], a, b) for a, b in pairs if kind_of(a) == kind_of(b) == "number"]
        elif kind == "call":
            choices = [self.values(argument) or [None] for argument in node[3]]
            results = [call_function(node[1], node[2], chosen) for chosen in itertools.product(*choices)]
        else:
            results = [self.truth(node)]
        results = [value for value in results if value is not None]
        return [any(results)] if results and kind == "call" and node[1] in BOOLEAN else results

    def truth(self, node):
        """An expression taken as a condition."""
        kind = node[0]
        if kind == "not":
            return not self.truth(node[1])
        if kind in ("and", "or"):
            return (any if kind == "or" else all)([self.truth(node[1]), self.truth(node[2])])
        if kind == "compare":
            return self.compare(*node[1:])
        if kind == "in":
            return self.is_in(*node[1:])
        values = self.values(node[1] if kind in ("like", "regex") else node)
        if kind in ("like", "regex"):
            if not values:
                return False
            return any(fits_pattern(kind, value, pattern, node[3]) for value in values for pattern in node[2])
        return any(value is True for value in values)

    def compare(self, sign, left, right):
        """A comparison; against a literal null it asks whether there is a value."""
        if sign in ("==", "!=") and ("literal", None) in (left, right):
            other = left if right == ("literal", None) else right
            return bool(self.values(other)) == (sign == "!=")
        pairs = list(itertools.product(self.values(left), self.values(right)))
        if not pairs:
            return sign == "!="
        if sign == "!=":
            unequal = [not holds("==", a, b) for a, b in pairs]
            return all(unequal)
        return any(holds(sign, a, b) for a, b in pairs)

    def is_in(self, left, listed, insensitive):
        """Membership in a list, as if written `left == a or left == b ...`."""
        values = self.values(left)
        if not values:
            return False
        groups = [self.values(item) for item in listed]
        if insensitive:
            values, *groups = [
                [fold(value) if isinstance(value, str) else value for value in group] for group in [values, *groups]
            ]
        return bool(any(holds("==", a, b) for a in values for group in groups for b in group))


# ---------------------------------------------------------------- queries


def microseconds(when):
    """A timestamp as microseconds since 1970; a datetime without a zone is in UTC."""
    if isinstance(when, datetime):
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return (when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return when


def fits(step, event):
    """Whether an event is of the step's category and meets its condition."""
    if step.category is not None and step.category not in lookup(event, ("event", "category")):
        return False
    return Evaluator(event).truth(step.condition) is True


def join_keys(step, event):
    """The join keys under which an event takes part in a step: none if a key that is not optional is null; several if
    a key field has several values (each value is a key of its own)."""
    choices = []
    for _, path, optional in step.keys:
        values = list(dict.fromkeys((kind_of(value), value) for value in lookup(event, path)))
        choices.append(values or ([None] if optional else []))
    return list(itertools.product(*choices))


def find_sequences(query, events):
    """The matches of a sequence query. `machines[key][n]` is the pending sequence which has filled the positive steps
    0..n, as the list of the indices of its events, or None."""
    positive = [step for step in query.steps if not step.missing]
    gaps = []  # (how many positive steps come before, {key: indices of the events which should be missing})
    for place, step in enumerate(query.steps):
        if step.missing:
            unwanted = {}
            for index, event in enumerate(events):
                if fits(step, event):
                    for key in join_keys(step, event):
                        unwanted.setdefault(key, []).append(index)
            gaps.append((sum(not earlier.missing for earlier in query.steps[:place]), unwanted))
    times = [microseconds(event["@timestamp"]) for event in events]
    machines, found = {}, []

    def end(key, index, states):
        """End the pending sequences of a key in these states, save one whose last event is this one."""
        pending = machines.get(key, [None] * len(positive))
        for state in states:
            if pending[state] and pending[state][-1] != index:
                pending[state] = None

    def expire(index):
        """Let an event be the expiration event, if it is one."""
        if query.until and fits(query.until, events[index]):
            for key in join_keys(query.until, events[index]):
                end(key, index, range(len(positive)))

    for index, event in enumerate(events):
        for number in reversed(range(len(positive))):
            for key in join_keys(positive[number], event) if fits(positive[number], event) else ():
                pending = machines.setdefault(key, [None] * len(positive))
                sequence = [index]
                if number:
                    earlier, pending[number - 1] = pending[number - 1], None
                    if earlier is None or (
                        query.maxspan is not None and times[index] - times[earlier[0]] > query.maxspan
                    ):
                        continue  # nothing to advance, or it is too old ever to match
                    sequence = [*earlier, index]
                if number == len(positive) - 1:
                    found.append((key, sequence))
                else:
                    pending[number] = sequence
        expire(index)

    def undisturbed(key, sequence):
        """Whether no missing event of this key is where it should be missing."""
        first, last = sequence[0], sequence[-1]
        for before, unwanted in gaps:
            for index in unwanted.get(key, ()):
                if before == 0:
                    disturbs = index < first and times[last] - times[index] <= query.maxspan
                elif before == len(sequence):
                    disturbs = index > last and times[index] - times[first] <= query.maxspan
                else:
                    disturbs = sequence[before - 1] < index < sequence[before]
                if disturbs:
                    return False
        return True

    return [sequence for key, sequence in found if undisturbed(key, sequence)]


def evaluate(text, events):
    """The matches of an EQL query in events which are in order of time: a list of lists of indices into `events`."""
    query = Parser(text).query()
    if query.is_sequence:
        return find_sequences(query, events)
    return [[index] for index, event in enumerate(events) if fits(query.steps[0], event)]
