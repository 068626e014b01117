import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { z } from "zod";
import { etcdClusterSchema } from "./etcd-cluster.ts";
import { etcdMemberSchema } from "./etcd-member.ts";
import { exampleAuthObject, roleExamples, userExamples } from "./auth-examples.ts";
import { etcdOperationSchema } from "./etcd-operation.ts";
import { etcdSnapshotScheduleSchema } from "./etcd-snapshot-schedule.ts";
import { etcdSnapshotSchema } from "./etcd-snapshot.ts";
import { etcdRoleSchema } from "./etcd-role.ts";
import { etcdUserSchema } from "./etcd-user.ts";
import { exampleCluster, ruleExamples, shapeExamples } from "./examples.ts";
import { resourceSchema, type SchemaNode } from "./json-schema.ts";
import { exampleMember, memberExamples } from "./member-examples.ts";
import { exampleOperation, operationExamples } from "./operation-examples.ts";
import { parseCluster } from "./parse-cluster.ts";
import type { Rule } from "./rule.ts";
import { exampleSchedule, scheduleExamples } from "./schedule-examples.ts";
import { exampleSnapshot, snapshotExamples } from "./snapshot-examples.ts";
import { validator } from "./validate.ts";

function cluster(change: Parameters<typeof exampleCluster>[0]) {
  const parsed = parseCluster(exampleCluster(change));
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return parsed.cluster;
}

describe("a cluster is refused with the field and what to do", () => {
  for (const { title, path, bad, old } of [...ruleExamples, ...shapeExamples]) {
    test(title, () => {
      const result = parseCluster(exampleCluster(bad), old && cluster(old));
      assert.ok(!result.ok, "accepted");
      assert.deepEqual([...new Set(result.errors.map((error) => error.path))], [path]);
    });
  }
});

describe("the same put right is accepted instead of", () => {
  for (const { title, good, old } of [...ruleExamples, ...shapeExamples]) {
    if (good) test(title, () => void cluster(good));
    if (good && old) {
      test(`${title} (as a change)`, () => {
        assert.ok(parseCluster(exampleCluster(good), cluster(old)).ok);
      });
    }
  }
});

describe("an EtcdMember's record", () => {
  const members = validator(etcdMemberSchema);
  for (const { title, old, change, refusedAt } of memberExamples) {
    test(`${refusedAt === undefined ? "may change" : "may not change"}: ${title}`, () => {
      const before = exampleMember(old);
      const result = members.validate(exampleMember({ ...old, ...change }), before);
      const paths = result.ok ? [] : result.errors.map((error) => error.path);
      assert.equal(paths.includes(refusedAt ?? ""), refusedAt !== undefined, JSON.stringify(result));
      assert.equal(result.ok, refusedAt === undefined, JSON.stringify(result));
    });
  }

  test("is named after its cluster and its ordinal", () => {
    const result = members.validate(exampleMember({}, "demo-7"));
    assert.ok(!result.ok);
    assert.deepEqual(
      result.errors.map((error) => error.path),
      ["metadata.name"],
    );
  });
});

describe("an EtcdOperation", () => {
  const operations = validator(etcdOperationSchema);
  for (const { title, spec, old, refusedAt } of operationExamples) {
    test(`${refusedAt === undefined ? "may be" : "may not be"}: ${title}`, () => {
      const result = operations.validate(exampleOperation(spec), old && exampleOperation(old));
      const paths = result.ok ? [] : result.errors.map((error) => error.path);
      assert.deepEqual(paths, refusedAt === undefined ? [] : [refusedAt]);
    });
  }
});

describe("an EtcdSnapshot", () => {
  const snapshots = validator(etcdSnapshotSchema);
  for (const { title, spec, old, refusedAt } of snapshotExamples) {
    test(`${refusedAt === undefined ? "may be" : "may not be"}: ${title}`, () => {
      const result = snapshots.validate(exampleSnapshot(spec), old && exampleSnapshot(old));
      const paths = result.ok ? [] : result.errors.map((error) => error.path);
      assert.deepEqual(paths, refusedAt === undefined ? [] : [refusedAt]);
    });
  }
});

describe("an EtcdSnapshotSchedule", () => {
  const schedules = validator(etcdSnapshotScheduleSchema);
  for (const { title, name, spec, refusedAt } of scheduleExamples) {
    test(`${refusedAt === undefined ? "may be" : "may not be"}: ${title}`, () => {
      const result = schedules.validate(exampleSchedule(spec, name));
      const paths = result.ok ? [] : result.errors.map((error) => error.path);
      assert.deepEqual(paths, refusedAt === undefined ? [] : [refusedAt]);
    });
  }
});

