/**
 * The cluster as its objects show it, without what differs between any two runs of the same thing: names and numbers
 * of members, UIDs, addresses, times. What is the same before an edit and after its revert must be the same here.
 */
import { Buffer } from "node:buffer";
import { ANNOTATIONS, LABELS } from "../../src/operator/names.ts";
import { FILES } from "../../src/operator/render/config.ts";
import type { Kind } from "../models/kube/kind.ts";
import { claims } from "../models/kube/kinds/claim.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import { services } from "../models/kube/kinds/service.ts";
import { budgets, networkPolicies, secrets } from "../models/kube/kinds/simple.ts";
import { isJson, items, json, type Json, type KubeJson } from "../models/kube/object.ts";
import { etcdMembers, NAME, NAMESPACE } from "../operator/environment.ts";
import { endStateOf } from "../operator/judge.ts";
import type { OperatorSimulation } from "../operator/simulation.ts";

export type Fingerprint = ReadonlyMap<string, string>;

/** Hashes of the spec: another value alone makes them differ, whether anything comes of it or not. */
const HASHES: ReadonlySet<string> = new Set([
  ANNOTATIONS.startedFrom,
  ANNOTATIONS.applied,
  ANNOTATIONS.given,
]);
const OF_THE_SERVER = new Set([
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "generation",
  "ownerReferences",
]);
/** Given by the server, and by whoever places Pods. */
const GIVEN = new Set([
  "peerIPs",
  "clusterIP",
  "clusterIPs",
  "ipFamilies",
  "nodePort",
  "nodeName",
  "volumeName",
]);
/** What a cluster has been through, and where a volume was made. */
const OF_A_LIFE = new Set([
  ANNOTATIONS.marks,
  ANNOTATIONS.joinedCertificate,
  ANNOTATIONS.token,
  ANNOTATIONS.inUse,
  ANNOTATIONS.lastUsed,
  ANNOTATIONS.volumeMarked,
  "volume.kubernetes.io/selected-node",
]);
const OF_A_MEMBER = new Set<string>([LABELS.clusterID, LABELS.memberID]);
/** How a member came into being, which one that took another's place does not share with it. */
const BIRTH = /^(initial-|force-new)/;
const OF_A_RECORD = new Set(["boot", "initialCluster", "memberID", "token", "volumeUID", "ordinal"]);

/** `effects`: without what is only a copy or a hash of the spec. */
export function fingerprint(sim: OperatorSimulation, how: "whole" | "effects" = "whole"): Fingerprint {
  const { server } = sim.env;
  const ranks = new Map(
    sim.env
      .members()
      .map(({ metadata }) => Number(metadata.name.slice(NAME.length + 1)))
      .toSorted((a, b) => a - b)
      .map((ordinal, rank) => [String(ordinal), rank]),
  );
  const plain = (text: string) =>
    // Founders are not asked whether they are learners; the server names the volume of a token as it likes.
    text
      .replaceAll("&exclude=non_learner", "")
      .replaceAll(/kube-api-access-\w+/g, "kube-api-access")
      .replaceAll(/\bdemo-(\d+)\b/g, (_, ordinal: string) => `demo-#${ranks.get(ordinal) ?? "gone"}`);
  const prints = new Map<string, string>();
  const add = (kind: Kind, of: (object: KubeJson) => unknown) => {
    for (const object of server.list(kind)) {
      const { name, namespace } = object.metadata;
      // Volumes that were kept on purpose are nobody's any more.
      const isKept = kind === claims && !ranks.has(name.slice(`data-${NAME}-`.length));
      // The Service of standing learners stays when they go.
      if (namespace === NAMESPACE && !isKept && name !== `${NAME}-learners`)
        prints.set(plain(`${kind.kind} ${name}`), plain(sorted([metadata(object, how), of(object)])));
    }
  };
  if (how === "whole") add(etcdMembers, ({ spec }) => cleaned(without(json(spec), OF_A_RECORD)));
  add(pods, ({ spec }) => cleaned(spec));
  add(services, ({ spec }) => cleaned(spec));
  add(budgets, ({ spec }) => spec);
  add(networkPolicies, ({ spec }) => spec);
  add(claims, ({ spec }) => cleaned(spec));
  add(secrets, ({ data }) => contents(json(data)));
  prints.set("cluster", JSON.stringify(clusterOf(sim)));
  return prints;
}

