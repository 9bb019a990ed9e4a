"""Functions of texts; places count characters from 1."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

from sparkcep.expr.functions.function import Arguments, Function, Implementation, fits, of_types, strict
from sparkcep.expr.nodes import Call
from sparkcep.expr.numbers import Numbers
from sparkcep.expr.typed import Form, Typed
from sparkcep.expr.types import BOOLEAN, INT, NULL, STRING, Type


def substring(text: str, start: int, length: int = 2**31) -> str:
    """Spark's: positions from 1, negative ones from the end; 0 is as 1."""
    low = start - 1 if start > 0 else (len(text) + start if start < 0 else 0)
    high = low + length
    return text[max(low, 0) : high] if high > max(low, 0) else ""


def levenshtein(a: str, b: str) -> int:
    """Edit distance in characters.

    Differences between neighbouring cells of a column of the table are bits of two whole numbers, so that a character
    of the shorter text costs a dozen operations on them (Myers 1999, as Hyyrö 2001 writes it).
    """
    if len(a) < len(b):
        a, b = b, a
    same: dict[str, int] = {}
    bit = 1
    for c in a:
        same[c] = same.get(c, 0) | bit
        bit <<= 1
    every, last = bit - 1, bit >> 1
    up, down, distance = every, 0, len(a)
    for c in b:
        here = same.get(c, 0)
        vertical = here | down
        horizontal = (((here & up) + up) ^ up) | here
        rising, falling = down | (every & ~(horizontal | up)), up & horizontal
        if rising & last:
            distance += 1
        elif falling & last:
            distance -= 1
        rising = rising << 1 | 1
        up = (falling << 1 | (every & ~(vertical | rising))) & every
        down = rising & vertical & every
    return distance


