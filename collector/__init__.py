"""Everything of querytap that runs on the host beside the workers, or reads what was shipped."""
