"""Sends with a command-line client: MariaDB's `mariadb`, or the `mysql` of MySQL 9.7."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any, Never

from tests.support import serverrules
from tests.system import plan
from tests.system.own import CIPHER, Arguments, Cell, Expected, Sender, main

_ID = "SELECT CONNECTION_ID()"
_END = "//"
_CANNOT = {
    **dict.fromkeys(("prepared", "cursors", "bulk"), "the client prepares nothing on the server"),
    "change_user": "the client has no command for it",
    "pipelining": "the client waits for each answer",
}


class _Client:
    def __init__(self, arguments: Arguments) -> None:
        self._arguments = arguments
        self._program = shlex.split(arguments.programs)
        self.mysql = "ld-linux" in self._program[0]
        """Whether it is MySQL's, which is not installed and has its plugins where it is."""

    def run(
        self, script: list[str], *options: str, user: str = "", password: str = "", charset: str = "utf8mb4"
    ) -> tuple[list[str], list[int]]:
        """Feed it lines; the lines it printed, and the errors it was told."""
        own = ["--skip-ssl"]
        if self.mysql:
            plugins = Path(self._program[-1]).parents[1] / "lib" / "mysql" / "plugin"
            own = ["--commands", "--ssl-mode=DISABLED", "--get-server-public-key", f"--plugin-dir={plugins}"]
        command = [
            *self._program, "--no-defaults", "--host=127.0.0.1", "--protocol=tcp", f"--port={self._arguments.port}",
            f"--user={user or self._arguments.user}", f"--password={password or self._arguments.password}", "--force",
            "--comments", "--batch", "--skip-column-names", "--local-infile=1", "--max-allowed-packet=64M",
            f"--default-character-set={charset}", *own, *options, plan.DATABASE,
        ]  # fmt: skip
        text = "".join(line + "\n" for line in script).encode(serverrules.codec(charset))
        done = subprocess.run(command, input=text, capture_output=True, timeout=300, check=False)
        errors = [int(number) for number in re.findall(rb"^ERROR (\d+)", done.stderr, re.MULTILINE)]
        return done.stdout.decode(errors="replace").splitlines(), errors


class _CommandLine(Sender):
    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self._client = _Client(arguments)
        self.cannot |= _CANNOT
        if not self._client.mysql:
            self.cannot["zstd"] = "the client compresses by zlib only"
            self.cannot |= dict.fromkeys(("query_attributes", "reset_connection"), "the client has no command for it")

    def connect(self, **options: Any) -> Never:  # noqa: ANN401  # as the class it is of
        raise NotImplementedError(f"a script is sent as a whole: {options}")

    def refused(self, user: str) -> int:
        return self._client.run([], user=user, password="wrong")[1][0]

    def send(
        self,
        cell: Cell,
        statements: list[plan.Planned],
        expected: Expected | None = None,
        **options: Any,  # noqa: ANN401
    ) -> None:
        charset = options.pop("charset", "utf8mb4")
        script = ["DELIMITER " + _END, *(text + _END for text in (_ID, *(each.text for each in statements)))]
        printed, errors = self._client.run(script, *options.get("arguments", ()), charset=charset)
        wanted = [each.error for each in statements if each.error]
        if errors != wanted:
            raise RuntimeError(f"errors {errors}, not {wanted}: {printed[:3]}")
        number = int(printed[0])
        cell.note(number, "Query", _ID, charset=charset)
        for text, error, late in statements:
            cell.note(number, "Query", text, charset=charset, error=0 if late else error, **expected or {})
        cell.note(number, "Quit")

    def tls(self, cell: Cell) -> None:
        option = "--ssl-mode=REQUIRED" if self._client.mysql else "--ssl"
        script = [f"{_ID};", f"{CIPHER};", *(f"{each.text};" for each in self.arguments.statements["text"][:5])]
        printed, errors = self._client.run(script, option)
        if errors:
            raise RuntimeError(f"errors {errors}: {printed[:3]}")
        cell.note(int(printed[0]), "TLS", printed[1].partition("\t")[2])

    def zlib(self, cell: Cell) -> None:
        option = "--compression-algorithms=zlib" if self._client.mysql else "--compress"
        self.send(cell, self.arguments.statements["text"], {"compressed": True}, arguments=(option,))

    def zstd(self, cell: Cell) -> None:
        option = "--compression-algorithms=zstd"
        self.send(cell, self.arguments.statements["text"], {"compressed": True}, arguments=(option,))

    def connection_attributes(self, cell: Cell) -> None:
        self.send(cell, self.arguments.statements["text"], {"program": "mysql"})

    def _scripted(self, cell: Cell, lines: list[tuple[str, str, str, Expected]]) -> None:
        """Feed lines of which each is a command of its own: what is fed, the command, its text, what is expected."""
        printed, errors = self._client.run([f"{_ID};", *(line for line, *_ in lines)])
        if errors:
            raise RuntimeError(f"errors {errors}: {printed[:3]}")
        for _, command, text, expected in lines:
            cell.note(int(printed[0]), command, text, **expected)
        cell.note(int(printed[0]), "Quit")

    def query_attributes(self, cell: Cell) -> None:
        named = (("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), ("other", "ünï"))
        attributes = " ".join(("query_attributes", *(part for pair in named for part in pair)))
        self._scripted(cell, [
            (f"{attributes}\nSELECT 'two';", "Query", "SELECT 'two'", {"query_attributes": named}),
            ("SELECT 'without';", "Query", "SELECT 'without'", {"query_attributes": None}),
        ])  # fmt: skip

    def use_database(self, cell: Cell) -> None:
        self._scripted(cell, [
            (f"USE {plan.OTHER_DATABASE}", "Init DB", plan.OTHER_DATABASE, {}),
            ("SELECT 'in other';", "Query", "SELECT 'in other'", {"database": plan.OTHER_DATABASE}),
            (f"USE {plan.DATABASE}", "Init DB", plan.DATABASE, {}),
            ("SELECT 'in app';", "Query", "SELECT 'in app'", {"database": plan.DATABASE}),
        ])  # fmt: skip

    def reset_connection(self, cell: Cell) -> None:
        self._scripted(cell, [
            ("resetconnection;", "Reset connection", "", {}),
            ("SELECT 'the next';", "Query", "SELECT 'the next'", {}),
        ])  # fmt: skip


if __name__ == "__main__":
    main(_CommandLine)
