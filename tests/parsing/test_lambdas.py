"""Which words of an expression name a parameter of a lambda function."""

from __future__ import annotations

import pytest

from sparkcep.sql.lambdas import find_lambdas, parameters, renamed
from sparkcep.sql.lexicon import tokenize


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("exists(t, t -> t = a)", "exists(t, [t] -> [t] = a)"),
        ("f(x -> x.x + y.x, x)", "f([x] -> [x].x + y.x, x)"),
        ("f((x, i) -> g(x)[i], i)", "f(([x], [i]) -> g([x])[[i]], i)"),
        ("f(x -> g(b, x -> x + y) + x)", "f([x] -> g(b, [x] -> [x] + y) + [x])"),
        ("f(x -> g(b, y -> x + y) + y)", "f([x] -> g(b, [y] -> [x] + [y]) + y)"),
        ("f(x -> x(1) + CAST(x AS x))", "f([x] -> x(1) + CAST([x] AS x))"),
        ("f(date -> date > date '2024-01-01')", "f([date] -> [date] > date '2024-01-01')"),
        ("f(day -> day + INTERVAL 1 day)", "f([day] -> [day] + INTERVAL 1 day)"),
        ("f(day -> timestampdiff(day, day, b))", "f([day] -> timestampdiff(day, [day], b))"),
        ("f(day -> datediff(day, b))", "f([day] -> datediff([day], b))"),
        ("f(year -> extract(year FROM year))", "f([year] -> extract(year FROM [year]))"),
        ("f(`a b` -> `a b` + X, x -> X)", "f([`a b`] -> [`a b`] + X, [x] -> [X])"),
        ("x + f(a)", "x + f(a)"),
    ],
)
def test_parameters(text: str, marked: str) -> None:
    tokens = tokenize(text)
    for k in sorted(parameters(tokens, 0, len(tokens)), reverse=True):
        start, end = tokens[k].start, tokens[k].end
        text = f"{text[:start]}[{text[start:end]}]{text[end:]}"
    assert text == marked


def test_names_that_differ_in_case() -> None:
    tokens = tokenize("f(x -> X + x)")
    assert len(parameters(tokens, 0, len(tokens))) == 3
    assert sorted(parameters(tokens, 0, len(tokens), case_sensitive=True)) == [2, 6]


@pytest.mark.parametrize("text", ["->", "f(->)", "f(x ->", "f() -> 1", "f((x, -> x", "x -> ", ") -> x"])
def test_text_that_is_no_expression(text: str) -> None:
    tokens = tokenize(text)
    for each in find_lambdas(tokens, 0, len(tokens)):
        assert each.low <= each.high <= len(tokens)
    parameters(tokens, 0, len(tokens))


def test_another_name() -> None:
    (token,) = tokenize("`a``{b`")
    assert renamed(token) == "`__cep_p_" + token.text.replace("`", "``").replace("{", "{{") + "`"
