"""A folder of rules: one .sql file a rule, named by the file."""

from __future__ import annotations

from pathlib import Path

from sparkcep.errors import SparkCepError
from sparkcep.sql.rule_sets.rule import Rule


def folder_rules(folder: Path) -> list[Rule]:
    """Rules of a folder and those in it, in the order of their names.

    Raises:
        SparkCepError: CEP_RULES, there is no such folder, no .sql file in it, or one that cannot be read.
    """
    if not folder.is_dir():
        raise SparkCepError(
            "CEP_RULES", f"There is not a folder {folder}.",
            hint="rules => 'folder', a path of the process that runs the statement or a URI; or rules => TABLE(name)",
        )  # fmt: skip
    files = sorted(folder.rglob("*.sql"), key=lambda file: (file.stem, str(file)))
    if not files:
        raise SparkCepError("CEP_RULES", f"There is no .sql file in {folder}.", hint="each rule is one .sql file")
    rules = []
    for file in files:
        try:
            rules.append(Rule(file.stem, file.read_text("utf-8"), source=str(file)))
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise SparkCepError("CEP_RULES", f"{file} cannot be read: {reason}.") from None
    return rules
