"""Passwords are hidden in every statement that has one, and nothing else is."""

from __future__ import annotations

import pytest

from workers.sql.firstlook import may_hold_password
from workers.sql.passwords import SECRET, holds_password, without_passwords
from workers.sql.tokens import ESCAPES, UNKNOWN

# The places of secrets are marked: «…» is a literal's text that must not be left, the quotes around it are in it.
HIDDEN = [
    # https://dev.mysql.com/doc/refman/en/create-user.html, alter-user.html; https://mariadb.com/kb/en/create-user/
    "CREATE USER 'a'@'b' IDENTIFIED BY «'s3'»",
    "CREATE USER a IDENTIFIED BY «'s3'», 'c'@'d' IDENTIFIED BY «\"s3\"» REQUIRE SUBJECT '/CN=x' COMMENT 'c'",
    "CREATE USER a IDENTIFIED WITH caching_sha2_password BY «'s3'» ATTRIBUTE '{\"a\": \"b\"}'",
    "CREATE USER a IDENTIFIED WITH 'caching_sha2_password' AS «0x7333»",
    "CREATE USER a IDENTIFIED WITH p BY «'s3'» AND IDENTIFIED WITH q AS «'s3'» DEFAULT ROLE 'r'",
    "CREATE USER a IDENTIFIED BY PASSWORD «'*s3'»",
    "CREATE USER a IDENTIFIED WITH p USING «'s3'»",
    "CREATE OR REPLACE USER a IDENTIFIED VIA ed25519 USING PASSWORD(«'s3'») OR unix_socket",
    "CREATE USER a IDENTIFIED VIA mysql_native_password USING «'*s3'» OR 'ed25519' USING PASSWORD(«'s3'»)",
    "ALTER USER IF EXISTS a IDENTIFIED BY «'s3'» REPLACE «'s3'» RETAIN CURRENT PASSWORD, 'v' DISCARD OLD PASSWORD",
    "ALTER USER USER() IDENTIFIED BY «'s3'» REPLACE «'s3'»",
    "ALTER USER a MODIFY 2 FACTOR IDENTIFIED WITH p BY «'s3'»",
    "ALTER USER a INITIAL AUTHENTICATION IDENTIFIED BY «'s3'»",
    "ALTER USER a 2 FACTOR FINISH REGISTRATION SET CHALLENGE_RESPONSE AS «'s3'»",
    "SET STATEMENT max_statement_time=10 FOR ALTER USER u1 IDENTIFIED BY «'s3'»",
    # https://dev.mysql.com/doc/refman/en/set-password.html; https://mariadb.com/kb/en/set-password/
    "SET PASSWORD = «'s3'»",
    "SET PASSWORD FOR 'u'@'h' = «'s3'» REPLACE «'s3'»",
    "SET PASSWORD FOR CURRENT_USER() = PASSWORD(«'s3'»)",
    "SET PASSWORD FOR u@localhost := OLD_PASSWORD(«'s3'»), a = 'b'",
    # https://dev.mysql.com/doc/refman/5.7/en/grant.html; https://mariadb.com/kb/en/grant/
    "GRANT ALL ON *.* TO u IDENTIFIED BY «'s3'», v IDENTIFIED BY PASSWORD «'s3'» WITH GRANT OPTION",
    # https://dev.mysql.com/doc/refman/en/change-replication-source-to.html; https://mariadb.com/kb/en/change-master-to/
    "CHANGE MASTER TO MASTER_HOST='h', MASTER_PASSWORD=«'s3'», MASTER_PORT=3306",
    "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'u', SOURCE_PASSWORD = «'s3'», SOURCE_LOG_FILE = 'f' FOR CHANNEL 'c'",
    # https://dev.mysql.com/doc/refman/en/start-replica.html, start-group-replication.html
    "START SLAVE USER='u' PASSWORD=«'s3'» DEFAULT_AUTH='p'",
    "START REPLICA UNTIL SOURCE_LOG_FILE = 'f', SOURCE_LOG_POS = 4 USER = 'u' PASSWORD = «'s3'»",
    "START GROUP_REPLICATION USER='u', PASSWORD=«'s3'», DEFAULT_AUTH='p'",
    # https://dev.mysql.com/doc/refman/en/create-server.html, alter-server.html
    "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD «'s3'», PORT 3306)",
    "ALTER SERVER s OPTIONS (PASSWORD «'s3'»)",
    # https://dev.mysql.com/doc/refman/en/clone.html
    "CLONE INSTANCE FROM 'u'@'h':3306 IDENTIFIED BY «'s3'» REQUIRE SSL",
    # https://dev.mysql.com/doc/refman/en/federated-create-connection.html
    "CREATE TABLE t (password VARCHAR(64)) ENGINE=FEDERATED CONNECTION=«'mysql://u:s3@h:3306/d/t'» COMMENT 'c'",
    # https://mariadb.com/kb/en/connect-mysql-table-type-accessing-mysqlmariadb-tables/, spider-table-parameters
    "CREATE TABLE t ENGINE=CONNECT OPTION_LIST=«'user=u,password=s3'» DBNAME='d'",
    "CREATE TABLE t (a INT) ENGINE=SPIDER COMMENT=«'host \"h\", password \"s3\"'»",
    # https://dev.mysql.com/doc/refman/en/encryption-functions.html; https://mariadb.com/kb/en/encryption-hashing-and-compression-functions/
    "SELECT PASSWORD(«'s3'»), OLD_PASSWORD(«_utf8's3'»), ENCRYPT(«'s3'»)",
    "SELECT AES_ENCRYPT('data', «'s3'», «0x7333»), AES_DECRYPT(a, CONCAT(«'s3'», b)), 'c'",
    "SELECT DES_ENCRYPT('data', «'s3'»), ENCODE('data', «'s3'»), DECODE(a, «'s3'»)",
    "SELECT keyring_key_store('id', 'AES', «'s3'»), VALIDATE_PASSWORD_STRENGTH(«'s3'»)",
    # https://galeracluster.com/library/documentation/mysql-wsrep-options.html
    "SET GLOBAL wsrep_sst_auth = «'u:s3'»",
    "SET @@global.wsrep_sst_auth=«'u:s3'»",
    # what nobody's grammar calls a password, but its name does
    "UPDATE users SET password = «'s3'», name = 'n' WHERE `old_password` = «'s3'» AND a = 'b'",
    "SELECT a FROM users WHERE password IN («'s3'», «'s3'») OR passwd LIKE «'s3%'» OR a = 1",
    "UPDATE users SET password = SHA2(CONCAT(«'s3'», salt), «256»), a = CONCAT('b', 'c')",
    "SET @root_password := «'s3'», @b = 'c'",
    "UPDATE mysql.user SET authentication_string = «'*s3'» WHERE user = 'u'",
    "INSERT INTO mysql.user (Host, User, Password) VALUES ('h', 'u', PASSWORD(«'s3'»))",
    "INSERT INTO t VALUES (1, «'{\"user\": \"u\", \"password\": \"s3\"}'»)",
    # texts in texts
    "PREPARE s FROM «'CREATE USER a IDENTIFIED BY ''s3'''»",
    "EXECUTE IMMEDIATE «'CREATE USER a IDENTIFIED BY ?'» USING «'s3'»",
    "SET @s = «\"SET PASSWORD = 's3'\"»",
    "SET @s = CONCAT(«'CREATE USER a IDENTIFIED BY \"'», «'s3'», «'\"'»)",
    "SET @s = CONCAT(«'SET PASSWORD = '», QUOTE(«'s3'»))",
    "INSERT INTO t VALUES («'PREPARE s FROM ''CREATE USER a IDENTIFIED BY ''''s3'''''''», 'x')",
    "INSERT INTO t VALUES («'CREATE USER a IDENTIFIED BY \\'s3\\''»)",
    "CREATE PROCEDURE p() BEGIN SET PASSWORD = «'s3'»; SELECT 'x'; END",
    "SELECT 'a'; CREATE USER a IDENTIFIED BY «'s3'»; SELECT 'b'",
    # hidden ways to write it
    "create/**/user a identified/* IDENTIFIED */by/**/«'s3'»",
    "CREATE USER a IDENTIFIED -- IDENTIFIED\n BY «'s3'»",
    "/*!50000 CREATE USER a IDENTIFIED */ BY «'s3'»",
    "/*!80000 CREATE USER a IDENTIFIED BY «'s3'» */",
    "CREATE USER a IDENTIFIED /*M!100100 BY */ «'s3'»",
    "CREATE USER a IDENTIFIED BY «'s3''s3'»",
    "CREATE USER a IDENTIFIED BY «'s3",
    "SET PASSWORD = «'s3'» «'s3'», a = 'b'",
    "SET PASSWORD = _latin1«'s3'»",
]

