"""Makes an aggregator of its parts, where one before it was stopped short with what that left, and runs it."""

from __future__ import annotations

import gc
import logging
import os
import secrets
import signal
import socket
import time
from pathlib import Path

from collector.aggregator.bounds import bounds_of
from collector.aggregator.budget import Budget, packets_seen
from collector.aggregator.chain import open_chain
from collector.aggregator.clock import clock_state
from collector.aggregator.inlet import Inlet
from collector.aggregator.intake import Intake, endpoint
from collector.aggregator.keys import instance_key, recipients
from collector.aggregator.ledger import Ledger
from collector.aggregator.process import Aggregator
from collector.aggregator.resuming import Objects, resume, supervisor
from collector.aggregator.shipping import Origin, Shipper
from collector.aggregator.spool import Spool, open_store
from collector.aggregator.store import LocalFolder, TransportError
from collector.aggregator.upload import Uploader
from collector.archive.keyfile import identity
from collector.boot import boot_id
from collector.budget.meter import Meter
from collector.child import Changes
from collector.config import Config, StartError
from collector.notify import Manager
from collector.places import CHAIN_FILE, aggregator_state
from collector.release import version
from workers.allocator import keep_freed_memory

_log = logging.getLogger("aggregator")


def run(
    config: Config, workers: int, statistics: Inlet, samples: Inlet, *, changes: Changes, manager: Manager | None = None
) -> None:
    """Run until capture has ended and every block is stored, or the time for that is over. Raises StartError.

    As a service of *manager* it runs until SIGTERM, whatever becomes of capture meanwhile.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the whole group; the supervisor decides
    keep_freed_memory()
    store = open_store(config)
    ledger = Ledger(workers)
    meter = Meter(lambda: {os.getpid(), os.getppid(), statistics.peer, samples.peer} - {0, 1})
    budget = Budget(config, meter, time.monotonic_ns(), packets_seen)
    origin, shipper, uploader = _shipper(config, store, ledger, budget, lasting=statistics.lasting)
    bounds = bounds_of(config)
    bounds.apply(workers)
    intake = Intake([endpoint(Path(config.paths.run), number) for number in range(workers)], bounds.message_bytes)
    aggregator = Aggregator(
        config=config,
        origin=origin,
        ledger=ledger,
        shipper=shipper,
        store=store,
        uploader=uploader,
        intake=intake,
        budget=budget,
        statistics=statistics,
        samples=samples,
        changes=changes,
        manager=manager or Manager({}),
    )
    _log.info("instance %s, archive %s", origin.instance, aggregator.place)
    gc.freeze()  # what start-up made stays: no collection has to look at it again
    try:
        aggregator.begin()
        aggregator.run()
    finally:
        intake.close()


def _shipper(
    config: Config, store: LocalFolder, ledger: Ledger, budget: Budget, *, lasting: bool
) -> tuple[Origin, Shipper, Uploader | None]:
    own = aggregator_state(config.paths.state)
    key = instance_key(own)
    public_key = key.public_key().public_bytes_raw()
    chain = open_chain(own / CHAIN_FILE, identity(public_key).hex(), store)
    under = supervisor()
    try:
        resumed = resume(chain.beside, under, ledger, store, ended=lasting)
    except TransportError as error:
        raise StartError(f"the object sealed last cannot be read: {error}") from error
    objects = resumed.objects if resumed else Objects()
    uploader = Uploader(store, config, objects) if isinstance(store, Spool) else None
    origin = _origin(public_key, under, resumed.run if resumed else secrets.token_hex(8))
    shipper = Shipper(
        origin=origin,
        key=key,
        recipients=recipients(config),
        store=store,
        chain=chain,
        ledger=ledger,
        clock=clock_state,
        objects=objects,
        uploads=None if uploader is None else uploader.figures,
        budget=budget.account,
    )
    return origin, shipper, uploader


def _origin(public_key: bytes, under: str, run: str) -> Origin:
    return Origin(
        instance=identity(public_key).hex(),
        public_key=public_key,
        host=socket.gethostname(),
        boot=boot_id(),
        run=run,
        under=under,
        software=f"querytap {version() or 'unknown'}",
    )
