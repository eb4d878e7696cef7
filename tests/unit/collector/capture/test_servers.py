from __future__ import annotations

from pathlib import Path

import pytest

from collector.capture.listeners import Listener
from collector.capture.servers import ServerError, find

MYSQL = 104


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    return tmp_path


def process(proc: Path, number: int, name: str, uid: int, sockets: tuple[int, ...], namespace: str = "ours") -> Path:
    """A folder as /proc has it; its network namespace is the file of that name."""
    folder = proc / str(number)
    (folder / "fd").mkdir(parents=True)
    (folder / "ns").mkdir()
    (proc / namespace).touch()
    (folder / "ns/net").symlink_to(proc / namespace)
    (folder / "comm").write_text(f"{name}\n")
    (folder / "status").write_text(f"Name:\t{name}\nUid:\t0\t0\t0\t{uid}\n")
    for fd, inode in enumerate(sockets, 3):
        (folder / "fd" / str(fd)).symlink_to(f"socket:[{inode}]")
    (folder / "fd/99").symlink_to("/dev/null")
    return folder


def ours(proc: Path) -> int:
    return (proc / "ours").stat().st_ino


def test_ports_are_those_on_which_servers_of_this_namespace_listen(proc: Path) -> None:
    process(proc, 10, "mysqld", MYSQL, (1, 2))
    process(proc, 11, "mariadbd", MYSQL, (3,))
    process(proc, 12, "sshd", 0, (4,))
    process(proc, 13, "mysqld", MYSQL, (5,), namespace="a container's")
    (proc / "self").mkdir()
    listening = [Listener(3000 + inode, MYSQL, inode) for inode in range(1, 6)]
    found = find(listening, ours(proc), proc=proc)
    assert found.ports == (3001, 3002, 3003)
    assert found.uids == {MYSQL}
    assert found.strangers == {4, 5}  # of the same user, and not the servers'


def test_ports_of_other_protocols_are_left_out(proc: Path) -> None:
    process(proc, 10, "mysqld", MYSQL, (1, 2, 3, 4))
    ports = (3306, 33060, 4444, 3399)
    listening = [Listener(port, MYSQL, inode) for inode, port in enumerate(ports, 1)]
    assert find(listening, ours(proc), others=(3399,), proc=proc).ports == (3306,)


def test_root_as_the_user_of_a_server_tells_nothing_of_other_sockets(proc: Path) -> None:
    process(proc, 10, "mysqld", 0, (1,))
    found = find([Listener(3306, 0, 1), Listener(22, 0, 2)], ours(proc), proc=proc)
    assert (found.ports, found.uids) == ((3306,), frozenset())


def test_without_the_right_to_look_the_user_tells_whose_a_socket_is(
    proc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process(proc, 10, "mysqld", MYSQL, (1,))
    process(proc, 11, "mysqld", 0, (2,))
    forbid(monkeypatch, proc)
    found = find([Listener(3306, MYSQL, 1), Listener(22, 0, 2), Listener(80, 33, 3)], ours(proc), proc=proc)
    assert found.ports == (3306,)


def forbid(monkeypatch: pytest.MonkeyPatch, proc: Path) -> None:
    """Let nobody see sockets and namespaces of the processes there."""
    listed, looked_at = Path.iterdir, Path.stat

    def iterdir(path: Path) -> object:
        if path.name == "fd" and path.is_relative_to(proc):
            raise PermissionError(path)
        return listed(path)

    def stat(path: Path, *, follow_symlinks: bool = True) -> object:
        if path.parent.name == "ns":
            raise PermissionError(path)
        return looked_at(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    monkeypatch.setattr(Path, "stat", stat)


def test_what_is_not_found_is_said_with_the_remedy(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (proc / "ours").touch()
    with pytest.raises(ServerError, match="no mysqld or mariadbd process"):
        find([], ours(proc), proc=proc)
    process(proc, 10, "mysqld", 0, ())
    with pytest.raises(ServerError, match="listens on no TCP port"):
        find([], ours(proc), proc=proc)
    forbid(monkeypatch, proc)
    with pytest.raises(ServerError, match="may not see which ports"):
        find([], ours(proc), proc=proc)
