"""Recursive-descent parser of a block's pattern: tokens to components and a pattern tree over their keys."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sparkcep.errors import PatternParseError, near_name
from sparkcep.pattern import (
    Alternation,
    Concatenation,
    Conjunction,
    Negation,
    Pattern,
    Permutation,
    Quantified,
    Variable,
    children,
    renamed,
    walk,
)
from sparkcep.query import Component, Selection
from sparkcep.sql.block.foreign_words import STRATEGIES
from sparkcep.sql.block.parser import CLAUSES
from sparkcep.sql.block.until import NotSayable, until
from sparkcep.sql.clause.row_pattern import MAXIMUM_DEPTH, MAXIMUM_REPETITION
from sparkcep.sql.lexicon import SIGNS, Token
from sparkcep.sql.negation import negation_fault
from sparkcep.sql.statement import Statement
from sparkcep.sql.strategies import STEPS
from sparkcep.sql.token_text import Range

_OPERATORS = frozenset({"SEQ", "AND", "OR", "PERMUTE"})
_RESERVED = frozenset({"NOT", "AND", "OR"})
#: In the place of an event type, without quotes: it takes every event.
WILDCARD = "ANY"
#: Least and most repetitions, and whether more are preferred.
_Bounds: TypeAlias = tuple[int, int | None, bool]
#: What other languages call an operator.
_SYNONYMS = {"SEQUENCE": "SEQ", "ANY": "OR"}


@dataclass(frozen=True, slots=True)
class BlockPattern:
    """A pattern with its components in textual order.

    ``negations``: for each negated component the places of the ``!`` around it, outermost first. ``repeated``: keys of
    components that may take several events in one match. ``siesta``: written in angle brackets. ``remarks``: sentences
    about what is read otherwise than it was probably meant.
    """

    pattern: Pattern
    components: tuple[Component, ...]
    negations: dict[str, tuple[int, ...]]
    repeated: frozenset[str]
    siesta: bool
    remarks: tuple[str, ...] = ()


@dataclass(slots=True)
class _Symbol:
    """A name, a text, a number or one punctuation character."""

    kind: str
    text: str
    upper: str
    start: int


@dataclass(slots=True)
class _Leaf:
    """A component being read. ``step``: its own strategy. ``negated``: inside of `!`. ``marked``: where `[]` stands,
    which only a quantifier of a group can justify. ``is_optional``: whether its own quantifier is a question mark."""

    types: tuple[str, ...]
    variable: str
    named: bool
    position: int
    step: Selection | None = None
    negated: bool = False
    marked: int = -1
    is_optional: bool = False


@dataclass(slots=True)
class _Parser:
    statement: Statement
    end: int
    symbols: list[_Symbol]
    at: int = 0
    depth: int = 0
    siesta: bool = False
    leaves: list[_Leaf] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    # -- helpers ---------------------------------------------------------------------------------------------------

    def error(
        self,
        message: str,
        hint: str | None = None,
        error_class: str = "CEP_PATTERN_SYNTAX",
        position: int | None = None,
    ) -> PatternParseError:
        if position is None:
            position = self.symbols[self.at].start if self.at < len(self.symbols) else self.end
        return PatternParseError(error_class, message, text=self.statement.text, position=position, hint=hint)

    def unexpected(self) -> PatternParseError:
        """What stands here begins no term; perhaps a word before it is a misspelt keyword."""
        if self.at >= len(self.symbols):
            return self.error("A pattern is expected here.")
        if self.op() == ")" and self.op(-1) == "(":
            return self.error("The pattern is empty.", "PATTERN SEQ(Type a, Type+ b[], !Type c)")
        words = [s.text for s in self.symbols[: self.at + 1] if s.kind == "word"]
        near = [n for w in words[-3:] if (n := near_name(w, CLAUSES)) and n != w.upper()]
        text = self.symbols[self.at].text
        if self.symbols[self.at].kind == "number":
            hint = "names that begin with a digit go in backticks"
        else:
            hint = "PATTERN SEQ(Type a, Type+ b[], !Type c)"
        return self.error(f"{text!r} cannot be used in a pattern here.", f"did you mean {near[-1]}?" if near else hint)

    def op(self, ahead: int = 0) -> str:
        k = self.at + ahead
        return self.symbols[k].text if k < len(self.symbols) and self.symbols[k].kind == "op" else ""

    def word(self, ahead: int = 0) -> str:
        k = self.at + ahead
        return self.symbols[k].upper if k < len(self.symbols) and self.symbols[k].kind == "word" else ""

    def accept(self, *chars: str) -> bool:
        if all(self.op(k) == c for k, c in enumerate(chars)):
            self.at += len(chars)
            return True
        return False

    def expect(self, char: str) -> None:
        if not self.accept(char):
            raise self.error(f"{char!r} is expected here.") if self.at >= len(self.symbols) else self.unexpected()

    def names_follow(self) -> bool:
        return self.at < len(self.symbols) and self.symbols[self.at].kind in ("word", "quoted", "string")

    # -- grammar ---------------------------------------------------------------------------------------------------

    def pattern(self, commas: bool = True) -> Pattern:
        """``commas`` False: inside of OR(...) and AND(...), where they part the items."""
        self.depth += 1
        if self.depth > MAXIMUM_DEPTH:
            raise self.error(f"The pattern nests deeper than {MAXIMUM_DEPTH} levels.")
        branches = [self.sequence(commas)]
        while self.accept("|") or (self.word() == "OR" and self.op(1) != "(" and self.advance()):
            branches.append(self.sequence(commas))
        self.depth -= 1
        return branches[0] if len(branches) == 1 else Alternation(tuple(branches))

    def advance(self) -> bool:
        self.at += 1
        return True

    def sequence(self, commas: bool) -> Pattern:
        start, first, parted = self.at, 0, False
        items = [self.term()]
        while True:
            if self.op() == "," and commas:
                parted = True
                self.remark_words(start, len(items) - first, parted)
                self.at += 1
                start, first = self.at, len(items)
                items.append(self.term())
            elif self.begins_term():
                items.append(self.term())
            else:
                break
        self.remark_words(start, len(items) - first, parted)
        return items[0] if len(items) == 1 else Concatenation(tuple(items))

    def remark_words(self, start: int, terms: int, parted: bool) -> None:
        """Point out words since a place that are read as several components and look like one of a type with blanks:
        an odd number of them, or any where others are ``parted`` by commas."""
        words = self.symbols[start : self.at]
        plain = all(w.kind == "word" and w.upper not in (*_RESERVED, "IMMEDIATELY", "TILL") for w in words)
        if terms < 2 or not plain or not (parted or len(words) % 2):
            return
        texts = [w.text for w in words]
        pairs = [texts[k : k + 2] for k in range(0, len(texts), 2)]
        read = ", then ".join(" with the variable ".join(["the event type " + pair[0], *pair[1:]]) for pair in pairs)
        self.remarks.append(
            f"{' '.join(texts)} is read as {read}; write a comma between components, and an event type with blanks in "
            f"quotes: '{' '.join(texts[:-1])}' {texts[-1]}"
        )

    def begins_term(self) -> bool:
        if self.word() == "OR" and self.op(1) != "(":
            return False
        return self.names_follow() or self.op() in ("(", "<", "!", "~")

    def term(self) -> Pattern:
        start = self.symbols[self.at].start if self.at < len(self.symbols) else self.end
        negated = self.op() in ("!", "~") or self.word() == "NOT"
        self.at += negated
        first = len(self.leaves)
        item = self.primary()
        bounds = self.quantifier()
        item = self.name(item, first, bounds)
        behind = self.symbols[self.at].start if self.at < len(self.symbols) else self.end
        second = self.quantifier()
        third = self.op() in ("+", "*", "?", "{")
        if (bounds is not None and second is not None) or third:
            if third:
                behind = self.symbols[self.at].start
            raise self.error(
                "Two quantifiers follow each other.", "put the quantified pattern in parentheses", position=behind
            )
        bounds = bounds or second
        leaves = self.leaves[first:]
        given = self.step(item, leaves, negated)
        ended = self.until(item, bounds, negated)
        if ended is not item and not given:
            self.step(item, leaves, negated)
        self.refuse_more(ended is not item)
        item = ended
        if bounds is not None:
            item = Quantified(item, *bounds)
        return Negation(item, start) if negated else item

    def until(self, item: Pattern, bounds: _Bounds | None, negated: bool) -> Pattern:
        """`B+ b[] UNTIL (C c)`: no C before each B since the one before it."""
        if self.word() != "UNTIL" or self.op(1) != "(":
            return item
        if negated or bounds is None or bounds[1] == 1:
            raise self.error(
                "UNTIL ends a component that repeats, and this one does not.",
                "SEQ(A a, B+ b[] UNTIL (C c)); for the whole match, UNTIL C c after the pattern",
                "CEP_UNSUPPORTED_PATTERN",
            )
        start = self.symbols[self.at].start
        self.at += 2
        ends = self.stop(start)
        self.expect(")")
        return Concatenation((ends, item))

    def stop(self, start: int) -> Negation:
        """What UNTIL names, negated."""
        first = len(self.leaves)
        item = self.term()
        if isinstance(item, Negation):
            raise self.error("UNTIL names what ends it, without a negation.", "UNTIL C c", position=start)
        for leaf in self.leaves[first:]:
            leaf.negated = True
        return Negation(item, start)

    def refuse_more(self, ended: bool) -> None:
        """Words of strategies and UNTIL that cannot stand here; read as event types, they would find nothing."""
        word = self.word()
        if words := self.strategy():
            raise self.error(f"{words} is the second strategy of this component.", "leave one of them out")
        if word == "SKIP" and self.word(1) == "TILL":
            raise self.error("SKIP TILL is followed by NEXT MATCH or ANY MATCH.", "SEQ(A a, B b SKIP TILL ANY MATCH)")
        if word == "UNTIL":
            hint = "one UNTIL may name several types: UNTIL ((C | D) c)" if ended else "B+ b[] UNTIL (C c)"
            raise self.error("UNTIL stands once behind a component, with parentheses.", hint)

    def step(self, item: Pattern, leaves: list[_Leaf], negated: bool) -> bool:
        """The strategy behind a component, or behind a group for those of its components that have none; whether there
        is one."""
        words = self.strategy()
        if words and words not in STEPS:
            raise self.error(
                f"{words} is a strategy of the whole block.",
                "write IMMEDIATELY for the very next event, or EVENT SELECTION STRICT CONTIGUITY after the pattern",
                "CEP_UNSUPPORTED_PATTERN",
            )
        step = STEPS.get(words)
        if step is not None and negated and not (step is Selection.STRICT and isinstance(item, Variable)):
            raise self.error(
                f"{words} says how a match comes to its events, and what is negated has none.",
                "!B b IMMEDIATELY means that the very next event is no B",
                "CEP_UNSUPPORTED_PATTERN",
            )
        self.at += len(words.split())
        for leaf in leaves:
            if leaf.step is None and not leaf.negated:
                leaf.step = step
            leaf.negated |= negated
        return bool(words)

    def strategy(self) -> str:
        """The words of a strategy that begin here; empty where they do not."""
        for words in ("IMMEDIATELY", *STRATEGIES):
            if all(self.word(k) == word for k, word in enumerate(words.split())):
                return words
        return ""

    def primary(self) -> Pattern:
        word = self.word()
        if word in _OPERATORS and self.op(1) == "(":
            start = self.symbols[self.at].start
            self.at += 2
            if word == "SEQ":
                inner = self.pattern()
                self.expect(")")
                return inner
            items = [self.pattern(commas=False)]
            while self.accept(","):
                items.append(self.pattern(commas=False))
            self.expect(")")
            if word == "PERMUTE":
                if len(items) < 2:
                    raise self.error("PERMUTE needs at least two patterns.", "PERMUTE(B b, C c)", position=start)
                return Permutation(tuple(items), start)
            if word == "AND" and len(items) != 2:
                raise self.error("AND takes two patterns.", "AND(SEQ(A, B), C+)", position=start)
            if word == "AND":
                return Conjunction(tuple(items), start)
            return items[0] if len(items) == 1 else Alternation(tuple(items))
        if self.accept("("):
            inner = self.pattern()
            self.expect(")")
            return inner
        if self.op() == "<":
            return self.angles()
        if not self.names_follow() or word in _RESERVED:
            raise self.unexpected()
        symbol = self.symbols[self.at]
        self.refuse_operator(symbol)
        self.at += 1
        return self.leaf(_types(symbol), symbol.text, named=False, position=symbol.start)

    def refuse_operator(self, symbol: _Symbol) -> None:
        """A name that touches `(` was meant as an operator; read as an event type, it would find nothing, silently."""
        if symbol.kind != "word" or self.op(1) != "(":
            return
        if self.symbols[self.at + 1].start > symbol.start + len(symbol.text):
            return
        near = _SYNONYMS.get(symbol.upper) or near_name(symbol.text, ("SEQ", "AND", "OR", "NOT", "PERMUTE"))
        apart = f"a space or a comma parts an event type or a variable from a group, {symbol.text} (B | C)"
        raise self.error(
            f"{symbol.text} is not an operator of a pattern; SEQ, AND, OR, NOT and PERMUTE are.",
            f"did you mean {near}? Otherwise {apart}" if near else apart,
            position=symbol.start,
        )

    def leaf(self, types: tuple[str, ...], variable: str, *, named: bool, position: int) -> Pattern:
        self.leaves.append(_Leaf(types, variable, named, position))
        return Variable(str(len(self.leaves) - 1), position)

    def name(self, item: Pattern, first: int, bounds: _Bounds | None) -> Pattern:
        """A variable's name behind a term, and `[]`."""
        symbol = self.symbols[self.at] if self.at < len(self.symbols) else None
        named = symbol is not None and symbol.kind in ("word", "quoted") and symbol.upper not in _RESERVED
        named = named and not self.strategy() and not (self.word() == "UNTIL" and self.op(1) == "(")
        if symbol is not None and named and not (symbol.upper in _OPERATORS and self.op(1) == "("):
            self.refuse_operator(symbol)
            item = self.named(item, first, symbol)
            self.at += 1
        if self.op() == "[":
            place = self.symbols[self.at].start
            if not self.accept("[", "]"):
                raise self.error("']' is expected here.", "a Kleene variable is written b[]")
            after = self.op() in ("+", "*", "{")
            if (bounds is None and not after) or (bounds is not None and bounds[:2] == (0, 1)):
                # The group around it may have a quantifier.
                self.leaves[-1].marked, self.leaves[-1].is_optional = place, bounds is not None
        return item

    def named(self, item: Pattern, first: int, symbol: _Symbol) -> Pattern:
        """A type or a group of plain types, as one component of this name."""
        nodes = item.items if isinstance(item, Alternation) else (item,)
        leaves = self.leaves[first:]
        if not all(isinstance(n, Variable) for n in nodes) or any(leaf.named for leaf in leaves):
            near = near_name(symbol.text, CLAUSES)
            raise self.error(
                f"The name {symbol.text} follows a group; only an event type or a group of types, as in "
                "(B|C)+ v[], can have one.",
                f"did you mean {near}?"
                if near
                else "leave it out; to name the result, put parentheses around the block and the alias after them",
                "CEP_VARIABLE_ON_GROUP",
                symbol.start,
            )
        del self.leaves[first:]
        types = tuple(t for leaf in leaves for t in leaf.types) if all(leaf.types for leaf in leaves) else ()
        return self.leaf(types, symbol.text, named=True, position=leaves[0].position)

    # -- quantifiers -----------------------------------------------------------------------------------------------

    def quantifier(self) -> _Bounds | None:
        """A quantifier, greedy unless a question mark is behind it."""
        found = self.bounds()
        return None if found is None else (*found, not self.accept("?"))

    def bounds(self) -> tuple[int, int | None] | None:
        for char, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.accept(char):
                return bounds
        if not self.accept("{"):
            return None
        doubled = self.accept("{")  # in a format string
        low = self.number()
        high = low
        if self.accept(","):
            high = self.number()
        elif low is None:
            raise self.error("A quantifier holds a number, as in {2}, {2,}, {,3} or {2,3}.")
        place = self.at
        if not (self.accept("}") and (not doubled or self.accept("}"))):
            raise self.error("The quantifier is not closed; '}' is expected here.")
        if high is not None and (high < (low or 0) or high == 0):
            raise self.error(
                f"The quantifier's upper bound {high} is below its lower bound or zero.",
                error_class="CEP_QUANTIFIER_BOUNDS",
                position=self.symbols[place].start,
            )
        return low or 0, high

    def number(self) -> int | None:
        if self.at < len(self.symbols) and self.symbols[self.at].kind == "number":
            text = self.symbols[self.at].text
            if not text.isdecimal() or len(text) > 10 or int(text) > MAXIMUM_REPETITION:
                raise self.error(f"A quantifier's bound is a whole number up to {MAXIMUM_REPETITION}.")
            self.at += 1
            return int(text)
        return None

    # -- SIESTA's notation -----------------------------------------------------------------------------------------

    def angles(self) -> Pattern:
        """``<A,B,!C,E*>`` and ``<(B,_),(A,+),(C,!),(D,*),(E,||,[F,G])>``"""
        self.siesta = True
        self.at += 1
        items = [self.angle_item()]
        while self.accept(","):
            items.append(self.angle_item())
        self.expect(">")
        return items[0] if len(items) == 1 else Concatenation(tuple(items))

    def angle_name(self) -> _Symbol:
        if not self.names_follow():
            raise self.unexpected() if self.at < len(self.symbols) else self.error("An event type is expected here.")
        self.at += 1
        return self.symbols[self.at - 1]

    def angle_item(self) -> Pattern:
        start = self.symbols[self.at].start if self.at < len(self.symbols) else self.end
        if not self.accept("("):
            negated = self.op() in ("!", "~") or self.word() == "NOT"
            self.at += negated
            symbol = self.angle_name()
            item = self.leaf(_types(symbol), symbol.text, named=False, position=symbol.start)
            bounds = self.quantifier()
            item = item if bounds is None else Quantified(item, *bounds)
            return Negation(item, start) if negated else item
        symbol = self.angle_name()
        alternatives = [symbol]
        self.expect(",")
        bounds, negated = None, False
        if self.accept("|", "|"):
            self.expect(",")
            self.expect("[")
            alternatives.append(self.angle_name())
            while self.accept(","):
                alternatives.append(self.angle_name())
            self.expect("]")
        elif self.op() in ("!", "~"):
            self.at += 1
            negated = True
        elif self.word() == "_":
            self.at += 1
        elif (bounds := self.quantifier()) is None:
            raise self.error("_, +, *, ? , ! or || is expected here.", "<(A,_),(B,+),(C,!),(D,*),(E,||,[F,G])>")
        self.expect(")")
        item = self.leaf(_types(*alternatives), symbol.text, named=False, position=symbol.start)
        item = item if bounds is None else Quantified(item, *bounds)
        return Negation(item, start) if negated else item


