"""Pattern queries in dbt models.

dbt imports every top-level module whose name begins with ``dbt_``. This one makes models of dbt-spark's ``method:
session`` go through sparkcep, brings the materialization ``pattern_table``, and does nothing to other adapters: what
costs time is imported when dbt-spark opens its first session.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from dbt.plugins.manager import dbtPlugin

#: dbt imports it when a profile says `type: spark`.
ADAPTER = "dbt.adapters.spark"
#: dbt-spark imports it when a profile says `method: session`, and only then.
SESSION = "dbt.adapters.spark.session"
#: The adapter whose macros are ours: dbt takes macros from adapters that an adapter depends on.
OWN = "sparkcep"


def prepare() -> None:
    """Make the session that dbt-spark starts understand pattern queries."""
    from sparkcep import progress
    from sparkcep.session.machine.local import prepare_process

    # A profile says session, and the variable where that is: a Connect server has a Java of its own.
    prepare_process(needs_java="SPARK_REMOTE" not in os.environ)
    progress.show()  # an index in a hook takes long, also where dbt writes to a log


def bring_macros() -> None:
    """Have dbt-spark depend on an adapter that has nothing but our macros."""
    from dbt.adapters.base import AdapterPlugin
    from dbt.adapters.factory import FACTORY

    spark = sys.modules[ADAPTER]
    if OWN in spark.Plugin.dependencies:
        return
    adapter = type("SparkCepAdapter", (spark.SparkAdapter,), {"type": classmethod(lambda _: OWN)})
    module = ModuleType(f"dbt.adapters.{OWN}")
    folder = str(Path(__file__).parent / "include")
    module.Plugin = AdapterPlugin(adapter, spark.SparkCredentials, folder, project_name=__name__)  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    spark.Plugin.dependencies.append(OWN)
    if "spark" in FACTORY.plugins:  # dbt has read the profile already
        FACTORY.load_plugin(OWN)


class _AfterImport(MetaPathFinder):
    """Finds one module, for which it steps aside, and does something once that is imported."""

    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self.name = name
        self.action = action

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                run(module)
                self.action()

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


class SparkCep(dbtPlugin):  # type: ignore[misc]
    """Waits for dbt-spark's modules."""

    def initialize(self) -> None:
        waiting = {finder.name for finder in sys.meta_path if isinstance(finder, _AfterImport)}
        for name, action in ((ADAPTER, bring_macros), (SESSION, prepare)):
            if name in sys.modules:
                action()
            elif name not in waiting:
                sys.meta_path.insert(0, _AfterImport(name, action))


plugins = [SparkCep]
