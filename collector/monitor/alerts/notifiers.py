"""Sends a notice: over HTTP, as mail, to a command. Each waits TIMEOUT_S at most; a failure is a SendError."""

from __future__ import annotations

import http.client
import json
import smtplib
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Final

from collector.config.option import split_server
from collector.monitor.alerts import messages
from collector.monitor.alerts.outbox import Notice
from collector.monitor.alerts.rules import SEVERITIES, RulesError

TIMEOUT_S: Final = 15
_PAGERDUTY: Final = "https://events.pagerduty.com/v2/enqueue"
_MOST_SECRET_BYTES: Final = 4096
_TLS: Final = ("starttls", "tls", "none")

Send = Callable[[Notice, str], None]


class SendError(Exception):
    """A notice was not taken; the message says by whom and why, without a secret."""


@dataclass(frozen=True, slots=True)
class Notifier:
    """One who is told."""

    name: str
    least: int
    """The place in SEVERITIES of the least severe alert that it is told of."""
    send: Send
    """Raises SendError."""

    def part(self, notice: Notice) -> Notice | None:
        """What of a notice is for it."""
        firing, resolved = (
            tuple(alert for alert in alerts if SEVERITIES.index(alert.rule.severity) <= self.least)
            for alerts in (notice.firing, notice.resolved)
        )
        return Notice(firing, resolved, notice.again) if firing or resolved else None


def make(entry: Mapping[str, Any], number: int) -> Notifier:
    """A notifier as a file of rules has it. Raises RulesError."""
    kind = entry.get("kind")
    name = f"{number}:{kind}"
    takes = {**dict.fromkeys(messages.SHAPES, _HTTP), "email": _EMAIL, "command": _COMMAND}.get(str(kind))
    if takes is None:
        raise RulesError(f"notifier {number}: kind: must be {', '.join([*messages.SHAPES, 'email', 'command'])}")
    unknown = entry.keys() - takes - {"kind", "least"}
    if unknown:
        raise RulesError(
            f"notifier {number}: {', '.join(sorted(unknown))}: unknown; there are {', '.join(sorted(takes))}"
        )
    least = entry.get("least", "info")
    if least not in SEVERITIES:
        raise RulesError(f"notifier {number}: least: must be {', '.join(SEVERITIES)}")
    try:
        send = {"email": _mail, "command": _command}.get(str(kind), _http)(entry)
    except (KeyError, ValueError, TypeError) as error:
        raise RulesError(f"notifier {number}: {_what(error)}") from error
    return Notifier(name, SEVERITIES.index(least), send)


_HTTP: Final = frozenset({"url", "url_file", "key_file"})
_EMAIL: Final = frozenset({"server", "from", "to", "tls", "user", "password_file"})
_COMMAND: Final = frozenset({"command"})


def _http(entry: Mapping[str, Any]) -> Send:
    shape = messages.SHAPES[entry["kind"]]
    url, url_file, key_file = (_text(entry, name) for name in ("url", "url_file", "key_file"))
    if entry["kind"] == "pagerduty":
        url = url or _PAGERDUTY
        if not key_file:
            raise KeyError("key_file")
    if bool(url) == bool(url_file):
        raise ValueError("one of url and url_file is needed")

    def send(notice: Notice, host: str) -> None:
        where = url or _secret(url_file)
        if not where.startswith(("https://", "http://")):
            raise SendError("its URL must begin with https:// or http://")
        for body in shape(notice, host, _secret(key_file) if key_file else ""):
            _post(where, body)

    return send


def _post(url: str, body: Mapping[str, Any]) -> None:
    data = json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})  # noqa: S310  # checked above
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310
            answer.read(1024)
    except urllib.error.HTTPError as error:
        raise SendError(f"it was answered with {error.code}") from error
    except urllib.error.URLError as error:
        raise SendError(f"it cannot be reached: {error.reason}") from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise SendError(f"it does not answer: {type(error).__name__}") from error


def _mail(entry: Mapping[str, Any]) -> Send:
    place = split_server(str(entry["server"]))
    sender, to, tls = str(entry["from"]), list(map(str, entry["to"])), entry.get("tls", "starttls")
    user, password_file = _text(entry, "user"), _text(entry, "password_file")
    if isinstance(place, str) or isinstance(entry["to"], str) or tls not in _TLS:
        raise ValueError(f"server must be host:port, to a list, tls one of {', '.join(_TLS)}")

    def send(notice: Notice, host: str) -> None:
        message = EmailMessage()
        message["Subject"], message["From"], message["To"] = messages.subject(notice, host), sender, ", ".join(to)
        message.set_content(messages.text(notice, host))
        try:
            connect = smtplib.SMTP_SSL if tls == "tls" else smtplib.SMTP
            with connect(place[0], place[1], timeout=TIMEOUT_S) as server:
                if tls == "starttls":
                    server.starttls(context=ssl.create_default_context())
                if user:
                    server.login(user, _secret(password_file))
                server.send_message(message)
        except (OSError, smtplib.SMTPException) as error:
            raise SendError(f"the mail server does not take it: {type(error).__name__}") from error

    return send


def _command(entry: Mapping[str, Any]) -> Send:
    command = entry["command"]
    if not isinstance(command, list) or not command or not all(isinstance(word, str) for word in command):
        raise ValueError("command must be a list of texts")

    def send(notice: Notice, host: str) -> None:
        (body,) = messages.own(notice, host)
        try:
            done = subprocess.run(
                command, input=json.dumps(body).encode(), capture_output=True, timeout=TIMEOUT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SendError(f"the command cannot be run: {_what(error)}") from error
        if done.returncode != 0:
            raise SendError(f"the command ended with {done.returncode}")

    return send


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name, "")
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text")
    return value


def _secret(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return file.read(_MOST_SECRET_BYTES).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SendError(f"{path} cannot be read: {_what(error)}") from error


def _what(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return f"{error.args[0]} is needed"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return type(error).__name__ if isinstance(error, subprocess.TimeoutExpired) else str(error)
