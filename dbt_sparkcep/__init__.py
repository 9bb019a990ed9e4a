"""Pattern queries in dbt models.

dbt imports every top-level module whose name begins with ``dbt_``. This one makes models of dbt-spark's ``method:
session`` go through sparkcep, and does nothing to other adapters: what costs time is imported when dbt-spark opens its
first session.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from dbt.plugins.manager import dbtPlugin

#: dbt-spark imports it when a profile says `method: session`, and only then.
SESSION = "dbt.adapters.spark.session"


def prepare() -> None:
    """Make the session that dbt-spark starts understand pattern queries."""
    from sparkcep import progress
    from sparkcep.session.machine.local import prepare_process

    # A profile says session, and the variable where that is: a Connect server has a Java of its own.
    prepare_process(needs_java="SPARK_REMOTE" not in os.environ)
    progress.show()  # an index in a hook takes long, also where dbt writes to a log


class _AfterImport(MetaPathFinder):
    """Finds one module, for which it steps aside, and calls ``prepare`` once that is imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != SESSION:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                run(module)
                prepare()

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


class SparkCep(dbtPlugin):  # type: ignore[misc]
    """Waits for dbt-spark's session module."""

    def initialize(self) -> None:
        if SESSION in sys.modules:
            prepare()
        elif not any(isinstance(finder, _AfterImport) for finder in sys.meta_path):
            sys.meta_path.insert(0, _AfterImport())


plugins = [SparkCep]
