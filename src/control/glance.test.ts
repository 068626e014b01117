/** What a short look takes for the same, and what calls for a whole one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { change, healthy } from "../core/testing/cluster.ts";
import type { MemberFacts, Observation } from "../core/observation.ts";
import { EtcdClient } from "../etcd/client.ts";
import { FakeTransport, ManualClock, notSent } from "../etcd/testing.ts";
import { askItself, askList } from "./ask.ts";
import { Glance, type GlancedAt } from "./glance.ts";

const FOR_MS = 60_000;

/** Three members at rest, after a whole look; what etcd, the probe and the platform say may be changed. */
async function resting(edit: (observation: Observation) => Observation = (same) => same) {
  const header = { clusterId: 7n, memberId: 1n, raftTerm: 2n, revision: 5n };
  const world = {
    status: {
      header,
      leader: 1n,
      raftTerm: 2n,
      raftIndex: 9n,
      raftAppliedIndex: 9n,
      version: "3.6.16",
      dbSize: 20_480n,
      dbSizeInUse: 16_384n,
      errors: [] as string[],
      isLearner: false,
      downgradeInfo: { enabled: false, targetVersion: "" },
    },
    members: [1n, 2n, 3n].map((id) => ({ id, name: `demo-${id}`, peerUrls: [`https://demo-${id}:2380`] })),
    answers: true,
    unready: "",
    unchanged: true,
  };
  const transport = new FakeTransport(({ call }) => {
    if (!world.answers) return notSent();
    return call === "Cluster.MemberList" ? { header, members: world.members } : world.status;
  });
  const clock = new ManualClock();
  const platform: GlancedAt = {
    isUnchanged: () => world.unchanged,
    readyURL: ({ name }) => `http://${name}:2381/readyz`,
    isOurs: () => true,
    probe: { ready: (url: string) => Promise.resolve(!url.includes(world.unready || "nobody")) },
  };
  const base = healthy({ replicas: 3 });
  const names = base.members.map(({ record }) => record.name);
  const endpoints = names.map((name) => ({ name, url: `http://${name}:2379` }));
  const client = new EtcdClient({ transport, clock, endpoints });
  const itself = await askItself(client, { url: "http://demo-1:2379" });
  const list = await askList(client, true, platform.isOurs);
  assert.ok(itself?.reachable && list);
  const answer: MemberFacts["answer"] = { ...itself, linearizable: true };
  const members = base.members.map((member) => ({ ...member, answer }));
  const told: [revision: number, at: number][] = [];
  const glance = new Glance(platform, client, clock, ({ revision }, at) => told.push([revision, at]));
  const observation = edit({ ...base, members, etcd: { ...base.etcd, list } });
  const rests = glance.rest(observation, FOR_MS);
  transport.sent.length = 0;
  return { world, glance, clock, told, sent: transport.sent, observation, rests };
}

type World = Awaited<ReturnType<typeof resting>>["world"];

test("a short look asks one member of itself, and stands until a whole one is due", async () => {
  const { glance, clock, sent } = await resting();
  assert.equal(await glance.look(), FOR_MS);
  assert.deepEqual(
    sent.map(({ call }) => call),
    ["Maintenance.Status"],
  );
  await clock.advance(FOR_MS - 1);
  assert.equal(await glance.look(), 1);
  await clock.advance(1);
  sent.length = 0;
  assert.equal(await glance.look(), 0);
  assert.deepEqual(sent, []);
});

test("how far the cluster is, is told only by a member that has just read through quorum", async () => {
  const { world, glance, clock, told } = await resting();
  await clock.advance(7);
  world.status.header = { ...world.status.header, revision: 50n };
  await glance.look();
  assert.deepEqual(told, [[50, clock.monotonic()]]);
  world.unready = "demo-1";
  await glance.look();
  assert.equal(told.length, 1);
});

test("whether short looks stand for a whole one is said: not for no time, with an alarm, or a silent member", async () => {
  const { glance, observation, rests } = await resting();
  const { etcd, members } = observation;
  const [first, ...others] = members;
  assert.ok(first && rests);
  assert.equal(glance.rest(observation, 0), false);
  const alarms = [{ memberID: "1", alarm: "NOSPACE" }] as const;
  assert.equal(glance.rest({ ...observation, etcd: { ...etcd, alarms } }, FOR_MS), false);
  const silent = { ...first, answer: { reachable: false, error: "no answer" } } as const;
  assert.equal(glance.rest({ ...observation, members: [silent, ...others] }, FOR_MS), false);
});

test("the list is asked for, from the same member, when there are new entries in its log, and once for each", async () => {
  const { world, glance, sent } = await resting();
  for (const index of [10n, 10n, 11n]) {
    Object.assign(world.status, { raftIndex: index, raftAppliedIndex: index });
    assert.equal(await glance.look(), FOR_MS);
  }
  const calls = sent.map(({ call }) => call.split(".")[1]);
  assert.deepEqual(calls, ["Status", "MemberList", "Status", "Status", "MemberList"]);
  assert.equal(new Set(sent.map(({ endpoint }) => endpoint)).size, 1);
});