KEPT = [
    "SELECT 'password', 'x', password FROM t WHERE a = 'b'",
    "INSERT INTO log VALUES ('user forgot his password', 'x')",
    "SELECT identified, 'x' FROM t ORDER BY identified",
    "CREATE TABLE t (password VARCHAR(64) DEFAULT 'x', passwd INT(5))",
    "ALTER USER a PASSWORD EXPIRE INTERVAL 90 DAY FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME 2",
    "ALTER USER a IDENTIFIED BY RANDOM PASSWORD COMMENT 'x'",
    "SHOW VARIABLES LIKE 'validate_password%'",
    "SET GLOBAL validate_password.policy = 'LOW', default_password_lifetime = 90",
    "SELECT @@character_set_connection, CONNECTION_ID(), 'x'",
    "CREATE TABLE t (a INT) ENGINE=FEDERATED CONNECTION='server/table'",
    "REPLACE INTO t VALUES ('x', 'decode')",
    "SELECT TO_BASE64('encode'), REPLACE(password, 'a', 'b')",
    "INSERT INTO urls VALUES ('https://example.com/connection')",
]


def marked(text: str) -> tuple[bytes, list[bytes]]:
    """The statement without its marks, and what was marked."""
    secrets = []
    rest = text
    while "«" in rest:
        rest = rest.split("«", 1)[1]
        secret, _, rest = rest.partition("»")
        secrets.append(secret.encode())
    return text.replace("«", "").replace("»", "").encode(), secrets


