// SPDX-License-Identifier: MIT
//
// The page of duet diff: the two sides, the verdict, the way from one wall time to the other, the account.

import {byId, fill, make} from "./dom.js";
import {formatNs, visible} from "./format.js";
import {reportErrors, showNotice, showTip} from "./chrome.js";
import {baseName, connectFilter, formatSigned, loadDocument} from "./compare_page.js";
import {AccountTable, readRow} from "./diff_rows.js";
import {drawWaterfall, waterfallSteps} from "./waterfall.js";

const PATHS_SHOWN = 6, ALL = -1;

function showSide(name, runs) {
	const side = make("div", "side", make("div", "path", make("b", null, name), runs.length > 1 ? runs.length + " runs: " : "",
		runs.slice(0, PATHS_SHOWN).map((run) => visible(run.path)).join(", ") + (runs.length > PATHS_SHOWN ? " and " + (runs.length - PATHS_SHOWN) + " more" : "")));
	if (runs[0].command)
		side.append(make("div", "command", visible(runs[0].command).slice(0, 1000)));
	const facts = ["wall time " + formatNs(runs.reduce((sum, run) => sum + run.wall_ns, 0) / runs.length) + (runs.length > 1 ? " on average" : "")];
	if (runs.some((run) => run.iterations))
		facts.push(runs[0].iterations + " iterations of " + formatNs(runs[0].iteration_ns));
	if (runs.some((run) => !run.complete))
		facts.push("incomplete");
	side.append(make("div", "faint", facts.join(" \u00b7 ")));
	return side;
}

function showNotes(notes) {
	fill(byId("notes"), ...notes.map((note) => make("li", note.weight, (note.weight === "refusal" ? "Not comparable: " : note.weight === "warning" ? "! " : "") + visible(note.text))));
}

function showReasons(data) {
	const reasons = make("ol", "reasons", ...(data.reasons || []).map((reason) => make("li", null, visible(reason))));
	fill(byId("verdict"), make("p", "verdict", data.verdict ? visible(data.verdict) : "No numbers: the recordings are not comparable. --force compares them nevertheless."), reasons);
}

/** State of the page. */
class DiffPage {
	constructor(head, data) {
		Object.assign(this, {head, data, device: data.devices.length === 1 ? 0 : ALL});
		this.rows = data.account.rows.map((row) => readRow(row, head));
		this.table = new AccountTable(data.devices.length > 1, showTip);
	}

	shownRows() {
		return this.device === ALL ? this.rows : this.rows.filter((one) => one.device === this.device);
	}

	/** Wall times of what is shown, and whether the rows add up. */
	sums() {
		const devices = this.device === ALL ? this.data.devices : [this.data.devices[this.device]];
		const base = devices.reduce((sum, device) => sum + device.base_wall_ns, 0) / this.head.base_units;
		const change = devices.reduce((sum, device) => sum + device.wall_change_ns, 0);
		return {base, change, isExact: this.shownRows().reduce((sum, one) => sum + one.change, 0) === change};
	}

	deviceName(index) {
		const {name, base_name: was} = this.data.devices[index];
		return visible(was && name && was !== name ? was + " \u2192 " + name : name || was || "device " + index);
	}

	choose(device) {
		this.device = device;
		this.drawTabs();
		this.drawWaterfall();
		this.table.hasDevices = device === ALL;
		this.table.setRows(this.shownRows());
	}

	drawTabs() {
		const tabs = this.data.devices.length > 1 ? [ALL, ...this.data.devices.keys()] : [];
		fill(byId("tabs"), ...tabs.map((device) => {
			const button = make("button", null, device === ALL ? "All " + this.data.devices.length + " devices" : "Device " + device + ": " + this.deviceName(device));
			button.type = "button";
			button.setAttribute("role", "tab");
			button.setAttribute("aria-selected", String(device === this.device));
			button.addEventListener("click", () => this.choose(device));
			return button;
		}));
		byId("tabs").hidden = !tabs.length;
	}

	drawWaterfall() {
		const {base, change, isExact} = this.sums(), hasDevices = this.device === ALL && this.data.devices.length > 1;
		const rows = this.shownRows().map((one) => ({change: one.change, text: (one.isIdle ? "idle: " : "") + one.label + (hasDevices ? " (device " + one.device + ")" : "")}));
		this.steps = waterfallSteps(base, rows, change);
		const {svg, isCut} = drawWaterfall(this.steps, Math.max(480, byId("waterfall").clientWidth));
		const per = this.head.per === "iteration" ? " per iteration" : this.head.base_units > 1 || this.head.new_units > 1 ? " per run" : "";
		fill(byId("waterfall"), make("h2", null, "From " + formatNs(base) + " to " + formatNs(base + change) + per + ": " + formatSigned(change)), svg,
			make("p", "faint", "Red: grown. Blue: shrunk. Each bar begins where the one before ends." + (hasDevices ? " Wall times are sums over the devices." : "") +
				(isCut ? " The axis does not begin at 0." : "")));
		if (!isExact)
			showNotice("The rows do not add up to the change: report this as a fault of duet.");
	}

	start() {
		const {confidence} = this.data;
		this.drawTabs();
		this.drawWaterfall();
		this.table.setRows(this.shownRows());
		fill(byId("account"), make("h2", null, "Account of the difference"), this.table.element,
			make("p", "faint", !this.table.largest ? "No change can be proved: one run a side without iterations does not show the noise." : "Interval of the change with " + confidence * 100 + " % confidence: a thick line with a full dot is proved, a dashed line with an empty dot is not. A thin line: the change is small, or there is none. " +
				"All rows have one scale, a square root, so that small changes can be seen; the vertical line is 0."));
		let width = innerWidth;
		addEventListener("resize", () => {
			if (innerWidth !== width)
				this.drawWaterfall();
			width = innerWidth;
		});
	}
}

async function openDiff() {
	const [head, data] = await loadDocument("duet.diff/1");
	const title = baseName(data.base[0].path) + (data.base.length > 1 ? " \u2026" : "") + " \u2192 " + baseName(data.new[0].path) + (data.new.length > 1 ? " \u2026" : "");
	document.title = visible(title).slice(0, 100) + " - duet diff";
	byId("title").textContent = visible(title);
	showNotice("");
	fill(byId("sides"), showSide("BASE", data.base), showSide("NEW", data.new));
	showNotes(data.notes);
	showReasons(data);
	fill(byId("about"), "duet " + visible(head.version) + (data.range ? " \u00b7 only the range " + visible(data.range) : ""));
	const page = data.account ? new DiffPage(head, data) : null;
	byId("tabs").hidden = byId("filter").hidden = !page;
	connectFilter((text) => page && page.table.setFilter(text));
	if (page)
		page.start();
	window.duetDiff = {head, data, page};
}

reportErrors();
openDiff().catch((error) => showNotice(error.message));
