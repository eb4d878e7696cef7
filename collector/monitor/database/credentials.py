"""As whom one connects: an option file as the server's own clients have (my.cnf), or the user of this process."""

from __future__ import annotations

import configparser
import os
import pwd
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_MOST_BYTES: Final = 64 << 10
_FOR_ALL: Final = "client"


class CredentialsError(Exception):
    """The file cannot be used; the message has no content of it."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """User and password, and the authority that vouches for the server where TLS is wanted."""

    user: str
    password: str = field(default="", repr=False)
    ca_file: str = ""


def read(path: str, server: str) -> Credentials:
    """Those for *server*, of the section [SERVER] and, what that does not say, of [client].

    Without a file it is the user of this process without a password, whom a server may know by its socket. Raises
    CredentialsError.
    """
    if not path:
        return Credentials(_process_user())
    found = parse(_text(path), server)
    return found if found.user else Credentials(_process_user(), found.password, found.ca_file)


def parse(text: str, server: str) -> Credentials:
    """The same of the text of such a file; the user may be empty. Raises CredentialsError."""
    parser = configparser.RawConfigParser(
        delimiters=("=",), allow_no_value=True, strict=False, default_section="", empty_lines_in_values=False
    )
    try:
        parser.read_string(text)
    except configparser.Error as error:
        line = getattr(error, "lineno", None)
        where = f" at line {line}" if line else ""
        raise CredentialsError(f"is no option file{where}") from None
    options: dict[str, str] = {}
    for section in (_FOR_ALL, server):
        if parser.has_section(section):
            options |= {name.replace("_", "-"): _bare(value or "") for name, value in parser.items(section)}
    return Credentials(options.get("user", ""), options.get("password", ""), options.get("ssl-ca", ""))


def _text(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return file.read(_MOST_BYTES).decode()
    except OSError as error:
        raise CredentialsError(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise CredentialsError("is not UTF-8") from None


def _bare(value: str) -> str:
    value = value.strip()
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if quoted else value


def _process_user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
