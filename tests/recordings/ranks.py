# SPDX-License-Identifier: MIT
"""Collectives of several ranks: which rank came last, and how long the others waited for it."""
import collections


def by_rank(recordings):
    """Rank -> collectives in order of time, of one recording per rank or of one with all ranks."""
    ranks = collections.defaultdict(list)
    for recording in recordings:
        for row in recording.collectives:
            ranks[row.rank].append(row)
    for rows in ranks.values():
        rows.sort(key=lambda row: row.start)
    return dict(ranks)


def arrivals(recordings):
    """The n-th collective of each rank is the same one. Each rank waits from its own start to the last one's."""
    ranks = by_rank(recordings)
    counts = {len(rows) for rows in ranks.values()}
    if len(ranks) < 2 or len(counts) != 1:
        return None
    last, ties = collections.Counter(), 0
    waited, largest, largest_end = 0, 0, 0
    for rows in zip(*(ranks[rank] for rank in sorted(ranks))):
        latest = max(row.start for row in rows)
        late = [row.rank for row in rows if row.start == latest]
        ties += len(late) > 1
        last[late[0]] += 1
        waited += sum(latest - row.start for row in rows)
        largest = max(largest, latest - min(row.start for row in rows))
        largest_end = max(largest_end, max(row.end for row in rows) - min(row.end for row in rows))
    return {"collectives": counts.pop(), "ranks": len(ranks), "last": {str(rank): last[rank] for rank in sorted(last)},
            "ties": ties, "waited_ns": waited, "max_wait_ns": largest, "max_end_spread_ns": largest_end,
            "ns": {str(rank): sum(row.end - row.start for row in rows) for rank, rows in sorted(ranks.items())}}
