/**
 * Roles for people who use our kinds, from the table of kinds. For all namespaces they join the roles that Kubernetes
 * has for users: who may view, edit or administer a namespace may do the same with the clusters in it.
 */
import { resources } from "../../../src/api/resources.ts";
import { entriesOf, NAMESPACED_KINDS, type UserVerb } from "../../../src/operator/kinds.ts";
import { LABELS, metadata, OPERATOR, type Manifest } from "./metadata.ts";
import { RBAC, rulesOf } from "./rbac.ts";

const LEVELS = ["view", "edit", "admin"] as const;
type Level = (typeof LEVELS)[number];

const VIEW: readonly UserVerb[] = ["get", "list", "watch"];

/** Each level has all of the ones before it. With a namespace: Roles there, to be bound to its users. */
export function userRoles(namespace?: string): Manifest[] {
  return LEVELS.map((level) => ({
    apiVersion: `${RBAC}/v1`,
    kind: namespace === undefined ? "ClusterRole" : "Role",
    metadata: metadata(`${OPERATOR}-${level}`, namespace, {
      ...LABELS,
      ...(namespace === undefined && { [`${RBAC}/aggregate-to-${level}`]: "true" }),
    }),
    rules: rulesOf(rightsOf(level)),
  }));
}

function rightsOf(level: Level) {
  const above = (other: Level) => LEVELS.indexOf(level) >= LEVELS.indexOf(other);
  return entriesOf(NAMESPACED_KINDS).flatMap(([, { resource, users }]) => {
    if (!users) return [];
    const { group, plural } = resource;
    const verbs = [
      ...VIEW,
      ...(above("edit") ? users.edit : []),
      ...(above("admin") ? (users.admin ?? []) : []),
    ];
    const scaled = resources.some((one) => one.plural === plural && one.scale !== undefined);
    const changes: readonly UserVerb[] = above("edit") ? ["update", "patch"] : [];
    return [
      { group, resource: plural, verbs },
      { group, resource: `${plural}/status`, verbs: ["get" as const] },
      ...(scaled ? [{ group, resource: `${plural}/scale`, verbs: ["get" as const, ...changes] }] : []),
    ];
  });
}
