"""What a worker counts. Each name is a row here, and only here; ledger, metrics and docs follow.

The ``packets_`` rows divide up all packets the worker took from its ring: each is counted under exactly one of them.
"""

from typing import Final

PACKETS: Final = {
    "packets_used": "Opened, closed or carried on a connection, or began an answer that was waited for.",
    "packets_duplicate": "Brought nothing that had not been seen: sent again, or a keep-alive.",
    "packets_empty": "Carried neither data nor a change of the connection.",
    "packets_unmatched": "From the server, and answered no open command: rows that look like an answer's beginning.",
    "packets_encrypted": "Of a connection that uses TLS.",
    "packets_compressed": "Of a connection that uses protocol compression.",
    "packets_desync": "From a client, in a stream where no command could be trusted to begin.",
    "packets_stray": "Of a connection, but where its receiver takes nothing: forged, or very much was lost.",
    "packets_fragment": "A fragment of an IP datagram.",
    "packets_malformed": "Headers that contradict themselves, or were cut off.",
    "packets_foreign": "Not TCP, or between ports that are no server's.",
}
"""Where a packet went."""

STATEMENTS: Final = {
    "statements_decoded": "Commands read whole or up to the limit, logins included.",
    "statements_packed": "Of them, those put into a block; the others wait for their answer, or were left out.",
    "statements_filtered": "Of the decoded, those left out, as the rules of privacy.omit_* and privacy.only_* say.",
    "statements_truncated": "Of the decoded, those whose text was cut by a limit or a gap.",
}
"""What was read."""

EVENTS: Final = {
    "gaps": "Places where bytes of a client never came.",
    "gap_bytes": "How many.",
    "gaps_waited": "Of the gaps, those that stayed open for decode.gap_timeout_ms.",
    "gaps_flow_full": "Those behind which more waited than decode.max_flow_buffer_kib.",
    "gaps_memory_full": "Those given up because all connections together held decode.max_buffer_mib.",
    "gaps_snapped": "Those in packets of which not all was captured.",
    "gaps_ended": "Those that were open when the connection ended.",
    "gaps_filled_late": "Times bytes came that had been given up; they are read where they belong.",
    "answer_gaps": "Places where bytes of a server never came, where all of its answers are read.",
    "answer_gap_bytes": "How many.",
    "frames_snapped": "Packets of which not all was captured.",
    "segments_held": "Segments that came before their turn.",
    "segments_disagreeing": "Copies of one byte range that differed; the first was used.",
    "resyncs": "Times a client's stream got out of step.",
    "parameters_unread": "Executions whose bound values could not be read.",
    "prepared_forgotten": "Prepared statements given up because a connection had too many.",
    "durations_unknown": "Statements whose times are left out, as the host's clock was set while they ran.",
    "clock_steps": "Times the host's clock was set.",
    "blocks_losing": "Blocks of the ring that say that the kernel dropped packets before them, for want of room.",
    "connections_opened": "Connections that were followed.",
    "connections_half_open": "Connections on which nothing was said, and which ended or went to make room for others.",
    "connections_evicted": "Connections given up to make room for others.",
    "connections_encrypted": "Connections that use TLS, which nobody can read.",
    "encrypted_bytes": "Bytes that clients sent in them under TLS, each counted once, captured or not.",
    "encrypted_answer_bytes": "The same of servers, as far as they are seen or acknowledged.",
    "sessions_restored": "Connections of which it is known from the worker before who talks and what was prepared.",
    "checkpoint_dropped": "Sessions and prepared statements that the next worker would not know, for want of room.",
    "checkpoint_damaged": "Times what the worker before left could not be read, so that nothing is known of it.",
}
"""What happened on the way."""

MEANING: Final = PACKETS | STATEMENTS | EVENTS
NAMES: Final[tuple[str, ...]] = tuple(MEANING)
