"""Files of packages whose data the examples query; the packages themselves need pandas on import."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from sparkcep.errors import SparkCepError


def package_file(package: str, *path: str, missing: str) -> Path:
    """A file below a package's folder.

    Args:
        missing: what to say where the package is not installed.

    Raises:
        SparkCepError: the package is not installed (CEP_DEMO_DATA_MISSING).
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SparkCepError(
            "CEP_DEMO_DATA_MISSING",
            missing,
            hint="pip install 'sparkcep[demo]'",
        )
    return Path(next(iter(spec.submodule_search_locations)), *path)
