"""Which columns of a log are its case, time, event type and tiebreak: guessed by names, types and repeated values.

What fits several columns equally well is not guessed: a wrong order or a wrong case would give wrong matches silently.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sparkcep.query import in_backticks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROLES = ("case", "time", "event", "tiebreak")
_CALLED = {"case": "a case", "event": "an event type"}
#: Names without signs and capitals, the surest first. XES's, pm4py's, and those of common tools.
_CASE = """caseconceptname caseid case traceid trace processid processinstanceid instanceid sessionid session visitid
    orderid ticketid incidentid applicationid userid customerid patientid accountid deviceid machineid vehicleid
    tagid tailnum symbol entityid
    fallid fall fallnr fallnummer vorgangsid vorgangsnr vorgangsnummer aktenzeichen auftragsid auftragsnr
    auftragsnummer auftrag bestellnr bestellnummer belegnr belegnummer ticketnr ticketnummer kundennr kundennummer
    zaakid zaak zaaknummer dossierid dossier numerodossier idcaso caso expediente idcas cas idpratica pratica
    processo idprocesso""".split()
_TIME = """timetimestamp timestamp ts eventtime eventtimestamp time datetime completetimestamp completetime endtimestamp
    endtime occurredat createdat eventdate date tstamp rowtime
    zeitstempel zeitpunkt zeit ereigniszeit ereigniszeitpunkt datumzeit datum tijdstip tijd datumtijd horodatage
    dateheure dateevenement fechahora fecha marcatemporal datahora dataora data""".split()
_EVENT = """conceptname activity activityname eventtype eventname event action task taskname operation step type
    status state
    aktivitaet aktivitat ereignis ereignistyp ereignisart vorgangsart schritt arbeitsschritt taetigkeit tatigkeit
    vorgang aktion activiteit gebeurtenis activite evenement etape tache actividad evento etapa paso atividade
    attivita fase""".split()
_TIEBREAK = """eventposition pos position seq seqno sequence sequencenumber eventid eventindex index eventno eventnumber
    offset lineno rownumber rowid""".split()
TEMPORAL = ("timestamp", "timestamp_ntz", "date")
#: Rows that guesses look at.
SAMPLE = 10_000
INTEGRAL = ("tinyint", "smallint", "int", "bigint")
#: Texts that begin with a day and its year, as a regular expression of Java.
_DAY_TEXT = (
    "^ *([0-9]{4}([-/.][0-9]{1,2}){2}([T ,].*)?|[0-9]{1,2}[-/. ]([0-9]{1,2}|[A-Za-z]{3})[-/. ][0-9]{4}([ ,].*)?"
    r"|([0-9]{1,2}[.]){2}[0-9]{2},? [0-9]{1,2}:.*"
    "|[0-9]{1,2}[.]?( de)? [A-Za-z\u00c0-\u024f]{3,10}[.]?( de)? [0-9]{4}([ ,].*)?"
    "|[A-Za-z]{3,9} [0-9]{1,2}, [0-9]{4}([ ,].*)?"
    "|[0-9]{8}[T ].+)$"
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column as a sample shows it.

    ``type``: as Spark names it. ``distinct``: about how many values; ``rows``: how many are not NULL; ``days``: how
    many are texts that begin with a day.
    """

    name: str
    type: str
    distinct: int
    rows: int
    days: int = 0

    @property
    def is_text_of_times(self) -> bool:
        """Whether most values look like times; those that do not are found where the column is read."""
        return self.days * 2 > self.rows


