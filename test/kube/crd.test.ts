import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { z } from "zod";
import { customResourceDefinition } from "../../src/api/crd.ts";
import type { EtcdCluster } from "../../src/api/etcd-cluster.ts";
import { etcdMemberSchema } from "../../src/api/etcd-member.ts";
import type { Example } from "../../src/api/example.ts";
import { exampleCluster, ruleExamples, shapeExamples } from "../../src/api/examples.ts";
import { exampleMember, memberExamples } from "../../src/api/member-examples.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { exampleAuthObject, roleExamples, userExamples } from "../../src/api/auth-examples.ts";
import { etcdOperationSchema } from "../../src/api/etcd-operation.ts";
import { etcdRoleSchema } from "../../src/api/etcd-role.ts";
import { etcdUserSchema } from "../../src/api/etcd-user.ts";
import { etcdSnapshotScheduleSchema } from "../../src/api/etcd-snapshot-schedule.ts";
import { etcdSnapshotSchema } from "../../src/api/etcd-snapshot.ts";
import { exampleOperation, operationExamples } from "../../src/api/operation-examples.ts";
import { exampleSchedule, scheduleExamples } from "../../src/api/schedule-examples.ts";
import { exampleSnapshot, snapshotExamples } from "../../src/api/snapshot-examples.ts";
import { parseCluster } from "../../src/api/parse-cluster.ts";
import { resources } from "../../src/api/resources.ts";
import { validator } from "../../src/api/validate.ts";
import type { Client } from "../../testbed/client.ts";
import { down, up } from "../../testbed/testbed.ts";

const BED = `crd-${process.pid}`;
const NAMESPACE = `/apis/${API_VERSION}/namespaces/default`;
const CLUSTERS = `${NAMESPACE}/etcdclusters`;
const STRICT = "fieldValidation=Strict";
/** Nothing is kept: examples do not meet each other. */
const TRY = `?dryRun=All&${STRICT}`;

let client: Client;

before(async () => {
  ({ client } = await up({ name: BED }));
  for (const resource of resources) {
    await client.create(
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      customResourceDefinition(resource),
    );
  }
  for (const { plural } of resources) await served(`${NAMESPACE}/${plural}`);
});

after(async () => {
  client?.close();
  await down(BED);
});

