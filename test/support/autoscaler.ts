/**
 * What a VerticalPodAutoscaler does to Pods: its webhook gives a Pod other resources when it is created, its updater
 * evicts one that has others than recommended. It finds a Pod by the EtcdMember that controls it.
 */
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import { isCode } from "../../testbed/client.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { PATHS } from "./kube-paths.ts";
import { serveTls } from "./tls-server.ts";

const WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const NAME = "autoscaler";

export interface Autoscaler {
  /** Whether the budget let it go. */
  evict(pod: string): Promise<boolean>;
  close(): Promise<void>;
}

/** `recommended`: by the name of an EtcdMember. */
export async function autoscalerOn(
  bed: TestTestbed,
  recommended: Readonly<Record<string, object>>,
): Promise<Autoscaler> {
  const server = await serveTls((_, text) => {
    const { request } = JSON.parse(text) as { request: { uid: string; object: Pod } };
    const { metadata, spec } = request.object;
    const owner = metadata?.ownerReferences?.find(({ controller }) => controller);
    const resources = owner?.kind === "EtcdMember" ? recommended[owner.name] : undefined;
    const index = spec?.containers.findIndex(({ name }) => name === "etcd") ?? -1;
    const patch = [{ op: "add", path: `/spec/containers/${index}/resources`, value: resources }];
    const response = {
      uid: request.uid,
      allowed: true,
      ...(resources && {
        patchType: "JSONPatch",
        patch: Buffer.from(JSON.stringify(patch)).toString("base64"),
      }),
    };
    return {
      status: 200,
      body: { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response },
    };
  });
  await bed.client.create(WEBHOOKS, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: NAME },
    webhooks: [
      {
        name: "pods.autoscaler.example.com",
        admissionReviewVersions: ["v1"],
        sideEffects: "None",
        failurePolicy: "Ignore",
        clientConfig: { url: `${server.url}/pods`, caBundle: Buffer.from(server.ca).toString("base64") },
        rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
      },
    ],
  } as object);
  return {
    async evict(pod) {
      const metadata = { name: pod, namespace: "default" };
      try {
        await bed.client.create(`${PATHS.pods}/${pod}/eviction`, {
          apiVersion: "policy/v1",
          kind: "Eviction",
          metadata,
        } as object);
        return true;
      } catch (error) {
        if (isCode(error, 429)) return false;
        throw error;
      }
    },
    async close() {
      await bed.client.delete(`${WEBHOOKS}/${NAME}`);
      server.close();
    },
  };
}
