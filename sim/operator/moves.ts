/** The moves of a schedule, carried out: what each does to members, nodes, operators, the API server and the caches. */
import { API_VERSION } from "../../src/api/metadata.ts";
import { quorum } from "../../src/core/quorum.ts";
import { removeByHand } from "../rules/by-hand.ts";
import { faults, type Fault } from "../models/kube/faults.ts";
import { claims } from "../models/kube/kinds/claim.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import { services } from "../models/kube/kinds/service.ts";
import { budgets, networkPolicies, secrets } from "../models/kube/kinds/simple.ts";
import { ANNOTATIONS, claimName } from "../../src/operator/names.ts";
import { handle } from "./data-moves.ts";
import { deny } from "./denials.ts";
import { etcdMembers, NAMESPACE } from "./environment.ts";
import { give } from "./given-world.ts";
import { Lasting } from "./lasting.ts";
import { operate } from "./operation-moves.ts";
import type { Deed } from "./deeds.ts";
import type { OperatorSimulation } from "./simulation.ts";

const MEMBERS = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdmembers`;

type Of<Kind extends Deed["do"]> = Extract<Deed, { do: Kind }>;

const DESTRUCTIVE = new Set([
  "remove-member",
  "wipe",
  "lose-volume",
  "delete-claim",
  "break-file",
  "corrupt",
  "delete-member",
]);
/** Where the data is in the Pod, these destroy it too. */
const ENDS_POD = new Set(["delete-pod", "evict"]);

const HANDMADE = {
  secrets,
  services,
  poddisruptionbudgets: budgets,
  pods,
  persistentvolumeclaims: claims,
  etcdmembers: etcdMembers,
  networkpolicies: networkPolicies,
} as const;

const MOST_AHEAD_MS = 3_600_000;

export class Moves {
  readonly #sim: OperatorSimulation;
  readonly #lasting: Lasting;
  #nodes = 0;

  constructor(sim: OperatorSimulation) {
    this.#sim = sim;
    this.#lasting = new Lasting(sim);
  }

  perform(deed: Deed): void {
    if (deed.do !== "operate") this.#sim.operations.disturb();
    const reported = this.#perform(deed);
    this.#sim.tell(`${reported ?? "nothing"} ← ${JSON.stringify(deed)}`);
  }

  #perform(deed: Deed): string | undefined {
    switch (deed.do) {
      case "edit":
        return this.#sim.edit(deed.change) ? "edit" : "edit refused";
      case "member":
        return this.#member(deed);
      case "node":
        return this.#node(deed);
      case "operator":
        return this.#operator(deed);
      case "api":
        return this.#api(deed);
      case "hold":
        return this.#hold(deed);
      case "hand":
        return this.#hand(deed);
      case "fence":
        return this.#fence(deed);
      case "give":
        void give(this.#sim, deed.ca);
        return "give";
      case "clock":
        return this.#clock(deed);
      case "operate":
      case "cancel":
        return operate(this.#sim, deed);
      case "snapshot":
      case "drop-snapshot":
      case "restore":
      case "approve":
        return handle(this.#sim, deed);
      default:
        return deny(this.#sim, deed, this.#lasting);
    }
  }

  /** All faults end; what was destroyed stays so. */
  end(): void {
    this.#lasting.end();
    const { env } = this.#sim;
    for (const { metadata } of env.members())
      if (metadata.annotations?.[ANNOTATIONS.fence] !== undefined) this.#annotate(metadata.name, null);
    env.front.faults.clear();
    this.#sim.forbidNodes();
    env.disks.free();
    env.snapshots.faults.length = 0;
    env.fetches.faults.length = 0;
    env.pods.slow.clear();
    // No certificate is issued by a clock that is further off: a person sets it right.
    if (Math.abs(this.#sim.aheadMs) > MOST_AHEAD_MS) this.#sim.aheadMs = 0;
    for (const { life } of this.#sim.seats) life.aheadMs = this.#sim.aheadMs;
    env.nodes.clocks.correct(MOST_AHEAD_MS);
    for (const server of env.world.network.all()) {
      server.speed = 1;
      if (server.frozen) env.world.thaw(server);
    }
    env.world.reconsiderAll();
    this.#sim.tell("all faults end");
  }

  /** Every voter is well and nothing lasts that could take another one. */
  get #canSpare(): boolean {
    const { voters, healthy } = this.#sim.oracle.truth();
    return (
      voters >= 3 &&
      healthy.size === voters &&
      this.#lasting.size === 0 &&
      this.#sim.env.established() !== undefined
    );
  }

  /** Whatever else is wrong, a quorum is well without it. */
  #canSpareBoldly(member: string): boolean {
    const { voters, healthy, voterNames } = this.#sim.oracle.truth();
    const others = [...voterNames].filter(([id, name]) => name !== member && healthy.has(id));
    return voters >= 3 && others.length >= quorum(voters) && this.#sim.env.established() !== undefined;
  }

  #member({ fault, pick, bold }: Of<"member">): string | undefined {
    const sim = this.#sim;
    const { env } = sim;
    const names = env.members().map(({ metadata }) => metadata.name);
    const member = names[pick % Math.max(1, names.length)];
    if (member === undefined) return undefined;
    const destroys = DESTRUCTIVE.has(fault) || (this.#sim.inMemory && ENDS_POD.has(fault));
    const canSpare = bold && !sim.inMemory ? this.#canSpareBoldly(member) : this.#canSpare;
    if (destroys && !canSpare) return undefined;
    if (fault !== "delete-member") sim.harm();
    const server = env.pods.server(member);
    const disk = env.diskOf(member);
    const kill = () => server && env.world.signal(server, "SIGKILL");
    const dir = disk === undefined ? undefined : env.disks.of(disk);
    switch (fault) {
      case "kill":
        kill();
        break;
      case "delete-pod":
        sim.user({ method: "DELETE", path: `/api/v1/namespaces/${NAMESPACE}/pods/${member}` });
        break;
      case "evict":
        env.nodes.evict(`${NAMESPACE}/${member}`);
        break;
      case "freeze":
        if (server) env.world.freeze(server);
        break;
      case "slow":
        env.pods.slow.add(member);
        if (server) server.speed = 0.1;
        break;
      case "move-leader": {
        const raft = server?.runs ? env.world.raftOf(server) : undefined;
        if (raft?.leader && raft.leader !== server) raft.transfer(server);
        break;
      }
      case "disk-full":
        if (disk !== undefined) env.disks.fill(disk);
        kill();
        break;
      case "remove-member":
        removeByHand(env.world, env.calls, member);
        break;
      case "delete-member":
        sim.user({ method: "DELETE", path: `${MEMBERS}/${member}` });
        break;
      case "wipe":
        kill();
        if (disk !== undefined) env.disks.wipe(disk);
        break;
      case "lose-volume": {
        const volume = env.volumeOf(member);
        kill();
        if (disk !== undefined) env.disks.wipe(disk);
        if (volume !== undefined) env.nodes.volumes.destroy(volume);
        break;
      }
      case "delete-claim": {
        if (disk !== undefined) env.disks.wipe(disk);
        const of = `/api/v1/namespaces/${NAMESPACE}`;
        sim.user({ method: "DELETE", path: `${of}/persistentvolumeclaims/${claimName(member)}` });
        sim.user({ method: "DELETE", path: `${of}/pods/${member}` });
        break;
      }
      case "break-file":
        if (dir) dir.unreadable = true;
        kill();
        break;
      case "corrupt":
        if (dir) dir.corruption = 1 + pick;
        break;
    }
    return `${fault} ${member}`;
  }

  #node({ fault, pick, forMs }: Of<"node">): string | undefined {
    const sim = this.#sim;
    const { nodes } = sim.env;
    // Rather one that matters.
    const used = nodes.names.filter((name) => nodes.podsOn(name).length > 0);
    const name = used[pick % Math.max(1, used.length)];
    if (name === undefined || this.#lasting.size > 2) return undefined;
    if (this.#sim.inMemory && !this.#canSpare) return undefined;
    if (nodes.kubelet(name).power !== "on" || sim.env.cutOff.includes(name)) return undefined;
    sim.harm();
    switch (fault) {
      case "crash":
        nodes.crash(name);
        this.#lasting.add(forMs, () => nodes.boot(name));
        break;
      case "cut":
        sim.env.cutNode(name);
        this.#lasting.add(forMs, () => sim.env.healNode(name));
        break;
      case "freeze":
        nodes.freeze(name);
        this.#lasting.add(forMs, () => nodes.thaw(name));
        break;
      case "drain":
        nodes.drain(name);
        this.#lasting.add(forMs, () => nodes.cordon(name, false));
        break;
      case "remove":
        nodes.remove(name);
        nodes.add(`new${++this.#nodes}`);
        break;
      case "no-room": {
        const open = [...nodes.names];
        for (const one of open) nodes.cordon(one);
        this.#lasting.add(forMs, () => {
          for (const one of open) if (nodes.names.includes(one)) nodes.cordon(one, false);
        });
        break;
      }
    }
    return `${fault} ${name}`;
  }

  #operator({ fault, pick, forMs }: Of<"operator">): string | undefined {
    const { seats, env } = this.#sim;
    const seat = seats[pick % Math.max(1, seats.length)];
    if (seat === undefined) return undefined;
    const { life, name } = seat;
    switch (fault) {
      case "kill":
        life.cut("killed from outside");
        break;
      case "freeze":
        life.freeze();
        this.#lasting.impede(forMs, () => life.thaw());
        break;
      case "cut":
      case "cut-lease": {
        const isHit = (path: string) => fault === "cut" || path.includes("/leases/");
        let lasts = true;
        env.front.faults.plan(
          faults.unreachable,
          (who, { path }) => lasts && who === name && isHit(path),
          Infinity,
        );
        if (fault === "cut") env.front.cut(name);
        this.#lasting.impede(forMs, () => (lasts = false));
        break;
      }
    }
    return `${fault} ${name}`;
  }

  #api({ fault, forMs }: Of<"api">): string {
    const { front } = this.#sim.env;
    const next = (one: Fault) => front.faults.plan(one, (_, { method }) => method !== "GET", 1 + (forMs % 7));
    switch (fault) {
      case "restart":
        front.restart();
        break;
      case "freeze":
        front.freeze();
        this.#lasting.impede(forMs, () => front.thaw());
        break;
      case "stop":
        front.stop();
        this.#lasting.impede(forMs, () => front.start());
        break;
      case "lag":
        front.lag();
        this.#lasting.impede(forMs, () => front.catchUp());
        break;
      case "lost":
        next(faults.lost);
        break;
      case "reply-lost":
        next(faults.replyLost);
        break;
      case "silent":
        next(faults.silentAfter);
        break;
      case "busy":
        next(faults.busy(1));
        break;
    }
    return `API server: ${fault}`;
  }

  #hold({ cache, forMs, skip, restart }: Of<"hold">): string {
    const { front } = this.#sim.env;
    front.hold(cache);
    this.#lasting.impede(forMs, () => front.release(cache, skip));
    if (restart) for (const { life } of this.#sim.seats) life.cut("begins anew with an old cache");
    return `hold ${cache}`;
  }

  /** What the operator made is deleted, or loses its labels or its owner; it is made whole, and nothing else goes with it. */
  #hand({ what, plural, pick }: Of<"hand">): string | undefined {
    const sim = this.#sim;
    const kind = HANDMADE[plural];
    const found = sim.env.server.list(kind).filter(({ metadata }) => metadata.namespace === NAMESPACE);
    const object = found[pick % Math.max(1, found.length)];
    if (object === undefined) return undefined;
    const { name, ownerReferences } = object.metadata;
    if (plural === "pods") {
      if (this.#sim.inMemory && !this.#canSpare) return undefined;
      sim.harm();
    }
    const group = kind.group === "" ? "/api/v1" : `/apis/${kind.group}/${kind.version}`;
    const path = `${group}/namespaces/${NAMESPACE}/${plural}/${name}`;
    const metadata = what === "strip" ? { labels: null, annotations: null } : { ownerReferences: null };
    const contentType = "application/merge-patch+json";
    const { status } = sim.user(
      what === "delete"
        ? { method: "DELETE", path }
        : { method: "PATCH", path, body: { metadata }, contentType },
    );
    // Only a person can say that it is the cluster's after all, or has the keys of an authority in a backup.
    const isAuthority = plural === "secrets" && name.endsWith("-ca");
    if (what === "disown")
      this.#lasting.add(Infinity, () => {
        sim.user({ method: "PATCH", path, body: { metadata: { ownerReferences } }, contentType });
      });
    else if (what === "delete" && isAuthority)
      this.#lasting.add(Infinity, () => {
        const { uid: _, resourceVersion: __, ...rest } = object.metadata;
        sim.user({ method: "POST", path: path.replace(/\/[^/]+$/, ""), body: { ...object, metadata: rest } });
      });
    return `${what} ${plural} ${name}: ${status}`;
  }

  #fence({ pick, on }: Of<"fence">): string | undefined {
    const members = this.#sim.env.members();
    const name = members[pick % Math.max(1, members.length)]?.metadata.name;
    if (name === undefined) return undefined;
    return `${on ? "fence" : "unfence"} ${name}: ${this.#annotate(name, on ? "true" : null)}`;
  }

  #annotate(name: string, value: string | null): number {
    const body = { metadata: { annotations: { [ANNOTATIONS.fence]: value } } };
    const contentType = "application/merge-patch+json";
    return this.#sim.user({ method: "PATCH", path: `${MEMBERS}/${name}`, body, contentType }).status;
  }

  #clock({ pick, everywhere, jumpMs }: Of<"clock">): string | undefined {
    const { seats, env } = this.#sim;
    const seat = seats[pick % Math.max(1, seats.length)];
    if (everywhere) env.clock.jump(jumpMs);
    else if (seat) seat.life.aheadMs += jumpMs;
    else return undefined;
    return `the clock of ${everywhere ? "all" : seat?.name} jumps by ${jumpMs / 1000} s`;
  }
}
