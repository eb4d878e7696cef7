"""Everything that reads what was shipped: objects, archives, search, and how a statement is printed."""
