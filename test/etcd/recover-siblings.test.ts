/** `quorate recover node --siblings` on the directories of real members, all of which were killed. */
import assert from "node:assert/strict";
import process from "node:process";
import { after, before, test } from "node:test";
import { verb } from "../../src/cli/verbs/recover.ts";
import { CommandError, EXIT } from "../../src/cli/exit.ts";
import { collectingIo } from "../../src/cli/testing.ts";
import { EtcdClient } from "../../src/etcd/client.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { eventually } from "../../testbed/eventually.ts";
import { TestCluster, type TestMember } from "../support/etcd-cluster.ts";
import { newestVersions } from "../support/etcd-versions.ts";
import { freePorts } from "../support/free-ports.ts";

const KEYS = 30;
const version = newestVersions.at(-1) ?? assert.fail("no version");

let cluster: TestCluster;

before(async () => {
  cluster = await TestCluster.start({ version, members: 3 });
});

after(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

const around = (signal?: AbortSignal) =>
  collectingIo({ env: process.env, cwd: cluster.dir, ...(signal && { signal }) });

function asked(member: TestMember): string[] {
  const siblings = cluster.members.filter((one) => one !== member).map(({ name }) => name);
  return ["node", member.dataDir, "--etcd-version", version, "--siblings", siblings.join(",")];
}

async function planned(member: TestMember): Promise<string> {
  const io = around();
  assert.equal(await verb.run([...asked(member), "-o", "json"], io), EXIT.done);
  return (JSON.parse(io.out()) as { plan: { hash: string } }).plan.hash;
}

const isConflict = (about: RegExp) => (error: unknown) => {
  assert.ok(error instanceof CommandError);
  assert.equal(error.code, EXIT.conflict);
  assert.match(error.message, about);
  return true;
};

const idsOf = async (client: EtcdClient) => {
  const { header, members } = await client.cluster.memberList({ timeoutMs: 5_000 });
  return [header.clusterId, ...members.map(({ id, name }) => `${name} ${id}`).toSorted()];
};

test("two of three are started on their machines as they were: the same cluster and members, every key, no revision raised", async () => {
  const client = cluster.client();
  for (let i = 0; i < KEYS; i++) await client.kv.put(`key/${i}`, `value ${i}`);
  const before = await idsOf(client);
  const { header } = await client.kv.range("key/", { prefix: true });
  const [first, second] = cluster.members as [TestMember, TestMember];
  await assert.rejects(verb.run(asked(first), around()), isConflict(/has the database in .* open/));
  for (const member of cluster.members) await member.running.kill();

  const shown = around();
  assert.equal(await verb.run(asked(first), shown), EXIT.done);
  assert.match(shown.out(), /Starts +m1 as the member it was/);
  assert.match(shown.out(), /no write is lost/);
  const wrong = ["--plan", "0123456789abcdef", "--foreground"];
  await assert.rejects(verb.run([...asked(first), ...wrong], around()), isConflict(/nothing was done/));
  const few = ["node", first.dataDir, "--etcd-version", version, "--siblings", "other"];
  await assert.rejects(verb.run(few, around()), isConflict(/other is no sibling of m1/));

  const left = new AbortController();
  const running = await Promise.all(
    [first, second].map(async (member) => {
      const [metrics] = await freePorts(1);
      const io = around(left.signal);
      const listen = ["--listen-client", member.clientUrl, "--listen-metrics", `http://127.0.0.1:${metrics}`];
      const plan = await planned(member);
      return { io, ended: verb.run([...asked(member), "--plan", plan, "--foreground", ...listen], io) };
    }),
  );
  try {
    await Promise.race([
      eventually("both serve", () => running.every(({ io }) => io.out().includes("serves at")), {
        withinMs: 120_000,
      }),
      ...running.map(({ io, ended }) =>
        ended.then((code) => assert.fail(`it ended with ${code}: ${io.err()}`)),
      ),
    ]);
    const endpoints = [first.endpoint, second.endpoint];
    const now = new EtcdClient({ transport: cluster.transport(), clock: systemClock, endpoints });
    assert.deepEqual(await idsOf(now), before);
    const found = await now.kv.range("key/", { prefix: true, timeoutMs: 5_000 });
    assert.equal(found.count, KEYS);
    assert.equal(found.header.revision, header.revision);
    await now.kv.put("after", "x", { timeoutMs: 5_000 });
  } finally {
    left.abort();
    for (const { ended } of running)
      assert.equal(await ended.catch(() => EXIT.interrupted), EXIT.interrupted);
  }
  // Neither answers before both are a quorum.
  for (const member of [first, second]) await cluster.launch(member);
  for (const member of [first, second]) await cluster.serving(member);
  const again = await cluster.client().kv.range("after", { timeoutMs: 5_000 });
  assert.equal(again.count, 1, "whoever starts it next goes on from there");
});
