from __future__ import annotations

import socket
from pathlib import Path

import pytest

from collector.config.monitoring import MonitorOptions
from collector.monitor.serving.opening import ServingError, open_server
from collector.monitor.serving.render import Page
from tests.support import certificates

pytestmark = pytest.mark.either_build


def opened(**options: str) -> None:
    open_server(MonitorOptions(**options), lambda _: Page("", b"")).server_close()  # type: ignore[arg-type]  # texts


def free() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def test_an_address_that_is_taken_is_told_with_what_helps() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        with pytest.raises(ServingError, match=r"monitor\.listen.*in use.*name another"):
            opened(listen=f"127.0.0.1:{holder.getsockname()[1]}")


def test_a_token_comes_from_a_file_that_holds_one(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_bytes(b"  abc\n")
    opened(listen=free(), token_file=str(file))
    for content in (b" \n", b"\xff"):
        file.write_bytes(content)
        with pytest.raises(ServingError, match=r"monitor\.token_file"):
            opened(listen=free(), token_file=str(file))
    with pytest.raises(ServingError, match="No such file"):
        opened(listen=free(), token_file=str(tmp_path / "other"))


def test_certificate_and_key_have_to_belong_together(tmp_path: Path) -> None:
    certificate, key = certificates.write(tmp_path)
    opened(listen=free(), tls_certificate=str(certificate), tls_key=str(key))
    with pytest.raises(ServingError, match=r"monitor\.tls_certificate.*monitor\.tls_key"):
        opened(listen=free(), tls_certificate=str(certificate), tls_key=str(certificate))
