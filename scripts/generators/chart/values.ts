/**
 * The values of the Helm chart: name, default, schema and comment of each, from which values.yaml and
 * values.schema.json are written. What the plain manifests have a value for takes its default from them.
 */
import { stringify } from "yaml";
import { IMAGE_REPOSITORY } from "../install/deployment.ts";
import { OPERATOR } from "../install/metadata.ts";

export interface Value {
  readonly comment: string;
  readonly schema: object;
  readonly default: unknown;
}

export interface Group {
  readonly comment: string;
  readonly values: Readonly<Record<string, Value | Group>>;
}

/** What the Deployment of the plain manifests says. */
export interface Defaults {
  readonly replicas: unknown;
  readonly resources: unknown;
  readonly tolerations: unknown;
  readonly podSecurityContext: unknown;
  readonly priority: unknown;
}

const NAMESPACE = { type: "string", pattern: "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$" };
const NAMESPACES = { type: "array", items: NAMESPACE, uniqueItems: true };
const FLAG = { type: "boolean" };
const TEXT = { type: "string" };
const STRINGS = { type: "object", additionalProperties: TEXT };
const OBJECT = { type: "object" };
const OBJECTS = { type: "array", items: OBJECT };

export function chartValues(defaults: Defaults): Group {
  const value = (comment: string, schema: object, fallback: unknown): Value => ({
    comment,
    schema,
    default: fallback,
  });
  const group = (comment: string, values: Group["values"]): Group => ({ comment, values });
  return group("", {
    image: group("The operator's image. None is published: build it (docs/install.md) and name it here.", {
      repository: value("Registry and name.", { type: "string", minLength: 1 }, IMAGE_REPOSITORY),
      tag: value(
        "Default: the version of the chart.",
        { type: "string", pattern: "^([\\w][\\w.-]{0,127})?$" },
        "",
      ),
      digest: value(
        'Takes precedence over the tag: "sha256:…".',
        { type: "string", pattern: "^(sha256:[0-9a-f]{64})?$" },
        "",
      ),
      pullPolicy: value(
        "Always, IfNotPresent or Never.",
        { enum: ["Always", "IfNotPresent", "Never"] },
        "IfNotPresent",
      ),
      pullSecrets: value("As in a Pod: a list of {name}.", OBJECTS, []),
    }),
    fullnameOverride: value(
      "The name of the objects. A second installation in the same namespace needs another one.",
      { type: "string", pattern: "^([a-z]([-a-z0-9]{0,40}[a-z0-9])?)?$" },
      OPERATOR,
    ),
    replicas: value(
      "One leads, the others stand by; they are spread over nodes and zones where possible.",
      { type: "integer", minimum: 0, maximum: 9 },
      defaults.replicas,
    ),
    watch: group("Which namespaces the operator manages.", {
      namespaces: value(
        "Empty: all namespaces. Otherwise the operator has rights in these only, by a Role and a RoleBinding in each; they have to exist.",
        NAMESPACES,
        [],
      ),
      excludedNamespaces: value(
        "Namespaces that another installation manages; only while namespaces is empty.",
        NAMESPACES,
        [],
      ),
    }),
    crds: group("The CustomResourceDefinitions. One installation of a Kubernetes cluster brings them.", {
      install: value(
        "Templates, and not Helm's crds directory, which helm upgrade leaves as it was: a new operator needs its new fields.",
        FLAG,
        true,
      ),
      keep: value(
        "helm uninstall leaves them: deleting them deletes every EtcdCluster of every installation.",
        FLAG,
        true,
      ),
    }),
    rbac: group("Roles and their bindings.", {
      create: value("Without them, bind the rights of config/install.yaml yourself.", FLAG, true),
      clusterRole: value(
        "With watch.namespaces: one ClusterRole, bound by a RoleBinding in each namespace, instead of a Role in each; the roles for people are ClusterRoles then. An administrator adds a namespace by one RoleBinding.",
        FLAG,
        false,
      ),
      clusterReads: value(
        "With watch.namespaces: also a ClusterRole to read Nodes and StorageClasses, by which the operator recognizes lost nodes and volumes that can grow.",
        FLAG,
        false,
      ),
      userRoles: value("Roles for people: view, edit and admin.", FLAG, true),
    }),
    serviceAccount: group("The account of the operator.", {
      create: value("Without it, name one that exists.", FLAG, true),
      name: value("Default: fullnameOverride.", TEXT, ""),
      annotations: value("For example for an identity of a cloud provider.", STRINGS, {}),
    }),
    admissionPolicies: group("ValidatingAdmissionPolicies.", {
      enabled: value(
        "Without them, anyone who may edit EtcdMembers can change what the operator recorded.",
        FLAG,
        true,
      ),
      tenants: value(
        "What happens to a request whose author may not do in the namespace what it would have the operator do (docs/tenants.md): Deny, Warn, Audit (in the audit log of the API server), or Disabled for no such policies.",
        { enum: ["Deny", "Warn", "Audit", "Disabled"] },
        "Deny",
      ),
      imageRepositories: value(
        "Repositories that all users may name in image.repository, beside etcdImageRepository and the etcd project's own.",
        { type: "array", items: { type: "string", pattern: "^[a-z0-9][a-z0-9._:/-]*$" }, uniqueItems: true },
        [],
      ),
      secureDefaults: value(
        "Where plaintext, clients without a certificate and Pods that run as root are rejected: Labelled (in namespaces with the label etcd.quorate.dev/secure-defaults=enforce), All, or Disabled.",
        { enum: ["Labelled", "All", "Disabled"] },
        "Labelled",
      ),
    }),
    clusterDomain: value(
      "DNS domain of the Kubernetes cluster. Empty: cluster.local.",
      { type: "string", pattern: "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$" },
      "",
    ),
    etcdImageRepository: value(
      "Where members' images come from when an EtcdCluster does not say; for sites without access to the default registry.",
      TEXT,
      "",
    ),
    logLevel: value("debug, info, warn or error.", { enum: ["debug", "info", "warn", "error"] }, "info"),
    extraArgs: value(
      "More options of quorate operator, each as one string.",
      { type: "array", items: { type: "string", pattern: "^--" } },
      [],
    ),
    extraEnv: value("More environment variables of the container.", OBJECTS, []),
    resources: value("Of the operator's container.", OBJECT, defaults.resources),
    podSecurityContext: value(
      "Fits the Pod Security level restricted. On OpenShift, which assigns users itself, set runAsUser and runAsGroup to null.",
      OBJECT,
      defaults.podSecurityContext,
    ),
    podAnnotations: value("More annotations of the operator's Pods.", STRINGS, {}),
    podLabels: value("More labels of the operator's Pods.", STRINGS, {}),
    nodeSelector: value("Labels of the nodes that may run the operator.", STRINGS, {}),
    affinity: value("In addition to the spread over nodes and zones.", OBJECT, {}),
    tolerations: value(
      "The default has a replica on a lost node replaced after 30 s.",
      OBJECTS,
      defaults.tolerations,
    ),
    priorityClass: group("Ahead of ordinary workloads, because the operator repairs them.", {
      create: value("A PriorityClass for the operator.", FLAG, true),
      value: value("Of the created class.", { type: "integer", maximum: 1_000_000_000 }, defaults.priority),
      name: value("Of an existing class, with create: false. Empty: none.", TEXT, ""),
    }),
    disruptionBudget: group("A drain evicts one replica at a time.", {
      enabled: value("A PodDisruptionBudget.", FLAG, true),
    }),
    metrics: group("Who may read the metrics.", {
      secure: value(
        "HTTPS, and only accounts of Kubernetes that may get /metrics: bind the ClusterRole quorate-metrics-reader to your scraper. Brings ClusterRoles, also with watch.namespaces.",
        FLAG,
        false,
      ),
      certificateSecret: value(
        "With secure: a Secret with tls.crt and tls.key for the endpoint. Empty: each process issues its own, which scrapers cannot verify.",
        TEXT,
        "",
      ),
    }),
    metricsService: group("A headless Service, so that each replica is scraped.", {
      enabled: value("On port 8080.", FLAG, true),
      annotations: value("For example for a scraper.", STRINGS, {}),
    }),
    networkPolicy: group("Who may connect to the operator's Pods.", {
      enabled: value(
        "Only the health port, which kubelets probe, and the metrics port remain open.",
        FLAG,
        false,
      ),
      metricsFrom: value("NetworkPolicyPeers that may scrape. Empty: all.", OBJECTS, []),
    }),
  });
}

