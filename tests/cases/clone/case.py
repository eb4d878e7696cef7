from __future__ import annotations

from tests.support import mysql_packets as mysql
from tests.support.talks import ONE_ROW, Case, Talk

INIT, ATTACH, REINIT, EXECUTE, ACK, EXIT = range(1, 7)
LOCATORS = b"\x03\x01\0\0\x2c\x01\0\x80" + b"\x0c\x80\0\0\0\0\0\0\x64\0\0\0\x22\0\0\0\x01\0\0\0"
DATA = mysql.packet(3, b"\x03" + b"page after page " * 80)
COMPLETE = mysql.packet(0, b"\x63")

talk = Talk().log_in()
talk.client(mysql.command(0x20)).server(mysql.error(1524, b"Plugin 'clone' is not loaded", b"HY000"))
talk.client(mysql.query(b"SELECT 1")).server(ONE_ROW)
talk.client(mysql.command(0x20)).server(mysql.ok())
talk.client(mysql.command(INIT, LOCATORS)).server(mysql.packet(0, b"\x07\x06\0\0\0binlog\0\0\0\0"), COMPLETE)
talk.client(mysql.command(ATTACH, b"shop")).server(COMPLETE)
talk.client(mysql.command(EXECUTE)).server(DATA, DATA, mysql.packet(1, b"\0\0\0\x02\0\0\0"))
talk.client(mysql.command(REINIT, b"DROP TABLE t")).server(COMPLETE)
talk.client(mysql.command(ACK, b"\0\0\0\0\x0c" + LOCATORS)).server(COMPLETE)
talk.client(mysql.command(EXIT)).server(COMPLETE)
talk.client(mysql.command(0x1F)).server(mysql.ok())
talk.client(mysql.command(0x20)).server(mysql.ok())
talk.client(mysql.command(1)).end()

CASE = Case(
    packets=talk.captured,
    expected=[
        {"command": "connect", "status": "ok"},
        {"command": "clone", "status": "error", "error_code": 1524},
        {"command": "query", "sql": b"SELECT 1", "status": "result"},
        {"command": "clone", "status": "ok"},
        {"command": "reset_connection", "status": "ok"},
        {"command": "clone", "status": "ok"},
        {"command": "quit", "status": "unknown"},
    ],
)