def _pad(text: str, length: int, pad: str, left: bool) -> str:
    missing = length - len(text)
    if missing <= 0 or not pad:
        return text[: max(length, 0)]
    padding = (pad * (missing // len(pad) + 1))[:missing]
    return padding + text if left else text + padding


def _translate(text: str, old: str, new: str) -> str:
    table: dict[int, str | None] = {}
    for k, c in enumerate(old):
        table.setdefault(ord(c), new[k] if k < len(new) else None)
    return text.translate(table)


def _substring_index(text: str, delimiter: str, count: int) -> str:
    """Occurrences of the delimiter may overlap, counted from the front as from the end."""
    if not delimiter or not count:
        return ""
    at = -1 if count > 0 else len(text) - len(delimiter) + 1
    for _ in range(abs(count)):
        at = text.find(delimiter, at + 1) if count > 0 else text.rfind(delimiter, 0, max(at - 1 + len(delimiter), 0))
        if at < 0:
            return text
    return text[:at] if count > 0 else text[at + len(delimiter) :]


def text(kind: Type) -> Callable[[Any], str] | None:
    """What Spark's implicit cast to text does; None where it is not here, as of doubles, whose texts are Java's."""
    if kind.kind in ("string", "null"):
        return str
    return (lambda v: str(v).lower()) if kind.kind in ("int", "boolean", "date") else None


def _cast(numbers: Numbers, call: Call, kinds: Sequence[Type]) -> Implementation | None:
    apply = text(kinds[0]) if kinds[0] != NULL else None
    return None if apply is None else (apply, STRING)


def _concat(numbers: Numbers, call: Call, of: Arguments) -> Typed | None:
    """Spark evaluates all arguments, also behind a NULL."""
    found = [text(each.type) for each in of]
    made = [each for each in found if each is not None]
    if len(made) < len(found):
        return None
    joined: Callable[..., str] = lambda *v: "".join(make(x) for make, x in zip(made, v, strict=True))  # noqa: E731
    apply = operator.add if fits([each.type for each in of], "ss") else joined
    return Typed(Form.STRICT_ALL, STRING, of, apply, call)


def _concat_ws(numbers: Numbers, call: Call, of: Arguments) -> Typed | None:
    if not of or not fits([each.type for each in of], "s" * len(of)):
        return None
    parts = Typed(Form.LISTED, STRING, of[1:], lambda *v: v)
    join = lambda between, v: between.join(x for x in v if x is not None)  # noqa: E731
    return Typed(Form.STRICT, STRING, (of[0], parts), join, call)


def _like(numbers: Numbers, call: Call, kinds: Sequence[Type]) -> Implementation | None:
    escape = call.escape or "\\"
    return ((lambda v, pattern: like(pattern, escape)(v)), BOOLEAN) if fits(kinds, "ss") else None


@functools.lru_cache(1 << 12)  # patterns that follow from rows are many
def like(pattern: str, escape: str) -> Callable[[str], bool]:
    """A LIKE pattern as a test of texts.

    Raises:
        ValueError: what follows the escape character is none of `_`, `%` and itself.
    """
    middle = pattern.strip("%")
    if not {"%", "_", escape}.intersection(middle):
        before, after = pattern.startswith("%"), pattern.endswith("%")
        if before and after:
            return lambda text: middle in text
        if before:
            return lambda text: text.endswith(middle)
        if after:
            return lambda text: text.startswith(middle)
        return lambda text: text == middle
    out, i = [], 0
    while i < len(pattern):
        c = pattern[i]
        if c == escape:
            i += 1
            if i == len(pattern) or pattern[i] not in ("_", "%", escape):
                raise ValueError(f"in the pattern {pattern!r} of LIKE {escape!r} must be followed by _, % or itself")
            out.append(re.escape(pattern[i]))
        else:
            out.append("." if c == "_" else ".*" if c == "%" else re.escape(c))
        i += 1
    expression = re.compile("".join(out), re.DOTALL)
    return lambda text: expression.fullmatch(text) is not None


TEXTS = (
    of_types("lower", ("s", STRING, str.lower)),
    of_types("upper", ("s", STRING, str.upper)),
    of_types("trim", ("s", STRING, lambda v: v.strip(" ")), written=()),
    of_types("ltrim", ("s", STRING, lambda v: v.lstrip(" "))),
    of_types("rtrim", ("s", STRING, lambda v: v.rstrip(" "))),
    of_types("length", ("s", INT, len), written=("length", "len")),
    of_types("char_length", ("s", INT, len), written=("char_length", "character_length")),
    of_types("octet_length", ("s", INT, lambda v: len(v.encode()))),
    of_types("bit_length", ("s", INT, lambda v: 8 * len(v.encode()))),
    of_types("reverse", ("s", STRING, lambda v: v[::-1])),
    of_types("repeat", ("si", STRING, lambda v, n: v * n)),
    of_types("levenshtein", ("ss", INT, levenshtein)),
    of_types("substring", ("si", STRING, substring), ("sii", STRING, substring), written=("substring", "substr")),
    of_types("left", ("si", STRING, lambda v, n: v[: max(n, 0)])),
    of_types("right", ("si", STRING, lambda v, n: v[-n:] if n > 0 else "")),
    of_types(
        "replace",
        ("ss", STRING, lambda v, old: v.replace(old, "") if old else v),
        ("sss", STRING, lambda v, old, new: v.replace(old, new) if old else v),
    ),
    of_types("instr", ("ss", INT, lambda v, part: v.find(part) + 1)),
    of_types("locate", ("ss", INT, lambda part, v: v.find(part) + 1)),
    of_types("startswith", ("ss", BOOLEAN, str.startswith)),
    of_types("endswith", ("ss", BOOLEAN, str.endswith)),
    of_types("contains", ("ss", BOOLEAN, lambda v, part: part in v)),
    of_types(
        "lpad",
        ("si", STRING, lambda v, n: _pad(v, n, " ", True)),
        ("sis", STRING, lambda v, n, pad: _pad(v, n, pad, True)),
    ),
    of_types(
        "rpad",
        ("si", STRING, lambda v, n: _pad(v, n, " ", False)),
        ("sis", STRING, lambda v, n, pad: _pad(v, n, pad, False)),
    ),
    of_types("translate", ("sss", STRING, _translate)),
    of_types("substring_index", ("ssi", STRING, _substring_index)),
    strict("cast_string", _cast, "text, int, boolean or date", written=("string",)),
    strict("like", _like, "text, text", (2,), written=()),
    Function("concat", _concat, (), "texts, ints, booleans or dates"),
    Function("concat_ws", _concat_ws, ("concat_ws",), "texts"),
)
