"""``cidr_match`` and ``wildcard_match``: functions of a text that stand for Spark's ``regexp_like``.

An address range and a text with wildcards are regular expressions in another notation, so that Spark itself tests rows:
nothing goes to Python, and it works wherever ``regexp_like`` does.
"""

from __future__ import annotations

import functools
import ipaddress
import itertools
import re
from collections.abc import Callable, Iterable, Sequence

from sparkcep.errors import PatternAnalysisError
from sparkcep.query import string_literal, unescape
from sparkcep.sql.lexicon import pair_parentheses, tokenize
from sparkcep.sql.statement import Statement
from sparkcep.sql.statement import formatted as formatted_text
from sparkcep.sql.token_text import TokenText

#: Of one token range, and the text that takes its place.
Edit = tuple[int, int, str]

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_DIGITS = "0123456789abcdef"
_GROUP = "[0-9a-f]{1,4}"
#: The end of a text; `$` alone also stands before a line break at the end.
END = "$(?!.)"


def mentions(text: str) -> bool:
    """Whether a text can hold a call of one of the functions."""
    lower = text.lower()
    return "cidr_match" in lower or "wildcard_match" in lower


def edits(s: TokenText) -> list[Edit]:
    """What a text's calls stand for: spans of characters, each with the SQL that takes its place, in Spark's formatted
    sql. The tested text is in no span, so that pattern variables in it are read where they stand.

    Raises:
        PatternAnalysisError: CEP_ARGUMENTS.
    """
    out: list[Edit] = []
    for i, token in enumerate(s.tokens if mentions(s.text) else ()):
        regex = _FUNCTIONS.get(token.upper)
        if regex is None or s.operator(i + 1) != "(" or s.operator(i - 1) == "." or i + 1 not in s.pairs:
            continue
        _, *given = s.between_commas(i + 2, s.pairs[i + 1])
        if not given:
            raise _error(s, token.start, f"{token.text} takes a text and what it is matched against.", token.text)
        values = [_literal(s, low, high, token.text) for low, high in given]
        try:
            pattern = regex(values)
        except ValueError as error:
            raise _error(s, s.tokens[given[0][0]].start, f"{error}.", token.text) from None
        out.append((token.start, token.end, "regexp_like"))
        out.append((s.tokens[given[0][0]].start, s.tokens[given[-1][1] - 1].end, string_literal(pattern)))
    return out


def in_plain_sql(text: str, *, formatted: bool) -> str:
    """A statement without patterns, with what its calls stand for.

    Args:
        formatted: whether Spark formats the text, in which braces are doubled then.

    Raises:
        PatternAnalysisError: CEP_ARGUMENTS.
    """
    if not mentions(text):
        return text
    tokens = tokenize(text)
    statement = Statement(text, tokens, pair_parentheses(tokens))
    for start, end, sql in sorted(edits(formatted_text(statement) if formatted else statement), reverse=True):
        text = text[:start] + (sql if formatted else unescape(sql)) + text[end:]
    return text


def _literal(s: TokenText, low: int, high: int, function: str) -> str:
    """The value of a string literal."""
    token = s.tokens[low] if low < high else None
    if token is None or high - low != 1 or token.kind != "string":
        raise _error(s, s.tokens[low].start, f"{function} takes string literals behind the text it tests.", function)
    raw = s.text[token.start] in "rR"
    if not raw and (found := re.search(r"(?<!\\)(?:\\\\)*\\(?![\\'\"])", s.text[token.start : token.end])):
        raise _error(
            s, token.start + found.end() - 1,
            f"Spark reads a backslash in {s.text[token.start : token.end]} as the beginning of an escape.", function,
        )  # fmt: skip
    return token.text


def _error(s: TokenText, position: int, sentence: str, function: str) -> PatternAnalysisError:
    """CEP_ARGUMENTS; the caller raises it."""
    hint = {
        "CIDR_MATCH": "cidr_match(address, '10.0.0.0/8', 'fd00::/8')",
        "WILDCARD_MATCH": r"wildcard_match(path, r'C:\Windows\*.exe', '*cmd.exe'), where r'...' has no escapes",
    }[function.upper()]
    return PatternAnalysisError("CEP_ARGUMENTS", sentence, text=s.text, position=position, hint=hint)


