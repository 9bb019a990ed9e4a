"""Parse the pattern block: its head, pattern and clauses as token ranges, before any name is bound."""

from __future__ import annotations

from dataclasses import dataclass, field

from sparkcep.errors import PatternParseError, near_hint, near_name
from sparkcep.query import SkipMode
from sparkcep.sql.block.foreign_words import INSTEAD, STRATEGIES, foreign_section
from sparkcep.sql.lexicon import BEHIND_OPERAND, ENDS_OPERAND, WANTS_OPERAND, Token
from sparkcep.sql.non_answers import HINT, TAKES, WrongArgument, in_order
from sparkcep.sql.sort_item import SortItem, sort_item
from sparkcep.sql.statement import PatternOccurrence, Statement
from sparkcep.sql.token_text import Range

CLAUSES = (
    "PARTITION BY",
    "ORDER BY",
    "EVENT TYPE",
    "WHERE",
    "WITHIN",
    "UNTIL",
    "BETWEEN",
    "GROUP BY",
    "HAVING",
    "GROUPS",
    "EVENT SELECTION",
    "MATCHES",
    "COLLAPSED",
    "OMIT CENSORED MATCHES",
    "STRICT TIME",
    "UNCERTAINTY",
    "CONFIDENCE",
    "EXPLAIN NON ANSWERS",
    "RETURN",
    "RETURN-ALL",
)
_HEAD = ("PARTITION BY", "ORDER BY", "EVENT TYPE", "RETURN", "WHERE")
_CLAUSES_HINT = (
    "a block is FROM relation [WHERE] [PARTITION BY] [ORDER BY] [EVENT TYPE] PATTERN pattern [WHERE] [WITHIN [SLIDE]] "
    "[UNTIL] [BETWEEN] [GROUP BY] [HAVING] [GROUPS] [EVENT SELECTION] [MATCHES] [OMIT CENSORED MATCHES] [COLLAPSED] "
    "[STRICT TIME] [UNCERTAINTY] [CONFIDENCE] [EXPLAIN NON ANSWERS] [RETURN]; "
    "an alias of its result needs parentheses around it"
)
# What comes behind these is an operand, so that a keyword there is a name.
_WANTS_OPERAND = WANTS_OPERAND | {"BY"}
_BEHIND_OPERAND = BEHIND_OPERAND | {"NULLS"}
#: Behind these a clause's first operand follows.
_BEGINS_OPERAND = frozenset(
    "WHERE HAVING WITHIN SLIDE RETURN TYPE SELECTION GROUPS UNCERTAINTY STEP PROBABILITY".split()
)
_LONGEST_RUN = 10
#: What may follow MATCHES.
_MATCHES = ("ALL", "NON OVERLAPPING", "FIRST", "LATEST", "SKIP")
_COMPARES = frozenset("= == < > <= >= <> != <=>".split())
_COMPARE_WORDS = frozenset("LIKE ILIKE RLIKE IN IS BETWEEN".split())


@dataclass(slots=True)
class BlockSyntax:
    """The parts of one block; ranges are token indexes into the statement, ``positions`` those of the keywords."""

    pattern: Range
    closers: dict[int, int]
    partition_by: list[Range] = field(default_factory=list)
    order_by: list[SortItem] = field(default_factory=list)
    event_type: Range | None = None
    where: Range | None = None
    within: Range | None = None
    slide: Range | None = None
    between: tuple[Range, Range] | None = None
    group_by: list[Range] = field(default_factory=list)
    having: Range | None = None
    groups: Range | None = None
    selection: Range | None = None
    until: Range | None = None
    matches: str = ""
    latest: int = -1
    skip: SkipMode = SkipMode.PAST_LAST_ROW
    skip_target: Token | None = None
    skip_or_past: bool = False
    collapsed: bool = False
    omit_censored: bool = False
    timed_out: int = -1
    strict_time: bool = False
    uncertainty: Range | None = None
    step: Range | None = None
    at_most: Range | None = None
    probability: Range | None = None
    confidence: Range | None = None
    non_answers: list[Range] = field(default_factory=list)
    returns: list[Range] = field(default_factory=list)
    positions: dict[str, int] = field(default_factory=dict)


