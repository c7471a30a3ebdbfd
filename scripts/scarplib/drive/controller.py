# SPDX-License-Identifier: GPL-2.0-or-later
"""What is between QEMU's bus and a flash device: a controller, its namespaces, their handles."""

from __future__ import annotations

from collections.abc import Sequence


def arguments(number: int, sizes: Sequence[int] = (0,), handles: int = 0) -> list[str]:
    """Of QEMU: the controller with the serial number scarp<n>, and namespaces on the flash f<n>.

    A size of 0 is all that is left of the flash.  Each namespace has all reclaim unit handles
    (FDP); with 0 of them there is no FDP.
    """
    controller = f"nvme,id=nvme{number},serial=scarp{number}"
    namespace = f"nvme-ns,bus=nvme{number},flash=f{number}"
    found = []
    if handles:
        found += ["-device", f"nvme-subsys,id=subsys{number},fdp=on,fdp.nruh={handles}"]
        controller += f",subsys=subsys{number}"
        namespace += f",fdp.ruhs=0-{handles - 1}"
    found += ["-device", controller]
    for size in sizes:
        found += ["-device", f"{namespace},size={size}" if size else namespace]
    return found
