#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# How long RocksDB's reads take while it writes and compacts: db_bench's readwhilewriting, one
# reader at full speed, one writer at a fixed rate.  docs/own-guest.md runs it.

set -e
keys=${KEYS:-40000}
reads=${READS:-2500}

# Small buffers and levels, as the drive is small: a real database's shape at a hundredth of its
# size.  Past the guest's page cache: what is measured is the drive.
bench() {
    db_bench --db="$SCARP_DIR/rocksdb" --seed=1 --num="$keys" --key_size=16 --value_size=400 \
        --compression_type=none --bloom_bits=10 --cache_size=262144 \
        --write_buffer_size=1048576 --target_file_size_base=1048576 \
        --max_bytes_for_level_base=4194304 --level0_file_num_compaction_trigger=2 \
        --use_direct_reads=1 --use_direct_io_for_flush_and_compaction=1 --histogram=1 "$@"
}

bench --benchmarks=filluniquerandom >"$SCARP_OUT/fill.txt" 2>&1

# All until here was preparation.
scarp-start

bench --use_existing_db=1 --benchmarks=readwhilewriting --threads=1 --reads="$reads" \
    --benchmark_write_rate_limit=2000000 >"$SCARP_OUT/db_bench.txt" 2>&1

# db_bench prints how many reads took how many microseconds: "(110, 170 ]  18  0.600% ...".  A read
# counts with the upper end of its line, which is half as long again as the lower end.
awk '/^Microseconds per / { name = $3; sub(":", "", name) }
    /^[([]/ { gsub(/[^0-9.]+/, " "); print name, $2 * 1000, $3 }' \
    "$SCARP_OUT/db_bench.txt" >"$SCARP_OUT/latencies"
