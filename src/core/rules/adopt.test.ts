/** First boot from the volumes that a former life left, as the rules see it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdoptionFacts, LeftVolume } from "../facts/adoption-facts.ts";
import { decide } from "../decide.ts";
import type { AdoptionProblem } from "../messages/adoption.ts";
import { sentenceOf, type Message } from "../messages/table.ts";
import type { MemberDirectory, Observation } from "../observation.ts";
import { predict } from "../plan/predict.ts";
import { assertInvariants } from "../testing/naive-invariants.ts";
import { isSecure, peerURLOf } from "../config/flags.ts";
import { asked, edit, run } from "../testing/cluster.ts";

const CLUSTER = "4a5d1c3e0f9b2d61";
const OTHER = "51f0a3c2d4e5b697";
const idOf = (n: number) => `8e9e05c5216469${n}d`;
const peerURL = (n: number) => `https://demo-${n}.demo:2380`;

type Data = Extract<MemberDirectory, { state: "data" }>;

function data(n: number, more: Partial<Data> = {}): Data {
  const members = [1, 2, 3].map((one) => ({ id: idOf(one), name: `demo-${one}`, peerURL: peerURL(one) }));
  return {
    state: "data",
    clusterID: CLUSTER,
    memberID: idOf(n),
    term: 4,
    index: 2_800 + n,
    revision: 2_641,
    replay: 0,
    members,
    ...more,
  };
}

function volume(n: number, directory: MemberDirectory = data(n), more: Partial<LeftVolume> = {}): LeftVolume {
  return {
    object: `PersistentVolumeClaim data-demo-${n}`,
    member: `demo-${n}`,
    uid: `claim-${n}`,
    identity: { clusterID: CLUSTER, memberID: idOf(n), token: "former-1", version: "3.6.14" },
    storage: {},
    directory,
    ...more,
  };
}

const unfound = (n: number) => ({ member: `demo-${n}`, object: `PersistentVolumeClaim data-demo-${n}` });

function left(
  volumes: readonly LeftVolume[],
  more: Partial<AdoptionFacts> = {},
  adopt: object = {},
): Observation {
  const world = asked({ storage: { adopt: { clusterID: CLUSTER, ...adopt } } });
  const { platform } = world;
  const absent = [1, 2, 3].filter((n) => !volumes.some(({ member }) => member === `demo-${n}`)).map(unfound);
  const adoption = { volumes, absent, remains: [], addresses: platform.offers, ...more };
  return { ...world, platform: { ...platform, adoption, highestLeftover: volumes.length } };
}

const ALL = [volume(1), volume(2), volume(3)];

/** The first thing that is waited for, with what is said of it. */
function held(world: Observation) {
  const { act, holds } = decide(world);
  assert.equal(act, undefined, "nothing is done");
  const [first] = holds;
  assert.ok(first && first.classes === "all");
  return first;
}

function problem(world: Observation): AdoptionProblem {
  const { code, params } = held(world);
  assert.equal(code, "AdoptionRefused");
  return (params as { problem: AdoptionProblem }).problem;
}

test("the members of the data come back under their names and IDs, on their volumes, and never as new", () => {
  const end = run(left(ALL));
  assert.deepEqual(
    end.members.map(({ record }) => [record.name, record.memberID, record.volumeUID, record.boot]),
    [1, 2, 3].map((n) => [`demo-${n}`, idOf(n), `claim-${n}`, "Join"]),
  );
  const { marks } = end.cluster;
  assert.deepEqual(marks.established, { token: "11111111-2222-1", clusterID: CLUSTER });
  assert.equal(marks.adopting, undefined);
  assert.equal(marks.batchJoined, true, "what the former life remembered of its log is not known");
  assert.equal(marks.oldLog?.minor, "3.5");
});

test("the latch is set before the first record, and every step keeps the invariants", () => {
  let world = left(ALL);
  const steps: string[] = [];
  for (let i = 0; i < 5; i++) {
    const { act } = decide(world);
    assert.ok(act);
    assertInvariants(world, act.action);
    steps.push(act.code);
    world = predict(world, act.action);
  }
  assert.deepEqual(steps, [
    "AdoptionBegins",
    "MemberAdopted",
    "MemberAdopted",
    "MemberAdopted",
    "AdoptionEnds",
  ]);
});

