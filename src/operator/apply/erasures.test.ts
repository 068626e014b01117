import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import type { EtcdMember } from "../../api/etcd-member.ts";
import { Conflict } from "../../control/platform.ts";
import { healthy } from "../../core/testing/cluster.ts";
import type { KubeClient } from "../../kube/client.ts";
import { KubeError, type KubeReason } from "../../kube/errors.ts";
import { ManualClock } from "../../kube/testing.ts";
import { ANNOTATIONS } from "../names.ts";
import { newMember } from "../records/member-object.ts";
import { Erasures } from "./erasures.ts";

const { cluster, members } = healthy({ replicas: 1 });
const { record } = members[0]!;
const MINUTE = 60_000;

function memberOn(node: string | undefined): EtcdMember {
  const { uid, resourceVersion: _, createdAt: __, ...rest } = record;
  const made = newMember(cluster, rest);
  const metadata = { ...made.metadata, uid, resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" };
  const annotations = { ...metadata.annotations, ...(node !== undefined && { [ANNOTATIONS.node]: node }) };
  return { ...made, metadata: { ...metadata, annotations } };
}

function world(answer: KubeError | undefined, image: string | undefined = "quorate:1", there?: Pod) {
  const clock = new ManualClock();
  const made: Pod[] = [];
  const client = {
    create: (_: unknown, pod: Pod) => {
      if (answer) return Promise.reject(answer);
      made.push(pod);
      return Promise.resolve(pod);
    },
    list: () => Promise.resolve({ items: there ? [there] : [] }),
    found: (_: unknown, pod: Pod) => void made.push(pod),
  } as unknown as KubeClient;
  const skew = { serverNow: () => clock.now() };
  return { clock, made, erasures: new Erasures({ client, clock, skew, image }) };
}

const refusal = (reason: KubeReason) =>
  new KubeError(reason, "creating the Pod", `the server said ${reason}`);

test("a Pod is made on the node of the directory, and then waited for since it was made", async () => {
  const { clock, made, erasures } = world(undefined);
  const member = memberOn("node-1");
  assert.deepEqual(erasures.of(member, undefined), { is: "wanted" });
  await erasures.begin(cluster, member);
  const [pod] = made;
  assert.equal(pod?.spec?.nodeName, "node-1");
  // Another operator began it two minutes ago, by the API server's clock.
  const creationTimestamp = new Date(clock.now() - 2 * MINUTE).toISOString();
  const before = { ...pod, metadata: { ...pod?.metadata, creationTimestamp } };
  assert.deepEqual(world(undefined).erasures.of(member, before), {
    is: "running",
    since: clock.now() - 2 * MINUTE,
  });
  // A Pod that somebody deletes time and again is not begun anew each time.
  await clock.advance(3 * MINUTE);
  const again = {
    ...pod,
    metadata: { ...pod?.metadata, creationTimestamp: new Date(clock.now()).toISOString() },
  };
  assert.deepEqual(erasures.of(member, again), { is: "running", since: clock.now() - 3 * MINUTE });
  assert.deepEqual(erasures.of(member, undefined), {
    is: "wanted",
    begun: { since: clock.now() - 3 * MINUTE },
  });
});

test("a Pod that is refused for good is told at once, other failures are tried again", async () => {
  const refused = world(refusal("Forbidden"));
  const member = memberOn("node-1");
  await refused.erasures.begin(cluster, member);
  const said = refused.erasures.of(member, undefined);
  assert.match(said.is === "impossible" ? said.why : "", /could not be created: .*Forbidden/);
  const failing = world(refusal("Internal"));
  await assert.rejects(failing.erasures.begin(cluster, member), KubeError);
  const begun = failing.erasures.of(member, undefined);
  assert.match((begun.is === "wanted" && begun.begun?.why) || "", /said Internal/);
});

test("a Pod that is there already counts if it is for this member", async () => {
  const member = memberOn("node-1");
  const there: Pod = { metadata: { name: "erase", ownerReferences: [{ uid: record.uid }] as never } };
  const known = world(refusal("AlreadyExists"), "quorate:1", there);
  await known.erasures.begin(cluster, member);
  assert.deepEqual(known.made, [there]);
  const foreign = world(refusal("AlreadyExists"), "quorate:1", { metadata: { name: "erase" } });
  await assert.rejects(foreign.erasures.begin(cluster, member), Conflict);
  // Under its name, and nobody's of ours.
  assert.equal(foreign.erasures.of(member, { metadata: { name: "erase" } }).is, "wanted");
});

test("without an image of its own the operator says so, and makes nothing", async () => {
  const { made, erasures } = world(undefined);
  const withoutImage = new Erasures({
    client: {} as KubeClient,
    clock: new ManualClock(),
    skew: { serverNow: () => 0 },
  });
  const said = withoutImage.of(memberOn("node-1"), undefined);
  assert.match(said.is === "impossible" ? said.why : "", /--image or QUORATE_IMAGE/);
  await withoutImage.begin(cluster, memberOn("node-1"));
  await erasures.begin(cluster, memberOn(undefined));
  assert.deepEqual(made, []);
});
