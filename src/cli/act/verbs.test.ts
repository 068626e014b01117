/** The verbs that change something, on a target in memory: what they write, ask, wait for and say. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { command, demo, FakeTarget } from "../testing/fake-target.ts";

const on = (...objects: ReturnType<typeof demo>[]) =>
  new FakeTarget(objects.length > 0 ? objects : undefined);

/** Somebody else writes this. */
const respecified = (spec: Partial<ReturnType<typeof demo>["spec"]>) => (target: FakeTarget) => {
  target.objects = target.objects.map((object) => ({
    ...object,
    metadata: { ...object.metadata, generation: (object.metadata.generation ?? 0) + 1 },
    spec: { ...object.spec, ...spec },
  }));
};

describe("apply", () => {
  const manifest = (namespace: string, replicas: number) =>
    `{apiVersion: etcd.quorate.dev/v1alpha1, kind: EtcdCluster, metadata: {name: demo, namespace: ${namespace}}, spec: {version: 3.6.16, replicas: ${replicas}}}`;

  test("refuses a manifest for another namespace than the one that is looked at", async () => {
    const target = on();
    const { code, err } = await command(target, "apply -f - --yes", manifest("test", 1));
    assert.equal(code, 2);
    assert.match(err, /the manifest is for namespace test: add -n test/);
    assert.deepEqual(target.writes, []);
    assert.equal((await command(target, "apply -f -", manifest("prod", 5))).code, 0);
    assert.deepEqual(target.writes, ["apply demo"]);
  });

  test("writes only to the spec whose risks it told", async () => {
    const target = on();
    const read = target.clusters.bind(target);
    target.clusters = async () => {
      const found = await read();
      respecified({ replicas: 7 })(target);
      return found;
    };
    const { code, err } = await command(target, "apply -f -", manifest("prod", 5));
    assert.equal(code, 5);
    assert.match(err, /changed in the meantime, and nothing was written/);
    assert.deepEqual(target.writes, []);
  });
});