test("a controller that comes back in the midst records the rest and nobody twice, whatever it finds of the volumes", () => {
  let world = left(ALL);
  for (let i = 0; i < 2; i++) world = predict(world, decide(world).act?.action ?? assert.fail());
  const { adoption } = world.platform;
  const unlisted = { ...world, platform: { ...world.platform, adoption: { ...adoption!, volumes: [] } } };
  assert.deepEqual(
    run(unlisted).members.map(({ record }) => record.volumeUID),
    ["claim-1", "claim-2", "claim-3"],
  );
});

test("a volume that is not there is that of a member that lost its data: with a majority it is replaced", () => {
  const end = run(left([volume(1), volume(2)]));
  assert.deepEqual(
    end.members.map(({ record }) => record.name),
    ["demo-1", "demo-2", "demo-4"],
  );
});

const approvedWithout12 = (world: Observation): Observation => ({
  ...world,
  cluster: { ...world.cluster, approved: "adopt-without-demo-1-demo-2" },
});

test("without a majority nothing is settled: the claims that are not there are named, and a person says that they do not come", () => {
  const lacking = left([volume(3)]);
  const { kind, ...rest } = problem(lacking);
  assert.equal(kind, "lacks");
  assert.deepEqual((rest as { objects: unknown }).objects, [unfound(1).object, unfound(2).object]);
  assert.equal(held(lacking).approval?.word, "adopt-without-demo-1-demo-2");
  assert.match(sentenceOf(held(lacking) as Message), /data-demo-1, PersistentVolumeClaim data-demo-2/);
  // They come a moment later.
  assert.equal(decide(left([volume(2), volume(3)])).act?.code, "AdoptionBegins");
  assert.equal(decide(approvedWithout12(lacking)).act?.code, "AdoptionBegins");
  const another = approvedWithout12(left([volume(1)]));
  assert.equal(problem(another).kind, "lacks", "which was not approved");
});

test("a volume that could not be asked for is not gone", () => {
  const absent = [{ ...unfound(3), unread: "the API server does not answer" }];
  const { code, params } = held(left([volume(1), volume(2)], { absent }));
  assert.equal(code, "AdoptionReads");
  assert.deepEqual(params, { objects: [unfound(3).object], why: "the API server does not answer" });
});

test("without a majority every voter is recorded, and quorum is lost", () => {
  let world = approvedWithout12(left([volume(3)]));
  for (let i = 0; i < 5; i++) world = predict(world, decide(world).act?.action ?? assert.fail());
  assert.ok(decide(world).holds.some(({ code }) => code === "QuorumLost"));
});

test("a size and a class that the spec does not ask for are changed as those of any member", () => {
  const other = ALL.map((one) => ({ ...one, storage: { className: "slow" } }));
  let world = left(other);
  world = predict(world, decide(world).act?.action ?? assert.fail());
  const { act } = decide(world);
  assert.ok(act?.action.kind === "CreateMember");
  assert.equal(act.action.record.template.storage.className, "slow");
});

test("nothing is done while a volume is being read, or while something of the former life is still there", () => {
  const reading = held(left([volume(1), volume(2, { state: "reading", why: "being started" })]));
  assert.equal(reading.code, "AdoptionReads");
  assert.ok(reading.until !== undefined);
  assert.equal(held(left(ALL, { remains: ["Pod demo-2"] })).code, "AdoptionAwaits");
  assert.equal(held(left([volume(1), volume(2, data(2), { ending: true })])).code, "AdoptionAwaits");
});

test("volumes of another cluster are refused by name and reason", () => {
  const identity = { clusterID: OTHER, memberID: idOf(1) };
  const foreign = { ...volume(1), identity, directory: undefined };
  assert.equal(problem(left([foreign] as LeftVolume[])).kind, "none");
  // One that bears the name of a voter.
  const mixed = problem(left([foreign as LeftVolume, volume(2), volume(3)]));
  assert.deepEqual(mixed, { kind: "foreign", object: "PersistentVolumeClaim data-demo-1", clusterID: OTHER });
});

