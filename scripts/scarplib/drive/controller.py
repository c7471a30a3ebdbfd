# SPDX-License-Identifier: GPL-2.0-or-later
"""What is between QEMU's bus and a flash device: a controller, its namespaces, their handles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from scarplib.errors import UserError

# Blocks that the guest's kernel takes: larger ones than a page of its memory it does not.
BLOCK_BYTES = (512, 1024, 2048, 4096)
# A namespace that is not the last begins and ends at a multiple of the largest mapping unit.
_SHARE_BYTES = 1 << 20


@dataclass(frozen=True)
class HostView:
    """What a host sees of a flash: namespaces, their blocks and zones, and reclaim unit handles.

    `sizes`: of the namespaces, in bytes; 0 is all that is left of the flash.
    `handles`: each namespace has all of them (FDP); with 0 there is no FDP.
    `zone_bytes`: with 0 there are no zones.
    """

    sizes: Sequence[int] = (0,)
    handles: int = 0
    block_bytes: int = 512
    zone_bytes: int = 0

    def shared(self, flash_bytes: int) -> HostView:
        """The same with sizes: equal shares of the flash, whose last one takes what is over."""
        count = len(self.sizes)
        if count == 1:
            return self
        step = max(_SHARE_BYTES, self.zone_bytes)
        share = flash_bytes // count // step * step
        if not share:
            raise UserError(
                f"--namespaces: {count} of them have less than {step >> 20} MiB each, as the host "
                f"has {flash_bytes / 2**20:g} MiB of this drive"
            )
        return replace(self, sizes=(*(share,) * (count - 1), 0))

    def first_bytes(self, used_bytes: int) -> int:
        """How much of the first namespace holds data if this much of the flash does."""
        return min(used_bytes, self.sizes[0] or used_bytes)

    def settings(self) -> dict[str, int]:
        """For a manifest: what is not as usual, and always the handles."""
        found = {"handles": self.handles}
        if len(self.sizes) > 1:
            found["namespaces"] = len(self.sizes)
        if self.block_bytes != HostView.block_bytes:
            found["block_bytes"] = self.block_bytes
        if self.zone_bytes:
            found["zone_bytes"] = self.zone_bytes
        return found


# Keys of settings().
SETTINGS = ("handles", "namespaces", "block_bytes", "zone_bytes")
# One namespace of all the flash, in blocks of 512 bytes.
WHOLE = HostView()


def arguments(number: int, view: HostView = WHOLE) -> list[str]:
    """Of QEMU: the controller with the serial number scarp<n>, and namespaces on the flash f<n>."""
    controller = f"nvme,id=nvme{number},serial=scarp{number}"
    namespace = f"nvme-ns,bus=nvme{number},flash=f{number}"
    if view.block_bytes != HostView.block_bytes:
        blocks = view.block_bytes
        namespace += f",logical_block_size={blocks},physical_block_size={blocks}"
    if view.zone_bytes:
        namespace += f",zoned=on,zoned.zone_size={view.zone_bytes}"
    found = []
    if view.handles:
        found += ["-device", f"nvme-subsys,id=subsys{number},fdp=on,fdp.nruh={view.handles}"]
        controller += f",subsys=subsys{number}"
        namespace += f",fdp.ruhs=0-{view.handles - 1}"
    found += ["-device", controller]
    for size in view.sizes:
        found += ["-device", f"{namespace},size={size}" if size else namespace]
    return found
