"""Words and turns of phrase that stopped readers do not come back in the docs and the README."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs_tools.pages import DOCS

ROOT = DOCS.parent
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
#: What is not written, each with what is said instead.
NOT_WRITTEN = {
    r"\bis (guessed|found) and said\b": "sparkcep guesses it and prints its guess",
    r"\b(is|are) told (of|by|from|what)\b": "say who knows what",
    r"\btells? no\b": "does not say",
    r"\buntold\b|\bnot told apart\b": "unknown, ambiguous",
    r"\bspelled most alike\b": "with the closest spelling",
    r"\blooks? at single rows\b": "conditions on single rows",
    r"\bany so many\b|\bat most so many\b": "any N, at most N",
    r"\btaken away in the end\b": "deleted at the end",
    r"\bof (a|the) \w+ (both|all|none) (are|is)\b": "subject first",
    r"\bis no value of\b|\bare no (?:rows|matches|events)\b(?! in\b)": "is not a",
    r"\bstands? behind\b|\bbehind the (comma|pattern|block|clause|call)\b": "follows, after",
    r"\bof one's own\b|\bof its own accord\b": "its own",
    r"\b(wherefrom|whereto|thereof|therein|hitherto)\b": "plain words",
}


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """Lines outside of code."""
    code = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code:
            yield number, re.sub(r"`[^`]*`", "``", line)


@pytest.mark.parametrize("pattern", NOT_WRITTEN)
def test_words(pattern: str) -> None:
    wrong = [
        f"{page.relative_to(ROOT)}:{number}: {found[0]!r}: {NOT_WRITTEN[pattern]}"
        for page in PAGES
        for number, line in prose(page)
        if (found := re.search(pattern, line, re.IGNORECASE))
    ]
    assert not wrong, "\n".join(wrong)
