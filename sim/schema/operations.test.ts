/**
 * Every field of an EtcdOperation with values made from its schema: the API server refuses it, or the operator tells the
 * operation what becomes of it. Whatever it says, no operator ends by it and the cluster stays well.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdOperation } from "../../src/api/etcd-operation.ts";
import { resourceSchema, type SchemaNode } from "../../src/api/json-schema.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { etcdOperations as resource } from "../../src/api/resources.ts";
import { OPERATIONS, type OperationName } from "../../src/api/status-words.ts";
import { etcdOperations, NAME, NAMESPACE } from "../operator/environment.ts";
import { wrongWith } from "../operator/judge.ts";
import { OperatorSimulation } from "../operator/simulation.ts";
import { fieldsOf, ITEM, type Field } from "./fields.ts";
import { valuesOf, type Value } from "./values.ts";

const PATH = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdoperations`;
const node: SchemaNode = resourceSchema(resource.schema).schema.properties?.["spec"] ?? {};

/** The least that is accepted of each task. */
const LEAST: Readonly<Record<OperationName, object>> = {
  defragment: {},
  compact: { retain: 0 },
  moveLeader: {},
  replaceMember: { name: `${NAME}-1` },
  restart: {},
  rotateCertificates: {},
  recoverQuorum: { approve: "0123456789abcdef" },
  collectReport: {},
};

/** A few of each class: every one that is accepted is carried out. */
function someOf(field: SchemaNode): Value[] {
  const all = valuesOf(field);
  return (["valid", "boundary", "hostile"] as const).flatMap((is) =>
    all.filter((one) => one.is === is).slice(0, is === "hostile" ? 6 : 2),
  );
}

/** The spec of the task that has the field, with the value in it and nothing else. */
function specWith({ steps }: Field, value: unknown): object {
  const task = OPERATIONS.find((name) => name === steps[0]) ?? "collectReport";
  const put = (rest: readonly string[]): unknown => {
    const [first, ...more] = rest;
    if (first === undefined) return value;
    return first === ITEM ? [put(more)] : { [first]: put(more) };
  };
  return { cluster: NAME, [task]: LEAST[task], ...(put(steps) as object) };
}

test("whatever an operation says, it is refused or told what becomes of it", async () => {
  const sim = new OperatorSimulation({ replicas: 1, version: "3.6.16" }, { seed: 1 });
  await sim.settle();
  let refused = 0;
  let made = 0;
  for (const field of fieldsOf(node).filter(({ kind }) => kind !== "object"))
    for (const { value } of someOf(field.node)) {
      const metadata = { name: `explored-${++made}`, namespace: NAMESPACE };
      const spec = specWith(field, value);
      const body = { apiVersion: API_VERSION, kind: "EtcdOperation", metadata, spec };
      const { status } = sim.user({ method: "POST", path: PATH, body });
      assert.ok(status === 201 || (status >= 400 && status < 500), `${field.path}: ${status}`);
      if (status !== 201) refused++;
    }
  const left = () => sim.env.server.list(etcdOperations) as unknown as EtcdOperation[];
  assert.ok(made > 60 && refused > 20 && left().length > 10, `${made} made, ${refused} refused`);
  // Each rotation of a CA leaves clients twice ten minutes.
  await sim.pass(2 * 60 * 60_000);
  await sim.settle();
  for (const { metadata, spec, status } of left())
    assert.match(
      status?.phase ?? "",
      /^(Succeeded|Rejected)$/,
      `${metadata.name} ${JSON.stringify(spec)}: ${status?.phase} ${status?.message}`,
    );
  assert.deepEqual(sim.troubles, []);
  assert.deepEqual(wrongWith(sim), []);
});
