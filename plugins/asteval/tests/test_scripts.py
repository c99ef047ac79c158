"""What scripts can say, and that it means what it means in Python."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wink.filesystem import InMemoryFilesystem

from .conftest import Agent


def in_python(code: str) -> Any:
    """What Python itself makes of a script's last line."""
    *statements, last = code.split("\n")
    names: dict[str, Any] = {}
    exec("\n".join(statements), names)
    return eval(last, names)


SCRIPTS = [
    "1 + 2 * 3",
    "'%s-%05.2f' % ('a', 3.14159)",
    "f'{3.14159:.{1+1}f} {[1]!r:>5}'",
    "'{0} {x[0]:>3} {0!r}'.format('a', x=[7])",
    "'{a}'.format_map({'a': 1})",
    "[x * y for x in range(4) if x for y in (1, 2)]",
    "{k: v for k, v in zip('ab', range(2))}, {c for c in 'aaa'}",
    "sum(x * x for x in range(10))",
    "x = 1\n[x for x in range(3)], x",
    "a, *b, c = range(5)\na, b, c",
    "[*range(2), *'ab'], {**{'a': 1}, 'b': 2}, (lambda *a, **k: (a, k))(*[1], **{'z': 2})",
    "1 < 2 < 3, 1 < 3 < 2, not 0, 0 or 'x', 1 and [], None is None, 2 in [1, 2]",
    "a = b = []\na += [1]\nb",
    "d = {'n': [1]}\nd['n'][0] += 5\nd",
    "i = 0\nwhile True:\n    i += 1\n    if i % 2: continue\n    if i > 6: break\nelse:\n    i = -1\ni",
    "def f(n):\n    while True:\n        for i in range(3):\n            if i == 1: return n, i\nf(7)",
    "def f(n): return 1 if n < 2 else n * f(n - 1)\nf(20)",
    "def make(n):\n    def add(x): return x + n\n    return add\nmake(3)(4)",
    "def f(a, /, b=2, *rest, c, d=4, **more): return a, b, rest, c, d, more\nf(1, 2, 3, c=5, e=6)",
    "n = 0\ndef count():\n    global n\n    n += 1\n    return n\ncount() + count(), n",
    "def outer():\n    n = 0\n    def inner():\n        nonlocal n\n        n += 1\n        return n\n    return inner() + inner(), n\nouter()",
    "def twice(f): return lambda x: f(f(x))\n@twice\ndef add(x): return x + 1\nadd(1)",
    "try:\n    1 / 0\nexcept (ValueError, ZeroDivisionError) as error:\n    found = str(error)\nelse:\n    found = 'none'\nfinally:\n    end = 1\nfound, end",
    "def f():\n    try:\n        return 1\n    finally:\n        out.append(2)\nout = []\nf(), out",
    "def f():\n    try: raise KeyError('k')\n    except LookupError as e: raise ValueError('v') from e\ntry: f()\nexcept ValueError as e: found = repr(e)\nfound",
    "seen = []\nlazy = (seen.append(x) or x for x in range(5))\nnext(lazy), seen, list(lazy), seen, sum(x for x in lazy)",
    "any((hit := x) > 2 for x in [1, 3, 5]), hit",
    "import math, json as j\nfrom collections import Counter\nmath.floor(2.5), j.loads('[1]'), Counter('aab').most_common(1)",
    "import re\nre.sub(r'(\\d+)', lambda m: str(int(m.group(1)) * 2), 'a1b22')",
    "import itertools, functools\nlist(itertools.accumulate([1, 2, 3])), functools.reduce(lambda a, b: a * b, [1, 2, 3])",
    "from datetime import datetime\ndatetime.strptime('2024-02-03', '%Y-%m-%d').isoformat()",
    "from decimal import Decimal\nstr(Decimal('0.1') + Decimal('0.2'))",
    "sorted(['b', 'A', 'c'], key=lambda s: s.lower(), reverse=True), max([1, 5, 2]), pow(2, 10, 1000), divmod(7, 2)",
    "'é\\N{BULLET}'.encode('utf-16-le'), '√'.encode('utf-8'), b'\\xe9'.decode('latin-1')",
    "type(1) is int, isinstance('a', str), getattr([1], 'count')(1), hasattr([], 'nope')",
    "x: int = 3\ndel x\nx = [1, 2, 3]\ndel x[0]\nx",
    "assert True, 'no'\nx = [[1, 2], [3, 4]]\nx[1][::-1], x[0][-1], [row[0] for row in x]",
    "10 ** 300, -7 // 2, -7 % 3, 1e308 * 10, 0.1 + 0.2, 1j * 1j, ~5, 6 ^ 3, 1 << 10",
]