@dataclass(frozen=True, slots=True)
class Guess:
    """``column`` None: nothing fits, or several do; ``why`` says which. ``named``: by the user, maybe several."""

    role: str
    column: str | None
    why: str
    named: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, one by one."""
        if self.column is None:
            return ()
        return tuple(c.strip().strip("`") for c in self.column.split(",")) if self.named else (self.column,)


def guess_roles(columns: Sequence[Column], named: Mapping[str, str]) -> dict[str, Guess]:
    """A guess for each role.

    Args:
        columns: of the log. named: columns that the user gave, by role, which no other role takes.
    """
    out = {role: Guess(role, column, "as you said", True) for role, column in named.items()}
    taken = {name for guess in out.values() for name in guess.columns}
    for role, find in (("time", _time), ("tiebreak", _tiebreak), ("event", _event), ("case", _case)):
        if role not in out:
            out[role] = find([c for c in columns if c.name not in taken])
            if (found := out[role].column) is not None:
                taken.add(found)
    return {role: out[role] for role in ROLES}


def plain_name(name: str) -> str:
    """A column's name without signs, accents and capitals.

    >>> plain_name("case:concept:name")
    'caseconceptname'
    """
    return re.sub(r"[\W_]+", "", folded(name))


def folded(text: str) -> str:
    """A text without accents and capitals.

    >>> folded("Prüfung")
    'prufung'
    """
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)).casefold()


def type_text(type_: str) -> str:
    """A type of Spark's in a sentence.

    >>> type_text("int")
    'an INT'
    """
    return f"{'an' if type_[0] in 'aeiou' else 'a'} {type_.upper()}"


def _by_name(names: Sequence[str], columns: Iterable[Column]) -> Column | None:
    """The column whose name stands first; None where there is none, or two are called alike."""
    ranked = sorted((names.index(p), c.name, c) for c in columns if (p := plain_name(c.name)) in names)
    if not ranked or (len(ranked) > 1 and ranked[0][0] == ranked[1][0]):
        return None
    return ranked[0][2]


def _only(role: str, columns: Sequence[Column], why: str, many: str) -> Guess:
    if len(columns) == 1:
        return Guess(role, columns[0].name, why)
    if not columns:
        return Guess(role, None, f"no column looks like {_CALLED[role]}")
    return Guess(role, None, f"{many}: {', '.join(c.name for c in columns[:6])}")


def _time(columns: Sequence[Column]) -> Guess:
    clocks = [c for c in columns if c.type in TEMPORAL or c.is_text_of_times]
    if (found := _by_name(_TIME, clocks)) is not None:
        return Guess("time", found.name, f"by its name, {type_text(found.type)}")
    if clocks:
        kind = "text of times" if clocks[0].is_text_of_times else clocks[0].type.upper()
        return _only("time", clocks, f"the only {kind}", "several columns are times")
    numbers = [c for c in columns if c.type in (*INTEGRAL, "double", "float") or c.type.startswith("decimal")]
    if (found := _by_name(_TIME, numbers)) is not None:
        return Guess("time", found.name, f"by its name, {type_text(found.type)}")
    return Guess("time", None, "no column is a time")


def time_by_name(columns: Sequence[Column]) -> Guess | None:
    """The column with the name of a time, whatever its type; None where there is none."""
    found = _by_name(_TIME, columns)
    return None if found is None else Guess("time", found.name, f"by its name, {type_text(found.type)}")


def _tiebreak(columns: Sequence[Column]) -> Guess:
    found = _by_name(_TIEBREAK, [c for c in columns if c.type in INTEGRAL])
    return Guess("tiebreak", None, "") if found is None else Guess("tiebreak", found.name, "by its name")


def _event(columns: Sequence[Column]) -> Guess:
    # An id of its own for each row, or one value for all, is no type.
    texts = [c for c in columns if c.type in ("string", *INTEGRAL) and c.distinct > 0 and not c.is_text_of_times]
    found = _by_name(_EVENT, texts)
    if found is not None and not _is_unique(found):
        return Guess("event", found.name, "by its name")
    return _only(
        "event", [c for c in texts if c.type == "string" and 1 < c.distinct <= min(1000, c.rows / 10)
                  and plain_name(c.name) not in _CASE],
        "the only text of few values", "several columns may be the event type",
    )  # fmt: skip


def _case(columns: Sequence[Column]) -> Guess:
    fit = [c for c in columns if c.type in ("string", *INTEGRAL) and not _is_unique(c) and not c.is_text_of_times]
    found = _by_name(_CASE, fit)
    if found is not None:
        return Guess("case", found.name, "by its name")
    ids = [c for c in fit if c.distinct > 1 and re.search(r"(?i)(id|key|number|no)$", c.name)]
    return _only("case", ids, "the only id that repeats", "several ids repeat")


def _is_unique(column: Column) -> bool:
    """Whether (about) every row has a value of its own, as approx_count_distinct tells it."""
    return column.rows > 20 and column.distinct > 0.9 * column.rows


def sampled(frame: DataFrame) -> list[Column]:
    """The columns, with about how many values the first rows have."""
    atoms = [
        (f.name, f.dataType.simpleString())
        for f in frame.schema.fields
        if not f.dataType.simpleString().startswith(("array", "map", "struct", "variant"))
    ][:200]
    if not atoms:
        return []
    items = [
        item
        for name, type_ in atoms
        for n in [in_backticks(name)]
        for item in (f"approx_count_distinct({n})", f"count({n})",
                     f"count_if({n} RLIKE '{_DAY_TEXT}')" if type_ == "string" else "0")
    ]  # fmt: skip
    (row,) = frame.limit(SAMPLE).selectExpr(*items).collect()
    return [Column(name, type_, *row[3 * i : 3 * i + 3]) for i, (name, type_) in enumerate(atoms)]
