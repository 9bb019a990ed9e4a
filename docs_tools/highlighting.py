"""Highlights ```sql on the site by the lexer that knows patterns. A hook of MkDocs."""

from __future__ import annotations

from typing import Any

from pygments.lexers import LEXERS

from sparkcep.cli.highlighting import PatternSqlLexer


def on_config(config: Any) -> Any:
    """Put it in the place of Pygments' own lexer for SQL, which comes before those of plugins."""
    lexer = PatternSqlLexer
    LEXERS["SqlLexer"] = (lexer.__module__, lexer.name, ("sql", *lexer.aliases), ("*.sql",), ())
    return config
