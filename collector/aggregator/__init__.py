"""Gathers the workers' blocks into batches, compresses, seals and stores them, and keeps the ledger."""
