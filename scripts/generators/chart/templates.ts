/**
 * The templates of the chart, each from objects of config/install.yaml or config/install-namespaced.yaml: what is not
 * a value there is in the chart as it is in them.
 */
import { SECURE, SECURE_LABEL, SECURE_VALUE } from "../install/policy-secure.ts";
import { ALLOWED_REPOSITORIES, TENANTS } from "../install/policy-tenants.ts";
import { NAMESPACE, ONE_NAMESPACE, OPERATOR, type Manifest } from "../install/metadata.ts";
import { chosenBinding, chosenRole } from "../install/rbac.ts";
import { Holes } from "./holes.ts";

const NAME = 'include "quorate.name" $';
/** One ClusterRole, bound in each namespace, in place of a Role in each. */
const BOUND = "$.Values.rbac.clusterRole";
const RBAC_WIDE = "and .Values.rbac.create (not .Values.watch.namespaces)";

type Fields = Record<string, unknown>;
interface Shape extends Manifest {
  readonly metadata: { name: string; namespace?: string; labels?: Fields; annotations?: Fields };
}

/** Objects that belong together, and while what they are there. */
interface Part {
  readonly file: string;
  readonly when: string;
  readonly isFor: (object: Manifest) => boolean;
  /** What else becomes a hole. */
  readonly change?: (object: Shape, holes: Holes) => object;
}

const kind =
  (...kinds: string[]) =>
  (object: Manifest) =>
    kinds.includes(object.kind);
const isOperators = ({ metadata: { name } }: Manifest) => name === OPERATOR || name === `${OPERATOR}-lease`;

const isPolicy = kind("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding");
const isPolicyFor = (aspect: string) => (object: Manifest) =>
  isPolicy(object) && object.metadata.name.includes(`-${aspect}.`);

/** Policies that can be switched on their own; those for all namespaces, or those for each of some. */
function switchedPolicies(prefix: "" | "namespaced-", when: string): Part[] {
  const values = "$.Values.admissionPolicies";
  return [
    {
      file: `${prefix}tenant-policies`,
      when: `and ${when} (ne ${values}.tenants "Disabled")`,
      isFor: isPolicyFor(TENANTS),
      change: (object, holes) =>
        "policyName" in (object["spec"] as Fields)
          ? withSpec(object, { validationActions: [holes.hole(`${values}.tenants`)] })
          : object,
    },
    {
      file: `${prefix}secure-policy`,
      when: `and ${when} (ne ${values}.secureDefaults "Disabled")`,
      isFor: isPolicyFor(SECURE),
      change: (object, holes) =>
        "policyName" in (object["spec"] as Fields)
          ? withSpec(object, {
              matchResources: holes.block((indent) => secureSelector(indent, prefix !== "")),
            })
          : object,
    },
    { file: `${prefix}admission-policies`, when: `and ${when}`, isFor: isPolicy },
  ];
}

function withSpec(object: Shape, fields: Fields): object {
  return { ...object, spec: { ...(object["spec"] as Fields), ...fields } };
}

/** By the label of the namespace, unless it is for all of them. */
function secureSelector(indent: number, perNamespace: boolean): string {
  const at = " ".repeat(indent);
  const labelled = `{{- if eq $.Values.admissionPolicies.secureDefaults "Labelled" }}`;
  const head = `${at}matchResources:\n${at}  namespaceSelector:\n${at}    matchLabels:`;
  const own = `${at}      kubernetes.io/metadata.name: {{ $namespace }}`;
  const label = `${at}      ${SECURE_LABEL}: ${SECURE_VALUE}`;
  return perNamespace
    ? `${head}\n${own}\n${at}${labelled}\n${label}\n${at}{{- end }}`
    : `${at}${labelled}\n${head}\n${label}\n${at}{{- end }}`;
}

