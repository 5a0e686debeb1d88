// SPDX-License-Identifier: MIT
//
// What a heat map shows: values by cell, and the stacks of a range of cells. docs/design/flamescope.md says how a file
// holds them. Nothing here knows the page.

const ROLE_PLAIN = 0, ROLE_DIVIDED = 1, ROLE_WEIGHT = 2, ROLE_COUNT = 3, ROLE_KNOWN = 4, ROLE_SEEN = 5, ROLE_LENGTHS = 6;
const RULE_INSTRUCTIONS = 1;
const LENGTHS = 7;

function share(whole, part, all) {
	return all ? Number(BigInt(whole) * BigInt(part) / BigInt(all)) : 0;
}

function sumOf(rows, value) {
	return rows.reduce((sum, row) => sum + value(row), 0);
}

// A kernel's time by the weights of its instructions; what rounding leaves is that with the most samples'.
function divideInstructions(group, rows) {
	const all = sumOf(rows, (row) => row.weight);
	if (!all)
		return [[group.stack, group.total]];
	rows.sort((a, b) => b.count - a.count || a.row - b.row);
	const parts = rows.map((row) => [row.stack, share(group.total, row.weight, all)]);
	parts[0][1] += group.total - sumOf(parts, (part) => part[1]);
	return parts;
}

// Gives of what is left to rows by how often they were seen.
class Division {
	constructor(rows, rest) {
		Object.assign(this, {rows, rest});
	}

	give(row, part) {
		part = Math.min(part, this.rest);
		row.idle += part;
		this.rest -= part;
	}

	bySeen(left) {
		const seen = sumOf(this.rows, (row) => row.seen);
		for (const row of this.rows)
			this.give(row, share(left, row.seen, seen));
	}

	byLength(left, unseen, nobody) {
		const all = unseen.reduce((sum, ns) => sum + ns, 0), named = this.rows.filter((row) => row.row !== nobody);
		for (let length = 0; length < LENGTHS; length++) {
			const part = share(left, unseen[length], all), seen = sumOf(named, (row) => row.lengths[length]);
			for (const row of named)
				this.give(row, share(part, row.lengths[length], seen));
		}
	}
}

// Idle time with one cause, by what threads were seen to do: as duet flame divides that of its window.
function divideStates(group, rows, rowsOfAll) {
	const known = sumOf(rows, (row) => row.known), left = Math.max(0, group.total - known);
	const nobody = rows.find((row) => row.row === group.nobody), division = new Division(rows, left);
	let over = Math.max(0, known - group.total);
	for (const row of rows) {
		const less = Math.min(over, row.known);
		row.idle = row.known - less;
		over -= less;
	}
	if (nobody && nobody.lengths.some((ns) => ns))
		division.byLength(left, nobody.lengths, group.nobody);
	else
		division.bySeen(left);
	const first = rows.find((row) => row.seen);
	if (first && division.rest < rowsOfAll) {
		first.idle += division.rest;
		division.rest = 0;
	}
	return [...rows.map((row) => [row.stack, row.idle]), [group.stack, division.rest]];
}

function addAmount(map, key, value) {
	map.set(key, (map.get(key) || 0) + value);
}

export class ScopeModel {
	/** @param {object} head @param {object} columns the section "cells" */
	constructor(head, columns) {
		Object.assign(this, {head, items: columns.items, amounts: columns.values});
		this.cellOf = new Uint32Array(columns.cells.length);
		let cell = 0;
		for (let i = 0; i < columns.cells.length; i++)
			this.cellOf[i] = cell += columns.cells[i];
		this.totals = new Float64Array(head.cells);
		for (let i = 0; i < this.cellOf.length; i++)
			if (head.items.roles[this.items[i]] <= ROLE_DIVIDED)
				this.totals[this.cellOf[i]] += this.amounts[i];
		this.most = this.totals.reduce((most, total) => Math.max(most, total), 0);
		this.sum = this.totals.reduce((sum, total) => sum + total, 0);
	}

	/** Where a cell begins, ns from the begin of the recording; the end of the last is that of the window. */
	beginOf(cell) {
		const {from_ns: from, to_ns: to, row_ns: row} = this.head;
		return Math.min(from + cell * row, Math.max(from, to));
	}