@pytest.mark.parametrize("code", SCRIPTS)
def test_a_script_means_what_it_means_in_python(agent: Agent, code: str) -> None:
    """A model writes Python, and must not have to know where an interpreter of its own deviates."""
    assert agent.value(code) == repr(in_python(code))


NUMBERS = st.integers(-1000, 1000) | st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 3))


def _operations(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(two, st.sampled_from(["+", "-", "*", "/", "//", "%", "<", "==", "and", "or"])).map(
            lambda one: f"({one[0][0]} {one[1]} {one[0][1]})"
        ),
        inner.map(lambda one: f"(-{one})"),
        st.tuples(inner, inner, inner).map(lambda one: f"({one[0]} if {one[1]} else {one[2]})"),
    )


ARITHMETIC = st.recursive(NUMBERS.map(lambda number: f"({number!r})"), _operations, max_leaves=12)
LISTS = st.lists(NUMBERS, max_size=6).flatmap(
    lambda values: st.sampled_from(
        [
            f"[x * 2 for x in {values!r} if x > 0]",
            f"sorted({values!r}, reverse=True)[:3]",
            f"{values!r}[::2] + {values!r}[1:]",
            f"sum({values!r}), len({values!r}), max({values!r} + [0])",
            f"{{x: i for i, x in enumerate({values!r})}}",
            f"list(zip({values!r}, map(abs, {values!r})))",
        ]
    )
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ARITHMETIC | LISTS, min_size=1, max_size=20))
def test_expressions_have_pythons_values(expressions: list[str]) -> None:
    """Each expression gives what Python's own `eval` gives, or fails with the same kind of error."""
    code = "found = []\n" + "".join(
        f"try:\n    found.append(repr(({one})))\nexcept Exception as error:\n    found.append(str(error))\n"
        for one in expressions
    )
    expected: list[str] = []
    for one in expressions:
        try:
            expected.append(repr(eval(one)))
        except Exception as error:
            expected.append(str(error))

    result = Agent(InMemoryFilesystem()).value(code + "'\\n'.join(found)", globals={})

    assert result is not None
    shown = repr("\n".join(expected))
    assert result == shown or "characters left out" in result


def test_statements_without_a_last_expression_have_no_value(agent: Agent) -> None:
    """There is nothing to show then."""
    assert agent.value("x = 3") is None


def test_printed_text_comes_apart_from_the_value(agent: Agent) -> None:
    """A model reads both, and must be able to tell them apart."""
    reply = agent.call("print('half', 'way', sep='-', end='!')\n6 * 7")

    assert reply.text == "Evaluated.\n\nvalue: 42\nstdout:\nhalf-way!"


def test_globals_go_in_and_come_out(agent: Agent) -> None:
    """What a script defined is there for the next call to be given; what JSON cannot hold is shown."""
    result = agent.result(
        "double = [x * 2 for x in numbers]\nbad = 0.0 / 1 * float('nan')\nbig = 2 ** 70\ndef f(): pass\nimport json",
        globals={"numbers": [1, 2], "who": {"name": "é"}},
    )

    assert result.globals == {
        "numbers": [1, 2],
        "who": {"name": "é"},
        "double": [2, 4],
        "bad": "!repr:nan",
        "big": f"!repr:{2**70}",
    }


def test_nothing_is_kept_between_calls(agent: Agent) -> None:
    """Each script has a process of its own."""
    agent.result("x = 3")

    assert "NameError: name 'x' is not defined" in agent.error("x")


