// SPDX-License-Identifier: MIT
//
// The table of metrics: what was counted in a range, a row for each series.

import {CUT_TEXT} from "./account.js";
import {statisticsOf} from "./counters.js";
import {make} from "./dom.js";
import {formatValue} from "./format.js";
import {showTrack} from "./finder.js";
import {countColumn, makeTable, shareColumn, textColumn} from "./tables.js";

function valueColumn(title, value) {
	return {title, value: (row) => Number.isNaN(value(row)) ? -Infinity : value(row), isNumber: true,
		text: (row) => Number.isNaN(value(row)) ? "\u2013" : formatValue(value(row), row.track.unit)};
}

/** Elements of the table; a click on a row leads to its chart. */
export async function showMetrics(view, scope, watch) {
	const rows = [], charts = scope.tracks.filter((track) => track.kind === "counter" && track.levels.length);
	for (const [i, track] of charts.entries()) {
		const sum = await statisticsOf(view.chunks, track, scope.from, scope.to, watch);
		if (sum.readings)
			rows.push({track, of: track.parent ? view.model.trail(track.parent).filter((name) => name !== "metrics").join(" \u203a ") : "", ...sum});
		await watch.step(i / charts.length);
	}
	if (!rows.length)
		return [make("p", "faint", charts.length ? "Nothing was read in this range." : "Nothing was counted in this recording (duet record --collect system).")];
	const columns = [textColumn("metric", (row) => row.track.name), textColumn("of", (row) => row.of), valueColumn("mean", (row) => row.mean),
		valueColumn("least", (row) => row.least), valueColumn("largest", (row) => row.most), countColumn("readings", (row) => row.readings),
		shareColumn("measured", (row) => row.coveredNs, scope.to - scope.from)];
	return [make("p", "faint", rows.every((row) => row.isExact) ? "A click on a row leads to its chart." : CUT_TEXT),
		makeTable("Metrics", columns, rows, (row) => showTrack(view, row.track))];
}
