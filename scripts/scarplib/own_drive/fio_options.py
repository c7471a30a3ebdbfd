# SPDX-License-Identifier: GPL-2.0-or-later
"""Which of fio's options a description's stand-in for a job does, and which change nothing of it.

Any other is refused: the stand-in would run another load, and the two would be compared.  The names
are those of fio 3.39's options.c, which its JSON has whatever alias the job file used.
"""

from __future__ import annotations

from collections.abc import Mapping

# What the stand-in does, or what says how much of it there is.
_DONE = """
bs ioengine iodepth io_size loops norandommap number_ios numjobs offset percentage_random
random_distribution random_generator randrepeat randseed allrandrepeat rate rate_iops rate_process
runtime rw rwmixread rwmixwrite size softrandommap stonewall new_group time_based filesize nrfiles
"""
# What is recorded, who runs it, where its files are, what is in its buffers, how it ends.
_ELSEWHERE = """
allow_file_create allow_mounted_write block_error_percentiles bs_unaligned buffer_compress_chunk
buffer_compress_percentage buffer_pattern buffered bwavgtime cgroup cgroup_nodelete cgroup_weight
clat_percentiles clocksource cmd_type continue_on_error cpumask cpus_allowed cpus_allowed_policy
create_fsync create_on_open create_serialize dedupe_global dedupe_mode dedupe_percentage
dedupe_working_set_percentage description direct directory disable_bw_measurement disable_clat
disable_lat disable_slat disk_util do_verify end_fsync error_dump exitall exitall_on_error exit_what
fadvise_hint fallocate filename filename_format fixedbufs force_async fsync_on_close gid gtod_cpu
gtod_reduce group_reporting hipri hipri_percentage hugepage-size invalidate ioscheduler iopsavgtime
job_start_clock_id kb_base lat_percentiles lockfile lockmem log_alternate_epoch
log_alternate_epoch_clock_id log_avg_msec log_compression log_compression_cpus log_entries
log_hist_coarseness log_hist_msec log_issue_time log_max_value log_offset log_prio
log_store_compressed log_unix_epoch log_window_value max_latency mem name nice nonvectored nowait
numa_cpu_nodes numa_mem_policy openfiles opendir overwrite per_job_logs percentile_list profile
ramp_time rate_cycle rate_iops_min rate_min refill_buffers registerfiles scramble_buffers
significant_figures slat_percentiles sqthread_poll sqthread_poll_cpu stats steadystate
steadystate_check_interval steadystate_duration steadystate_ramp_time thread uid
unified_rw_reporting unique_filename unit_base unlink unlink_each_loop userspace_reap
write_bw_log write_hist_log write_iolog write_iops_log write_lat_log zero_buffers iomem
"""
_KNOWN = frozenset((_DONE + _ELSEWHERE).split())
# An option that says nothing else than fio does without it.
_NOTHING = frozenset(("0", "none", "no", "off", "false"))
_USUAL = {
    "file_service_type": ("roundrobin",),
    "io_submit_mode": ("inline",),
    "iodepth_batch": ("1",),
    "iodepth_batch_complete_max": ("1",),
    "iodepth_batch_complete_min": ("1",),
    "percentage_random": ("100",),
    "random_distribution": ("random",),
    "rate_process": ("linear",),
    "rw_sequencer": ("sequential",),
    "unified_rw_reporting": ("both", "2"),
    "write_barrier": (),
}
# Known, but not with any other value than those.
_ONLY = frozenset(("percentage_random", "random_distribution", "rate_process"))


def ignored(options: Mapping[str, str]) -> list[str]:
    """Those of a job's options, as `name=value`, that its stand-in would ignore."""
    found = []
    for name, value in options.items():
        usual = value in _NOTHING or value.split(":")[0] in _USUAL.get(name, ())
        if name == "iodepth_low":
            usual = value == options.get("iodepth", "1")
        if not usual and (name not in _KNOWN or name in _ONLY):
            found.append(f"{name}={value}" if value else name)
    if options.get("unified_rw_reporting") in ("1", "mixed", ""):
        found.append("unified_rw_reporting=mixed")
    # fio's own default says nothing: many a table leaves out what all its rows have.
    if options.get("direct") in _NOTHING or options.get("buffered", "0") not in _NOTHING:
        found.append("direct=0")
    return found
