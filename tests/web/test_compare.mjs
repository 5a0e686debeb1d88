// SPDX-License-Identifier: MIT
//
// The pages of a comparison: bars that add up, rows in groups, signed numbers.
import assert from "node:assert/strict";
import {formatPercentChange, formatSigned, shorten} from "../../web/compare_page.js";
import {describeRow, groupRows, largestBar, readRow} from "../../web/diff_rows.js";
import {waterfallSteps} from "../../web/waterfall.js";
import {end, test} from "./harness.mjs";

function makeRow(more) {
	return {table: "kernel", name: "gemm", group: "kernels", device: 0, match: "exact", match_confidence: 1, base: {count: 20, value: 2000, runs: 2},
		new: {count: 30, value: 6000, runs: 2}, change: 2000, more_often: 500, each_slower: 1500, noise: {proof: "unproved", values: "none"}, ...more};
}

const HEAD = {per: "run", base_units: 2, new_units: 2};

await test("each bar begins where the one before ends, and the last ends at the new wall time", () => {
	const rows = Array.from({length: 40}, (_, i) => ({text: "k" + i, change: (i % 3 - 1) * (i + 1) * 1001}));
	const change = rows.reduce((sum, row) => sum + row.change, 0), steps = waterfallSteps(1234567.5, rows, change);
	assert.equal(steps.length, 1 + 10 + 1 + 1);
	let at = 1234567.5;
	for (const step of steps.slice(1, -1)) {
		assert.equal(step.from, at);
		at = step.to;
	}
	assert.equal(at, 1234567.5 + change);
	assert.equal(steps[12].to, at);
	assert.equal(steps.slice(1, 12).reduce((sum, step) => sum + step.change, 0), change);
	assert.match(steps[11].text, /^17 smaller changes$/);
	assert.ok(Math.abs(steps[1].change) >= Math.abs(steps[2].change));
});

await test("no rest where all changes are shown", () => {
	assert.deepEqual(waterfallSteps(100, [{text: "a", change: -5}, {text: "b", change: 0}], -5).map((step) => step.text), ["base wall time", "a", "new wall time"]);
	assert.equal(waterfallSteps(100, [], 0).length, 2);
});

await test("a row is divided by the number of runs, and says how it changed", () => {
	const one = readRow(makeRow({}), HEAD);
	assert.deepEqual([one.base, one.changed, one.change, one.percent, one.counts], [1000, 3000, 2000, 2, [10, 15]]);
	assert.equal(describeRow(one), "each +100 % (+1.500 \u00b5s); ran 10 \u2192 15 times (+500 ns)");
	const renamed = readRow(makeRow({match: "renamed", match_confidence: 0.9, base_name: "old", new: {count: 20, value: 2000, runs: 2}}), HEAD);
	assert.equal(describeRow(renamed), "renamed: same call path, was old (90 % sure)");
	assert.equal(readRow(makeRow({base: {count: 0, value: 0, runs: 0}, match: "new"}), HEAD).percent, Infinity);
});

await test("groups add up, and the scale of the bars has all intervals", () => {
	const rows = [readRow(makeRow({noise: {proof: "proved", values: "runs", estimate: 2, low: -7, high: 5}}), HEAD), readRow(makeRow({change: -300}), HEAD),
		readRow(makeRow({table: "idle", group: "blocked", change: 11}), HEAD)];
	assert.deepEqual(groupRows(rows).map((group) => [group.name, group.change, group.rows.length]), [["busy: kernels", 1700, 2], ["idle: blocked", 11, 1]]);
	assert.equal(largestBar(rows), 7);
	assert.equal(largestBar(rows.slice(1)), 0);
});

await test("signed numbers and long names", () => {
	assert.deepEqual([formatSigned(1500), formatSigned(-3), formatSigned(0)], ["+1.500 \u00b5s", "-3 ns", "0 ns"]);
	assert.deepEqual([formatPercentChange(3, 100), formatPercentChange(-50, 100), formatPercentChange(400, 100), formatPercentChange(1, 0)], ["+3.00 %", "-50.0 %", "+400 %", "\u2013"]);
	assert.equal(shorten("abcdefghijkl", 12), "abcdefghijkl");
	assert.equal(shorten("abcdefghijklm", 9), "abcde\u2026klm");
});

end();
