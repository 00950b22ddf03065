"""
Where a run directory may lie.
"""

import pytest

from headway.errors import RunDirectoryError
from headway.rundir._place import FORCE, check_place

MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / {root}/share rw shared:9 - nfs4 server:/export rw,vers=4.2
31 30 0:41 / {root}/share/local rw - tmpfs tmpfs rw
32 22 0:42 / {root}/with\\040space rw - fuse.sshfs me@host: rw
33 22 0:43 / {root}/over rw - nfs server:/a rw
34 22 0:44 / {root}/over rw - xfs /dev/sdb1 rw
35 22 0:45 / {root}/shares rw - ext4 /dev/sdc1 rw
"""


@pytest.fixture
def mounts(tmp_path):
    file = tmp_path / "mountinfo"
    file.write_text(MOUNTS.format(root=tmp_path))
    return file


@pytest.mark.parametrize(
    ("place", "kind"),
    [("share", "nfs4"), ("share/deep/down", "nfs4"), ("with space/x", "fuse.sshfs")],
)
def test_a_network_file_system_is_refused(tmp_path, mounts, monkeypatch, place, kind):
    """By its name, with what to do; and taken when that was done."""
    folder = tmp_path / place
    folder.mkdir(parents=True)
    with pytest.raises(RunDirectoryError, match=rf"network file system \({kind}\).*{FORCE}=1"):
        check_place(folder, mounts)
    monkeypatch.setenv(FORCE, "1")
    check_place(folder, mounts)


@pytest.mark.parametrize("place", [".", "share/local/x", "shares", "over", "sharing"])
def test_others_are_taken(tmp_path, mounts, place):
    """What is mounted nearest counts, and of two at one place the later one."""
    (tmp_path / place).mkdir(parents=True, exist_ok=True)

    check_place(tmp_path / place, mounts)


def test_a_link_is_followed(tmp_path, mounts):
    """It is where the directory really lies that counts."""
    (tmp_path / "share").mkdir()
    (tmp_path / "link").symlink_to("share")

    with pytest.raises(RunDirectoryError, match="nfs4"):
        check_place(tmp_path / "link", mounts)


def test_an_unknown_system_is_taken(tmp_path):
    """Where nothing says what is mounted, nothing is refused."""

    check_place(tmp_path, tmp_path / "no-such-file")
