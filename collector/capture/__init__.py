"""How packets leave the kernel: sockets, rings, the filter, and the processes that read the rings."""
