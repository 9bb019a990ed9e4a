"""Patterns of blocks: text to tree and components, and what is refused."""

from __future__ import annotations

import pytest

from sparkcep.errors import PatternParseError
from sparkcep.pattern import render
from sparkcep.query import Component

from .blocks import bind

# pattern, rendered tree, components as key=types with + for Kleene and ! for negated, where they say more
PATTERNS = [
    ("SEQ(Shelf a, ~(Register b), Exit c)", "a !b c", "a=Shelf !b=Register c=Exit"),
    ("Stock S+", "S+", "S+=Stock"),
    ("Stock+ S", "S+", "S+=Stock"),
    ("(a, b+, c)", "a b+ c", "a=a b+=b c=c"),
    ("A a B b C+", "a b C+", "a=A b=B C+=C"),
    ("A | B OR C", "A | B | C", "A=A B=B C=C"),
    ("OR(SEQ(A, B), C | D, E)", "A B | C | D | E", None),
    ("AND(SEQ(A, B), C+)", "AND(A B, C+)", None),
    ("seq(A, sEq(B, C))", "A B C", None),
    ("Seq s", "s", "s=Seq"),
    ("SEQ(A a, NOT B, !C, ¬D, ∼E)", "a !B !C !D !E", None),
    ("(SEQ(A+, B))+", "(A+ B)+", "A+=A B=B"),
    ("((A)+)*", "(A+)*", "A+=A"),
    ("(B|C)+ v[]", "v+", "v+=B|C"),
    ("(B OR C) v", "v", "v=B|C"),
    ("(A+ | B)*", "(A+ | B)*", "A+=A B=B"),
    ("SEQ(A+, NOT SEQ(C, NOT E, D), B)", "A+ !(C !E D) B", "A+=A !C=C !E=E !D=D B=B"),
    ("SEQ(A, !(B+ b), C)", "A !(b+) C", "A=A !b+=B C=C"),
    ("SEQ(A+, B, A, A+, B+)", "A+ B `A#2` `A#3`+ `B#2`+", "A+=A B=B A#2=A A#3+=A B#2+=B"),
    ("SEQ(A a, B A)", "a A", "a=A A=B"),
    ("'Create Fine' f, `Send ``x```+", "f `Send ``x```+", "f=Create Fine Send `x`+=Send `x`"),
    ("A{2,3} a[] B? b C{,2}, D{2,}, E{1}", "a{2,3} b? C{0,2} D{2,} E{1}", "a+=A b=B C+=C D+=D E=E"),
    ("A{{2,3}} a[]", "a{2,3}", "a+=A"),
    ("A a{2} // two\n /* and */ B -- b\n b", "a{2} b", "a+=A b=B"),
    ("<A,B,!C,D,E*,A?>", "A B !C D E* `A#2`?", "A=A B=B !C=C D=D E+=E A#2=A"),
    ("<(B,_),(A,+),(C,!),(D,*),(E,||,[F,G])>", "B A+ !C D* E", "B=B A+=A !C=C D+=D E=E|F|G"),
    ("<'a b'>", "`a b`", "a b=a b"),
]


def component_text(component: Component) -> str:
    marks = "!" * component.negated, "+" * component.kleene
    return f"{marks[0]}{component.key}{marks[1]}={'|'.join(component.types)}"


@pytest.mark.parametrize(("text", "tree", "components"), PATTERNS)
def test_patterns(text: str, tree: str, components: str | None) -> None:
    query = bind(f"FROM r PATTERN {text} RETURN COUNT(*)")
    assert render(query.pattern) == tree
    if components is not None:
        assert " ".join(component_text(c) for c in query.components) == components


def test_variables_of_unnamed_components_share_their_type() -> None:
    query = bind("FROM r PATTERN SEQ(A+, B, A)")
    assert [c.variable for c in query.components] == ["A", "B", "A"]
    assert [c.key for c in query.components if c.variable == "A"] == ["A", "A#2"]


