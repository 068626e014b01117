/** What the operator alone is denied, carried out: denial-schedule.ts says what each is. */
import { quorum } from "../../src/core/quorum.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import { services } from "../models/kube/kinds/service.ts";
import { budgets, secrets } from "../models/kube/kinds/simple.ts";
import { refusal } from "../models/kube/refusal.ts";
import { Refusal } from "../models/etcd/refusal.ts";
import type { Denial } from "./deeds.ts";
import { NAMESPACE } from "./environment.ts";
import type { Lasting } from "./lasting.ts";
import type { OperatorSimulation } from "./simulation.ts";

type Of<Kind extends Denial["do"]> = Extract<Denial, { do: Kind }>;

const KINDS = { secrets, services, poddisruptionbudgets: budgets, pods } as const;
const REFUSALS = {
  webhook: refusal(500, "InternalError", 'failed calling webhook "policy.example": connection refused'),
  quota: refusal(403, "Forbidden", "exceeded quota: small, requested: 1, used: 1, limited: 1"),
  forbidden: refusal(403, "Forbidden", "is forbidden: operator cannot create it"),
} as const;
const CONTESTED = "app.kubernetes.io/managed-by";
const OTHERS_NAME = "somebody-else";
const INSISTS_MS = 100;
const ELSEWHERE = "https://elsewhere.example:2380";
const TRIES_MS = 1_000;
const HELD = "example.com/held";

export function deny(sim: OperatorSimulation, deed: Denial, lasting: Lasting): string | undefined {
  switch (deed.do) {
    case "blind":
      return blind(sim, deed, lasting);
    case "refuse":
      return refuse(sim, deed, lasting);
    case "contest":
      return contest(sim, deed, lasting);
    case "stick":
      return stick(sim, deed, lasting);
    case "foreign":
      return foreign(sim, deed, lasting);
    case "doubt":
      return doubt(sim, deed);
    case "node-clock":
      return nodeClock(sim, deed);
    case "late-files":
      return lateFiles(sim, deed, lasting);
    case "cut-kubelet":
      return cutKubelet(sim, deed, lasting);
    case "empty":
      return empty(sim, deed);
  }
}

function picked(sim: OperatorSimulation, pick: number): string | undefined {
  const names = sim.env.members().map(({ metadata }) => metadata.name);
  return names[pick % Math.max(1, names.length)];
}

/** One more member, or all, which ends what was hidden before too. */
function blind(sim: OperatorSimulation, { pick, all, forMs }: Of<"blind">, lasting: Lasting) {
  const { env } = sim;
  const hidden = all ? "all" : picked(sim, pick);
  if (hidden === undefined || env.unreachable === "all" || env.unreachable.has(hidden)) return undefined;
  env.unreachable = hidden === "all" ? "all" : new Set([...env.unreachable, hidden]);
  lasting.add(forMs, () => {
    if (hidden === "all") env.unreachable = new Set();
    else if (env.unreachable !== "all")
      env.unreachable = new Set([...env.unreachable].filter((one) => one !== hidden));
  });
  return `no operator reaches ${hidden === "all" ? "any member" : hidden}`;
}

function refuse(sim: OperatorSimulation, { plural, how, forMs }: Of<"refuse">, lasting: Lasting) {
  let lasts = true;
  sim.env.front.faults.plan(
    { kind: "answer", done: false, response: REFUSALS[how] },
    (_, { method, path }) => lasts && method === "POST" && path.endsWith(`/${plural}`),
    Infinity,
  );
  lasting.add(forMs, () => (lasts = false));
  return `${plural} are refused (${how})`;
}

function contest(sim: OperatorSimulation, { plural, pick, forMs }: Of<"contest">, lasting: Lasting) {
  const kind = KINDS[plural];
  const found = sim.env.server.list(kind).filter(({ metadata }) => metadata.namespace === NAMESPACE);
  const name = found[pick % Math.max(1, found.length)]?.metadata.name;
  if (name === undefined) return undefined;
  const group = kind.group === "" ? "/api/v1" : `/apis/${kind.group}/${kind.version}`;
  const path = `${group}/namespaces/${NAMESPACE}/${plural}/${name}`;
  const body = { metadata: { labels: { [CONTESTED]: OTHERS_NAME } } };
  let lasts = true;
  const insist = () => {
    if (!lasts) return;
    const now = sim.env.server.get(kind, `${NAMESPACE}/${name}`);
    if (now && now.metadata.labels?.[CONTESTED] !== OTHERS_NAME)
      sim.user({ method: "PATCH", path, body, contentType: "application/merge-patch+json" });
    sim.env.scheduler.after(INSISTS_MS, insist);
  };
  insist();
  lasting.add(forMs, () => (lasts = false));
  return `somebody insists on a label of ${plural} ${name}`;
}

