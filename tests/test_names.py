"""
Which names are refused, each for its own reason, and that nothing is written under one.
"""

from __future__ import annotations

import os
import pickle
import re
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hostile import GOOD_IDS, GOOD_PATHS, IDS, PAIRS, PATHS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway.errors import HeadwayError, StorageError, UnsafeNameError, UsageError
from headway.materialize import materialize
from headway.names import ID_FAULTS, PAIR_FAULTS, PATH_FAULTS, check_id, check_path, check_paths

ROOT = Path(__file__).parent.parent


def label(value) -> str:
    return ascii(value)[:40]


def everything(folder: Path) -> dict[str, object]:
    """
    What stands below a folder: the target of a link, the content of a file, None for a folder.
    """
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = ("link", path.readlink())
        else:
            found[name] = None if path.is_dir() else path.read_bytes()
    return found


def refusal(check, name) -> UnsafeNameError:
    with pytest.raises(UnsafeNameError) as caught:
        check(name)
    return caught.value


def test_the_table_is_long_and_has_every_fault():
    """
    At least 200 rows, no row twice, and none of the reasons is without one.
    """
    rows = [("path", *row) for row in PATHS] + [("pair", *row) for row in PAIRS]
    rows += [("id", *row) for row in IDS]

    assert len(rows) >= 200
    assert len(rows) == len({repr(row) for row in rows})
    assert set(PATH_FAULTS) == {fault for _, fault in PATHS}
    assert set(PAIR_FAULTS) == {fault for _, fault in PAIRS}
    assert set(ID_FAULTS) == {fault for _, fault in IDS}


def test_every_reason_is_its_own():
    """
    So that an error says which rule it is.
    """
    for faults in (PATH_FAULTS, PAIR_FAULTS, ID_FAULTS):
        reasons = [reason for reason, _ in faults.values()]

        assert len(reasons) == len(set(reasons))


@pytest.mark.parametrize(("path", "fault"), PATHS, ids=label)
def test_a_hostile_path_is_refused_for_its_reason(path, fault):
    """
    With the name, the reason and a remedy in the message, alone and among others.
    """
    error = refusal(check_path, path)

    assert PATH_FAULTS[fault] == (error.reason, error.remedy)
    assert str(error).endswith(f" {error.reason}. {error.remedy}")
    assert error.reason == refusal(lambda p: check_paths(["good", p]), path).reason
    assert error.reason == pickle.loads(pickle.dumps(error)).reason


@pytest.mark.parametrize(("paths", "fault"), PAIRS, ids=label)
def test_paths_that_clash_are_refused_for_their_reason(paths, fault):
    """
    In any order, and each alone is good.
    """
    reason, remedy = PAIR_FAULTS[fault]
    for order in (paths, paths[::-1]):
        error = refusal(check_paths, order)

        assert error.reason.startswith(reason)
        assert remedy == error.remedy
    assert set(paths) == {check_path(path) for path in paths}


@pytest.mark.parametrize(("text", "fault"), IDS, ids=label)
def test_a_hostile_id_is_refused_for_its_reason(text, fault):
    """
    Before any ledger sees it.
    """
    error = refusal(check_id, text)

    assert ID_FAULTS[fault] == (error.reason, error.remedy)


def test_good_names_pass():
    """
    Also unusual ones, and all of them together.
    """
    assert list(GOOD_PATHS) == [check_path(path) for path in GOOD_PATHS]
    assert GOOD_PATHS == check_paths(GOOD_PATHS)
    assert list(GOOD_IDS) == [check_id(text) for text in GOOD_IDS]
    assert () == check_paths([])


def test_the_error_is_the_callers_or_a_bad_value():
    """
    A plug-in that gives such a name gave a bad value; a user made a mistake.
    """
    error = refusal(check_path, "../x")

    assert isinstance(error, UsageError)
    assert isinstance(error, ValueError)
    assert "'../x' leaves the folder. Leave .. out." == str(error)