function metadata({ metadata: all, spec }: KubeJson, how: "whole" | "effects"): unknown {
  const kept = without(all as unknown as Json, OF_THE_SERVER);
  const annotations = without(json(kept["annotations"]), OF_A_LIFE);
  // Of a volume: which member of etcd it holds, and a member in its place is another one.
  const labels = without(json(kept["labels"]), OF_A_MEMBER);
  if (how === "effects") return { ...kept, labels, annotations: without(annotations, HASHES) };
  const { [ANNOTATIONS.startedFrom]: started, [ANNOTATIONS.applied]: applied, ...rest } = annotations;
  // A peer Service is applied with the address that its member has, which a member in its place does not share.
  const isOwnAddress = all.name.endsWith("-peer") && json(spec)["clusterIP"] !== undefined;
  return {
    ...kept,
    labels,
    annotations: rest,
    hashes: [started, isOwnAddress ? undefined : applied].map(hashIn),
  };
}

/** `<hash>/<how it was born>`, `<hash>-created`: only the hash is of the spec. */
function hashIn(text: unknown): string | undefined {
  return text === undefined ? undefined : String(text).split(/[/-]/)[0];
}

function without(object: Json, names: ReadonlySet<string>): Json {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.has(name)));
}

/** A Pod that its member joined from was touched; one that was made later was not. */
function isTouch(value: unknown): boolean {
  return json(value)["key"] === ANNOTATIONS.latched;
}

function cleaned(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((one) => !isTouch(one)).map(cleaned);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, child]) => (GIVEN.has(name) ? [] : [[name, cleaned(child)]])),
  );
}

/** etcd's configuration, and of certificates the names in them. */
function contents(data: Json): unknown {
  // A patch puts a file that comes back behind the others, which nobody can see.
  const files = Object.entries(data).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return files.map(([name, encoded]) => {
    const text = Buffer.from(String(encoded), "base64").toString();
    if (name !== FILES.config) return [name, /"sans":\{[^}]*\}/.exec(text)?.[0]];
    const config = JSON.parse(text) as Json;
    return [name, Object.fromEntries(Object.entries(config).filter(([key]) => !BIRTH.test(key)))];
  });
}

/** What its status tells of it, and what etcd is. */
function clusterOf(sim: OperatorSimulation): unknown {
  const status = json(sim.env.cluster()?.["status"]);
  const conditions = items(status["conditions"]).map(({ type, status: is, reason }) => [type, is, reason]);
  const { objects: _, ...end } = endStateOf(sim);
  const { replicas, readyReplicas, updatedReplicas, version, notApplicable } = status;
  return { end, conditions, replicas, readyReplicas, updatedReplicas, version, notApplicable };
}

/** The order of fields says nothing. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    isJson(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** What differs, in words. */
export function differences(before: Fingerprint, after: Fingerprint): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].flatMap((name) => {
    const [was, is] = [before.get(name), after.get(name)];
    if (was === is) return [];
    if (was === undefined) return [`${name} is new`];
    return is === undefined ? [`${name} is gone`] : [`${name}: ${around(was, is)}`];
  });
}

/** The first place where two texts differ. */
function around(was: string, is: string): string {
  let at = 0;
  while (was[at] === is[at]) at++;
  const begin = Math.max(0, at - 40);
  return `${was.slice(begin, at + 60)} → ${is.slice(begin, at + 60)}`;
}
