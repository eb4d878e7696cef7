"""The hot path alone: from a mapped ring to finished blocks, in one process, without a network."""
