// SPDX-License-Identifier: MIT
//
// What the tests under node share: TAP, and a view file's sections without a browser.
import {readFileSync} from "node:fs";
import zlib from "node:zlib";

// Debian 12's node 18 has no "deflate-raw"; browsers have.
try {
	new DecompressionStream("deflate-raw");
} catch {
	globalThis.DecompressionStream = class {
		constructor() {
			const parts = [];
			const stream = new TransformStream({
				transform: (part) => { parts.push(part); },
				flush: (controller) => controller.enqueue(zlib.inflateRawSync(Buffer.concat(parts))),
			});
			this.readable = stream.readable;
			this.writable = stream.writable;
		}
	};
}

let passed = 0, failed = 0;

export async function test(name, body) {
	try {
		await body();
		passed++;
		console.log(`ok ${passed + failed} - ${name}`);
	} catch (error) {
		failed++;
		console.log(`not ok ${passed + failed} - ${name}`);
		console.log(String(error.stack || error).replace(/^/gm, "# "));
	}
}

export function end() {
	console.log(`1..${passed + failed}`);
	console.log(`# ${passed} passed, ${failed} failed`);
	process.exitCode = failed ? 1 : 0;
}

/** The sections of a view file, as SectionStore wants them; all of them are there. */
export function sourceOf(path) {
	const sections = new Map();
	const pattern = /<script type="text\/plain" id="(\w+)">([^<]*)<\/script>/g;
	for (const [, id, text] of readFileSync(path, "latin1").matchAll(pattern))
		sections.set(id, text);
	return {has: (id) => sections.has(id), text: (id) => sections.get(id), isWhole: () => true};
}
