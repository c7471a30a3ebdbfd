# SPDX-License-Identifier: GPL-2.0-or-later
"""A connection to QEMU's monitor for programs that wait for each answer (qemu.qmp: in the venv).

qemu.qmp is asynchronous.  Its event loop runs only while an answer or an event is waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol, TypeVar

from qemu.qmp import ExecInterruptedError, QMPClient, QMPError, Runstate, StateError

# Between two looks whether an answer is waited for too long already.
LOOK_S = 1.0

_T = TypeVar("_T")

# Callers say in their own words what is wrong; without a handler Python prints the package's, too.
logging.getLogger("qemu.qmp").addHandler(logging.NullHandler())


class MonitorClosed(Exception):
    """QEMU has ended, or has closed the connection."""


class Patience(Protocol):
    """Who says how long one answer is waited for."""

    def spend(self, seconds: float) -> bool:
        """So long it has just been waited for; false when that is enough."""


class Seconds:
    """Patience for so many seconds of the host's clock."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds

    def spend(self, seconds: float) -> bool:
        """As Patience has it."""
        self._left -= seconds
        return self._left > 0


class Monitor:
    """A session with one QEMU.

    patience: makes what is asked while an answer does not come; None waits for ever.  An answer
    that is waited for no longer is a TimeoutError, a command that QEMU refuses an ExecuteError of
    qemu.qmp.  Its ConnectError, of the constructor, has the cause in `exc`.
    """

    def __init__(
        self, address: str | socket.socket, patience: Callable[[], Patience] | None = None
    ) -> None:
        """address: a socket's path, or a socket that is connected already and is closed with it."""
        self._client = QMPClient()
        self._patience = patience
        self._runner = asyncio.Runner()
        try:
            self._answer(self._client.connect(address))
        except BaseException:
            self._runner.close()
            raise

    def ask(self, command: str, **arguments: object) -> Any:
        """What QEMU returns."""
        try:
            return self._answer(self._client.execute(command, arguments))
        except (ExecInterruptedError, StateError) as error:
            raise MonitorClosed(command) from error

    def event(self, name: str) -> Mapping[str, Any]:
        """The next event of that name; those before it are forgotten."""
        while (found := self._answer(self._event()))["event"] != name:
            pass
        return found

    async def _event(self) -> Mapping[str, Any]:
        event = asyncio.ensure_future(self._client.events.get())
        closed = asyncio.ensure_future(self._client.runstate_changed())
        try:
            if self._client.runstate is Runstate.RUNNING:
                await asyncio.wait({event, closed}, return_when=asyncio.FIRST_COMPLETED)
            if not event.done():
                raise MonitorClosed
            return event.result()
        finally:
            event.cancel()
            closed.cancel()

    def close(self) -> None:
        """End the session, also with a QEMU that is no more."""
        with contextlib.suppress(QMPError, EOFError, OSError):
            self._runner.run(self._client.disconnect())
        self._runner.close()

    def _answer(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        return self._runner.run(self._looked_after(coroutine))

    async def _looked_after(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        task = asyncio.ensure_future(coroutine)
        patience = None
        try:
            while True:
                done, _ = await asyncio.wait({task}, timeout=LOOK_S if self._patience else None)
                if done:
                    return task.result()
                assert self._patience
                patience = patience or self._patience()
                if not patience.spend(LOOK_S):
                    raise TimeoutError
        finally:
            task.cancel()
            # A session that is given up takes itself back first.
            await asyncio.wait({task})
