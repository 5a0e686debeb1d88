// SPDX-License-Identifier: MIT
//
// Rows of the table of instructions, from a report.
import assert from "node:assert/strict";
import {instructionRows} from "../../web/instructions.js";
import {end, test} from "./harness.mjs";

const REPORT = {instructions: [
	{kernel: "a", offset: 200, address: 16, text: "mov", samples: 3, stalls: {sbid: 1, send: 2}, file: "/x/y.cl", line: 7},
	{kernel: "a", offset: 216, text: "", samples: 9, stalls: {}},
	{kernel: "b", offset: 8, address: 8, text: "send", samples: 4, stalls: {constructor: 4}, file: "z.cl", line: 1, source: "x = y;"}]};

await test("the most samples first, with their share of the kernel", () => {
	const rows = instructionRows(REPORT, {sbid: "it waits", send: "the queue is full"});
	assert.deepEqual(rows.map((row) => [row.kernel, row.place, row.samples, row.ofKernel]), [["a", "0xd8", 9, 12], ["b", "0x8", 4, 4], ["a", "0x10", 3, 12]]);
	assert.deepEqual(rows.map((row) => row.source), ["", "z.cl:1  x = y;", "y.cl:7"]);
});

await test("reasons by their samples, and what they mean where somebody knows", () => {
	const rows = instructionRows(REPORT, {sbid: "it waits", send: "the queue is full"});
	assert.equal(rows[2].reasons, "send 2, sbid 1");
	assert.equal(rows[2].meaning, "send: the queue is full\nsbid: it waits");
	assert.equal(rows[0].reasons + rows[0].meaning, "");
	assert.equal(rows[1].reasons + rows[1].meaning, "constructor 4");
	assert.equal(instructionRows(REPORT)[2].meaning, "");
});

await test("a report without instructions, or none", () => {
	assert.deepEqual(instructionRows(undefined, {}), []);
	assert.deepEqual(instructionRows({}, {}), []);
});

end();
