"""Numbers of the MySQL client/server protocol, as the protocol documents name them.

MySQL: "MySQL Internals: Client/Server Protocol" (dev.mysql.com/doc/dev/mysql-server, pages ``page_protocol_*``).
MariaDB: "Clientserver Protocol" (mariadb.com/kb/en/clientserver-protocol).
"""

from typing import Final

# Commands: page_protocol_command_phase, enum_server_command.
COM_QUIT: Final = 0x01
COM_INIT_DB: Final = 0x02
COM_QUERY: Final = 0x03
COM_FIELD_LIST: Final = 0x04
COM_CREATE_DB: Final = 0x05
COM_DROP_DB: Final = 0x06
COM_STATISTICS: Final = 0x09
COM_PROCESS_KILL: Final = 0x0C
COM_CHANGE_USER: Final = 0x11
COM_BINLOG_DUMP: Final = 0x12
COM_TABLE_DUMP: Final = 0x13
COM_STMT_PREPARE: Final = 0x16
COM_STMT_EXECUTE: Final = 0x17
COM_STMT_SEND_LONG_DATA: Final = 0x18
COM_STMT_CLOSE: Final = 0x19
COM_STMT_RESET: Final = 0x1A
COM_STMT_FETCH: Final = 0x1C
COM_BINLOG_DUMP_GTID: Final = 0x1E
COM_RESET_CONNECTION: Final = 0x1F
COM_CLONE: Final = 0x20
COM_STMT_BULK_EXECUTE: Final = 0xFA
"""MariaDB's: page "COM_STMT_BULK_EXECUTE"."""

CONNECT: Final = 0x100
"""Not a command of the protocol: the login, which we record as one."""

# Capability flags: group__group__cs__capabilities__flags.
CLIENT_CONNECT_WITH_DB: Final = 1 << 3
CLIENT_COMPRESS: Final = 1 << 5
CLIENT_PROTOCOL_41: Final = 1 << 9
CLIENT_SSL: Final = 1 << 11
CLIENT_SECURE_CONNECTION: Final = 1 << 15
CLIENT_MULTI_RESULTS: Final = 1 << 17
CLIENT_PLUGIN_AUTH: Final = 1 << 19
CLIENT_CONNECT_ATTRS: Final = 1 << 20
CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA: Final = 1 << 21
CLIENT_DEPRECATE_EOF: Final = 1 << 24
CLIENT_ZSTD_COMPRESSION_ALGORITHM: Final = 1 << 26
CLIENT_QUERY_ATTRIBUTES: Final = 1 << 27

# First byte of an answer: page_protocol_basic_response_packets, page_protocol_com_query_response.
OK_HEADER: Final = 0x00
LOCAL_INFILE_HEADER: Final = 0xFB
EOF_HEADER: Final = 0xFE
ERR_HEADER: Final = 0xFF

# Status flags of OK and EOF: mysql_com.h, SERVER_STATUS_flags_enum.
SERVER_MORE_RESULTS_EXISTS: Final = 1 << 3
SERVER_QUERY_NO_GOOD_INDEX_USED: Final = 1 << 4
SERVER_QUERY_NO_INDEX_USED: Final = 1 << 5
SERVER_STATUS_CURSOR_EXISTS: Final = 1 << 6
SERVER_STATUS_NO_BACKSLASH_ESCAPES: Final = 1 << 9
SERVER_QUERY_WAS_SLOW: Final = 1 << 11
SERVER_SESSION_STATE_CHANGED: Final = 1 << 14

PREPARE_NO_ID: Final = 0xFFFFFFFF
"""MariaDB clients send an execution right behind its PREPARE with this id: "the statement prepared last"."""

PARAMETER_COUNT_AVAILABLE: Final = 0x08
"""Flag of COM_STMT_EXECUTE: the count of its parameters, query attributes included, is in the packet."""

MAX_PACKET: Final = 0xFFFFFF
"""A payload of this length is continued in the next packet: page_protocol_basic_packets."""
