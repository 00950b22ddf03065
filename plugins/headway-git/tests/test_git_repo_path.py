"""
``repo_path``: a run whose versions are kept in a repository that the user names, and whose files are
what is improved when no strategy is given.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

from headway import AppendRules, FileTree, KeyedRules, aevolve, async_evolve, evolve, run
from headway.cli import main
from headway.comparing import make_plan
from headway.contracts import Artifact, content_digest
from headway.errors import LedgerCorrupt, OptionError, UnknownNameError
from headway.registry import Registry
from headway.testing import ToyDomain
from headway_git import GitLedger

ROUTES = {"letter": "left", "parcel": "right", "card": "left"}
TASKS = [{"id": f"{kind}-{n}", "kind": kind} for kind in ROUTES for n in range(8)]

seen: list[tuple[str, ...]] = []


def sort(folder, task):
    seen.append(tuple(sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*.md"))))
    hint = folder / "hints" / f"{task['kind']}.md"
    return hint.read_text().strip() if hint.exists() else ""


def is_right(task, output):
    return output == ROUTES[task["kind"]]


def add_hint(folder, task, output, reward):
    (folder / "hints").mkdir(exist_ok=True)
    (folder / "hints" / f"{task['kind']}.md").write_text(ROUTES[task["kind"]] + "\n")
    return folder


OFFICE = {"run": sort, "propose": add_hint, "rounds": 20, "target_reward": 1.0, "driver": "serial"}
"""What is left to say of a run that sorts post."""

RULES = {
    "run": lambda rules, task: ROUTES[task["kind"]] if task["kind"] in rules else "",
    "propose": lambda rules, task, output, reward: task["kind"],
    "rounds": 20,
    "target_reward": 1.0,
    "driver": "serial",
}
"""The same with rules."""


@pytest.fixture
def skill(tmp_path, git):
    """
    Somebody's repository with a skill in it, wholly committed.
    """
    path = tmp_path / "skill"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    git(path, "config", "user.name", "Somebody")
    git(path, "config", "user.email", "somebody@example.org")
    (path / "SKILL.md").write_text("# Sorting office\n")
    (path / "run.sh").write_text("#!/bin/sh\n")
    (path / "run.sh").chmod(0o755)
    git(path, "add", ".")
    git(path, "commit", "-qm", "first")
    return path


def everything(path: Path) -> dict[str, str | bytes]:
    """
    What a folder holds but git's own, a link by what it names.
    """
    files = (p for p in path.rglob("*") if ".git" not in p.parts and not p.is_dir())
    return {str(p): str(p.readlink()) if p.is_symlink() else p.read_bytes() for p in files}


def evolve_office(path, **more):
    return evolve(TASKS, is_right, repo_path=path, **{**OFFICE, **more})


def test_committed_files_are_improved_and_every_version_is_a_commit(skill, git):
    """
    Without a strategy; a call receives a folder with the files.
    """
    seen.clear()
    result = evolve_office(skill)

    assert result.converged
    assert ("SKILL.md",) == seen[0]
    assert {"SKILL.md", "run.sh", *(f"hints/{kind}.md" for kind in ROUTES)} == set(result.state)
    assert 1 + result.version == int(git(skill, "rev-list", "--count", "headway/dev"))
    assert "right\n" == git(skill, "show", "headway/dev:hints/parcel.md")
    assert "power" == result.durability


def test_the_repository_itself_is_never_touched(skill, git):
    """
    Neither work tree nor index nor HEAD, nor a branch of the user's; only branches are added.
    """
    (skill / "SKILL.md").write_text("# changed\n")
    (skill / "staged.md").write_text("staged\n")
    git(skill, "add", "staged.md")
    (skill / "new.md").write_text("new\n")
    before = everything(skill), git(skill, "status", "--porcelain"), git(skill, "rev-parse", "HEAD")

    evolve_office(skill)

    after = everything(skill), git(skill, "status", "--porcelain"), git(skill, "rev-parse", "HEAD")
    branches = git(skill, "for-each-ref", "--format=%(refname)").split()
    assert before == after
    assert [f"refs/heads/{name}" for name in ("headway/dev", "headway/stable", "main")] == branches


def test_what_is_not_committed_does_not_come_in(skill, git):
    """
    A change, a staged file and a new one are the user's own until they are committed.
    """
    (skill / "SKILL.md").write_text("# changed\n")
    (skill / "staged.md").write_text("staged\n")
    git(skill, "add", "staged.md")
    (skill / "new.md").write_text("new\n")
    result = evolve_office(skill)

    assert "# Sorting office\n" == result.state["SKILL.md"]
    assert not {"staged.md", "new.md"} & set(result.state)


def test_the_same_path_resumes(skill):
    """
    What was found is there already, and nothing is paid for it again.
    """
    first = evolve_office(skill)
    again = evolve_office(skill)

    assert (first.state, first.version) == (again.state, again.version)
    assert ("target_reward", 0) == (again.stop_reason, again.rollouts)


def test_a_new_folder_becomes_a_repository_that_gathers_rules(tmp_path, git):
    """
    As ``evolve`` does where nothing else is said; the second run goes on from the first one's rules.
    """
    path = tmp_path / "history"
    first = evolve(TASKS, is_right, repo_path=path, **{**RULES, "max_rollouts": 2})
    again = evolve(TASKS, is_right, repo_path=str(path), **RULES)

    assert isinstance(first.state, list)
    assert again.converged
    assert first.state == again.state[: len(first.state)]
    assert first.version <= again.version
    assert 1 + again.version == int(git(path, "rev-list", "--count", "headway/dev"))


def test_a_strategy_of_ones_own_stays(skill):
    """
    Then the repository only keeps the versions.
    """
    result = evolve(TASKS, is_right, repo_path=skill, strategy=AppendRules(), **RULES)

    assert sorted(ROUTES) == sorted(result.state)


def test_a_state_of_ones_own_stays(skill):
    """
    The same, where a state says what is improved.
    """
    result = evolve(TASKS, is_right, repo_path=skill, initial_state=["letter"], **RULES)

    assert "letter" == result.state[0]


def test_it_is_a_run_s_option_too(tmp_path, git):
    """
    For every domain and from the command line, where it is a flag.
    """
    path = tmp_path / "toy"
    result = run(ToyDomain(), repo_path=path, max_rollouts=30)

    assert 0 < result.version
    assert 1 + result.version == int(git(path, "rev-list", "--count", "headway/dev"))


def test_the_command_line_has_a_flag(tmp_path, git, monkeypatch, capsys):
    """
    A relative path is meant from where the command is called.
    """
    monkeypatch.chdir(tmp_path)
    asked = ["run", "inflect", "--repo-path", "kept", "--max-rollouts", "20", "--workers", "2"]
    assert 0 == main(asked)
    assert "headway/dev" in git(tmp_path / "kept", "for-each-ref", "--format=%(refname:short)")


def test_async_mode_takes_it(skill):
    """
    By its own name.
    """
    asked = {name: value for name, value in OFFICE.items() if name not in ("rounds", "driver")}
    result = async_evolve(TASKS, is_right, repo_path=skill, max_rollouts=200, **asked)

    assert result.converged
    assert {f"hints/{kind}.md" for kind in ROUTES} < set(result.state)


def test_it_can_be_awaited(skill):
    """
    The same repository as everywhere.
    """
    import asyncio

    result = asyncio.run(aevolve(TASKS, is_right, repo_path=skill, **OFFICE))

    assert result.converged


def test_commits_of_the_user_s_are_not_taken_up_and_that_is_said(skill, git):
    """
    The run goes on from what it has found.
    """
    first = evolve_office(skill)
    (skill / "SKILL.md").write_text("# Post\n")
    git(skill, "commit", "-qam", "second")
    with pytest.warns(RuntimeWarning, match=f"goes on from version {first.version}"):
        again = evolve_office(skill)

    assert first.state == again.state


def test_without_its_branches_a_run_begins_anew(skill, git):
    """
    From what is committed by then.
    """
    evolve_office(skill)
    (skill / "SKILL.md").write_text("# Post\n")
    git(skill, "commit", "-qam", "second")
    git(skill, "branch", "-qD", "headway/dev", "headway/stable")
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        again = evolve_office(skill)

    assert "# Post\n" == again.state["SKILL.md"]
    assert again.converged


def test_another_kind_of_state_is_refused(skill):
    """
    Files are no rules, whatever they would be read as.
    """
    evolve_office(skill)
    with pytest.raises(OptionError, match="is a dict, and this run's is a list") as caught:
        evolve(TASKS, is_right, repo_path=skill, strategy=AppendRules(), **RULES)

    assert "repo_path" == caught.value.option


def test_the_found_files_can_be_taken_over_with_git(skill, git):
    """
    As the page says: only when the user asks for it, and without a change of modes where none was.
    """
    evolve_office(skill)
    git(skill, "restore", "--source", "headway/dev", "--worktree", "--", "hints")

    assert "right\n" == (skill / "hints" / "parcel.md").read_text()
    assert "?? hints/\n" == git(skill, "status", "--porcelain")


def test_packed_repositories_and_linked_work_trees_are_read_alike(skill, git, tmp_path):
    """
    Each work tree has its own HEAD.
    """
    git(skill, "gc", "-q")
    git(skill, "worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    (tmp_path / "linked" / "SKILL.md").write_text("# Linked\n")
    git(tmp_path / "linked", "commit", "-qam", "other")

    assert "# Sorting office\n" == GitLedger.committed(skill)["SKILL.md"]
    assert "# Linked\n" == GitLedger.committed(tmp_path / "linked")["SKILL.md"]


def test_nothing_is_written_to_see_what_is_committed(skill, git):
    """
    No branch and no object.
    """
    before = git(skill, "count-objects", "-v"), git(skill, "for-each-ref")
    GitLedger.committed(skill)

    assert before == (git(skill, "count-objects", "-v"), git(skill, "for-each-ref"))


def test_there_is_nothing_committed_where_there_is_no_repository_of_the_user_s(tmp_path):
    """
    No folder, an empty one, and one that a ledger has made.
    """
    (tmp_path / "empty").mkdir()
    GitLedger(tmp_path / "ledger.git", initial=Artifact({"a": "b"})).close()

    for name in ("missing", "empty", "ledger.git"):
        assert GitLedger.committed(tmp_path / name) is None
    assert not (tmp_path / "missing").exists()


def test_names_that_are_passed_over_in_folders_are_here_too(skill, git):
    """
    Though somebody has committed them.
    """
    (skill / "__pycache__").mkdir()
    (skill / "__pycache__" / "a.pyc").write_bytes(b"\0\xff")
    (skill / ".DS_Store").write_bytes(b"\0\xff")
    git(skill, "add", "-f", ".")
    git(skill, "commit", "-qm", "second")

    assert {"SKILL.md", "run.sh"} < set(evolve_office(skill).state)


def link_out(skill):
    (skill / "out").symlink_to("/etc/hostname")


def link_within(skill):
    (skill / "out").symlink_to("SKILL.md")


def binary(skill):
    (skill / "logo.png").write_bytes(b"\x89PNG\xff")


def zero_byte(skill):
    (skill / "zero").write_bytes(b"a\0b")


def odd_name(skill):
    (skill / "a:b").write_text("a")


def name_that_is_no_text(skill):
    (Path(os.fsdecode(bytes(skill) + b"/\xff"))).write_text("a")


def twins(skill):
    (skill / "skill.md").write_text("a")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (link_out, "out in it is a link"),
        (link_within, "out in it is a link"),
        (binary, r"logo.png in it is no text file, byte 0 is not UTF-8"),
        (zero_byte, "zero in it is no text file, it holds a zero byte"),
        (odd_name, "a:b"),
        (name_that_is_no_text, r"\\xff in it has a name that is no UTF-8"),
        (twins, "differs only in case"),
    ],
)
def test_what_no_tree_of_files_holds_is_named_and_nothing_is_run(skill, git, spoil, told):
    """
    And no branch has been made.
    """
    spoil(skill)
    git(skill, "add", ".")
    git(skill, "commit", "-qm", "second")
    seen.clear()
    with pytest.raises(OptionError, match=told) as caught:
        evolve_office(skill)

    assert "repo_path" == caught.value.option
    assert not seen
    assert "" == git(skill, "for-each-ref", "refs/heads/headway")


def test_a_repository_within_the_repository_is_named(skill, git):
    """
    What is in it is not this repository's.
    """
    git(skill, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    git(skill, "commit", "-qm", "second")

    with pytest.raises(OptionError, match="sub in it is a repository within the repository"):
        evolve_office(skill)


def test_the_remedy_that_is_told_works(skill, git):
    """
    A strategy that leaves the file out, with the versions in the repository all the same.
    """
    binary(skill)
    git(skill, "add", ".")
    git(skill, "commit", "-qm", "second")
    strategy = FileTree.load(skill, as_folder=True, ignore=[".git", "*.png"])
    result = evolve_office(skill, strategy=strategy)

    assert result.converged
    assert "logo.png" not in result.state


def test_a_repository_without_a_commit_is_told(tmp_path, git):
    """
    It may be that somebody forgot to commit.
    """
    git(tmp_path, "init", "-q", "fresh")
    with pytest.raises(OptionError, match="Nothing is committed in it"):
        evolve_office(tmp_path / "fresh")

    assert evolve(TASKS, is_right, repo_path=tmp_path / "fresh", strategy=AppendRules(), **RULES)


@pytest.mark.parametrize("strategy", [None, KeyedRules({})])
def test_a_folder_that_is_no_repository_is_refused_and_stays(tmp_path, strategy):
    """
    Also one that lies in somebody's repository.
    """
    (tmp_path / "a.md").write_text("a")
    with pytest.raises(OptionError, match="Give a git repository, or a folder that is") as caught:
        evolve(TASKS, is_right, repo_path=tmp_path, strategy=strategy, **RULES)

    assert "repo_path" == caught.value.option
    assert (strategy is None) == ("FileTree.load(folder, as_folder=True)" in caught.value.remedy)
    assert ["a.md"] == [p.name for p in tmp_path.iterdir()]


def test_a_damaged_file_is_told(skill, git):
    """
    With the place.
    """
    name = git(skill, "rev-parse", "HEAD:SKILL.md").strip()
    there = skill / ".git" / "objects" / name[:2] / name[2:]
    there.chmod(0o644)
    there.write_bytes(b"nonsense")

    with pytest.raises(LedgerCorrupt, match=name[:2]):
        evolve_office(skill)


def test_with_a_run_directory_or_another_ledger_it_is_refused(tmp_path):
    """
    Each says what to leave out, and nothing is made.
    """
    ledger = GitLedger(tmp_path / "own")
    for more, told in (
        ({"run_dir": tmp_path / "d"}, "run_dir keeps the versions itself"),
        ({"ledger": "memory"}, "The ledger memory keeps nothing there"),
        ({"ledger": ledger}, "The ledger is an object"),
    ):
        with pytest.raises(OptionError, match=told):
            evolve(TASKS, is_right, repo_path=tmp_path / "r", **RULES, **more)
    ledger.close()

    assert ["own"] == [p.name for p in tmp_path.iterdir()]


@pytest.mark.parametrize("given", ["", "a\0b", 3, True, b"x", ["a"]])
def test_what_names_no_folder_is_refused(given):
    """
    An empty name would be the current folder.
    """
    for strategy in (None, AppendRules()):
        with pytest.raises(OptionError, match=r"repo_path=.*Give the name of a folder"):
            evolve(TASKS, is_right, repo_path=given, strategy=strategy, **RULES)


def test_a_comparison_refuses_it():
    """
    Its runs would not be independent.
    """
    with pytest.raises(OptionError, match="Each run would go on from the one before"):
        make_plan(ToyDomain(), {"repo_path": "x", "max_rollouts": 4}, modes=["sync"], seeds=[0])


def test_without_the_plug_in_the_error_says_how_to_get_it(tmp_path):
    """
    And that before anything is made.
    """
    with pytest.raises(UnknownNameError, match="headway-git"):
        evolve(TASKS, is_right, repo_path=tmp_path / "r", registry=Registry(), **RULES)

    assert not (tmp_path / "r").exists()


def test_the_first_version_is_what_was_committed(skill):
    """
    To the letter: line ends and executables' texts, too.
    """
    evolve_office(skill)
    ledger = GitLedger(skill)
    first = ledger.snapshot("dev", 0).artifact
    ledger.close()

    assert (
        content_digest({"SKILL.md": "# Sorting office\n", "run.sh": "#!/bin/sh\n"}) == first.digest
    )
