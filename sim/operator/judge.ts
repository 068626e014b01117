/**
 * How a run of the operator ended: what must be the same with and without faults, whether the status tells the
 * truth of the model (I6), and that a cluster at rest causes no writes (I7).
 */
import type { EtcdClusterStatus } from "../../src/api/etcd-cluster-status.ts";
import { modeOf } from "../../src/core/config/flags.ts";
import { quorum } from "../../src/core/quorum.ts";
import { sameStatus } from "../../src/core/status/status-write.ts";
import { claimName, secretNames } from "../../src/operator/names.ts";
import { FILES } from "../../src/operator/render/config.ts";
import { certificatesIn } from "../machine/model-pki.ts";
import type { Kind } from "../models/kube/kind.ts";
import { claims } from "../models/kube/kinds/claim.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import { services } from "../models/kube/kinds/service.ts";
import { budgets, secrets } from "../models/kube/kinds/simple.ts";
import { json } from "../models/kube/object.ts";
import { dialledOtherwise } from "../oracles/end-state.ts";
import { Violation } from "../oracles/oracle.ts";
import { etcdMembers, NAME, NAMESPACE } from "./environment.ts";
import type { OperatorSimulation } from "./simulation.ts";

const COUNTED: readonly Kind[] = [etcdMembers, pods, claims, secrets, services, budgets];
/** Secrets, Services and budgets that are the cluster's and no member's. */
const OF_THE_CLUSTER = { secrets: 4, services: 3, poddisruptionbudgets: 1 } as const;

/** Modes in which no certificate for clients need ever have been published. */
const OWN_CLIENTS: ReadonlySet<string> = new Set(["Secrets", "Disabled"]);

export interface OperatorEndState {
  readonly objects: Readonly<Record<string, number>>;
  readonly voters: number;
  readonly learners: number;
  readonly versions: readonly string[];
  readonly clusterVersion: string | undefined;
  readonly alarms: number;
  /** What a person is reported, by reason. */
  readonly reported: readonly string[];
  /** How operations ended, where there were any. */
  readonly operations?: readonly string[];
}

function leaderState(sim: OperatorSimulation) {
  const { world } = sim.env;
  const running = world.network.all().filter((server) => server.runs);
  return running.find((server) => world.raftOf(server).leader === server)?.dir.state;
}

export function endStateOf(sim: OperatorSimulation): OperatorEndState {
  const { server, world } = sim.env;
  const state = leaderState(sim);
  const running = world.network.all().filter((one) => one.runs);
  const operations = sim.operations.outcomes();
  return {
    objects: Object.fromEntries(COUNTED.map((kind) => [kind.plural, countOf(sim, kind)])),
    voters: state?.voters().length ?? 0,
    learners: state?.learners() ?? 0,
    versions: [...new Set(running.map(({ version }) => version))].toSorted(),
    clusterVersion: state?.clusterVersion,
    alarms: state?.alarms.size ?? 0,
    reported: server.list(etcdMembers).length === 0 ? [] : reportedBy(sim),
    ...(operations.length > 0 && { operations }),
  };

  /** Claims that somebody keeps on purpose are nobody's any more. */
  function countOf({ env }: OperatorSimulation, kind: Kind): number {
    const all = kind === pods ? env.memberPods() : env.server.list(kind);
    const found = all.filter(({ metadata }) => metadata.namespace === NAMESPACE);
    // What snapshots need comes on top, and what cert-manager wrote; passwords stay when auth is disabled, and people and
    // users have Secrets of their own.
    if (kind === secrets)
      return found.filter(
        ({ metadata, type }) =>
          metadata.name !== secretNames(NAME).snapshot &&
          metadata.name !== secretNames(NAME).tokenKeys &&
          !metadata.name.endsWith("-issued") &&
          type !== "kubernetes.io/basic-auth" &&
          metadata.ownerReferences?.some((owner) => owner.kind !== "EtcdUser"),
      ).length;
    if (kind !== claims) return found.length;
    const current = new Set(env.members().map(({ metadata }) => claimName(metadata.name)));
    return found.filter(({ metadata }) => current.has(metadata.name)).length;
  }
}

export function reportedBy(sim: OperatorSimulation): string[] {
  return (sim.latest?.decision.holds ?? [])
    .filter(({ next }) => next !== undefined)
    .map(({ reason }) => reason);
}

/** As every member that serves has it. */
function isAuthOn({ env }: OperatorSimulation): boolean | "mixed" {
  const servers = env.members().flatMap(({ metadata }) => env.pods.server(metadata.name) ?? []);
  const said = new Set(servers.map(({ dir }) => dir.state.auth.enabled));
  const [first = false] = said;
  return said.size > 1 ? "mixed" : first;
}