# pattern, error class, text before the place
REFUSED = [
    ("SEQ(A a, B b", "CEP_PATTERN_SYNTAX", "SEQ(A a, B b"),
    ("SEQ(A,)", "CEP_PATTERN_SYNTAX", "SEQ(A,"),
    ("SEQ()", "CEP_PATTERN_SYNTAX", "SEQ("),
    ("()", "CEP_PATTERN_SYNTAX", "("),
    ("A)", "CEP_PATTERN_SYNTAX", "A"),
    ("A || B", "CEP_PATTERN_SYNTAX", "A |"),
    ("A**", "CEP_PATTERN_SYNTAX", "A*"),
    ("A+ a+", "CEP_PATTERN_SYNTAX", "A+ a"),
    ("A+??", "CEP_PATTERN_SYNTAX", "A+?"),
    ("A a[]", "CEP_PATTERN_SYNTAX", "A a"),
    ("A? a[]", "CEP_PATTERN_SYNTAX", "A? a"),
    ("A+ a[1]", "CEP_PATTERN_SYNTAX", "A+ a"),
    ("A 3", "CEP_PATTERN_SYNTAX", "A "),
    ("A{x}", "CEP_PATTERN_SYNTAX", "A{"),
    ("A{3,2}", "CEP_QUANTIFIER_BOUNDS", "A{3,2"),
    ("A{0}", "CEP_QUANTIFIER_BOUNDS", "A{0"),
    ("A{99999999999}", "CEP_PATTERN_SYNTAX", "A{"),
    ("AND(A, B, C)", "CEP_PATTERN_SYNTAX", ""),
    ("AND(A)", "CEP_PATTERN_SYNTAX", ""),
    ("<A,B", "CEP_PATTERN_SYNTAX", "<A,B"),
    ("<>", "CEP_PATTERN_SYNTAX", "<"),
    ("<(A,%)>", "CEP_PATTERN_SYNTAX", "<(A,"),
    ("<(A,||,[B)>", "CEP_PATTERN_SYNTAX", "<(A,||,[B"),
    ("!A", "CEP_NEGATION", ""),
    ("SEQ(A, !!B)", "CEP_PATTERN_SYNTAX", "SEQ(A, !"),
    ("SEQ(A, !(!B))", "CEP_NEGATION", "SEQ(A, "),
    ("SEQ(A, !B*, C)", "CEP_NEGATION", "SEQ(A, "),
    ("SEQ(A, (!B)+, C)", "CEP_NEGATION", "SEQ(A, ("),
    ("SEQ(A, (B | !C), D)", "CEP_NEGATION", "SEQ(A, (B | "),
    ("SEQ(A, B) m", "CEP_VARIABLE_ON_GROUP", "SEQ(A, B) "),
    ("(A a | B b)+ m", "CEP_VARIABLE_ON_GROUP", "(A a | B b)+ "),
    ("SEQ(A a, B a)", "CEP_DUPLICATE_VARIABLE", "SEQ(A a, "),
    ("SEQ(A B, B)", "CEP_DUPLICATE_VARIABLE", "SEQ(A B, "),
    ("WHERE a.x = 1", "CEP_PATTERN_SYNTAX", ""),
    ("(" * 5000 + "A" + ")" * 5000, "CEP_PATTERN_SYNTAX", "(" * 100),
    ("SEQ(" * 5000, "CEP_PATTERN_SYNTAX", "SEQ(" * 100),
    ("!(" * 5000 + "A", "CEP_PATTERN_SYNTAX", "!(" * 100),
]


@pytest.mark.parametrize(("text", "error_class", "before"), REFUSED)
def test_refused_patterns(text: str, error_class: str, before: str) -> None:
    head = "FROM r PATTERN "
    with pytest.raises(PatternParseError, match=f"column {len(head + before) + 1}\\.") as error:
        bind(head + text)
    assert error.value.error_class == error_class


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SEQ(A a, B b) WITIN 5", "did you mean WITHIN?"),
        ("SEQ(A a, B b) RETRUN a.x", "did you mean RETURN?"),
        ("A a WHER a.x = 3", "did you mean WHERE?"),
        (
            "SEQ(A a, B b) m",
            "leave it out; to name the result, put parentheses around the block and the alias after them",
        ),
    ],
)
def test_misspelt_keywords_are_recognised(text: str, hint: str) -> None:
    with pytest.raises(PatternParseError) as error:
        bind(f"FROM r PATTERN {text}")
    assert error.value.hint == hint
