/**
 * Searches what a run told (logs, events, statuses, arguments of processes) for keys and passwords that it used. That
 * the search finds what is there is shown each time, by the places where they belong.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
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
/** Files that are secret as a whole. */
const WHOLE = /(?:^password$|^key$|auth-token.*\.key$)/;

/** The secrets in a file of this name: what is between the lines of a key, or all of it. */
function secretsIn(file: string, text: string): string[] {
  const keys = [...text.matchAll(KEY)].flatMap(([, body = ""]) => body.trim().split(/\s+/).slice(0, 1));
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
  const { latest } = local.controller.loop;
  const seen = JSON.stringify([latest, local.steps, local.troubles.map(String)], (_key, value: unknown) =>
    typeof value === "bigint" ? String(value) : value,
  );
  const told = [
    ...filesUnder(local.files.dir, isLeftOut),
    { where: "what the controller saw and did", text: seen },
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

/** Of everything in the namespace of the tests: every object but Secrets, and the logs of operator and Pods. */
export async function assertNoLeakOnBed(bed: TestTestbed, running: Running): Promise<void> {
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
  // In the API a file of a Secret is in base64.
  const encoded = secrets.flatMap((secret) => [secret, Buffer.from(secret).toString("base64").slice(0, 40)]);
  const told = [
    ...lists,
    ...filesUnder(path.join(bedPaths(bed.name).kubelet, "logs")),
    { where: "the log of the operator", text: running.log.join("\n") },
    { where: "its steps and calls", text: JSON.stringify([running.steps, running.calls]) },
  ];
  assertNone(secrets, kept, told);
  assert.deepEqual(leaksIn(encoded, lists), []);
}
