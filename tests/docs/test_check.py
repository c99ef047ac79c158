"""What looks at the built pages sees what a reader's browser would trip over."""

from pathlib import Path

import pytest
from docs.check import main, problems

GOOD = '<html><body><h1 id="top">A</h1><a href="b.html#place">b</a><img src="p.svg" alt="A line"></body></html>'
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0L1 1"/></svg>'


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """Two pages and a picture with nothing wrong about them."""
    (tmp_path / "a.html").write_text(GOOD)
    (tmp_path / "b.html").write_text('<p id="place">b</p>')
    (tmp_path / "p.svg").write_text(PICTURE)
    return tmp_path


def test_good_pages_pass(pages: Path) -> None:
    """A check that always complains is switched off."""
    assert main(str(pages)) == 0


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        ("b.html", "<p>b</p>", "a.html links to b.html#place, and there is no such place on that page"),
        ("c.html", '<a href="gone.html">x</a>', "c.html links to gone.html, which is not there"),
        ("c.html", '<script src="https://cdn.example/x.js"></script>', "c.html loads https://cdn.example/x.js, which is not ours"),
        ("c.html", '<link rel="stylesheet" href="//cdn.example/x.css">', "c.html loads //cdn.example/x.css, which is not ours"),
        ("c.html", '<img src="q.png" alt="Q">', "c.html loads q.png, which is not there"),
        ("c.html", '<img src="p.svg">', "c.html: the picture p.svg does not say what it shows"),
        ("p.svg", "<svg", "a.html shows p.svg, which is no XML: unclosed token: line 1, column 0"),
        ("p.svg", PICTURE.replace("<path", '<image href="https://x.example/y.png"/><path'), "a.html shows p.svg, which loads https://x.example/y.png"),
        ("x.css", "@import 'https://fonts.example/f.css';", "x.css loads https://fonts.example/f.css, which is not ours"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(pages: Path, file: str, content: str, problem: str) -> None:
    """With the page and what it wants."""
    (pages / file).write_text(content)

    assert list(problems(pages)) == [problem]


def test_a_directory_without_pages_is_no_success(tmp_path: Path) -> None:
    """A build that made nothing must not pass."""
    assert main(str(tmp_path)) == 1
