/** Whom a NetworkPolicy on the API server lets connect to a member, by a model of what enforces it. */
import assert from "node:assert/strict";
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import { admits, type Place } from "../../sim/models/kube/network-policy.ts";
import type { Client } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";

export const POLICIES = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies";

/** The first member of a cluster, by the labels of its Pod. */
export async function memberPlace(client: Client, cluster: string): Promise<Place> {
  const selector = `etcd.quorate.dev/cluster=${cluster},app.kubernetes.io/component=member`;
  const path = `/api/v1/namespaces/default/pods?labelSelector=${encodeURIComponent(selector)}`;
  const [pod] = (await client.get<{ items: Pod[] }>(path)).items;
  assert.ok(pod);
  return { namespace: "default", labels: pod.metadata?.labels ?? {} };
}

/** Waits until the policy of a cluster answers each question as expected. */
export async function untilAdmits(
  client: Client,
  { cluster, to }: { readonly cluster: string; readonly to: Place },
  asked: readonly (readonly [from: Place, port: number, expected: boolean])[],
): Promise<void> {
  await eventually(
    `the policy of ${cluster} to let in those and no others`,
    async () => {
      const policy = await client.get<object>(`${POLICIES}/${cluster}`);
      const lets = asked.map(([from, port]) => admits([policy], to, from, port));
      assert.deepEqual(
        lets,
        asked.map(([, , expected]) => expected),
      );
      return true;
    },
    { withinMs: 90_000 },
  );
}
