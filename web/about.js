// SPDX-License-Identifier: MIT
//
// What the report says of the recording itself: processes, clocks, ledger, losses.

import {fill, make} from "./dom.js";
import {formatBytes, formatCount, formatNs, visible} from "./format.js";

function aboutTable(title, rows) {
	const table = make("table", "facts");
	for (const [what, text] of rows)
		table.append(make("tr", null, make("th", null, visible(what)), make("td", null, visible(text))));
	return rows.length ? make("section", "column", make("h3", null, title), table) : null;
}

function clockRows(report) {
	return (report.clocks || []).map((clock) => [clock.domain, clock.method + ", error at most " + formatNs(clock.error_ns || 0) +
		(clock.violations ? ", " + clock.violations + " violations!" : "")]);
}

function numberRows(table) {
	return Object.entries(table || {}).filter(([, value]) => typeof value === "number")
		.map(([key, value]) => [key.replace(/_/g, " "), /_bytes$/.test(key) ? formatBytes(value) : formatCount(value)]);
}

/** How many rows were lost, as far as anybody knows. */
function formatLost(loss) {
	return loss.uncounted ? "at least " + formatCount((loss.count || 0) + loss.uncounted) : formatCount(loss.count);
}

/** Shows what is known of the recording. */
export function showAbout(view, content) {
	const {model} = view, report = model.report || {};
	const run = [["command", report.command || model.title], ["recorded", report.recorded_at || "not known"],
		["length", formatNs(model.wallNs)], ["written by", "duet " + (model.head.duet || "?")],
		["account", report.exact === undefined ? "no report in this file" : report.exact ? "every account adds up to its wall" : "does not add up"],
		["complete", report.complete === undefined ? "not known" : report.complete ? "yes" : "no: launches are missing"]];
	const items = model.tracks.reduce((sum, track) => sum + track.items, 0);
	run.push(["items", formatCount(items) + " in " + model.tracks.length + " tracks, " + (model.head.sections === 1 ? "1 section" : (model.head.sections || "?") + " sections")]);
	if (model.cut)
		run.push(["left out", (model.cut.tracks ? model.cut.tracks + " tracks lack their finest levels: " : "") +
			(model.cut.reason || "the file would be too large")]);
	const losses = (report.losses || []).map((loss) => [loss.kind, formatLost(loss) + " lost: " + loss.reason]);
	fill(content, make("div", "columns", ...[aboutTable("Run", run),
		aboutTable("Processes", (report.processes || []).slice(0, 100).map((process) => [process.name + " " + process.pid, process.command || ""])),
		aboutTable("Clocks", clockRows(report)), aboutTable("Ledger", numberRows(report.ledger)), aboutTable("Losses", losses),
		aboutTable("Cost of recording", numberRows(report.cost))].filter(Boolean)));
}
