from __future__ import annotations

import subprocess
import sys

THREADS_KEYS_AND_NETWORK = ("zmq", "obstore", "pymysql", "cryptography", "collector.aggregator")


def test_capture_imports_nothing_that_has_threads_keys_or_a_network_as_it_forks() -> None:
    program = f"""
import sys, collector.capture.process
print([name for name in {THREADS_KEYS_AND_NETWORK} if name in sys.modules])
"""
    paths = [path for path in sys.path if path]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {paths}\n{program}"], capture_output=True, check=True
    )
    assert done.stdout == b"[]\n"
