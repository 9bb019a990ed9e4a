"""Where the rules of a set come from: a folder of .sql files, or a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from sparkcep.errors import SparkCepError, near_name
from sparkcep.spark.exceptions import reason
from sparkcep.sql.rule_sets.files import folder_rules
from sparkcep.sql.rule_sets.rule import Rule


def rules_at(spark: SparkSession, place: str) -> list[Rule]:
    """The rules of a folder: one of this process, or one that Spark reads (any URI).

    Raises:
        SparkCepError: CEP_RULES, there is no such folder, or no .sql file in it.
    """
    if "://" not in place:
        return folder_rules(Path(place))
    try:
        files = spark.read.format("text").option("wholetext", True).option("pathGlobFilter", "*.sql")
        rows = (
            files.option("recursiveFileLookup", True).load(place).selectExpr("_metadata.file_path", "value").collect()
        )
    except PySparkException as error:
        raise SparkCepError("CEP_RULES", f"The rules at {place} cannot be read: {reason(error)}.") from None
    if not rows:
        raise SparkCepError("CEP_RULES", f"There is no .sql file at {place}.")
    return [Rule(Path(path).stem, text, source=path) for path, text in sorted(rows)]


def table_rules(frame: DataFrame) -> list[Rule]:
    """The rules of a table with the columns name, rule and, if there is one, parameters.

    Raises:
        SparkCepError: CEP_RULES, it has no such columns, or a name or rule is NULL.
    """
    by_name = {f.name.casefold(): f for f in frame.schema.fields}
    for needed in ("name", "rule"):
        if needed not in by_name:
            near = near_name(needed, by_name)
            raise SparkCepError(
                "CEP_RULES", f"The table of rules has no column {needed}; it has {', '.join(frame.columns)}.",
                hint=f"SELECT {near} AS {needed}, ..." if near else "name, rule and, optional, parameters",
            )  # fmt: skip
    parameters = by_name.get("parameters")
    if parameters is not None and parameters.dataType.simpleString() != "map<string,string>":
        raise SparkCepError(
            "CEP_RULES", f"The column parameters is {parameters.dataType.simpleString()}, not MAP<STRING, STRING>.",
            hint="map('limit', '500'): SQL literals as text, by the names that rules write after a colon",
        )  # fmt: skip
    names = [by_name[n].name for n in ("name", "rule")] + ([parameters.name] if parameters is not None else [])
    rows: Sequence[Sequence[Any]] = frame.select(*(frame[n] for n in names)).collect()
    rules: list[Rule] = []
    for name, text, *more in rows:
        if name is None or text is None:
            raise SparkCepError(
                "CEP_RULES", f"The table of rules has a row whose {'name' if name is None else 'rule'} is NULL."
            )
        values: Mapping[str, str] = (more[0] or {}) if more else {}
        rules.append(Rule(str(name), str(text), {k: v for k, v in values.items() if v is not None}))
    return sorted(rules, key=lambda rule: rule.name)
