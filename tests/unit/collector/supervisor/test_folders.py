from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from collector import places
from collector.config import Config, StartError
from collector.identities import present
from collector.privileges import Identity
from collector.supervisor import folders

SERVICE = Identity(65530, 65530, "service")
WORKER = Identity(65531, 65531, "worker")
OTHER = Identity(65532, 65532, "other")

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders to others")


@pytest.fixture
def config(tmp_path: Path) -> Config:
    plain = Config()
    paths = replace(plain.paths, state=str(tmp_path / "state"), run=str(tmp_path / "run"))
    return replace(plain, paths=paths, workers=replace(plain.workers, count=2))


def prepare(config: Config, user: Identity, worker_user: Identity) -> None:
    held = folders.lock(config)
    try:
        folders.prepare(config, held, user, worker_user)
    finally:
        held.close()


def owner(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_uid, found.st_gid


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@contextmanager
def unchanged(*paths: Path) -> Iterator[None]:
    """Whatever happens, these keep their owners, modes and contents."""
    before = [(path.lstat().st_mode, owner(path), path.read_bytes() if path.is_file() else b"") for path in paths]
    yield
    after = [(path.lstat().st_mode, owner(path), path.read_bytes() if path.is_file() else b"") for path in paths]
    assert after == before


def test_what_tells_of_the_processes_goes_with_them_and_nothing_else(config: Config) -> None:
    held = folders.lock(config)
    folders.prepare(config, held, present(), present())
    told = Path(config.paths.run) / places.PROCESSES_FILE
    told.write_text("{}")
    units = places.capture_run(config.paths.run) / places.PROCESSES_FILE
    units.write_text("{}")
    folders.clear(held)
    assert not told.exists()
    assert units.exists()
    folders.clear(held)
    held.close()


def test_one_user_for_all_gets_worker_folders_closed_to_others(config: Config) -> None:
    prepare(config, present(), present())
    run, state = Path(config.paths.run), Path(config.paths.state)
    for number in range(2):
        assert mode(places.worker_folder(run, number)) == 0o700
        assert places.worker_folder(run, number).stat().st_uid == os.geteuid()
    assert mode(places.aggregator_run(run)) == 0o755
    assert mode(places.aggregator_state(state)) == 0o700
    assert mode(state / "archive") == 0o750


@as_root
def test_root_keeps_what_is_above_and_gives_each_user_its_own(config: Config) -> None:
    prepare(config, SERVICE, WORKER)
    run, state = Path(config.paths.run), Path(config.paths.state)
    for path in (run, state, run / "querytap.pid"):
        assert owner(path) == (0, 0)
    for path in (run, state):
        assert mode(path) == 0o755
    for path in (places.aggregator_run(run), places.aggregator_state(state), state / "archive"):
        assert owner(path) == (SERVICE.uid, SERVICE.gid)
    for number in range(2):
        assert owner(places.worker_folder(run, number)) == (WORKER.uid, SERVICE.gid)
        assert mode(places.worker_folder(run, number)) == 0o2750


def test_a_status_that_an_earlier_run_left_is_removed(config: Config) -> None:
    prepare(config, present(), present())
    status = places.aggregator_run(config.paths.run) / places.STATUS_FILE
    status.write_text("{}")
    prepare(config, present(), present())
    assert not status.exists()


@pytest.mark.parametrize("which", ["worker", "aggregator_run", "aggregator_state", "archive"])
def test_a_link_in_the_place_of_a_folder_is_not_followed(config: Config, tmp_path: Path, which: str) -> None:
    prepare(config, present(), present())
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o711)
    run, state = config.paths.run, config.paths.state
    place = {
        "worker": places.worker_folder(run, 0),
        "aggregator_run": places.aggregator_run(run),
        "aggregator_state": places.aggregator_state(state),
        "archive": Path(state, "archive"),
    }[which]
    place.rename(tmp_path / "aside")
    place.symlink_to(victim)
    with unchanged(victim), pytest.raises(StartError, match=f"{place} is a link"):
        prepare(config, SERVICE if os.geteuid() == 0 else present(), present())
    assert list(victim.iterdir()) == []


@as_root
def test_a_change_of_user_gives_what_the_one_before_had_and_no_more(config: Config, tmp_path: Path) -> None:
    prepare(config, SERVICE, WORKER)
    archive = Path(config.paths.state, "archive")
    victims = [tmp_path / name for name in ("linked", "hard", "of-root")]
    for victim in victims:
        victim.write_text("secret")
    os.chown(victims[1], SERVICE.uid, SERVICE.gid)
    (archive / "day").mkdir()
    (archive / "day" / "object").write_text("sealed")
    (archive / "link").symlink_to(victims[0])
    (archive / "hard").hardlink_to(victims[1])
    for path in (archive / "day", archive / "day" / "object", archive / "link"):
        os.chown(path, SERVICE.uid, SERVICE.gid, follow_symlinks=False)
    (archive / "of-root").hardlink_to(victims[2])
    with unchanged(*victims):
        prepare(config, OTHER, WORKER)
    for path in (archive, archive / "day", archive / "day" / "object"):
        assert owner(path) == (OTHER.uid, OTHER.gid)


