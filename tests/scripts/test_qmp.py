# SPDX-License-Identifier: GPL-2.0-or-later
"""A session with QEMU's monitor, at whose other end a test speaks."""

from __future__ import annotations

import json
import socket
import threading
import unittest
from collections.abc import Callable
from typing import Any

from qemu.qmp import ConnectError, ExecuteError
from scarplib.guest import qmp

GREETING: dict[str, Any] = {"QMP": {"version": {}, "capabilities": []}}


class End:
    """The other end: says and hears what a test has it say and hear."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def say(self, said: dict[str, Any]) -> None:
        self._connection.sendall(f"{json.dumps(said)}\n".encode())

    def asked(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._connection.recv(1 << 16))
        return found

    def begin(self) -> None:
        self.say(GREETING)
        self.say({"return": {}, "id": self.asked().get("id")})

    def answer(self, **answer: Any) -> None:
        self.say({**answer, "id": self.asked()["id"]})


class Session(unittest.TestCase):
    # How long an answer is waited for.
    seconds = 3600.0

    def other(self, part: Callable[[End], None]) -> socket.socket:
        """A connection at whose other end a thread does its part, and closes it."""
        ours, theirs = socket.socketpair()

        def run() -> None:
            with theirs:
                part(End(theirs))

        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join)
        return ours

    def monitor(self, part: Callable[[End], None]) -> qmp.Monitor:
        monitor = qmp.Monitor(self.other(part), lambda: qmp.Seconds(self.seconds))
        self.addCleanup(monitor.close)
        return monitor

    def test_answers(self) -> None:
        def part(end: End) -> None:
            end.begin()
            end.answer(**{"return": [1, 2]})
            end.answer(error={"class": "GenericError", "desc": "no such command"})

        monitor = self.monitor(part)
        self.assertEqual(monitor.ask("a", b=1), [1, 2])
        with self.assertRaisesRegex(ExecuteError, "^no such command$"):
            monitor.ask("b")
        for _ in range(2):
            with self.assertRaises(qmp.MonitorClosed):
                monitor.ask("c")

    def test_an_event_among_others(self) -> None:
        def part(end: End) -> None:
            end.begin()
            for name in ("RESUME", "STOP"):
                end.say({"event": name, "data": {}, "timestamp": {}})
            end.answer(**{"return": {"icount": 7}})

        monitor = self.monitor(part)
        self.assertEqual(monitor.event("STOP")["event"], "STOP")
        self.assertEqual(monitor.ask("query-replay")["icount"], 7)
        # That never comes: QEMU has ended.
        with self.assertRaises(qmp.MonitorClosed):
            monitor.event("STOP")

    def test_no_session(self) -> None:
        for part in (lambda end: end.say({}), lambda _: None):
            with self.assertRaises(ConnectError):
                qmp.Monitor(self.other(part))

    def test_an_answer_that_does_not_come(self) -> None:
        ended = threading.Event()

        def part(end: End) -> None:
            end.begin()
            end.asked()
            ended.wait()

        monitor = self.monitor(part)
        self.addCleanup(ended.set)
        self.seconds = 0.1
        with self.assertRaises(TimeoutError):
            monitor.ask("a")


if __name__ == "__main__":
    unittest.main()