test("entries that are not applied yet are asked about again", async () => {
  const { world, glance, sent } = await resting();
  Object.assign(world.status, { raftIndex: 10n });
  for (let i = 0; i < 2; i++) assert.equal(await glance.look(), FOR_MS);
  assert.equal(sent.filter(({ call }) => call === "Cluster.MemberList").length, 2);
});

const alike: Readonly<Record<string, (world: World) => void>> = {
  "clients write": ({ status }) => {
    Object.assign(status, { raftIndex: 99n, raftAppliedIndex: 99n, dbSize: 21_000n, dbSizeInUse: 16_000n });
    status.header = { ...status.header, revision: 50n };
  },
};
for (const [what, happens] of Object.entries(alike)) {
  test(`nothing new: ${what}`, async () => {
    const { world, glance } = await resting();
    happens(world);
    assert.equal(await glance.look(), FOR_MS);
  });
}

const news: Readonly<Record<string, (world: World) => void>> = {
  "an object has changed, or the status is not written yet": (world) => (world.unchanged = false),
  "a member is not ready": (world) => (world.unready = "demo-3"),
  "the member that is asked does not answer": (world) => (world.answers = false),
  "an alarm is raised": ({ status }) => status.errors.push("memberID:1 alarm:NOSPACE"),
  "another member leads": ({ status }) => (status.leader = 2n),
  "there was an election": ({ status }) => (status.raftTerm = 3n),
  "another version runs": ({ status }) => (status.version = "3.6.17"),
  "a downgrade begins": ({ status }) => (status.downgradeInfo = { enabled: true, targetVersion: "3.5.0" }),
  "the database grows by more than a tenth": ({ status }) => (status.dbSize = 22_600n),
  "the database shrinks by more than a tenth": ({ status }) => (status.dbSizeInUse = 14_700n),
  "another member answers": ({ status }) => (status.header = { ...status.header, memberId: 2n }),
  "another cluster answers": ({ status }) => (status.header = { ...status.header, clusterId: 8n }),
  "a member was removed by hand": ({ members, status }) => {
    Object.assign(status, { raftIndex: 10n, raftAppliedIndex: 10n });
    members.splice(2);
  },
  "a member was added by hand": ({ members, status }) => {
    Object.assign(status, { raftIndex: 10n, raftAppliedIndex: 10n });
    members.push({ id: 4n, name: "", peerUrls: ["https://stranger:2380"] });
  },
};
for (const [what, happens] of Object.entries(news)) {
  test(`a whole look is due when ${what}, and from then on`, async () => {
    const { world, glance } = await resting();
    const before = structuredClone({ ...world });
    happens(world);
    assert.equal(await glance.look(), 0);
    Object.assign(world, before);
    assert.equal(await glance.look(), 0);
  });
}

const SHARES = [
  ["data that comes to fill four fifths of the quota", 20_500, { dbSizeInUse: 16_450n }],
  ["data that fills less than that again", 23_000, { dbSizeInUse: 16_000n }],
  ["a file that comes to fill 95 % of it", 21_600, { dbSize: 20_600n }],
] as const;
for (const [what, quota, sizes] of SHARES) {
  test(`a whole look is due for ${what}, and for no other change as small`, async () => {
    for (const [bytes, restMs] of [
      [quota, 0],
      [1_000_000, FOR_MS],
    ] as const) {
      const { world, glance } = await resting(({ members, ...seen }) => ({
        ...seen,
        members: members.map((member) => withQuota(member, bytes)),
      }));
      Object.assign(world.status, sizes);
      assert.equal(await glance.look(), restMs);
    }
  });
}

test("a whole look is due when the file of another member may have come near its quota", async () => {
  const { world, glance } = await resting((seen) => {
    const members = seen.members.map((member) => withQuota(member, 100_000));
    const { answer } = members[1] ?? {};
    return change({ ...seen, members }, "demo-2", {
      answer: { ...answer, dbSize: 94_900 } as MemberFacts["answer"],
    });
  });
  world.status.dbSizeInUse = 16_450n;
  assert.equal(await glance.look(), FOR_MS);
  world.status.dbSizeInUse = 16_500n;
  assert.equal(await glance.look(), 0);
});

function withQuota<M extends MemberFacts>(member: M, bytes: number): M {
  const { record } = member;
  const options = { ...record.template.options, quotaBackendBytes: String(bytes) };
  return { ...member, record: { ...record, template: { ...record.template, options } } };
}

const unrested: Readonly<Record<string, (observation: Observation) => Observation>> = {
  "a member did not answer": (seen) =>
    change(seen, "demo-2", { answer: { reachable: false, error: "no answer" } }),
  "a member has no quorum": (seen) => {
    const { answer } = seen.members[1] ?? {};
    return change(seen, "demo-2", { answer: { ...answer, linearizable: false } as MemberFacts["answer"] });
  },
  "there is an alarm": (seen) => ({
    ...seen,
    etcd: { ...seen.etcd, alarms: [{ memberID: "1", alarm: "NOSPACE" }] },
  }),
  "there is no member": (seen) => ({ ...seen, members: [] }),
};
for (const [what, edit] of Object.entries(unrested)) {
  test(`after a whole look that found that ${what}, the next is a whole one`, async () => {
    const { glance, sent } = await resting(edit);
    assert.equal(await glance.look(), 0);
    assert.deepEqual(sent, []);
  });
}
