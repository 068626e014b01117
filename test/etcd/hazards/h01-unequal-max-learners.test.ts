/**
 * H1: the learner limit is checked by every member when it applies the change, and again when it replays its
 * log. Members with unequal limits therefore split, or cannot restart.
 *
 * Differs from what was reported of 3.6.8: the downgrade to 3.5 after a batch join works on 3.6.16, because
 * enabling it makes every member write a raft snapshot, so that 3.5 has nothing of the join to replay. The
 * rule refuses it all the same: nothing in etcd's answers proves that snapshot.
 */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { MAX_LEARNERS } from "../../../src/core/assess/learner-limit.ts";
import { parseCluster } from "../../../src/api/parse-cluster.ts";
import { API_VERSION } from "../../../src/api/metadata.ts";
import { eventually } from "../../../testbed/eventually.ts";
import { TestCluster, type TestMember } from "../../support/etcd-cluster.ts";
import { LocalCluster } from "../../support/local-cluster.ts";
import { sampled } from "../../support/sample.ts";

/** Adds need not wait for five quiet seconds; that is another matter (R19). */
const AT_ONCE = "--strict-reconfig-check=false";
const LIMIT_OF_TWO = "--max-learners=2";

describe("H1 unequal max-learners", { concurrency: 2 }, () => {
  for (const version of sampled(["3.6.16", "3.7.3"])) {
    test(`fault, etcd ${version}: both adds return OK, the member with the lower limit does not list the second and dies at its promotion`, async () => {
      await using cluster = await TestCluster.prepare({ version, members: 3, args: [AT_ONCE] });
      for (let i = 0; i < 3; i++) await cluster.prepareMember();
      // A joiner asks its peers in the order of their URLs; the odd one shall not be asked first.
      const founders = cluster.members.toSorted((a, b) => (a.peerUrl < b.peerUrl ? -1 : 1));
      const odd = founders[2] as TestMember;
      for (const founder of founders) {
        await cluster.launch(founder, { state: "new", args: founder === odd ? [] : [LIMIT_OF_TWO] });
      }
      await Promise.all(founders.map((founder) => cluster.serving(founder)));
      const client = cluster.client(founders.map(({ endpoint }) => endpoint));
      await leadBy(cluster, founders[0] as TestMember);

      const joiners = [await cluster.prepareMember(), await cluster.prepareMember()];
      const ids: bigint[] = [];
      for (const { peerUrl } of joiners) {
        ids.push((await client.cluster.memberAdd([peerUrl], { learner: true })).member.id);
      }
      const listed = async (member: TestMember) =>
        (await cluster.client([member.endpoint]).cluster.memberList({ linearizable: false })).members.length;
      await eventually("the lists differ", async () => {
        const counts = await Promise.all(founders.map(listed));
        return counts.join() === "5,5,4";
      });

      const second = joiners[1] as TestMember;
      await cluster.launch(second, { args: [LIMIT_OF_TWO] });
      await cluster.serving(second);
      await eventually("the second learner is promoted", async () => {
        await client.cluster.memberPromote(ids[1] as bigint);
        return true;
      });
      const exit = await odd.running.exited;
      assert.equal(exit.reason, "member-unknown");
      assert.notEqual(exit.code, 0);
    });
  }

  test("fault, etcd 3.6.16: after a batch join a member restarted with a lower limit panics replaying its log; with the old limit it is back", async () => {
    await using cluster = await TestCluster.prepare({ version: "3.6.16", members: 1, args: [AT_ONCE] });
    await joinTwoTogether(cluster);
    const [first] = cluster.members as [TestMember];
    await first.running.stop();
    await cluster.launch(first, { among: [first], args: ["--max-learners=1"] });
    const exit = await first.running.exited;
    assert.ok(
      exit.tail.some((line) => line.includes("too many learner members in cluster")),
      exit.tail.slice(-5).join("\n"),
    );
    await cluster.restart(first, { args: [LIMIT_OF_TWO] });
    assert.equal((await cluster.client().cluster.memberList()).members.length, 3);
  });

  test("differs by now, etcd 3.6.16: enabling the downgrade to 3.5 makes every member snapshot its log, and 3.5.35 starts", async () => {
    await using cluster = await TestCluster.prepare({ version: "3.6.16", members: 1, args: [AT_ONCE] });
    await joinTwoTogether(cluster);
    const client = cluster.client();
    assert.deepEqual(cluster.members.map(snapshots), [0, 0, 0]);
    const storageIs = async (wanted: string) => {
      const answers = cluster.members.map(({ endpoint }) => client.maintenance.status(endpoint));
      return (await Promise.all(answers)).every(({ storageVersion }) => storageVersion === wanted);
    };
    // Storage begins as 3.5 and is raised once the members have agreed on a version.
    await eventually("the storage is of 3.6", () => storageIs("3.6.0"));
    await client.maintenance.downgrade("ENABLE", "3.5.0");
    await eventually("the storage is of 3.5", () => storageIs("3.5.0"));
    await eventually("a snapshot of each", () => cluster.members.every((member) => snapshots(member) === 1));
    const [first] = cluster.members as [TestMember];
    await first.running.stop();
    first.version = "3.5.35";
    await cluster.restart(first);
    const { members } = await cluster.client([first.endpoint]).cluster.memberList({ linearizable: false });
    assert.equal(members.filter(({ isLearner }) => !isLearner).length, 3);
  });

  test("rule: every member of 3.6 has the one limit from its first boot, several join together and restart, and 3.5 is refused afterwards", async () => {
    await using local = await LocalCluster.start({ version: "3.6.16", replicas: 1 });
    await local.edit({ replicas: 3 });
    const grown = await local.settled();
    assert.equal(grown.voters, 3);
    const done = local.done();
    // Together: both were learners at once.
    assert.ok(done.indexOf("AddLearner demo-3") < done.indexOf("Promote demo-2"), local.story());
    assert.equal(grown.observation.cluster.marks.batchJoined, true);
    const names = await local.names();
    assert.deepEqual(
      names.map((name) => local.config(name)["max-learners"]),
      names.map(() => MAX_LEARNERS),
    );

    for (const name of names) {
      const before = local.member(name).workload;
      assert.ok(before.state === "running");
      await local.controller.platform.workloads.kill(name, "SIGKILL");
      await local.until(`${name} is back`, ({ members }) =>
        members.some(
          (member) =>
            member.name === name &&
            member.healthy &&
            member.workload.state === "running" &&
            member.workload.restarts > before.restarts,
        ),
      );
    }
    await local.edit({ version: "3.5.35" });
    const refused = await local.until("3.5 is refused", (_view, { decision }) =>
      decision.holds.some(
        ({ reason, message }) => reason === "VersionRefused" && message.includes("two learners once joined"),
      ),
    );
    assert.ok(refused.members.every(({ record }) => record.template.version === "3.6.16"));
  });

  test("rule: the limit cannot be set by hand", () => {
    const spec = { version: "3.6.16", options: { extraArgs: { "max-learners": "2" } } };
    const parsed = parseCluster({
      apiVersion: API_VERSION,
      kind: "EtcdCluster",
      metadata: { name: "demo" },
      spec,
    });
    assert.ok(!parsed.ok);
    assert.match(
      parsed.errors.map(({ path: field, message }) => `${field}: ${message}`).join(),
      /max-learners/,
    );
  });
});