def pair_brackets(statement: Statement, low: int, high: int) -> dict[int, int]:
    """Index of each bracket of any kind in a range to the index of the one that closes it."""
    closing = {"(": ")", "[": "]", "{": "}"}
    pairs: dict[int, int] = {}
    stack: list[int] = []
    for i in range(low, high):
        op = statement.operator(i)
        if op in closing:
            stack.append(i)
        elif op in (")", "]", "}"):
            while stack and closing[statement.operator(stack[-1])] != op:
                stack.pop()
            if stack:
                pairs[stack.pop()] = i
    return pairs


class BlockParser:
    """Reads one block of a statement.

    Raises:
        PatternParseError: CEP_SYNTAX_ERROR, CEP_DUPLICATE_CLAUSE, CEP_PATTERN_SYNTAX.
    """

    def __init__(self, statement: Statement, form: PatternOccurrence) -> None:
        self.s = statement
        self.form = form
        low = min(form.head[0], form.body[0])
        self.closers = pair_brackets(statement, low, form.body[1])
        self.at, self.end = form.head
        self.start = self.at
        self.current = ""
        self.read_so_far: dict[int, tuple[int, int, int, int, bool]] = {}
        self.out = BlockSyntax(form.body, self.closers)

    def parse(self) -> BlockSyntax:
        """The block's token ranges: sections before PATTERN, the pattern, sections behind it.

        Raises:
            PatternParseError: CEP_SYNTAX_ERROR, CEP_DUPLICATE_CLAUSE, CEP_PATTERN_SYNTAX.
        """
        self.sections()
        self.at, self.end = self.form.body
        self.start = low = self.at
        self.current = ""
        self.skip_to_section()
        if self.at == low:
            raise self.error("A pattern is expected here.", "CEP_PATTERN_SYNTAX")
        self.out.pattern = (low, self.at)
        self.sections()
        return self.out

    def sections(self) -> None:
        """Read sections in any order up to ``end``.

        Raises:
            PatternParseError: CEP_SYNTAX_ERROR, CEP_DUPLICATE_CLAUSE.
        """
        in_head = self.end == self.form.head[1]
        while self.at < self.end:
            name = self.section(self.at)
            if name is None:
                word = self.s.tokens[self.at].text
                raise self.error(f"{word!r} is not expected here.", hint=near_hint(word, CLAUSES, _CLAUSES_HINT))
            if name in INSTEAD:
                raise self.error(f"{name} belongs to MATCH_RECOGNIZE, not to a pattern block.", hint=INSTEAD[name])
            if name in STRATEGIES:
                raise self.error(f"EVENT SELECTION is missing before {name}.", hint=f"write {STRATEGIES[name]}")
            if in_head and name not in _HEAD:
                raise self.error(f"{name} comes after PATTERN.", hint=_CLAUSES_HINT)
            if in_head and name == "WHERE":
                self.pass_input_filter()
                continue
            same = {"MATCHES": "RETURN-ALL", "RETURN-ALL": "MATCHES"}.get(name, name)
            if name in self.out.positions or same in self.out.positions:
                raise self.error(f"{name} is given twice.", "CEP_DUPLICATE_CLAUSE")
            self.current = name
            self.out.positions[name] = self.s.tokens[self.at].start
            getattr(self, "read_" + name.lower().replace(" ", "_").replace("-", "_"))()

    # -- helpers ---------------------------------------------------------------------------------------------------

    def error(
        self, message: str, error_class: str = "CEP_SYNTAX_ERROR", hint: str | None = None, at: int | None = None
    ) -> PatternParseError:
        """An error with a caret at a token (the current one, or behind the block's last); the caller raises it."""
        index = self.at if at is None else at
        tokens = self.s.tokens
        # At a block's end the place is behind its last token.
        place = tokens[index].start if index < min(self.end, len(tokens)) else tokens[self.end - 1].end
        return PatternParseError(error_class, message, text=self.s.text, position=place, hint=hint)

    def words(self, i: int, *expected: str) -> int:
        """Number of tokens of a run of words that may be written with hyphens, 0 where it does not stand here."""
        k = i
        for n, word in enumerate(expected):
            if n and self.s.operator(k) == "-":
                k += 1
            if k >= self.end or self.s.word(k) != word:
                return 0
            k += 1
        return k - i

    def accept(self, *expected: str) -> bool:
        """Pass these words if all of them stand here; otherwise nothing is read."""
        length = self.words(self.at, *expected)
        self.at += length
        return length > 0

    def wants_operand(self, i: int) -> bool:
        """Whether what stands before a token is left without its right side, so that a keyword here is a name."""
        before = self.s.tokens[i - 1]
        if before.kind == "op":
            return before.upper not in ENDS_OPERAND
        return before.kind == "word" and before.upper in _WANTS_OPERAND and self.s.operator(i - 2) != "."

    def section(self, i: int, depth: int = 0) -> str | None:
        """The section that begins at a token, if one does; keywords may also be names elsewhere.

        What begins at one word may depend on the next: a run of more than ``depth`` such words begins nothing.
        """
        if depth > _LONGEST_RUN:
            return None
        s = self.s
        word = s.word(i)
        if i >= self.end or not word or (i > self.start and self.wants_operand(i)) or s.operator(i + 1) == ".":
            return None
        if foreign := foreign_section(s, i):
            return foreign
        if self.words(i, "EXPLAIN", "NON", "ANSWERS"):
            return "EXPLAIN NON ANSWERS"
        if self.words(i, "OMIT", "CENSORED"):
            return "OMIT CENSORED MATCHES"
        if word == "RETURN":
            return "RETURN-ALL" if s.operator(i + 1) == "-" and s.word(i + 2) == "ALL" else "RETURN"
        for pair in ("PARTITION BY", "ORDER BY", "GROUP BY", "EVENT TYPE", "EVENT SELECTION", "STRICT TIME"):
            if self.words(i, *pair.split()):
                return pair
        if word == "WITHIN":
            return None if s.word(i + 1) == "GROUP" and s.operator(i + 2) == "(" else "WITHIN"
        if word == "UNTIL":
            return word if self.is_until(i, depth) else None
        if word == "MATCHES":
            known = s.word(i + 1) in {mode.split()[0] for mode in _MATCHES}
            return word if known or self.is_no_name(i, depth) else None
        if word == "GROUPS":
            return "GROUPS" if s.operator(i + 1) in ("[", "(") else None
        if word == "COLLAPSED":
            return word if i + 1 >= self.end or self.section(i + 1, depth + 1) else None
        if word == "HAVING":
            first = s.word(i - 1) in ("WHERE", "RETURN", "HAVING") or self.words(i - 2, "EVENT", "TYPE") > 0
            behind = s.operator(i + 1) in ("", "(", "-", "!")
            return word if behind and not first and i > self.start else None
        return word if word in ("WHERE", "BETWEEN", "UNCERTAINTY", "CONFIDENCE") else None

    def is_until(self, i: int, depth: int) -> bool:
        """Whether the clause UNTIL begins here, and no name stands here: a type follows, or several in parentheses."""
        before, behind = self.s.tokens[i - 1], self.s.tokens[i + 1] if i + 1 < self.end else None
        if behind is None or (behind.kind not in ("word", "quoted", "string") and behind.upper not in ("(", "!", "~")):
            return False
        if self.current == "" and before.kind != "op" and (i - 1 == self.start or self.wants_operand(i - 1)):
            return False
        return before.upper == ")" or behind.upper == "(" or self.is_no_name(i, depth)

    def is_no_name(self, i: int, depth: int) -> bool:
        """Whether a MATCHES cannot be a name where it stands, so that it is the word behind it that is wrong."""
        before = self.s.tokens[i - 1]
        if i == self.start or before.upper in _BEGINS_OPERAND:
            return False
        # In the pattern a word behind a type is its variable.
        if self.current == "" and before.kind != "op" and (i - 1 == self.start or self.wants_operand(i - 1)):
            return False
        if i + 1 >= self.end:
            return self.current != "RETURN"
        behind = self.s.tokens[i + 1]
        return behind.kind != "op" and behind.upper not in _BEHIND_OPERAND and self.section(i + 1, depth + 1) is None

    def ends_part(self, start: int) -> bool:
        """Whether the part that began at a token ends here, since a section begins."""
        name = self.section(self.at)
        return name is not None and (name != "BETWEEN" or self.is_between_clause(start, self.at))

    def skip_to_section(self) -> None:
        """Pass tokens up to the next section or the end; brackets are passed whole."""
        start = self.at
        while self.at < self.end and not self.ends_part(start):
            self.at = self.closers.get(self.at, self.at) + 1
        self.at = min(self.at, self.end)

    def is_between_clause(self, start: int, i: int) -> bool:
        """Whether a BETWEEN begins the block's clause and is no operator: the condition before it is complete."""
        if self.current in ("RETURN", "PARTITION BY", "ORDER BY"):
            return False
        if self.current not in ("WHERE", "HAVING"):
            return True
        s = self.s
        # Each BETWEEN of a condition asks: what was read for one before is not read again.
        k, begin, cases, betweens, compared = self.read_so_far.get(start, (start, start, 0, 0, False))
        while k < i:
            word = s.word(k) if s.operator(k - 1) != "." else ""
            if word in ("CASE", "END"):
                cases += 1 if word == "CASE" else -1
            elif cases == 0 and word == "BETWEEN":
                betweens, compared = betweens + 1, True
            elif cases == 0 and word == "AND" and betweens:
                betweens -= 1
            elif cases == 0 and (word in ("AND", "OR") or s.operator(k) == ","):
                begin, compared = k + 1, False
            elif s.operator(k) in _COMPARES or word in _COMPARE_WORDS:
                compared = True
            k = self.closers.get(k, k) + 1
        self.read_so_far = {start: (k, begin, cases, betweens, compared)}
        if cases:
            return False
        alone = self.closers.get(begin) == i - 1
        is_tuple = alone and s.operator(begin) == "(" and s.word(begin + 1) in ("TIME", "GAP")
        return compared or is_tuple or s.operator(i - 1) == "}" or (alone and s.operator(begin) == "[")

    def item(self, what: str, *enders: str) -> Range:
        """Tokens up to a comma at this level, one of the words, the next section or the end."""
        start = self.at
        while self.at < self.end and self.s.operator(self.at) != ",":
            if self.s.word(self.at) in enders and self.at > start and not self.wants_operand(self.at):
                break
            if self.ends_part(start):
                break
            self.at = self.closers.get(self.at, self.at) + 1
        self.at = min(self.at, self.end)
        if self.at == start:
            raise self.error(f"{what} is expected here.", at=start)
        return start, self.at

    def comma(self) -> bool:
        """Pass a comma if one stands here."""
        if self.at < self.end and self.s.operator(self.at) == ",":
            self.at += 1
            return True
        return False

    def items(self, what: str) -> list[Range]:
        """Items between commas, at least one. ``what``: for the error where one is empty.

        Raises:
            PatternParseError: CEP_SYNTAX_ERROR.
        """
        out = [self.item(what)]
        while self.comma():
            out.append(self.item(what))
        return out

    # -- head ------------------------------------------------------------------------------------------------------

    def read_partition_by(self) -> None:
        """PARTITION BY expression, ..."""
        self.accept("PARTITION", "BY")
        self.out.partition_by = self.items("A partition expression")

    def read_order_by(self) -> None:
        """ORDER BY expression [ASC | DESC] [NULLS FIRST | LAST], ..."""
        self.accept("ORDER", "BY")
        self.out.order_by += [sort_item(self.s, *item) for item in self.items("A sort key")]

    def read_event_type(self) -> None:
        """EVENT TYPE column | NONE; parentheses around it are left out."""
        self.accept("EVENT", "TYPE")
        at = self.at
        # No clause begins here: a clause's word with nothing of a clause behind it is a column.
        if self.section(at) and (at + 1 == self.end or self.section(at + 1)):
            self.at += 1
            self.out.event_type = (at, at + 1)
            return
        low, high = self.item("The event type column or NONE")
        while self.closers.get(low) == high - 1:
            low, high = low + 1, high - 1
        self.out.event_type = (low, high)

    def read_return(self) -> None:
        """RETURN item [[AS] name], ..."""
        self.at += 1
        self.out.returns = self.items("An item to return")

    # -- clauses ---------------------------------------------------------------------------------------------------

    def read_where(self) -> None:
        """WHERE condition"""
        self.out.where = self.condition()

    def pass_input_filter(self) -> None:
        """WHERE before PATTERN, which is the input's: whoever reads the input reads it.

        Raises:
            PatternParseError: CEP_SYNTAX_ERROR, CEP_DUPLICATE_CLAUSE.
        """
        if self.form.where is None:
            raise self.error(
                "WHERE before PATTERN filters the block's input, which is given elsewhere here.",
                hint="filter the argument, TABLE(SELECT * FROM log WHERE ...), or write WHERE after PATTERN",
            )
        if self.at + 1 != self.form.where[0]:
            raise self.error("WHERE is given twice before PATTERN.", "CEP_DUPLICATE_CLAUSE", "join them by AND")
        self.at = self.form.where[1]

    def condition(self) -> Range:
        """Tokens behind a clause's word, up to the next section: they may have commas."""
        self.at += 1
        start = self.at
        self.skip_to_section()
        if self.at == start:
            raise self.error("A condition is expected here.")
        return start, self.at

    def read_within(self) -> None:
        """WITHIN interval [SLIDE interval]"""
        self.at += 1
        self.out.within = self.item("An interval", "SLIDE")
        if self.accept("SLIDE"):
            self.out.slide = self.item("An interval")

    def read_until(self) -> None:
        """UNTIL type variable"""
        self.at += 1
        self.out.until = self.item("An event type")

    def read_between(self) -> None:
        """BETWEEN time AND time"""
        self.at += 1
        low = self.item("A time", "AND")
        if not self.accept("AND"):
            raise self.error("AND is expected here.", hint="BETWEEN '2026-01-01' AND '2026-02-01'")
        self.out.between = (low, self.item("A time"))

    def read_group_by(self) -> None:
        """GROUP BY expression, ..."""
        self.accept("GROUP", "BY")
        self.out.group_by = self.items("A column")

    def read_having(self) -> None:
        """HAVING condition"""
        self.out.having = self.condition()

    def read_groups(self) -> None:
        """GROUPS [(1-3,8),(5-7)]"""
        self.at += 1
        self.out.groups = self.item("A list of groups")

    def read_event_selection(self) -> None:
        """EVENT SELECTION strategy, which is bound later."""
        self.accept("EVENT", "SELECTION")
        self.out.selection = self.item("A strategy")

    def read_matches(self) -> None:
        """MATCHES ALL | NON OVERLAPPING | FIRST [WITH TIMED OUT], MATCHES SKIP ..."""
        self.at += 1
        found = next((mode for mode in _MATCHES if self.accept(*mode.split())), None)
        if found is None:
            near = near_name(self.s.word(self.at), _MATCHES) if self.at < self.end else None
            hint = (
                f"did you mean {near}?" if near else "MATCHES ALL, NON OVERLAPPING, FIRST, LATEST, SKIP TO NEXT EVENT"
            )
            raise self.error("MATCHES is followed by ALL, NON OVERLAPPING, FIRST, LATEST or SKIP.", hint=hint)
        self.out.matches = found
        if self.words(self.at, "SKIP"):
            raise self.error(
                f"MATCHES {found} already says which matches count.",
                hint="write MATCHES SKIP TO NEXT EVENT: the preferred match of each start event",
            )
        if found == "SKIP":
            self.read_skip()
        elif found == "LATEST":
            self.out.matches, self.out.latest = "ALL", self.s.tokens[self.at - 2].start
        if self.words(self.at, "WITH"):
            at = self.s.tokens[self.at].start
            if not self.accept("WITH", "TIMED", "OUT"):
                raise self.error("WITH is followed by TIMED OUT.", hint=f"MATCHES {self.out.matches} WITH TIMED OUT")
            self.out.timed_out = at

    def read_skip(self) -> None:
        """PAST LAST EVENT | TO NEXT EVENT | TO [FIRST | LAST] variable [OR PAST LAST EVENT]"""
        self.out.matches = "NON OVERLAPPING"
        if self.accept("PAST", "LAST", "EVENT"):
            return
        hint = "SKIP PAST LAST EVENT, SKIP TO NEXT EVENT, SKIP TO FIRST b or SKIP TO LAST b"
        if not self.accept("TO"):
            raise self.error("SKIP is followed by PAST LAST EVENT or TO.", hint=hint)
        if self.accept("NEXT", "EVENT"):
            self.out.skip = SkipMode.TO_NEXT_ROW
            return
        which = self.s.word(self.at) if self.is_name(self.at + 1) else ""  # else a variable may be called so
        self.out.skip = SkipMode.TO_FIRST if which == "FIRST" else SkipMode.TO_LAST
        self.at += which in ("FIRST", "LAST")
        if not self.is_name(self.at):
            raise self.error("A pattern variable is expected here.", hint=hint)
        self.out.skip_target = self.s.tokens[self.at]
        self.at += 1
        if self.accept("OR"):
            if not self.accept("PAST", "LAST", "EVENT"):
                raise self.error("OR is followed by PAST LAST EVENT.", hint=hint)
            self.out.skip_or_past = True

    def is_name(self, i: int) -> bool:
        """Whether a name stands at a token, which begins nothing else."""
        named = i < self.end and self.s.tokens[i].kind in ("word", "quoted")
        return named and self.s.word(i) != "OR" and self.section(i) is None

    def read_return_all(self) -> None:
        """RETURN-ALL true | false: SIESTA's words for NON OVERLAPPING and FIRST."""
        self.accept("RETURN", "ALL")
        if self.accept("TRUE"):
            self.out.matches = "NON OVERLAPPING"
        elif self.accept("FALSE"):
            self.out.matches = "FIRST"
        else:
            raise self.error("RETURN-ALL is followed by true or false.")

    def read_collapsed(self) -> None:
        """COLLAPSED"""
        self.at += 1
        self.out.collapsed = True

    def read_omit_censored_matches(self) -> None:
        """OMIT CENSORED MATCHES"""
        self.accept("OMIT", "CENSORED")
        if not self.accept("MATCHES"):
            raise self.error("OMIT CENSORED is followed by MATCHES.", hint="write OMIT CENSORED MATCHES")
        self.out.omit_censored = True

    def read_strict_time(self) -> None:
        """STRICT TIME"""
        self.accept("STRICT", "TIME")
        self.out.strict_time = True

    def read_uncertainty(self) -> None:
        """UNCERTAINTY (lower, upper) | width [AT MOST interval] [STEP interval] [PROBABILITY column], the last three in
        any order."""
        self.at += 1
        more = ("AT", "STEP", "PROBABILITY")
        self.out.uncertainty = self.item("(lower, upper) or an interval", *more)
        for _ in more:
            if self.out.step is None and self.accept("STEP"):
                self.out.step = self.length(more)
            elif self.out.probability is None and self.accept("PROBABILITY"):
                self.out.probability = self.item("A column", *more)
            elif self.out.at_most is None and self.accept("AT", "MOST"):
                self.out.at_most = self.length(more)

    def length(self, enders: tuple[str, ...]) -> Range:
        """A length of time; one of the words that may follow it is none."""
        if self.s.word(self.at) in enders:
            raise self.error("An interval is expected here.")
        return self.item("An interval", *enders)

    def read_confidence(self) -> None:
        """CONFIDENCE >= number"""
        self.at += 1
        if self.s.operator(self.at) != ">=":
            raise self.error("CONFIDENCE is followed by >= and a number.", hint="CONFIDENCE >= 0.5")
        self.at += 1
        self.out.confidence = self.item("A number")

    def read_explain_non_answers(self) -> None:
        """EXPLAIN NON ANSWERS (k, uncertainty, step), by place or by name.

        `<k, uncertainty, step>` is the paper's notation.
        """
        self.accept("EXPLAIN", "NON", "ANSWERS")
        start = self.at
        if self.s.operator(start) == "(" and start in self.closers:
            close = self.closers[start]
        elif self.s.operator(start) == "<":
            close = start
            while close < self.end and self.s.operator(close) != ">":
                close += 1
        else:
            raise self.error(TAKES, hint=HINT)
        if close >= self.end:
            raise self.error("EXPLAIN NON ANSWERS is not closed.", hint=HINT)
        end, self.end, self.at = self.end, close, start + 1
        try:
            self.out.non_answers = in_order(self.s, self.items("A value"))
        except WrongArgument as wrong:
            raise self.error(TAKES, hint=HINT, at=wrong.at if wrong.at >= 0 else start) from None
        self.end, self.at = end, close + 1


def pattern_range(statement: Statement, form: PatternOccurrence) -> Range:
    """The tokens between PATTERN and the first clause behind it."""
    parser = BlockParser(statement, form)
    parser.at, parser.end = form.body
    parser.start = form.body[0]
    parser.skip_to_section()
    return form.body[0], max(parser.at, form.body[0] + 1)


def parse_block(statement: Statement, form: PatternOccurrence) -> BlockSyntax:
    """Parse the tokens of a pattern block."""
    return BlockParser(statement, form).parse()
