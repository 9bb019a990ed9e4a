"""Pages with pictures that need no network, and that are never blank.

Where vl-convert-python is installed a page holds each picture as an image, and Vega's scripts, which put the living
picture (with tooltips) in its place. Without it the scripts are loaded from a CDN, and a sentence stands there until
they are.
"""

from __future__ import annotations

import base64
import functools
import gzip
import html
import json
from collections.abc import Sequence
from typing import Any, Protocol

from sparkcep.pictures.colors import DARK, dark


class Specified(Protocol):
    """A picture: whatever has a Vega-Lite specification."""

    @property
    def spec(self) -> dict[str, Any]:
        """A Vega-Lite 5 specification that holds its own data."""


#: Of Vega-Lite, as vl-convert-python names it.
VERSION = "5.21"
#: What a page loads where vl-convert-python is not there to put it inside.
SCRIPTS = (
    "https://cdn.jsdelivr.net/npm/vega@5.30.0",
    "https://cdn.jsdelivr.net/npm/vega-lite@5.21.0",
    "https://cdn.jsdelivr.net/npm/vega-embed@6.26.0",
)
#: Colours of a page by day and by night.
_DAY = "color-scheme: light; --paper: #ffffff; --ink: #222222; --plan: #f6f6f6"
_NIGHT = "color-scheme: dark; --paper: #1c1e21; --ink: #e4e4e4; --plan: #2a2d31"
#: Pictures shrink as a whole where the page is narrow, as far as they can be read; plans keep their columns. A notebook
#: around the page says by ``data-night`` whether it is dark, whatever the reader's system is.
_STYLE = (
    f":root {{ {_DAY} }} "
    f"@media (prefers-color-scheme: dark) {{ :root:not([data-night=no]) {{ {_NIGHT} }} }} "
    f":root[data-night=yes] {{ {_NIGHT} }} "
    "body { font-family: sans-serif; margin: 16px; background: var(--paper); color: var(--ink) } "
    "pre { font: 13px ui-monospace, 'DejaVu Sans Mono', Menlo, monospace; white-space: pre; overflow-x: auto; "
    "background: var(--plan); padding: 8px } "
    "[id^=picture] { overflow-x: auto } "
    ".vega-embed { max-width: 100% } img, .vega-embed svg { max-width: max(100%, 640px); height: auto } "
    ".missing { background: #fff3cd; color: #222222; padding: 8px }"
)
_MISSING = (
    '<p class="missing">This picture is drawn by scripts from cdn.jsdelivr.net, which could not be loaded. '
    "With <code>pip install 'sparkcep[pictures]'</code> pictures need no network.</p>"
)
#: A browser too old to decompress keeps the image.
_UNPACK = """
const packed = Uint8Array.from(atob(document.getElementById('vega').textContent), c => c.charCodeAt(0));
const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
const script = document.createElement('script');
script.type = 'module';
script.textContent = await new Response(unpacked).text();
document.head.append(script);
"""


#: As SVG, which the page can shrink; in dark colours where the notebook around it is dark, else where the reader's
#: system is, and anew when that changes. A notebook's page may be of another origin, which nothing may look at.
_DRAW = """
const colored = (v, key) => key === 'data' ? v : Array.isArray(v) ? v.map(i => colored(i)) :
  v && typeof v === 'object' ? Object.fromEntries(Object.entries(v).map(([k, i]) => [k, colored(i, k)])) :
  typeof v === 'string' && Object.hasOwn(dark, v) ? dark[v] : v;
const system = window.matchMedia('(prefers-color-scheme: dark)');
let around = null;
try { around = window.parent === window ? null : window.parent.document.body; } catch (e) { around = null; }
const theme = () => !around ? '' :
  around.matches('[data-jp-theme-light=false], .vscode-dark') ? 'yes' :
  around.matches('[data-jp-theme-light=true], .vscode-light') ? 'no' : '';
const mark = () => { document.documentElement.dataset.night = theme(); };
const isNight = () => theme() ? theme() === 'yes' : system.matches;
mark();
window.draw = () => specs.forEach((s, n) =>
  vegaEmbed('#picture' + n, isNight() ? colored(s) : s, {mode: 'vega-lite', renderer: 'svg'}));
const again = () => { mark(); if (window.vegaEmbed) window.draw(); };
system.addEventListener('change', again);
if (around) new MutationObserver(again).observe(around, {attributeFilter: ['data-jp-theme-light', 'class']});
"""


def converter() -> Any:
    """The module vl_convert; None where it is not installed."""
    try:
        import vl_convert
    except ImportError:
        return None
    return vl_convert


def page(title: str, pictures: Sequence[Specified], before: str = "", after: str = "") -> str:
    """An HTML page with pictures.

    Args:
        before, after: HTML around them.
    """
    parts = [f'<div id="picture{n}">{_until_drawn(p)}</div>' for n, p in enumerate(pictures)]
    # A specification holds users' text: nothing in it may end the script.
    # Which Vega-Lite draws it is the page's own matter, so that the schema is left out.
    plain = [{k: v for k, v in p.spec.items() if k != "$schema"} for p in pictures]
    specs = json.dumps(plain).replace("<", "\\u003c")
    draw = f"const specs = {specs}, dark = {json.dumps(DARK)};\n{_DRAW}"
    return f"""<!DOCTYPE html>
<html><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{html.escape(title)}</title>
<style>{_STYLE}</style>
<script>{draw}</script>
</head><body>
{before}
{"".join(parts)}
{after}
{_scripts()}
</body></html>
"""


def _until_drawn(picture: Specified) -> str:
    """What stands in a picture's place until scripts have drawn it, or for good where they cannot."""
    convert = converter()
    if convert is None:
        return _MISSING

    def image(spec: dict[str, Any]) -> str:
        # As an image of its own: identifiers of several would meet within one page.
        svg = convert.vegalite_to_svg(spec, vl_version=VERSION).encode()
        return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"

    return (
        f'<picture><source media="(prefers-color-scheme: dark)" srcset="{image(dark(picture.spec))}">'
        f'<img alt="{html.escape(repr(picture))}" src="{image(picture.spec)}"></picture>'
    )


@functools.cache
def _scripts() -> str:
    """Elements at a page's end that draw its pictures."""
    convert = converter()
    if convert is None:
        loaded = [f'<script src="{src}"></script>' for src in SCRIPTS]
        return "\n".join([*loaded, "<script>window.vegaEmbed && window.draw();</script>"])
    # Its Vega is the newest; of an older Vega-Lite than that needs vega-embed warns in the console.
    known = [v for v in convert.get_vegalite_versions() if int(v.split(".")[0]) >= 6]
    newest = known[-1] if known else VERSION
    code = convert.javascript_bundle("window.vegaEmbed = vegaEmbed; window.draw();", vl_version=newest)
    # A notebook keeps a copy with each picture: a third of the size.
    packed = base64.b64encode(gzip.compress(code.encode(), mtime=0)).decode()
    return f'<script id="vega" type="text/plain">{packed}</script>\n<script type="module">{_UNPACK}</script>'
