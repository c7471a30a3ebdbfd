#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# dmsetup as it works where udev is: /dev/mapper/NAME is a link to the kernel's /dev/dm-N.  Without
# udev, libdevmapper makes a second node there, and a suite that takes the device's name in /sys
# from the link's end looks for /sys/fs/xfs/NAME, which is dm-N there.

drop_old_links() { # MAPPER BLOCK: /dev/mapper and /sys/block; a deferred removal leaves its link
    local link end
    for link in "$1"/*; do
        [ -L "$link" ] || continue
        end=$(readlink "$link")
        [ "$(cat "$2/${end##*/}/dm/name" 2>/dev/null)" = "${link##*/}" ] || rm "$link"
    done
}

make_links() { # MAPPER BLOCK
    local file name number
    for file in "$2"/dm-*/dm/name; do
        read -r name 2>/dev/null <"$file" || continue
        number=${file#"$2/"}
        # A device that has no table yet has no node either.
        [ -L "$1/$name" ] || [ ! -e "$1/$name" ] || ln -sf "../${number%%/*}" "$1/$name"
    done
}

# Whoever only reads this file wants the functions.
[ "$0" = "${BASH_SOURCE[0]}" ] || return 0
drop_old_links /dev/mapper /sys/block
/usr/sbin/dmsetup "$@"
status=$?
drop_old_links /dev/mapper /sys/block
make_links /dev/mapper /sys/block
exit $status
