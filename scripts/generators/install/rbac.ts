/** Who the operator is and what it may do: just what src/operator/process/permissions.ts lists. */
import {
  CLUSTER_WIDE,
  LEASE,
  NAMESPACED,
  REVIEWS,
  verbsOf,
  type Permission,
} from "../../../src/operator/process/permissions.ts";
import type { UserVerb } from "../../../src/operator/kinds.ts";
import { metadata, OPERATOR, type Manifest } from "./metadata.ts";

export const RBAC = "rbac.authorization.k8s.io";

export function serviceAccount(namespace: string): Manifest {
  return { apiVersion: "v1", kind: "ServiceAccount", metadata: metadata(OPERATOR, namespace) };
}

/** For all namespaces. */
export function clusterRole(): Manifest[] {
  return [
    {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRole",
      metadata: metadata(OPERATOR),
      rules: rules([...NAMESPACED, ...CLUSTER_WIDE]),
    },
  ];
}

export function clusterRoleBinding(namespace: string): Manifest {
  return binding("ClusterRoleBinding", "ClusterRole", OPERATOR, namespace);
}

/** For the operator's own namespace only. */
export function namespaceRole(namespace: string): Manifest[] {
  return [
    {
      apiVersion: `${RBAC}/v1`,
      kind: "Role",
      metadata: metadata(OPERATOR, namespace),
      rules: rules([...NAMESPACED, ...LEASE]),
    },
    binding("RoleBinding", "Role", OPERATOR, namespace),
  ];
}

/** For chosen namespaces: one role for all of them, and in each a binding that makes it count there. */
export const CHOSEN_ROLE = `${OPERATOR}-namespaced`;

export function chosenRole(): Manifest {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRole",
    metadata: metadata(CHOSEN_ROLE),
    rules: rules(NAMESPACED),
  };
}

/** Of the account in `operatorsNamespace`. */
export function chosenBinding(namespace: string, operatorsNamespace: string): Manifest {
  return {
    ...binding("RoleBinding", "ClusterRole", CHOSEN_ROLE, operatorsNamespace),
    metadata: metadata(CHOSEN_ROLE, namespace),
  };
}

export function leaseRole(namespace: string): Manifest[] {
  const name = `${OPERATOR}-lease`;
  return [
    { apiVersion: `${RBAC}/v1`, kind: "Role", metadata: metadata(name, namespace), rules: rules(LEASE) },
    binding("RoleBinding", "Role", name, namespace),
  ];
}

/** For --metrics-secure: that the operator may ask who may read metrics, and a role for those who do. */
export function metricsRoles(namespace: string): Manifest[] {
  const asking = `${OPERATOR}-metrics-auth`;
  const wide = (name: string, content: object): Manifest => ({
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRole",
    metadata: metadata(name),
    ...content,
  });
  return [
    wide(asking, { rules: rules(REVIEWS) }),
    binding("ClusterRoleBinding", "ClusterRole", asking, namespace),
    wide(`${OPERATOR}-metrics-reader`, { rules: [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }] }),
  ];
}

function binding(kind: string, roleKind: string, name: string, namespace: string): Manifest {
  return {
    apiVersion: `${RBAC}/v1`,
    kind,
    metadata: metadata(name, kind === "RoleBinding" ? namespace : undefined),
    roleRef: { apiGroup: RBAC, kind: roleKind, name },
    subjects: [{ kind: "ServiceAccount", name: OPERATOR, namespace }],
  };
}

const VERBS: readonly UserVerb[] = [
  ...(["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"] as const),
  ...(["record", "destroy"] as const),
];

function rules(permissions: readonly Permission[]) {
  return rulesOf(permissions.map((one) => ({ ...one, verbs: verbsOf(one) })));
}

/** Of each group, resources with the same verbs share a rule. */
export function rulesOf(
  rights: readonly {
    readonly group: string;
    readonly resource: string;
    readonly verbs: readonly UserVerb[];
  }[],
) {
  const merged = new Map<string, { group: string; resources: string[]; verbs: readonly UserVerb[] }>();
  for (const { group, resource, verbs: given } of rights) {
    const verbs = VERBS.filter((verb) => given.includes(verb));
    const key = `${group} ${verbs.join(",")}`;
    const rule = merged.get(key) ?? { group, resources: [], verbs };
    rule.resources.push(resource);
    merged.set(key, rule);
  }
  return [...merged.values()].map(({ group, resources, verbs }) => ({
    apiGroups: [group],
    resources,
    verbs,
  }));
}
