"""
The house rules that a machine can check and that no other tool checks.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PURE = ("contracts", "machine", "buffer", "gate", "merger", "backpressure")

# Modules that may call time.sleep, each with its reason.
MAY_SLEEP: dict[str, str] = {}

# Spelled so that this file does not match itself.
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:wor[k]|roo[t]|hom[e]|User[s]|tm[p])/\w")
INDEX_ADDRESS = re.compile(
    r"https?://\S+/simpl[e]\b|pypi\.or[g]|pythonhosted\.or[g]|index-ur[l]|find-link[s]|trusted-hos[t]"
)
LOCK_FILE = re.compile(r"(^|[./-])lock(\.json)?$|^pylock\.|^npm-shrinkwrap|^package-lock")

NOQA = re.compile(r"#\s*noqa\b(?P<rest>.*)")
TYPE_IGNORE = re.compile(r"#\s*(?:type|pyright):\s*ignore\b(?P<rest>.*)")


@cache
def tracked() -> tuple[Path, ...]:
    """
    Every file of the checkout that git does not ignore, tracked already or not yet; somebody's
    virtual environment is none of the project's.
    """
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs git and a checkout: it looks at the tracked files")
    names = done.stdout.decode().split("\0")
    files = [p for name in names if name and (p := ROOT / name).is_file()]
    foreign = {cfg.parent for cfg in files if cfg.name == "pyvenv.cfg"}
    return tuple(p for p in files if foreign.isdisjoint(p.parents))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def python_files() -> list[Path]:
    return [path for path in tracked() if path.suffix == ".py"]


def modules() -> list[Path]:
    """
    What is shipped: the core's modules and the plug-ins'.
    """
    return [p for p in python_files() if re.match(r"core/|plugins/[^/]+/src/", name_of(p))]


def comments(path: Path) -> list[tuple[int, str]]:
    text = path.read_text(encoding="utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [(t.start[0], t.string) for t in tokens if t.type == tokenize.COMMENT]


def texts() -> list[tuple[str, str]]:
    found = []
    for path in tracked():
        try:
            found.append((name_of(path), path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue  # not text
    return found


def test_modules_are_short():
    """
    No module has more than 600 lines.
    """
    lengths = {name_of(p): len(p.read_text(encoding="utf-8").splitlines()) for p in modules()}

    assert {} == {name: lines for name, lines in lengths.items() if lines > 600}


def test_functions_are_short():
    """
    No function has more than 70 lines.
    """
    long = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > 70:
                    long.append(f"{name_of(path)}:{node.lineno} {node.name}: {lines}")

    assert [] == long


def sleeps(tree: ast.AST) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            found = any(alias.name == "sleep" for alias in node.names)
        else:
            found = isinstance(node, ast.Attribute) and ast.unparse(node) == "time.sleep"
        if found:
            return True
    return False


def test_the_core_does_not_sleep():
    """
    Waiting is on a condition, never a sleep; an exception is listed with its reason.
    """
    core = [path for path in modules() if name_of(path).startswith("core/")]
    sleepers = {name_of(p) for p in core if sleeps(ast.parse(p.read_text(encoding="utf-8")))}

    assert set(MAY_SLEEP) == sleepers


WAITS = {"acquire", "get", "join", "put", "select", "sleep", "wait", "wait_for"}


def polls(call: ast.Call) -> bool:
    """
    Whether this waits for a number of seconds that stands in the code; 0 only gives way.
    """
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in WAITS:
        return False
    given = [*call.args, *(more.value for more in call.keywords if more.arg == "timeout")]
    return any(
        isinstance(a, ast.Constant) and type(a.value) in (int, float) and a.value for a in given
    )


def test_drivers_do_not_poll():
    """
    They wait until somebody wakes them, or for what the machine says; never for a while.
    """
    drivers = [path for path in modules() if name_of(path).startswith("core/headway/drivers/")]
    calls = [
        f"{name_of(path)}:{node.lineno} {ast.unparse(node)}"
        for path in drivers
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and polls(node)
    ]

    assert drivers
    assert [] == calls
    assert polls(ast.parse("event.wait(timeout=0.05)", mode="eval").body)
    assert not polls(ast.parse("asyncio.sleep(0)", mode="eval").body)


def test_pure_modules_use_no_global_random_numbers():
    """
    Where nothing may depend on the order of calls, ``random`` is only good for ``random.Random``.
    """
    wrong = []
    for path in modules():
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[:2] != ("core", "headway") or parts[2] not in PURE:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            spelled = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
            if re.fullmatch(r"random\.(?!Random$)\w+", spelled):
                wrong.append(f"{name_of(path)}:{node.lineno} {spelled}")

    assert [] == wrong


def test_every_protocol_that_is_asked_for_asks_the_object():
    """
    By itself, ``isinstance`` looks for what a protocol names in another way from Python 3.12 on.
    """
    wrong = [
        f"{name_of(path)}:{node.lineno}"
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        and "runtime_checkable" in map(ast.unparse, node.decorator_list)
        and "metaclass=Structural" not in map(ast.unparse, node.keywords)
    ]

    assert [] == wrong


def test_test_file_names_are_unique():
    """
    Two test files of one name would be one module to some tools.
    """
    names = Counter(p.name for p in python_files() if p.name.startswith("test_"))

    assert {} == {name: count for name, count in names.items() if count > 1}


@pytest.mark.parametrize("pattern", [MACHINE_PATH, INDEX_ADDRESS], ids=["paths", "indexes"])
def test_no_file_records_where_it_was_made(pattern):
    """
    No tracked file holds a path of somebody's machine or the address of a package index.
    """
    found = [
        f"{name}:{number}: {line.strip()[:120]}"
        for name, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]

    assert [] == found


def test_there_is_no_lock_file():
    """
    Dependencies are ranges; a lock file would record an index.
    """
    assert [] == [name_of(path) for path in tracked() if LOCK_FILE.search(path.name)]


@pytest.mark.parametrize("pattern", [NOQA, TYPE_IGNORE], ids=["noqa", "type-ignore"])
def test_every_exception_to_a_rule_has_a_code_and_a_reason(pattern):
    """
    ``noqa: X000 - why`` and ``type: ignore[code]  # why``: the code and the why are both there.
    """
    wrong = []
    for path in python_files():
        for line, comment in comments(path):
            match = pattern.search(comment)
            if match and not re.match(r":?\s*\[?[\w, -]+?\]?\s*(?:-|#)\s*\w.{3,}", match["rest"]):
                wrong.append(f"{name_of(path)}:{line} {comment}")

    assert [] == wrong


def test_every_ignored_ruff_rule_has_a_reason():
    """
    Each rule that pyproject.toml ignores stands on a line of its own, with its reason beside it.
    """
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lint = tomllib.loads(text)["tool"]["ruff"]["lint"]
    ignored = set(lint["ignore"]).union(*lint["per-file-ignores"].values())
    section = text[text.index("[tool.ruff.lint]") : text.index("[tool.mypy]")]

    bare = [
        line.strip()
        for line in section.splitlines()
        if any(f'"{code}"' in line for code in ignored) and not re.search(r"#\s*\w.{3,}", line)
    ]

    assert [] == bare


def test_requirements_are_relative():
    """
    Both requirements files install what is in this checkout and name nothing else.
    """
    lines = [
        line
        for name in ("requirements.txt", "requirements-dev.txt")
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines()
    ]

    assert [] == [
        line for line in lines if not re.fullmatch(r"(-e )?\.(\[\w+\]|/plugins/[\w-]+)", line)
    ]


def test_changelog_fragments_are_named_well():
    """
    A fragment is ``<issue>.<type>.md`` or ``+<words>.<type>.md``; towncrier passes over others.
    """
    pattern = re.compile(r"(\d+|\+[\w-]+)\.(added|changed|deprecated|removed|fixed)(\.\d+)?\.md")
    fragments = [p.name for p in tracked() if name_of(p).startswith("changelog.d/")]

    assert [] == [n for n in fragments if n != "README.md" and not pattern.fullmatch(n)]