/** Members whose tokens others refuse, or that sign with something else than the Secret of the cluster has. */
function wrongTokens({ env }: OperatorSimulation, isSigned: boolean): string[] {
  const servers = env.members().flatMap(({ metadata }) => env.pods.server(metadata.name) ?? []);
  const used = new Set(servers.map(({ tokenKey }) => tokenKey));
  const secret = env.server.get(secrets, `${NAMESPACE}/${secretNames(NAME).tokenKeys}`);
  const kept = Object.values(json(secret?.["data"] ?? {})).map((text) =>
    Buffer.from(String(text), "base64").toString(),
  );
  const [only] = used;
  if (used.size > 1) return [`${used.size} kinds of tokens are in use`];
  if ((only !== undefined) !== isSigned) return [isSigned ? "tokens are not signed" : "tokens are signed"];
  const wanted = only === undefined ? [] : [only];
  return kept.join(" ") === wanted.join(" ") ? [] : [`${kept.length} keys of tokens are kept`];
}

/** What is wrong with a cluster that says that it is converged. */
export function wrongWith(sim: OperatorSimulation): string[] {
  const { cluster } = sim;
  if (!sim.converged || !cluster || cluster.spec.replicas === 0) return [];
  const { replicas, learners, version } = cluster.spec;
  const end = endStateOf(sim);
  const wrong: string[] = [];
  const expect = (what: string, found: unknown, wanted: unknown) => {
    if (found !== wanted) wrong.push(`${what} is ${String(found)}, not ${String(wanted)}`);
  };
  const size = replicas + learners;
  expect("voters", end.voters, replicas);
  expect("learners", end.learners, learners);
  for (const one of ["etcdmembers", "pods"]) expect(one, end.objects[one], size);
  const isClaimed = cluster.spec.storage.medium === "Persistent";
  expect("claims", end.objects["persistentvolumeclaims"], isClaimed ? size : 0);
  // Of certificates, where there are any; whoever gives certificates, or gave them before, has those of their clients.
  const { mode, client, peer } = cluster.spec.tls;
  const isPlain = mode === "Disabled" && !client && !peer;
  const isOwn = OWN_CLIENTS.has(modeOf(cluster.spec.tls, "client")) && !hasClientSecret(sim);
  const ofCluster = isPlain ? 0 : OF_THE_CLUSTER.secrets - (isOwn ? 1 : 0);
  expect("secrets", end.objects["secrets"], size + ofCluster);
  // Of each member that its peers dial by a Service.
  const ofMembers = sim.env.members().filter(({ spec }) => hasPeerService(spec)).length;
  const services = OF_THE_CLUSTER.services + ofMembers;
  // The Service of standing learners stays when they go.
  const ofLearners = learners > 0 || end.objects["services"] === services + 1 ? 1 : 0;
  expect("services", end.objects["services"], services + ofLearners);
  expect("budgets", end.objects["poddisruptionbudgets"], OF_THE_CLUSTER.poddisruptionbudgets);
  expect("versions", end.versions.join(" "), version);
  expect("alarms", end.alarms, 0);
  if (cluster.spec.auth) expect("auth", isAuthOn(sim), cluster.spec.auth.enabled);
  wrong.push(...wrongTokens(sim, cluster.spec.auth?.token?.type === "JWT"));
  wrong.push(...wrongServers(sim), ...dialledOtherwise(sim.env.world));
  return [...wrong, ...sim.operations.unfinished(), ...oldLeaves(sim), ...untrue(sim)];
}

/** Server certificates that are a client's although the gateway has its own (R51), or that it cannot dial with. */
function wrongServers({ env, cluster }: OperatorSimulation): string[] {
  const tls = cluster?.spec.tls;
  // What a person gives may be for both.
  const isAsked =
    tls?.clientAuth === "Required" && ["Managed", "CertManager"].includes(modeOf(tls, "client"));
  if (!isAsked) return [];
  return env.members().flatMap(({ metadata: { name } }) => {
    const server = env.pods.server(name);
    const data = json(env.server.get(secrets, `${NAMESPACE}/${name}`)?.["data"] ?? {});
    const shown = certificatesIn(Buffer.from(String(data[FILES.serverPem] ?? ""), "base64").toString());
    const [leaf] = shown.filter(({ isCa }) => !isCa);
    if (!server || !leaf) return [];
    const hasOwn = server.start.configText.includes(FILES.gatewayPem);
    const isClient = leaf.usages.includes("clientAuth");
    return hasOwn === isClient ? [`the gateway of ${name} and its server certificate do not fit`] : [];
  });
}

