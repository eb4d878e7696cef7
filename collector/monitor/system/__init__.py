"""Figures of the host: processors, memory, disks, network, pressure, and the processes of the servers."""
