"""
``headway plugins new``: a package of its own for a part, which works before anything is changed.
"""

from __future__ import annotations

import argparse
import keyword
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from string import Template
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import attrs

from headway.cli._output import answer
from headway.errors import OptionError, UnsafeNameError
from headway.materialize import materialize
from headway.names import check_id
from headway.registry import KINDS, Registry

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_EXAMPLE = """\
Example:
  headway plugins new headway-greedy --kind aggregator

The package has a small part of that kind which works, its tests, which run Headway's own for that
kind, and what pip needs.  Change the part to what you want of it.
"""

_SUFFIXES: Mapping[str, str] = MappingProxyType(
    {"staleness policy": "Policy", "duration estimator": "Estimator"}
)
"""What a class's name ends in, where that is not the kind."""

_FLAGS: Mapping[str, str] = MappingProxyType(
    {"staleness policy": "policy", "duration estimator": "estimator"}
)
"""The flag of ``headway run`` that names a part, where that is not the kind's name."""

_PLAIN = ("README.md", "pyproject.toml")
"""Files that are no Python."""

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


@attrs.frozen(kw_only=True)
class Package:
    """
    How everything in a new package is called.

    Args:
        distribution: What is installed, and the name of its folder.
        kind: One of ``KINDS``.
        requirement: What it needs of Headway.
    """

    distribution: str
    kind: str
    requirement: str

    @property
    def package(self) -> str:
        """
        What Python imports.
        """
        return self.distribution.replace("-", "_")

    @property
    def name(self) -> str:
        """
        What people type to get the part.
        """
        return self.distribution.removeprefix("headway-")

    @property
    def module(self) -> str:
        """
        The module that holds the part, and that of its template.
        """
        return self.kind.replace(" ", "_")

    @property
    def class_name(self) -> str:
        """
        The part's class, such as ``GreedyAggregator``.
        """
        suffix = _SUFFIXES.get(self.kind, self.kind.capitalize())
        words = "".join(word.capitalize() for word in self.name.split("-"))
        return words.removesuffix(suffix) + suffix

    @property
    def trial(self) -> str:
        """
        The command that uses the part.
        """
        if self.kind == "domain":
            return f"headway run {self.name}"
        return f"headway run inflect --{_FLAGS.get(self.kind, self.kind)} {self.name}"


def add_parser(subparsers: Any) -> None:
    """
    Add the command's parser to what argparse's ``add_subparsers`` gave; that has no public type.
    """
    parser = subparsers.add_parser(
        "new",
        help="write a package with a part of your own",
        description="Write a package with a part of your own, which works and is tested.",
        epilog=_EXAMPLE,
    )
    name = "what will be installed, such as headway-greedy; its part is then called greedy"
    parser.add_argument("name", metavar="NAME", help=name)
    kinds = [kind.replace(" ", "-") for kind in KINDS]
    parser.add_argument(
        "--kind",
        metavar="KIND",
        required=True,
        choices=kinds,
        type=_hyphened,
        help=f"what the part is: {', '.join(kinds)}",
    )
    into = "a new or empty folder for the package (default: ./NAME)"
    parser.add_argument("--into", metavar="DIR", help=into)
    parser.set_defaults(run=run)


def _hyphened(kind: str) -> str:
    return "-".join(kind.split())  # the listing writes "staleness policy"


def run(args: argparse.Namespace) -> int:
    """
    Write the package and say what there is and what to do next.

    Returns:
        0; everything else is an error.
    """
    for flag in ("json", "check"):  # of the listing, whose parser lets them stand before "new"
        if getattr(args, flag):
            args.parser.error(f"--{flag}: it is of the listing, headway plugins: leave it out here")
    made = _named(args.name, args.kind.replace("-", " "))
    folder = (
        _folder("NAME", made.distribution) if args.into is None else _folder("--into", args.into)
    )
    files = files_of(made)
    materialize(files, folder)
    answer(sys.stdout, _told(made, folder, files))
    return 0


