/**
 * Golden screens through real kubectl: `status` of a real cluster that is healthy, paused, degraded, without quorum and
 * hibernated, as text files to be read and reviewed. What differs from run to run is replaced by what it is.
 * `UPDATE_SCREENS=1` writes what is shown instead.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { ClusterPhase } from "../../src/api/status-words.ts";
import { eventually } from "../../testbed/eventually.ts";
import { faults, type Faults } from "../../testbed/faults.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { KubectlEtcd } from "../support/kubectl-etcd.ts";
import {
  ClusterOnBed,
  PATIENCE_MS,
  startOperator,
  upWithDefinitions,
  type Running,
} from "../support/operator.ts";

const folder = new URL("../screens/", import.meta.url);

let bed: TestTestbed;
let running: Running;
let demo: ClusterOnBed;
let kubectl: KubectlEtcd;
let fault: Faults;

before(async () => {
  bed = await upWithDefinitions();
  kubectl = await KubectlEtcd.install(bed);
  running = startOperator(bed);
  fault = faults(bed.name);
  demo = new ClusterOnBed(bed, "demo", running);
  // A member that does not answer is left alone for as long as a defragmentation at full quota might take.
  await demo.create({ replicas: 3, storage: { size: "16Gi" }, options: { quotaBackendBytes: "8Gi" } });
  await demo.converged(3);
  await demo.ask("lead", { moveLeader: { to: "demo-1" } });
  await demo.operationIs("lead", "Succeeded");
});

after(async () => {
  await demo?.close();
  await running?.stop();
  await bed?.down();
  kubectl?.[Symbol.dispose]();
});

test("the status of a healthy cluster is as reviewed", async () => {
  await golden("healthy", "Healthy", 3);
});

test("the status of a paused cluster is as reviewed", async () => {
  await demo.edit({ paused: true });
  try {
    await golden("paused", "Paused", 3);
  } finally {
    await demo.edit({ paused: false });
  }
  await demo.converged(3);
});

test("the status of a cluster with a member that does not answer is as reviewed, and so is that of two", async () => {
  try {
    await fault.freeze("default", "demo-3");
    await golden("degraded", "Degraded", 2);
    await fault.freeze("default", "demo-2");
    await golden("quorum-lost", "NoQuorum", 0);
  } finally {
    for (const name of ["demo-2", "demo-3"]) await fault.thaw("default", name);
  }
  await demo.converged(3);
});

test("the status of a hibernated cluster is as reviewed", async () => {
  await demo.edit({ replicas: 0 });
  await golden("hibernated", "Hibernated", 0);
});

/** Looks until the screen is the reviewed one: what is seen on the way there is true as well. */
async function golden(name: string, phase: ClusterPhase, healthy: number): Promise<void> {
  // A Pod counts as healthy for as long as its kubelet says that it is ready.
  const isThere = async () => {
    const { phase: now, readyReplicas } = await demo.status();
    return now === phase && readyReplicas === healthy;
  };
  await eventually(`demo is ${phase} with ${healthy} voters`, isThere, { withinMs: PATIENCE_MS });
  const file = new URL(`testbed-${name}.txt`, folder);
  const show = async () => normal((await kubectl.done("status demo")).out);
  if (process.env["UPDATE_SCREENS"] === "1") writeFileSync(file, await steady(show));
  const reviewed = readFileSync(file, "utf8");
  let shown = "";
  const isReviewed = async () => (shown = await show()) === reviewed;
  await eventually(`the screen is that of ${name}`, isReviewed, { withinMs: PATIENCE_MS }).catch(
    () => undefined,
  );
  assert.equal(shown, reviewed, "run again with UPDATE_SCREENS=1 and review the difference");
}

/** To be reviewed: what is shown when nothing has changed for a while. */
async function steady(show: () => Promise<string>): Promise<string> {
  for (let before = "", same = 0; ;) {
    const now = await show();
    same = now === before ? same + 1 : 0;
    if (same === 5) return now;
    before = now;
  }
}

function normal(screen: string): string {
  const text = unwrapped(screen)
    .replaceAll(/\bno (?:answer|connection) within \d+ ms/g, "<no answer>")
    .replaceAll(/\b\d\d:\d\d:\d\d\b/g, "<time>")
    .replaceAll(/\b(?:\d+[dhms]){1,2}(?= old\b)/g, "<age>")
    .replaceAll(/(?<=\()(?:\d+[dhms]){1,2}(?=\):)/g, "<age>")
    .replaceAll(/\b\d+d$/gm, "<days>")
    .replaceAll(/\[#*-*\]/g, "[<bar>]")
    .replaceAll(/, [\d.]+ \S+ free in the file/g, "")
    .replaceAll(/\b[\d.]+ (?:B|[KMGT]iB)\b/g, "<size>")
    .replaceAll(/<?\d+%/g, "<share>")
    .replaceAll(/\bnode-\d+\b/g, "<node>")
    .replaceAll(/(?<=^Revision +)[\d,]+/gm, "<revision>")
    .replaceAll(/(?<=^Cluster ID +)[0-9a-f]+/gm, "<id>");
  return aligned(text.split("\n"));
}

/** Where a sentence is wrapped depends on what it names. */
function unwrapped(screen: string): string {
  const [head = "", ...rest] = screen.split("\n\n");
  const [first = "", ...message] = head.split("\n");
  return [`${first}\n${message.join(" ")}`, ...rest].join("\n\n").replaceAll(/\n {4,}/g, " ");
}

/** What stands in columns is as wide as what it was replaced by. */
function aligned(lines: readonly string[]): string {
  const rows = lines.map((line) => (/^(?:MEMBER|demo-\d) {2}/.test(line) ? line.split(/ {2,}/) : undefined));
  const width = (column: number) => Math.max(...rows.map((cells) => cells?.[column]?.length ?? 0));
  return lines
    .map(
      (line, index) =>
        rows[index]
          ?.map((cell, column) => cell.padEnd(width(column)))
          .join("  ")
          .trimEnd() ?? line,
    )
    .join("\n");
}
