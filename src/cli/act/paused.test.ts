/** A paused cluster at the command line: when the pause holds, and what becomes of what is asked for meanwhile. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Observation } from "../../core/observation.ts";
import { edit, exited, healthy } from "../../core/testing/cluster.ts";
import { silent, status, unquorate } from "../../core/testing/status.ts";
import { command, demo, FakeTarget } from "../testing/fake-target.ts";

/** A pause came after the cluster was made. */
const pausedDemo = () => {
  const object = demo();
  return { ...object, spec: { ...object.spec, paused: true } };
};

const lost = (world: Observation): Observation =>
  unquorate(["demo-2", "demo-3"].reduce((before, name) => exited(before, name, "killed"), world));

const worlds: Readonly<Record<string, (world: Observation) => Observation>> = {
  "is healthy": (world) => world,
  "has lost quorum": lost,
  "does not answer": silent,
};

/** The operator reports on `world` with the spec that is stored. */
const seeing =
  (world: (world: Observation) => Observation) =>
  (target: FakeTarget): void => {
    target.objects = target.objects.map((object) => {
      const { generation = 0 } = object.metadata;
      const next = status(
        world(edit(healthy(), { paused: object.spec.paused, replicas: object.spec.replicas })),
      );
      return { ...object, status: { ...next, observedGeneration: generation } };
    });
  };

describe("pause ends once the operator has seen it", () => {
  for (const [name, world] of Object.entries(worlds))
    test(`of a cluster that ${name}`, async () => {
      const target = new FakeTarget();
      target.operator = seeing(world);
      const { code, out, err } = await command(target, "pause demo --yes");
      assert.equal(code, 0, err);
      assert.match(out, /demo is paused\. Resume it with/);
      const manifest = JSON.stringify({ ...pausedDemo(), status: undefined });
      assert.equal((await command(target, "apply -f - --yes", manifest)).code, 0);
    });

  test("of a hibernated cluster", async () => {
    const target = new FakeTarget([demo({ replicas: 0 })]);
    target.operator = seeing(silent);
    assert.equal((await command(target, "pause demo --yes")).code, 0);
  });

  test("and not before", async () => {
    const target = new FakeTarget();
    target.operator = () => undefined;
    assert.equal((await command(target, "pause demo --yes --timeout 5s")).code, 7);
  });
});

describe("of a paused cluster", () => {
  const paused = () => {
    const target = new FakeTarget([pausedDemo()]);
    target.operator = seeing((world) => world);
    return target;
  };

  for (const line of ["scale demo 5", "upgrade demo 3.7 --yes", "hibernate demo --yes"])
    test(`${line.split(" ", 1)[0]} records the wish, and says at once that it waits for the end of the pause`, async () => {
      const target = paused();
      const { code, err } = await command(target, line);
      assert.equal(code, 1);
      assert.match(err, /demo is paused: the change is recorded, .*kubectl etcd resume demo -n prod/);
      assert.equal(target.writes.length, 1);
    });

  test("restart is recorded as an operation that waits", async () => {
    const target = paused();
    target.script = [{ phase: "Pending", reason: "Paused", message: "it waits" }];
    const { code, err } = await command(target, "restart demo --yes");
    assert.equal(code, 1);
    assert.match(err, /demo is paused: operation demo-restart-[0-9a-f]{6} is recorded, .*resume demo/);
    assert.equal(target.created.length, 1);
  });

  test("a fence is recorded and waits", async () => {
    const { code, err } = await command(paused(), "member fence demo-2");
    assert.equal(code, 1);
    assert.match(err, /demo is paused: the fence of demo-2 is recorded/);
  });

  for (const [line, what] of [
    ["scale demo 5", "the change is recorded"],
    ["upgrade demo 3.7 --yes", "the change is recorded"],
    ["hibernate demo --yes", "the change is recorded"],
    ["member fence demo-2", "the fence of demo-2 is recorded"],
    ["restart demo --yes", "operation demo-restart-ababab is recorded"],
  ] as const)
    test(`${line} --no-wait is done when it is written, and says that it waits for the end of the pause`, async () => {
      const { code, out, err } = await command(paused(), `${line} --no-wait`);
      assert.equal(code, 0, err);
      assert.notEqual(out, "");
      assert.equal(
        err,
        `Warning: demo is paused: ${what}, and nothing is done until the pause ends. End it with: kubectl etcd resume demo -n prod\n`,
      );
    });

  test("an operation that was created is told also when nothing more is answered, so that nobody creates it again", async () => {
    for (const waits of ["", " --no-wait"]) {
      const target = paused();
      const cluster = target.cluster.bind(target);
      target.cluster = (name) =>
        target.created.length > 0 ? Promise.reject(new Error("no answer")) : cluster(name);
      const { code, out, err } = await command(target, `restart demo --yes${waits}`);
      assert.notEqual(code, 0);
      assert.match(`${out}${err}`, /operation demo-restart-[0-9a-f]{6}/);
      assert.match(err, /no answer/);
    }
  });

  test("apply and wake --no-wait say so too", async () => {
    const target = new FakeTarget([{ ...pausedDemo(), spec: { ...pausedDemo().spec, replicas: 0 } }]);
    const woken = await command(target, "wake demo --no-wait");
    assert.match(woken.err, /demo is paused: the change is recorded/);
    const manifest = JSON.stringify({ ...pausedDemo(), status: undefined });
    const applied = await command(paused(), "apply -f - --yes --no-wait", manifest);
    assert.match(applied.err, /demo is paused: the change is recorded/);
  });

  test("pause and resume --no-wait say nothing of it", async () => {
    for (const line of ["pause demo --yes --no-wait", "resume demo --no-wait"])
      assert.equal((await command(paused(), line)).err, "", line);
  });

  test("a restore, which the operator would reject, is refused before the question", async () => {
    const target = paused();
    const { code, err } = await command(target, "restore s3://backups/a.db demo", "n");
    assert.equal(code, 1);
    assert.match(err, /demo is paused, and an approval .* does not wait.*resume demo/);
    assert.deepEqual(target.writes, []);
  });
});

test("a hibernated cluster is upgraded once its spec is observed, for it is never Ready", async () => {
  const target = new FakeTarget([demo({ replicas: 0 })]);
  const { code, out } = await command(target, "upgrade demo 3.7 --yes");
  assert.equal(code, 0);
  assert.match(out, /demo runs etcd 3\.7\.3 when it wakes/);
});
