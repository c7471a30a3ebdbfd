# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp cut` and `scarp shell --qmp`, with a QEMU that is made up; tests/qtest has a real one."""

from __future__ import annotations

import contextlib
import io
import json
import socket
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from scarplib.errors import UserError
from scarplib.guest import power, shell

GREETING = '{"QMP": {"version": {}, "capabilities": []}}'


class Server:
    """Serves one connection; what it answers is a function of what it is asked, or fixed lines."""

    def __init__(self, path: Path, greeting: str, answers: dict[str, Any]) -> None:
        self.asked: list[dict[str, Any]] = []
        self._greeting, self._answers = greeting, answers
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(1)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection, connection.makefile("w") as stream:
            stream.write(f"{self._greeting}\n")
            stream.flush()
            # A client need not end what it asks with a new line.
            while data := connection.recv(1 << 16):
                said = json.loads(data)
                self.asked.append(said)
                answer = self._answers.get(said["execute"])
                if answer is None:
                    return
                answer = {**answer, "id": said["id"]} if "id" in said else answer
                # In a session an event may come in between.
                if len(self.asked) > 1:
                    stream.write('{"event": "RESUME"}\n')
                stream.write(f"{json.dumps(answer)}\n")
                stream.flush()

    def close(self) -> None:
        self._thread.join()
        self._listener.close()


class Cut(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "qmp"

    def serve(self, answers: dict[str, Any], greeting: str = GREETING) -> Server:
        server = Server(self.path, greeting, {"qmp_capabilities": {"return": {}}, **answers})
        self.addCleanup(server.close)
        return server

    def refused(self, drive: str = "f0") -> str:
        errors = io.StringIO()
        with self.assertRaises(UserError) as caught, contextlib.redirect_stderr(errors):
            power.cut(self.path, drive)
        # Neither qemu.qmp nor asyncio says anything besides.
        self.assertEqual(errors.getvalue(), "")
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)

    def test_what_it_asks(self) -> None:
        stats = json.dumps({"power_cuts": 3, "cut_cmds": 7, "torn_pages": 2})
        names = [{"name": "nvme0"}, {"name": "f1"}]
        server = self.serve(
            {
                "qom-list": {"return": names},
                "qom-get": {"return": stats},
                "qom-set": {"return": {}},
            }
        )
        self.assertEqual(
            power.cut(self.path, "f1"), "f1: cut number 3: 0 commands under way, 0 pages torn"
        )
        (asked,) = (each["arguments"] for each in server.asked if each["execute"] == "qom-set")
        self.assertEqual(
            asked, {"path": "/machine/peripheral/f1", "property": "power", "value": "cut"}
        )

    def test_refusals(self) -> None:
        self.assertIn("No such file", self.refused())
        self.path.touch()
        self.assertIn("Connection refused", self.refused())

    def test_no_such_drive(self) -> None:
        self.serve({"qom-list": {"return": [{"name": "f0"}]}})
        self.assertIn("--drive: ", self.refused("f7"))

    def test_what_the_drive_says(self) -> None:
        self.serve(
            {
                "qom-list": {"return": [{"name": "f0"}]},
                "qom-get": {"return": '{"power_cuts": 0}'},
                "qom-set": {
                    "error": {
                        "class": "GenericError",
                        "desc": "power: nand.power_cuts=0: cannot fail",
                    }
                },
            }
        )
        self.assertEqual(self.refused(), "power: nand.power_cuts=0: cannot fail")

    def test_other_sockets(self) -> None:
        for greeting in ("hello", "[1]", "{}"):
            with self.subTest(greeting):
                server = self.serve({}, greeting)
                self.assertIn("is no QMP socket", self.refused())
                server.close()
                self.path.unlink()

    def test_another_has_the_connection(self) -> None:
        """QEMU takes it, but greets nobody before the other one has gone."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(str(self.path))
            listener.listen(1)
            with mock.patch.object(power, "_ANSWER_S", 1):
                self.assertIn("one connection at a time", self.refused())

    def test_a_guest_that_ends(self) -> None:
        self.serve({})
        self.assertIn("the guest has ended", self.refused())


class Arguments(unittest.TestCase):
    def test_socket(self) -> None:
        self.assertEqual(shell.qmp_arguments(None), [])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a,b"
            self.assertEqual(
                shell.qmp_arguments(path),
                ["-qmp", f"unix:{folder}/a,,b,server=on,wait=off"],
            )
            path.touch()
            for bad in (path, Path(folder) / "none" / "qmp", Path(folder) / ("x" * 120)):
                with self.subTest(bad.name), self.assertRaisesRegex(UserError, "^--qmp: "):
                    shell.qmp_arguments(bad)


if __name__ == "__main__":
    unittest.main()