describe("scale", () => {
  test("writes the size and waits until the cluster is ready", async () => {
    const target = on();
    const { code, out } = await command(target, "scale demo 5");
    assert.equal(code, 0);
    assert.deepEqual(target.writes, ['patch {"spec":{"replicas":5}}']);
    assert.equal(out, "demo has 5 voting members: 2 of 5 voters may fail\n");
  });

  test("asks before members are removed, with the headroom; without a terminal only --yes will do", async () => {
    const target = on();
    const refused = await command(target, "scale 1");
    assert.equal(refused.code, 6);
    assert.match(refused.err, /2 members are removed one at a time and their volumes deleted; 3 of 3 voters/);
    const one = await command(on(), "scale demo 2");
    assert.match(one.err, /: 1 member is removed and its volume deleted; 3 of 3 voters/);
    assert.match(refused.err, /add --yes/);
    assert.deepEqual(target.writes, []);
    assert.equal((await command(target, "scale 1", "n")).code, 6);
    assert.equal((await command(target, "scale 1", "yes")).code, 0);
    assert.equal((await command(on(), "scale 1 --yes")).code, 0);
  });

  test("makes the change again on what is there now after a conflict, and gives up after several", async () => {
    const target = on();
    target.conflicts = 2;
    assert.equal((await command(target, "scale 5")).code, 0);
    const busy = on();
    busy.conflicts = 100;
    const { code, err } = await command(busy, "scale 5");
    assert.equal(code, 5);
    assert.match(err, /changed in the meantime/);
  });

  test("does not scale in unasked when somebody else chose another size meanwhile", async () => {
    const target = on();
    target.conflicts = 1;
    target.meanwhile = respecified({ replicas: 7 });
    const { code, err } = await command(target, "scale 5");
    assert.equal(code, 5);
    assert.match(err, /spec\.replicas was changed from 3 to 7 in the meantime.*Run the command again/);
    assert.deepEqual(target.writes, []);
  });

  test("a cluster that stalls fails with its reason; one that takes too long says that the change continues", async () => {
    const stuck = on();
    stuck.operator = (target) => {
      target.settle();
      target.objects = target.objects.map((object) => ({
        ...object,
        status: {
          ...object.status,
          conditions: (object.status?.conditions ?? []).map((one) =>
            one.type === "Stalled" || one.type === "Ready"
              ? {
                  ...one,
                  status: one.type === "Stalled" ? "True" : "False",
                  reason: "NoAddress",
                  message: "no free port.",
                }
              : one,
          ),
        },
      }));
    };
    const failed = await command(stuck, "scale 5");
    assert.equal(failed.code, 1);
    assert.match(failed.err, /demo is stalled \(NoAddress\): no free port\./);
    const deaf = on();
    deaf.operator = () => undefined;
    const late = await command(deaf, "scale 5 --timeout 30s");
    assert.equal(late.code, 7);
    assert.match(late.err, /waiting for the operator/);
    assert.match(late.err, /kubectl etcd status demo -n prod --watch/);
  });

  test("says what would happen with --dry-run, and what is so already", async () => {
    const target = on();
    const dry = await command(target, "scale 5 --dry-run");
    assert.match(dry.out, /from 3 to 5 voting members; 2 of 5 voters may fail then \(dry run/);
    assert.match((await command(target, "scale 3")).out, /already has replicas 3/);
    assert.deepEqual(target.writes, []);
    assert.equal((await command(target, "scale many")).code, 2);
    const unknown = await command(target, "scale demi 5");
    assert.equal(unknown.code, 3);
    assert.match(unknown.err, /did you mean demo\?/);
  });
});

describe("hibernate and wake", () => {
  test("wake starts as many as were retained, which hibernate names", async () => {
    const target = on(demo({ replicas: 3 }));
    const slept = await command(target, "hibernate --yes");
    assert.match(slept.out, /data is retained\. Wake it with: kubectl etcd wake demo -n prod/);
    const woken = await command(target, "wake demo");
    assert.match(woken.out, /awake with 3 voting members/);
    assert.deepEqual(target.writes, ['patch {"spec":{"replicas":0}}', 'patch {"spec":{"replicas":3}}']);
  });

  test("wake asks before it removes members that were retained", async () => {
    const target = on(demo({ replicas: 3 }));
    await command(target, "hibernate --yes");
    const { code, err } = await command(target, "wake --replicas 1");
    assert.equal(code, 6);
    assert.match(
      err,
      /it had 3; 2 members are removed one at a time and their volumes deleted, and no voter/,
    );
    assert.equal(target.writes.length, 1);
    assert.equal((await command(target, "wake --replicas 1 --yes")).code, 0);
  });

  test("without retained members the size has to be given; awake there is nothing to do", async () => {
    const target = on(demo({ replicas: 3 }));
    assert.match((await command(target, "wake")).out, /not hibernated/);
    await command(target, "hibernate --yes");
    target.records = [];
    const { code, err } = await command(target, "wake");
    assert.equal(code, 1);
    assert.match(err, /wake demo --replicas 3 -n prod/);
    assert.equal((await command(target, "wake --replicas 1")).code, 0);
  });
});

describe("upgrade", () => {
  test("shows the path and takes it", async () => {
    const target = on();
    const { out } = await command(target, "upgrade 3.7 --dry-run");
    assert.match(out, /from etcd 3\.6\.16 to 3\.7\.3/);
    assert.equal((await command(target, "upgrade 3.7.3 --yes")).code, 0);
    assert.deepEqual(target.writes, ['patch {"spec":{"version":"3.7.3"}}']);
  });

  test("crosses minor versions one at a time", async () => {
    const target = on(demo({ version: "3.5.33" }));
    target.records = target.records.map((record) => ({
      ...record,
      spec: { ...record.spec, template: { ...record.spec.template, version: "3.5.33" } },
    }));
    const { out } = await command(target, "upgrade 3.7 --dry-run");
    assert.match(out, /from etcd 3\.5\.33 to 3\.6\.16, then 3\.7\.3/);
  });

  test("leaves a version alone that somebody else chose after the path was shown", async () => {
    const target = on();
    target.conflicts = 1;
    target.meanwhile = respecified({ version: "3.6.17" });
    const { code, err } = await command(target, "upgrade 3.7.3 --yes");
    assert.equal(code, 5);
    assert.match(
      err,
      /spec\.version was changed from 3\.6\.16 to 3\.6\.17 in the meantime.*Run the command again/,
    );
    assert.deepEqual(target.writes, []);
  });

  test("a path that etcd does not have is refused with the reason, and nothing is written", async () => {
    const target = on();
    const far = await command(target, "upgrade 3.4.23 --yes");
    assert.equal(far.code, 1);
    assert.match(far.err, /demo stays as it is: .*3\.4/);
    assert.equal((await command(target, "upgrade 9.9.9 --yes")).code, 1);
    assert.equal((await command(target, "upgrade latest")).code, 2);
    assert.deepEqual(target.writes, []);
  });
});

test("pause asks and says how to resume; resume ends it", async () => {
  const target = on();
  target.operator = (now) => now.settle(now.objects[0]?.spec.paused ? { phase: "Paused" } : {});
  assert.equal((await command(target, "pause")).code, 6);
  assert.match(
    (await command(target, "pause --yes")).out,
    /paused\. Resume it with: kubectl etcd resume demo/,
  );
  assert.match((await command(target, "resume")).out, /demo is resumed/);
  assert.match((await command(target, "resume")).out, /is not paused/);
});

describe("approve", () => {
  const waiting = (...words: string[]) => {
    const target = on();
    target.operator = (now) =>
      now.settle({
        approvals: words.map((approval) => ({ approval, message: `something waits for ${approval}.` })),
      });
    return target;
  };

  test("lists what waits, with the command that approves it", async () => {
    const { out } = await command(waiting("1f0c2a9b", "replace-demo-3"), "approve demo");
    assert.match(
      out,
      /something waits for 1f0c2a9b\.\n +Approve it: kubectl etcd approve demo 1f0c2a9b -n prod/,
    );
    assert.match(out, /approve demo replace-demo-3 -n prod/);
    assert.match((await command(on(), "approve")).out, /nothing of demo waits for an approval/);
  });

  test("writes the approval that is awaited, and no other", async () => {
    const target = waiting("1f0c2a9b");
    assert.equal((await command(target, "approve 1f0c2a9b")).code, 0);
    assert.deepEqual(target.writes, ['patch {"annotations":{"etcd.quorate.dev/approve":"1f0c2a9b"}}']);
    const wrong = await command(target, "approve demo 1f0c2a9c");
    assert.equal(wrong.code, 3);
    assert.match(wrong.err, /did you mean 1f0c2a9b\?/);
    const none = await command(on(), "approve demo 1f0c2a9b");
    assert.equal(none.code, 1);
    assert.match(none.err, /See what it waits for: kubectl etcd why demo -n prod/);
  });

  test("asks before a loss of data is accepted", async () => {
    const target = waiting("accept-data-48211");
    assert.equal((await command(target, "approve accept-data-48211")).code, 6);
    assert.equal((await command(target, "approve accept-data-48211 --yes")).code, 0);
  });
});

describe("names", () => {
  test("of members tell their cluster; one that does not exist is answered with those that do, or the nearest", async () => {
    const { code, err } = await command(on(), "restart demo-7 --yes");
    assert.equal(code, 3);
    assert.match(err, /no member is named "demo-7" in cluster demo; there are demo-1, demo-2, demo-3/);
    assert.equal((await command(on(), "member replace demo-7 --yes")).code, 3);
    assert.match((await command(on(), "member fence dmo-1")).err, /did you mean demo-1\?/);
    assert.match(
      (await command(on(), "member --local demo-1")).err,
      /no verb given before --local\.\n\nUsage: /,
    );
  });

  test("given twice, or of a cluster and of a member alike, are refused", async () => {
    assert.match((await command(on(), "restart demo-1 demo-1 --yes")).err, /named twice/);
    const other = demo();
    const both = on(demo(), { ...other, metadata: { ...other.metadata, name: "demo-1" } });
    assert.match((await command(both, "restart demo-1 --yes")).err, /could be a member of demo/);
    assert.equal((await command(both, "restart demo demo-1 --yes")).code, 0);
    assert.match((await command(both, "scale 5")).err, /there are 2 clusters .* name one of them/);
  });
});

describe("fence", () => {
  const seen = (names: readonly string[], leader: string | undefined) => (target: FakeTarget) => {
    target.settle();
    target.objects = target.objects.map((object) => ({
      ...object,
      status: {
        ...object.status,
        leader,
        members: (object.status?.members ?? []).map((member) => ({
          ...member,
          ...(names.includes(member.name) && { fenced: true }),
        })),
      },
    }));
  };

  test("annotates the member and waits until another one leads", async () => {
    const target = on();
    target.operator = seen(["demo-1"], "demo-2");
    const { code, out } = await command(target, "member fence demo-1");
    assert.equal(code, 0);
    assert.deepEqual(target.writes, ['annotate demo-1 {"etcd.quorate.dev/fence":"true"}']);
    assert.equal(out, "demo-1 is fenced; demo-2 leads\n");
    target.operator = seen(["demo-1"], "demo-1");
    assert.equal((await command(target, "member fence demo-1 --timeout 5s")).code, 7);
    target.operator = seen(["demo-1"], undefined);
    const leaderless = await command(target, "member fence demo-1 --timeout 5s");
    assert.equal(leaderless.code, 7);
    assert.match(leaderless.err, /waiting for a leader/);
  });

  test("asks before the last voter that clients have", async () => {
    const target = on();
    target.records = target.records.map((record) =>
      record.metadata.name === "demo-1"
        ? record
        : { ...record, metadata: { ...record.metadata, annotations: { "etcd.quorate.dev/fence": "true" } } },
    );
    const { code, err } = await command(target, "member fence demo-1");
    assert.equal(code, 6);
    assert.match(err, /clients will have no endpoint/);
    assert.match((await command(target, "member fence demo-2")).out, /fenced already/);
    target.operator = seen([], "demo-1");
    assert.equal((await command(target, "member unfence demo-2")).code, 0);
  });
});
