"""Templates: table functions that stand for a pattern in sparkcep's own SQL, which takes their place in a statement."""

from __future__ import annotations

from collections.abc import Mapping

from sparkcep.sql.templates.allen import ALLEN
from sparkcep.sql.templates.declare import DECLARE
from sparkcep.sql.templates.funnel import FUNNEL
from sparkcep.sql.templates.template import Template

#: All templates by name.
TEMPLATES: Mapping[str, Template] = {t.name: t for t in (*DECLARE, *ALLEN, *FUNNEL)}