	// The first value of a cell or of one behind it.
	firstValue(cell) {
		let low = 0, high = this.cellOf.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (this.cellOf[middle] < cell)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}

	// What the cells of [from, to) have: by stack, and by group what is divided and by what, in the order of its coming.
	sumUp(from, to) {
		const {roles, stacks, groups, rows} = this.head.items, byStack = new Map(), byGroup = new Map();
		const groupOf = (number) => {
			if (!byGroup.has(number))
				byGroup.set(number, {total: 0, rows: new Map()});
			return byGroup.get(number);
		};
		const rowOf = (item) => {
			const group = groupOf(groups[item]);
			if (!group.rows.has(rows[item]))
				group.rows.set(rows[item], {row: rows[item], stack: stacks[item], weight: 0, count: 0, known: 0,
					seen: 0, idle: 0, lengths: new Array(LENGTHS).fill(0)});
			return group.rows.get(rows[item]);
		};
		const names = {[ROLE_WEIGHT]: "weight", [ROLE_COUNT]: "count", [ROLE_KNOWN]: "known", [ROLE_SEEN]: "seen"};
		for (let i = this.firstValue(from), end = this.firstValue(to); i < end; i++) {
			const item = this.items[i], role = roles[item], amount = this.amounts[i];
			if (role === ROLE_PLAIN)
				addAmount(byStack, stacks[item], amount);
			else if (role === ROLE_DIVIDED)
				groupOf(groups[item]).total += amount;
			else if (role >= ROLE_LENGTHS)
				rowOf(item).lengths[role - ROLE_LENGTHS] += amount;
			else
				rowOf(item)[names[role]] += amount;
		}
		return {byStack, byGroup};
	}

	/** The values of the cells of [from, to) by stack, a node of the head's tree. */
	stacksOf(from, to) {
		const {byStack, byGroup} = this.sumUp(from, to), {rules, stacks, nobodies} = this.head.groups;
		const isWhole = from === 0 && to >= this.head.cells;
		let states = 0;
		for (const [number, group] of byGroup)
			states += rules[number] === RULE_INSTRUCTIONS ? 0 : group.rows.size;
		if (isWhole && this.head.states !== undefined)
			states = this.head.states;
		for (const [number, {total, rows}] of byGroup) {
			const group = {total, stack: stacks[number], nobody: nobodies[number] - 1}, list = [...rows.values()];
			if (isWhole && rules[number] !== RULE_INSTRUCTIONS)
				list.sort((a, b) => a.row - b.row);
			const parts = rules[number] === RULE_INSTRUCTIONS ? divideInstructions(group, list) : divideStates(group, list, states);
			for (const [stack, value] of parts)
				addAmount(byStack, stack, value);
		}
		if (this.head.lost && from === 0 && to >= this.head.cells)
			addAmount(byStack, this.head.lost_stack, this.head.lost);
		return byStack;
	}

	/** The frames of a stack, root first: numbers of the head's frames. */
	framesOf(stack) {
		const {parents, frames} = this.head.stacks, found = [];
		for (let node = stack; node; node = parents[node - 1])
			found.push(frames[node - 1]);
		return found.reverse();
	}

	/** The flame graph of the cells of [from, to): nodes as FlameGraph takes them, kind is the class of a frame. */
	flameOf(from, to) {
		return this.treeOf(this.stacksOf(from, to));
	}

	/** A flame graph of values by stack. */
	treeOf(byStack) {
		const {names, classes} = this.head.frames;
		const makeNode = (key, text, kind) => ({key, text, kind, value: 0, self: 0, children: new Map()});
		const root = makeNode("", "all", 0);
		for (const [stack, value] of byStack) {
			let node = root;
			if (!value)
				continue;
			root.value += value;
			for (const frame of this.framesOf(stack)) {
				if (!node.children.has(frame))
					node.children.set(frame, makeNode(frame, names[frame], classes[frame]));
				node = node.children.get(frame);
				node.value += value;
			}
			node.self += value;
		}
		return root;
	}
}
