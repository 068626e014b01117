/**
 * The admission policies for tenants: by what the operator makes of our resources nobody gains what they may not do in
 * that namespace themselves. What decides about Pods asks for the right to create Pods, what names a Secret for the
 * right to get it, and so on. The operator has these rights itself, for the snapshots that it creates by a schedule.
 */
import { IMAGE_REPOSITORY } from "../../../src/api/etcd-cluster-spec.ts";
import { etcdClusters, resources, type Resource } from "../../../src/api/resources.ts";
import { certificates } from "../../../src/operator/cert-manager.ts";
import type { Manifest } from "./metadata.ts";
import { mayDo, optional, policy, unchanged, type Validation } from "./policy-objects.ts";
import { referencesOf, type Reference } from "./references.ts";

export const TENANTS = "tenants";

/** A CEL list; the chart puts the site's own repositories into it. */
export const ALLOWED_REPOSITORIES = `['${IMAGE_REPOSITORY}']`;

/** What somebody has to be allowed themselves. */
interface Right {
  /** A variable of the policy; each is asked at most once, and only where it matters. */
  readonly variable: string;
  readonly expression: string;
  readonly words: string;
}

const PODS: Right = { variable: "pods", expression: mayDo("", "pods", "create"), words: "create Pods" };
const SECRETS: Right = {
  variable: "secrets",
  expression: `variables.pods || ${mayDo("", "secrets", "get")}`,
  words: "get Secrets or create Pods",
};
const SERVICES: Right = {
  variable: "services",
  expression: mayDo("", "services", "create"),
  words: "create Services",
};
const CERTIFICATES: Right = {
  variable: "certificates",
  expression: mayDo(certificates.group, certificates.plural, "create"),
  words: `create ${certificates.plural}.${certificates.group}`,
};
const RIGHTS = [PODS, SECRETS, SERVICES, CERTIFICATES];

/** A field that takes a right of its own. */
interface Guard {
  /** As a person reads it, below spec. */
  readonly field: string;
  /** CEL: it is used at all. */
  readonly given: string;
  /** CEL: as it was before. */
  readonly same: string;
  readonly right: Right;
  readonly why: string;
}

const RUNS = "it decides what the Pods of the members run or may do";
const JOINS = "other workloads may select Pods by it or act on it";
const OUTSIDE = "it decides how the Service is reached from outside";

const isSet = (path: string) => `${optional(path)}.hasValue()`;
const hasItems = (path: string) => `${optional(path)}.orValue([]).size() > 0`;
const hasKeys = (path: string) => `${optional(path)}.orValue({}).size() > 0`;

/** Fields of an EtcdCluster beside those that name something. */
const OF_CLUSTERS: readonly Guard[] = [
  guard("pod.sidecars", hasItems("pod.sidecars"), PODS, RUNS),
  {
    field: "pod.env",
    given: `${fromElsewhere("object")}.size() > 0`,
    same: `(request.operation == 'UPDATE' && ${fromElsewhere("object")} == ${fromElsewhere("oldObject")})`,
    right: PODS,
    why: "it takes variables from Secrets or ConfigMaps",
  },
  guard("pod.securityContext", weakContext(), PODS, "it is weaker than the default"),
  guard("pod.priorityClassName", isSet("pod.priorityClassName"), PODS, RUNS),
  guard("pod.labels", hasKeys("pod.labels"), PODS, JOINS),
  guard("pod.annotations", hasKeys("pod.annotations"), PODS, JOINS),
  guard("metadata.labels", hasKeys("metadata.labels"), PODS, JOINS),
  guard("metadata.annotations", hasKeys("metadata.annotations"), PODS, JOINS),
  guard(
    "image.repository",
    `${isSet("image.repository")} && !(object.spec.image.repository in ${ALLOWED_REPOSITORIES})`,
    PODS,
    RUNS,
  ),
  {
    ...guard("storage.medium", `${optional("storage.medium")}.orValue('') == 'HostPath'`, PODS, ""),
    same: unchanged("storage.medium", "storage.hostPath"),
    why: "members with medium HostPath run as root on a directory of their node",
  },
  guard("image.pullSecrets", hasItems("image.pullSecrets"), SECRETS, "it names Secrets"),
  // Open to the outside, everything about it counts: without its source ranges or annotations it is open to more.
  guard(
    "service",
    `${isOutside("object")} || (request.operation == 'UPDATE' && ${isOutside("oldObject")})`,
    SERVICES,
    OUTSIDE,
  ),
  guard("service.annotations", hasKeys("service.annotations"), SERVICES, OUTSIDE),
  guard("service.labels", hasKeys("service.labels"), SERVICES, JOINS),
  ...["client", "peer"].map((plane) => ({
    ...guard(`tls.${plane}.certManager`, isSet(`tls.${plane}.certManager`), CERTIFICATES, ""),
    // The names in the certificates are chosen there.
    same: unchanged(`tls.${plane}.certManager`, "tls.extraSANs"),
    why: "the operator requests certificates from this issuer",
  })),
];

