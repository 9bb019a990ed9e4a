"""Pages in a real browser: headless Chromium that reaches no network."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: apt-get install chromium")
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --proxy-server=127.0.0.1:9 --virtual-time-budget=20000 "
    "--enable-logging=stderr --hide-scrollbars"
).split()


def screenshot(html: str, picture: Path, *, night: bool = False, size: tuple[int, int] = (900, 700)) -> str:
    """The page's elements once its scripts have run; what it looks like is written to a PNG.

    Raises:
        AssertionError: a script failed, or the page asked for something of the network.
    """
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        page.write_text(html, encoding="utf-8")
        scheme = f"--blink-settings=preferredColorScheme={0 if night else 1}"
        base = [CHROMIUM, *_FLAGS, scheme, f"--window-size={size[0]},{size[1]}"]

        def run(what: str, profile: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [*base, f"--user-data-dir={folder}/{profile}", what, page.as_uri()], capture_output=True, text=True,
                check=True, timeout=120,
            )  # fmt: skip

        done = run("--dump-dom", "a")
        run(f"--screenshot={picture}", "b")
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not said, said
    assert not re.findall(r'(?:src|href)="https?://[^"]*"', html)
    assert "net::ERR_" not in done.stderr
    assert picture.stat().st_size > 5000
    return done.stdout
