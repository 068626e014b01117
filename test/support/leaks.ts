/**
 * Searches what a run told (logs, events, statuses, arguments of processes) for keys and passwords that it used. That
 * the search finds what is there is shown each time, by the places where they belong.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { dispatch } from "../../src/cli/dispatch.ts";
import { collectingIo } from "../../src/cli/testing.ts";
import { verbs } from "../../src/cli/verbs.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { bedPaths } from "../../testbed/paths.ts";
import type { LocalCluster } from "./local-cluster.ts";
import { PATHS } from "./kube-paths.ts";
import type { Running } from "./operator.ts";

interface Told {
  readonly where: string;
  readonly text: string;
}

const KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----([\s\S]*?)-----END/g;
/** Shorter ones were chosen by a test, in words that others may use. */
const RANDOM = 20;
/** Files that are secret as a whole; those in capitals are for stores of snapshots. */
const WHOLE = /(?:^password$|^key$|auth-token.*\.key$|^[A-Z]+_[A-Z_]*(?:KEY|TOKEN|SAS)$)/;
/** In a JSON text the end of a line is written as two characters. */
const LINE_ENDS = /(?:\s|\\n)+/;

/** The secrets in a file of this name: what is between the lines of a key, or all of it. */
function secretsIn(file: string, text: string): string[] {
  const keys = [...text.matchAll(KEY)].flatMap(([, body = ""]) =>
    body.split(LINE_ENDS).filter(Boolean).slice(0, 1),
  );
  const all = WHOLE.test(file) ? [...keys, text.trim()] : keys;
  return all.filter((secret) => secret.length >= 8);
}

function leaksIn(secrets: readonly string[], told: readonly Told[]): string[] {
  return told.flatMap(({ where, text }) => {
    const isKey = text.search(KEY) >= 0;
    const isKnown = secrets.some((secret) => text.includes(secret));
    return isKey || isKnown ? [`${where}${isKey ? ": a private key" : ": a key or a password"}`] : [];
  });
}

function filesUnder(dir: string, isLeftOut: (file: string) => boolean = () => false): Told[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true, encoding: "utf8" })
    .filter((file) => !isLeftOut(file) && statSync(path.join(dir, file)).isFile())
    .map((file) => ({ where: path.join(dir, file), text: readFileSync(path.join(dir, file), "latin1") }));
}

/** Of every process of this machine that may be read: those of others hold no random text of ours. */
function argumentsOfAll(): Told[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid): Told[] => {
      try {
        return [{ where: `arguments of ${pid}`, text: readFileSync(`/proc/${pid}/cmdline`, "utf8") }];
      } catch {
        // It has ended.
        return [];
      }
    });
}

function assertNone(secrets: readonly string[], kept: readonly Told[], told: readonly Told[]): void {
  assert.ok(secrets.length > 0, "there are secrets");
  for (const secret of secrets)
    assert.ok(leaksIn([secret], kept).length > 0, "the search finds what is where it belongs");
  assert.deepEqual(leaksIn(secrets, told), []);
  const random = secrets.filter((secret) => secret.length >= RANDOM);
  assert.deepEqual(leaksIn(random, argumentsOfAll()), []);
}

/** Of a cluster on this machine: all of its files but for those that are secret, and its data. `former`: no longer kept. */
export function assertNoLeakOnMachine(local: LocalCluster, former: readonly string[] = []): void {
  const kept = [...filesUnder(local.files.pki), ...filesUnder(path.join(local.files.dir, "secrets"))];
  const secrets = kept.flatMap(({ where, text }) => {
    const isToken = path.dirname(where) === local.files.tokenKeys;
    return secretsIn(isToken ? `auth-token-${path.basename(where)}` : path.basename(where), text);
  });
  // `issued` is where a test lets a person's certificate be written.
  const isLeftOut = (file: string) => /^(?:pki|secrets|volumes|recovery|issued)(?:\/|$)/.test(file);
  const told = [
    ...filesUnder(local.files.dir, isLeftOut),
    { where: "what the controller saw and did", text: local.seen() },
    { where: "the story", text: local.story() },
  ];
  assertNone(secrets, kept, told);
  assert.deepEqual(leaksIn(former, told), []);
}

const OURS = `/apis/${API_VERSION}/namespaces/default`;
const LISTED = [
  ...Object.values(PATHS).filter((list) => list !== PATHS.secrets),
  `${OURS}/etcdusers`,
  `${OURS}/etcdroles`,
  "/apis/events.k8s.io/v1/namespaces/default/events",
];

/** What a person would send with a bug report, which archives as they are would hide. */
async function reportOf(bed: TestTestbed, cluster: string): Promise<Told> {
  const cwd = mkdtempSync(path.join(tmpdir(), "quorate-leaks-"));
  try {
    const io = collectingIo({ env: { KUBECONFIG: bed.kubeconfig, HOME: cwd }, cwd, command: "kubectl etcd" });
    assert.equal(await dispatch(["report", cluster, "-f", "report.tar.gz"], verbs, "0.0.0", io), 0, io.err());
    const text = gunzipSync(readFileSync(path.join(cwd, "report.tar.gz"))).toString("latin1");
    assert.match(text, /cluster\.yaml/);
    return { where: `the report about ${cluster}`, text: [text, io.out(), io.err()].join("\n") };
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

/**
 * Of everything in the namespace of the tests: every object but Secrets, the logs of operator and Pods, and a report about
 * a cluster.
 */
export async function assertNoLeakOnBed(
  bed: TestTestbed,
  { log, steps, calls }: Pick<Running, "log" | "steps" | "calls">,
  cluster: string,
): Promise<void> {
  const { items } = await bed.client.get<{ items: Secret[] }>(PATHS.secrets);
  const kept = items.flatMap(({ metadata, data = {} }) =>
    Object.entries(data).map(([file, text]) => ({
      where: file,
      name: metadata?.name,
      text: Buffer.from(text, "base64").toString("latin1"),
    })),
  );
  const secrets = kept.flatMap(({ where, text }) => secretsIn(where, text));
  const lists = await Promise.all(
    LISTED.map(async (list) => ({ where: list, text: JSON.stringify(await bed.client.get(list)) })),
  );
  const report = await reportOf(bed, cluster);
  // In the API a file of a Secret is in base64.
  const encoded = secrets.flatMap((secret) => [secret, Buffer.from(secret).toString("base64").slice(0, 40)]);
  const told = [
    ...lists,
    ...filesUnder(path.join(bedPaths(bed.name).kubelet, "logs")),
    { where: "the log of the operator", text: log.join("\n") },
    { where: "its steps and calls", text: JSON.stringify([steps, calls]) },
    report,
  ];
  assertNone(secrets, kept, told);
  assert.deepEqual(leaksIn(encoded, [...lists, report]), []);
}