function stick(sim: OperatorSimulation, { pick, forMs }: Of<"stick">, lasting: Lasting): string | undefined {
  const member = picked(sim, pick);
  if (member === undefined || sim.inMemory) return undefined;
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${member}`;
  const contentType = "application/merge-patch+json";
  const before = sim.env.server.get(pods, `${NAMESPACE}/${member}`);
  if (!before) return undefined;
  const { uid } = before.metadata;
  sim.harm();
  sim.user({ method: "PATCH", path, body: { metadata: { finalizers: [HELD] } }, contentType });
  sim.user({ method: "DELETE", path });
  lasting.add(forMs, () => {
    const now = sim.env.server.get(pods, `${NAMESPACE}/${member}`);
    if (now?.metadata.uid !== uid) return;
    const finalizers = (now.metadata.finalizers ?? []).filter((one) => one !== HELD);
    sim.user({ method: "PATCH", path, body: { metadata: { finalizers } }, contentType });
  });
  return `the Pod of ${member} hangs`;
}

/** It stays until its owner takes it away. A voter more that never starts is added where that costs nobody the quorum. */
function foreign(sim: OperatorSimulation, { learner }: Of<"foreign">, lasting: Lasting): string | undefined {
  const { world, calls } = sim.env;
  const voter = () => world.network.all().find((one) => one.serving && one.runs && !one.isLearner);
  const { voters, healthy } = sim.oracle.truth();
  const by = voter();
  if (!by || (!learner && (voters < 3 || healthy.size < voters))) return undefined;
  try {
    const { id } = calls.memberAdd(by, [ELSEWHERE], learner);
    const takeAway = () => {
      const there = voter();
      if (there && !there.dir.state.members.has(id)) return;
      try {
        if (there) return calls.memberRemove(there, id);
      } catch (failure) {
        if (!(failure instanceof Refusal)) throw failure;
      }
      sim.env.scheduler.after(TRIES_MS, takeAway);
    };
    lasting.add(Infinity, takeAway);
    return `a foreign ${learner ? "learner" : "voter"} is added`;
  } catch (error) {
    if (error instanceof Refusal) return `a foreign member is refused: ${error.message}`;
    throw error;
  }
}

function doubt(sim: OperatorSimulation, { pick }: Of<"doubt">): string | undefined {
  const running = sim.env.world.network.all().filter((one) => one.runs);
  const one = running[pick % Math.max(1, running.length)];
  const other = running[(pick + 1) % Math.max(1, running.length)];
  if (!one || !other || one === other) return undefined;
  one.doubt(other);
  return `${one.key} counts ${other.key} as lost`;
}

function nodeClock(sim: OperatorSimulation, { pick, jumpMs }: Of<"node-clock">): string | undefined {
  const { nodes } = sim.env;
  const name = nodes.names[pick % Math.max(1, nodes.names.length)];
  if (name === undefined) return undefined;
  nodes.clocks.set(name, nodes.clocks.aheadMs(name) + jumpMs);
  return `the clock of ${name} jumps by ${jumpMs / 1_000} s`;
}

function lateFiles(sim: OperatorSimulation, { lateMs, forMs }: Of<"late-files">, lasting: Lasting): string {
  const { nodes } = sim.env;
  nodes.writeFilesAfter(lateMs);
  lasting.add(forMs, () => nodes.writeFilesAfter());
  return `kubelets write files ${lateMs / 1_000} s late`;
}

function cutKubelet(sim: OperatorSimulation, { pick, forMs }: Of<"cut-kubelet">, lasting: Lasting) {
  const { nodes, cutOff } = sim.env;
  const used = nodes.names.filter((name) => nodes.podsOn(name).length > 0);
  const name = used[pick % Math.max(1, used.length)];
  if (name === undefined || !nodes.kubelet(name).isHeard || cutOff.includes(name)) return undefined;
  sim.harm();
  nodes.cut(name);
  lasting.add(forMs, () => {
    if (nodes.names.includes(name)) nodes.heal(name);
  });
  return `the kubelet of ${name} is cut off from the API server`;
}

/** Where the data is in the Pods, their end is its end. */
function empty(sim: OperatorSimulation, { who, pick }: Of<"empty">): string | undefined {
  const { env } = sim;
  const names = env.members().map(({ metadata }) => metadata.name);
  const some = who === "one" ? 1 : who === "quorum" ? quorum(names.length) : names.length;
  const hit = names.map((_, index) => names[(pick + index) % names.length] ?? "").slice(0, some);
  if (hit.length === 0) return undefined;
  sim.harm();
  for (const name of hit) {
    const server = env.pods.server(name);
    if (server) env.world.signal(server, "SIGKILL");
    const disk = env.diskOf(name);
    if (disk !== undefined) env.disks.wipe(disk);
    else sim.user({ method: "DELETE", path: `/api/v1/namespaces/${NAMESPACE}/pods/${name}` });
  }
  return `the data of ${hit.join(", ")} is gone`;
}