function isOutside(of: "object" | "oldObject"): string {
  return `${optional("service.type", of)}.orValue('ClusterIP') != 'ClusterIP'`;
}

function guard(field: string, given: string, right: Right, why: string): Guard {
  return { field, given, same: unchanged(field), right, why };
}

function fromElsewhere(of: "object" | "oldObject"): string {
  return `${optional("pod.env", of)}.orValue([]).filter(one, has(one.valueFrom) && (has(one.valueFrom.secretKeyRef) || has(one.valueFrom.configMapKeyRef)))`;
}

/** What is given replaces the default as a whole; as much of the level restricted as it decides. */
function weakContext(): string {
  const at = (field: string) => optional(`pod.securityContext.${field}`);
  const strong = [
    `${at("runAsNonRoot")}.orValue(false)`,
    `${at("seccompProfile.type")}.orValue('') == 'RuntimeDefault'`,
    `!${at("seLinuxOptions")}.hasValue()`,
    `${at("sysctls")}.orValue([]).size() == 0`,
  ].join(" && ");
  return `${isSet("pod.securityContext")} && !(${strong})`;
}

/** All policies for tenants: one for each kind that has fields to guard. */
export function tenantPolicies(onlyIn?: string): Manifest[] {
  return resources
    .filter(({ kind }) => kind !== "EtcdMember")
    .flatMap((resource) => tenantPolicy(resource, onlyIn));
}

function tenantPolicy(resource: Resource, onlyIn: string | undefined): Manifest[] {
  const validations = [
    ...(resource === etcdClusters ? OF_CLUSTERS : []).map(validationOf),
    ...referencesOf(resource).flatMap((reference) => [
      validationOfReference(reference),
      ...validationsWithout(reference),
    ]),
  ];
  if (validations.length === 0) return [];
  const used = RIGHTS.filter(({ variable }) =>
    // The right to create Pods is part of others.
    validations.some(({ expression }) => variable === "pods" || expression.includes(`variables.${variable}`)),
  );
  return policy(
    resource.plural,
    onlyIn,
    {
      operations: ["CREATE", "UPDATE"],
      variables: used.map(({ variable: name, expression }) => ({ name, expression })),
      validations,
    },
    TENANTS,
  );
}

function validationOf({ field, given, same, right, why }: Guard): Validation {
  return {
    expression: `!(${given}) || ${same} || variables.${right.variable}`,
    ...messageOf(field, right.words, why),
  };
}

function validationOfReference({ path, to }: Reference): Validation {
  const same = unchanged(usedWith(path));
  if (to === "Secret")
    return {
      expression: `!${isSet(path)} || ${same} || variables.pods || ${mayDo("", "secrets", "get", `object.spec.${path}`)}`,
      ...messageOf(path, "get this Secret or create Pods", "the operator or a Pod of it uses the Secret"),
    };
  const why = to === "ServiceAccount" ? "Pods act as the service account" : "a Pod mounts the volume";
  return { expression: `!${isSet(path)} || ${same} || variables.pods`, ...messageOf(path, PODS.words, why) };
}

const CREDENTIALS = ".credentialsSecret";

/** A store without credentials of its own is opened with those of the Pod, which its author may not have. */
function validationsWithout({ path }: Reference): Validation[] {
  if (!path.endsWith(CREDENTIALS)) return [];
  const store = path.slice(0, -CREDENTIALS.length);
  const given = `${isSet(store)} && !${isSet(path)}`;
  const why =
    "without credentialsSecret a Pod opens the store with the identity of its service account or node";
  return [validationOf({ field: store, given, same: unchanged(usedWith(path)), right: PODS, why })];
}

/** Credentials of a store are shown to its endpoint: whoever changes the store uses them. */
function usedWith(path: string): string {
  const parts = path.split(".");
  const store = parts.findIndex((part) => part === "destination" || part === "source");
  return store === -1 ? path : parts.slice(0, store + 1).join(".");
}

/** Without the authorizer, which messages cannot ask: what is needed, not what is missing. */
function messageOf(
  field: string,
  words: string,
  why: string,
): Pick<Validation, "message" | "messageExpression"> {
  const needs = `spec.${field} needs the right to ${words} in`;
  return {
    message: `${needs} this namespace, because ${why}`,
    messageExpression: `'${needs} namespace ' + request.namespace + ', because ${why}; ' + request.userInfo.username + ' does not have it. Leave the field as it was, or ask an administrator of the namespace.'`,
  };
}
