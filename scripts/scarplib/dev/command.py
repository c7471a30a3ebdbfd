# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp setup` and `doctor`, and the commands that only developers of Scarp need."""

from __future__ import annotations

import argparse

from scarplib.command_tree import DEVELOPERS, SETTING_UP, Tree
from scarplib.option_types import add_rounds, integer


def _suites(options: argparse.Namespace) -> int:
    """`setup`, `lint`, `test` and each suite alone."""
    from scarplib.dev import suites

    return suites.main(options.command, getattr(options, "only", []))


def _doctor(_: argparse.Namespace) -> int:
    from scarplib.dev import doctor

    return doctor.main()


def _update_locks(_: argparse.Namespace) -> int:
    from scarplib.dev import update_locks

    return update_locks.main()


def _bench(options: argparse.Namespace) -> int:
    from scarplib.dev import bench_engine

    return bench_engine.main(options.rounds, options.only)


def _bench_array(options: argparse.Namespace) -> int:
    from scarplib.build.venv import PACKAGES, go_on_with

    go_on_with(PACKAGES, ["bench-array", *options.typed])
    from scarplib.dev import bench_array

    return bench_array.main()


def _bench_guest(options: argparse.Namespace) -> int:
    from scarplib.dev import bench_guest

    return bench_guest.main(options.rounds)


def _bench_instant(_: argparse.Namespace) -> int:
    from scarplib.dev import bench_instant

    return bench_instant.main()


def _bench_realtime(options: argparse.Namespace) -> int:
    from scarplib.dev import bench_realtime, bench_realtime_guest

    if options.guest:
        return bench_realtime_guest.main(options.rounds, options.seconds)
    return bench_realtime.main(options.rounds, options.seconds)


def _add_suites(tree: Tree) -> None:
    for name, text in (
        ("test", "every suite, in parallel where they do not disturb each other"),
        ("test-guest", "what only a guest can test"),
        ("test-upstream", "QEMU's own nvme tests on the patched QEMU"),
        ("test-laws", "write amplification against the published formulas"),
        ("test-reproduce", "directions of the papers' experiments, on few workloads"),
        ("test-scripts", "these scripts, on synthetic results"),
        ("test-instant", "guests that are one run until an instant, and `scarp why` beside them"),
        ("lint", "ruff and mypy, and QEMU's checkpatch on C files and patches"),
    ):
        tree.add(name, DEVELOPERS, text, _suites)
    device = tree.add("test-qtest", DEVELOPERS, "the device without a guest", _suites)
    device.add_argument(
        "only", nargs="*", metavar="NAME", help="a part of the names of the tests to run"
    )
    programs = tree.add(
        "test-e2e", DEVELOPERS, "the built programs and the report as a user meets them", _suites
    )
    programs.add_argument(
        "only", nargs="*", metavar="TEST", help="a file's tests, or some of them: test_why.Why"
    )


def _add_benchmarks(tree: Tree) -> None:
    engine = tree.add("bench", DEVELOPERS, "the engine's speed and memory on one core", _bench)
    add_rounds(engine, 3)
    engine.add_argument(
        "--only",
        choices=("loads", "growth", "schemes", "mappings"),
        default="",
        help="one part of it (default: all)",
    )
    tree.add(
        "bench-array",
        DEVELOPERS,
        "the guest's instructions for each I/O of the SSD array",
        _bench_array,
    )
    guest = tree.add(
        "bench-guest", DEVELOPERS, "guest I/Os per second of a core, against null-co", _bench_guest
    )
    add_rounds(guest, 5)
    tree.add(
        "bench-instant",
        DEVELOPERS,
        "how soon `scarp why`, the report and `compare --at` answer",
        _bench_instant,
    )
    ring = tree.add(
        "bench-realtime",
        DEVELOPERS,
        "the engine's thread and rings on the host's clock, without a guest",
        _bench_realtime,
    )
    ring.add_argument(
        "--guest",
        action="store_true",
        help="in place of that: reads in a guest on TCG, beside stock nvme",
    )
    add_rounds(ring, 3)
    ring.add_argument(
        "--seconds", type=integer("--seconds", 1, 600), default=5, metavar="S", help="of each load"
    )


def add_commands(tree: Tree) -> None:
    """To `scarp`."""
    tree.add("setup", SETTING_UP, "fetch and build what runs and tests need", _suites)
    tree.add(
        "doctor",
        SETTING_UP,
        "can this machine hold a drive to the host's clock?",
        _doctor,
    )
    tree.add(
        "update-locks",
        DEVELOPERS,
        "what mirror and registry have today becomes what is locked",
        _update_locks,
        builds=False,
    )
    _add_suites(tree)
    _add_benchmarks(tree)
