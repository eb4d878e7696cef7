"""The form of stored objects, shared by what writes and what reads them. Pure: no file, no cryptography."""
