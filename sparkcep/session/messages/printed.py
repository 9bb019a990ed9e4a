"""Errors as the command line, the shell and notebooks print them: class, sentence, caret and hint, no stack."""

from __future__ import annotations

import re


def is_sparks(error: BaseException) -> bool:
    """Whether an error is Spark's or ours, rather than a fault of Python code."""
    # By name: to import them fails where there is no Spark.
    return any(cls.__name__ in ("PySparkException", "Py4JJavaError") for cls in type(error).__mro__)


def short_message(error: BaseException, statements: str = "") -> str:
    """Spark's message without the JVM's stack and plan; our own errors of matching without Spark's class.

    Args:
        statements: the user's text. Where Spark knows the place of its error in there, it is shown, with a caret; a
            place in the SQL that a pattern was rewritten to is left out.
    """
    from sparkcep.errors import error_behind

    own = error_behind(error)
    text = str(own or error)
    if own is None and _OURS in text:  # raised on an executor, inside a traceback
        text = text[text.index(_OURS) :].split(": ", 1)[-1]
    elif own is None and type(error).__name__ == "Py4JJavaError":  # what PySpark has no class for
        text = _JAVA_CLASS.sub("", text.partition("\n: ")[2].partition("\n\tat ")[0]) or text
    lines = [line for line in text.split("\n") if not line.startswith(("\tat ", "  at "))]
    text = "\n".join(lines).split("\n\nJVM stacktrace")[0].strip()
    text = _PLAN.sub(r"\1", text)
    text = _CONTEXT.sub(lambda context: context[0] if _is_users(context[1], statements) else "", text).strip()
    return text if "^" in text else text + _place(error, statements)


#: How Python's tracebacks name our errors.
_OURS = "sparkcep.errors."
_JAVA_CLASS = re.compile(r"^[\w.$]+(?:Exception|Error): ")
#: Spark's analyser ends its messages with the whole plan.
_PLAN = re.compile(r"(; line \d+ pos \d+);\n.*", re.DOTALL)
#: Where Spark points at a part of the SQL that it ran: a line of it, and carets.
_CONTEXT = re.compile(r"\n== SQL[^\n]* ==\n(.*?)\n *\^+ *(?=\n|$)", re.DOTALL)


def _is_users(shown: str, statements: str) -> bool:
    """Whether lines that Spark shows are lines of the user's; it puts ... where it cuts them."""
    return all(line.strip().strip(".") in statements for line in shown.split("\n"))


def _place(error: BaseException, statements: str) -> str:
    """The place of an error in the user's text: Spark's lines about it if they are lines of the user's, else what it
    complains of, if that stands there once."""
    from sparkcep.errors import describe_position
    from sparkcep.spark.exceptions import contexts

    for context in contexts(error):
        summary = str(context.summary()).strip()
        shown = [line for line in summary.split("\n")[1:] if line.strip(" ^")]
        if shown and _is_users("\n".join(shown), statements):
            return "\n" + summary
        if (found := _written(context.fragment(), statements)) is not None:
            line, column, source = describe_position(statements, found.start())
            carets = "^" * min(len(found[0]), len(source) - column + 1)
            return f"\n== SQL (line {line}, position {column}) ==\n{source}\n{' ' * (column - 1)}{carets}"
    return ""


def _written(fragment: str, statements: str) -> re.Match[str] | None:
    """Where the user has written what stands in the SQL that ran: there in parentheses, with other blanks, `a.x` as the
    name of a column, or x for a.x; None where that is not to be told."""
    fragment = re.sub(r" of [\w|]+(?=\)`)", "", fragment)  # `sum(x of A)` is sum(A.x)
    inside = fragment[1:-1] if fragment[:1] == "(" and fragment[-1:] == ")" else ""
    for text, variable in ((fragment, ""), (inside, ""), (fragment, r"(?:\w+(?:\[[^\]]*\])?\.)?")):
        tokens = re.findall(r"\w+|[^\w\s`]", text)
        words = [f"{variable}{token}" if token[0].isalpha() else re.escape(token) for token in tokens]
        written = r"(?<!\w)" + r"[\s`]*".join(words) + r"(?!\w)"
        found = list(re.finditer(written, statements, re.IGNORECASE)) if tokens else []
        if len(found) == 1:
            return found[0]
    return None
