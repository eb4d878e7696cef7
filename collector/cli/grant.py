"""`querytap grant`: the account that the monitor takes, as SQL to be read and run by an administrator."""

from __future__ import annotations

import argparse
import re
import secrets

from collector.monitor.database.account import KINDS, Account, option_file, statements

EXAMPLE = "querytap grant --kind mysql --host 127.0.0.1 | mysql"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which server, and who."""
    parser.add_argument(
        "--kind", choices=KINDS, default="mariadb", help="mariadb: from 10.5 on (default); mysql: from 8.0 on"
    )
    parser.add_argument("--user", type=_name, default="querytap", help="the account's name (querytap)")
    parser.add_argument("--host", type=_name, default="localhost", help="where it connects from (localhost)")
    parser.add_argument(
        "--socket",
        action="store_true",
        help="no password: the server knows the system's user of that name by its Unix socket"
        " (under systemd the monitor is querytap-monitor)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print it; 0."""
    password = None if arguments.socket else secrets.token_urlsafe(24)
    account = Account(arguments.kind, arguments.user, arguments.host, password)
    if password is not None:
        print("-- For the file that monitor.credentials_file names, readable by the monitor's user alone:")
        for line in option_file(account):
            print(f"--   {line}")
    for line in statements(account):
        print(line)
    return 0


def _name(text: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9_.:%-]{1,60}", text, re.ASCII) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no name")
    return text
