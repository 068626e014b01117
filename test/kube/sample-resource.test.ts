/**
 * What the product's resources ask of an API server, on a sample of their kind: CEL rules, transition rules,
 * defaults, and the scale subresource.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { KubeObject } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests } from "../../testbed/for-tests.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";

interface Sample extends KubeObject {
  spec: { replicas?: number; version?: string; storage?: string };
  status?: { replicas: number };
}

const BASE = "/apis/sample.testbed.quorate.dev/v1/namespaces/default/samples";

const CRD = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "samples.sample.testbed.quorate.dev" },
  spec: {
    group: "sample.testbed.quorate.dev",
    names: { kind: "Sample", plural: "samples", singular: "sample", listKind: "SampleList" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
        },
        schema: {
          openAPIV3Schema: {
            type: "object",
            required: ["spec"],
            properties: {
              spec: {
                type: "object",
                properties: {
                  replicas: { type: "integer", minimum: 0, default: 3 },
                  version: { type: "string", pattern: "^3\\.\\d+\\.\\d+$" },
                  storage: {
                    type: "string",
                    "x-kubernetes-validations": [
                      { rule: "self == oldSelf", message: "storage cannot change" },
                    ],
                  },
                },
                "x-kubernetes-validations": [
                  { rule: "self.replicas % 2 == 1 || self.replicas == 0", message: "replicas must be odd" },
                ],
              },
              status: { type: "object", properties: { replicas: { type: "integer" } } },
            },
          },
        },
      },
    ],
  },
};

let bed: TestTestbed;

before(async () => {
  bed = await upForTests();
  await bed.client.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD);
  await eventually("the resource is served", () => bed.client.get(BASE));
});

after(async () => {
  await bed?.down();
});

const sample = (name: string, spec: Sample["spec"]): Sample => ({
  apiVersion: "sample.testbed.quorate.dev/v1",
  kind: "Sample",
  metadata: { name },
  spec,
});

test("defaults are filled in by the server", async () => {
  const made = await bed.client.create(BASE, sample("defaults", { version: "3.6.16" }));
  assert.equal(made.spec.replicas, 3);
});

test("a CEL rule refuses what the schema alone would allow", async () => {
  await assert.rejects(bed.client.create(BASE, sample("even", { replicas: 4 })), /422.*replicas must be odd/);
});

test("a transition rule refuses a change, and lets the rest change", async () => {
  await bed.client.create(BASE, sample("fixed", { storage: "1Gi" }));
  await assert.rejects(
    bed.client.patch(`${BASE}/fixed`, { spec: { storage: "2Gi" } }),
    /storage cannot change/,
  );
  const changed = await bed.client.patch<Sample>(`${BASE}/fixed`, { spec: { replicas: 5 } });
  assert.equal(changed.spec.replicas, 5);
});

test("the scale subresource reads and writes the replicas, under the same rules", async () => {
  await bed.client.create(BASE, sample("scaled", { replicas: 1 }));
  await bed.client.patch(`${BASE}/scaled/status`, { status: { replicas: 1 } });
  const scale = await bed.client.get<Sample>(`${BASE}/scaled/scale`);
  assert.deepEqual([scale.kind, scale.spec.replicas, scale.status?.replicas], ["Scale", 1, 1]);
  await bed.client.patch(`${BASE}/scaled/scale`, { spec: { replicas: 3 } });
  assert.equal((await bed.client.get<Sample>(`${BASE}/scaled`)).spec.replicas, 3);
  await assert.rejects(
    bed.client.patch(`${BASE}/scaled/scale`, { spec: { replicas: 2 } }),
    /replicas must be odd/,
  );
});

test("status and spec are written apart", async () => {
  await bed.client.create(BASE, sample("apart", { replicas: 1 }));
  const patched = await bed.client.patch<Sample>(`${BASE}/apart`, { status: { replicas: 9 } });
  assert.equal(patched.status, undefined);
});