/** Every rule of a schema, wrapped so that it tells how it was answered. */
function watchRules(
  schema: Parameters<typeof resourceSchema>[0],
  run: () => void,
): Map<string, Set<boolean>> {
  const answers = new Map<string, Set<boolean>>();
  const restore: (() => void)[] = [];
  for (const rule of resourceSchema(schema).rules.values() as Iterable<{
    -readonly [K in keyof Rule]: Rule[K];
  }>) {
    const { check } = rule;
    const seen = new Set<boolean>();
    answers.set(rule.cel, seen);
    rule.check = (value, old) => {
      const answer = check(value, old);
      seen.add(answer);
      return answer;
    };
    restore.push(() => {
      rule.check = check;
    });
  }
  run();
  for (const undo of restore) undo();
  return answers;
}

test("every rule of a cluster holds in one example and fails in another", () => {
  const answers = watchRules(etcdClusterSchema, () => {
    for (const { bad, good, old } of ruleExamples) {
      const before = old && cluster(old);
      for (const change of [bad, good]) if (change) parseCluster(exampleCluster(change), before);
    }
  });
  const untried = [...answers].filter(([, seen]) => seen.size < 2).map(([cel]) => cel);
  assert.deepEqual(untried, []);
});

test("every rule of a member holds in one example and fails in another", () => {
  const answers = watchRules(etcdMemberSchema, () => {
    const members = validator(etcdMemberSchema);
    members.validate(exampleMember({}, "demo-7"));
    for (const { old, change } of memberExamples) {
      members.validate(exampleMember({ ...old, ...change }), exampleMember(old));
    }
  });
  const untried = [...answers].filter(([, seen]) => seen.size < 2).map(([cel]) => cel);
  assert.deepEqual(untried, []);
});

test("every rule of an operation holds in one example and fails in another", () => {
  const answers = watchRules(etcdOperationSchema, () => {
    const operations = validator(etcdOperationSchema);
    for (const { spec, old } of operationExamples)
      operations.validate(exampleOperation(spec), old && exampleOperation(old));
  });
  const untried = [...answers].filter(([, seen]) => seen.size < 2).map(([cel]) => cel);
  assert.deepEqual(untried, []);
});

test("every rule of a snapshot holds in one example and fails in another", () => {
  const answers = watchRules(etcdSnapshotSchema, () => {
    const snapshots = validator(etcdSnapshotSchema);
    for (const { spec, old } of snapshotExamples)
      snapshots.validate(exampleSnapshot(spec), old && exampleSnapshot(old));
  });
  const untried = [...answers].filter(([, seen]) => seen.size < 2).map(([cel]) => cel);
  assert.deepEqual(untried, []);
});

for (const [kind, schema, examples] of [
  ["EtcdUser", etcdUserSchema, userExamples],
  ["EtcdRole", etcdRoleSchema, roleExamples],
] as const) {
  describe(`an ${kind}`, () => {
    const objects = validator<z.ZodType>(schema);
    for (const { title, name, spec, old, refusedAt } of examples) {
      test(`${refusedAt === undefined ? "may be" : "may not be"}: ${title}`, () => {
        const before = old && exampleAuthObject(kind, old, name);
        const result = objects.validate(exampleAuthObject(kind, spec, name), before);
        assert.deepEqual(
          result.ok ? undefined : result.errors.map(({ path }) => path),
          refusedAt && [refusedAt],
        );
      });
    }
  });

  test(`every rule of an ${kind} holds in one example and fails in another`, () => {
    const answers = watchRules(schema, () => {
      const objects = validator<z.ZodType>(schema);
      for (const { name, spec, old } of examples)
        objects.validate(exampleAuthObject(kind, spec, name), old && exampleAuthObject(kind, old, name));
    });
    const untried = [...answers].filter(([, seen]) => seen.size < 2).map(([cel]) => cel);
    assert.deepEqual(untried, []);
  });
}

const SCHEMAS = [
  etcdClusterSchema,
  etcdMemberSchema,
  etcdOperationSchema,
  etcdSnapshotSchema,
  etcdSnapshotScheduleSchema,
  etcdUserSchema,
  etcdRoleSchema,
];

test("a rule uses oldSelf exactly when it is said to be about a change", () => {
  for (const schema of SCHEMAS) {
    for (const rule of resourceSchema(schema).rules.values()) {
      assert.equal(rule.cel.includes("oldSelf"), rule.transition === true, rule.cel);
    }
  }
});

test("every rule in the schema has its twin, and every twin is in the schema", () => {
  for (const schema of SCHEMAS) {
    const { schema: root, rules } = resourceSchema(schema);
    const used = new Set(validationsIn(root));
    assert.deepEqual([...used].toSorted(), [...rules.keys()].toSorted());
  }
});

function validationsIn(node: SchemaNode): string[] {
  const children = [...Object.values(node.properties ?? {}), node.items, node.additionalProperties];
  return [
    ...(node["x-kubernetes-validations"] ?? []).map((validation) => validation.rule),
    ...children.flatMap((child) => (child ? validationsIn(child) : [])),
  ];
}
