#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# fio verifies what it had written before the last flush that had ended, or with FUA: of each section
# of its job as many blocks as $SCARP_DURABLE says, SECTION=BLOCKS.  All sections are there in any
# case, as what is in a section's blocks depends on its place among them.
echo "durable: $SCARP_DURABLE"
awk -v durable="$SCARP_DURABLE" '
    BEGIN { n = split(durable, each, " ")
            for (i = 1; i <= n; i++) {
                at = index(each[i], "=")
                blocks[substr(each[i], 1, at - 1)] = substr(each[i], at + 1) + 0 } }
    # At the end of each section, where nothing follows that would change it again.
    function finish() {
        if (name == "" || name == "global") return
        # Of no blocks none can be verified: one is read.
        if (blocks[name] > 0) print "number_ios=" blocks[name]
        else print "number_ios=1\nrw=randread\nverify=0"
    }
    substr($0, 1, 1) == "[" { finish(); name = substr($0, 2, index($0, "]") - 2) }
    { print }
    END { finish() }
' /scarp/job.fio >/tmp/check/job.fio
fio --verify_only=1 --output-format=terse --output=/tmp/check/fio /tmp/check/job.fio 2>&1 || {
    echo "lost: some of these blocks are not there"
    exit 1
}
