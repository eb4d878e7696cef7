"""Opens a store that a URL names: S3 and what speaks it, Google Cloud Storage, Azure. Not local folders.

Who may read or write there follows from a file of credentials, or else from the environment and from the role of the
machine, as the makers' own tools look for it. Nothing is asked of the store before its first use.
"""

from __future__ import annotations

import configparser
import datetime as dt
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from collector.archive.packing import first_line

if TYPE_CHECKING:
    from obstore.store import ObjectStore

    from collector.config.schema import StoreOptions

CREDENTIALS: Final[Mapping[str, tuple[str, ...]]] = {
    "s3": ("aws_access_key_id", "aws_secret_access_key", "aws_session_token"),
    "gs": (),
    "az": (
        "azure_storage_account_name",
        "azure_storage_account_key",
        "azure_storage_sas_key",
        "azure_storage_client_id",
        "azure_storage_client_secret",
        "azure_storage_tenant_id",
    ),
}
"""What a file of credentials may say for each kind of store; for gs:// it is Google's JSON file, as it comes."""

RETRIES: Final = 5
"""How often readers try a request again; who writes has a way of his own."""

_CA_BUNDLE: Final = "AWS_CA_BUNDLE"
_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AZURE_STORAGE_ENDPOINT")
"""Where the environment names a server, which obstore then goes to."""

_MAX_CREDENTIALS_BYTES: Final = 64 << 10
_MAX_BUNDLE_BYTES: Final = 4 << 20  # all authorities of a system are some 200 KiB
_LONGEST_CONNECT_S: Final = 10.0
_SECTION: Final = "default"  # as in AWS's own file


class AccessError(Exception):
    """A store cannot be opened; `remedy` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How a store is reached, beside its URL."""

    endpoint: str = ""
    """URL of a server other than the maker's own; one with http:// does without TLS."""
    region: str = ""
    ca_file: str = ""
    """PEM file of authorities that are trusted beside the system's."""
    credentials_file: str = ""
    object_lock: bool = False
    """Whether the bucket demands a checksum, and keeps what is removed."""
    timeout_s: float = 60.0
    """For one request, sending it included; after it the connection is given up."""
    retries: int = 0
    """How often a request is tried again before it fails."""


def access_of(options: StoreOptions, retries: int = 0) -> Access:
    """How the section [store] of a configuration says that a remote store is reached."""
    return Access(
        endpoint=options.endpoint,
        region=options.region,
        ca_file=options.ca_file,
        credentials_file=options.credentials_file,
        object_lock=options.object_lock == "bucket",
        timeout_s=options.timeout_s,
        retries=retries,
    )


def open_remote(url: str, access: Access) -> ObjectStore:
    """The store that *url* names; its objects are below the folder in *url*. Reads files. Raises AccessError."""
    from obstore.exceptions import BaseError
    from obstore.store import from_url

    timeout = dt.timedelta(seconds=access.timeout_s)
    client: dict[str, Any] = {
        "timeout": timeout,
        "connect_timeout": min(timeout, dt.timedelta(seconds=_LONGEST_CONNECT_S)),
    }
    if any(endpoint.startswith("http://") for endpoint in (access.endpoint, *map(_environ, _ENDPOINTS))):
        client["allow_http"] = True
    if access.ca_file:
        client["root_certificate"] = _read(access.ca_file, "store.ca_file", _MAX_BUNDLE_BYTES)
    elif url.startswith("s3:") and (bundle := _environ(_CA_BUNDLE)):
        client["root_certificate"] = _read(bundle, _CA_BUNDLE, _MAX_BUNDLE_BYTES)
    try:
        store: ObjectStore = from_url(
            url,
            config=_settings(url, access),  # type: ignore[call-overload]  # which keys there are depends on the URL
            client_options=client,
            retry_config={"max_retries": access.retries, "retry_timeout": timeout * (1 + access.retries)},
        )
    except (BaseError, ValueError) as error:
        raise AccessError(f"{url} cannot be used: {first_line(error)}", "see the section [store]") from error
    return store


def read_credentials(scheme: str, text: str, place: str) -> dict[str, str]:
    """What the file of credentials at *place* says, as obstore takes it. Raises AccessError, which shows no value."""
    if scheme == "gs":
        return {"service_account_key": _service_account(text, place)}
    lines = text if re.search(r"^\[", text, re.MULTILINE) else f"[{_SECTION}]\n{text}"
    parser = configparser.RawConfigParser(default_section="", strict=True)
    try:
        parser.read_string(lines)
        found = dict(parser[_SECTION])
    except (configparser.Error, KeyError):
        # What is wrong is not repeated: the line may be the secret.
        raise AccessError(f"{place} has no lines of the form name = value", _remedy(scheme)) from None
    unknown = sorted(found.keys() - set(CREDENTIALS[scheme]))
    if unknown or not found:
        what = f"{unknown[0]} is no credential for {scheme}://" if unknown else "there is nothing in it"
        raise AccessError(f"{place}: {what}", _remedy(scheme))
    return found


def _settings(url: str, access: Access) -> dict[str, Any]:
    scheme = urlsplit(url).scheme
    settings: dict[str, Any] = {}
    if access.credentials_file:
        read = _read(access.credentials_file, "store.credentials_file", _MAX_CREDENTIALS_BYTES)
        settings.update(read_credentials(scheme, read.decode("utf-8", "replace"), access.credentials_file))
    if access.endpoint:
        settings["endpoint"] = access.endpoint
    if access.region:
        settings["region"] = access.region
    if access.object_lock:
        settings["checksum_algorithm"] = "sha256"
    return settings


def _environ(name: str) -> str:
    return os.environ.get(name, "")


def _service_account(text: str, place: str) -> str:
    try:
        complete = {"client_email", "private_key", "private_key_id"} <= json.loads(text).keys()
    except (ValueError, AttributeError):
        complete = False
    if not complete:
        raise AccessError(f"{place} is no key of a service account", _remedy("gs"))
    return text


def _remedy(scheme: str) -> str:
    if scheme == "gs":
        return "put the JSON file there that Google Cloud gives out for a service account's key"
    return f"write lines of the form name = value, with names of these: {', '.join(CREDENTIALS[scheme])}"


def _read(path: str, option: str, most_bytes: int) -> bytes:
    try:
        with Path(path).open("rb") as file:
            data = file.read(most_bytes + 1)
    except OSError as error:
        remedy = f"see {option}: the user of the process that uses it must be able to read it"
        raise AccessError(f"{path} cannot be read: {error.strerror}", remedy) from error
    if len(data) > most_bytes:
        raise AccessError(f"{path} is longer than {most_bytes >> 10} KiB", f"see {option}")
    return data
