/**
 * How soon the command answers, as the built file: its first output, the screen of one cluster, and a list of two
 * hundred, on a real API server that holds what an operator wrote. Beside a start of Node that does nothing.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { bundle } from "../../scripts/build/bundle.ts";
import { lived, viewFor } from "../../src/cli/screen/testing/worlds.ts";
import { healthy } from "../../src/core/testing/cluster.ts";
import { LABELS } from "../../src/operator/names.ts";
import { PATHS } from "../support/kube-paths.ts";
import { upWithDefinitions } from "../support/operator.ts";
import { measure, tellLoad } from "./measure.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const CLUSTERS = 200;

const folder = mkdtempSync(join(tmpdir(), "quorate-bench-command-"));
const bed = await upWithDefinitions();

interface Made {
  readonly metadata: { readonly uid?: string };
}

/** A healthy cluster of three, as its operator describes it. */
async function describe(name: string, withMembers: boolean): Promise<void> {
  const { cluster, members } = viewFor(lived(healthy()));
  const { apiVersion, kind, status } = cluster;
  const spec = { replicas: 3, version: "3.6.16" };
  const made = await bed.client.create<Made>(PATHS.clusters, {
    apiVersion,
    kind,
    metadata: { name },
    spec,
  } as object as Made);
  await bed.client.patch(`${PATHS.clusters}/${name}/status`, { status });
  if (!withMembers) return;
  for (const member of members) {
    const labels = { [LABELS.cluster]: name, [LABELS.clusterUID]: made.metadata.uid ?? "" };
    const metadata = { name: member.metadata.name, labels };
    await bed.client.create(PATHS.members, { ...member, metadata });
    await bed.client.patch(`${PATHS.members}/${metadata.name}/status`, { status: member.status });
  }
}

/** From the start of the process to its first byte, or to its end. */
async function took(until: "first output" | "end", args: readonly string[]): Promise<number> {
  const began = performance.now();
  const child = spawn(process.execPath, [...args], {
    env: { ...process.env, KUBECONFIG: bed.kubeconfig },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let first: number | undefined;
  child.stdout.on("data", () => (first ??= performance.now() - began));
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${args.join(" ")} ended with exit code ${code}`);
  return until === "end" ? performance.now() - began : (first ?? Number.NaN);
}

try {
  const [built] = await bundle(ROOT, folder);
  const file = built?.path ?? "";
  await describe("demo", true);
  for (let i = 1; i < CLUSTERS; i++) await describe(`demo-of-team-${i}`, false);
  tellLoad();
  const reference = { what: "a start of Node that does nothing", run: () => took("end", ["-e", "0"]) };
  // Warm: what a person calls twice.
  await took("end", [file, "status", "demo"]);
  for (const { what, goal, run } of [
    { what: "version: first output", goal: 300, run: () => took("first output", [file, "version"]) },
    { what: "--help: first output", goal: 300, run: () => took("first output", [file, "--help"]) },
    { what: "status of one cluster", goal: 1_000, run: () => took("end", [file, "status", "demo"]) },
    { what: `list of ${CLUSTERS} clusters`, goal: 1_000, run: () => took("end", [file, "list"]) },
  ])
    await measure({ what, unit: "ms", goal, run, reference });
} finally {
  await bed.down();
  rmSync(folder, { recursive: true, force: true });
}
