// SPDX-License-Identifier: MIT
//
// Numbers, axes and names as people read them.
import assert from "node:assert/strict";
import {collectorRows, formatComplete} from "../../web/about.js";
import {axisStep, formatBytes, formatCount, formatNs, formatPlain, formatShare, formatValue, parseNs, visible} from "../../web/format.js";
import {end, test} from "./harness.mjs";

await test("times have four digits and the unit that fits", () => {
	for (const [ns, text] of [[0, "0 ns"], [1, "1 ns"], [999, "999 ns"], [1000, "1.000 \u00b5s"], [1234.6, "1.235 \u00b5s"],
		[12345, "12.35 \u00b5s"], [999949, "999.9 \u00b5s"], [999999, "1.000 ms"], [999999999, "1.000 s"], [3.6e12, "3600 s"], [-1500, "-1.500 \u00b5s"]])
		assert.equal(formatNs(ns), text);
});

await test("times with no more digits than they have", () => {
	for (const [ns, text] of [[0, "0 s"], [25e7, "250 ms"], [1e9, "1 s"], [2.5e9, "2.5 s"], [1234567, "1.234567 ms"], [4e9, "4 s"]])
		assert.equal(formatPlain(ns), text);
});

await test("counts, bytes, shares, values", () => {
	assert.equal(formatCount(1234567), "1,234,567");
	assert.equal(formatCount(-1234), "-1,234");
	assert.equal(formatBytes(1023), "1023 B");
	assert.equal(formatBytes(524288), "512.0 KiB");
	assert.equal(formatShare(1, 3), "33.3 %");
	assert.equal(formatShare(1, 0), "\u2013");
	assert.equal(formatValue(1.5, "processors"), "1.5 processors");
	assert.equal(formatValue(1, "commands"), "1 command");
	assert.equal(formatValue(30, "ns"), "30 ns");
});

await test("a recording is complete where nothing is known to be missing", () => {
	const refused = {name: "nvidia", state: "refused", reason: "nvmlInit: no driver"}, works = {name: "nvidia", state: "available"};
	assert.equal(formatComplete({}), "not known");
	assert.equal(formatComplete({complete: true, losses: [], collectors: [works]}), "yes");
	assert.equal(formatComplete({complete: true, losses: [{kind: "counter", count: 7}]}), "launches yes, but rows were lost");
	assert.match(formatComplete({complete: true, collectors: [works, refused]}), /^launches yes, but a collector /);
	assert.match(formatComplete({complete: false, collectors: [refused]}), /^no: launches are missing; a collector /);
	assert.deepEqual(collectorRows({collectors: [works, refused]}), [["nvidia", "refused: nvmlInit: no driver"]]);
});

await test("an axis has round steps, at least so wide, and marks that differ", () => {
	for (let span = 20; span < 1e14; span *= 1.7)
		for (const pixels of [300, 1050, 1700]) {
			const {stepNs, label} = axisStep(span, pixels, 90);
			assert.ok(stepNs === 1 || stepNs / span * pixels >= 89.9, span + ": " + stepNs);
			assert.ok(stepNs / span * pixels < 90 * 2.6 || stepNs === 1);
			assert.ok([1, 2, 5].includes(Math.round(stepNs / 10 ** Math.floor(Math.log10(stepNs) + 1e-9))), String(stepNs));
			const begin = Math.ceil(span * 3 / stepNs) * stepNs;
			assert.notEqual(label(begin), label(begin + stepNs), span + "/" + stepNs);
		}
	assert.equal(axisStep(20e6, 1050, 90).label(2e6), "2 ms");
	assert.match(axisStep(20e6, 1050, 90).label(-2e6), /^\u22122 ms$/);
});

await test("moments as people write them", () => {
	for (const [text, ns] of [["12.5ms", 12.5e6], ["30 us", 30e3], ["17", 17], ["2s", 2e9], ["1,000 ns", 1000], ["-3us", -3000]])
		assert.equal(parseNs(text), ns);
	for (const text of ["", "ms", "5 minutes", "0x10"])
		assert.ok(Number.isNaN(parseNs(text)), text);
});

await test("characters that hide or turn the text are written out", () => {
	assert.equal(visible("a\nb\u202egnp.exe\u200b"), "a\\u000ab\\u202egnp.exe\\u200b");
	assert.equal(visible("\u6f22\u5b57 \u00e4"), "\u6f22\u5b57 \u00e4");
});

end();