/** A new resource is served a moment after its definition is accepted. */
async function served(path: string): Promise<void> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    try {
      await client.get(path);
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

function locally(change: Example["bad"]): EtcdCluster {
  const result = parseCluster(exampleCluster(change));
  assert.ok(result.ok, JSON.stringify(result));
  return result.cluster;
}

/** What the API server says against it; empty when it accepts. */
async function refusal(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

/** Creates `object`, gives it to `use`, and takes it away again. */
async function withObject<T extends { metadata: { name: string } }>(
  path: string,
  object: T,
  use: (created: T) => Promise<void>,
): Promise<void> {
  const created = await client.create(`${path}?${STRICT}`, object);
  try {
    await use(created);
  } finally {
    await client.delete(`${path}/${object.metadata.name}`);
  }
}

/** Every local message is in the server's answer. A guess at what was meant is ours alone. */
function assertSaysTheSame(errors: readonly { message: string }[], answer: string): void {
  assert.notEqual(answer, "", "the API server accepts it");
  for (const { message } of errors) {
    const reported = message.startsWith("unknown field") ? message.replace(/":.*$/, '"') : message;
    assert.ok(answer.includes(reported), `locally: ${reported}\nAPI server: ${answer}`);
  }
}

describe("the API server refuses, in the words of the local validation,", () => {
  for (const { title, bad, old } of [...ruleExamples, ...shapeExamples]) {
    test(title, async () => {
      const object = exampleCluster(bad);
      const result = parseCluster(object, old && locally(old));
      assert.ok(!result.ok);
      if (!old) {
        assertSaysTheSame(result.errors, await refusal(client.create(CLUSTERS + TRY, object)));
        return;
      }
      await withObject(CLUSTERS, locally(old), async ({ metadata }) => {
        const changed = { ...object, metadata };
        assertSaysTheSame(
          result.errors,
          await refusal(client.replace(`${CLUSTERS}/${metadata.name}${TRY}`, changed)),
        );
      });
    });
  }
});

/** With defaults, but without those that the operator fills in when it reads the object. */
function asServed(change: Example["bad"]): unknown {
  const { spec } = locally(change);
  if ((change.spec?.["image"] as { repository?: string } | undefined)?.repository !== undefined) return spec;
  const { repository: _ofOperator, ...image } = spec.image;
  return { ...spec, image };
}

describe("the API server accepts, with the defaults of the local validation,", () => {
  const good = [...ruleExamples, ...shapeExamples].filter((example) => example.good);
  for (const { title, good: change } of [{ title: "a minimal cluster", good: {} }, ...good]) {
    test(`what is right instead of ${title}`, async () => {
      const answer = await client.create<{ spec?: unknown }>(CLUSTERS + TRY, exampleCluster(change));
      assert.deepEqual(answer.spec, asServed(change ?? {}));
    });
  }

  for (const { title, good: change, old } of good) {
    if (!old) continue;
    test(`what is right instead of ${title} (as a change)`, async () => {
      await withObject(CLUSTERS, locally(old), async ({ metadata }) => {
        const changed = { ...exampleCluster(change), metadata, spec: exampleCluster(change)["spec"] };
        const answer = await client.replace(`${CLUSTERS}/${metadata.name}${TRY}`, changed);
        assert.deepEqual(answer.spec, asServed(change ?? {}));
      });
    });
  }
});

describe("the scale subresource", () => {
  const scaleTo = (replicas: number) =>
    client.patch<{ spec: { replicas: number } }>(`${CLUSTERS}/demo/scale`, { spec: { replicas } });

  test("reads and changes the number of voting members", async () => {
    await withObject(CLUSTERS, locally({}), async () => {
      assert.equal((await scaleTo(5)).spec.replicas, 5);
      assert.equal((await client.get<EtcdCluster>(`${CLUSTERS}/demo`)).spec.replicas, 5);
      const status = { replicas: 3, selector: "etcd.quorate.dev/cluster=demo" };
      await client.patch(`${CLUSTERS}/demo/status`, { status });
      assert.deepEqual((await client.get<{ status: unknown }>(`${CLUSTERS}/demo/scale`)).status, status);
    });
  });

  test("hibernates a cluster with persistent volumes", async () => {
    await withObject(CLUSTERS, locally({}), async () => {
      assert.equal((await scaleTo(0)).spec.replicas ?? 0, 0);
    });
  });

  for (const medium of ["Memory", "Ephemeral"]) {
    test(`H4: refuses 0 where that would end the data (${medium})`, async () => {
      await withObject(CLUSTERS, locally({ spec: { storage: { medium } } }), async () => {
        assert.match(await refusal(scaleTo(0)), /replicas 0 \(hibernate\) would lose all data/);
        assert.equal((await client.get<EtcdCluster>(`${CLUSTERS}/demo`)).spec.replicas, 3);
      });
    });
  }

  test("refuses more than nine", async () => {
    await withObject(CLUSTERS, locally({}), async () => {
      assert.match(await refusal(scaleTo(10)), /replicas must be between 0 and 9/);
    });
  });
});

describe("the status subresource", () => {
  test("takes a whole status, and a change of the spec leaves it alone", async () => {
    await withObject(CLUSTERS, locally({}), async () => {
      const status: EtcdCluster["status"] = {
        observedGeneration: 1,
        phase: "Healthy",
        message: "3 of 3 voters healthy.",
        conditions: [
          {
            type: "Quorate",
            status: "True",
            reason: "QuorumHealthy",
            message: "3 of 3 voting members answer",
            lastTransitionTime: "2026-01-01T00:00:00Z",
            observedGeneration: 1,
          },
        ],
        version: { current: "3.6.14" },
        replicas: 3,
        readyReplicas: 3,
        members: [{ name: "demo-0", id: "8e9e05c52164694d", role: "Leader", healthy: true, dbSize: 20480 }],
        plan: [{ step: "PromoteLearner", member: "demo-3", text: "Promote demo-3" }],
        notApplicable: ["spec.pod.nodeSelector"],
      };
      const answer = await client.patch<EtcdCluster>(`${CLUSTERS}/demo/status?${STRICT}`, { status });
      assert.deepEqual(answer.status, status);
      const changed = await client.patch<EtcdCluster>(`${CLUSTERS}/demo?${STRICT}`, {
        spec: { paused: true },
        status: {},
      });
      assert.deepEqual(changed.status, status);
    });
  });
});

test("an unknown field is pruned where validation is not strict", async () => {
  const object = exampleCluster({ spec: { replica: 5 } });
  const answer = await client.create<{ spec?: Record<string, unknown> }>(
    `${CLUSTERS}?dryRun=All&fieldValidation=Ignore`,
    object,
  );
  assert.equal(answer.spec?.["replica"], undefined);
  assert.equal(answer.spec?.["replicas"], 3);
});

test("kubectl's columns, short names and category are served", async () => {
  await withObject(CLUSTERS, locally({}), async () => {
    const { resources: found } = await client.get<{
      resources: { name: string; shortNames?: string[]; categories?: string[] }[];
    }>(`/apis/${API_VERSION}`);
    for (const { plural, shortNames } of resources) {
      const entry = found.find((resource) => resource.name === plural);
      assert.deepEqual(entry?.shortNames, shortNames);
      assert.deepEqual(entry?.categories, ["etcd"]);
    }
  });
});

describe("an EtcdMember on the API server", () => {
  const MEMBERS = `${NAMESPACE}/etcdmembers`;
  const members = validator(etcdMemberSchema);

  for (const { title, old, change, refusedAt } of memberExamples) {
    test(`${refusedAt === undefined ? "may change" : "may not change"}: ${title}`, async () => {
      await withObject(MEMBERS, exampleMember(old), async (created) => {
        const changed = exampleMember({ ...old, ...change });
        const answer = await refusal(
          client.replace(`${MEMBERS}/demo-1${TRY}`, { ...changed, metadata: created.metadata }),
        );
        const local = members.validate(changed, exampleMember(old));
        if (refusedAt === undefined) assert.equal(answer, "");
        else assertSaysTheSame(local.ok ? [] : local.errors, answer);
      });
    });
  }

  test("keeps its template as written: nothing pruned, nothing filled in", async () => {
    const member = exampleMember();
    const answer = await client.create(MEMBERS + TRY, member);
    assert.deepEqual(answer.spec, { ...member.spec, replicas: 1 });
  });

  test("is named after its cluster and its ordinal", async () => {
    const member = exampleMember({}, "demo-7");
    const local = members.validate(member);
    assertSaysTheSame(local.ok ? [] : local.errors, await refusal(client.create(MEMBERS + TRY, member)));
  });
});

for (const [kind, schema, examples] of [
  ["EtcdUser", etcdUserSchema, userExamples],
  ["EtcdRole", etcdRoleSchema, roleExamples],
] as const) {
  describe(`an ${kind}`, () => {
    const path = `${NAMESPACE}/${kind.toLowerCase()}s`;
    const objects = validator<z.ZodType>(schema);

    for (const { title, name, spec, old, refusedAt } of examples) {
      test(`${refusedAt === undefined ? "may be" : "may not be"}: ${title}`, async () => {
        const object = exampleAuthObject(kind, spec, name);
        const before = old && exampleAuthObject(kind, old, name);
        const local = objects.validate(object, before);
        const judge = (answer: string) =>
          refusedAt === undefined
            ? assert.equal(answer, "")
            : assertSaysTheSame(local.ok ? [] : local.errors, answer);
        if (!before) {
          judge(await refusal(client.create(path + TRY, object)));
          return;
        }
        await withObject(path, before, async ({ metadata }) => {
          const changed = { ...object, metadata };
          judge(await refusal(client.replace(`${path}/${metadata.name}${TRY}`, changed)));
        });
      });
    }
  });
}

describe("an EtcdOperation", () => {
  const OPERATIONS = `${NAMESPACE}/etcdoperations`;
  const operations = validator(etcdOperationSchema);

  for (const { title, spec, old, refusedAt } of operationExamples) {
    test(`${refusedAt === undefined ? "may be" : "may not be"}: ${title}`, async () => {
      const object = exampleOperation(spec);
      const local = operations.validate(object, old && exampleOperation(old));
      const judge = (answer: string) =>
        refusedAt === undefined
          ? assert.equal(answer, "")
          : assertSaysTheSame(local.ok ? [] : local.errors, answer);
      if (!old) {
        judge(await refusal(client.create(OPERATIONS + TRY, object)));
        return;
      }
      await withObject(OPERATIONS, exampleOperation(old), async ({ metadata }) => {
        const changed = { ...object, metadata };
        judge(await refusal(client.replace(`${OPERATIONS}/${metadata.name}${TRY}`, changed)));
      });
    });
  }

  test("is unfinished until the operator has reported", async () => {
    const created = await client.create(OPERATIONS + TRY, exampleOperation({ restart: {} }));
    assert.deepEqual(created.status, { observedGeneration: -1 });
  });
});

describe("an EtcdSnapshot", () => {
  const SNAPSHOTS = `${NAMESPACE}/etcdsnapshots`;
  const snapshots = validator(etcdSnapshotSchema);

  for (const { title, spec, old, refusedAt } of snapshotExamples) {
    test(`${refusedAt === undefined ? "may be" : "may not be"}: ${title}`, async () => {
      const object = exampleSnapshot(spec);
      const local = snapshots.validate(object, old && exampleSnapshot(old));
      const judge = (answer: string) =>
        refusedAt === undefined
          ? assert.equal(answer, "")
          : assertSaysTheSame(local.ok ? [] : local.errors, answer);
      if (!old) {
        judge(await refusal(client.create(SNAPSHOTS + TRY, object)));
        return;
      }
      await withObject(SNAPSHOTS, exampleSnapshot(old), async ({ metadata }) => {
        const changed = { ...object, metadata };
        judge(await refusal(client.replace(`${SNAPSHOTS}/${metadata.name}${TRY}`, changed)));
      });
    });
  }
});

describe("an EtcdSnapshotSchedule", () => {
  const SCHEDULES = `${NAMESPACE}/etcdsnapshotschedules`;
  const schedules = validator(etcdSnapshotScheduleSchema);

  for (const { title, name, spec, refusedAt } of scheduleExamples) {
    test(`${refusedAt === undefined ? "may be" : "may not be"}: ${title}`, async () => {
      const object = exampleSchedule(spec, name);
      const local = schedules.validate(object);
      const answer = await refusal(client.create(SCHEDULES + TRY, object));
      if (refusedAt === undefined) assert.equal(answer, "");
      else assertSaysTheSame(local.ok ? [] : local.errors, answer);
    });
  }
});
