"""docs/settings.md, docs/errors.md, docs/condition_functions.md and docs/templates.md, from sparkcep's own code.

python -m docs_tools.reference            writes them
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import sparkcep
from docs_tools.condition_functions import functions_page
from docs_tools.templates import templates_page
from sparkcep import settings

DOCS = Path(__file__).parents[1] / "docs"
CODE = Path(sparkcep.__file__).parent
_CLASS = re.compile(r"(CEP|MATCH_RECOGNIZE)(_[A-Z]+)+")
#: Named by what raises them.
_KINDS = {
    "PatternParseError": "parse", "PatternAnalysisError": "analysis", "PatternIndexError": "index",
    "LimitError": "limit", "SparkCepError": "use",
}  # fmt: skip


def settings_page() -> str:
    """Every key, its default and its meaning."""
    lines = [
        "# Settings",
        "",
        "Keys of the session's configuration: `spark-defaults.conf`, `SET key = value`, `spark.conf.set(key, value)`.",
        "A value that is not allowed is refused by CEP_INVALID_SETTING. This page is made from `sparkcep/settings.py`.",
        "What a layout, a kernel or a fold is: [words](words.md).",
        "",
        "| key | default | meaning |",
        "|---|---|---|",
    ]
    for setting in settings.ALL:
        default = f"`{setting.default}`" if setting.default else ""
        choices = f" One of {', '.join(f'`{c}`' for c in setting.choices)}." if setting.choices else ""
        lines.append(f"| `{setting.key}` | {default} | {_cell(setting.meaning)}{choices} |")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One place in the code that refuses something. ``message``, ``hint``: templates, empty where computed."""

    error_class: str
    kind: str
    message: str
    hint: str


def errors_page() -> str:
    """Every error class with what it says and its hint."""
    found: dict[str, list[Refusal]] = {}
    for path in sorted(CODE.rglob("*.py")):
        for refusal in refusals(ast.parse(path.read_text())):
            found.setdefault(refusal.error_class, []).append(refusal)
    lines = [
        "# Errors",
        "",
        "A refusal has a class, a sentence, the place in the statement with a caret, and a hint where there is a",
        "fix. All are `sparkcep.SparkCepError`; those of a statement also Spark's `ParseException` or",
        "`AnalysisException`. What goes wrong while rows are matched Spark raises as USER_RAISED_EXCEPTION with the",
        "error's own text; `sparkcep.errors.error_behind(e)` gives it back as a `SparkCepError`. Errors of Spark",
        "itself keep Spark's class. This page is made from the code: `…` stands",
        "for what is filled in, and one class may have several sentences.",
    ]
    for name in sorted(found):
        said = {(_cell(r.message), _cell(r.hint)): None for r in found[name] if r.message}
        lines += ["", f"## {name}", ""]
        for message, hint in said:
            lines.append(f"* {message}" + (f" *Hint: {hint}*" if hint else ""))
        if not said:
            lines.append("* The message says what is wrong.")
    return "\n".join(lines) + "\n"


def refusals(tree: ast.AST) -> Iterator[Refusal]:
    """Calls that name an error class."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        given = [*node.args, *(k.value for k in node.keywords if k.arg == "error_class")]
        names = [a.value for a in given if isinstance(a, ast.Constant) and _CLASS.fullmatch(str(a.value))]
        if not names:
            continue
        texts = [t for a in node.args if (t := template(a)) and not _CLASS.fullmatch(t) and " " in t]
        hints = [template(k.value) for k in node.keywords if k.arg == "hint"]
        if not hints and len(texts) > 1:  # a helper that takes them by place
            hints = [texts[1]]
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        yield Refusal(str(names[0]), _KINDS.get(called, ""), texts[0] if texts else "", hints[0] if hints else "")


def template(node: ast.AST) -> str:
    """A string's text with an ellipsis for what is computed; empty where it is no string."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else "…" for v in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return template(node.left) + (template(node.right) or "…")
    return ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


PAGES = {
    "settings.md": settings_page, "errors.md": errors_page, "condition_functions.md": functions_page,
    "templates.md": templates_page,
}  # fmt: skip


def main() -> None:
    for name, make in PAGES.items():
        (DOCS / name).write_text(make())


if __name__ == "__main__":
    main()