def files_of(made: Package) -> dict[str, str]:
    """
    The files of a new package by relative path.

    Raises:
        UnsafeNameError: the name of its class means something else in the template.
    """
    from importlib.resources import files

    templates = files("headway").joinpath("_templates")
    part = _read(templates, f"{made.module}.py")
    if re.search(rf"\b{made.class_name}\b", part):
        raise _unsafe(made.distribution, f"would name its class {made.class_name}, which is taken")
    told = {"summary": _summary(part), "test": made.name.replace("-", "_")}
    source, tests = f"src/{made.package}", f"tests/test_{told['test']}.py"
    return {
        **{name: _filled(_read(templates, f"{name}.template"), made, told) for name in _PLAIN},
        f"{source}/__init__.py": f'"""\n{told["summary"]}\n"""\n',
        f"{source}/_plugin.py": _renamed(_read(templates, "_plugin.py"), made),
        f"{source}/{made.module}.py": _renamed(part, made),
        f"{source}/py.typed": "",
        tests: _renamed(_read(templates, "tests", f"{made.module}.py"), made),
    }


def _named(name: str, kind: str) -> Package:
    from headway.registry._entries import running_version
    from headway.registry._values import normalized
    from headway.registry._versions import pinned

    if not name:
        raise _unsafe(name, "is empty")
    if not _NAME.fullmatch(check_id(name)):
        raise _unsafe(name, "ends in neither a letter nor a digit")
    requirement = pinned(running_version())
    made = Package(distribution=normalized(name), kind=kind, requirement=requirement)
    _check_importable(name, made.package)
    if not made.class_name.isidentifier():
        raise _unsafe(name, f"would name its class {made.class_name}, which begins with a digit")
    if made.name in Registry().names(kind):
        raise _unsafe(name, f"would take the name of the built-in {kind} {made.name!r}")
    return made


def _check_importable(name: str, package: str) -> None:
    if not package.isidentifier() or keyword.iskeyword(package):
        raise _unsafe(name, f"cannot be imported: Python takes {package} for something else")
    if package in sys.stdlib_module_names | {"headway", "pytest", "tests"}:
        raise _unsafe(name, f"cannot be imported: there is a package {package} already")


def _unsafe(name: str, reason: str) -> UnsafeNameError:
    return UnsafeNameError(name, reason, "Give another name, such as headway-greedy.")


def _folder(option: str, text: str) -> Path:
    """
    The folder to make, which is none that holds something.
    """
    folder = Path(text)
    if folder.name in {"", ".."}:
        raise OptionError(option, text, "Give the name of a new or empty folder.")
    if not folder.parent.is_dir():
        raise OptionError(option, text, f"There is no folder {folder.parent}: make it first.")
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        what = "The folder of that name is not empty" if folder.is_dir() else "There is a file"
        raise OptionError(option, text, f"{what}: say --into and a folder that is new or empty.")
    return folder


def _read(folder: Traversable, *names: str) -> str:
    for name in names:
        folder = folder.joinpath(name)
    return folder.read_text(encoding="utf-8")


def _summary(part: str) -> str:
    """
    The sentence that a template begins with.
    """
    return part.split('"""', 2)[1].strip()


def _filled(text: str, made: Package, told: Mapping[str, str]) -> str:
    names = ("distribution", "requirement", "kind", "package", "module", "name", "trial")
    return Template(text).substitute({name: getattr(made, name) for name in names}, **told)


def _renamed(text: str, made: Package) -> str:
    """
    A template's text with the names of a new package in the place of the template's own.
    """
    renames = {
        r"headway\._templates\.\w+": f"{made.package}.{made.module}",
        r"\bheadway_aggregators\b": KINDS[made.kind],
        r"Newcomer[A-Za-z]+": made.class_name,
        r"\bnewcomer\b": made.name,
    }
    for pattern, name in renames.items():
        text = re.sub(pattern, name, text)
    # Imports are sorted as if Headway were one's own; now it is a library, and the part one's own.
    text = text.replace("import pytest\n\nfrom headway", "import pytest\nfrom headway")
    return re.sub(rf"(from {made.package}\..*\n)((?:from headway\..*\n)+)", r"\2\n\1", text)


def _told(made: Package, folder: Path, files: Mapping[str, str]) -> str:
    place = quote(str(folder))
    install = quote(f"{folder if folder.is_absolute() else f'./{folder}'}[test]")
    lines = [
        f"{made.kind} {made.name}, in the package {made.distribution}: {place}",
        *(f"  {name}" for name in sorted(files)),
        "try next",
        f"  python -m pip install -e {install}",
        f"  python -m pytest {place}",
        f"  {made.trial}",
    ]
    return "\n".join(lines) + "\n"
