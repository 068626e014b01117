/**
 * The kinds beside EtcdCluster that people write, explored field by field: objects with each value of a field are created
 * on a healthy cluster. The API server refuses one, or the operator tells it what becomes of it. Whatever they say, no
 * operator ends by them, and the cluster stays well. A new kind needs a line in DEPENDENTS.
 */
import { API_VERSION } from "../../src/api/metadata.ts";
import { resourceSchema, type SchemaNode } from "../../src/api/json-schema.ts";
import { resources } from "../../src/api/resources.ts";
import { OPERATIONS, type OperationName } from "../../src/api/status-words.ts";
import { ours } from "../models/kube/kinds/ours.ts";
import { json, type Json } from "../models/kube/object.ts";
import { NAME, NAMESPACE } from "../operator/environment.ts";
import { wrongWith } from "../operator/judge.ts";
import { OperatorSimulation } from "../operator/simulation.ts";
import type { Counts, Failure, FieldReport } from "./explore.ts";
import { fieldsOf, ITEM, VALUE, type Field } from "./fields.ts";
import { valuesOf, type Value } from "./values.ts";

interface Dependent {
  readonly kind: string;
  /** The least spec that is accepted and has room for the field that these steps lead to. */
  readonly least: (steps: readonly string[]) => Json;
  /** What is wrong with what the operator told the object in the end; undefined where nothing is. */
  readonly untold: (status: Json) => string | undefined;
}

const TASKS: Readonly<Record<OperationName, Json>> = {
  defragment: {},
  compact: { retain: 0 },
  moveLeader: {},
  replaceMember: { name: `${NAME}-1` },
  restart: {},
  recoverQuorum: { approve: "0123456789abcdef" },
  rotateCertificates: {},
  collectReport: {},
};

export const DEPENDENTS: readonly Dependent[] = [
  {
    kind: "EtcdOperation",
    least: ([first]) => {
      const task = OPERATIONS.find((name) => name === first) ?? "collectReport";
      return { cluster: NAME, [task]: TASKS[task] };
    },
    untold: ({ phase }) =>
      phase === "Succeeded" || phase === "Rejected" ? undefined : `it is ${String(phase)} in the end`,
  },
];

/** Time after which an object without a cluster is told for good, and the rotations of CAs that some ask for have ended. */
const TOLD_MS = 2 * 60 * 60_000;

/** `most`: how many values of a class are tried on each field. */
export async function exploreDependent(
  { kind, least, untold }: Dependent,
  most = Infinity,
): Promise<FieldReport[]> {
  const resource = resources.find((one) => one.kind === kind);
  const model = ours.find((one) => one.kind === kind);
  if (!resource || !model) throw new RangeError(`there is no kind ${kind}`);
  const node: SchemaNode = resourceSchema(resource.schema).schema.properties?.["spec"] ?? {};
  const path = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/${resource.plural}`;
  const sim = new OperatorSimulation({ replicas: 1, version: "3.6.16" }, { seed: 1 });
  await sim.settle();
  const fields = fieldsOf(node).filter(({ kind: shape }) => shape !== "object");
  const reports: (FieldReport & { readonly failures: Failure[] })[] = [];
  const made = new Map<string, { readonly report: (typeof reports)[number]; readonly plan: string }>();
  for (const field of fields) {
    const counts: Counts = {
      valid: 0,
      boundary: 0,
      hostile: 0,
      applied: 0,
      refused: 0,
      reported: 0,
      reverted: 0,
    };
    const values = someOf(field.node, most);
    const report = {
      path: `${kind} ${field.path}`,
      plans: values.length,
      counts,
      failures: [],
      passes: 0,
      trace: [],
    };
    reports.push(report);
    for (const { is, value } of values) {
      counts[is]++;
      const name = `explored-${made.size + 1}-${reports.length}`;
      const plan = `${kind} ${field.path} = ${JSON.stringify(value)?.slice(0, 80)}`;
      const body = {
        apiVersion: API_VERSION,
        kind,
        metadata: { name, namespace: NAMESPACE },
        spec: specWith(least(field.steps), field, value),
      };
      const { status } = sim.user({ method: "POST", path, body });
      if (status === 201) {
        counts.applied++;
        made.set(name, { report, plan });
      } else if (status >= 400 && status < 500) counts.refused++;
      else reports.at(-1)?.failures.push({ plan, message: `the API server answers ${status}` });
    }
  }
  await sim.pass(TOLD_MS);
  await sim.settle();
  for (const object of sim.env.server.list(model)) {
    const of = made.get(object.metadata.name);
    const wrong = untold(json(object["status"]));
    if (!of) continue;
    if (wrong === undefined) of.report.counts.reported += 1;
    else of.report.failures.push({ plan: of.plan, message: wrong });
  }
  const wrong = [...sim.troubles, ...wrongWith(sim)];
  const [first] = reports;
  if (wrong.length > 0) first?.failures.push({ plan: `${kind}, all of them`, message: wrong.join("; ") });
  return reports;
}

function someOf(node: SchemaNode, most: number): Value[] {
  const all = valuesOf(node);
  return (["valid", "boundary", "hostile"] as const).flatMap((is) =>
    all.filter((one) => one.is === is).slice(0, is === "hostile" ? 3 * most : most),
  );
}

/** The least spec with the value in its place, and beside it what else is required there. */
function specWith(least: Json, { steps }: Field, value: unknown): Json {
  const put = (base: unknown, rest: readonly string[]): unknown => {
    const [first, ...more] = rest;
    if (first === undefined) return value;
    if (first === ITEM) return [put(undefined, more)];
    if (first === VALUE) return { key: put(undefined, more) };
    // Further in, only the field at hand: what is an alternative to it would be refused for itself.
    return { ...(rest === steps && json(base)), [first]: put(undefined, more) };
  };
  return put(least, steps) as Json;
}
