"""What there is to know of one operator or function of conditions over several events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sparkcep.expr.nodes import Call, Constant, Expression
from sparkcep.expr.numbers import Numbers
from sparkcep.expr.typed import Form, Typed
from sparkcep.expr.types import BIGINT, Type

Arguments: TypeAlias = tuple[Typed, ...]
#: What Python evaluates, of values that are not NULL, and the type of the result.
Implementation: TypeAlias = tuple[Callable[..., Any], Type]


@dataclass(frozen=True, slots=True)
class Function:
    """An operator or a function.

    Args:
        name: in trees.
        typed: a call with its type and what Python evaluates; None for arguments of other types than it takes.
        written: what users call it, where it is written as a call.
        takes: its arguments, for its page.
        in_kernel: whether the kernel has instructions for it, of some types at least.
    """

    name: str
    typed: Callable[[Numbers, Call, Arguments], Typed | None]
    written: tuple[str, ...] = ()
    takes: str = ""
    in_kernel: bool = False


#: Letter -> whether a type is what it stands for, and how pages say that.
_LETTERS: dict[str, tuple[Callable[[Type], bool], str]] = {
    "s": (lambda kind: kind.kind == "string", "text"),
    "i": (lambda kind: kind.kind == "int" and kind != BIGINT, "int"),
    "d": (lambda kind: kind.kind == "date", "date"),
    "n": (lambda kind: kind.is_numeric, "number"),
}


def fits(kinds: Sequence[Type], letters: str) -> bool:
    """Whether arguments are of the types that letters stand for; NULL is of any."""
    pairs = zip(kinds, letters, strict=False)
    return len(kinds) == len(letters) and all(k.kind == "null" or _LETTERS[c][0](k) for k, c in pairs)


def of_types(
    name: str, *forms: tuple[str, Type, Callable[..., Any]], written: Sequence[str] | None = None,
    in_kernel: bool = False,
) -> Function:  # fmt: skip
    """A function that is NULL where an argument is.

    Args:
        forms: letters of the arguments' types, the result's type, and the function; of numbers it gets doubles.
        written: its names, if it has others than ``name``.
    """

    def implementation(numbers: Numbers, call: Call, kinds: Sequence[Type]) -> Implementation | None:
        for letters, kind, function in forms:
            if fits(kinds, letters):
                return _of_doubles(function) if letters.startswith("n") else function, kind
        return None

    takes = " or ".join(", ".join(_LETTERS[c][1] for c in letters) for letters, _, _ in forms)
    return strict(name, implementation, takes, [len(letters) for letters, _, _ in forms], written, in_kernel)


def strict(
    name: str, implementation: Callable[[Numbers, Call, Sequence[Type]], Implementation | None], takes: str,
    counts: Sequence[int] = (1,), written: Sequence[str] | None = None, in_kernel: bool = False,
) -> Function:  # fmt: skip
    """A function that is NULL where an argument is.

    Args:
        implementation: by the arguments' types; None where it is not there.
        counts: how many arguments it may have.
    """

    def typed(numbers: Numbers, call: Call, of: Arguments) -> Typed | None:
        made = implementation(numbers, call, [each.type for each in of]) if len(of) in counts else None
        return None if made is None else Typed(Form.STRICT, made[1], of, made[0], call)

    return Function(name, typed, (name,) if written is None else tuple(written), takes, in_kernel)


def _of_doubles(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: function(*map(float, values))


def constant(node: Expression) -> Any:
    """The value of a constant, None for anything else."""
    if isinstance(node, Call) and node.name == "negate" and isinstance(node.arguments[0], Constant):
        value = node.arguments[0].value
        return None if value is None else -value
    return node.value if isinstance(node, Constant) else None
