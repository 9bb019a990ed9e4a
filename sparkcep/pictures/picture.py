"""A picture: a Vega-Lite specification that notebooks show and that can be saved as a page or an image."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from sparkcep.errors import SparkCepError
from sparkcep.pictures.colors import GREY, GRID, PAPER, SERIES, SOFT, TEXT, dark
from sparkcep.pictures.page import VERSION, converter, page

#: JupyterLab, VS Code and most others show version 5 by themselves.
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
MIME = "application/vnd.vegalite.v5+json"
_FONT = "DejaVu Sans, Verdana, sans-serif"
CONFIG = {
    "font": _FONT,
    "view": {"stroke": None},
    "title": {"anchor": "start", "frame": "group", "fontSize": 14, "color": TEXT, "subtitleFontSize": 11,
              "subtitleColor": SOFT, "subtitleFont": _FONT, "offset": 12},
    "axis": {"labelLimit": 320, "titleFontWeight": "normal", "labelColor": TEXT, "titleColor": SOFT, "gridColor": GRID,
             "domainColor": GREY, "tickColor": GREY},
    "legend": {"labelColor": TEXT, "titleColor": SOFT, "labelLimit": 320, "titleFontWeight": "normal"},
    "range": {"category": list(SERIES)},
}  # fmt: skip


class Picture:
    """A Vega-Lite specification (``spec``) that shows itself in notebooks.

    ``altair.Chart.from_dict(picture.spec)`` makes an Altair chart of it.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = {"$schema": SCHEMA, "background": PAPER, "config": CONFIG, **spec}

    def __repr__(self) -> str:
        title = self.spec.get("title", "")
        return f"<Picture: {title['text'] if isinstance(title, dict) else title}>"

    def dark(self) -> Picture:
        """The same picture in dark colours, for a slide. HTML pages follow the reader's system by themselves."""
        return Picture(dark(self.spec))

    def to_html(self) -> str:
        """The picture as an HTML page. :meth:`save` says what the page loads."""
        return page(str(self.spec.get("usermeta", {}).get("name", "sparkcep")), [self])

    def save(self, path: str | Path) -> None:
        """Write the picture to a file. Its ending sets the format: .html, .json (the specification), .png or .svg.

        With vl-convert-python (``pip install 'sparkcep[pictures]'``), an HTML page needs no network. Without it, the
        page loads three Vega scripts from cdn.jsdelivr.net when it is opened, and shows a message until they are
        loaded. Images need vl-convert-python.

        Raises:
            SparkCepError: CEP_PICTURE for any other ending, or for an image without vl-convert-python.
        """
        path = Path(path)
        kind = path.suffix.lower()
        if kind == ".html":
            path.write_text(self.to_html(), encoding="utf-8")
        elif kind == ".json":
            path.write_text(json.dumps(self.spec, indent=1), encoding="utf-8")
        elif kind in (".png", ".svg"):
            convert = converter()
            if convert is None:
                raise SparkCepError(
                    "CEP_PICTURE",
                    f"{kind} needs the package vl-convert-python.",
                    hint="pip install 'sparkcep[pictures]'",
                )
            if kind == ".png":
                path.write_bytes(convert.vegalite_to_png(self.spec, vl_version=VERSION, scale=1.5))
            else:
                path.write_text(convert.vegalite_to_svg(self.spec, vl_version=VERSION), encoding="utf-8")
        else:
            raise SparkCepError("CEP_PICTURE", f"{path.name}: pictures are saved as .html, .json, .png or .svg.")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Vega-Lite for those who can draw it, a frame with a page for those who show HTML only."""
        frame = html.escape(page("sparkcep", [self]))
        height = int(self.spec.get("usermeta", {}).get("height", 400)) + 24
        shown = f'<iframe srcdoc="{frame}" style="width: 100%; height: {height}px; border: 0"></iframe>'
        return {MIME: self.spec, "text/html": shown, "text/plain": repr(self)}