def test_the_page_has_every_reason():
    """
    With the reason as the error gives it.
    """
    page = (ROOT / "docs" / "reference" / "names.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| .*\|$", page, re.MULTILINE)
    reasons = {r for faults in (PATH_FAULTS, PAIR_FAULTS, ID_FAULTS) for r, _ in faults.values()}

    assert set() == {reason.replace("|", r"\|") for reason in reasons} - set(rows)


# --------------------------------------------------------------------------------- materialising


@pytest.fixture
def place():
    """
    A folder with something beside and something to be led to; its own path is short, since the
    longest good one below it must not be too long for the system.
    """
    with TemporaryDirectory() as name:
        place = Path(name)
        (place / "beside.txt").write_text("beside")
        (place / "elsewhere").mkdir()
        (place / "elsewhere" / "kept.txt").write_text("kept")
        yield place


@pytest.mark.parametrize(
    "paths",
    [*((path,) for path, _ in PATHS), *(paths for paths, fault in PAIRS if fault != "twice")],
    ids=label,
)
def test_a_hostile_path_leaves_nothing_anywhere(place, paths):
    """
    Neither in the target nor beside it, and the good files of the set are not written either.
    """
    before = everything(place)
    hashable = [tuple(p) if isinstance(p, list) else p for p in paths]
    with pytest.raises(UnsafeNameError):
        materialize(dict.fromkeys(["good.txt", *hashable], "x"), place / "target")

    assert before == everything(place)


def test_good_files_are_written_as_they_are(place):
    """
    Texts as UTF-8 with their line ends, bytes as bytes; every unusual good name.
    """
    files = {path: f"{path}\r\n" for path in GOOD_PATHS}
    materialize({**files, "bytes": b"\xff\0"}, place / "target")

    want = {**{path: text.encode() for path, text in files.items()}, "bytes": b"\xff\0"}
    assert want == {n: c for n, c in everything(place / "target").items() if c is not None}
    assert {"beside.txt", "elsewhere", "target"} == {path.name for path in place.iterdir()}


def test_the_folder_has_the_users_rights(place):
    """
    It is private only while it is written.
    """
    materialize({"a/b": ""}, place / "target")
    (place / "usual").mkdir()

    modes = {
        path.stat().st_mode for path in (place / "target", place / "target/a", place / "usual")
    }
    assert 1 == len(modes)


@pytest.mark.parametrize(
    ("prepare", "told"),
    [
        (lambda target, place: target.symlink_to(place / "elsewhere"), "a link is there already"),
        (lambda target, place: target.symlink_to("nowhere"), "a link is there already"),
        (lambda target, place: target.symlink_to(target), "a link is there already"),
        (lambda target, place: target.write_text("file"), "a file is there already"),
        (lambda target, place: os.mkfifo(target), "a file is there already"),
        (lambda target, place: (target / "x").mkdir(parents=True), "this folder is not empty"),
    ],
    ids=["link", "dangling", "loop", "file", "pipe", "full"],
)
def test_what_is_there_already_is_left_alone(place, prepare, told):
    """
    A link is not followed, whatever it leads to.
    """
    target = place / "target"
    prepare(target, place)
    names = sorted(path.name for path in place.iterdir())
    with pytest.raises(StorageError, match=told) as caught:
        materialize({"kept.txt": "overwritten"}, target)

    assert str(target) == caught.value.path
    assert names == sorted(path.name for path in place.iterdir())
    assert "kept" == (place / "elsewhere" / "kept.txt").read_text()


def test_an_empty_folder_is_replaced_and_nothing_else(place):
    """
    With the same call a second time it is full.
    """
    (place / "target").mkdir()
    materialize({"a": "1"}, place / "target")
    with pytest.raises(StorageError, match="not empty"):
        materialize({"b": "2"}, place / "target")

    assert {"a": b"1"} == everything(place / "target")


def test_the_way_to_the_target_may_lead_through_a_link(place):
    """
    Where it is to stand is the caller's own choice.
    """
    (place / "way").symlink_to("elsewhere")
    materialize({"a": "1"}, place / "way" / "target")

    assert {"a": b"1"} == everything(place / "elsewhere" / "target")


