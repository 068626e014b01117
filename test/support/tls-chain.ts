/**
 * A cluster whose TLS changes under applications, by operators that die after some effects each. Where clients have to
 * change sides, one of the old side and one of the new are served at the same time.
 */
import assert from "node:assert/strict";
import process from "node:process";
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import type { TlsCredentials } from "../../src/etcd/types.ts";
import { ANNOTATIONS } from "../../src/operator/names.ts";
import type { Endpoint } from "../../src/seams/etcd-transport.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { secretFiles } from "./bed-secrets.ts";
import { PATHS } from "./kube-paths.ts";
import { assertNoLeakOnBed } from "./leaks.ts";
import { ClusterOnBed } from "./operator.ts";
import type { Life, OperatorLives } from "./operator-lives.ts";
import { QuorumWatch } from "./quorum-watch.ts";
import { EVERY_CASE } from "./sample.ts";
import { Writer } from "./writer.ts";

export const CLUSTER = "chain";
export type Mode = "Disabled" | "Managed" | "CertManager" | "Secrets";
export type Planes = "both" | "client" | "peer";
type Plane = "client" | "peer";

/** An operator dies after so many effects, writes of its status among them: with every case, after each one. */
export const EFFECTS = Number(process.env["QUORATE_EFFECTS"] ?? (EVERY_CASE ? 1 : 25));
/** Long enough for an application to see the phase and to reload; it begins again with each operator. */
const SOAK = "15s";
/** What is approved of an edit of the spec is named by a hash. */
const OF_AN_EDIT = /^[0-9a-f]{16}$/;
const PATIENCE = { withinMs: 1_800_000 };
export const MEMBERS = 3;

const NONE = { secrets: null, certManager: null };
const SOURCES: Readonly<Record<Plane, Readonly<Record<Mode, object>>>> = {
  client: {
    Disabled: NONE,
    Managed: NONE,
    CertManager: { ...NONE, certManager: { server: { name: "servers" }, operator: { name: "clients" } } },
    Secrets: { ...NONE, secrets: { server: "my-server", operator: "my-operator" } },
  },
  peer: {
    Disabled: NONE,
    Managed: NONE,
    CertManager: { ...NONE, certManager: { member: { name: "peers" } } },
    Secrets: { ...NONE, secrets: { member: "my-peer" } },
  },
};

export interface ChainOptions {
  readonly bed: TestTestbed;
  readonly lives: OperatorLives;
  readonly planes: Planes;
  /** A client certificate of the user's own CA, as the files of a Secret. */
  readonly own: Readonly<Record<string, string>>;
}

export interface Told {
  readonly who: string;
  readonly acknowledged: number;
  readonly gapMs: number;
  readonly stallMs: number;
  /** Failed with the leader, or with the connection, that they were sent to. */
  readonly lost: number;
  /** On their way to a peer whose URL changed; etcd drops them. */
  readonly dropped: number;
  readonly unexplained: readonly string[];
  /** Acknowledged, and not there in the end. */
  readonly missing: readonly string[];
}

interface Client {
  readonly who: string;
  readonly writer: Writer;
}

type Credentials = () => Promise<TlsCredentials | undefined>;

export class Chain implements AsyncDisposable {
  readonly #cluster: ClusterOnBed;
  readonly #options: ChainOptions;
  readonly #told: Client[] = [];
  readonly #clients = new Set<Client>();
  #life: Life | undefined;
  #stopping = false;
  #operators: Promise<void> = Promise.resolve();
  #mode: Mode = "Disabled";
  #ids: unknown;
  /** What the application shows now. */
  #shows: Credentials;
  #main: Client | undefined;
  #watch: QuorumWatch | undefined;
  deaths = 0;

  private constructor(options: ChainOptions) {
    this.#options = options;
    this.#cluster = new ClusterOnBed(options.bed, CLUSTER);
    this.#shows = () => this.#published();
  }

  static async begin(options: ChainOptions): Promise<Chain> {
    const chain = new Chain(options);
    chain.#operators = chain.#live();
    const planes = chain.#planes.map((plane) => [plane, { mode: "Disabled" }]);
    await chain.#cluster.create({ replicas: MEMBERS, tls: Object.fromEntries(planes) as object });
    await chain.#rests();
    chain.#ids = await chain.#memberIds();
    chain.#watch = new QuorumWatch(chain.#cluster);
    const isPlain = chain.#planes.includes("client");
    chain.#main = await (isPlain ? chain.#plain("in plaintext") : chain.#secure("with TLS", chain.#follows));
    return chain;
  }