@pytest.mark.parametrize("text", HIDDEN)
@pytest.mark.parametrize("escapes", [UNKNOWN, ESCAPES])
def test_a_password_is_hidden(text: str, escapes: int) -> None:
    sent, secrets = marked(text)
    hidden = without_passwords(sent, escapes, "utf8mb4").text
    assert b"s3" not in hidden
    assert SECRET in hidden
    assert may_hold_password(sent)
    assert without_passwords(hidden, escapes, "utf8mb4").text == hidden
    if escapes == ESCAPES or b"\\" not in sent:
        wanted = sent
        for secret in secrets:
            introduced = secret.startswith(b"_")
            wanted = wanted.replace(secret, (secret.partition(b"'")[0] if introduced else b"") + SECRET, 1)
        assert hidden == wanted


@pytest.mark.parametrize("text", KEPT)
def test_what_is_no_password_is_kept(text: str) -> None:
    sent = text.encode()
    assert without_passwords(sent, ESCAPES, "utf8mb4").text is sent
    assert not without_passwords(sent, ESCAPES, "utf8mb4").is_bound


@pytest.mark.parametrize(
    "text",
    [
        "CREATE USER a IDENTIFIED BY ?",
        "SET PASSWORD FOR a = ?",
        "SELECT PASSWORD(?)",
        "CHANGE MASTER TO MASTER_PASSWORD = ?",
    ],
)
def test_a_value_that_is_bound_is_a_password_where_a_literal_would_be(text: str) -> None:
    assert without_passwords(text.encode()) == (text.encode(), True)


def test_comments_are_hidden_that_have_a_password() -> None:
    text = b"/* SET PASSWORD = 's3' */ SELECT 1 -- IDENTIFIED BY 's3'\n, 2 # no password\n"
    assert without_passwords(text).text == b"/* <secret> */ SELECT 1 -- <secret>\n, 2 # no password\n"


def test_all_is_hidden_from_where_the_text_cannot_be_read_for_sure() -> None:
    text = b"CREATE USER 'a\\'b' IDENTIFIED BY 's3'"
    assert without_passwords(text, UNKNOWN).text == b"CREATE USER '<secret>'"
    assert without_passwords(text, ESCAPES).text == b"CREATE USER 'a\\'b' IDENTIFIED BY '<secret>'"


def test_texts_in_texts_are_read_to_a_certain_depth() -> None:
    text = "password"
    for _ in range(10):
        text = "'" + text.replace("'", "''") + "'"
    assert b"'<secret>'" in without_passwords(f"SELECT {text}".encode()).text


@pytest.mark.parametrize(
    ("data", "held"),
    [
        (b"\x00\x01\xfe\x00\x23CREATE USER a IDENTIFIED BY 's3'", True),
        (b"near 'IDENTIFIED BY 's3'' at line 1", True),
        (b"user=u,password=s3", True),
        (b"Access denied for user 'u'@'h' (using password: YES)", False),
        (b"Unknown column 'password' in 'field list'", False),
        (b"nothing", False),
    ],
)
def test_what_is_no_statement_can_hold_one_too(data: bytes, held: bool) -> None:
    assert holds_password(data) is held
