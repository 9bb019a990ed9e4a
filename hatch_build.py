"""What a build adds to the metadata: the project's addresses, and a README whose links work where it is shown alone.

The repository's address is what the release workflow says (SPARKCEP_REPOSITORY, such as https://github.com/owner/name);
a build without it, from a checkout, has no addresses and the README as it is.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

REPOSITORY = "SPARKCEP_REPOSITORY"
#: A link to a file of the repository, or an image.
_RELATIVE = re.compile(r"(!?)\]\((?!https?://|#|mailto:)([^)\s]+)\)")


def absolute(readme: str, repository: str, version: str) -> str:
    """A README whose relative links lead to the repository, as it was at a version."""
    return _RELATIVE.sub(lambda m: f"{m[1]}]({repository}/blob/v{version}/{m[2]})", readme)


def addresses(repository: str, version: str) -> dict[str, str]:
    """What package indexes link to."""
    return {
        "Repository": repository,
        "Documentation": f"{repository}/blob/v{version}/docs/index.md",
        "Changelog": f"{repository}/blob/v{version}/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }


class CustomMetadataHook(MetadataHookInterface):
    """Called by hatchling (``tool.hatch.metadata.hooks.custom``)."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in what is dynamic."""
        root = Path(self.root)
        readme = (root / "README.md").read_text(encoding="utf-8")
        repository = os.environ.get(REPOSITORY, "").rstrip("/")
        if repository:
            found = re.search(r'^__version__ = "(.+)"', (root / "sparkcep" / "version.py").read_text(), re.MULTILINE)
            version = found[1] if found else "0"
            metadata["urls"] = addresses(repository, version)
            readme = absolute(readme, repository, version)
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}
