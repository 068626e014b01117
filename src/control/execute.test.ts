import assert from "node:assert/strict";
import { test } from "node:test";
import type { Action } from "../core/action.ts";
import type { Observation } from "../core/observation.ts";
import { healthy } from "../core/testing/cluster.ts";
import { viewOf } from "../core/view.ts";
import { EtcdError } from "../etcd/errors.ts";
import { endpoints, FakeTransport, ManualClock, refused, type Script } from "../etcd/testing.ts";
import { execute } from "./execute.ts";
import { Observer } from "./observe.ts";
import type { Platform } from "./platform.ts";

/** IDs as etcd writes them, which the model's are not. */
const three: Observation = JSON.parse(
  JSON.stringify(healthy({ replicas: 3 })).replaceAll(/id-of-demo-(\d)/g, "a$1"),
) as Observation;

function world(script: Script) {
  const clock = new ManualClock();
  const transport = new FakeTransport(script);
  const done: string[] = [];
  const platform = {
    transport,
    endpoint: ({ name }: { name: string }) => endpoints(name)[0],
    execute: (action: Action) => {
      done.push(action.kind);
      return Promise.resolve();
    },
  } as unknown as Platform;
  const observer = new Observer(platform, clock);
  observer.client.setEndpoints(endpoints("demo-1", "demo-2", "demo-3"));
  const run = (action: Action) => execute({ platform, observer, clock }, viewOf(three), action);
  return { run, sent: transport.sent, done, observer };
}

test("a nudge that fails is remembered too: what comes after it gets its turn", async () => {
  const { run, observer } = world(() => refused("UNAVAILABLE", "request timed out"));
  let remembered = 0;
  observer.rememberNudge = () => void remembered++;
  await assert.rejects(run({ kind: "NudgeLog" }));
  assert.equal(remembered, 1);
});

const add: Action = { kind: "AddLearner", member: "demo-4", peerURL: "https://demo-4:2380" };
const remove: Action = { kind: "RemoveFromEtcd", member: "demo-3", memberID: "a3" };

test("what was done before is done: exists already, not found, a voter already (H10)", async () => {
  const answers: Readonly<Record<string, readonly [Action, ReturnType<typeof refused>]>> = {
    url: [add, refused("FAILED_PRECONDITION", "Peer URLs already exists")],
    id: [add, refused("FAILED_PRECONDITION", "member ID already exist")],
    gone: [remove, refused("NOT_FOUND", "member not found")],
  };
  for (const [action, answer] of Object.values(answers)) {
    const { run, sent } = world(() => answer);
    await run(action);
    assert.equal(sent.length, 1);
  }
});

test("a refusal that is none of these is reported, and nothing is tried again here", async () => {
  const { run, sent } = world(() => refused("UNAVAILABLE", "unhealthy cluster"));
  await assert.rejects(
    run(add),
    (error: unknown) => error instanceof EtcdError && error.kind === "unhealthy-cluster",
  );
  assert.equal(sent.length, 1);
});

test("a newcomer is added as a learner, with its one peer URL", async () => {
  const { run, sent } = world(() => ({ member: { ID: 4n }, members: [] }));
  await run(add);
  assert.deepEqual(sent[0]?.call, "Cluster.MemberAdd");
  const { isLearner, peerUrls } = sent[0]!.request as { isLearner: boolean; peerUrls: string[] };
  assert.deepEqual([isLearner, peerUrls], [true, ["https://demo-4:2380"]]);
});

test("a member's URL is changed under its ID, and a second time too (H10)", async () => {
  const { run, sent } = world(() => ({ members: [] }));
  const [entry] = three.etcd.list?.members ?? [];
  const peerURL = entry?.peerURLs[0]?.replace("https:", "http:") ?? "";
  const update: Action = { kind: "UpdatePeerURL", member: "demo-1", memberID: entry?.id ?? "", peerURL };
  for (let time = 0; time < 2; time++) await run(update);
  assert.deepEqual(
    sent.map(({ call }) => call),
    ["Cluster.MemberUpdate", "Cluster.MemberUpdate"],
  );
  assert.deepEqual((sent[0]!.request as { peerUrls: string[] }).peerUrls, [peerURL]);
});

test("steps on objects go to the platform, and never to etcd", async () => {
  const { run, sent, done } = world(() => ({}));
  await run({ kind: "StopWorkload", member: "demo-2" });
  assert.deepEqual(done, ["StopWorkload"]);
  assert.equal(sent.length, 0);
});

test("an action that breaks an invariant reaches nobody", async () => {
  const { run, sent, done } = world(() => ({}));
  await assert.rejects(
    run({ kind: "DeleteVolume", member: "demo-1", volumeUID: "x" }),
    /its volume x is in use/,
  );
  assert.deepEqual([sent.length, done.length], [0, 0]);
});

test("hashes are taken at one revision that every voter has; who does not answer is left out", async () => {
  const { run, sent } = world(({ endpoint }) =>
    endpoint === "demo-2" ? refused("UNAVAILABLE", "server stopped") : { hash: 7, compactRevision: 1n },
  );
  await run({ kind: "CompareHashes" });
  const asked = sent.map(({ request }) => (request as { revision: bigint }).revision);
  assert.equal(asked.length, 3);
  assert.equal(new Set(asked).size, 1);
});