/** Of config/install.yaml; the first part that an object is for takes it. */
const PARTS: readonly Part[] = [
  {
    file: "service-account",
    when: ".Values.serviceAccount.create",
    isFor: kind("ServiceAccount"),
    change: (object, holes) => ({
      ...object,
      metadata: {
        ...object.metadata,
        name: holes.hole('include "quorate.serviceAccountName" $'),
        annotations: holes.field("annotations", ".Values.serviceAccount.annotations", { optional: true }),
      },
    }),
  },
  {
    file: "cluster-role",
    when: RBAC_WIDE,
    isFor: (object) => kind("ClusterRole", "ClusterRoleBinding")(object) && isOperators(object),
  },
  {
    file: "lease-role",
    when: ".Values.rbac.create",
    isFor: (object) => kind("Role", "RoleBinding")(object) && isOperators(object),
  },
  {
    file: "user-roles",
    when: `and .Values.rbac.userRoles (or (not .Values.watch.namespaces) ${BOUND})`,
    isFor: kind("ClusterRole"),
  },
  {
    file: "priority-class",
    when: ".Values.priorityClass.create",
    isFor: kind("PriorityClass"),
    change: (object, holes) => ({ ...object, value: holes.hole("int .Values.priorityClass.value") }),
  },
  { file: "deployment", when: "true", isFor: kind("Deployment"), change: deployment },
  { file: "disruption-budget", when: ".Values.disruptionBudget.enabled", isFor: kind("PodDisruptionBudget") },
  {
    file: "metrics-service",
    when: ".Values.metricsService.enabled",
    isFor: kind("Service"),
    change: (object, holes) => ({
      ...object,
      metadata: {
        ...object.metadata,
        annotations: holes.field("annotations", ".Values.metricsService.annotations", { optional: true }),
      },
    }),
  },
  ...switchedPolicies("", "$.Values.admissionPolicies.enabled (not $.Values.watch.namespaces)"),
];

/** Of config/install-namespaced.yaml: once for each namespace that the operator manages. */
const NAMESPACED_PARTS: readonly Part[] = [
  {
    file: "namespaced-roles",
    when: `and $.Values.rbac.create (not ${BOUND})`,
    isFor: (object) => kind("Role", "RoleBinding")(object) && isOperators(object),
    // The lease is in the operator's own namespace, by another Role.
    change: (object) => ({
      ...object,
      ...(Array.isArray(object["rules"]) && { rules: object["rules"].filter((rule) => !isForLeases(rule)) }),
    }),
  },
  {
    file: "namespaced-user-roles",
    when: `and $.Values.rbac.userRoles (not ${BOUND})`,
    isFor: kind("Role"),
  },
  ...switchedPolicies("namespaced-", "$.Values.admissionPolicies.enabled"),
];

function isForLeases(rule: { apiGroups?: string[] }): boolean {
  return rule.apiGroups?.includes("coordination.k8s.io") ?? false;
}

/** File in templates/ → content. */
export function templates(
  wide: readonly Manifest[],
  namespaced: readonly Manifest[],
  metrics: readonly Manifest[],
): Map<string, string> {
  const files = new Map<string, string>();
  // Helm makes the Namespace, and definitions.yaml reads config/crd.
  const untaken = new Set(wide.filter((object) => !kind("Namespace", "CustomResourceDefinition")(object)));
  for (const part of PARTS) {
    const objects = [...untaken].filter(part.isFor);
    for (const object of objects) untaken.delete(object);
    if (objects.length > 0) files.set(`${part.file}.yaml`, conditional(part, objects));
  }
  const [left] = untaken;
  if (left) throw new Error(`no part of the chart takes ${left.kind} ${left.metadata.name}: add it to PARTS`);
  const rest = new Set(namespaced);
  for (const part of NAMESPACED_PARTS) {
    const objects = [...rest].filter(part.isFor);
    for (const object of objects) rest.delete(object);
    if (objects.length > 0) files.set(`${part.file}.yaml`, perNamespace(part, objects));
  }
  const bound = `and .Values.rbac.create .Values.watch.namespaces ${BOUND}`;
  const chosenPart = { file: "chosen-role", when: bound, isFor: () => true };
  files.set("chosen-role.yaml", conditional(chosenPart, [chosenRole()]));
  const bindings = { ...chosenPart, when: `and $.Values.rbac.create ${BOUND}` };
  files.set("chosen-bindings.yaml", perNamespace(bindings, [chosenBinding(ONE_NAMESPACE, NAMESPACE)]));
  const secure = "and .Values.rbac.create .Values.metrics.secure";
  const metricsPart = { file: "metrics-roles", when: secure, isFor: () => true };
  files.set("metrics-roles.yaml", conditional(metricsPart, metrics));
  files.set("cluster-reads.yaml", clusterReads(wide, namespaced));
  return files;
}

