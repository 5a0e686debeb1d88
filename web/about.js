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

/** Of one collector there may be several notes: what it could do, and what it could not. */
export function collectorRows(report) {
	return (report.collectors || []).filter((row) => row.reason).map((row) => [row.name, row.state + ": " + row.reason]);
}

/** Of the launches, whose share decides it; and beside them what else is known to be missing. */
export function formatComplete(report) {
	const missing = [];
	if (report.complete === undefined)
		return "not known";
	if ((report.losses || []).length)
		missing.push("rows were lost");
	if ((report.collectors || []).some((row) => row.state !== "available"))
		missing.push("a collector recorded in part or not at all");
	if (!report.complete)
		missing.unshift("launches are missing");
	if (!missing.length)
		return "yes";
	return (report.complete ? "launches yes, but " : "no: ") + missing.join("; ");
}

/** Shows what is known of the recording. */
export function showAbout(view, content) {
	const {model} = view, report = model.report || {};
	const run = [["command", report.command || model.title], ["recorded", report.recorded_at || "not known"],
		["length", formatNs(model.wallNs)], ["written by", "duet " + (model.head.duet || "?")],
		["account", report.exact === undefined ? "no report in this file" : report.exact ? "every account adds up to its wall" : "does not add up"],
		["complete", formatComplete(report)]];
	const items = model.tracks.reduce((sum, track) => sum + track.items, 0);
	run.push(["items", formatCount(items) + " in " + model.tracks.length + " tracks, " + (model.head.sections === 1 ? "1 section" : (model.head.sections || "?") + " sections")]);
	if (model.cut)
		run.push(["left out", (model.cut.tracks ? model.cut.tracks + " tracks lack their finest levels: " : "") +
			(model.cut.reason || "the file would be too large")]);
	const losses = (report.losses || []).map((loss) => [loss.kind, formatLost(loss) + " lost: " + loss.reason]);
	fill(content, make("div", "columns", ...[aboutTable("Run", run),
		aboutTable("Processes", (report.processes || []).slice(0, 100).map((process) => [process.name + " " + process.pid, process.command || ""])),
		aboutTable("Clocks", clockRows(report)), aboutTable("Ledger", numberRows(report.ledger)), aboutTable("Losses", losses),
		aboutTable("Collectors", collectorRows(report)),
		aboutTable("Cost of recording", numberRows(report.cost))].filter(Boolean)));
}
