"""Run in a guest: what querytap chooses on this kernel when nothing is configured, and what the kernel has, as JSON."""

from __future__ import annotations

import json
import platform
import re
import sys

from collector.capture import landlock
from tests.support import processes
from tests.support.collector import Collector
from tests.support.folders import reachable_folder
from tests.support.namespaces import Namespace


def main() -> None:
    with (
        Namespace() as namespace,
        reachable_folder() as folder,
        Collector(namespace, folder, 3306, workers=2) as collector,
    ):
        command = processes.querytap("status", "--set", f'paths.run="{folder}/run"')
        status = namespace.run(command).stdout.decode()
        assert collector.stop() == 0, collector.complaint()
    said = dict(re.findall(r"(method|fanout|sandbox) +(.*)", status))
    json.dump({"release": platform.release(), "landlock": landlock.version(), "said": said}, sys.stdout)


if __name__ == "__main__":
    main()
