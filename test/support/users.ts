/** People on an API server: service accounts with roles in one namespace, and what the server says to them. */
import { Client } from "../../testbed/client.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";

const RBAC = "rbac.authorization.k8s.io";

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** A service account of this namespace, bound there to a ClusterRole, and to a Role with more rules. */
export async function userWith(
  bed: Pick<TestTestbed, "client" | "access">,
  name: string,
  role: string,
  { namespace = "default", rules }: { namespace?: string; rules?: readonly Rule[] } = {},
): Promise<Client> {
  const base = `/apis/${RBAC}/v1/namespaces/${namespace}`;
  const bind = (binding: string, kind: string, roleName: string) =>
    bed.client.create(`${base}/rolebindings`, {
      metadata: { name: binding },
      roleRef: { apiGroup: RBAC, kind, name: roleName },
      subjects: [{ kind: "ServiceAccount", name, namespace }],
    } as object);
  await bed.client.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
  await bind(name, "ClusterRole", role);
  if (rules) {
    await bed.client.create(`${base}/roles`, { metadata: { name }, rules } as object);
    await bind(`${name}-more`, "Role", name);
  }
  const { status } = await bed.client.create<{ status?: { token: string } }>(
    `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
    { spec: { expirationSeconds: 3600 } } as object,
  );
  const { cert: _, key: __, ...access } = bed.access;
  return new Client({ ...access, token: status?.token ?? "" });
}

/** What the server says against it; empty when it accepts. */
export async function refusal(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}