def _types(*names: _Symbol) -> tuple[str, ...]:
    """The event types of alternatives; none, which stands for every event, where one is the wildcard."""
    every = any(n.kind == "word" and n.upper == WILDCARD for n in names)
    return () if every else tuple(n.text for n in names)


def _symbols(tokens: tuple[Token, ...]) -> list[_Symbol]:
    out: list[_Symbol] = []
    for t in tokens:
        if t.kind == "op":
            text = t.upper if t.text in SIGNS else t.text
            out += [_Symbol("op", c, c, t.start + k) for k, c in enumerate(text)]
        else:
            out.append(_Symbol(t.kind, t.text, t.upper, t.start))
    return out


def _finished(parser: _Parser, root: Pattern) -> BlockPattern:
    """Unique keys for the leaves, and what each leaf stands under."""
    keys: list[str] = []
    seen: dict[str, int] = {}
    named: dict[str, int] = {}
    for leaf in parser.leaves:
        if leaf.named:
            if leaf.variable in named:
                raise parser.error(
                    f"The variable {leaf.variable} occurs twice in the pattern.",
                    "give each component a name of its own",
                    "CEP_DUPLICATE_VARIABLE",
                    leaf.position,
                )
            named[leaf.variable] = leaf.position
        key = leaf.variable
        while key in keys:
            seen[leaf.variable] = seen.get(leaf.variable, 1) + 1
            key = f"{leaf.variable}#{seen[leaf.variable]}"
        keys.append(key)
    clash = next((leaf for leaf in parser.leaves if not leaf.named and leaf.variable in named), None)
    if clash is not None:
        raise parser.error(
            f"{clash.variable} is both a pattern variable and an event type without a variable.",
            "give each component a name of its own",
            "CEP_DUPLICATE_VARIABLE",
            clash.position,
        )
    components: list[Component] = [
        Component(key, leaf.variable, leaf.types, position=leaf.position, step=leaf.step)
        for key, leaf in zip(keys, parser.leaves, strict=True)
    ]
    negations: dict[str, tuple[int, ...]] = {}
    repeated: set[str] = set()
    stack: list[tuple[Pattern, tuple[int, ...], bool, bool]] = [(root, (), False, False)]
    while stack:
        node, around, several, own = stack.pop()
        if isinstance(node, Variable):
            number = int(node.name)
            key = keys[number]
            components[number] = replace(components[number], kleene=own, negated=bool(around))
            if around:
                negations[key] = around
            if several:
                repeated.add(key)
        elif isinstance(node, Quantified):
            more = node.maximum is None or node.maximum > 1
            leaf_inside = isinstance(node.item, (Variable, Quantified))
            stack.append((node.item, around, several or more, leaf_inside and (own or more)))
        elif isinstance(node, Negation):
            stack.append((node.item, (*around, node.position), several, own))
        else:
            stack += [(c, around, several, False) for c in children(node)]
    lacking = next(
        (x for x, key in zip(parser.leaves, keys, strict=True) if x.marked >= 0 and key not in repeated), None
    )
    if lacking is not None:
        why = "? takes one at most" if lacking.is_optional else "a quantifier is missing"
        name, type_ = lacking.variable, "|".join(lacking.types)
        type_ = type_ if type_.isidentifier() else "B"
        hint = f"{type_}? {name}, or {type_}* {name}[]" if lacking.is_optional else f"{type_}+ {name}[]"
        raise parser.error(f"[] marks a variable that takes several events; {why}.", hint, position=lacking.marked)
    return BlockPattern(
        renamed(root, dict(zip(map(str, range(len(keys))), keys, strict=True))),
        tuple(components),
        negations,
        frozenset(repeated),
        parser.siesta,
        tuple(parser.remarks),
    )