async function leadBy(cluster: TestCluster, member: TestMember): Promise<void> {
  const client = cluster.client([member.endpoint]);
  const { header } = await client.maintenance.status(member.endpoint);
  await eventually(`${member.name} leads`, async () => {
    if ((await cluster.leader()) === member) return true;
    await cluster.client().maintenance.moveLeader(header.memberId);
    return false;
  });
}

/** One founder; two learners at once; two promotions. */
async function joinTwoTogether(cluster: TestCluster): Promise<void> {
  const founder = await cluster.prepareMember();
  await cluster.launch(founder, { state: "new", args: [LIMIT_OF_TWO] });
  await cluster.serving(founder);
  const client = cluster.client(cluster.endpoints);
  const joiners = [await cluster.prepareMember(), await cluster.prepareMember()];
  const ids: bigint[] = [];
  for (const { peerUrl } of joiners) {
    ids.push((await client.cluster.memberAdd([peerUrl], { learner: true })).member.id);
  }
  for (const joiner of joiners) {
    await cluster.launch(joiner, { args: [LIMIT_OF_TWO] });
    await cluster.serving(joiner);
  }
  for (const id of ids) {
    await eventually("a learner is promoted", async () => {
      await client.cluster.memberPromote(id);
      return true;
    });
  }
}

/** How many raft snapshots a member keeps. */
function snapshots({ dataDir }: TestMember): number {
  return readdirSync(path.join(dataDir, "member", "snap")).filter((file) => file.endsWith(".snap")).length;
}
