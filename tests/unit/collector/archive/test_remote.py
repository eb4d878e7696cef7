from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from collector.archive.failures import failure
from collector.archive.remote import Access, AccessError, open_remote, read_credentials
from tests.support import certificates

PAIR = "aws_access_key_id = AKIA\naws_secret_access_key = hush/+=%\n"


@pytest.mark.parametrize("text", [PAIR, f"# for querytap\n[default]\n{PAIR}"])
def test_credentials_of_s3_are_lines_with_or_without_the_heading_of_amazons_file(text: str) -> None:
    expected = {"aws_access_key_id": "AKIA", "aws_secret_access_key": "hush/+=%"}
    assert read_credentials("s3", text, "/file") == expected


@pytest.mark.parametrize(
    ("scheme", "text", "message"),
    [
        ("s3", "", "there is nothing in it"),
        ("s3", "hush", "has no lines"),
        ("s3", "[other]\naws_access_key_id = hush", "has no lines"),
        ("s3", "aws_access_key_id = hush\naws_access_key_id = hush", "has no lines"),
        ("s3", "aws_endpoint = hush", "aws_endpoint is no credential for s3://"),
        ("az", "aws_access_key_id = hush", "aws_access_key_id is no credential for az://"),
        ("gs", "hush", "is no key of a service account"),
        ("gs", "[1]", "is no key of a service account"),
        ("gs", '{"client_email": "hush"}', "is no key of a service account"),
    ],
)
def test_a_file_that_is_none_of_credentials_is_refused_without_showing_it(scheme: str, text: str, message: str) -> None:
    with pytest.raises(AccessError, match=message) as caught:
        read_credentials(scheme, text, "/file")
    assert "/file" in caught.value.message
    assert "hush" not in caught.value.message + caught.value.remedy
    assert caught.value.__cause__ is None


def test_a_service_accounts_key_is_taken_as_it_comes() -> None:
    text = json.dumps({"client_email": "a", "private_key": "b", "private_key_id": "c"})
    assert read_credentials("gs", text, "/file") == {"service_account_key": text}


@pytest.mark.parametrize("option", ["ca_file", "credentials_file"])
def test_a_file_that_cannot_be_read_is_named_with_its_option(tmp_path: Path, option: str) -> None:
    with pytest.raises(AccessError, match="cannot be read") as caught:
        open_remote("s3://bucket", Access(**{option: str(tmp_path / "none")}))  # type: ignore[arg-type]
    assert f"store.{option}" in caught.value.remedy


def test_a_file_that_is_far_too_long_is_refused(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(bytes(1 << 20))
    with pytest.raises(AccessError, match="longer than 64 KiB"):
        open_remote("s3://bucket", Access(credentials_file=str(tmp_path / "long")))


def test_an_authority_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n")
    with pytest.raises(AccessError, match="cannot be used"):
        open_remote("s3://bucket", Access(ca_file=str(tmp_path / "ca.pem")))


@pytest.mark.parametrize("url", ["s3://bucket/folder", "gs://bucket/folder", "az://container/folder"])
def test_every_kind_of_store_is_opened_with_its_credentials(url: str, tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text(
        {
            "s3": PAIR,
            "gs": json.dumps(
                {"client_email": "a", "private_key_id": "c", "private_key": certificates.rsa_key(), "token_uri": "d"}
            ),
            "az": "azure_storage_account_name = account\nazure_storage_account_key = aHVzaA==\n",
        }[url[:2]]
    )
    store = open_remote(url, Access(credentials_file=str(file)))
    assert getattr(store, "prefix") == "folder"  # noqa: B009 - a local one has none
    assert "hush" not in repr(store)


class _Created(BaseHTTPRequestHandler):
    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("ETag", '"x"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def secure_server(folder: Path) -> Iterator[tuple[str, Path]]:
    certificate, key = certificates.write(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Created) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that hangs up is expected
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"https://127.0.0.1:{server.server_port}", certificate
        server.shutdown()
        thread.join()


def test_a_store_is_used_only_when_an_authority_that_is_trusted_vouches_for_it(tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text(PAIR)
    with secure_server(tmp_path) as (endpoint, certificate):
        access = Access(endpoint=endpoint, credentials_file=str(tmp_path / "credentials"), timeout_s=10)
        with pytest.raises(Exception, match="HTTP error") as caught:
            open_remote("s3://bucket", access).put("name", b"data", mode="create")
        assert failure(caught.value).kind == "unreachable"
        assert "certificate" in failure(caught.value).message
        trusting = Access(
            endpoint=endpoint, credentials_file=access.credentials_file, ca_file=str(certificate), timeout_s=10
        )
        open_remote("s3://bucket", trusting).put("name", b"data", mode="create")
