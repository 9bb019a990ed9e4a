"""The rules of a set on their way to one relation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.errors import AnalysisException, PySparkException, PySparkTypeError
from pyspark.sql import DataFrame
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from sparkcep.errors import PatternAnalysisError, SparkCepError, not_boolean, streaming_unsupported, warn
from sparkcep.exec.operator import match
from sparkcep.planner.choice import make_plan
from sparkcep.planner.conditions.row_conditions import RowCondition
from sparkcep.planner.engines.shared.input import NotShared
from sparkcep.planner.engines.shared.output import NO_MEASURES, match_id, text_of_keys
from sparkcep.planner.engines.shared.plan import SharedPlan, SharedPlanner, spark_conditions
from sparkcep.planner.engines.shared.pruning import SetAsks
from sparkcep.planner.engines.shared.stream import stream_input
from sparkcep.planner.explain_before import indent
from sparkcep.planner.fields import Fields
from sparkcep.planner.input_plan import InputPlan
from sparkcep.planner.lengths import least_and_most
from sparkcep.planner.plan import AnyPlan
from sparkcep.planner.pruning import Asks, PlanAsks
from sparkcep.planner.sampling import Sampler
from sparkcep.planner.streaming.meaning import StreamSource
from sparkcep.planner.streaming.refusals import check_plan, check_query
from sparkcep.query import PREFIX, SOURCE, PatternQuery, escape, quote, string_literal, unescape
from sparkcep.session.analyzer import SparkAnalyzer
from sparkcep.session.column_types import column_types
from sparkcep.session.indexes.choice import Pruning, prune
from sparkcep.session.machine.lost_executors import remember
from sparkcep.session.messages.spark_errors import located
from sparkcep.session.narrowing import Narrowing
from sparkcep.session.parameters import checked_lengths
from sparkcep.session.planning import watermarked
from sparkcep.session.relations import Relation, check, matched_stream, name_log_end, relation_sql, untransportable
from sparkcep.session.rules.call import RuleSetCall
from sparkcep.session.rules.trial import failed_rules, failing
from sparkcep.session.streams.history import history
from sparkcep.settings import SHARED_INPUT, STREAM_BUCKETS, Settings
from sparkcep.spark.exceptions import condition_of, sentence
from sparkcep.sql.rule_sets.binder import COLUMNS, VALUE, BoundRule, bind_rule
from sparkcep.sql.rule_sets.metadata import read_metadata
from sparkcep.sql.rule_sets.rule import REPORT, Rule, RuleError
from sparkcep.sql.rule_sets.suppress import fits, without_suppressed

_names = iter(range(2**62))
#: A column with the keys that a rule has besides those of the call.
_OWN = "_sparkcep_own_keys"
#: Rules that a warning names.
_NAMED = 5
#: Rules of a pass that EXPLAIN names.
_LISTED = 20
#: Measures of a rule's query that say which match it is, beside its events: its number, start and end.
_TOLD = 3


@dataclass(frozen=True, slots=True)
class RuleSetResult:
    """A call as a relation. ``sql``: a query that takes its place. ``notes``: what EXPLAIN says of it. ``relations``:
    of rules that run by themselves. ``passes``: how the others run, those of equal keys together."""

    sql: str
    notes: list[str]
    relations: list[Relation]
    passes: list[SharedPass]
    set: RuleSet


@dataclass(frozen=True, slots=True)
class SharedPass:
    """Rules of equal keys, which share their input: their ``plan``, and how they read the log."""

    plan: SharedPlan
    pruning: Pruning


@dataclass(slots=True)
class RuleSet:
    """A call's rules on their way to a relation.

    Args:
        matched: the result of a statement with a pattern over ``{rows}``.
        bound: rules that parse and bind. errors: of those that do not, and of those that cannot be planned.
        types: names and types of expressions over the log, as far as Spark was asked.
        narrow: leaves out partitions of the log.
    """

    analyzer: SparkAnalyzer
    call: RuleSetCall
    matched: Callable[[str, DataFrame], DataFrame]
    bound: list[BoundRule] = field(default_factory=list)
    errors: list[RuleError] = field(default_factory=list)
    types: dict[str, tuple[str, str]] = field(default_factory=dict)
    narrow: Narrowing | None = None

    @property
    def columns(self) -> list[str]:
        """Names of the log's columns."""
        return list(self.call.source.columns)

    @property
    def column_types(self) -> list[str]:
        """Spark types of the log's columns."""
        return column_types(self.call.source.schema, self.call.settings)

    @property
    def streams(self) -> bool:
        """Whether the log is a stream."""
        return bool(self.call.source.isStreaming)

    def bind(self) -> None:
        """Bind all rules; the report has those that are refused."""
        columns, seen = self.columns, set[str]()
        for rule in self.call.rules:
            try:
                if not read_metadata(rule).enabled:
                    continue
                if rule.name in seen:
                    raise SparkCepError("CEP_DUPLICATE_RULE", f"Two rules are called {rule.name}.")
                seen.add(rule.name)
                bound = bind_rule(rule, columns, self.call.keys, self.call.settings, self.type_of)
                self.check_keys(bound)
                if bound.suppress:
                    self.check_suppress(bound)
                self.bound.append(bound)
            except SparkCepError as error:
                self.refuse(rule, error)
        self.check_regexes()

    def check_keys(self, bound: BoundRule) -> None:
        """Raises CEP_RULE_KEYS, or what Spark says, for keys of a rule that are no expressions."""
        for key in bound.query.partition_by[len(self.call.keys.partition_by) :]:
            item = f"({key.expression})"
            if item in self.types:  # rules have the same few keys
                continue
            try:
                found = self.analyzer.expression_types([item], self.call.source)
            except AnalysisException as error:
                raise located(bound.query, error, key.position) from None
            if len(found) == 1:
                self.types[item] = found[0]
            else:
                raise PatternAnalysisError(
                    "CEP_RULE_KEYS", f"{unescape(key.expression)} is not one key.", text=bound.query.text,
                    position=key.position,
                )  # fmt: skip

    def check_regexes(self) -> None:
        """Refuse rules with regular expressions that are none: they would fail where they run, and all rules with
        them."""
        wrong = self.unreadable(list(dict.fromkeys(text for bound in self.bound for text, _ in bound.regexes)))
        for bound in list(self.bound) if wrong else []:
            found = next(((wrong[text], at) for text, at in bound.regexes if text in wrong), None)
            if found is not None:
                self.bound.remove(bound)
                self.refuse(
                    bound.rule,
                    PatternAnalysisError(
                        condition_of(found[0]), sentence(found[0]), text=bound.query.text, position=found[1]
                    ),
                )

    def unreadable(self, texts: list[str]) -> Mapping[str, PySparkException]:
        """Literals that are no regular expressions. Spark needs no job for rows that it has in the plan."""

        def ask(some: list[str]) -> None:
            items = escape(", ".join(f"'' RLIKE {text}" for text in some))
            self.analyzer.run(f"SELECT {items}", self.call.source).collect()

        return failing(texts, ask, PySparkException)

    def check_suppress(self, bound: BoundRule) -> None:
        """Raises CEP_RULE_SUPPRESS where the log's time and the period do not fit."""
        type_ = self.type_of(f"({self.call.keys.order_by[0].expression})")
        if not fits(bound.suppress, type_):
            raise SparkCepError(
                "CEP_RULE_SUPPRESS", f"The log's time is {type_}, to which the rule's period cannot be added.",
                hint="-- suppress: 30 minutes; or a number, where the log's time is one",
            )  # fmt: skip

    def refuse(self, rule: Rule, error: SparkCepError) -> None:
        """Note a rule in the report."""
        self.errors.append(RuleError.of(rule.name, error))

    def type_of(self, text: str) -> str:
        """Spark's type of an expression over the log."""
        return self.analyze([text])[0][1]

    def analyze(self, items: Sequence[str], query: PatternQuery | None = None) -> list[tuple[str, str]]:
        """Names and types of expressions over the log, each asked of Spark once for all rules.

        Args:
            query: whose expressions they are, for the place of an error.
        """
        if not self.types:
            self.types |= {quote(f.name): (f.name, f.dataType.simpleString()) for f in self.call.source.schema.fields}
        missing = [item for item in dict.fromkeys(items) if item not in self.types]
        if missing:

            def ask() -> list[tuple[str, str]]:
                return self.analyzer.expression_types(missing, self.call.source)

            found = ask() if query is None else self.analyzer.checked(query, ask)
            self.types |= dict(zip(missing, found, strict=True))
        return [self.types[item] for item in items]

    # -- plans -----------------------------------------------------------------------------------------------------

    def relation(self) -> RuleSetResult:
        """All rules as one relation."""
        parts: list[str] = []
        notes: list[str] = []
        passes, rest = self.shared()
        for shared in passes:
            parts.append(self.shared_sql(shared))
            notes += self.described(shared)
        relations = []
        for bound in [b for b in self.bound if b.rule.name in rest]:
            made = self.alone(bound)
            if made is not None:
                relations.append(made[0])
                parts.append(made[1])
                notes.append(f"Rule {bound.rule.name} runs by itself: {rest[bound.rule.name]}")
        places = {rule.name: place for place, rule in enumerate(self.call.rules)}
        self.errors.sort(key=lambda error: places[error.rule])
        notes += [f"Rule {e.rule} is refused: [{e.error_class}] {e.message}" for e in self.errors]
        sql = " UNION ALL ".join(parts) if parts else self.nothing()
        if periods := {bound.rule.name: bound.suppress for bound in self.bound if bound.suppress}:
            sql = sql if self.streams else self.suppressed(sql, periods)  # an operator does so itself
            notes.append(f"Alerts that come too soon behind another are left out: {', '.join(sorted(periods))}")
        return RuleSetResult(sql, notes, relations, passes, self)

    @property
    def tells_own_keys(self) -> bool:
        """Whether rows say which of a rule's own partitions they are of, since it suppresses alerts in each."""
        return any(b.suppress and len(b.query.partition_by) > len(self.call.keys.partition_by) for b in self.bound)

    def described(self, shared: SharedPass) -> list[str]:
        """What EXPLAIN says of rules that share their input."""
        plan, given = shared.plan, shared.plan.input
        what = "one input, in one pass" if plan.stream is None else "one stream, in one operator with one state"
        own = plan.query.partition_by[len(self.call.keys.partition_by) :]
        if own:
            what += f", partitioned by {', '.join(unescape(key.expression) for key in own)} too"
        notes = [
            f"Rule set: {len(plan.spec.rules)} {'rule reads' if len(plan.spec.rules) == 1 else 'rules read'} {what}",
            f"  rules: {', '.join(rule.name for rule in plan.spec.rules[:_LISTED])}"
            + (", ..." if len(plan.spec.rules) > _LISTED else ""),
            f"  conditions evaluated by Spark, each once: {len(given.bits)}",
            f"  columns sent to the matchers: {len(given.shape.columns)}",
            f"  layout: {given.layout} ({given.layout_reason})",
        ]
        if plan.stream is not None:
            notes += [f"  emitted: {plan.stream.decided}", f"  kept: {plan.stream.kept}"]
        notes += [f"  Index: {shared.pruning.lines[0]}", *(f"    {line}" for line in shared.pruning.lines[1:])]
        return [*notes, "  SQL before:", indent(unescape(plan.before()).replace(PREFIX, "_"))]

    def shared(self) -> tuple[list[SharedPass], dict[str, str]]:
        """The rules that share their input, those of equal keys together; and why the others do not."""
        call = self.call
        if not call.settings.shared_input:
            return [], dict.fromkeys((b.rule.name for b in self.bound), f"{SHARED_INPUT.key} = false")
        settings = replace(
            call.settings, layout="rows", gap_elimination=False, join_prefilter=False, range_splitting=False
        )
        plans: list[tuple[BoundRule, AnyPlan]] = []
        rest: dict[str, str] = {}
        alone: list[BoundRule] = []
        for bound in self.bound:
            try:
                # Each rule has an order of its own for rows of equal keys.
                own = replace(bound.query, own_neighbours=True)
                if self.streams:  # what it returns is no business of Spark's
                    own = replace(own, measures=own.measures[:_TOLD])
                plans.append((bound, self.planned(replace(bound, query=own), settings)))
            except SparkCepError as error:
                if self.streams:
                    self.refuse(bound.rule, error)
                    continue
                rest[bound.rule.name] = error.sentence
                alone.append(bound)  # which finds out whether it is refused
        plans = self.answered(plans)
        self.bound = [*(bound for bound, _ in plans), *alone]
        alike: dict[Any, list[tuple[BoundRule, AnyPlan]]] = {}
        for bound, plan in plans:
            keys = tuple(key.folded for key in bound.query.partition_by)
            alike.setdefault((keys, tuple(plan.input.filters)), []).append((bound, plan))
        passes = (self.one_pass(group, rest) for group in alike.values())
        return [shared for shared in passes if shared is not None], rest

    def one_pass(self, plans: list[tuple[BoundRule, AnyPlan]], rest: dict[str, str]) -> SharedPass | None:
        """Rules of equal keys and filters; None where none of them can share an input, or all fail.

        Args:
            rest: gets those that cannot, with the reasons.
        """
        call = self.call
        names = frozenset[str]().union(*(bound.query.identifiers for bound in self.bound))
        first = plans[0][0].query
        event_type = next((b.query.event_type for b, _ in plans if b.query.event_type is not None), None)
        base = replace(
            first, order_by=call.keys.order_by, event_type=event_type, groups=(), within=None, streaming=self.streams
        )
        asking = [base]  # whose expressions Spark is asked about
        planner = SharedPlanner(
            base, call.settings, lambda items: self.analyze(items, asking[0]), self.sampler(base), self.column_types,
            names,
        )  # fmt: skip
        taken: list[tuple[BoundRule, AnyPlan]] = []
        for bound, plan in plans:
            asking[0] = bound.query
            try:
                planner.add(bound.rule.name, plan, bound.measures, self.streamed_suppress(bound, plan))
                taken.append((bound, plan))
            except SparkCepError as error:
                self.refuse(bound.rule, error)
                self.bound.remove(bound)
            except NotShared as why:
                if self.streams:  # in one operator rules may come and go, and Spark allows no second one
                    self.refuse(bound.rule, _not_streamed(bound.query, str(why)))
                    continue
                rest[bound.rule.name] = str(why)
        asking[0] = base
        if not taken:
            return None
        if call.reports_failing and (wrong := failed_rules(self.analyzer, call.source, planner)):
            for bound, plan in taken:
                if bound.rule.name in wrong:
                    sql, failure = wrong[bound.rule.name]
                    self.refuse(bound.rule, failure.of_rule(bound, plan, sql))
            self.bound = [bound for bound in self.bound if bound.rule.name not in wrong]
            return self.one_pass([(b, plan) for b, plan in taken if b.rule.name not in wrong], rest)
        shared = planner.plan(len(call.keys.partition_by), plans[0][1].input.filters, call.keys.event_id)
        if self.streams:
            unused = Pruning(lines=["not used: a rule set over a stream"])
            return SharedPass(self.over_stream(shared, taken), unused)
        asks = SetAsks(shared, [(bound.rule.name, own) for bound, own in taken])
        return SharedPass(shared, self.pruned(asks, shared.input, call.settings))

    def streamed_suppress(self, bound: BoundRule, plan: AnyPlan) -> int:
        """For how long, in microseconds, a rule suppresses matches where the log is a stream.

        Raises:
            PatternAnalysisError: CEP_STREAMING_UNSUPPORTED: that is not known, or which matches it leaves out.
        """
        if not (self.streams and bound.suppress):
            return 0
        lengths = [least_and_most(part, self.call.settings.time_zone) for part in bound.suppress]
        known = [length[0] for length in lengths if length is not None and length[0] == length[1]]
        what = hint = ""
        if len(known) < len(lengths):
            what, hint = "suppress with days or months, whose length clocks change", "-- suppress: 24 hours"
        elif not plan.engine.stream_needs.by_end:
            what = "suppress where matches do not come in the order in which they end"
            hint = "MATCHES NON OVERLAPPING, or no negation behind the last event; of a clause SKIP PAST LAST ROW"
        if what:
            raise streaming_unsupported(what, bound.query.text or None, bound.query.start, hint)
        return sum(known)

    def pruned(self, asks: Asks, given: InputPlan, settings: Settings) -> Pruning:
        """How the log is read for some rules."""
        call = self.call
        pruning = prune(self.analyzer, asks, call.source, call.input_sql, settings)
        if self.narrow is None:
            return pruning
        return self.narrow.input(self.analyzer, given, call.source, call.input_sql, pruning)

    def over_stream(self, plan: SharedPlan, taken: list[tuple[BoundRule, AnyPlan]]) -> SharedPlan:
        """The plan with what it has more over a stream."""
        settings = self.call.settings
        of_set = [bound.rule for bound, _ in taken]
        rules = {rule.name: repr((rule.name, rule.text, sorted(rule.parameters.items()))) for rule in of_set}
        types = dict(zip(self.columns, self.column_types, strict=True))
        log = StreamSource(self.call.input_sql.text, self.analyzer.values, types, is_pattern=False)
        stream = stream_input(plan.input, [own for _, own in taken], rules, settings, log, self.call.keys.event_id)
        reason = f"the input is a stream; {settings.stream_buckets} buckets, {STREAM_BUCKETS.key}"
        return replace(plan, input=replace(plan.input, layout="stream", layout_reason=reason), stream=stream)

    def planned(self, bound: BoundRule, settings: Any) -> AnyPlan:
        """A rule's own plan.

        Raises:
            SparkCepError: of its engine's planner; CEP_STREAMING_*.
        """
        query = checked_lengths(bound.query, self.analyzer)
        if self.streams:
            query = replace(query, streaming=True, limit=None)
            check_query(query, settings, watermarked(self.call.source))
            settings = replace(settings, layout="rows")
        plan = make_plan(
            query, settings, lambda items: self.analyze(items, query), self.sampler(query), self.column_types
        )  # fmt: skip
        if self.streams:
            check_plan(plan, plan.engine.stream_needs)
        return plan

    def sampler(self, query: PatternQuery) -> Sampler:
        """What asks for some rows of the log, where that is large."""
        call = self.call
        if self.streams:
            return lambda tests, keys, filters: None
        return lambda tests, keys, filters: self.analyzer.sample(
            query, call.source, call.input_sql, tests, keys, filters
        )  # fmt: skip

    def answered(self, plans: list[tuple[BoundRule, AnyPlan]]) -> list[tuple[BoundRule, AnyPlan]]:
        """The rules whose conditions Spark takes; the others are refused."""
        fields = Fields(tuple(self.columns), self.call.settings.case_sensitive)
        types = dict(zip(self.columns, self.column_types, strict=True))
        own = [spark_conditions(plan, fields, types) for _, plan in plans]
        refused = self.refused(list(dict.fromkeys(c.sql() for conditions in own for c in conditions)))
        kept = []
        for (bound, plan), conditions in zip(plans, own, strict=True):
            wrong = next((c for c in conditions if c.sql() in refused), None)
            if wrong is None:
                kept.append((bound, plan))
            else:
                self.refuse(bound.rule, of_condition(plan.query, wrong, refused[wrong.sql()]))
        return kept

    def refused(self, texts: list[str]) -> Mapping[str, AnalysisException | str]:
        """What Spark has against conditions, each an exception or a type that is not boolean."""
        types: dict[str, str] = {}

        def ask(some: list[str]) -> None:
            items = ", ".join(f"({text})" for text in some)
            schema = self.analyzer.run(f"SELECT {items} FROM {{{SOURCE}}}", self.call.source).schema
            types.update((text, f.dataType.simpleString()) for text, f in zip(some, schema, strict=True))

        wrong = failing(texts, ask, AnalysisException)
        return {**wrong, **{text: type_ for text, type_ in types.items() if type_ not in ("boolean", "void")}}

    def shared_sql(self, shared: SharedPass) -> str:
        """SQL that gives the set's columns of the rules that share their input."""
        plan, given = shared.plan, shared.plan.input
        remember(given.layout)
        name = f"{PREFIX}rules_{next(_names)}"
        source = self.call.source if shared.pruning.frame is None else shared.pruning.frame
        frame = self.analyzer.analyzed(plan.before(), source)
        if (stream := plan.stream) is None:
            found = match(frame, given.layout, given.shape, plan.spec)
        else:
            before = history(self.analyzer, plan, self.call.source)
            try:
                found = matched_stream(frame, given.shape, plan.spec, stream, name, before)
            except PySparkTypeError:
                raise untransportable(plan, frame) from None
        self.analyzer.matched[name] = found.frame
        more = [f"{plan.output.own_keys()} AS {_OWN}"] if self.tells_own_keys else []
        return plan.output.sql(more).replace(f"{{{SOURCE}}}", found.sql(f"{{{name}}}"))

    def alone(self, bound: BoundRule) -> tuple[Relation, str] | None:
        """A rule as a relation of its own, and SQL that gives the set's columns of it; None where it is refused."""
        # Rows are counted for events' positions: none may be dropped.
        settings = replace(self.call.settings, gap_elimination=False)
        name = f"{PREFIX}relation_{next(_names)}"
        bound = replace(bound, query=replace(bound.query, hidden_keys=0))
        try:
            plan = self.planned(bound, settings)
            given = self.call.source
            pruning = self.pruned(PlanAsks(plan), plan.input, settings)
            source = given if pruning.frame is None else pruning.frame
            name_log_end(self.analyzer, plan.query, given)
            sql = relation_sql(self.analyzer, name, plan, source, None)
            relation = Relation(name, plan, source, sql, given, pruning)
            check(self.analyzer, relation)
        except SparkCepError as error:
            self.refuse(bound.rule, error)
            return None
        return relation, f"SELECT {', '.join(self.items(bound, plan))} FROM {sql}"

    def suppressed(self, sql: str, periods: Mapping[str, Sequence[str]]) -> str:
        """SQL of the set's rows without those that come too soon: a second pattern, over the rows themselves."""
        rows = self.analyzer.analyzed(sql)
        text = without_suppressed(rows.columns, len(rows.columns) - len(COLUMNS), periods)
        shown = [quote(column) for column in rows.columns if column != _OWN]
        return f"SELECT {', '.join(shown)} FROM {self.named('alerts', self.matched(text, rows))}"

    def items(self, bound: BoundRule, plan: AnyPlan) -> list[str]:
        """The set's columns over the columns of a rule's relation."""
        all_keys = [quote(name) for _, name in plan.input.keys]
        shown = all_keys[: len(self.call.keys.partition_by)]
        rule = string_literal(bound.rule.name)
        own = [f"{text_of_keys(all_keys[len(shown) :])} AS {_OWN}"] if self.tells_own_keys else []
        values = [f"{string_literal(m.name)}, CAST(`{VALUE}{n}` AS STRING)" for n, m in enumerate(bound.measures)]
        measures = f"map({', '.join(values)})" if values else NO_MEASURES
        common, event_id = ["match_number", "start_time", "end_time", "events"], self.call.keys.event_id
        if event_id:
            common[-1] = "transform(events, e -> struct(e.variable, e.position, e.time)) AS events"
        known_by = f"transform(events, e -> struct(e.variable AS v, e.{'id' if event_id else 'time'} AS e))"
        identity = match_id(rule, all_keys, known_by)
        return [f"{rule} AS rule", *shown, *own, *common, f"{measures} AS measures", identity]

    # -- results ---------------------------------------------------------------------------------------------------

    def nothing(self) -> str:
        """SQL of the result without rows."""
        time = f"({self.call.keys.order_by[0].expression})"
        fields = Fields(tuple(self.columns), self.call.settings.case_sensitive)
        keys = []
        for key in self.call.keys.partition_by:
            column = fields.column_of(key.expression)
            name = column if column is not None else self.analyze([key.expression])[0][0]
            keys.append(f"({key.expression}) AS {quote(name)}")
        event = f"named_struct('variable', '', 'position', 0, 'time', {time})"
        items = [
            "'' AS rule", *keys, "1L AS match_number", f"{time} AS start_time", f"{time} AS end_time",
            f"array({event}) AS events", f"{NO_MEASURES} AS measures", "'' AS match_id",
        ]  # fmt: skip
        return f"SELECT {', '.join(items)} FROM {self.named('log', self.call.source)} WHERE false"

    def named(self, what: str, frame: DataFrame) -> str:
        """A DataFrame as a relation of the statement's SQL."""
        name = f"{PREFIX}{what}_{next(_names)}"
        self.analyzer.matched[name] = frame
        return f"{{{name}}}"

    def report(self) -> DataFrame:
        """The errors as rows."""
        types = {"line": IntegerType(), "column": IntegerType()}
        schema = StructType([StructField(name, types.get(name, StringType())) for name in REPORT])
        return self.analyzer.spark.createDataFrame([error.row() for error in self.errors], schema)

    def warn(self) -> None:
        """Warn of rules that are refused."""
        if not self.errors:
            return
        named = ", ".join(f"{e.rule} ({e.error_class})" for e in self.errors[:_NAMED])
        more = f" and {len(self.errors) - _NAMED} more" if len(self.errors) > _NAMED else ""
        warn(
            f"{len(self.errors)} of {len(self.call.rules)} rules are refused and do not run: {named}{more}; "
            "pattern_rule_errors with the same arguments says why."
        )


def _not_streamed(query: PatternQuery, why: str) -> PatternAnalysisError:
    """CEP_STREAMING_UNSUPPORTED of a rule that cannot be one of a set's; the caller notes it."""
    return PatternAnalysisError(
        "CEP_STREAMING_UNSUPPORTED",
        f"Over a stream all rules of a set run in one operator, which this one cannot: {why}.",
        text=query.text or None, position=query.start,
        hint="let a stream of its own run it, as a statement with a checkpoint of its own",
    )  # fmt: skip


def of_condition(query: PatternQuery, condition: RowCondition, why: AnalysisException | str) -> PatternAnalysisError:
    """What Spark has against a rule's condition, at its place; the caller notes it."""
    if isinstance(why, str):
        return not_boolean(why, query.text, condition.position)
    return located(query, why, condition.position)
