"""What the state of a stream belongs to: the parts of a query's meaning, by name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

#: Begins the digest of a part that is too long to be kept, or to be shown.
_DIGEST = "#"
#: Begins the name of a part that is a column's type.
COLUMN = "column "
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class StreamMeaning:
    """What a state belongs to.

    ``parts``: by the words that messages have for them; a short one as it is, any other as a :func:`digest`.
    ``first_format``: digests by which states of format 1 may know their query.
    """

    parts: Mapping[str, str]
    first_format: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """The parts as bytes."""
        return json.dumps(dict(self.parts)).encode()

    def differences(self, data: bytes) -> list[str]:
        """What differs from the parts that :meth:`to_bytes` made these bytes of, as clauses of a sentence. Columns that
        only one of them reads are none: what reads them would differ. One of another case is: its texts are others."""
        before: Mapping[str, str] = json.loads(data)
        cased = {n.casefold(): n for n in before}
        names = [n for n in self.parts if n in before or not n.startswith(COLUMN)]
        names += [n for n in before if n not in self.parts and not n.startswith(COLUMN)]
        found = [f"{n} was {cased[n.casefold()]}" for n in self.parts if n not in before and n.casefold() in cased]
        for name in names:
            now, then = self.parts.get(name, "unknown"), before.get(name, "unknown")
            if now != then:
                digests = now.startswith(_DIGEST) or then.startswith(_DIGEST)
                found.append(f"{name} is another" if digests else f"{name} is {now} and was {then}")
        more = len(found) - _MOST_NAMED
        return found if more <= 0 else [*found[:_MOST_NAMED], f"{more} more differ"]


def digest(text: str) -> str:
    """The digest of a part."""
    return _DIGEST + text_digest(text)


def text_digest(text: str) -> str:
    """What a text is known by."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
