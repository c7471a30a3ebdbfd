/*
 * Timeline: what a drive does, as a trace that Perfetto shows.
 *
 * An observer that turns commands, flash commands and collections into
 * Perfetto's protobuf format (Trace, TracePacket, TrackEvent), to be opened at
 * ui.perfetto.dev or queried with trace_processor.  Tracks: one per channel
 * (who had the bus, and for what), one per plane (array times), one per plane
 * for its collections, and as many for commands as were in flight at once.
 * Flows lead from a command through the flash commands that served it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef SCARP_TIMELINE_H
#define SCARP_TIMELINE_H

#include "scarp.h"

typedef struct ScarpTimeline ScarpTimeline;

/* Called with some KiB at a time; the concatenation is the trace. */
typedef void (*ScarpTimelineSink)(void *opaque, const void *bytes, size_t n);

/*
 * Makes a timeline of all that begins in [from_ns, to_ns) of the drive's time.
 * The drive must not outlive its timeline while observed.
 */
ScarpTimeline *scarp_timeline_new(const ScarpDrive *drive, int64_t from_ns,
                                  int64_t to_ns, ScarpTimelineSink sink,
                                  void *opaque);
/*
 * Goes on with the drive that comes up, for scarp_on_power_cut(); timeline is a
 * ScarpTimeline.
 */
void scarp_timeline_follow(void *timeline, const ScarpDrive *drive);
/*
 * Returns the observer to be set by scarp_set_observer(), or called by another
 * observer.
 */
ScarpObserver scarp_timeline_observer(ScarpTimeline *timeline);
/* Passes the buffered bytes to the sink. */
void scarp_timeline_flush(ScarpTimeline *timeline);
/* Flushes and frees the timeline. */
void scarp_timeline_free(ScarpTimeline *timeline);

#endif /* SCARP_TIMELINE_H */
