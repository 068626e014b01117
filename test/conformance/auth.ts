/** Runs the comparison of the model etcd with a real one of a version, with auth on. */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { NAMES } from "../../sim/models/etcd/conformance/auth-steps.ts";
import { conformAuth, type AuthReport, type AuthRun } from "../../sim/models/etcd/conformance/auth-run.ts";
import { makeTestPki } from "../support/etcd-pki.ts";
import { RealSide } from "./etcd-side.ts";

type AuthConformance = Pick<
  AuthRun,
  "version" | "seed" | "calls" | "callsPerRound" | "authToken" | "restarts" | "onDifference"
> & {
  readonly members?: number;
  /** Clients have to show certificates, and are who these say. */
  readonly byCertificate?: boolean;
};

export async function compareAuth({
  members = 1,
  byCertificate,
  ...options
}: AuthConformance): Promise<AuthReport> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "quorate-auth-"));
  try {
    const pki = byCertificate ? await makeTestPki() : undefined;
    const shown = new Map(
      await Promise.all(NAMES.map(async (name) => [name, await pki?.client(name)] as const)),
    );
    await using real = await RealSide.prepare(pki && ((name) => shown.get(name)));
    return await conformAuth({
      ...options,
      real,
      slots: real.slots.slice(0, members),
      ...(pki && { clientTLS: clientTLS(pki.flags(folder)) }),
      now: () => Date.now(),
      wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Of etcd's flags those of the client plane, as they are in its file; peers talk in plaintext. */
function clientTLS(flags: readonly string[]): Record<string, unknown> {
  const own = flags.filter((flag) => !flag.startsWith("--peer-")).map((flag) => flag.slice(2).split("="));
  return Object.fromEntries(own.map(([name = "", value]) => [name, value === "true" ? true : value]));
}
