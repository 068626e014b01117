/** Every field of the spec can be explored, and a sample of what `npm run sim:schema` does. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { resourceSchema } from "../../src/api/json-schema.ts";
import { etcdClusterSchema } from "../../src/api/etcd-cluster.ts";
import { NoValue, smallest } from "./build.ts";
import { BASES, isExploredOn } from "./bases.ts";
import { Explorer } from "./explore.ts";
import { fieldsOf } from "./fields.ts";
import { trialsOf } from "./trials.ts";

/** Names in a JSON schema that are fields, counted in another way than by walking steps. */
function countFields(node: unknown): number {
  if (typeof node !== "object" || node === null) return 0;
  const { properties = {}, items, additionalProperties } = node as Record<string, object | undefined>;
  const children = [...Object.values(properties), items, additionalProperties].filter(
    (child) => typeof child === "object",
  );
  return children.reduce<number>((sum, child) => sum + 1 + countFields(child), 0);
}

test("every field of the spec has valid and hostile values, made from the schema", () => {
  const fields = fieldsOf();
  assert.equal(fields.length, countFields(resourceSchema(etcdClusterSchema).schema.properties?.["spec"]));
  // What all fields of Kubernetes' own shapes have in common is tried once in a while; ours are all tried.
  for (const field of fields.filter(({ handedOn }, index) => !handedOn || index % 10 === 0)) {
    const trials = trialsOf(field);
    assert.ok(
      trials.some(({ is, answer }) => is === "valid" && ["taken", "kept"].includes(answer)),
      field.path,
    );
    assert.ok(
      trials.some(({ is }) => is === "hostile"),
      field.path,
    );
  }
});

test("a field of which no value can be made is an error that names it, and not passed over", () => {
  const rule = { rule: "self.matches('^zebra-[0-9]+$')", message: "must be a zebra" };
  const strange = { type: "string" as const, minLength: 1_000_000, "x-kubernetes-validations": [rule] };
  assert.throws(
    () => smallest(strange, "spec.zebra"),
    (error) => error instanceof NoValue && /spec\.zebra/.test(error.message),
  );
});

const SAMPLE = [
  "spec.options.snapshotCount",
  "spec.service.labels",
  "spec.tls.clientAuth",
  "spec.paused",
  "spec.bootstrap",
];

for (const path of SAMPLE)
  test(`${path}: applied, reverted and left midway, all is as before`, async () => {
    const field = fieldsOf().find((one) => one.path === path);
    assert.ok(field);
    const { failures, counts, plans } = await new Explorer(field).explore({});
    assert.deepEqual(failures, []);
    assert.ok(plans > 5 && counts.refused > 0);
  });

/** What each base is for: a field that means something else there, or nothing, which is then warned of. */
const ON_BASES: readonly (readonly [base: string, path: string])[] = [
  ["Memory", "spec.storage.size"],
  ["Memory", "spec.tls.extraSANs"],
  ["HostPath", "spec.storage.size"],
  ["Ephemeral", "spec.storage.retention.onScaleIn"],
  ["plaintext", "spec.tls.extraSANs"],
  ["plaintext", "spec.tls.clientAuth"],
];

for (const [name, path] of ON_BASES)
  test(`${path} on the ${name} base: applied or warned of, and reverted`, async () => {
    const field = fieldsOf().find((one) => one.path === path);
    const base = BASES.find((one) => one.name === name);
    assert.ok(field && base && isExploredOn(base, field));
    const { failures, counts } = await new Explorer(field, base).explore({});
    assert.deepEqual(failures, []);
    assert.ok(counts.valid > 0);
  });