function conditional(part: Part, objects: readonly Manifest[]): string {
  const text = objects.map((object) => templated(object, part)).join("---\n");
  return part.when === "true" ? text : `{{- if ${part.when} }}\n${text}{{- end }}\n`;
}

function perNamespace(part: Part, objects: readonly Manifest[]): string {
  const text = objects.map((object) => `---\n${templated(object, part)}`).join("");
  return `{{- if ${part.when} }}\n{{- range $namespace := .Values.watch.namespaces }}\n${text}{{- end }}\n{{- end }}\n`;
}

function templated(object: Manifest, part: Part): string {
  const holes = new Holes();
  const named = general(structuredClone(object), holes, []) as Shape;
  return holes.text(part.change?.(named, holes) ?? named);
}

/** Names and namespaces, wherever they are. */
function general(value: unknown, holes: Holes, path: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((one, index) => general(one, holes, [...path, String(index)]));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, general(one, holes, [...path, key])]),
    );
  return typeof value === "string" ? generalText(value, holes, path) : value;
}

function generalText(value: string, holes: Holes, path: readonly string[]): string {
  const key = path.at(-1) ?? "";
  if (path[0] === "subjects" && key === "namespace") return holes.hole("$.Release.Namespace");
  if (path[0] === "subjects" && key === "name") return holes.hole('include "quorate.serviceAccountName" $');
  if (value === NAMESPACE) return holes.hole("$.Release.Namespace");
  if (value === ONE_NAMESPACE && (key === "namespace" || key === "kubernetes.io/metadata.name"))
    return holes.hole("$namespace");
  if (
    value.startsWith(`${ONE_NAMESPACE}.`) &&
    (key === "name" || key === "policyName") &&
    isPolicyName(value)
  )
    return holes.hole("$namespace") + value.slice(ONE_NAMESPACE.length);
  if (value.includes(ALLOWED_REPOSITORIES))
    return value.replace(ALLOWED_REPOSITORIES, holes.hole('include "quorate.imageRepositories" $'));
  if (value === OPERATOR || value.startsWith(`${OPERATOR}-`))
    return holes.hole(NAME) + value.slice(OPERATOR.length);
  return value;
}

/** `etcd.etcdmembers.etcd.quorate.dev`: the namespace, then the name of the policy for all namespaces. */
function isPolicyName(value: string): boolean {
  return value.split(".").length > 4;
}

