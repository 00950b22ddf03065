"""
What is improved when ``evolve`` is given a repository and no strategy: the files in it.

Which files a repository holds is for the ledger to say that keeps its versions in one; nothing here
reads or writes any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headway._checks import check_folder_name
from headway.registry import Registry
from headway.run import durable
from headway.strategies import FileTree
from headway.strategies._disk import IGNORED, ignored


def with_strategy(given: Mapping[str, Any], registry: Registry) -> Mapping[str, Any]:
    """
    The keywords of ``evolve``, with a ``FileTree`` of the files that are committed in ``repo_path``.

    Without ``repo_path``, with a strategy or a state of one's own, and where nothing is committed in
    it but what a ledger did, they are as they were.

    Args:
        given: The keywords.
        registry: Where the ledger is looked up.

    Raises:
        OptionError: ``repo_path`` can't be used, or a file in it can't be improved.
        PluginError: the ledger can't be loaded.
        LedgerError: the repository can't be read.
    """
    path = given.get("repo_path")
    if path is None or given.get("strategy") is not None or given.get("initial_state") is not None:
        return given
    check_folder_name("repo_path", path)
    ledger = {**durable(given.get("run_dir"), path), **given}["ledger"]
    if not isinstance(ledger, str):
        return given  # refused where the options of the run are checked
    read: Callable[..., Mapping[str, str] | None] | None
    read = getattr(registry.load("ledger", ledger), "committed", None)
    files = None if read is None else read(path, leave_out=_left_out)
    return given if files is None else {**given, "strategy": FileTree(files, as_folder=True)}


def _left_out(path: str) -> bool:
    return ignored(path, IGNORED)
