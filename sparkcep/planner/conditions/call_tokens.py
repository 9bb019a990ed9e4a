"""What tokens of a call, or around one, say: whether it is one, its arguments, the type that it casts to."""

from __future__ import annotations

from collections.abc import Sequence

from sparkcep.expr.functions import WRITTEN
from sparkcep.sql.lexicon import CLOSES_OPERAND, Token

#: Functions that are NULL when their argument is.
STRICT = frozenset(
    """abs lower upper length char_length trim ltrim rtrim substring substr left right round bround floor ceil ceiling
    date_trunc trunc year quarter month day dayofmonth dayofweek dayofyear hour minute second weekofyear unix_timestamp
    unix_seconds unix_millis unix_micros to_date to_timestamp date cast double float int bigint string sqrt sign signum
    exp ln log log10 log2 reverse initcap""".split()
)
NOT_FUNCTIONS = frozenset(
    "IN AND OR NOT WHEN THEN ELSE CASE BETWEEN LIKE ILIKE RLIKE REGEXP IS ANY SOME ALL EXISTS ARRAY DIV FROM".split()
)
#: What compares values in a call, where Spark fills CHAR columns up with blanks.
COMPARES = frozenset({"=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>", "IN", "CASE", "DISTINCT"})
BINDS_TIGHTER = frozenset({".", "+", "-", "*", "/", "%", "||", "DIV"})
INTERVAL_WORDS = frozenset(
    "TO NANOSECOND NANOSECONDS MICROSECOND MICROSECONDS MILLISECOND MILLISECONDS SECOND SECONDS MINUTE MINUTES HOUR "
    "HOURS DAY DAYS WEEK WEEKS MONTH MONTHS QUARTER QUARTERS YEAR YEARS".split()
)


#: Spark's own functions that need not be asked about: no function of the user's takes their names.
_SPARKS_OWN = frozenset(
    {*STRICT, *WRITTEN, *(name.lower() for name in NOT_FUNCTIONS)}
    | set("coalesce nvl ifnull nullif if least greatest concat size array struct named_struct map datediff".split())
    | {"try_add"}  # of neighbours' places
)


def may_be_users(tokens: Sequence[Token]) -> bool:
    """Whether some tokens may call a function of the user's, which Spark may refuse in a lambda function."""
    return any(
        t.kind in ("word", "quoted") and t.text.lower() not in _SPARKS_OWN and tokens[k + 1].upper == "("
        for k, t in enumerate(tokens[:-1])
    )


def takes_lambda(tokens: Sequence[Token], i: int) -> bool:
    """Whether a call is `exists(array, x -> ...)`, not a subquery's EXISTS."""
    return tokens[i].upper == "EXISTS" and tokens[i + 2].upper not in ("SELECT", "WITH", "VALUES", "FROM", "TABLE")


def cast_to(tokens: Sequence[Token]) -> str:
    """The type of `CAST(... AS type)`, which is the last AS of its own."""
    depth, to = 0, ""
    for k, t in enumerate(tokens):
        depth += (t.upper == "(") - (t.upper == ")")
        if depth == 1 and t.upper == "AS":
            to = " ".join(other.upper for other in tokens[k + 1 : -1])
    return to


def argument_count(tokens: Sequence[Token]) -> int:
    """How many arguments a call has that has some."""
    depth, commas = 0, 0
    for t in tokens:
        depth += (t.upper in ("(", "[")) - (t.upper in (")", "]"))
        commas += depth == 1 and t.upper == ","
    return commas + 1


def wants_operand(token: Token) -> bool:
    """Whether an operand must follow a token."""
    if token.kind == "op":
        return token.upper not in CLOSES_OPERAND
    return token.upper in ("AND", "OR", "NOT", "BETWEEN", "IN", "LIKE", "WHEN", "THEN", "ELSE", "CASE", "DIV")


def is_strict(tokens: Sequence[Token]) -> bool:
    """Whether a call is NULL where its operand is: all its functions are, and no operator takes a NULL."""
    for k, t in enumerate(tokens):
        if t.upper in ("IS", "CASE", "AND", "OR", "IN", "<=>", "EXISTS"):
            return False
        # A type with arguments, as in CAST(x AS DECIMAL(10, 2)), is no function.
        calls = k + 1 < len(tokens) and tokens[k + 1].upper == "(" and not (k and tokens[k - 1].upper == "AS")
        if t.kind == "word" and calls and t.text.lower() not in STRICT:
            return False
    return True
