"""The X Protocol of MySQL's document store (port 33060): as workers.mysql is for the classic one.

Plain Python throughout: connections of this kind are few beside the classic ones, so compiling it is not worth it yet.
"""