function deployment(object: Shape, holes: Holes): object {
  const spec = structuredClone(object["spec"]) as {
    replicas: unknown;
    template: { metadata: { labels: Fields; annotations: Fields }; spec: Fields };
  };
  spec.replicas = holes.hole("int .Values.replicas");
  const { metadata, spec: pod } = spec.template;
  metadata.labels["more"] = holes.more(".Values.podLabels");
  metadata.annotations["scheme"] = holes.block((indent) => {
    const at = " ".repeat(indent);
    return `${at}{{- if .Values.metrics.secure }}\n${at}prometheus.io/scheme: https\n${at}{{- end }}`;
  });
  metadata.annotations["more"] = holes.more(".Values.podAnnotations");
  const [container = {}] = pod["containers"] as Fields[];
  const { env = [] } = container as { env?: unknown[] };
  const priority = holes.block((indent) => {
    const at = " ".repeat(indent);
    return `${at}{{- with include "quorate.priorityClassName" $ }}\n${at}priorityClassName: {{ . }}\n${at}{{- end }}`;
  });
  const args = holes.block((indent) => {
    const at = " ".repeat(indent);
    return `${at}args:\n${at}  {{- include "quorate.args" $ | nindent ${indent + 2} }}`;
  });
  const optional = { optional: true };
  spec.template.spec = {
    ...pod,
    serviceAccountName: holes.hole('include "quorate.serviceAccountName" $'),
    priorityClassName: priority,
    imagePullSecrets: holes.field("imagePullSecrets", ".Values.image.pullSecrets", optional),
    securityContext: holes.field("securityContext", ".Values.podSecurityContext"),
    nodeSelector: holes.field("nodeSelector", ".Values.nodeSelector", optional),
    affinity: holes.field("affinity", ".Values.affinity", optional),
    tolerations: holes.field("tolerations", ".Values.tolerations", optional),
    containers: [
      {
        ...container,
        image: holes.hole('include "quorate.image" $'),
        imagePullPolicy: holes.hole(".Values.image.pullPolicy"),
        args,
        env: [...env.map((one) => ownImage(one, holes)), holes.more(".Values.extraEnv")],
        resources: holes.field("resources", ".Values.resources"),
        volumeMounts: holes.field(
          "volumeMounts",
          'include "quorate.volumeMounts" $ | fromYamlArray',
          optional,
        ),
      },
    ],
    volumes: holes.field("volumes", 'include "quorate.volumes" $ | fromYamlArray', optional),
  };
  return { ...object, spec };
}

/** Jobs run the image of the operator, whichever that is. */
function ownImage(variable: unknown, holes: Holes): unknown {
  const { name } = variable as { name: string };
  return name === "QUORATE_IMAGE" ? { name, value: holes.hole('include "quorate.image" $') } : variable;
}

/** What the operator for all namespaces may read and the one for one namespace may not. */
function clusterReads(wide: readonly Manifest[], namespaced: readonly Manifest[]): string {
  type Rule = { apiGroups: string[]; resources: string[]; verbs: string[] };
  const rulesOf = (objects: readonly Manifest[], of: string) =>
    (objects.find((object) => object.kind === of && object.metadata.name === OPERATOR)?.["rules"] ??
      []) as Rule[];
  const known = rulesOf(namespaced, "Role").flatMap(({ apiGroups, resources }) =>
    resources.map((resource) => `${apiGroups[0]}/${resource}`),
  );
  const rules = rulesOf(wide, "ClusterRole").filter(
    ({ apiGroups, resources, verbs }) =>
      !verbs.includes("patch") &&
      resources.every((resource) => !known.includes(`${apiGroups[0]}/${resource}`)),
  );
  const suffixed = (of: string): Manifest => {
    const object = structuredClone(wide.find((one) => one.kind === of && one.metadata.name === OPERATOR));
    if (!object) throw new Error(`config/install.yaml has no ${of} ${OPERATOR}`);
    const name = `${OPERATOR}-reads`;
    const roleRef = object["roleRef"] as object | undefined;
    return {
      ...object,
      metadata: { ...object.metadata, name },
      ...(roleRef ? { roleRef: { ...roleRef, name } } : { rules }),
    };
  };
  const when = "and .Values.rbac.create .Values.rbac.clusterReads .Values.watch.namespaces";
  return conditional({ file: "cluster-reads", when, isFor: () => true }, [
    suffixed("ClusterRole"),
    suffixed("ClusterRoleBinding"),
  ]);
}
