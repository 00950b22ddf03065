"""
Writing the versions of any ledger into a git repository of their own.

One ``git fast-import`` takes all of them.  What it made is read back and held against the ledger,
for it may report success although it moved no branch; only then the repository gets its name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from headway.contracts import Artifact, Ledger, LedgerEntry
from headway.errors import OptionError, StorageError
from headway.names import check_id
from headway_git._commits import message_of
from headway_git._git import EMAIL, NAME, Git, environment
from headway_git._ledger import FIRST, GitLedger
from headway_git._repository import open_repository
from headway_git._states import JSON_FILE, Format, changed_texts, readable_json


def export_to_git(
    ledger: Ledger,
    path: str | os.PathLike[str],
    *,
    branches: Sequence[str] = FIRST,
    prefix: str = "headway",
) -> int:
    """
    Write every version of a ledger's branches into a new bare git repository.

    There is a commit for each version and each promotion, as a git ledger would have made it: the
    repository can be opened with ``GitLedger``.  The states are read one by one.

    Args:
        ledger: The ledger; nobody commits to it meanwhile.
        path: Where the repository is made: an empty folder, or nothing yet.
        branches: The branches to write.
        prefix: What they stand below in git.

    Returns:
        How many commits were made.

    Raises:
        OptionError: there is something at ``path`` already, or there is no program git.
        LedgerError: the ledger can't give one of its versions.
        StorageError: the repository can't be written.
    """
    target = Path(path).absolute()
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        remedy = "Give a folder that is empty or does not exist yet."
        raise OptionError("path", str(path), remedy)
    for name in (prefix, *branches):
        check_id(name)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise _unwritten(target, error) from error
    try:
        commits = _filled(ledger, made, branches, prefix)
        made.rename(target)
    except OSError as error:
        raise _unwritten(target, error) from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return commits


def _unwritten(target: Path, error: OSError) -> StorageError:
    remedy = "Nothing was left there; give a folder that can be written."
    return StorageError(str(target), error.strerror or str(error), remedy)


def _filled(ledger: Ledger, folder: Path, branches: Sequence[str], prefix: str) -> int:
    repository = open_repository(folder, prefix)
    repository.close()
    stream = _Stream(ledger, prefix, int(time.time()))
    _import(repository.git, stream.commands(branches))
    written = GitLedger(folder, prefix=prefix)
    try:
        for branch in branches:
            same = written.log(branch) == ledger.log(branch)
            if not same or written.snapshot(branch) != ledger.snapshot(branch):
                cause = f"branch {branch!r} is not what was written to it"
                raise StorageError(str(folder), cause, "Export it again.")
    finally:
        written.close()
    folder.chmod(0o755)  # a temporary folder is its owner's alone
    return stream.commits


def _import(git: Git, commands: Iterable[bytes]) -> None:
    with tempfile.TemporaryFile() as told:
        process = subprocess.Popen(
            git.command("fast-import", "--quiet", "--date-format=raw", "--done"),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=told,
            env=environment(),
        )
        into = process.stdin
        assert into is not None  # noqa: S101 - it is a pipe
        try:
            with into:
                for command in commands:
                    into.write(command)
        except BrokenPipeError:
            pass  # it ended early, and says why
        except BaseException:
            process.kill()
            raise
        finally:
            ended = process.wait()
        if ended:
            told.seek(0)
            raise git.failed("fast-import", told.read())


@attrs.frozen
class _Put:
    """
    A version that is in the stream.
    """

    mark: int
    format: Format
    texts: Mapping[str, str]


@attrs.define(eq=False)
class _Stream:
    """
    The commands that make the commits of some branches; what two branches share is made once.
    """

    ledger: Ledger
    prefix: str
    seconds: int
    commits: int = 0
    _made: dict[tuple[int, LedgerEntry], _Put] = attrs.Factory(dict[tuple[int, LedgerEntry], _Put])
    _versions: dict[tuple[int, str], int] = attrs.Factory(dict[tuple[int, str], int])

    def commands(self, branches: Iterable[str]) -> Iterator[bytes]:
        """
        All commands, a version's at a time.
        """
        yield b"feature done\n"
        for branch in branches:
            put: _Put | None = None
            for entry in (self._first(branch), *self.ledger.log(branch)):
                made_on = 0 if put is None else put.mark
                known = self._made.get((made_on, entry))
                if known is None:
                    artifact = self.ledger.snapshot(branch, entry.version).artifact
                    command, put = self._commit(branch, entry, artifact, put)
                    self._made[made_on, entry] = put
                    yield command
                else:
                    put = known
            if put is not None:
                yield f"reset {self._ref(branch)}\nfrom :{put.mark}\n\n".encode()
        yield b"done\n"

    def _first(self, branch: str) -> LedgerEntry:
        digest = self.ledger.snapshot(branch, 0).digest
        return LedgerEntry(version=0, parent=0, digest=digest, message="version 0", key="")

    def _ref(self, branch: str) -> str:
        return f"refs/heads/{self.prefix}/{branch}"

    def _commit(
        self, branch: str, entry: LedgerEntry, artifact: Artifact, before: _Put | None
    ) -> tuple[bytes, _Put]:
        self.commits += 1
        form, files = _files(artifact, before)
        lines = [b"commit %b\nmark :%d\n" % (self._ref(branch).encode(), self.commits)]
        lines.append(f"committer {NAME} <{EMAIL}> {self.seconds} +0000\n".encode())
        lines.append(_data(message_of(entry, form)))
        if before is not None:
            lines.append(b"from :%d\n" % before.mark)
        promoted = self._versions.setdefault((entry.version, entry.digest), self.commits)
        if promoted != self.commits and not entry.key:
            lines.append(b"merge :%d\n" % promoted)
        texts = artifact.value if form == "files" else {}
        put = _Put(self.commits, form, texts)
        return b"".join([*lines, *files, b"\n"]), put


def _files(artifact: Artifact, before: _Put | None) -> tuple[Format, list[bytes]]:
    old: Mapping[str, str] = {} if before is None else before.texts
    changed = changed_texts(artifact.value, old)
    if changed is None:
        text = readable_json(artifact.value).encode()
        return "json", [b"deleteall\n", _modified(JSON_FILE, text)]
    lines = [b"deleteall\n"] if before is not None and before.format != "files" else []
    lines += [b"D %b\n" % path.encode() for path in old if path not in artifact.value]
    return "files", lines + [_modified(path, text) for path, text in changed.items()]


def _modified(path: str, text: bytes) -> bytes:
    return b"M 100644 inline %b\n%b" % (path.encode(), _data(text))


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)