  get #planes(): readonly Plane[] {
    const { planes } = this.#options;
    return planes === "both" ? ["client", "peer"] : [planes];
  }

  async #live(): Promise<void> {
    for (; !this.#stopping; this.deaths++) {
      this.#life = this.#options.lives.live(EFFECTS);
      if (!(await this.#life.ended)) return;
    }
  }

  /** Resolves when the cluster rests in this mode. */
  async change(mode: Mode): Promise<void> {
    const before = this.#mode;
    this.#mode = mode;
    const isRotated = before !== "Disabled" && mode !== "Disabled";
    const changing = this.#planes.includes("client");
    const held = changing && isRotated ? await this.#holding(before) : undefined;
    const published = held && (await this.#published()).cert;
    const planes = this.#planes.map((plane) => [plane, { mode, ...SOURCES[plane][mode] }]);
    const rotation = this.#isAllPlain ? null : { soak: SOAK };
    await this.#cluster.edit({ tls: { rotation, ...(Object.fromEntries(planes) as object) } });
    if (held) await this.#changeSides(held, mode, published);
    else if (changing) await this.#changeScheme(mode);
    await this.#rests();
    assert.deepEqual(await this.#memberIds(), this.#ids, "the same members");
  }

  /** A client of the old side: it loads CAs, and keeps the certificate that it has. */
  async #holding(before: Mode): Promise<Client> {
    const loads = this.#shows;
    const kept = await loads();
    assert.ok(kept);
    const credentials = async () => {
      const { ca = kept.ca } = (await loads()) ?? {};
      return { ...kept, ca };
    };
    const who = `with a certificate of ${before}`;
    return await this.#start(who, { endpoints: () => this.#endpoints("https"), credentials, perSecond: 20 });
  }

  /** From when members show certificates of the new CA until they end the old one, both sides are served. */
  async #changeSides(old: Client, mode: Mode, published: string | undefined): Promise<void> {
    const isNew = async () =>
      (await this.#phase("client")) === "Reissue" &&
      (mode === "Secrets" || (await this.#published()).cert !== published);
    await eventually("clients can have new certificates", isNew, { ...PATIENCE, everyMs: 100 });
    this.#shows = mode === "Secrets" ? () => this.#own() : () => this.#published();
    const main = this.#main as Client;
    await this.#served(old, 10);
    await this.#served(main, 100);
    await this.#stop(old);
  }

  /** While both schemes are open, both sides are served; then it is approved. */
  async #changeScheme(mode: Mode): Promise<void> {
    const approval = await eventually(
      "an approval is waited for",
      // Where a member is slow to answer there is one more, to replace it.
      async () =>
        (await this.#cluster.status()).approvals?.find(({ approval }) => OF_AN_EDIT.test(approval))?.approval,
      PATIENCE,
    );
    const old = this.#main as Client;
    this.#shows = () => this.#published();
    const next = await (mode === "Disabled"
      ? this.#plain("again in plaintext")
      : this.#secure("with TLS", this.#follows));
    await this.#served(next, 100);
    await this.#served(old, 100);
    this.#main = next;
    await this.#stop(old);
    const metadata = { annotations: { [ANNOTATIONS.approve]: approval } };
    await this.#options.bed.client.patch(`${PATHS.clusters}/${CLUSTER}`, { metadata });
  }

  readonly #follows: Credentials = () => this.#shows();

  /** Of the rotation of this plane's CA; where there is none, nothing is rotated. */
  async #phase(plane: Plane): Promise<string | undefined> {
    const { items } = await this.#options.bed.client.get<{ items: Secret[] }>(PATHS.secrets);
    const found = items.find(({ metadata }) => metadata?.name === `${CLUSTER}-${plane}-ca`);
    const note = found?.metadata?.annotations?.[ANNOTATIONS.rotation];
    return note === undefined ? "Steady" : (JSON.parse(note) as { phase?: string }).phase;
  }

  async #published(): Promise<TlsCredentials> {
    const text = await secretFiles(this.#options.bed, `${CLUSTER}-client-tls`);
    return { ca: text("ca.crt"), cert: text("tls.crt"), key: text("tls.key") };
  }

  /** Of the user's CA, and trusting whom members may show certificates of. */
  async #own(): Promise<TlsCredentials> {
    const { own, bed } = this.#options;
    const text = await secretFiles(bed, `${CLUSTER}-client-ca`);
    return { ca: text("ca.crt"), cert: own["tls.crt"] ?? "", key: own["tls.key"] ?? "" };
  }

  #plain(who: string): Promise<Client> {
    return this.#start(who, { endpoints: () => this.#endpoints("http") });
  }

  #secure(who: string, credentials: Credentials): Promise<Client> {
    return this.#start(who, { endpoints: () => this.#endpoints("https"), credentials });
  }

  async #start(who: string, options: Parameters<typeof Writer.start>[0]): Promise<Client> {
    const client = { who, writer: await Writer.start(options) };
    this.#clients.add(client);
    return client;
  }

  async #served(client: Client, more: number): Promise<void> {
    const { writer, who } = client;
    const before = writer.acknowledged;
    const isServed = () => {
      if (writer.acknowledged >= before + more) return true;
      throw new Error(
        `${writer.acknowledged - before} writes; ${writer.failures.slice(-3).map(String).join()}`,
      );
    };
    await eventually(`${who} is served`, isServed);
  }

  async #endpoints(scheme: string): Promise<Endpoint[]> {
    return (await this.#cluster.pods()).flatMap(({ metadata, status }) => {
      const [name = "", address] = [metadata?.name, status?.podIP];
      if (address === undefined) return [];
      const serverName = `${name}.${CLUSTER}-peers.default.svc`;
      return [{ name, url: `${scheme}://${address}:2379`, serverName }];
    });
  }

  async #memberIds(): Promise<unknown> {
    return (await this.#cluster.status()).members?.map(({ name, id }) => `${name} ${id}`);
  }

  async #rests(): Promise<void> {
    const rests = async () => {
      await this.#cluster.converged(MEMBERS);
      for (const plane of ["client", "peer"] as const)
        if ((await this.#phase(plane)) !== "Steady") return false;
      return (await this.#cluster.condition("TLSReady")).startsWith("True/") || this.#isAllPlain;
    };
    await eventually(`${this.#mode} is in effect`, rests, PATIENCE);
  }

  get #isAllPlain(): boolean {
    return this.#mode === "Disabled" && this.#planes.length === 2;
  }

  async #stop(client: Client): Promise<void> {
    this.#clients.delete(client);
    this.#told.push(client);
    await client.writer.stop();
  }

  /** What each client met, and how many members answered at the least; no operator is left. */
  async end(): Promise<{ readonly clients: readonly Told[]; readonly leastUp: number }> {
    for (const client of this.#clients) await this.#stop(client);
    const { least = 0 } = (await this.#watch?.stop()) ?? {};
    await this.#cluster.assertSound(MEMBERS);
    const { bed, lives } = this.#options;
    await assertNoLeakOnBed(bed, { log: lives.log, steps: lives.effects, calls: [] }, CLUSTER);
    const reader = await this.#cluster.etcd();
    const told = await Promise.all(
      this.#told.map(async ({ who, writer }) => toldOf(who, writer, await writer.missing(reader))),
    );
    await this.#endOperators();
    return { clients: told, leastUp: least };
  }

  async #endOperators(): Promise<void> {
    this.#stopping = true;
    await this.#life?.stop();
    await this.#operators;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { writer } of this.#clients) await writer.stop().catch(() => undefined);
    await this.#watch?.stop().catch(() => undefined);
    await this.#endOperators();
    await this.#cluster.close();
  }
}

function toldOf(who: string, writer: Writer, missing: readonly string[]): Told {
  const { lost, dropped, unexplained } = writer.failed;
  return {
    who,
    acknowledged: writer.acknowledged,
    gapMs: writer.longestGapMs,
    stallMs: writer.longestStallMs,
    lost: lost.length,
    dropped: dropped.length,
    unexplained: unexplained.map(String),
    missing,
  };
}
