/**
 * Fields with a default in the resource definition. An operator of the release before does not know a field that is new,
 * and the API server writes its default into every object: the older operator would call each spec invalid after a
 * downgrade or in the midst of an upgrade. So a new field of an existing kind has its default in code alone.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { customResourceDefinition } from "./crd.ts";
import type { SchemaNode } from "./json-schema.ts";
import { resources } from "./resources.ts";

/** As the first release has them, by kind. To remove one is safe, to add one is not. */
const RELEASED: Readonly<Record<string, readonly string[]>> = {
  EtcdCluster: [
    ".spec.replicas",
    ".spec.image",
    ".spec.image.pullPolicy",
    ".spec.image.pullSecrets",
    ".spec.learners",
    ".spec.storage",
    ".spec.storage.medium",
    ".spec.storage.size",
    ".spec.storage.retention",
    ".spec.storage.retention.onDelete",
    ".spec.storage.retention.onScaleIn",
    ".spec.tls",
    ".spec.tls.mode",
    ".spec.tls.clientAuth",
    ".spec.tls.extraSANs",
    ".spec.options",
    ".spec.options.autoCompaction",
    ".spec.options.autoCompaction.mode",
    ".spec.options.autoCompaction.retention",
    ".spec.options.heartbeatInterval",
    ".spec.options.electionTimeout",
    ".spec.options.metrics",
    ".spec.options.logLevel",
    ".spec.options.corruptCheck",
    ".spec.options.corruptCheck.initial",
    ".spec.options.corruptCheck.compactHash",
    ".spec.options.corruptCheck.compactHashTime",
    ".spec.options.corruptCheck.time",
    ".spec.options.featureGates",
    ".spec.options.extraArgs",
    ".spec.pod",
    ".spec.pod.resources",
    ".spec.pod.topologySpreadConstraints",
    ".spec.pod.nodeSelector",
    ".spec.pod.tolerations",
    ".spec.pod.labels",
    ".spec.pod.annotations",
    ".spec.pod.env",
    ".spec.pod.sidecars",
    ".spec.pod.terminationGracePeriodSeconds",
    ".spec.service",
    ".spec.service.type",
    ".spec.service.labels",
    ".spec.service.annotations",
    ".spec.service.loadBalancerSourceRanges",
    ".spec.disruptionBudget",
    ".spec.disruptionBudget.enabled",
    ".spec.maintenance",
    ".spec.maintenance.defrag",
    ".spec.maintenance.defrag.auto",
    ".spec.maintenance.defrag.freeAbove",
    ".spec.maintenance.defrag.ratioAbove",
    ".spec.maintenance.hashCheck",
    ".spec.maintenance.hashCheck.interval",
    ".spec.maintenance.spaceCure",
    ".spec.repair",
    ".spec.repair.unhealthyAfter",
    ".spec.repair.memberLostAfter",
    ".spec.repair.maxReplacementsPerHour",
    ".spec.update",
    ".spec.update.strategy",
    ".spec.update.canary",
    ".spec.paused",
    ".spec.progressDeadlineSeconds",
    ".status",
  ],
  EtcdMember: [".spec.replicas"],
  EtcdOperation: [".status"],
};

function withDefault(node: SchemaNode, path: string): string[] {
  const children: [string, SchemaNode | undefined][] = [
    ...Object.entries(node.properties ?? {}).map(([name, child]): [string, SchemaNode] => [
      `.${name}`,
      child,
    ]),
    ["[]", node.items],
    ["{}", node.additionalProperties],
  ];
  const below = children.flatMap(([name, child]) => (child ? withDefault(child, `${path}${name}`) : []));
  return [...(node.default === undefined ? [] : [path]), ...below];
}

function schemaOf(resource: (typeof resources)[number]): SchemaNode {
  const { spec } = customResourceDefinition(resource) as {
    spec: { versions: { schema: { openAPIV3Schema: SchemaNode } }[] };
  };
  return spec.versions[0]?.schema.openAPIV3Schema ?? {};
}

for (const resource of resources.filter(({ kind }) => kind in RELEASED))
  test(`no field that was added to ${resource.kind} after its first release has a default in the definition`, () => {
    const released = new Set(RELEASED[resource.kind]);
    const added = withDefault(schemaOf(resource), "").filter((path) => !released.has(path));
    assert.deepEqual(
      added,
      [],
      "an operator of the release before would report specs with these fields as invalid: apply the default in code",
    );
  });

test("a default that is added is found", () => {
  const [cluster] = resources;
  assert.ok(cluster);
  const schema = schemaOf(cluster);
  const planted: SchemaNode = {
    ...schema,
    properties: { ...schema.properties, planted: { type: "object", properties: { x: { default: 1 } } } },
  };
  const released = new Set(RELEASED[cluster.kind]);
  assert.deepEqual(
    withDefault(planted, "").filter((path) => !released.has(path)),
    [".planted.x"],
  );
});
