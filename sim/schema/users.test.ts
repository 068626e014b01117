/**
 * Every field of an EtcdUser and an EtcdRole with values made from its schema: the API server refuses it, or the operator
 * applies it or tells it what is wrong. Whatever it says, no operator ends by it and the cluster stays well.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdUser } from "../../src/api/etcd-user.ts";
import { resourceSchema, type SchemaNode } from "../../src/api/json-schema.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { etcdRoles, etcdUsers, type Resource } from "../../src/api/resources.ts";
import type { Kind } from "../models/kube/kind.ts";
import { ours } from "../models/kube/kinds/ours.ts";
import { NAME, NAMESPACE } from "../operator/environment.ts";
import { wrongWith } from "../operator/judge.ts";
import { OperatorSimulation } from "../operator/simulation.ts";
import { fieldsOf, ITEM, type Field } from "./fields.ts";
import { valuesOf, type Value } from "./values.ts";

/** What an item of a list needs beside the field at hand. */
const ITEMS: Readonly<Record<string, object>> = { permissions: { access: "Read", key: "a" } };

function someOf(field: SchemaNode): Value[] {
  const all = valuesOf(field);
  return (["valid", "boundary", "hostile"] as const).flatMap((is) =>
    all.filter((one) => one.is === is).slice(0, is === "hostile" ? 6 : 2),
  );
}

function specWith({ steps }: Field, value: unknown): object {
  const put = (rest: readonly string[], around = ""): unknown => {
    const [first, ...more] = rest;
    if (first === undefined) return value;
    if (first !== ITEM) return { [first]: put(more, first) };
    const item = put(more);
    return [typeof item === "object" && item !== null ? { ...ITEMS[around], ...item } : item];
  };
  return { cluster: NAME, ...(put(steps) as object) };
}

test("whatever a user or a role says, it is refused, applied, or told what is wrong", async () => {
  const auth = { enabled: true, clientRoles: [] };
  const sim = new OperatorSimulation({ replicas: 1, version: "3.6.16", auth }, { seed: 1 });
  await sim.settle();
  let refused = 0;
  let made = 0;
  const explore = (resource: Resource) => {
    const node: SchemaNode = resourceSchema(resource.schema).schema.properties?.["spec"] ?? {};
    const path = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/${resource.plural}`;
    for (const field of fieldsOf(node).filter(({ kind }) => kind !== "object"))
      for (const { value } of someOf(field.node)) {
        const metadata = { name: `explored-${++made}`, namespace: NAMESPACE };
        const spec = specWith(field, value);
        const body = { apiVersion: API_VERSION, kind: resource.kind, metadata, spec };
        const { status } = sim.user({ method: "POST", path, body });
        assert.ok(status === 201 || (status >= 400 && status < 500), `${field.path}: ${status}`);
        if (status !== 201) refused++;
      }
  };
  const kinds = [etcdUsers, etcdRoles];
  kinds.forEach(explore);
  const left = () =>
    kinds.flatMap(({ kind }) => {
      const model = ours.find((one) => one.kind === kind) as Kind;
      return sim.env.server.list(model) as unknown as EtcdUser[];
    });
  assert.ok(made > 50 && refused > 15 && left().length > 15, `${made} made, ${refused} refused`);
  await sim.pass(60_000);
  await sim.settle();
  for (const { metadata, spec, status } of left())
    assert.match(
      status?.reason ?? "",
      /^(Applied|UnknownRole|PasswordMissing|NameTaken|ClusterNotFound)$/,
      `${metadata.name} ${JSON.stringify(spec)}: ${status?.reason} ${status?.message}`,
    );
  assert.deepEqual(sim.troubles, []);
  assert.deepEqual(wrongWith(sim), []);
});
