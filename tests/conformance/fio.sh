#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# fio's own tests of NVMe passthrough: their lines "Test N PASSED|FAILED|SKIPPED …" as they come.

. /scarp/say.sh

character=/dev/ng${SCARP_DEV#/dev/nvme}
for script in $SCARP_TESTS; do
    python3 -u "/src/t/$script.py" --dut "$character" -f "$(command -v fio)" \
        -a "$SCARP_OUT/$script" 2>&1 | tee "$SCARP_OUT/$script.log" |
        while read -r word number verdict why; do
            [ "$word" = Test ] || continue
            case $verdict in
            PASSED*) say pass "fio/$script/$number" ;;
            FAILED*) say fail "fio/$script/$number" "$why" ;;
            SKIPPED*) say skip "fio/$script/$number" "$why" ;;
            esac
        done
done
exit 0
