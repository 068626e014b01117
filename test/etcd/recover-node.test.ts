/** `quorate recover node` on the directory of a real member whose siblings are gone, and on a snapshot. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { after, before, test } from "node:test";
import { parse } from "yaml";
import { verb } from "../../src/cli/verbs/recover.ts";
import { EXIT, CommandError } from "../../src/cli/exit.ts";
import { collectingIo } from "../../src/cli/testing.ts";
import { EtcdClient } from "../../src/etcd/client.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { eventually } from "../../testbed/eventually.ts";
import { TestCluster, type TestMember } from "../support/etcd-cluster.ts";
import { newestVersions } from "../support/etcd-versions.ts";
import { freePorts } from "../support/free-ports.ts";

const KEYS = 50;
const BUMP = 1_000_000_000;
const version = newestVersions.at(-1) ?? assert.fail("no version");

let cluster: TestCluster;
let survivor: TestMember;

before(async () => {
  cluster = await TestCluster.start({ version, members: 3 });
  survivor = cluster.members[2] as TestMember;
  await cluster.settled(survivor);
});

after(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

const around = (signal?: AbortSignal) =>
  collectingIo({ env: process.env, cwd: cluster.dir, ...(signal && { signal }) });

async function planned(given: string): Promise<string> {
  const io = around();
  assert.equal(await verb.run(["node", given, "--etcd-version", version, "-o", "json"], io), EXIT.done);
  const { plan } = JSON.parse(io.out()) as { plan: { hash: string } };
  return plan.hash;
}

const isConflict = (about: RegExp) => (error: unknown) => {
  assert.ok(error instanceof CommandError);
  assert.equal(error.code, EXIT.conflict);
  assert.match(error.message, about);
  return true;
};

/** Starts it, reads what it has, and leaves it as Ctrl-C does. */
async function served(given: string, plan: string): Promise<{ keys: number; revision: number }> {
  const [client, peer, metrics] = await freePorts(3);
  const urls = [client, peer, metrics].map((port) => `http://127.0.0.1:${port}`) as [string, string, string];
  const left = new AbortController();
  const io = around(left.signal);
  const args = ["node", given, "--plan", plan, "--etcd-version", version, "--foreground"];
  const listen = ["--listen-client", urls[0], "--listen-peer", urls[1], "--listen-metrics", urls[2]];
  const running = verb.run([...args, ...listen], io);
  try {
    await Promise.race([
      eventually("it serves", () => Promise.resolve(io.out().includes("serves at")), { withinMs: 120_000 }),
      running.then((code) => assert.fail(`it ended with ${code}: ${io.err()}`)),
    ]);
    const reader = new EtcdClient({
      transport: cluster.transport(),
      clock: systemClock,
      endpoints: [{ name: "recovered", url: urls[0] }],
    });
    const { count, header } = await reader.kv.range("key/", { prefix: true, timeoutMs: 5_000 });
    const { members } = await reader.cluster.memberList({ timeoutMs: 5_000 });
    assert.equal(members.length, 1, "alone");
    await assert.rejects(verb.run(args, around()), isConflict(/has the database in .*data open/));
    return { keys: count, revision: Number(header.revision) };
  } finally {
    left.abort();
    assert.equal(await running.catch(() => EXIT.interrupted), EXIT.interrupted);
  }
}

test("a member's directory whose siblings are gone: refused while its etcd runs, then planned, and started as approved with every key", async () => {
  const client = cluster.client();
  for (let i = 0; i < KEYS; i++) await client.kv.put(`key/${i}`, `value ${i}`);
  await eventually("the survivor has them all", async () => {
    const own = cluster.client([survivor.endpoint]);
    return (await own.kv.range("key/", { prefix: true })).count === KEYS;
  });
  await assert.rejects(
    verb.run(["node", survivor.dataDir, "--etcd-version", version], around()),
    isConflict(new RegExp(`process ${survivor.running.identity.pid} has the database in .* open`)),
  );
  for (const member of cluster.members) await member.running.kill();
  for (const member of cluster.members) if (member !== survivor) cluster.wipe(member);

  const shown = around();
  assert.equal(await verb.run(["node", survivor.dataDir, "--etcd-version", version], shown), EXIT.done);
  assert.match(shown.out(), /Members .*m1 \(/);
  assert.match(shown.out(), /Writes that only m1, m2 had are lost for good\./);
  const plan = await planned(survivor.dataDir);
  assert.match(shown.out(), new RegExp(`--plan ${plan}`));

  const wrong = ["--plan", "0123456789abcdef", "--etcd-version", version, "--foreground"];
  await assert.rejects(
    verb.run(["node", survivor.dataDir, ...wrong], around()),
    isConflict(/nothing was done/),
  );

  const first = await served(survivor.dataDir, plan);
  assert.equal(first.keys, KEYS);
  assert.ok(first.revision > BUMP, "raised, so that watchers read again");
  assert.equal(await planned(survivor.dataDir), plan, "the directory was only read");
  assert.deepEqual(await served(survivor.dataDir, plan), first, "again, on the same data");
});

test("a static Pod is written once, for the same data and with the flags of the process", async () => {
  const plan = await planned(survivor.dataDir);
  const manifests = path.join(cluster.dir, "manifests");
  mkdirSync(manifests);
  const secure = [
    "--listen-client",
    "https://10.0.0.7:2379",
    "--cert-file",
    "/pki/a.crt",
    "--key-file",
    "/pki/a.key",
  ];
  const args = [
    "node",
    survivor.dataDir,
    "--plan",
    plan,
    "--etcd-version",
    version,
    "--manifests",
    manifests,
    ...secure,
  ];
  const other = path.join(cluster.dir, "other");
  mkdirSync(path.join(other, "data", "member"), { recursive: true });
  await assert.rejects(
    verb.run([...args, "--to", other], around()),
    isConflict(/other holds data, which was not made for the plan .*; nothing was done/),
  );
  assert.equal(await verb.run(args, around()), EXIT.done);
  const pod = parse(readFileSync(path.join(manifests, "m3-recovered.yaml"), "utf8")) as {
    spec: { hostNetwork: boolean; containers: { image: string; args: string[] }[]; volumes: object[] };
  };
  const [etcd] = pod.spec.containers;
  assert.ok(etcd);
  assert.equal(pod.spec.hostNetwork, true);
  assert.ok(etcd.image.endsWith(`:v${version}`));
  assert.ok(etcd.args.includes(`--data-dir=${survivor.dataDir}.recovery/node-${plan}/data`));
  assert.ok(!etcd.args.some((flag) => flag.includes("force-new-cluster")));
  assert.equal(pod.spec.volumes.length, 2, "the data and the certificates");
  await assert.rejects(verb.run(args, around()), isConflict(/exists already/));
});

test("a snapshot is started in the same way; plaintext beyond this machine and a path with nothing are refused", async () => {
  const directory = await planned(survivor.dataDir);
  const snapshot = `${survivor.dataDir}.recovery/node-${directory}/rescue/snapshot.db`;
  const plan = await planned(snapshot);
  assert.notEqual(plan, directory);
  assert.equal((await served(snapshot, plan)).keys, KEYS);
  const open = [
    "--plan",
    plan,
    "--etcd-version",
    version,
    "--foreground",
    "--listen-client",
    "http://0.0.0.0:2379",
  ];
  await assert.rejects(verb.run(["node", snapshot, ...open], around()), /without TLS/);
  await assert.rejects(verb.run(["node", path.join(cluster.dir, "m1")], around()), /neither a member's data/);
});
