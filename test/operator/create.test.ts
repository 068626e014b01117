/**
 * The operator makes clusters: of one, three and five members, with TLS, on real etcd in Pods of the stand-in kubelet,
 * with few writes. It was told another DNS domain than the usual one.
 */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { after, before, test } from "node:test";
import type { Pod, Service } from "kubernetes-types/core/v1.d.ts";
import { LABELS, secretNames } from "../../src/operator/names.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { secretFiles } from "../support/bed-secrets.ts";
import { PATHS } from "../support/kube-paths.ts";
import { ClusterOnBed, startOperator, upWithDefinitions, writes, type Running } from "../support/operator.ts";

/**
 * Writes that make a member of a new cluster of three, its share of what they have in common included; three of them
 * say on its claim and volume what they hold.
 */
const MOST_WRITES_PER_MEMBER = 14;
const DOMAIN = "corp.internal";

let bed: TestTestbed;
let running: Running;

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed, { clusterDomain: DOMAIN });
  await eventually("the operator leads", () => running.operator.leads);
});

after(async () => {
  await running?.stop();
  await bed?.down();
});

test("one member with TLS", async () => {
  const cluster = new ClusterOnBed(bed, "one", running);
  await cluster.create({ replicas: 1 });
  await cluster.waitFor("Available");
  await cluster.converged(1);
  await cluster.assertSound(1);
  await cluster.close();
});

test("three members with TLS: three voters, one leader, one cluster ID, equal copies, few writes", async (t) => {
  const cluster = new ClusterOnBed(bed, "three", running);
  const from = running.calls.length;
  const began = Date.now();
  await cluster.create({ replicas: 3 });
  await cluster.waitFor("Available");
  const availableMs = Date.now() - began;
  const status = await cluster.converged(3);
  const convergedMs = Date.now() - began;
  const made = writes(running.calls.slice(from));
  const table = Map.groupBy(made, ({ verb, resource }) => `${verb} ${resource}`);
  const listed = [...table].map(([what, calls]) => `${calls.length} × ${what}`).join(", ");
  t.diagnostic(`available after ${availableMs} ms; ${made.length} writes: ${listed}`);
  // What lasts is reported, at most once a second of the cluster and of each.
  const reported = made.filter(({ verb, resource }) => verb === "patch" && resource.startsWith("etcd"));
  assert.ok(made.length - reported.length <= 3 * MOST_WRITES_PER_MEMBER, `${made.length} writes: ${listed}`);
  assert.ok(
    reported.length <= 4 * Math.ceil(convergedMs / 1000),
    `${reported.length} told in ${convergedMs} ms`,
  );
  assert.equal(status.clientSecret, secretNames("three").client);
  assert.equal(await cluster.condition("TLSReady"), "True/Issued");
  await cluster.assertSound(3);
  const nodes = (await cluster.pods()).map(({ spec }) => spec?.nodeName);
  assert.equal(new Set(nodes).size, 3, "rather on different nodes");
  await cluster.close();
});

test("five members without TLS", async () => {
  const cluster = new ClusterOnBed(bed, "five", running);
  await cluster.create({ replicas: 5, tls: { mode: "Disabled" } });
  const status = await cluster.converged(5);
  assert.equal(status.clientSecret, undefined);
  assert.equal(await cluster.condition("TLSReady"), "False/Disabled");
  await cluster.assertSound(5);
  await cluster.close();
});

test("the Services lead to voters, and the budget keeps their quorum", async () => {
  const client = await bed.client.get<Service>(`${PATHS.services}/three-client`);
  assert.equal(client.spec?.selector?.[LABELS.role], "voter");
  const budget = await bed.client.get<{ spec: { minAvailable: number } }>(`${PATHS.budgets}/three`);
  assert.equal(budget.spec.minAvailable, 2);
  const { items } = await bed.client.get<{ items: Pod[] }>(
    `${PATHS.pods}?labelSelector=${encodeURIComponent(`${LABELS.cluster}=three,${LABELS.role}=voter`)}`,
  );
  assert.equal(items.length, 3);
});

/** The DNS names in a member's certificate that a file of its Secret begins with. */
async function namesOf(member: string, file: string): Promise<string[]> {
  const { subjectAltName = "" } = new X509Certificate((await secretFiles(bed, member))(file));
  return subjectAltName.split(", ").flatMap((name) => (name.startsWith("DNS:") ? [name.slice(4)] : []));
}

test("certificates carry the domain that the operator was told, and URLs none, so that they hold in any", async () => {
  for (const [file, service] of [
    ["server.pem", "three-client"],
    ["peer.pem", "three-1.three-peers"],
  ] as const) {
    const names = await namesOf("three-1", file);
    assert.ok(names.includes(`${service}.default.svc.${DOMAIN}`), names.join(" "));
    assert.deepEqual(
      names.filter((name) => name.includes("cluster.local")),
      [],
    );
  }
  const cluster = new ClusterOnBed(bed, "three", running);
  const { members } = await (await cluster.etcd()).cluster.memberList();
  for (const { peerUrls, clientUrls } of members)
    for (const url of [...peerUrls, ...clientUrls]) assert.match(new URL(url).hostname, /\.default\.svc$/);
  await cluster.close();
});

test("nothing went wrong on the way", () => {
  assert.deepEqual(
    running.log.filter((line) => line.startsWith("error")),
    [],
  );
  assert.deepEqual(
    running.steps.filter((step) => step.includes("failed")),
    [],
  );
});
