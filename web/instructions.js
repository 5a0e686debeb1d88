// SPDX-License-Identifier: MIT
//
// The table of device instructions that samples found, of the whole recording, with what each reason to wait means.

import {formatCount, visible} from "./format.js";
import {countColumn, makeTable, shareColumn, textColumn} from "./tables.js";

function placeText(row) {
	return "0x" + (row.address === undefined ? row.offset : row.address).toString(16);
}

function sourceText(row) {
	if (!row.file)
		return "";
	const line = row.file.slice(row.file.lastIndexOf("/") + 1) + ":" + row.line;
	return row.source ? line + "  " + row.source : line;
}

/**
 * Rows of the table, those with the most samples first.
 * @param {object} report duet.report/1
 * @param {object} meanings by the name of a reason: what it means, and the usual remedy
 */
export function instructionRows(report, meanings) {
	const all = report && report.instructions || [], wholes = new Map();
	for (const row of all)
		wholes.set(row.kernel, (wholes.get(row.kernel) || 0) + row.samples);
	return all.map((row) => {
		const reasons = Object.entries(row.stalls || {}).sort((a, b) => b[1] - a[1]);
		return {kernel: row.kernel, place: placeText(row), text: row.text, source: sourceText(row), samples: row.samples, ofKernel: wholes.get(row.kernel),
			reasons: reasons.map(([name, samples]) => name + " " + formatCount(samples)).join(", "),
			meaning: reasons.filter(([name]) => meanings && Object.hasOwn(meanings, name)).map(([name]) => name + ": " + meanings[name]).join("\n")};
	}).sort((a, b) => b.samples - a.samples);
}

/** The table as a list of one; none where no instruction was sampled. */
export function instructionTables(view) {
	const rows = instructionRows(view.model.report, view.model.head.stall_texts);
	if (!rows.length)
		return [];
	const columns = [textColumn("kernel", (row) => row.kernel), textColumn("at", (row) => row.place), textColumn("instruction", (row) => row.text || "?"),
		countColumn("samples", (row) => row.samples), {title: "of kernel", value: (row) => row.samples / row.ofKernel, isNumber: true,
			text: (row) => shareColumn("", (one) => one.samples, row.ofKernel).text(row)}];
	if (rows.some((row) => row.reasons))
		columns.push({title: "waiting for", value: (row) => row.reasons, text: (row) => visible(row.reasons), hint: (row) => visible(row.meaning), isNumber: false});
	if (rows.some((row) => row.source))
		columns.push({title: "line", value: (row) => row.source, text: (row) => visible(row.source), isNumber: false});
	return [makeTable("Instructions of the whole recording", columns, rows, null)];
}
