"""
Sphinx's settings.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import version as version_of
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docutils.nodes import Element
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

project = "Headway"
author = "The Headway developers"
project_copyright = "The Headway developers"
release = version = version_of("headway")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build", "figures/*.md"]  # tables that a page includes
source_suffix = {".md": "markdown"}

html_theme = "furo"
html_title = f"Headway {release}"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True}
napoleon_numpy_docstring = False
napoleon_use_ivar = True  # an "Attributes:" section beside the property would describe it twice

# Names that no page of ours describes: the standard library and what the core is built on.  The
# docs build without a network, so there are no inventories to look them up in.
ELSEWHERE = {
    *sys.stdlib_module_names,
    *dir(__builtins__),
    "attrs",
    "numpy",
    "pluggy",
    "rich",
    "structlog",
}
PRIVATE_MODULE = re.compile(r"(?:\._\w+)+(?=\.)")


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, contnode: Element
) -> Element | None:
    """
    Find what an annotation names: a private module's public name, or something of elsewhere.
    """
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    if target.split(".")[0] in ELSEWHERE:
        return contnode
    public = PRIVATE_MODULE.sub("", target)
    if public == target:
        return None
    python: Any = env.get_domain("py")
    kind = "obj" if node["reftype"] == "class" else node["reftype"]
    return python.resolve_xref(env, node["refdoc"], app.builder, kind, public, node, contnode)


def keep_colons(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """
    Undo what napoleon does to a property's "This: that", which it takes for a type.
    """
    del app, name, obj, options
    kinds = [line for line in lines if line.startswith(":type: ")]
    if what == "property" and kinds:
        lines.remove(kinds[0])
        lines[0] = f"{kinds[0].removeprefix(':type: ')}: {lines[0]}"


def no_arguments(
    app: Sphinx, what: str, name: str, obj: object, options: object, signature: str, returns: str
) -> tuple[str, None] | None:
    """
    Leave out what nobody calls: a protocol is derived from, or only looked like.
    """
    del app, name, options, signature, returns
    return ("", None) if what == "class" and getattr(obj, "_is_protocol", False) else None


def setup(app: Sphinx) -> None:
    """
    Called by Sphinx.
    """
    app.connect("missing-reference", resolve)
    app.connect("autodoc-process-docstring", keep_colons, priority=900)
    app.connect("autodoc-process-signature", no_arguments)