def test_an_error_shows_the_lines_that_it_came_through(agent: Agent) -> None:
    """A model fixes what it can find."""
    reply = agent.call("def half(x):\n    return 1 / x\n\nprint('start')\nhalf(0)")

    assert reply.text == (
        "The code failed with ZeroDivisionError. Nothing was written.\n\n"
        "stdout:\nstart\n"
        "stderr:\n"
        "Traceback (most recent call last):\n"
        "  line 5, in <script>\n"
        "    half(0)\n"
        "  line 2, in half\n"
        "    return 1 / x\n"
        "ZeroDivisionError: division by zero"
    )


def test_an_error_that_was_handled_leaves_no_line_behind(agent: Agent) -> None:
    """The next error has a traceback of its own."""
    told = agent.error("def f(): return 1 / 0\ntry:\n    f()\nexcept ZeroDivisionError:\n    pass\n[][1]")

    assert "line 6" in told
    assert "in f" not in told


def test_a_syntax_error_points_at_the_place(agent: Agent) -> None:
    """With the line, as Python does."""
    told = agent.error("x = 1\ny = (")

    assert 'File "<script>", line 2' in told
    assert "'(' was never closed" in told


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("class A: pass", "ClassDef is not supported"),
        ("with 3: pass", "With is not supported"),
        ("async def f(): pass", "AsyncFunctionDef is not supported"),
        ("def f(): yield 1\nf()", "Yield is not supported"),
        ("import os", "there is no module 'os' here; these can be imported: base64"),
        ("from os import path", "there is no module 'os' here"),
        ("import os.path", "there is no module 'os.path' here"),
        ("return 3", "SyntaxError: 'return' outside"),
        ("break", "SyntaxError: 'break' outside"),
        ("def f(a): pass\nf()", "TypeError: f() missing the argument 'a'"),
        ("(lambda a: a)(1, 2)", "TypeError: <lambda>() takes 1 positional arguments but 2 were given"),
        ("raise SystemExit(3)", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("a, b = 1, 2, 3", "too many values to unpack (expected 2, got 3)"),
        ("'abc'.nope", "has no attribute 'nope'"),
        ("x = 3\nx.real = 2", "cannot be set here"),
        ("\x00", "null bytes"),
        ("'\\ud800' 3", "SyntaxError"),
    ],
)
def test_what_cannot_be_done_says_so(agent: Agent, code: str, told: str) -> None:
    """One clear line, from which a model can go on."""
    assert told in agent.error(code)


def test_lone_surrogates_do_not_get_into_a_request(agent: Agent) -> None:
    """No provider takes them."""
    result = agent.result("s = '\\udcff'\nprint(s)\ns")

    assert (result.value_repr, result.stdout, result.globals) == ("'\\udcff'", "\\udcff\n", {"s": "!repr:'\\udcff'"})


def test_code_with_a_lone_surrogate_fails_cleanly(agent: Agent) -> None:
    """JSON can carry what Python's parser cannot read."""
    assert "SyntaxError" in agent.error("x = '\udcff'") or "Unicode" in agent.error("x = '\udcff'")


@pytest.mark.parametrize("name", ["a b", "", "__x__", "reads", "1x"])
def test_names_of_globals_are_checked(agent: Agent, name: str) -> None:
    """A name that no code can use is a mistake."""
    assert "cannot be used as a name" in agent.error("1", globals={name: 1})


@pytest.mark.parametrize("code", ["", "  \n\t"])
def test_empty_code_is_refused(agent: Agent, code: str) -> None:
    """There is nothing to evaluate."""
    assert agent.error(code) == "code is empty; give an expression or a script"


def test_long_code_is_refused(agent: Agent) -> None:
    """A script is small."""
    assert "20,001 characters; 20,000 are allowed" in agent.error("#" * 20_001)


def test_recursion_is_deep_and_bounded(agent: Agent) -> None:
    """Deep enough for any sane function, and never the end of the process."""
    assert agent.value("def down(n): return 0 if n == 0 else 1 + down(n - 1)\ndown(1500)") == "1500"
    assert "RecursionError" in agent.error("def f(): return f()\nf()")
    assert "RecursionError" in agent.error("x = []\nfor i in range(100000): x = [x]\nstr(x)")
