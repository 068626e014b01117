import assert from "node:assert/strict";
import { test } from "node:test";
import { sentencesOf } from "../../control/problem.ts";
import type { KubeClient } from "../../kube/client.ts";
import { KubeError } from "../../kube/errors.ts";
import { services, type KubeObject } from "../../kube/resources.ts";
import { Contested, Contests } from "./contests.ts";

const MINUTE = 60_000;
const wanted = { metadata: { labels: { app: "etcd" } } };
const found: KubeObject = {
  metadata: { name: "demo-client", namespace: "default", uid: "1", labels: { app: "x" } },
};
const managedFields = [{ manager: "kyverno", fieldsV1: { "f:metadata": { "f:labels": { "f:app": {} } } } }];

function world(answer: () => unknown = () => ({ items: [{ metadata: { managedFields } }] })) {
  let now = 0;
  const calls: unknown[] = [];
  const client = {
    fieldManager: "quorate",
    call: async (...asked: unknown[]) => {
      calls.push(asked);
      return await Promise.resolve({ status: 200, body: answer() });
    },
  } as unknown as KubeClient;
  const contests = new Contests(client, { monotonic: () => now });
  /** As often as it may be within this time; what was said meanwhile. */
  const contest = async (ms: number, about: object = wanted) => {
    const said = new Set<string>();
    let writes = 0;
    for (const end = now + ms; now < end; now += 100) {
      try {
        await contests.write(services, found, about, () => Promise.resolve(writes++));
      } catch (error) {
        assert.ok(error instanceof Contested);
        said.add(error.message);
      }
    }
    return { writes, said: [...said] };
  };
  return { contest, contests, calls, pass: (ms: number) => (now += ms) };
}

test("what is written back at once is written ever more seldom, down to once in five minutes", async () => {
  const { contest, calls } = world();
  assert.ok((await contest(MINUTE)).writes <= 8);
  await contest(30 * MINUTE);
  assert.ok((await contest(10 * MINUTE)).writes <= 2);
  assert.equal(calls.length, 1, "who it is against is asked once");
});

test("it is told with the field and the other manager, or that the server knows none", async () => {
  const [reported] = (await world().contest(5_000)).said;
  assert.match(
    reported ?? "",
    /^Service default\/demo-client: another manager \(kyverno\) keeps changing metadata\.labels\.app,/,
  );
  const unknown = [
    () => ({ items: [] }),
    () => {
      throw new KubeError("Forbidden", "GET", "no");
    },
  ];
  for (const answer of unknown)
    assert.match(
      (await world(answer).contest(5_000)).said[0] ?? "",
      /a mutating admission webhook keeps changing/,
    );
});

test("a slip that is put right is no contest, nor is another wish", async () => {
  const { contest, contests, pass } = world();
  for (let slip = 0; slip < 5; slip++) {
    assert.deepEqual(await contest(100), { writes: 1, said: [] });
    assert.deepEqual(contests.problems(), []);
    pass(61 * MINUTE);
  }
  await contest(5_000);
  assert.deepEqual(await contest(100, { metadata: {} }), { writes: 1, said: [] });
});

test("what is undone every few minutes is reported from the third time on, and written at once each time", async () => {
  const { contest, contests, calls, pass } = world();
  const reported: boolean[] = [];
  for (let resync = 0; resync < 6; resync++) {
    assert.deepEqual(await contest(100), { writes: 1, said: [] });
    pass(3 * MINUTE);
    reported.push(contests.problems().length === 1);
  }
  assert.deepEqual(reported, [false, false, true, true, true, true]);
  assert.match(
    sentencesOf(contests.problems()).join(),
    /another manager \(kyverno\) keeps changing metadata\.labels\.app,/,
  );
  assert.equal(calls.length, 1);
  pass(4 * MINUTE);
  assert.deepEqual(contests.problems(), [], "it has stopped");
});

test("two parts of one object are contested each for itself", async () => {
  const { contests, contest } = world();
  await contest(5_000);
  const write = () => Promise.resolve("written");
  assert.equal(await contests.write(services, found, { spec: {} }, write), "written");
  await assert.rejects(contests.write(services, found, wanted, write), Contested);
});

test("writes that fail are no contest: nothing was undone", async () => {
  const { contest, contests } = world();
  const refused = new KubeError("Conflict", "PATCH", "another version");
  const fails = () => contests.write(services, found, wanted, () => Promise.reject(refused));
  for (let i = 0; i < 10; i++) await assert.rejects(fails(), refused);
  assert.equal(contests.size, 0);
  assert.deepEqual(await contest(100), { writes: 1, said: [] });
  for (let i = 0; i < 10; i++) await assert.rejects(fails(), refused);
  assert.deepEqual(await contest(100), { writes: 1, said: [] }, "as soon as the server takes it");
});

test("what was not contested for an hour is forgotten", async () => {
  const { contests, contest, pass } = world();
  await contest(100);
  pass(59 * MINUTE);
  contests.problems();
  assert.equal(contests.size, 1);
  pass(2 * MINUTE);
  contests.problems();
  assert.equal(contests.size, 0);
});
