import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../etcd/testing.ts";
import { Followers } from "./followers.ts";
import { FOLLOW_TASK, LABELS } from "../names.ts";

const SCHEDULE = "schedule-uid";
const OWNER = {
  apiVersion: "etcd.quorate.dev/v1alpha1",
  kind: "EtcdSnapshotSchedule",
  name: "nightly",
  uid: SCHEDULE,
  controller: true,
};

const pod = (uid: string, podIP: string, change: object = {}) => ({
  metadata: { uid, labels: { [LABELS.task]: FOLLOW_TASK }, ownerReferences: [OWNER], ...change },
  status: { phase: "Running", podIP },
});

test("followers that run are asked at their addresses, not too often, and silence is no answer", async () => {
  const clock = new ManualClock();
  const asked: string[] = [];
  let answer: string | undefined = '{"state":"following","revision":7}';
  const read = (url: string) => {
    asked.push(url);
    return Promise.resolve(answer);
  };
  const followers = new Followers({ read }, clock);
  const pods = [
    pod("a", "10.0.0.7"),
    pod("b", "fd00::7"),
    pod("c", "10.0.0.8", { deletionTimestamp: "2026-11-17T10:00:00Z" }),
    { metadata: { uid: "d" }, status: { phase: "Running", podIP: "10.0.0.9" } },
    // Of whoever may put our label on a Pod.
    pod("e", "169.254.169.254", { ownerReferences: [] }),
    pod("f", "169.254.169.254", { ownerReferences: [{ ...OWNER, uid: "another" }] }),
  ];
  await followers.ask(pods, [SCHEDULE]);
  await followers.ask(pods, [SCHEDULE]);
  assert.deepEqual(asked, ["http://10.0.0.7:2381/", "http://[fd00::7]:2381/"]);
  assert.equal(followers.report("a")?.revision, 7);
  assert.equal(followers.report("c"), undefined);
  await clock.advance(5_000);
  answer = "whatever";
  await followers.ask(pods.slice(0, 1), [SCHEDULE]);
  assert.equal(followers.report("a"), undefined, "what it told before is not believed any longer");
  assert.equal(followers.report("b"), undefined, "its Pod is gone");
});

test("one that does not answer holds up nobody for long, and what it says later is seen by the next look", async () => {
  const clock = new ManualClock();
  let say: (text: string | undefined) => void = () => undefined;
  const read = () => new Promise<string | undefined>((resolve) => (say = resolve));
  const followers = new Followers({ read }, clock);
  const pods = [pod("a", "10.0.0.7")];
  const look = followers.ask(pods, [SCHEDULE]);
  await clock.advance(200);
  await look;
  assert.equal(followers.report("a"), undefined);
  say('{"state":"following","revision":7}');
  await clock.advance(0);
  await followers.ask(pods, [SCHEDULE]);
  assert.equal(followers.report("a")?.revision, 7);
});
