"""How the pages are built: Sphinx with MyST, furo, and descriptions from docstrings; everything is a warning or right.

`nox -s docs` builds them. Nothing is fetched, neither while they are built nor by a reader's browser.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from wink import __version__, errors

project = "wink"
author = "The wink developers"
copyright = author  # noqa: A001  Sphinx wants this name
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build", "examples", "generator"]
nitpicky = True
nitpick_ignore = [("py:class", "wink.spellings.R")]  # a type variable inside of two callables
toc_object_entries = False  # the theme copies all of them into each page
highlight_language = "python"
pygments_style = "default"
pygments_dark_style = "monokai"

html_theme = "furo"
html_title = "wink"
html_copy_source = False
html_show_sphinx = False
html_static_path: list[str] = []
html_theme_options: dict[str, list[str]] = {"footer_icons": []}

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
suppress_warnings = ["ref.python"]  # several packages have a `Store`, and signatures give its name alone
default_role = "code"  # docstrings are written with single backticks


def resolve(app: Sphinx, env: Any, node: Any, contnode: nodes.Node) -> nodes.Node | None:
    """What a type in a signature refers to, where no page describes it under exactly that name.

    Errors are on a page of their own. What is not public, is a type variable, or belongs to Python or to another library is
    shown as it is written, since none of it has a page here. What is public and has no page stays a warning, which fails the build.
    """
    target: str = node.get("reftarget", "")
    name = target.rpartition(".")[2]
    if node.get("refdomain") != "py":
        return None
    if name in errors.__all__ and target in (name, f"wink.errors.{name}"):
        where = app.builder.get_relative_uri(env.current_document.docname, "reference/errors")
        return nodes.reference("", "", contnode, internal=True, refuri=f"{where}#{name.lower()}")
    is_ours = re.match(r"wink(_\w+)?\.", target)
    is_public = is_ours and not any(part.startswith("_") for part in target.split("."))
    return None if is_public else contnode


def as_restructured(*arguments: Any) -> None:
    """Make of a docstring in Markdown what the parser of docstrings reads: fences, and characters that mean something there."""
    lines: list[str] = arguments[-1]
    text = "\n".join(lines)
    text = re.sub(
        r"^( *)```(\w+)\n(.*?)^ *```$",
        lambda fence: f"{fence[1]}.. code-block:: {fence[2]}\n\n{indented(fence[3])}",
        text,
        flags=re.MULTILINE | re.DOTALL,
    )
    # `name`s: what follows a name at once has to be parted from it
    text = re.sub(r"(`[^`]+`)(\w?)", lambda span: f"{span[1]}\\ {span[2]}" if span[2] else span[1], text)
    text = re.sub(r"\*\*?(?=\w+\b(?!\*))", lambda star: star[0].replace("*", r"\*"), text)
    lines[:] = text.splitlines()


def without_nothing(*arguments: Any) -> tuple[str, str] | None:
    """A protocol is not called, so it has no arguments."""
    signature, returns = arguments[-2:]
    return ("", returns) if signature == "(*args, **kwargs)" and arguments[1] == "class" else None


def indented(text: str) -> str:
    """Three spaces in front of each line."""
    return (
        "".join(f"   {line}" if line.strip() else line for line in inspect.cleandoc(text).splitlines(keepends=True))
        + "\n"
    )


def setup(app: Sphinx) -> None:
    """Register them."""
    app.connect("missing-reference", resolve)
    app.connect("autodoc-process-docstring", as_restructured)
    app.connect("autodoc-process-signature", without_nothing)
