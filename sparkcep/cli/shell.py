"""``sparkcep shell``: statements typed one after the other, and what the backslash commands do.

How lines are read is :mod:`sparkcep.shell_input`'s; here is what becomes of them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.cli.printing import plan_text, table, texts
from sparkcep.data.discovery import quoted
from sparkcep.progress import shown
from sparkcep.query import in_backticks
from sparkcep.session.inspection.statements import notes_of_result
from sparkcep.session.machine.interrupts import interruptible
from sparkcep.session.messages.printed import is_sparks, short_message
from sparkcep.sql.script import is_complete, split_statements

HELP = r"""Statements end with a semicolon. Commands begin with a backslash and end with their line:
  \d             tables and views            \d NAME        the columns of one
  \explain SQL   the plan of a query; without one, of the last statement
  \timing        seconds behind each result: \timing on, \timing off
  \rows N        show at most N rows         \?             this
  \q             leave (or Ctrl-D); Ctrl-C drops what is typed, and cancels a query"""
_QUIT = ("\\q", "\\quit", "exit", "quit")


class Shell:
    """The state between statements.

    Args:
        spark: the session. write: takes what is printed.
    """

    def __init__(self, spark: SparkSession, write: Callable[[str], None] = print) -> None:
        self.spark = spark
        self.write = write
        self.typed = ""
        self.last = ""
        self.timing = True
        self.rows = 100
        self._tables: list[str] | None = None
        self._columns: dict[str, list[str]] = {}

    @property
    def prompt(self) -> str:
        """What stands before a line: of a new statement, or of one that goes on."""
        return "sparkcep> " if not self.typed else "       -> "

    def feed(self, line: str) -> bool:
        """Take a line (or several); False: the shell is left."""
        if not self.typed.strip():
            word = line.strip().rstrip(";").strip()
            if word.lower() in _QUIT:
                return False
            if word.startswith("\\"):
                self.guarded(lambda: self.command(word), word)
                return True
        self.typed += line + "\n"
        if is_complete(self.typed):
            self.finish()
        elif not self.typed.strip():
            self.typed = ""
        return True

    def finish(self) -> None:
        """Run what is typed, whether or not it ends with a semicolon."""
        text, self.typed = self.typed, ""

        def run() -> None:
            for statement in split_statements(text):
                self.run(statement)

        self.guarded(run, text)

    def guarded(self, action: Callable[[], None], text: str = "") -> None:
        """An error in the text is printed, Ctrl-C cancels Spark's jobs, and the shell goes on."""
        try:
            with shown(), interruptible(self.spark):
                action()
        except Exception as error:
            if not is_sparks(error):
                raise
            self.write(short_message(error, text))
        except KeyboardInterrupt:
            self.write("Interrupted.")

    def run(self, statement: str) -> None:
        """Run a statement and print its rows."""
        self.last = statement
        started = time.perf_counter()
        frame = sparkcep.sql(self.spark, statement)
        if frame.columns and (plan := plan_text(statement, frame)) is not None:
            self.write(plan)
        elif frame.columns:
            names, rows = texts(frame.limit(self.rows + 1), to_read=True)
            more = len(rows) > self.rows
            self.write(table(names, rows[: self.rows]))
            count = min(len(rows), self.rows)
            self.write(f"({'the first ' * more}{count} row{'s' * (count != 1)}{self.took(started)})")
            for note in notes_of_result(self.spark, statement, bool(rows)):
                self.write(f"{'Warning' if rows else 'Note'}: {note}")
        else:
            self.write(f"OK{self.took(started)}")
        self._tables, self._columns = None, {}  # it may have made or dropped some

    def took(self, started: float) -> str:
        """The time since ``started`` where \\timing is on."""
        return f", {time.perf_counter() - started:.2f} s" if self.timing else ""

    def command(self, text: str) -> None:
        """A command that begins with a backslash."""
        name, _, rest = text.partition(" ")
        rest = rest.strip()
        match name.lower():
            case "\\d" if rest:
                name = quoted(rest) if rest in self.tables() else rest
                self.write(table(*texts(self.spark.sql(f"DESCRIBE {name}"))))
            case "\\d":
                self.write(table(*texts(self.spark.sql("SHOW TABLES"))))
            case "\\explain":
                if rest or self.last:
                    self.write(sparkcep.explain(self.spark, rest or self.last))
                else:
                    self.write("There is no statement yet.")
            case "\\timing" if rest.lower() in ("", "on", "off"):
                self.timing = rest.lower() == "on" if rest else not self.timing
                self.write(f"Timing is {'on' if self.timing else 'off'}.")
            case "\\rows" if rest.isdigit() and int(rest) > 0:
                self.rows = int(rest)
            case "\\?" | "\\h" | "\\help":
                self.write(HELP)
            case _:
                self.write(f"There is no command {text}. \\? lists them.")

    # -- completion ------------------------------------------------------------------------------------------------

    def tables(self) -> list[str]:
        """Names of tables, asked of Spark once."""
        if self._tables is None:
            try:
                self._tables = [t.name for t in self.spark.catalog.listTables()]
            except PySparkException:
                self._tables = []
        return self._tables

    def columns(self, table: str) -> list[str]:
        """Names of a table's columns, asked of Spark once."""
        if table not in self._columns:
            try:
                self._columns[table] = self.spark.table(in_backticks(table)).columns
            except PySparkException:
                self._columns[table] = []
        return self._columns[table]

    def completions(self, text: str) -> tuple[str, list[str]]:
        """What the last word of the text so far may become: the word, and names that begin with it.

        Columns are those of the tables that the statement names. Keywords come last, as they are typed: in capitals
        unless the word is in small letters.
        """
        found = re.search(r"[\w\\]*$", text)
        word = found[0] if found else ""
        if word.startswith("\\"):
            names = ["\\d", "\\explain", "\\timing", "\\rows", "\\?", "\\q"]
            return word, [n for n in names if n.startswith(word)]
        if not word:
            return "", []
        whole = self.typed + text
        named = {w.casefold() for w in re.findall(r"\w+", whole)}
        columns = [c for t in self.tables() if t.casefold() in named for c in self.columns(t)]
        names = list(map(quoted, self.tables() + columns))
        keywords = [k.lower() if word.islower() else k for k in KEYWORDS]
        folded = word.casefold()
        return word, [
            n for n in dict.fromkeys([*names, *keywords]) if n.strip("`").casefold().startswith(folded) and n != word
        ]


