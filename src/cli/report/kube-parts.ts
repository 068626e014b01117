/** What a report holds of Kubernetes: objects of the cluster, logs of its members and of the operator. Never Secrets. */
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import { errorFromFailure, errorFromResponse, isReason } from "../../kube/errors.ts";
import { pods, services, type Resource } from "../../kube/resources.ts";
import type { Scope } from "../../kube/scope.ts";
import { ETCD_CONTAINER, LABELS } from "../../operator/names.ts";
import { budgets, claims } from "../../operator/resources.ts";
import type { CliIo } from "../io.ts";
import type { KubeTarget } from "../target/kube.ts";
import type { ClusterObject } from "../target/target.ts";
import type { Part } from "./parts.ts";

/** As config/install.yaml has it; another one is found where the caller may look into all namespaces. */
const OPERATOR_NAMESPACE = "quorate-system";
const OPERATOR_LABELS = { "app.kubernetes.io/name": "quorate" };

export async function kubeParts(
  target: KubeTarget,
  cluster: ClusterObject,
  tailLines: number,
  io: CliIo,
): Promise<readonly Part[]> {
  const { name, namespace = "default" } = cluster.metadata;
  const { client, transport } = target;
  const { signal } = io;
  const scope: Scope = { namespace, labels: { [LABELS.cluster]: name } };
  const listed = (path: string, resource: Resource): Part => ({
    path,
    read: async () => ({ items: (await client.list(resource, scope, { signal })).items }),
  });
  const log = (path: string, pod: Pod, container: string, previous: boolean): Part => ({
    path,
    read: async () => {
      const at = `/api/v1/namespaces/${pod.metadata?.namespace}/pods/${pod.metadata?.name}/log`;
      const query = { container, tailLines: String(tailLines), ...(previous && { previous: "true" }) };
      const response = await transport
        .request({ method: "GET", path: at, query, accept: "*/*" }, { signal })
        .catch((error: unknown) => {
          throw errorFromFailure(`GET ${at}`, error);
        });
      if (response.status >= 400) throw errorFromResponse(`GET ${at}`, response);
      return typeof response.body === "string" ? response.body : JSON.stringify(response.body);
    },
  });
  const members = await found(async () => (await client.list(pods, scope, { signal })).items);
  const operators = await found(() => operatorPods(target, io));
  return [
    { path: "kubernetes.yaml", read: async () => await serverVersion(target, io) },
    listed("pods.yaml", pods),
    listed("claims.yaml", claims),
    listed("services.yaml", services),
    listed("budgets.yaml", budgets),
    ...members.flatMap((pod) => [
      log(`logs/${pod.metadata?.name}.log`, pod, ETCD_CONTAINER, false),
      ...(restarted(pod) ? [log(`logs/${pod.metadata?.name}-previous.log`, pod, ETCD_CONTAINER, true)] : []),
    ]),
    ...(operators.length === 0 ? [noOperator()] : []),
    ...operators.map((pod) =>
      log(`operator/${pod.metadata?.name}.log`, pod, pod.spec?.containers[0]?.name ?? "", false),
    ),
  ];
}

/** A list that is denied shows in the part of its own; here there is just nothing to read logs of. */
async function found(list: () => Promise<readonly Pod[]>): Promise<readonly Pod[]> {
  try {
    return await list();
  } catch (error) {
    if (isReason(error, "Forbidden", "NotFound")) return [];
    throw error;
  }
}

async function operatorPods({ client }: KubeTarget, { signal }: CliIo): Promise<readonly Pod[]> {
  const within = async (scope: Scope) =>
    (await client.list(pods, { ...scope, labels: OPERATOR_LABELS }, { signal })).items;
  try {
    return await within({});
  } catch (error) {
    if (!isReason(error, "Forbidden")) throw error;
    return await within({ namespace: OPERATOR_NAMESPACE });
  }
}

function noOperator(): Part {
  return {
    path: "operator.log",
    read: () =>
      Promise.reject(
        new Error(`no Pod of the operator was found, or you may not list Pods in ${OPERATOR_NAMESPACE}`),
      ),
  };
}

async function serverVersion({ transport }: KubeTarget, { signal }: CliIo): Promise<object> {
  const response = await transport.request({ method: "GET", path: "/version" }, { signal });
  if (response.status >= 400) throw errorFromResponse("GET /version", response);
  return response.body as object;
}

function restarted({ status }: Pod): boolean {
  return (status?.containerStatuses ?? []).some(
    ({ name, restartCount }) => name === ETCD_CONTAINER && restartCount > 0,
  );
}
