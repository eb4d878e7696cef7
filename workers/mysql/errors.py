"""What goes wrong inside the protocol code. Never leaves workers.mysql: the conversation turns it into an event."""


class StreamViolation(Exception):
    """The bytes are not what the protocol allows here."""