@as_root
def test_a_folder_with_what_others_put_there_is_not_taken(config: Config, tmp_path: Path) -> None:
    precious = tmp_path / "srv"
    (precious / "database").mkdir(parents=True)
    precious.chmod(0o755)
    os.chown(precious / "database", OTHER.uid, OTHER.gid)
    taken = replace(config, store=replace(config.store, url=str(precious)))
    theirs = (precious, precious / "database")
    with unchanged(*theirs), pytest.raises(StartError, match=f"{precious} belongs to") as caught:
        prepare(taken, SERVICE, WORKER)
    assert f"chown -R {SERVICE.uid}:{SERVICE.gid} {precious}" in caught.value.remedy
    os.chown(precious, SERVICE.uid, SERVICE.gid)  # as the remedy says
    with unchanged(*theirs):
        prepare(taken, SERVICE, WORKER)


@as_root
def test_an_empty_folder_is_taken_and_a_forged_mark_does_not_count(config: Config, tmp_path: Path) -> None:
    place = tmp_path / "archive"
    place.mkdir()
    taken = replace(config, store=replace(config.store, url=f"file://{place}"))
    prepare(taken, SERVICE, WORKER)
    assert owner(place) == (SERVICE.uid, SERVICE.gid)
    (place / folders.MARKER).unlink()
    (place / folders.MARKER).write_text("mine")
    (place / "object").write_text("sealed")
    os.chown(place / folders.MARKER, SERVICE.uid, SERVICE.gid)
    with unchanged(place, place / "object"), pytest.raises(StartError, match="belongs to another user"):
        prepare(taken, OTHER, WORKER)


@pytest.mark.parametrize("of", ["state", "run"])
def test_a_folder_that_others_can_write_to_is_refused(config: Config, of: str) -> None:
    place = Path(getattr(config.paths, of))
    place.mkdir()
    place.chmod(0o777)
    with pytest.raises(StartError, match="others may write") as caught:
        folders.lock(config)
    assert "chmod go-w" in caught.value.remedy
    assert mode(place) == 0o777
    place.chmod(0o755)
    folders.lock(config).close()


@as_root
@pytest.mark.parametrize("of", ["state", "run"])
def test_a_folder_of_another_user_is_refused(config: Config, of: str) -> None:
    place = Path(getattr(config.paths, of))
    place.mkdir()
    os.chown(place, SERVICE.uid, SERVICE.gid)
    with unchanged(place), pytest.raises(StartError, match=f"belongs to another user \\({SERVICE.uid}\\)") as caught:
        folders.lock(config)
    assert f"chown 0 {place}" in caught.value.remedy


def test_a_folder_with_what_is_not_ours_keeps_its_mode(config: Config) -> None:
    place = Path(config.paths.state)
    place.mkdir()
    place.chmod(0o700)
    (place / "letters").write_text("private")
    prepare(config, present(), present())
    assert mode(place) == 0o700
    (place / "letters").unlink()
    prepare(config, present(), present())
    assert mode(place) == 0o755


def test_the_aggregator_can_read_the_public_key_and_only_that(config: Config) -> None:
    keys = places.keys_folder(config.paths.state)
    keys.mkdir(parents=True, mode=0o700)
    for name, bits in ((places.READER_PRIVATE, 0o600), (places.READER_PUBLIC, 0o644)):
        (keys / name).write_text("key")
        (keys / name).chmod(bits)
    prepare(config, present(), present())
    assert (mode(keys), mode(keys / places.READER_PRIVATE)) == (0o755, 0o600)
    assert keys.stat().st_uid == os.geteuid()
    keys.chmod(0o700)
    (keys / "diary").write_text("private")
    prepare(config, present(), present())
    assert mode(keys) == 0o700


@pytest.mark.parametrize("plant", [os.symlink, os.link], ids=["symbolic", "hard"])
def test_a_link_in_the_place_of_the_pid_file_is_not_written_to(
    config: Config, tmp_path: Path, plant: Callable[[Path, Path], None]
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    Path(config.paths.run).mkdir()
    plant(victim, Path(config.paths.run, "querytap.pid"))
    with unchanged(victim), pytest.raises(StartError):
        folders.lock(config)


def test_a_folder_that_cannot_be_made_is_an_error_with_its_name(config: Config, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way")
    with pytest.raises(StartError, match=str(tmp_path / "state")):
        folders.lock(config)


def test_a_second_instance_on_either_folder_is_refused(config: Config, tmp_path: Path) -> None:
    held = folders.lock(config)
    try:
        with pytest.raises(StartError, match=f"another querytap \\(process {os.getpid()}\\) uses"):
            folders.lock(config)
        other_run = replace(config, paths=replace(config.paths, run=str(tmp_path / "run2")))
        with pytest.raises(StartError, match=f"uses {config.paths.state}"):
            folders.lock(other_run)
    finally:
        held.close()
    folders.lock(config).close()  # and once it is gone, one may


def test_a_remote_archive_has_no_folder(config: Config) -> None:
    prepare(replace(config, store=replace(config.store, url="s3://bucket/prefix")), present(), present())
    assert not Path(config.paths.state, "archive").exists()