test("what is written on a volume is not believed: its files decide", () => {
  const swapped = volume(1, data(1, { clusterID: OTHER }));
  assert.equal(problem(left([swapped, volume(2), volume(3)])).kind, "differs");
  const renamed = volume(1, data(2), { identity: {} });
  assert.equal(
    problem(left([renamed, volume(3)])).kind,
    "differs",
    "the data of demo-2 under the name of demo-1",
  );
  const bare = volume(1, data(1, { clusterID: OTHER }), { identity: {} });
  assert.equal(problem(left([bare, volume(2), volume(3)])).kind, "foreign");
});

test("volumes without an identity are taken if their files are those of the cluster", () => {
  const bare = ALL.map((one) => ({ ...one, identity: {} }));
  assert.equal(decide(left(bare)).act?.code, "AdoptionBegins");
  const empty = [volume(1), volume(2), volume(3, { state: "empty" }, { identity: {} })];
  assert.equal(problem(left(empty)).kind, "foreign", "one that tells nothing at all is not");
});

test("one that was emptied, and says whose it was, is that member's", () => {
  const world = left([volume(1), volume(2), volume(3, { state: "empty" })]);
  const { act } = decide(world);
  assert.ok(act?.action.kind === "MarkCluster");
  assert.equal(act.action.change.adopting?.members[2]?.volumeUID, "claim-3");
});

test("a member ID on two volumes, two clusters under one token, or no data at all: refused", () => {
  const copy = { ...volume(4, data(1)), identity: {} };
  assert.equal(problem(left([...ALL, copy])).kind, "twice");
  const byToken = { clusterID: undefined, token: "former-1" };
  const two = [volume(1), volume(2, data(2, { clusterID: OTHER }), { identity: { token: "former-1" } })];
  assert.equal(problem(left(two, {}, byToken)).kind, "several");
  assert.equal(problem(left([volume(1, { state: "empty" })])).kind, "no-data");
});

test("a member that was started alone since: refused, whatever its own directory holds", () => {
  const alone = "recovery/node-51f0a3c2d4e5b697/data";
  for (const directory of [data(2, { alone }), { state: "empty", alone } as const])
    assert.deepEqual(problem(left([volume(1), volume(2, directory), volume(3)])), {
      kind: "alone",
      object: "PersistentVolumeClaim data-demo-2",
      data: alone,
    });
});

test("a removed member's volume is left as it is", () => {
  const gone = volume(4, data(4, { index: 90 }));
  const { act } = decide(left([...ALL, gone]));
  assert.ok(act?.action.kind === "MarkCluster");
  assert.deepEqual(
    act.action.change.adopting?.members.map(({ name }) => name),
    ["demo-1", "demo-2", "demo-3"],
  );
  assert.equal(act.action.change.highestOrdinal, 4, "its name is never given out again");
});

test("names, peer URLs and versions that this cluster cannot have are refused", () => {
  const list = (name: string, url = peerURL(1)) => [{ id: idOf(1), name, peerURL: url }];
  assert.equal(problem(left([volume(1, data(1, { members: list("other-1") }))])).kind, "unnamed");
  const elsewhere = list("demo-1", "https://demo-1.other:2380");
  assert.equal(problem(left([volume(1, data(1, { members: elsewhere }))])).kind, "address");
  const plain = edit(left(ALL), { tls: { peer: { mode: "Disabled" } } });
  assert.equal(problem(plain).kind, "address", "nobody could reach one that listens with TLS");
  const version = (text: string) =>
    ALL.map((one) => ({ ...one, identity: { ...one.identity, version: text } }));
  assert.equal(problem(left(version("3.7.1"))).kind, "version", "newer");
  assert.equal(problem(left(version("3.5.26"))).kind, "version", "older: an upgrade comes afterwards");
  const rolling = [volume(1, data(1), { identity: { version: "3.5.32" } }), volume(2), volume(3)];
  assert.equal(decide(left(rolling)).act?.code, "AdoptionBegins", "in the midst of an upgrade");
});

