/** Which members the Services, the budget and the NetworkPolicy of a cluster mean after it has begun another life. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { specOf } from "../../core/testing/cluster.ts";
import { viewOf, type View } from "../../core/view.ts";
import { LABELS } from "../names.ts";
import { networkPolicy } from "../render/network-policy.ts";
import { memberPod } from "../render/pod.ts";
import { clusterWith, memberOf, type Wish } from "../testing/rendered.ts";
import { networkOf } from "./network.ts";
import type { Cached } from "./cached.ts";

const OPERATOR_PODS = { namespace: "quorate-system", labels: { app: "quorate" } };

const NOTHING: Cached = {
  cluster: undefined,
  member: () => undefined,
  claim: () => undefined,
  pod: () => undefined,
  secrets: [],
  certificates: [],
  services: [],
  budgets: [],
  networkPolicies: [],
  unseen: [],
  hasCertManager: false,
  clusterDomain: undefined,
  operatorPods: OPERATOR_PODS,
};

/** The same cluster in another life, as after a restore in place. */
function inLife(life: number, wish: Wish = {}): View {
  const { observation } = clusterWith(specOf({ learners: 1, ...wish }));
  const { cluster, members } = observation;
  const token = `${cluster.uid}-${life}`;
  const established = { token, clusterID: cluster.marks.established?.clusterID ?? "" };
  return viewOf({
    ...observation,
    cluster: { ...cluster, marks: { ...cluster.marks, life, established } },
    members: members.map((facts) => ({ ...facts, record: { ...facts.record, token } })),
  });
}

test("from its second life on a cluster's selectors ask for Pods of that life, once all of them have the label", () => {
  const wish = { networkPolicy: { enabled: true, clients: [] } };
  const [first, second] = [inLife(1, wish), inLife(2, wish)];
  const podsOf = (view: View, isLabelled: (name: string) => boolean) => (name: string) => {
    const member = view.members.find((one) => one.name === name);
    const pod = member && memberPod(view.observation.cluster, member.record, { role: "voter", gated: false });
    if (!pod || isLabelled(name)) return pod;
    const { [LABELS.life]: _none, ...labels } = pod.metadata?.labels ?? {};
    return { ...pod, metadata: { ...pod.metadata, labels } };
  };
  const selected = (view: View, pod: Cached["pod"]) =>
    networkOf(view, { ...NOTHING, pod }).flatMap(({ part, policy }) =>
      policy.do === "apply" && JSON.stringify(policy.object).includes(LABELS.life) ? [part] : [],
    );
  const all = [
    "Service demo-peers",
    "Service demo-client",
    "Service demo",
    "Service demo-learners",
    "PodDisruptionBudget demo",
    "NetworkPolicy demo",
  ];
  assert.deepEqual(
    selected(
      second,
      podsOf(second, () => true),
    ),
    all,
  );
  assert.deepEqual(
    selected(second, () => undefined),
    all,
    "a Pod that is not there yet will have it",
  );
  assert.deepEqual(
    selected(
      second,
      podsOf(second, (name) => name !== "demo-2"),
    ),
    [],
    "one of an earlier release",
  );
  assert.deepEqual(
    selected(
      first,
      podsOf(first, () => true),
    ),
    [],
  );
  const [member] = second.members;
  const former = memberPod(first.observation.cluster, memberOf(first), { role: "voter", gated: false });
  assert.equal(podsOf(second, () => true)(member?.name ?? "")?.metadata?.labels?.[LABELS.life], "2");
  assert.equal(former.metadata?.labels?.[LABELS.life], undefined);
});

test("a NetworkPolicy of a later life still limits who reaches members of earlier ones, and lets none of those in", () => {
  const view = inLife(2, { networkPolicy: { enabled: true, clients: [] } });
  const policy = networkPolicy(view, OPERATOR_PODS, 2);
  assert.equal(policy?.spec?.podSelector?.matchLabels?.[LABELS.life], undefined);
  const [peers] = policy?.spec?.ingress ?? [];
  assert.equal(peers?.from?.[0]?.podSelector?.matchLabels?.[LABELS.life], "2");
});
