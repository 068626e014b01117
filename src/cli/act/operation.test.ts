/** The verbs that create an EtcdOperation and follow, list, show or cancel it, on a target in memory. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { command, FakeTarget } from "../testing/fake-target.ts";

const on = () => new FakeTarget();

describe("operations", () => {
  test("are created and followed: steps as they happen, then the result", async () => {
    const target = on();
    const step = (message: string) => ({ at: "2026-01-01T00:00:05Z", message });
    target.script = [
      { phase: "Pending", message: "waiting for demo-defrag-1" },
      { phase: "Running", steps: [step("restarted demo-2")] },
      { phase: "Running", steps: [step("restarted demo-2"), step("restarted demo-3")] },
      { phase: "Succeeded", message: "restarted 2 members", steps: [] },
    ];
    const { code, out, err } = await command(target, "restart demo-2 demo-3 --yes");
    assert.equal(code, 0);
    assert.deepEqual(target.created[0]?.spec, {
      cluster: "demo",
      restart: { members: ["demo-2", "demo-3"] },
      ttlSecondsAfterFinished: 86_400,
    });
    assert.equal(target.created[0]?.metadata?.name, "demo-restart-ababab");
    assert.equal(out, "restarted 2 members\n");
    assert.deepEqual(
      err.split("\n").map((line) => line.slice(10)),
      [
        "Restarting demo-2, demo-3 (operation demo-restart-ababab)",
        "waiting for demo-defrag-1",
        "restarted demo-2",
        "Running",
        "restarted demo-3",
        "Running",
        "",
      ],
    );
  });

  test("that fail or are rejected end with exit code 1 and the reason", async () => {
    const target = on();
    target.script = [{ phase: "Rejected", reason: "NoSuchMember", message: "demo-9 is not a member" }];
    const rejected = await command(target, "leader move demo-2");
    assert.equal(rejected.code, 1);
    assert.match(rejected.err, /was rejected, and nothing was changed \(NoSuchMember\): demo-9 is not/);
    target.script = [{ phase: "Failed", reason: "Timeout", message: "gave up" }];
    assert.match((await command(target, "defrag --yes")).err, /failed \(Timeout\): gave up/);
  });

  test("name what they do in the spec", async () => {
    const target = on();
    for (const line of [
      "defrag demo --yes",
      "defrag demo-1 --yes",
      "compact --yes",
      "compact demo --revision 7 --yes",
      "leader move",
      "leader move demo-3",
      "member replace demo-2 --yes",
      "restart --yes",
    ])
      assert.equal((await command(target, line)).code, 0, line);
    assert.deepEqual(
      target.created.map(({ spec }) =>
        Object.fromEntries(
          Object.entries(spec).filter(([key]) => key !== "cluster" && key !== "ttlSecondsAfterFinished"),
        ),
      ),
      [
        { defragment: {} },
        { defragment: { members: ["demo-1"] } },
        { compact: { retain: 1000 } },
        { compact: { revision: 7 } },
        { moveLeader: {} },
        { moveLeader: { to: "demo-3" } },
        { replaceMember: { name: "demo-2" } },
        { restart: {} },
      ],
    );
  });

  test("that hurt are asked for, and --dry-run shows the object without creating it", async () => {
    for (const line of ["restart", "defrag", "compact", "member replace demo-1"]) {
      const target = on();
      const asked = await command(target, line);
      assert.equal(asked.code, 6, line);
      const { out } = await command(target, `${line} --dry-run -o json`);
      assert.equal((JSON.parse(out) as { kind: string }).kind, "EtcdOperation");
      assert.deepEqual(target.writes, [], line);
    }
  });

  test("--no-wait returns at once and says how to look", async () => {
    const { out, code } = await command(on(), "restart --yes --no-wait");
    assert.equal(code, 0);
    assert.match(
      out,
      /operation demo-restart-ababab created\. See: kubectl etcd operation show demo-restart-ababab -n prod/,
    );
  });

  test("are listed, shown and cancelled while they wait", async () => {
    const target = on();
    target.script = [{ phase: "Pending", reason: "Waiting", message: "waiting for another" }];
    await command(target, "restart demo-1 --yes --no-wait");
    assert.match((await command(target, "operation list")).out, /demo-restart-ababab +.*Pending/);
    const shown = await command(target, "operation show demo-restart-ababab");
    assert.match(shown.out, /restart demo-1.*\nPending \(Waiting\): waiting for another/);
    assert.match((await command(target, "operation cancel demo-restart-ababab")).out, /is cancelled/);
    assert.deepEqual(target.writes.slice(1), ["delete demo-restart-ababab"]);
    target.script = [{ phase: "Running" }];
    const running = await command(target, "operation cancel demo-restart-ababab");
    assert.equal(running.code, 6);
    assert.match(running.err, /stops after the step under way; 0 steps done so far stay done/);
    assert.equal((await command(target, "operation cancel demo-restart-ababab --yes")).code, 0);
    target.script = [{ phase: "Failed" }];
    assert.match((await command(target, "operation cancel demo-restart-ababab")).err, /has ended \(Failed\)/);
    assert.match(
      (await command(target, "operation show demo-restart-abaxxx")).err,
      /did you mean demo-restart-ababab/,
    );
  });
});

test("operation cancel says that a replacement goes on without its operation", async () => {
  const target = on();
  target.script = [{ phase: "Running", steps: [{ at: "2026-01-01T00:00:05Z", message: "requested" }] }];
  await command(target, "member replace demo-2 --yes --no-wait");
  const [name = ""] = target.created.map(({ metadata }) => metadata?.name ?? "");
  const asked = await command(target, `operation cancel ${name}`);
  assert.equal(asked.code, 6);
  assert.match(asked.err, /the replacement of demo-2 is completed all the same\./);
  const { out } = await command(target, `operation cancel ${name} --yes`);
  assert.equal(out, `${name} is deleted; the replacement of demo-2 is completed all the same\n`);
});