test("members that listened for peers in plaintext start so, and are changed like any others", () => {
  const members = [1, 2, 3].map((one) => ({
    id: idOf(one),
    name: `demo-${one}`,
    peerURL: one === 3 ? peerURL(3) : `http://demo-${one}.demo:2380`,
  }));
  let world = left([1, 2, 3].map((n) => volume(n, data(n, { members }))));
  while (world.members.length < 3) {
    const { act } = decide(world);
    assert.ok(act);
    assertInvariants(world, act.action);
    world = predict(world, act.action);
  }
  assert.deepEqual(
    world.members.map(({ record }) => peerURLOf(record)),
    members.map(({ peerURL: url }) => url),
  );
  assert.ok(world.members.every(({ record }) => isSecure(record.template.tls, "peer")));
  const end = run(world);
  assert.deepEqual(
    end.etcd.list?.members.map(({ peerURLs }) => peerURLs.join()),
    [1, 2, 3].map(peerURL),
  );
});

test("where volumes cannot be read nothing is founded", () => {
  const { adoption: _, ...platform } = left([]).platform;
  assert.equal(problem({ ...left([]), platform }).kind, "unreadable");
  assert.equal(problem(left(ALL, { refused: "no image" })).kind, "unreadable");
});

test("once it has been adopted or recovered, the field has no effect", () => {
  const end = run(left(ALL));
  const { adoption: _, ...platform } = end.platform;
  assert.equal(decide({ ...end, platform }).converged, true);
});

const released = (n: number, more: object = {}) => ({
  name: `pv-${n}`,
  uid: `pv-uid-${n}`,
  member: `demo-${n}`,
  identity: { clusterID: CLUSTER, memberID: idOf(n) },
  ...more,
});

test("volumes that outlived their claims get one again, each by a step, before anything is read", () => {
  const observation = left([], { released: [released(1), released(2)] });
  const { act } = decide(observation);
  assert.deepEqual(act?.action, { kind: "BindVolume", member: "demo-1", volume: "pv-1", uid: "pv-uid-1" });
  const next = decide(predict(observation, act?.action ?? assert.fail())).act;
  assert.deepEqual(next?.action, { kind: "BindVolume", member: "demo-2", volume: "pv-2", uid: "pv-uid-2" });
});

test("a volume of another identity, or of none, is not bound; one that may not be bound is named with the reason", () => {
  const foreign = released(1, { identity: { clusterID: OTHER } });
  const unnamed = released(2, { identity: {} });
  const refused = released(3, { refused: "its claim was other/data-demo-3, in another namespace" });
  const { act, holds } = decide(left([], { released: [foreign, unnamed, refused] }));
  assert.equal(act, undefined);
  assert.match(
    String(holds[0]?.message),
    /not bound again: PersistentVolume pv-3 \(its claim was other\/data-demo-3/,
  );
  assert.doesNotMatch(String(holds[0]?.message), /pv-1|pv-2/);
});

test("two volumes of one member are not chosen from", () => {
  const { act, holds } = decide(left([], { released: [released(1), released(1, { name: "pv-9" })] }));
  assert.equal(act, undefined);
  assert.match(String(holds[0]?.message), /pv-1, pv-9 are all marked as the volume of demo-1/);
});

test("where PersistentVolumes may not be listed, that is told; where the answer failed, nobody counts as lost", () => {
  const denied = { unlisted: { why: "persistentvolumes is forbidden", isDenied: true } };
  assert.match(
    String(decide(left([volume(1)], denied)).holds[0]?.message),
    /too few for a quorum; which PersistentVolumes there are is not known: persistentvolumes is forbidden/,
  );
  assert.equal(decide(left([volume(1), volume(2)], denied)).act?.action.kind, "MarkCluster");
  const failed = { unlisted: { why: "no answer", isDenied: false } };
  const { act, holds } = decide(left([volume(1), volume(2)], failed));
  assert.equal(act, undefined);
  assert.equal(holds[0]?.code, "AdoptionReads");
});
