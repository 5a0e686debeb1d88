// SPDX-License-Identifier: MIT
//
// The flame graph of a device's time: busy time by path, idle time by the stacks that duet flame gives it.
// docs/design/view.md describes the two sections that have them.

import {ScopeModel} from "./scope_model.js";

function addShare(map, key, value) {
	map.set(key, (map.get(key) || 0) + value);
}

// Makes values add up to a sum, each in proportion; the largest gets what rounding leaves.
function proportion(parts, sum) {
	const all = parts.reduce((total, part) => total + part[1], 0);
	if (!all || all === sum)
		return parts;
	const scaled = parts.map(([stack, value]) => [stack, Number(BigInt(value) * BigInt(sum) / BigInt(all))]);
	const largest = scaled.reduce((best, part) => part[1] > best[1] ? part : best, scaled[0]);
	largest[1] += sum - scaled.reduce((total, part) => total + part[1], 0);
	return scaled;
}

export class DeviceGraph {
	/** @param {object} head @param {object} cells the two sections */
	constructor(head, cells) {
		this.head = head;
		this.scope = new ScopeModel(head, cells);
	}

	// The text of the box at which a stack ends: "[idle: \u2026]".
	leafOf(stack) {
		const {frames, stacks} = this.head;
		return stack ? frames.names[stacks.frames[stack - 1]] : "";
	}

	/**
	 * Idle time in [from, to) by stack. Cells are the finest that is known of stacks: in a part of the recording, the
	 * stacks of the cells that it touches have the account's time of each cause.
	 * @param {number[]} causes the account's ns by cause
	 */
	idleOf(model, causes, from, to) {
		const {from_ns: begin, to_ns: end, row_ns: row, cells} = this.head;
		const first = Math.max(0, Math.min(cells - 1, Math.floor((from - begin) / row)));
		const byStack = this.scope.stacksOf(first, Math.max(first + 1, Math.min(cells, Math.ceil((to - begin) / row))));
		if (from <= begin && to >= end)
			return byStack;
		const byText = new Map(), result = new Map();
		for (const part of byStack) {
			const text = this.leafOf(part[0]);
			if (!byText.has(text))
				byText.set(text, []);
			byText.get(text).push(part);
		}
		causes.forEach((ns, cause) => {
			const parts = byText.get("[idle: " + model.causeText(cause) + "]") || [];
			for (const [stack, value] of proportion(parts, Math.round(ns)))
				addShare(result, stack, value);
		});
		return result;
	}

	/** The tree that FlameGraph draws; kinds are classes of frames. Without busy time: idle alone. */
	flameOf(model, account, from, to, hasBusy) {
		const byStack = this.idleOf(model, account.causes, from, to);
		for (const [path, ns] of hasBusy ? account.byPath : [])
			addShare(byStack, this.head.paths[path] || 0, Math.round(ns));
		return Object.assign(this.scope.treeOf(byStack), {isExact: account.isExact});
	}
}
