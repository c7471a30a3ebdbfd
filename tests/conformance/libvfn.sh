#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# libvfn's device tests: each program drives the controller itself, through VFIO.

. /scarp/say.sh
. /scarp/read.sh

device=$(readlink -f "/sys/class/nvme/${SCARP_CTRL#/dev/}/device")
export LD_LIBRARY_PATH=/src/build/src
if [ -e "$device/iommu_group" ]; then
    echo vfio-pci >"$device/driver_override"
    echo "${device##*/}" >"$device/driver/unbind"
    echo "${device##*/}" >/sys/bus/pci/drivers_probe
    ls -l "$device/driver" /dev/vfio
fi
for name in $SCARP_TESTS; do
    say begin "libvfn/$name"
    if [ ! -e "$device/iommu_group" ]; then
        say skip "libvfn/$name" "the guest has no IOMMU"
        continue
    fi
    "/src/build/tests/device/$name" --device "${device##*/}" --nsid 1 >"$SCARP_OUT/$name.log" 2>&1
    read_tap "libvfn/$name" $? <"$SCARP_OUT/$name.log"
done
exit 0
