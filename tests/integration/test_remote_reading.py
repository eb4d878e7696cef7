"""Reading commands on an archive in a real S3 server: how they are told to reach it, and how much they fetch."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.archive.keyfile import READER_PRIVATE, write_key
from tests.support import certificates, processes
from tests.support.objectstores import ACCESS_KEY, BUCKET, SECRET_KEY, Moto, Way, environment
from tests.unit.collector.aggregator.making import READER_RAW, SECOND, START_NS
from tests.unit.collector.reading.making import block, write_chain, write_object

pytestmark = pytest.mark.integration

URL = f"s3://{BUCKET}/prod"
KIB = 1 << 10
OBJECTS = 6
HOUR_NS = 3600 * SECOND
LITTLE = 20 * KIB
"""More than a list of objects and the heads of some answers."""


def fill(moto: Moto, folder: Path) -> list[int]:
    """Put objects of db0 and db1 by turns into the store, an hour each; their sizes."""
    sizes = []
    for number in range(OBJECTS):
        random = os.urandom(500 * KIB).hex().encode()  # compresses to half of it
        first_ns = START_NS + number * HOUR_NS
        path = write_object(
            folder / "archive",
            block(b"SELECT %d" % number, random, first_ns=first_ns, last_ns=first_ns + SECOND),
            sequence=number + 1,
            first_ns=first_ns,
            last_ns=first_ns + SECOND,
            host=f"db{number % 2}",
        )
        data = path.read_bytes()
        moto.request("PUT", f"/{BUCKET}/prod/{path.relative_to(folder / 'archive')}", data)
        sizes.append(len(data))
    return sizes


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "reader.key"
    path.write_text(write_key(READER_PRIVATE, READER_RAW) + "\n")
    return path


def run(*words: object, environ: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        processes.querytap(*map(str, words)),
        capture_output=True,
        env={**processes.environment(), **environ},
        timeout=60,
        check=False,
    )


class Reader:
    """Reading commands with a way to the store that counts what comes back."""

    def __init__(self, way: Way, key: Path) -> None:
        self._way = way
        self._key = key

    def __call__(self, command: str, *words: object) -> tuple[str, int]:
        """What it printed, and how many bytes it had fetched for it."""
        before = self._way.answered_bytes
        keyed = ("--key", self._key) if command in {"read", "digest"} else ()
        done = run(command, URL, *keyed, *words, environ=environment(self._way.endpoint))
        assert done.stderr == b""
        return done.stdout.decode(), self._way.answered_bytes - before


@pytest.fixture
def sizes(moto: Moto, tmp_path: Path) -> list[int]:
    return fill(moto, tmp_path)


@pytest.fixture
def moto(tmp_path: Path) -> Iterator[Moto]:
    with Moto(tmp_path) as made:
        yield made


def test_no_more_is_fetched_than_an_answer_needs(moto: Moto, sizes: list[int], key: Path) -> None:
    with Way(moto.port) as way:
        reader = Reader(way, key)
        printed, fetched = reader("read", "--since", "2020-01-01", "--until", "2020-01-02")
        assert (printed, fetched < LITTLE) == ("", True)  # by names alone
        printed, fetched = reader("hosts", "--silent-after", "900000h")
        assert fetched < 2 * 64 * KIB + LITTLE  # the two newest headers
        printed, fetched = reader("read", "--host", "db1", "--text", "SELECT")
        assert [line.split()[-1] for line in printed.splitlines()] == ["1", "3", "5"]
        assert sum(sizes[1::2]) < fetched < sum(sizes[1::2]) + OBJECTS * 64 * KIB + LITTLE  # headers of the others
        printed, fetched = reader("digest")
        assert sum(sizes) < fetched < sum(sizes) + LITTLE  # each byte once


def test_the_oldest_are_removed_and_verify_misses_nothing(moto: Moto, tmp_path: Path) -> None:
    for path in write_chain(tmp_path / "archive", 5):
        moto.request("PUT", f"/{BUCKET}/prod/{path.relative_to(tmp_path / 'archive')}", path.read_bytes())
    environ = environment(moto.endpoint)
    for older_than, removed, left in (("2023-11-14T22:16:30Z", 3, 2), ("2023-11-14T22:17:30Z", 1, 1)):
        done = run("prune", URL, "--older-than", older_than, environ=environ)
        assert (done.returncode, done.stderr) == (0, b"")
        assert f"{removed} objects, 0.0 MiB, removed" in done.stdout.decode()
        listed = moto.request("GET", f"/{BUCKET}").decode()
        assert (listed.count(".querytap</Key>"), listed.count(".json</Key>")) == (left, 1)
        done = run("verify", URL, environ=environ)
        assert (done.returncode, done.stderr) == (0, b"")
        assert f"objects up to {5 - left} were removed by `querytap prune`" in done.stdout.decode()


def test_a_configuration_says_how_the_store_is_reached(tmp_path: Path, key: Path) -> None:
    identity = certificates.write(tmp_path)
    with Moto(tmp_path, identity=identity) as moto:
        fill(moto, tmp_path)
        credentials = tmp_path / "credentials"
        credentials.write_text(f"aws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n")
        config = tmp_path / "audit.toml"
        store = {
            "url": URL, "endpoint": moto.endpoint, "region": "us-east-1", "ca_file": str(identity[0]),
            "credentials_file": str(credentials),
        }  # fmt: skip
        config.write_text("[store]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in store.items()))
        bare = {name: "" for name in os.environ if name.startswith("AWS_")} | {"NO_PROXY": "127.0.0.1"}
        for archive in ((), (URL,)):
            done = run("read", *archive, "--config", config, "--key", key, "--text", "SELECT", environ=bare)
            assert (done.returncode, done.stderr, done.stdout.count(b"SELECT")) == (0, b"", OBJECTS)
        done = run("hosts", "--config", config, "--set", 'store.ca_file=""', environ=bare)
        assert done.returncode == 1
        assert b"its certificate is signed by nobody who is trusted here" in done.stderr
        given = {**environment(moto.endpoint), "AWS_CA_BUNDLE": str(identity[0])}
        done = run("read", URL, "--key", key, "--text", "SELECT", environ=given)
        assert (done.returncode, done.stdout.count(b"SELECT")) == (0, OBJECTS)
