/**
 * Everything that happens to a cluster in its life, as one calls it by name: what the clients of a recorded
 * run must not notice but by its slowness.
 */
import { X509Certificate } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { EtcdClusterSpec } from "../../src/api/etcd-cluster-spec.ts";
import { splitBundle } from "../../src/pki/bundle.ts";
import { createPki } from "../../src/pki/issue.ts";
import { PLANES } from "../../src/pki/plan.ts";
import { systemClock } from "../../src/seams/clock.ts";
import type { Pki } from "../../src/seams/pki.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { ask, ended } from "../support/local-operations.ts";
import type { LinearRun } from "./run.ts";

const SETTLE_MS = 120_000;
/** Two rolls, each with faults all the while. */
const ROTATE_MS = 300_000;
const DAY_MS = 24 * 60 * 60 * 1_000;

/** Certificates issued by a clock that can be set back, so that leaves are due for renewal when it is set right. */
export class AgedPki {
  #ageMs = 80 * DAY_MS;
  readonly pki: Pki = createPki({ ...systemClock, now: () => systemClock.now() - this.#ageMs }, systemRandom);

  catchUp(): void {
    this.#ageMs = 0;
  }
}

const SHORT_MS = 120_000;
const CA_MS = 600_000;
const usual = createPki(systemClock, systemRandom);

/** Leaves live for two minutes and CAs for ten, which is less than a spec may ask for. */
export const shortLived = {
  pki: {
    ...usual,
    issueLeaf: ({ ca, leaf }) =>
      usual.issueLeaf({ ca, leaf: { ...leaf, lifeMs: Math.min(leaf.lifeMs, SHORT_MS) } }),
  } as Pki,
  /** A CA is replaced as long before its end as leaves are asked to live: two rolls have five minutes. */
  unchecked: (spec: EtcdClusterSpec): EtcdClusterSpec => ({
    ...spec,
    tls: { ...spec.tls, managed: { leafLifetime: "5m", caLifetime: "10m" } },
  }),
};

/** Names of the CAs that are trusted, of each plane. */
function authorities(directory: string): string[][] {
  return PLANES.map((plane) =>
    splitBundle(readFileSync(path.join(directory, `ca-${plane}.crt`), "utf8")).map(
      (pem) => new X509Certificate(pem).subject,
    ),
  );
}

/** When each leaf ends. */
function leafEnds(directory: string): Map<string, number> {
  const files = readdirSync(directory).filter((name) => name.endsWith(".pem"));
  const ends = files.map((name) => {
    const { validTo } = new X509Certificate(readFileSync(path.join(directory, name)));
    return [name, Date.parse(validTo)] as const;
  });
  return new Map(ends);
}

export async function scale({ local }: LinearRun, replicas: number): Promise<void> {
  await local.edit({ replicas });
  await local.settled(SETTLE_MS);
}

export async function replace({ local }: LinearRun, which: "leader" | "follower"): Promise<string> {
  const view = local.view();
  const leader = view.leader?.name;
  const name = view.members
    .map((member) => member.name)
    .find((one) => (one === leader) === (which === "leader"));
  if (name === undefined) throw new Error(`there is no ${which}`);
  await local.store.markDeleting(name);
  local.controller.loop.wake();
  await local.until(
    `${name} is replaced`,
    ({ members }, { decision }) => decision.converged && !members.some((member) => member.name === name),
    SETTLE_MS,
  );
  return name;
}

export async function upgrade({ local }: LinearRun, version: string): Promise<void> {
  await local.edit({ version });
  await local.settled(SETTLE_MS);
}

/** Every member restarts once, with another option. */
export async function roll({ local }: LinearRun): Promise<void> {
  const { options } = local.view().spec;
  await local.edit({ options: { ...options, snapshotCount: (options.snapshotCount ?? 10_000) + 1 } });
  await local.settled(SETTLE_MS);
}

/** Nobody runs, then the same members again: what was acknowledged is still there. */
export async function hibernate({ local }: LinearRun): Promise<void> {
  const { replicas } = local.view().spec;
  await local.edit({ replicas: 0 });
  await local.until("it sleeps", () => local.controller.platform.workloads.names().length === 0, SETTLE_MS);
  await local.edit({ replicas });
  await local.settled(SETTLE_MS);
}

/** All processes end at once; over when each serves again. */
export async function outage({ local }: LinearRun): Promise<void> {
  const { workloads } = local.controller.platform;
  const starts = new Map(workloads.names().map((name) => [name, local.startsOf(name)]));
  // A look that had begun before may still show them well when they are started already.
  const begun = (local.controller.loop.latest?.number ?? 0) + 1;
  await Promise.all([...starts.keys()].map((name) => workloads.kill(name, "SIGKILL")));
  await local.until(
    "all serve again",
    ({ members }, { decision, number }) =>
      number > begun &&
      decision.converged &&
      members.every(({ name, healthy }) => healthy && local.startsOf(name) > (starts.get(name) ?? 0)),
    SETTLE_MS,
  );
}

/**
 * A controller that starts when leaves are due renews them all; then every connection between members is
 * cut once, so that the new ones are shown.
 */
export async function renewLeaves({ local, network }: LinearRun, aged: AgedPki): Promise<void> {
  const before = leafEnds(local.files.pki);
  aged.catchUp();
  await local.crash();
  await local.open();
  local.run();
  await renewed(local, before);
  network.reset();
  await local.settled(SETTLE_MS);
}

/**
 * The CAs of both planes are replaced when they are due, and all leaves before, without anybody asking. Each member
 * restarts twice, so that its peers see what it shows; to cut connections besides would fail writes of clients.
 */
export async function outliveAuthorities({ local }: LinearRun): Promise<void> {
  const [leaves, before] = [leafEnds(local.files.pki), authorities(local.files.pki)];
  const isReplaced = () =>
    authorities(local.files.pki).every(
      ([only = "", ...more], plane) => more.length === 0 && !before[plane]?.includes(only),
    );
  await local.until("the CAs are replaced", isReplaced, CA_MS + ROTATE_MS);
  await renewed(local, leaves);
  await local.settled(SETTLE_MS);
}

async function renewed(
  local: LinearRun["local"],
  before: ReadonlyMap<string, number>,
  withinMs = SETTLE_MS,
): Promise<void> {
  const end = performance.now() + withinMs;
  for (;;) {
    const now = leafEnds(local.files.pki);
    if ([...before].every(([name, notAfter]) => (now.get(name) ?? 0) > notAfter)) return;
    if (performance.now() > end) throw new Error(`the leaves were not renewed\n${local.story()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The CAs of both planes, by two restarts of every member, and then all leaves again. */
export async function rotate({ local }: LinearRun, name: string): Promise<void> {
  for (const [operation, task] of [
    [`${name}-cas`, { ca: true }],
    [`${name}-leaves`, {}],
  ] as const) {
    await ask(local, operation, { rotateCertificates: task });
    const { phase, message } = await ended(local, operation, ROTATE_MS);
    if (phase !== "Succeeded") throw new Error(`${operation} is ${phase}: ${message}`);
  }
  await local.settled(SETTLE_MS);
}
