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
import { items, json, type Json } from "../models/kube/object.ts";
import { NAME, NAMESPACE } from "../operator/environment.ts";
import { wrongWith } from "../operator/judge.ts";
import { OperatorSimulation } from "../operator/simulation.ts";
import type { Counts, Failure, FieldReport } from "./explore.ts";
import { fieldsOf, ITEM, VALUE, type Field } from "./fields.ts";
import { valuesOf, type Value } from "./values.ts";

interface Dependent {
  readonly kind: string;
  /** What the cluster's spec needs for them, beside its size and version. */
  readonly cluster?: object;
  /** The least spec that is accepted beside the field that these steps lead to. */
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
  restore: { source: { s3: { bucket: "backups", key: "demo.db" } } },
  rotateCertificates: {},
  collectReport: {},
};

const STORES: Readonly<Record<string, Json>> = {
  s3: { bucket: "backups" },
  pvc: { claimName: "data" },
  file: { path: "/var/backups" },
};

/** The deadline is short: a Pod that waits for a Secret or a claim that does not exist ends by it. */
function leastTaking(steps: readonly string[]): Json {
  const [first, second = ""] = steps;
  const store = first === "destination" && second in STORES ? second : "s3";
  const needs = steps.at(-1) === "kmsKey" ? { sse: "aws:kms" } : {};
  return {
    cluster: NAME,
    destination: { [store]: { ...STORES[store], ...needs } },
    activeDeadlineSeconds: 60,
  };
}

const endsAs =
  (...phases: readonly string[]) =>
  ({ phase }: Json) =>
    phases.includes(String(phase)) ? undefined : `it is ${String(phase)} in the end`;

const isTold =
  (...reasons: readonly string[]) =>
  ({ reason, message }: Json) =>
    reasons.includes(String(reason)) ? undefined : `it is told ${String(reason)}: ${String(message)}`;

const AUTH_REASONS = ["Applied", "UnknownRole", "PasswordMissing", "NameTaken", "ClusterNotFound"];
const auth = { enabled: true, clientRoles: [] };

export const DEPENDENTS: readonly Dependent[] = [
  {
    kind: "EtcdOperation",
    least: ([first, ...more]) => {
      const task = OPERATIONS.find((name) => name === first) ?? "collectReport";
      // Further in, only the field at hand: what is an alternative to it would be refused for itself.
      return { cluster: NAME, [task]: more.length > 0 ? {} : TASKS[task] };
    },
    untold: endsAs("Succeeded", "Rejected"),
  },
  {
    kind: "EtcdSnapshot",
    least: (steps) => ({
      ...leastTaking(steps),
      // What else a point says is beside a revision; a time is an alternative to it.
      ...(steps[0] === "pointInTime" && steps[1] !== "time" && { pointInTime: { revision: 7 } }),
    }),
    untold: endsAs("Succeeded", "Failed", "Rejected"),
  },
  {
    kind: "EtcdSnapshotSchedule",
    // No snapshot is due while this lasts: those are explored above.
    least: (steps) => ({ ...leastTaking(steps), schedule: "0 0 1 1 *" }),
    untold: isTold("Scheduled", "Suspended", "InvalidSchedule", "ClusterNotFound"),
  },
  {
    kind: "EtcdUser",
    cluster: { auth },
    least: () => ({ cluster: NAME }),
    untold: isTold(...AUTH_REASONS),
  },
  {
    kind: "EtcdRole",
    cluster: { auth },
    least: ([first]) => ({
      cluster: NAME,
      ...(first === "permissions" && { permissions: [{ access: "Read", key: "a" }] }),
    }),
    untold: isTold(...AUTH_REASONS),
  },
];

/** At most: they are told one after the other, and each may wait for ten minutes for a cluster, or rotate a CA. */
const TOLD_MS = 48 * 60 * 60_000;
const LOOK_MS = 10 * 60_000;

/** `most`: how many values of a class are tried on each field. */
export async function exploreDependent(
  { kind, cluster, least, untold }: Dependent,
  most = Infinity,
): Promise<FieldReport[]> {
  const resource = resources.find((one) => one.kind === kind);
  const model = ours.find((one) => one.kind === kind);
  if (!resource || !model) throw new RangeError(`there is no kind ${kind}`);
  const node: SchemaNode = resourceSchema(resource.schema).schema.properties?.["spec"] ?? {};
  const path = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/${resource.plural}`;
  const sim = new OperatorSimulation({ replicas: 1, version: "3.6.16", ...cluster }, { seed: 1 });
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
  const left = () => sim.env.server.list(model).filter(({ metadata }) => made.has(metadata.name));
  const isUntold = (object: Json) => untold(json(object["status"])) !== undefined;
  for (let passed = 0; passed < TOLD_MS && left().some(isUntold); passed += LOOK_MS) await sim.pass(LOOK_MS);
  await sim.settle();
  for (const object of left()) {
    const of = made.get(object.metadata.name);
    const wrong = untold(json(object["status"]));
    if (wrong === undefined && of) of.report.counts.reported += 1;
    else of?.report.failures.push({ plan: of.plan, message: wrong ?? "" });
  }
  const wrong = [...sim.troubles, ...wrongWith(sim)];
  const [first] = reports;
  if (wrong.length > 0) first?.failures.push({ plan: `${kind}, all of them`, message: wrong.join("; ") });
  return reports;
}

export function someOf(node: SchemaNode, most: number): Value[] {
  const all = valuesOf(node);
  return (["valid", "boundary", "hostile"] as const).flatMap((is) =>
    all.filter((one) => one.is === is).slice(0, is === "hostile" ? 3 * most : most),
  );
}

/** The least spec with the value in its place. */
export function specWith(least: Json, { steps }: Field, value: unknown): Json {
  const put = (base: unknown, [first, ...more]: readonly string[]): unknown => {
    if (first === undefined) return value;
    if (first === ITEM) return [put(items(base)[0], more)];
    if (first === VALUE) return { key: put(undefined, more) };
    return { ...json(base), [first]: put(json(base)[first], more) };
  };
  return put(least, steps) as Json;
}