function isGroup(one: Value | Group): one is Group {
  return "values" in one;
}

/** values.yaml, each value with its comment. */
export function valuesYaml({ values }: Group, indent = ""): string {
  return Object.entries(values)
    .map(([name, one]) => {
      const comment = `${indent}# ${one.comment}\n`;
      if (isGroup(one)) return `${comment}${indent}${name}:\n${valuesYaml(one, `${indent}  `)}`;
      const text = stringify({ [name]: one.default }, { lineWidth: 0, aliasDuplicateObjects: false });
      return comment + text.replaceAll(/^(?=.)/gm, indent);
    })
    .join("");
}

export function valuesSchema(root: Group): string {
  const schema = schemaOf(root) as { properties: object };
  // Helm hands these to every chart that is part of another.
  const properties = { ...schema.properties, global: { type: "object" } };
  return `${JSON.stringify({ $schema: "http://json-schema.org/draft-07/schema#", ...schema, properties }, undefined, 2)}\n`;
}

function schemaOf(one: Value | Group): object {
  if (!isGroup(one)) return { description: one.comment, ...one.schema };
  const entries = Object.entries(one.values).map(([name, value]) => [name, schemaOf(value)] as const);
  return {
    ...(one.comment && { description: one.comment }),
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(entries),
  };
}
