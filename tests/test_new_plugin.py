"""
Tests of ``headway plugins new``: what it writes for every kind works, and what it refuses.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from headway.cli import _parser, main
from headway.registry import KINDS, Registry
from headway.registry._versions import unmet

ROOT = Path(__file__).parent.parent


def folder_of(kind):
    return f"headway-first-{kind.replace(' ', '-')}"


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """
    A folder with a new package of every kind.
    """
    folder = tmp_path_factory.mktemp("packages")
    for kind in KINDS:
        name = folder_of(kind)
        assert main(["plugins", "new", name, "--kind", kind, "--into", str(folder / name)]) == 0
    return folder


def passed(packages, kinds):
    """
    How many of their own tests new packages pass; of the many seeded interleavings, one share.
    """
    (packages / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    sources = [str(packages / folder_of(kind) / "src") for kind in kinds]
    tried = "not test_interleavings or test_interleavings[0]"
    plain = ("-p", "no:cacheprovider", "-p", "no:xdist")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", *plain, "-k", tried, *map(folder_of, kinds)],
        cwd=packages,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "core"), *sources])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    lines = [line for line in done.stdout.splitlines() if line.startswith("PASSED ")]
    return Counter(line.split()[1].partition("/")[0] for line in lines)


@pytest.mark.parametrize("kinds", [["aggregator"], [*KINDS][1:]], ids=["aggregator", "others"])
def test_every_template_keeps_the_contract_of_its_kind(packages, kinds):
    """
    The conformance kit and the template's own tests pass as they are written.
    """
    counts = passed(packages, kinds)

    assert {folder_of(kind) for kind in kinds} == {name for name, n in counts.items() if n > 5}


@pytest.mark.parametrize("command", ["check", "format --check"])
def test_what_is_written_is_tidy(packages, command):
    """
    Ruff finds nothing to say, whatever the names.
    """
    ruff = shutil.which(
        "ruff", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    if ruff is None:
        pytest.skip("needs ruff")
    line = [ruff, *command.split(), "--no-cache", "."]
    done = subprocess.run(line, cwd=packages, capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stdout


def put(site, package):
    """
    Install a package without building it: its source beside the metadata that pip would write.
    """
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (source,) = (package / "src").iterdir()
    shutil.copytree(source, site / source.name)
    info = site / f"{source.name}-{project['version']}.dist-info"
    info.mkdir()
    metadata = ["Metadata-Version: 2.1", f"Name: {project['name']}"]
    metadata.append(f"Version: {project['version']}")
    metadata += [f"Requires-Dist: {one}" for one in project["dependencies"]]
    (info / "METADATA").write_text("\n".join(metadata) + "\n", encoding="utf-8")
    entries = [f"{name} = {value}" for name, value in project["entry-points"]["headway"].items()]
    (info / "entry_points.txt").write_text("\n".join(["[headway]", *entries]), encoding="utf-8")
    importlib.invalidate_caches()
    return project


def test_every_package_is_found_and_its_part_made(packages, site):
    """
    By its entry point, under its name, for the running version; nothing of it is broken.
    """
    from importlib.metadata import version

    projects = {kind: put(site, packages / folder_of(kind)) for kind in KINDS}
    registry = Registry.discover()
    rows = [r for r in registry.listing(check=True) if r.distribution.startswith("headway-first-")]

    assert set(KINDS) == {row.kind for row in rows}
    assert {"ok"} == {row.status for row in rows}
    for kind, project in projects.items():
        name = project["name"].removeprefix("headway-")
        assert registry.create(kind, name) is not None
        assert unmet(project["dependencies"], version("headway")) is None


@pytest.mark.parametrize("kind", KINDS)
def test_the_readme_says_how_to_use_the_part(packages, kind):
    """
    With a command that there is, and the name of the part in its place.
    """
    name = folder_of(kind).removeprefix("headway-")
    text = (packages / folder_of(kind) / "README.md").read_text(encoding="utf-8")
    (line,) = [line.strip() for line in text.splitlines() if line.startswith("    headway run")]
    asked = _parser().parse_args(line.split()[1:])

    assert name in str(vars(asked))
    assert line.split()[-1] == name


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def new(*arguments):
    return main(["plugins", "new", *arguments])


def test_it_says_what_it_wrote_and_what_to_do_next(here, capsys):
    """
    Every file, and three commands; the folder is named after the distribution.
    """
    assert 0 == new("Headway_Greedy", "--kind", "aggregator")
    told = capsys.readouterr()
    files = {p.relative_to(here / "headway-greedy") for p in here.rglob("*") if p.is_file()}

    assert "" == told.err
    assert {
        "README.md",
        "pyproject.toml",
        "src/headway_greedy/__init__.py",
        "src/headway_greedy/_plugin.py",
        "src/headway_greedy/aggregator.py",
        "src/headway_greedy/py.typed",
        "tests/test_greedy.py",
    } == {path.as_posix() for path in files}
    assert [
        "aggregator greedy, in the package headway-greedy: headway-greedy",
        *(f"  {name}" for name in sorted(path.as_posix() for path in files)),
        "try next",
        "  python -m pip install -e './headway-greedy[test]'",
        "  python -m pytest headway-greedy",
        "  headway run inflect --aggregator greedy",
    ] == told.out.splitlines()


def test_no_name_of_the_template_is_left(packages):
    """
    Neither in a file nor in a name of one.
    """
    files = [path for path in packages.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    texts = {path.relative_to(packages): path.read_text(encoding="utf-8") for path in files}

    assert [] == [n for n, t in texts.items() if "ewcomer" in t + str(n) or "_templates" in t]


WRONG_NAMES = {
    "": "'' is empty. Give another name, such as headway-greedy.",
    "a/b": "'a/b' holds something else than letters, digits",
    "headway-": "'headway-' ends in neither a letter nor a digit",
    "3d": "'3d' cannot be imported: Python takes 3d for something else",
    "headway-3d": "would name its class 3dLedger, which begins with a digit",
    "class": "'class' cannot be imported",
    "random": "'random' cannot be imported: there is a package random already",
    "headway": "'headway' cannot be imported: there is a package headway already",
    "headway-memory": "would take the name of the built-in ledger 'memory'",
    "headway-ledger": "would name its class Ledger, which is taken",
}


@pytest.mark.parametrize("name", WRONG_NAMES)
def test_a_name_that_cannot_be_used_is_refused(here, capsys, name):
    """
    With the reason and a remedy; nothing is written.
    """
    assert 2 == new(name, "--kind", "ledger")
    told = capsys.readouterr()

    assert WRONG_NAMES[name] in told.err
    assert [] == list(here.iterdir())


@pytest.mark.parametrize("flag", ["--json", "--check"])
def test_flags_of_the_listing_are_refused(here, capsys, flag):
    """
    They may stand before ``new``, where they would change nothing; nothing is written.
    """
    with pytest.raises(SystemExit) as caught:
        main(["plugins", flag, "new", "headway-x", "--kind", "observer"])

    assert 2 == caught.value.code
    assert f"{flag}: it is of the listing, headway plugins" in capsys.readouterr().err
    assert [] == list(here.iterdir())


def test_an_unknown_kind_gets_a_suggestion(here, capsys):
    """
    As any unknown name does.
    """
    with pytest.raises(SystemExit) as caught:
        new("headway-x", "--kind", "stalenes policy")

    assert 2 == caught.value.code
    assert "There is no such kind. Did you mean 'staleness-policy'?" in capsys.readouterr().err


def test_a_folder_with_something_in_it_is_left_alone(here, capsys):
    """
    Also when nobody named it; an empty one is taken.
    """
    (here / "headway-x").mkdir()
    (here / "full").mkdir()
    (here / "full" / "mine").write_text("kept")

    assert 2 == new("headway-x", "--kind", "observer", "--into", "full")
    assert "--into='full': The folder of that name is not empty" in capsys.readouterr().err
    assert 0 == new("headway-x", "--kind", "observer")
    assert 2 == new("headway-x", "--kind", "observer")
    assert "NAME='headway-x': The folder of that name is not empty" in capsys.readouterr().err
    assert {"full", "headway-x"} == {path.name for path in here.iterdir()}
    assert ["mine"] == [path.name for path in (here / "full").iterdir()]


@pytest.mark.parametrize(
    ("into", "told"),
    [
        ("file", "--into='file': There is a file"),
        ("no/such", "--into='no/such': There is no folder no: make it first."),
        (".", "--into='.': Give the name of a new or empty folder."),
    ],
)
def test_a_folder_that_cannot_be_made_is_refused(here, capsys, into, told):
    """
    Before anything is written.
    """
    (here / "file").write_text("kept")

    assert 2 == new("headway-x", "--kind", "observer", "--into", into)
    assert told in capsys.readouterr().err
    assert ["file"] == [path.name for path in here.iterdir()]