def parse_block_pattern(
    statement: Statement, tokens: Range, end: int, stop: tuple[int, Range] | None = None
) -> BlockPattern:
    """Parse the tokens behind PATTERN.

    Args:
        tokens: their range in the statement.
        end: offset behind the last of them.
        stop: where UNTIL stands that is of the whole match, and the tokens behind it.

    Raises:
        PatternParseError: CEP_PATTERN_SYNTAX, CEP_UNSUPPORTED_PATTERN, CEP_QUANTIFIER_BOUNDS, CEP_NEGATION,
            CEP_VARIABLE_ON_GROUP, CEP_DUPLICATE_VARIABLE.
    """
    parser = _Parser(statement, end, _symbols(statement.tokens[slice(*tokens)]))
    root = parser.pattern()
    if parser.at < len(parser.symbols):
        raise parser.unexpected()
    if stop is not None:
        position, (low, high) = stop
        parser.symbols, parser.at, parser.end = _symbols(statement.tokens[low:high]), 0, statement.tokens[high - 1].end
        ends = parser.stop(position)
        if parser.at < len(parser.symbols):
            raise parser.unexpected()
        last = next((n for n in reversed(list(walk(root))) if isinstance(n, Variable)), None)
        try:
            if last is not None and parser.leaves[int(last.name)].negated and parser.leaves[int(last.name)].step:
                raise NotSayable("ends in a negation with IMMEDIATELY")
            root = until(root, ends)
        except NotSayable as kind:
            raise parser.error(
                f"UNTIL is not known of a pattern that {kind}.", "begin it with one event: SEQ(A a, B* b[]) UNTIL C c",
                "CEP_UNSUPPORTED_PATTERN", position,
            ) from None  # fmt: skip
    if (fault := negation_fault(root)) is not None:
        raise parser.error(fault.message, fault.hint, "CEP_NEGATION", fault.position)
    return _finished(parser, root)
