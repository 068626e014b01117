/** The two objects of an admission policy, the policy and its binding, and the CEL that policies share. */
import { GROUP } from "../../../src/api/metadata.ts";
import { metadata, type Manifest } from "./metadata.ts";

export interface Validation {
  readonly expression: string;
  readonly messageExpression?: string;
  /** Where the expression cannot be evaluated, or there is none. */
  readonly message: string;
}

export interface Policy {
  readonly operations: readonly ("CREATE" | "UPDATE")[];
  readonly matchConditions?: readonly NamedExpression[];
  readonly variables?: readonly NamedExpression[];
  readonly validations: readonly Validation[];
  /** Only in namespaces with these labels. */
  readonly namespaceLabels?: Readonly<Record<string, string>>;
}

interface NamedExpression {
  readonly name: string;
  readonly expression: string;
}

/**
 * Policies are cluster-wide. One that is for a single namespace is named after it and bound to it, so that whoever
 * removes an installation takes no protection away from another. `aspect` tells several policies of one kind apart.
 */
export function policy(
  plural: string,
  onlyIn: string | undefined,
  content: Policy,
  aspect?: string,
): Manifest[] {
  const { operations, matchConditions, variables, validations, namespaceLabels } = content;
  const own = aspect === undefined ? plural : `${plural}-${aspect}`;
  const name = `${onlyIn === undefined ? "" : `${onlyIn}.`}${own}.${GROUP}`;
  const rule = { apiGroups: [GROUP], apiVersions: ["*"], operations, resources: [plural] };
  const matchLabels = {
    ...(onlyIn !== undefined && { "kubernetes.io/metadata.name": onlyIn }),
    ...namespaceLabels,
  };
  return [
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: metadata(name),
      spec: {
        failurePolicy: "Fail",
        matchConstraints: { resourceRules: [rule] },
        ...(matchConditions && { matchConditions }),
        ...(variables && { variables }),
        validations: validations.map((one) => ({ ...one, reason: "Forbidden" })),
      },
    },
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: metadata(name),
      spec: {
        policyName: name,
        validationActions: ["Deny"],
        ...(Object.keys(matchLabels).length > 0 && {
          matchResources: { namespaceSelector: { matchLabels } },
        }),
      },
    },
  ];
}

/** A CEL expression: whether whoever asks has this verb on this kind, in the namespace of the request. */
export function mayDo(group: string, plural: string, verb: string, name?: string): string {
  const one = name === undefined ? "" : `.name(${name})`;
  return `authorizer.group('${group}').resource('${plural}').namespace(request.namespace)${one}.check('${verb}').allowed()`;
}

/** A field of an object as an optional value of CEL: `object.spec.?pod.?env` for `pod.env`. */
export function optional(path: string, of: "object" | "oldObject" = "object"): string {
  return `${of}.spec.?${path.split(".").join(".?")}`;
}

/** The field is as it was before this request. What nobody changes is nobody's wish: a scale passes. */
export function unchanged(...paths: readonly string[]): string {
  const same = paths.map((path) => `${optional(path)} == ${optional(path, "oldObject")}`);
  return `(request.operation == 'UPDATE' && ${same.join(" && ")})`;
}
