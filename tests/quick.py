"""Settings that make small Spark jobs, many of them, faster; they change no answer."""

from __future__ import annotations

#: A test's JVM is young all its life: what the second compiler would make of its code comes too late. The first alone
#: gets 48 MB for what it compiles, which Spark and its generated classes outgrow: code is thrown away and made again.
JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
#: Of each execution Spark writes the plan for its UI, which is off: a thirteenth of all it does, unless in short.
YOUNG_JVM = {"spark.driver.extraJavaOptions": JVM_OPTIONS, "spark.sql.ui.explainMode": "simple"}
#: Compiling a query takes longer than running it over a few rows. Spark's own listTables needs it.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
QUICK = {**YOUNG_JVM, **INTERPRETED, "spark.sql.adaptive.enabled": "false"}
#: Workers are forked from a process that has loaded what they need; only where Spark starts in the project's folder.
PRELOADED = {"spark.python.daemon.module": "tests.daemon"}
