// SPDX-License-Identifier: MIT
//
// tests/apps/programs/promises.cjs - node launches kernels through koffi, in its own thread and in its thread pool
const koffi = require("koffi");

const run = koffi.load(process.argv[2]).func("double launches_run(int count)");

function runLater(count) {
    return new Promise((resolve, reject) =>
        run.async(count, (error, sum) => (error ? reject(error) : resolve(sum))));
}

async function main() {
    const sums = [run(50), ...await Promise.all([runLater(100), runLater(101), runLater(102)])];
    console.log("sum", sums.reduce((a, b) => a + b));
}

main();
