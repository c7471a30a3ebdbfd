# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines that a seed may give: one drive, and the controllers and namespaces before it."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from fixture import DESCRIPTION, KIB, MIB

SLOT = 4
NS_BYTES = 2 * MIB
PLANES = 4  # tiny.ini's
FUNCTIONS = 2
ZONE_BYTES = 256 * KIB
ZONES = 6
OPEN_ZONES, ACTIVE_ZONES = 3, 4


@dataclass(frozen=True)
class Setup:
    realtime: bool
    namespaces: int
    controllers: int
    # "bus": PCI Express; "removable": ACPI ejects controllers; "functions": virtual ones, too
    place: str
    handles: int  # of reclaim units; 0: no FDP
    cmb: str  # "": none; "legacy": always on; "new": the host turns it on
    zoned: bool
    shadow: bool
    events: bool  # the host's shadow doorbells ring event descriptors
    link_mbs: int
    buffer_bytes: int
    scheme: str
    power: bool  # it may fail; what has completed is kept
    units: bool  # handles fill reclaim units of all planes, which a host may close

    @property
    def nsid_zoned(self) -> int:
        return self.namespaces + 1


def draw(seed: int, pick: random.Random, realtime: bool) -> Setup:
    # Drawn apart: what seeds gave before this was drawn, they give still.
    events = realtime and random.Random(f"{seed} events").random() < 0.5
    place = pick.choice(("bus", "bus", "removable", "functions"))
    handles = pick.choice((0, 0, 2, 4))
    setup = Setup(
        realtime=realtime,
        namespaces=pick.choice((1, 2)),
        controllers=1 if place == "functions" else pick.choice((1, 1, 2)),
        place=place,
        handles=handles,
        cmb="" if place == "functions" else pick.choice(("", "legacy", "new")),
        zoned=not handles and pick.random() < 0.4,
        shadow=place != "functions" and pick.random() < 0.4,
        events=False,
        link_mbs=pick.choice((50, 800, 3200)),
        buffer_bytes=pick.choice((0, 256 * KIB)),
        scheme=pick.choice(("baseline", "baseline", "pgc", "gftl")),
        power=False,
        units=False,
    )
    # Drawn apart, too.
    power = not setup.zoned and random.Random(f"{seed} cut").random() < 0.5
    units = handles > 0 and random.Random(f"{seed} units").random() < 0.5
    return replace(setup, events=events and setup.shadow, power=power, units=units)


def controller(setup: Setup, index: int) -> dict[str, str]:
    """The properties of one; it may be unplugged, and plugged in again."""
    more = {"driver": "nvme", "id": f"nvme{index}", "serial": "s", "subsys": "subsys0"}
    more["addr"] = str(SLOT + index)
    if setup.cmb and index == 0:
        more["cmb_size_mb"] = "1"
        more["legacy-cmb"] = "on" if setup.cmb == "legacy" else "off"
    if setup.events:
        more["ioeventfd"] = "on"
    if setup.place == "functions":
        more |= {"sriov_max_vfs": str(FUNCTIONS), "sriov_vq_flexible": "4"}
        more |= {"sriov_vi_flexible": "2", "max_ioqpairs": "6", "msix_qsize": "5"}
    return more


def arguments(setup: Setup) -> list[str]:
    keys = [f"controller.link_mbs={setup.link_mbs}"]
    if setup.buffer_bytes:
        keys.append(f"controller.buffer_bytes={setup.buffer_bytes}")
    if setup.power:
        keys += ["nand.power_cuts=1", "ftl.recovery=2"]
        keys += [f"controller.plp_bytes={setup.buffer_bytes}"] if setup.buffer_bytes else []
    subsystem, ruhs = "nvme-subsys,id=subsys0", ""
    if setup.handles:
        keys += [f"ftl.streams={setup.handles}", "ftl.over_provisioning_permille=500"]
        keys += [f"ftl.reclaim_planes={PLANES}"] if setup.units else []
        subsystem += f",fdp=on,fdp.nruh={setup.handles}"
        ruhs = f",fdp.ruhs=0-{setup.handles - 1}"
    args = ["-machine", "pc"] if setup.place == "removable" else []
    args += [
        "-device",
        f"nvme-flash,id=f0,description={DESCRIPTION},scheme={setup.scheme},clock="
        f"{'realtime' if setup.realtime else 'virtual'},cmd-log={{dir}}/f0.cmd,"
        f"overrides={';'.join(keys)}",
        "-device",
        subsystem,
    ]
    for index in range(setup.controllers):
        said = controller(setup, index)
        driver = said.pop("driver")
        args += ["-device", ",".join([driver, *(f"{key}={said[key]}" for key in said)])]
    for index in range(setup.namespaces):
        more = f",nsid={index + 1},size={NS_BYTES}{ruhs}"
        args += ["-device", f"nvme-ns,bus=nvme0,flash=f0{more}"]
    if setup.zoned:
        zones = f"zoned=on,zoned.zone_size={ZONE_BYTES},zoned.max_open={OPEN_ZONES}"
        zones += f",zoned.max_active={ACTIVE_ZONES}"
        more = f",nsid={setup.nsid_zoned},size={ZONES * ZONE_BYTES},{zones}"
        args += ["-device", f"nvme-ns,bus=nvme0,flash=f0{more}"]
    return args
