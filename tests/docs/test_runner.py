"""What counts as a difference between a page and what its code gives."""

from __future__ import annotations

import pytest

from docs_tools.pages import Result, differs, steps

PAGE = """Some words.

```sql
SELECT 1 AS a;
```

```text title="A picture"
1
```

| a |
|--:|
| 1 |
| 2 |

```sql
SET x = 1;
```

Words, and a table that is no result:

| key | value |
|---|---|

```sh
sparkcep warmup
```

```python
print(1)
```

```text
1
...
3
```
"""


def test_steps() -> None:
    """A table belongs to the code right above it; a command whose output is not shown is no step."""
    table, alone, text = steps(PAGE)
    assert (table.line, table.table, table.text) == (3, "| a |\n|--:|\n| 1 |\n| 2 |\n", None)
    assert (alone.table, alone.text) == (None, None)
    assert (text.language, text.text) == ("python", "1\n...\n3\n")


@pytest.mark.parametrize(
    ("shown", "ordered", "different"),
    [
        ("| a |\n|---|\n| 1 |\n| 2 |\n", True, False),
        ("| a |\n|---|\n| 2 |\n| 1 |\n", False, False),
        ("| a |\n|---|\n| 2 |\n| 1 |\n", True, True),
        ("| a |\n|---|\n| 1 |\n", False, True),
        ("| a |\n|---|\n| 1 |\n| 2 |\n| 2 |\n", False, True),
        ("| b |\n|---|\n| 1 |\n| 2 |\n", False, True),
    ],
)
def test_tables(shown: str, ordered: bool, different: bool) -> None:
    assert differs(next(steps(PAGE)), Result(shown, ordered)) == different


@pytest.mark.parametrize(
    ("shown", "different"),
    [("1\n2\n2\n3\n", False), ("1\n3\n", False), ("1\n2\n", True), ("2\n3\n", True), ("1\n3\n4\n", True)],
)
def test_texts(shown: str, different: bool) -> None:
    *_, step = steps(PAGE)
    assert differs(step, Result(shown)) == different
