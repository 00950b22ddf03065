"""
Tests of ``FileTree``: folders on disk, and paths that stay inside them.
"""

from __future__ import annotations

import os

import pytest

from headway import FileTree
from headway.errors import UnsafeNameError, UsageError

UNSAFE = [
    "x" * 256,
    "a/\ud800",
    "/etc/x",
    "C:/x",
    "c:x",
    "..",
    "../x",
    "a/../b",
    "a\\b",
    "",
    "a//b",
    "./a",
    "a/",
    "a\0b",
]


@pytest.mark.parametrize("path", UNSAFE)
def test_no_path_leaves_the_folder(path):
    """
    Neither at the start, nor by a proposal, nor by a diff.
    """
    with pytest.raises(UnsafeNameError):
        FileTree({path: ""})
    with pytest.raises(UnsafeNameError):
        FileTree().to_diff({path: "x"}, {})
    with pytest.raises(UnsafeNameError):
        FileTree().apply({}, {path: "x"})


def test_a_folder_comes_back_as_it_was(tmp_path):
    """
    Line ends and letters included; what is no part of it is passed over.
    """
    skill = tmp_path / "skill"
    files = {"SKILL.md": "# Skill\r\nGrüße\n", "scripts/run.py": "print(1)\n"}
    FileTree().write(files, skill)
    (skill / "scripts" / "__pycache__").mkdir()
    (skill / "scripts" / "__pycache__" / "run.pyc").write_bytes(b"\xff\x00")

    assert files == FileTree.load(skill).initial()
    assert "# Skill\r\nGrüße\n" == (skill / "SKILL.md").read_bytes().decode()


@pytest.mark.parametrize(
    ("content", "told"), [(b"\xff\xd8", "byte 0 is not UTF-8"), (b"a\0b", "it holds a zero byte")]
)
def test_a_binary_file_is_refused_by_name(tmp_path, content, told):
    """
    With what to do about it; ignoring it is one thing to do.
    """
    (tmp_path / "logo.png").write_bytes(content)

    with pytest.raises(UsageError, match=rf"logo.png: this is no text file, {told}.*ignore"):
        FileTree.load(tmp_path)
    assert {} == FileTree.load(tmp_path, ignore=["*.png"]).initial()


@pytest.mark.parametrize("name", [b"a\xff", b"a\\b", b"C:x"])
def test_a_file_whose_name_no_state_may_hold_is_refused(tmp_path, name):
    """
    By the folder, as every other fault of a folder is; a pattern alone is one, not its letters.
    """
    (tmp_path / "kept").write_text("")
    try:
        (tmp_path / os.fsdecode(name)).write_text("")
    except OSError:
        pytest.skip("this file system has no such names")

    with pytest.raises(UsageError, match=r"Rename it, or ignore its name\.$"):
        FileTree.load(tmp_path)
    assert {"kept": ""} == FileTree.load(tmp_path, ignore="[!k]*").initial()
    assert ("[!k]*",) == FileTree(ignore="[!k]*").ignore


def test_a_link_to_itself_is_refused(tmp_path):
    """
    Like one that leads out.
    """
    (tmp_path / "loop").symlink_to("loop")

    with pytest.raises(UsageError, match="loop: this link leads nowhere"):
        FileTree.load(tmp_path)
    for name in ("loop", "loop/below.txt"):
        with pytest.raises(UsageError, match=f"{name}: this link leads nowhere"):
            FileTree().write({name: "text"}, tmp_path)


@pytest.mark.parametrize("name", ["", "nowhere"])
def test_no_folder_stands_for_the_current_one(name, tmp_path, monkeypatch):
    """
    A variable that was left empty must not read whatever is there.
    """
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError, match="there is no such folder"):
        FileTree.load(name)


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    """
    By name.
    """
    with pytest.raises(UsageError, match="nowhere: there is no such folder"):
        FileTree.load(tmp_path / "nowhere")


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    """
    When it is read, and when something is written behind it; a link within is read.
    """
    inside, secret = tmp_path / "skill", tmp_path / "secret.txt"
    inside.mkdir()
    secret.write_text("key")
    (inside / "own.txt").write_text("own")
    (inside / "within.txt").symlink_to(inside / "own.txt")

    assert {"own.txt": "own", "within.txt": "own"} == FileTree.load(inside).initial()

    (inside / "notes.txt").symlink_to(secret)
    with pytest.raises(UsageError, match=r"notes.txt: this link leads out"):
        FileTree.load(inside)
    with pytest.raises(UsageError, match=r"notes.txt: this link leads out"):
        FileTree().write({"notes.txt": "gone"}, inside)
    (inside / "notes.txt").unlink()
    (inside / "more").symlink_to(tmp_path)
    with pytest.raises(UsageError, match=r"more: this folder is a link"):
        FileTree.load(inside)
    with pytest.raises(UsageError, match=r"leads out"):
        FileTree().write({"more/secret.txt": "gone"}, inside)
    assert "key" == secret.read_text()


def test_a_run_may_receive_a_real_folder_which_is_gone_afterwards():
    """
    Also when the run raises; what was edited in it is the proposal.
    """
    tree = FileTree({"a.txt": "1", "b/c.txt": "2"}, as_folder=True)
    state = tree.initial()
    with tree.rendering(state) as folder:
        assert "2" == (folder / "b" / "c.txt").read_text()
        (folder / "a.txt").write_text("changed")
        (folder / "b" / "c.txt").unlink()
        (folder / "new.txt").write_text("new")
        diff = tree.to_diff(folder, state)

    assert not folder.exists()
    assert {"a.txt": "changed", "new.txt": "new"} == tree.apply(state, diff)
    assert {"a.txt": "1", "b/c.txt": "2"} == state
    with pytest.raises(KeyError), tree.rendering(state) as folder:
        raise KeyError
    assert not folder.exists()


def test_a_folder_as_it_was_is_no_proposal():
    """
    Files of ignored names are none that somebody removed.
    """
    tree = FileTree({"a.txt": "1", "x.pyc": "old"}, as_folder=True)
    with tree.rendering(tree.initial()) as folder:
        assert tree.to_diff(folder, tree.initial()) is None


def test_an_edited_folder_with_a_binary_file_is_a_bad_proposal():
    """
    A value that cannot be used, not a mistake of whoever started the run.
    """
    tree = FileTree(as_folder=True)
    with tree.rendering({}) as folder:
        (folder / "x.bin").write_bytes(b"\xff")
        with pytest.raises(ValueError, match="no text file"):
            tree.to_diff(folder, {})


def test_a_text_is_never_taken_for_a_folder(tmp_path):
    """
    What a model writes must not choose which folder is read.
    """
    (tmp_path / "key.txt").write_text("secret")

    with pytest.raises(TypeError, match="Path of a folder"):
        FileTree().to_diff(str(tmp_path), {})


def test_a_file_in_a_folders_place_no_longer_applies():
    """
    A rebase says so instead of making a state that cannot be written.
    """
    tree = FileTree()
    diff = tree.to_diff({"a/b": "x"}, {})

    assert tree.rebase(diff, {"a": "file"}) is None
    with pytest.raises(UnsafeNameError, match="'a/b' would have to be both a file and a folder"):
        tree.apply({"a": "file"}, diff)