def wildcard_regex(patterns: Sequence[str]) -> str:
    """What texts with `*` (any characters) and `?` (one) match, without case.

    >>> wildcard_regex(["*cmd.exe"])
    '(?isu)cmd\\\\.exe$(?!.)'
    """
    return f"(?isu){'|'.join(map(_wildcard, patterns))}"


def _wildcard(pattern: str) -> str:
    begin, end = "" if pattern.startswith("*") else "^", "" if pattern.endswith("*") else END
    return begin + wildcards_inside(pattern.strip("*")) + end


def wildcards_inside(pattern: str) -> str:
    """A text with wildcards as a part of a regular expression."""
    pieces = {"*": ".*", "?": "."}
    return "".join(pieces.get(c) or re.escape(c) for c in re.sub(r"\*+", "*", pattern))


def cidr_regex(ranges: Sequence[str]) -> str:
    """The texts of the addresses in some ranges of IPv4 or IPv6, as Python's ``ipaddress`` reads addresses.

    Raises:
        ValueError: a text is no range.
    """
    return f"(?is)^(?:{'|'.join(map(_range, ranges))}){END}"


def network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """A range of addresses, whose bits behind the range count for nothing.

    Raises:
        ValueError: it is none.
    """
    try:
        return ipaddress.ip_network(text.strip(), strict=False)
    except ValueError:
        raise ValueError(f"{text!r} is no range of addresses") from None


def _range(text: str) -> str:
    addresses = network(text)
    low, bits = int(addresses.network_address), addresses.prefixlen
    if addresses.version == 4:
        return _dotted(low, bits)
    # Of each of the 32 hexadecimal digits those that may stand there.
    digits = []
    for at in range(32):
        fixed = max(0, min(4, bits - 4 * at))
        first = (low >> (124 - 4 * at)) & 15
        digits.append(_DIGITS[first : first + (1 << (4 - fixed))])
    groups = [_group(tuple(digits[4 * n : 4 * n + 4])) for n in range(8)]
    may_be_zero = [all("0" in own for own in digits[4 * n : 4 * n + 4]) for n in range(8)]
    # The last two groups may be written as an IPv4 address.
    tail = _dotted(low & 0xFFFFFFFF, max(0, bits - 96))
    full = _joined(groups)
    forms = [full, f"{_joined(groups[:6])}:{tail}"]
    for before in range(8):
        for behind in range(8 - before):
            if not all(may_be_zero[before : 8 - behind]):
                continue
            head = _joined(groups[:before])
            forms.append(f"{head}::{_joined(groups[8 - behind :])}")
            if behind >= 2:
                between = _joined(groups[8 - behind : 6])
                forms.append(f"{head}::{between}{':' if between else ''}{tail}")
    return f"(?:{'|'.join(forms)})(?:%[^%/]+)?"


def _dotted(low: int, bits: int) -> str:
    """The IPv4 addresses whose first bits are those of an address."""
    out = []
    for at in range(4):
        free = 8 - max(0, min(8, bits - 8 * at))
        first = (low >> (24 - 8 * at)) & 255
        values = range(first, first + (1 << free))
        out.append(_OCTET if free == 8 else f"(?:{'|'.join(map(str, values))})" if free else str(first))
    return "[.]".join(out)


@functools.cache
def _group(digits: tuple[str, ...]) -> str:
    """A group of IPv6: four digits, of which the first may be left out where they are zero."""
    if all(own == _DIGITS for own in digits):
        return _GROUP
    forms = []
    for left_out in range(4):
        if all("0" in own for own in digits[:left_out]):
            forms.append("".join(own if len(own) == 1 else f"[{own}]" for own in digits[left_out:]))
    return f"(?:{'|'.join(forms)})" if len(forms) > 1 else forms[0]


def _joined(groups: Iterable[str]) -> str:
    runs = ((group, len(list(same))) for group, same in itertools.groupby(groups))
    return ":".join(group if n == 1 else f"{group}(?::{group}){{{n - 1}}}" for group, n in runs)


_FUNCTIONS: dict[str, Callable[[Sequence[str]], str]] = {"CIDR_MATCH": cidr_regex, "WILDCARD_MATCH": wildcard_regex}
