// Makes one table of what `python/table.py` and `node/table.mjs` found: client × case × upstream.
//
// Arguments: their outputs. Prints why a cell failed below the table; exits with 1 when any did, or none was run.

import { readFileSync } from "node:fs";

const upstreams = ["chat", "responses", "openai", "messages", "gemini"];
const cells = new Map();
const reasons = [];
let milliseconds = 0;

for (const file of process.argv.slice(2)) {
  const lines = readFileSync(file, "utf8").split("\n").filter((line) => line.includes("\t"));
  for (const line of lines) {
    const [client, name, upstream, took, verdict] = line.split("\t");
    const row = `${client}\t${name}`;
    const passed = verdict === "PASS";
    cells.set(row, { ...cells.get(row), [upstream]: passed ? "PASS" : "FAIL" });
    milliseconds += Number(took);
    if (!passed) reasons.push(`FAIL ${client} over ${upstream}: ${name}: ${verdict.slice(5)}`);
  }
}

const rows = [...cells].map(([row, verdicts]) => [
  ...row.split("\t"),
  ...upstreams.map((name) => verdicts[name] ?? ""),
]);
const table = [["client", "case", ...upstreams], ...rows];
const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
let previous = "";
for (const row of table) {
  if (row[0] !== previous) console.log(widths.map((width) => "-".repeat(width)).join("  "));
  previous = row[0];
  console.log(
    row
      .map((cell, column) => cell.padEnd(widths[column]))
      .join("  ")
      .trimEnd(),
  );
}

const count = rows.flatMap((row) => row.slice(2)).filter(Boolean).length;
for (const reason of reasons) console.log(reason);
console.log(`${count} cells, ${reasons.length} FAIL, ${(milliseconds / 1000).toFixed(1)} s of asking`);
process.exitCode = count > 0 && reasons.length === 0 ? 0 : 1;
