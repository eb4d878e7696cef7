"""Opens what serves the metrics, as the configuration says: address, token, TLS."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Final

from collector.config.monitoring import MonitorOptions
from collector.config.option import split_address
from collector.monitor.serving.web import Make, Server

_MOST_TOKEN_BYTES: Final = 4096


class ServingError(Exception):
    """Metrics cannot be served; the message has the reason and the remedy."""


def open_server(options: MonitorOptions, make: Make) -> Server:
    """Listen. Raises ServingError."""
    token = _token(options.token_file)
    tls = _tls(options)
    try:
        return Server(split_address(options.listen), make, token=token, tls=tls)
    except OSError as error:
        raise ServingError(
            f"metrics cannot be served at {options.listen} (monitor.listen): {error.strerror}; free that address, or"
            " name another one"
        ) from error


def _token(path: str) -> str:
    if not path:
        return ""
    try:
        with Path(path).open("rb") as file:
            token = file.read(_MOST_TOKEN_BYTES).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not ASCII"
        raise ServingError(
            f"{path} (monitor.token_file) cannot be read: {reason}; let the monitor's user read it"
        ) from error
    if not token:
        raise ServingError(f"{path} (monitor.token_file) is empty: put a token there, on one line")
    return token


def _tls(options: MonitorOptions) -> ssl.SSLContext | None:
    if not options.tls_certificate:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(options.tls_certificate, options.tls_key)
    except (OSError, ssl.SSLError) as error:
        raise ServingError(
            f"{options.tls_certificate} (monitor.tls_certificate) and {options.tls_key} (monitor.tls_key) cannot be"
            f" used: {error.strerror or error}; both have to be PEM, belong together, and be readable by the"
            " monitor's user"
        ) from error
    return context