@pytest.mark.parametrize("moment", ["tree", "a", "b.txt", "rename"])
def test_a_link_that_is_put_in_the_way_meanwhile_is_not_followed(place, monkeypatch, moment):
    """
    At any moment: the folder that is being written, one below it, a file, the target.
    """
    outside = place / "elsewhere"

    def attack(name, *, dir_fd=None):
        if dir_fd is not None and Path(name).name == moment:
            os.symlink(outside, name, dir_fd=dir_fd)

    def swapping(call):
        def made(name, *arguments, **more):
            attack(name, dir_fd=more.get("dir_fd"))
            return call(name, *arguments, **more)

        return made

    def renaming(*arguments, **more):
        (place / "target").symlink_to(outside)
        return rename(*arguments, **more)

    rename = os.rename
    if moment == "rename":
        monkeypatch.setattr(os, "rename", renaming)
    elif moment == "b.txt":
        monkeypatch.setattr(os, "open", swapping(os.open))
    else:
        monkeypatch.setattr(os, "mkdir", swapping(os.mkdir))
    with pytest.raises(StorageError):
        materialize({"a/b.txt": "x", "kept.txt": "x"}, place / "target")
    monkeypatch.undo()

    assert {"kept.txt": b"kept"} == everything(outside)
    assert [] == [path.name for path in place.iterdir() if path.name.startswith(".headway")]


FULL = """
import sys
from headway.materialize import materialize

materialize({"a/small": "x", "a/big": "x" * 100_000}, sys.argv[1])
"""


def test_a_full_disk_leaves_nothing(place):
    """
    The first file was written already; the error names the one that was not, and what to do.
    """
    before = everything(place)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            FULL,
            place / "target",
        ],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert 1 == done.returncode
    assert re.search(r"StorageError: .*big: File too large\. .*make room", done.stderr)
    assert before == everything(place)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_named(place):
    """
    With what to do.
    """
    place.chmod(0o500)
    try:
        with pytest.raises(StorageError, match="give a folder that can be written to"):
            materialize({"a": ""}, place / "target")
    finally:
        place.chmod(0o700)


@pytest.mark.parametrize(
    ("files", "target", "error", "told"),
    [
        ({"a": "\ud800"}, "target", StorageError, "its text is no valid Unicode at 0"),
        ({"a": 1}, "target", TypeError, "something of type int"),
        ({"a": ""}, "no/target", StorageError, "Make the folder that is to hold it first"),
        ({"a": ""}, "beside.txt/target", StorageError, "Not a directory"),
        ({"a": ""}, "elsewhere/..", StorageError, "names no new folder"),
        ({"a": ""}, "x" * 300, StorageError, "File name too long"),
    ],
)
def test_what_cannot_be_written_says_why(place, files, target, error, told):
    """
    And leaves nothing.
    """
    before = everything(place)
    with pytest.raises(error, match=told):
        materialize(files, place / target)

    assert before == everything(place)


parts = st.text(
    alphabet=st.one_of(
        st.sampled_from("aAbB.-_ ~$\u00e9\u0301\u00df\u0130\u200d:\\"), st.characters()
    ),
    min_size=1,
    max_size=6,
)
paths = st.lists(parts, min_size=1, max_size=3).map("/".join)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.dictionaries(paths, st.one_of(st.binary(max_size=20), st.text(max_size=20)), max_size=6))
def test_what_is_accepted_can_be_written_and_read_back(tmp_path_factory, files):
    """
    Any set of names: it is refused with a reason and nothing is written, or it comes back equal.
    """
    folder = tmp_path_factory.mktemp("any")
    try:
        check_paths(files)
    except UnsafeNameError:
        with pytest.raises(HeadwayError):
            materialize(files, folder / "target")

        assert [] == list(folder.iterdir())
        return
    encoded = {}
    for name, content in files.items():
        try:
            encoded[name] = content if isinstance(content, bytes) else content.encode()
        except UnicodeEncodeError:
            return
    materialize(files, folder / "target")

    found = everything(folder / "target")
    assert encoded == {name: content for name, content in found.items() if content is not None}
