// SPDX-License-Identifier: MIT
//
// Tables that sort by a click on a column's head.

import {make} from "./dom.js";
import {formatBytes, formatCount, formatExact, formatNs, formatShare, visible} from "./format.js";

const MOST_TABLE_ROWS = 300;

/** A column of durations. */
export function nsColumn(title, value) {
	return {title, value, text: (row) => formatNs(value(row)), hint: (row) => formatExact(value(row)), isNumber: true};
}

/** A column of counts. */
export function countColumn(title, value) {
	return {title, value, text: (row) => value(row) ? formatCount(value(row)) : "\u2013", isNumber: true};
}

/** A column of bytes. */
export function bytesColumn(title, value) {
	return {title, value, text: (row) => formatBytes(value(row)), isNumber: true};
}

/** A column of shares of a whole. */
export function shareColumn(title, value, whole) {
	return {title, value, text: (row) => formatShare(value(row), whole), isNumber: true};
}

/** A column of names. */
export function textColumn(title, value) {
	return {title, value, text: (row) => visible(value(row)) || "(no name)", isNumber: false};
}

function fillBody(body, columns, rows, onPick) {
	body.replaceChildren();
	for (const row of rows.slice(0, MOST_TABLE_ROWS)) {
		const line = make("tr");
		for (const column of columns) {
			const cell = make("td", column.isNumber ? "number" : null, column.text(row));
			if (column.hint)
				cell.title = column.hint(row);
			line.append(cell);
		}
		if (onPick) {
			line.tabIndex = 0;
			line.className = "pick";
			line.addEventListener("click", () => onPick(row));
			line.addEventListener("keydown", (event) => event.key === "Enter" && onPick(row));
		}
		body.append(line);
	}
	if (rows.length > MOST_TABLE_ROWS)
		body.append(make("tr", null, make("td", "faint", formatCount(rows.length - MOST_TABLE_ROWS) + " more")));
}

/**
 * A table of rows; a click on a head sorts, again the other way round.
 * @param {string} title
 * @param {object[]} columns as the functions above make them
 * @param {?function(object)} onPick what a click on a row does
 */
export function makeTable(title, columns, rows, onPick) {
	const body = make("tbody"), heads = make("tr");
	let sorted = null, isUp = false;
	for (const column of columns) {
		const head = make("th", column.isNumber ? "number" : null);
		const button = make("button", null, column.title);
		button.type = "button";
		button.addEventListener("click", () => {
			isUp = sorted === column ? !isUp : !column.isNumber;
			sorted = column;
			const order = [...rows].sort((a, b) => {
				const [x, y] = [column.value(a), column.value(b)];
				return (x < y ? -1 : x > y ? 1 : 0) * (isUp ? 1 : -1);
			});
			for (const other of heads.children)
				other.removeAttribute("aria-sort");
			head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
			fillBody(body, columns, order, onPick);
		});
		head.append(button);
		heads.append(head);
	}
	fillBody(body, columns, rows, onPick);
	return make("section", "table", make("h3", null, title + " (" + formatCount(rows.length) + ")"),
		make("table", "sums", make("thead", null, heads), body));
}