KEYWORDS = tuple(
    """SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT JOIN LEFT RIGHT FULL OUTER CROSS ON USING UNION ALL DISTINCT AS
    WITH CASE WHEN THEN ELSE END AND OR NOT IN LIKE BETWEEN IS NULL TRUE FALSE CAST INTERVAL TIMESTAMP DATE CREATE
    REPLACE TEMPORARY VIEW TABLE INSERT INTO VALUES DROP DESCRIBE SHOW TABLES EXPLAIN ANALYZE SET
    MATCH_RECOGNIZE PARTITION MEASURES ONE ROW PER MATCH ROWS AFTER SKIP PAST LAST NEXT FIRST PATTERN SUBSET DEFINE
    PERMUTE FINAL RUNNING CLASSIFIER MATCH_NUMBER PREV EVENT SELECTION STRICT CONTIGUITY TILL ANY TYPE SEQ WITHIN SLIDE
    MATCHES NON OVERLAPPING COLLAPSED RETURN GROUPS UNCERTAINTY AT MOST STEP PROBABILITY CONFIDENCE ANSWERS COUNT SUM
    AVG MIN MAX INDEX INDEXES REFRESH OPTIMIZE VACUUM ALTER FUNCTION pattern_statistics pattern_continuations
    IMMEDIATELY UNTIL LATEST""".split()
)
