# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that describe a drive, as several commands have them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

from scarplib.drive.controller import BLOCK_BYTES, HostView
from scarplib.errors import UserError
from scarplib.option_types import KIBS, MIBS, THOUSANDTHS, counted, integer, one_scheme, own_file
from scarplib.paths import DEVICES

# How full a drive is, in thousandths, of which nothing is said.
AGE = 900
# Of a zone of which no size is said.
ZONE_BYTES = 16 << 20


def _overrides(text: str) -> str:
    for part in text.split(","):
        if not re.fullmatch(r"[\w-]+\.[\w-]+=[^=;,]+", part):
            raise UserError(f"--set: '{part}' is not 'group.key=value'")
    return text


def add_set(parser: argparse.ArgumentParser) -> None:
    """--set, of all keys at once."""
    parser.add_argument(
        "--set",
        type=_overrides,
        metavar="GROUP.KEY=VALUE,…",
        help="keys of the description to change, e.g. gc.trigger_free_blocks=4",
    )


def add_scheme(parser: argparse.ArgumentParser) -> None:
    """--scheme, of commands that run one."""
    parser.add_argument(
        "--scheme",
        type=one_scheme,
        default="baseline",
        metavar="NAME[:KEY=VALUE…]",
        help="with its parameters, if any is to be set (default: baseline)",
    )


def add_overwrite(parser: argparse.ArgumentParser) -> None:
    """--overwrite; check_overwrite() is for commands whose drive may be a fresh one."""
    parser.add_argument(
        "--overwrite",
        type=integer("--overwrite", 0, 2**32 - 2, THOUSANDTHS),
        metavar="N",
        help="how much ageing overwrites, in thousandths of the drive's size; 0: no GC yet "
        "(default: 2000, or less where the mapping merges)",
    )


def check_overwrite(options: argparse.Namespace) -> None:
    """Of a new drive nothing can be overwritten."""
    if options.overwrite is not None and not options.age:
        raise UserError("--overwrite: needs --age, from 1 to 1000")


def add_seed(parser: argparse.ArgumentParser, high: int) -> None:
    """--seed, at most `high`."""
    parser.add_argument(
        "--seed",
        type=integer("--seed", 0, high),
        default=1,
        metavar="N",
        help="seed of the drive and its ageing (default: 1)",
    )


def _one_of(numbers: Sequence[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} or {numbers[-1]}"


def _block_bytes(text: str) -> int:
    value = counted(text, KIBS)
    if value not in BLOCK_BYTES:
        raise UserError(f"--block-bytes: '{text}' is not {_one_of(BLOCK_BYTES)}")
    return value


def _zone_bytes(text: str) -> int:
    mib = integer("--zoned", 1, 1 << 20, MIBS)(text)
    if mib & (mib - 1):
        raise UserError(f"--zoned: {mib} MiB is not a power of two, which Linux demands of zones")
    return mib << 20


def view_of(options: argparse.Namespace) -> HostView:
    """What the host is to see of the drive, whose size is not known yet."""
    in_files = getattr(options, "fs", None) or getattr(options, "mkfs", None)
    if options.zoned and in_files:
        name = "--mkfs" if hasattr(options, "mkfs") else "--fs"
        raise UserError(f"{name}: excludes --zoned: it makes file systems without zones")
    if options.namespaces > 1 and getattr(options, "trace", None):
        raise UserError("--trace: excludes --namespaces: it finds commands by their place on one")
    return HostView((0,) * options.namespaces, options.handles, options.block_bytes, options.zoned)


def add_drive(parser: argparse.ArgumentParser, device: str) -> None:
    """What a guest's drive may be told; `device` names the usual description."""
    parser.add_argument(
        "--device",
        type=own_file("--device", DEVICES),
        default=DEVICES / f"{device}.ini",
        metavar="FILE",
        help=f"the drive's description, or the name of one (default: {device})",
    )
    add_set(parser)
    parser.add_argument(
        "--handles",
        type=integer("--handles", 0, 255),
        default=0,
        metavar="N",
        help="reclaim unit handles that the guest may place its writes by (FDP), at most "
        "ftl.streams; 0: no FDP (default: 0)",
    )
    parser.add_argument(
        "--namespaces",
        type=integer("--namespaces", 1, 64),
        default=1,
        metavar="N",
        help="namespaces that share the drive, of equal sizes; a job and a script know them as "
        "$SCARP_NS1, $SCARP_NS2 and so on (default: 1)",
    )
    parser.add_argument(
        "--block-bytes",
        type=_block_bytes,
        default=512,
        metavar="N",
        help=f"logical block of the namespaces: {_one_of(BLOCK_BYTES)} (default: 512)",
    )
    parser.add_argument(
        "--zoned",
        nargs="?",
        type=_zone_bytes,
        const=ZONE_BYTES,
        default=0,
        metavar="MIB",
        help="the namespaces are zoned, as QEMU's are, in zones of this size (default without a "
        f"size: {ZONE_BYTES >> 20}); then --job is fio-jobs/zoned.fio unless given",
    )
    parser.add_argument(
        "--age",
        type=integer("--age", 0, 1000, THOUSANDTHS),
        default=AGE,
        metavar="N",
        help="how full the aged drive is, in thousandths or as 90%%; 0: a fresh drive "
        f"(default: {AGE})",
    )
    add_seed(parser, 2**63 - 1)
