"""What it costs to read an archive: digest and search, beside a compressed text log and other tools."""
