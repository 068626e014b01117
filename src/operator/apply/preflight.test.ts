import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../../core/decide.ts";
import type { Observation } from "../../core/observation.ts";
import { predict } from "../../core/plan/predict.ts";
import { asked, change, edit, healthy } from "../../core/testing/cluster.ts";
import { bench, refusal } from "../../kube/testing.ts";
import { KubeFailure, type KubeResponse } from "../../seams/kube-transport.ts";
import { Preflight } from "./preflight.ts";

type Answer = KubeResponse | KubeFailure;

const OK: KubeResponse = { status: 201, body: { metadata: { name: "demo-preflight" } } };
const UNANSWERED: Readonly<Record<string, Answer>> = {
  "a webhook that cannot be called": refusal(
    500,
    "InternalError",
    'failed calling webhook "a.b": no endpoints',
  ),
  "a webhook that takes too long": refusal(
    500,
    "InternalError",
    'failed calling webhook "a.b": deadline exceeded',
  ),
  "a server that takes too long": refusal(504, "Timeout", "request did not complete"),
  "a server that is overloaded": refusal(429, "TooManyRequests", "too many requests"),
  "no answer": new KubeFailure("interrupted", "timeout", "no answer in time"),
  "no connection": new KubeFailure("not-sent", "connection", "connection refused"),
};
const REFUSED: Readonly<Record<string, Answer>> = {
  "the server's own rules": refusal(422, "Invalid", "spec.nodeName: Invalid value"),
  "an admission plugin": refusal(403, "Forbidden", 'serviceaccount "nobody" not found'),
  "a webhook, with a code of its own": refusal(500, "", 'admission webhook "a.b" denied the request: no'),
};
const NOT_MEANT: Readonly<Record<string, Answer>> = {
  "a quota, which counts the Pod that is about to go": refusal(403, "Forbidden", "exceeded quota: pods"),
  "a webhook that has side effects": refusal(400, "BadRequest", "webhook a.b does not support dry run"),
};

/** A Preflight, and an API server that gives these answers one after the other, the last one again and again. */
function questions(...answers: readonly Answer[]) {
  const { client, clock, server } = bench();
  let times = 0;
  server.intercept = () => answers[Math.min(times++, answers.length - 1)];
  const preflight = new Preflight(client, clock);
  const ask = async ({ cluster, members, platform }: Observation) => {
    const records = members.map(({ record }) => record);
    return await preflight.verdict(cluster, records, platform.offers[0]?.address);
  };
  return { ask, preflight, clock, times: () => times, server };
}

const edited = edit(healthy(), { options: { snapshotCount: 5000 } });

for (const [title, answer] of Object.entries(UNANSWERED))
  test(`${title} is neither a refusal nor a yes: it is told, and asked again`, async () => {
    const { ask, clock, times } = questions(answer, OK);
    const verdict = await ask(edited);
    assert.equal(verdict.refusedWorkload, undefined);
    assert.ok(verdict.unverifiedWorkload);
    assert.deepEqual(await ask(edited), verdict, "not on every pass");
    assert.equal(times(), 1);
    await clock.advance(10_000);
    assert.deepEqual(await ask(edited), {});
    await clock.advance(3_600_000);
    assert.deepEqual(await ask(edited), {});
    assert.equal(times(), 2, "what was taken once is not asked about again");
  });

for (const [title, answer] of Object.entries(REFUSED))
  test(`refused by ${title}`, async () => {
    const { ask, clock } = questions(answer, OK);
    const { refusedWorkload, unverifiedWorkload } = await ask(edited);
    assert.ok(refusedWorkload);
    assert.equal(unverifiedWorkload, undefined);
    await clock.advance(10_000);
    assert.deepEqual(await ask(edited), {}, "what was missing may be there by now");
  });

for (const [title, answer] of Object.entries(NOT_MEANT))
  test(`not meant: ${title}`, async () => {
    assert.deepEqual(await questions(answer).ask(edited), {});
  });

test("nobody is asked where nobody is made from the spec, and a first boot is asked about", async () => {
  const { ask, times, server } = questions(OK);
  for (const world of [healthy(), edit(edited, { paused: true }), edit(edited, { replicas: 0 })])
    assert.deepEqual(await ask(world), {});
  assert.equal(times(), 0);
  await ask(asked());
  assert.equal(times(), 1);
  assert.deepEqual(server.requests[0]?.query, { dryRun: "All", fieldValidation: "Strict" });
});

test("another spec is another question, also while the answer to the former is awaited", async () => {
  const { ask, times } = questions(refusal(500, "InternalError", "failed calling webhook"), OK);
  assert.notDeepEqual(await ask(edited), {});
  assert.deepEqual(await ask(edit(edited, { options: { snapshotCount: 6000 } })), {});
  assert.equal(times(), 2);
});

test("nobody is asked for a cluster at rest whose CA was rotated: its records name the CA, the spec does not", async () => {
  const { ask, times } = questions(OK);
  const rotated = (world: Observation): Observation => ({
    ...world,
    members: world.members.map((member) => {
      const { template } = member.record;
      const tls = { ...template.tls, effective: { client: { trust: ["a1b2c3"] } } };
      return { ...member, record: { ...member.record, template: { ...template, tls } } };
    }),
  });
  await ask(rotated(healthy()));
  assert.equal(times(), 0);
  await ask(rotated(edited));
  assert.equal(times(), 1);
});

/** demo-4 is recorded, and etcd was not told of it. */
function coming(): Observation {
  const world = edit(healthy(), { replicas: 4 });
  const { act } = decide(world);
  assert.ok(act?.action.kind === "CreateMember");
  return predict(world, act.action);
}

function joinersOf(preflight: Preflight) {
  return async (world: Observation) => {
    const members = await preflight.joiners(world.cluster, world.members);
    return members.flatMap(({ record, workload }) =>
      workload.state === "absent" && workload.notMade ? [[record.name, workload.notMade]] : [],
    );
  };
}

for (const [title, answer] of Object.entries({
  ...UNANSWERED,
  ...REFUSED,
  "a quota": NOT_MEANT["a quota, which counts the Pod that is about to go"] as Answer,
}))
  test(`a newcomer that etcd was not told of is known to be refused beforehand: ${title}`, async () => {
    const { preflight, clock, times } = questions(answer, OK);
    const ask = joinersOf(preflight);
    const [[name, notMade] = []] = await ask(coming());
    assert.equal(name, "demo-4");
    assert.ok(typeof notMade === "object" && notMade.reason === "PodRefused");
    assert.match(notMade.message, /^the Pod of demo-4: /);
    await ask(coming());
    assert.equal(times(), 1, "not on every pass");
    await clock.advance(10_000);
    assert.deepEqual(await ask(coming()), []);
    assert.equal(times(), 2);
  });

test("a newcomer is asked about until etcd was told of it, and nobody else is", async () => {
  const { preflight, times } = questions(OK);
  const ask = joinersOf(preflight);
  assert.deepEqual(await ask(healthy()), []);
  const world = coming();
  assert.deepEqual(await ask(edit(world, { paused: true })), []);
  assert.deepEqual(
    await ask(change(world, "demo-4", ({ record }) => ({ record: { ...record, memberID: "4" } }))),
    [],
  );
  assert.equal(times(), 0);
  assert.deepEqual(await ask(world), []);
  assert.equal(times(), 1);
});

test("a webhook that cannot be asked beforehand keeps no newcomer out", async () => {
  const { preflight } = questions(NOT_MEANT["a webhook that has side effects"] as Answer);
  assert.deepEqual(await joinersOf(preflight)(coming()), []);
});