function hasClientSecret({ env }: OperatorSimulation): boolean {
  return env.server.get(secrets, `${NAMESPACE}/${secretNames(NAME).client}`) !== undefined;
}

function hasPeerService(spec: unknown): boolean {
  return String(json(json(spec)["address"])["peerURL"]).includes("-peer.");
}

/** Leaves last 90 days and are renewed with a third of that left: less than this, and nobody renews them. */
const LEAF_LEFT_MS = 20 * 86_400_000;

/** Serials from here on are of CAs of users and issuers, who renew what they give when it suits them. */
const FIRST_OF_OTHERS = 1_000_000;
const isOurs = (issuer: string) => Number.parseInt(issuer, 16) < FIRST_OF_OTHERS;

export function oldLeaves({ env }: OperatorSimulation): string[] {
  const now = env.clock.now();
  return env.server
    .list(secrets)
    .filter(({ metadata }) => metadata.namespace === NAMESPACE)
    .flatMap(({ metadata, data }) =>
      Object.entries(json(data)).flatMap(([file, text]) =>
        certificatesIn(Buffer.from(String(text), "base64").toString())
          .filter(({ isCa, notAfter, issuer }) => !isCa && isOurs(issuer) && notAfter - now < LEAF_LEFT_MS)
          .map(() => `${file} of Secret ${metadata.name} is due and not renewed`),
      ),
    );
}

/** I6: what the status says against what is so. */
export function untrue(sim: OperatorSimulation): string[] {
  const { status } = json(sim.env.cluster()) as { status?: EtcdClusterStatus };
  const { voters, healthy } = sim.oracle.truth();
  const isServed = voters > 0 && healthy.size >= quorum(voters);
  const alarms = leaderState(sim)?.alarms.size ?? 0;
  const reported = (type: string) => status?.conditions?.find((one) => one.type === type)?.status;
  const wrong: string[] = [];
  const expect = (what: string, found: unknown, wanted: unknown) => {
    if (found !== wanted) wrong.push(`the status says ${what} ${String(found)}, and it is ${String(wanted)}`);
  };
  expect("Quorate", reported("Quorate"), isServed ? "True" : "False");
  expect("Available", reported("Available"), isServed && alarms === 0 ? "True" : "False");
  if (!isServed) return wrong;
  expect("readyReplicas", status?.readyReplicas, healthy.size);
  if (sim.converged) {
    expect("Degraded", reported("Degraded"), "False");
    expect("Ready", reported("Ready"), "True");
    expect("Reconciling", reported("Reconciling"), "False");
    expect("Stalled", reported("Stalled"), "False");
    expect("observedGeneration", status?.observedGeneration, sim.cluster?.metadata.generation);
  }
  return wrong;
}

/** Comparing and giving free pages back is what maintenance is for. */
const MAINTENANCE = /^Maintenance\./;
const OPERATION_OF = / etcdoperations (\S+)/;
const STATUS_WRITE = /^PATCH etcdclusters \S+ status$/;

export async function staysQuiet(sim: OperatorSimulation, ms = 60_000): Promise<void> {
  const { version } = sim.env.server.storage;
  const before = sim.effects.count;
  const reported = statusOf(sim);
  const elsewhere = sim.operations.elsewhere();
  await sim.pass(ms);
  const since = sim.effects.names
    .slice(before)
    .filter((name) => !MAINTENANCE.test(name) && !elsewhere.has(OPERATION_OF.exec(name)?.[1] ?? ""));
  // Numbers that have moved a lot are reported once in ten minutes (status-write.ts).
  const isNumbers =
    since.length === 1 && STATUS_WRITE.test(since[0] ?? "") && sameStatus(reported, statusOf(sim), 0);
  if (since.length > 0 && !isNumbers)
    throw new Violation("I7", `converged, and yet: ${since.slice(0, 5).join(", ")}`);
  const changed = COUNTED.filter((kind) => [...sim.env.server.storage.since(kind, version)].length > 0);
  if (changed.length > 0)
    throw new Violation("I7", `converged, and yet ${changed.map(({ plural }) => plural).join(", ")} changed`);
}

/** But for what is measured over minutes, and known when it is: the clocks of nodes, and how fast the database grows. */
function statusOf(sim: OperatorSimulation): EtcdClusterStatus {
  const { status = {} } = json(sim.env.cluster()) as { status?: EtcdClusterStatus };
  const { quotaFullAt: _, warnings = [], ...rest } = status;
  return { ...rest, warnings: warnings.filter((one) => !one.startsWith("The clock of node ")) };
}
