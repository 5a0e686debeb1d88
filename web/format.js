// SPDX-License-Identifier: MIT
//
// Numbers and names for people.

const NS_UNITS = [[1, "ns"], [1e3, "\u00b5s"], [1e6, "ms"], [1e9, "s"]];
// What could hide in a name: control characters, and those that turn the direction of text.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** A name of the trace for the eye: characters that cannot be seen are written out. */
export function visible(text) {
	return String(text).replace(HIDDEN, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

/** A time in ns with four digits and its unit: 1.234 ms. */
export function formatNs(ns) {
	const size = Math.abs(ns);
	if (size < 1000)
		return Math.round(ns * 100) / 100 + " ns";
	let unit = NS_UNITS[1];
	for (const candidate of NS_UNITS)
		if (size >= candidate[0] * 0.99995)
			unit = candidate;
	const value = ns / unit[0];
	return value.toFixed(Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value) * 1.00005)))) + " " + unit[1];
}

/** A time with no more digits than it has: 250 ms, 1 s, 2.5 s. */
export function formatPlain(ns) {
	const isShort = ns > 0 && ns < 1e9;
	return String(Number((ns / (isShort ? 1e6 : 1e9)).toFixed(isShort ? 6 : 9))) + (isShort ? " ms" : " s");
}

/** 1234567 as 1,234,567. */
export function formatCount(value) {
	return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A time with all of its digits: 1,234,567 ns. */
export function formatExact(ns) {
	return formatCount(ns) + " ns";
}

/** Bytes with a binary unit. */
export function formatBytes(bytes) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB"];
	let at = 0;
	for (; bytes >= 1024 && at < 4; at++)
		bytes /= 1024;
	return (at ? bytes.toFixed(bytes < 10 ? 2 : 1) : bytes) + " " + units[at];
}

/** A function with its file and line: step (train.py:57). */
export function formatPlace({function: name, file, line}) {
	return name + (file ? " (" + file.replace(/^.*\//, "") + (line ? ":" + line : "") + ")" : "");
}

/** A share of a whole in per cent. */
export function formatShare(part, whole) {
	return whole > 0 ? (part / whole * 100).toFixed(1) + " %" : "\u2013";
}

/** A metric's value with its unit. */
export function formatValue(value, unit) {
	if (unit === "bytes" || unit === "B")
		return value < 0 ? "\u2212" + formatBytes(-value) : formatBytes(value);
	if (unit === "MiB" || unit === "ms")
		return unit === "ms" ? formatNs(value * 1e6) : formatValue(value * 1048576, "bytes");
	if (unit === "ns")
		return formatNs(value);
	const rounded = Math.abs(value) < 100 ? Math.round(value * 1000) / 1000 : Math.round(value * 10) / 10;
	return rounded.toLocaleString("en") + (unit ? " " + (rounded === 1 ? unit.replace(/^([a-z]+)s$/, "$1") : unit) : "");
}

/**
 * Marks of a time axis: a round step of at least minPixels, and how to write a mark.
 * @returns {{stepNs: number, label: function(number): string}}
 */
export function axisStep(spanNs, pixels, minPixels) {
	const least = spanNs * minPixels / Math.max(1, pixels);
	let stepNs = Math.pow(10, Math.ceil(Math.log10(Math.max(least, 1e-9))));
	for (const part of [5, 2])
		if (stepNs / part >= least)
			stepNs /= part;
	stepNs = Math.max(1, stepNs);
	let unit = NS_UNITS[0];
	for (const candidate of NS_UNITS)
		if (stepNs * 1000 > candidate[0] && spanNs >= candidate[0] / 2)
			unit = candidate;
	const digits = Math.max(0, Math.round(-Math.log10(stepNs / unit[0]) + 0.49));
	return {stepNs, label: (ns) => {
		const [whole, part] = Math.abs(ns / unit[0]).toFixed(digits).split(".");
		return (ns < 0 ? "\u2212" : "") + formatCount(Number(whole)) + (part ? "." + part : "") + " " + unit[1];
	}};
}

/**
 * A moment or length as people write it: 12.5ms, 30 us, 2s, 17 (ns). NaN where it is none.
 * @returns {number} ns
 */
export function parseNs(text) {
	const found = /^\s*(-?[\d.,]+)\s*(ns|us|\u00b5s|ms|s)?\s*$/.exec(text);
	if (!found)
		return NaN;
	const scale = {ns: 1, us: 1e3, "\u00b5s": 1e3, ms: 1e6, s: 1e9}[found[2] || "ns"];
	return Math.round(Number(found[1].replace(/,/g, "")) * scale);
}
