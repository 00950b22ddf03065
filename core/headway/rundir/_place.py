"""
Whether a directory lies where what is flushed is kept and what is locked is locked.
"""

from __future__ import annotations

import os
from pathlib import Path

from headway.errors import RunDirectoryError

FORCE = "HEADWAY_NETWORK_RUN_DIR"
"""The environment variable that allows what would be refused, when it is ``1``."""

NETWORK = frozenset(
    {
        "afs",
        "ceph",
        "cifs",
        "fuse.ceph",
        "fuse.glusterfs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "smb3",
        "smbfs",
    }
)
"""File systems of other machines, as Linux names them."""


def check_place(path: Path, mounts: Path = Path("/proc/self/mountinfo")) -> None:
    """
    Refuse a directory on a file system of another machine, unless that is forced.

    Their locks and flushes hold between machines only as far as all of them were set up for it, and a
    write-ahead log needs memory that its readers share.  Where the system does not say what is
    mounted, nothing is refused.

    Args:
        path: The directory, which is there.
        mounts: Where the system says what is mounted.

    Raises:
        RunDirectoryError: it lies there.
    """
    kind = _kind(path.resolve(), mounts)
    if kind in NETWORK and os.environ.get(FORCE) != "1":
        reason = f"it lies on a network file system ({kind}), which may lose what was acknowledged."
        remedy = f"Give a directory on a local disk, or set {FORCE}=1 to use it all the same."
        raise RunDirectoryError(str(path), reason, remedy)


def on_network(path: Path, mounts: Path = Path("/proc/self/mountinfo")) -> bool:
    """
    Whether a path lies on a file system of another machine, as far as the system says.
    """
    return _kind(path.resolve(), mounts) in NETWORK


def _kind(path: Path, mounts: Path) -> str:
    """
    The file system that a path lies on; ``""`` where that is not known.
    """
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    nearest, kind = -1, ""
    for line in lines:
        mount, _, source = line.partition(" - ")
        parts, what = mount.split(" "), source.split(" ")
        point = Path(_unescaped(parts[4])) if len(parts) > 4 else None  # noqa: PLR2004 - proc(5)
        # Of two at one place, the later one lies over the other.
        if point is not None and path.is_relative_to(point) and len(point.parts) >= nearest:
            nearest, kind = len(point.parts), what[0]
    return kind


def _unescaped(text: str) -> str:
    r"""
    A mount point as it is: the kernel writes a space as ``\040``.
    """
    for code in ("040", "011", "012", "134"):
        text = text.replace(f"\\{code}", chr(int(code, 8)))
    return text
