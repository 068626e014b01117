/**
 * Conformance of the model etcd with auth on: random calls by users with and without roles, by nobody, with tokens that are
 * no longer good and by certificates, of one member or several that restart, all answers compared. Each round begins with
 * auth enabled.
 */
import { SeededRandom } from "../../../engine/random.ts";
import { agree, isTimeout, PROBE, withoutLeader } from "./agree.ts";
import { authCall } from "./auth-calls.ts";
import { keyCall, login, NAMES, otherCall, PREPARATION } from "./auth-steps.ts";
import type { Bearer } from "./bearer.ts";
import type { Call, Outcome } from "./calls.ts";
import { configOf, type Ground } from "./ground.ts";
import { ModelSide } from "./model-side.ts";
import type { Side, Slot } from "./side.ts";

const PATIENT_MS = 10_000;
const STARTED_MS = 60_000;

export interface AuthRun {
  readonly real: Side & { readonly bearer: Bearer };
  /** One for each member. */
  readonly slots: readonly Slot[];
  readonly version: string;
  readonly seed: number;
  readonly calls: number;
  readonly callsPerRound: number;
  /** As in the file of etcd, of signed tokens; of type Simple where it is not said. */
  readonly authToken?: string;
  /** As in the file of etcd, where clients have to show certificates: the common name is the user (R55). */
  readonly clientTLS?: Readonly<Record<string, unknown>>;
  /** How probable it is that a member restarts before a call. */
  readonly restarts?: number;
  readonly now: () => number;
  readonly wait: (ms: number) => Promise<void>;
  readonly onDifference: (text: string) => void;
}

export interface AuthReport {
  calls: number;
  /** By both. */
  refused: number;
  restarts: number;
  disagreements: number;
}

/** How a caller comes: each side has given its own token. */
interface Caller {
  readonly who: string;
  readonly real: string | undefined;
  readonly model: string | undefined;
  /** The common name of the certificate that it shows. */
  readonly shown: string | undefined;
}

export async function conformAuth(options: AuthRun): Promise<AuthReport> {
  const run = new Run(options);
  while (run.report.calls < options.calls) await run.round();
  return run.report;
}

class Run {
  readonly report: AuthReport = { calls: 0, refused: 0, restarts: 0, disagreements: 0 };
  readonly #options: AuthRun;
  readonly #random: SeededRandom;
  readonly #model: ModelSide;
  readonly #nobody: Caller;
  readonly #forged: Caller;
  #rounds = 0;
  #logins: Caller[] = [];
  #steps: string[] = [];
  #ground!: Ground;
  /** The member that is down, of several. */
  #down: Slot | undefined;

  constructor(options: AuthRun) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    this.#model = new ModelSide(this.#random.fork());
    // With TLS everybody has a certificate; one without a name is nobody's.
    const shown = options.clientTLS && "";
    this.#nobody = { who: "nobody", real: undefined, model: undefined, shown };
    this.#forged = { who: "a forged token", real: "no such token", model: "no such token", shown };
  }

  async round(): Promise<void> {
    const random = this.#random.fork();
    this.#rounds++;
    this.#logins = [this.#nobody, this.#forged];
    this.#steps = [];
    this.#down = undefined;
    await this.#found();
    const [first] = this.#options.slots as [Slot];
    const end = this.report.calls + this.#options.callsPerRound;
    for (const call of PREPARATION) if (!(await this.#call(first, this.#nobody, call))) return;
    for (const user of ["root", "alice", "bob"])
      if (!(await this.#call(first, this.#nobody, login(user, "one")))) return;
    if (this.#options.clientTLS)
      for (const shown of NAMES)
        this.#logins.push({
          who: `the certificate of ${shown || "nobody"}`,
          real: undefined,
          model: undefined,
          shown,
        });
    while (this.report.calls < end) {
      if (random.chance(this.#options.restarts ?? 0)) await this.#restart(random);
      const slot = random.pick(this.#up);
      if (!(await this.#call(slot, this.#whose(random), this.#next(random, slot)))) return;
    }
  }

  get #up(): readonly Slot[] {
    return this.#options.slots.filter((slot) => slot !== this.#down);
  }

  async #found(): Promise<void> {
    const { real, slots, version, seed, authToken, clientTLS } = this.#options;
    await Promise.all([real.clear(), this.#model.clear()]);
    const extra = {
      "bcrypt-cost": 4,
      ...(authToken !== undefined && { "auth-token": authToken }),
      ...(clientTLS && { "client-transport-security": clientTLS }),
    };
    const token = `seed ${seed} round ${this.#rounds}`;
    this.#ground = { model: this.#model, slots, founders: slots, token, version, extra };
    for (const slot of slots) await this.#start(slot);
    await this.#settle();
    const wanted = withoutLeader(await this.#status(this.#model, slots[0] as Slot));
    // It tells its own version of the storage a moment after it serves.
    for (const slot of slots)
      await this.#until(slot, async () => {
        const found = await this.#status(real, slot);
        const own = slot === slots[0] ? wanted : withoutLeader(await this.#status(this.#model, slot));
        return agree(withoutLeader(found), own) && (await real.clusterVersion(slot)) !== undefined;
      });
  }

  async #start(slot: Slot): Promise<void> {
    const { version, slots, real } = this.#options;
    const config = configOf(this.#ground, slot, { state: "new", cluster: slots });
    await Promise.all([real.start(slot, { version, config }), this.#model.start(slot, { version, config })]);
  }

  async #status(side: Side & { readonly bearer: Bearer }, slot: Slot): Promise<Outcome> {
    return (await this.#ask(slot, side, { ...this.#nobody, token: undefined }, { kind: "status" }))[0];
  }

  /**
   * Stops a member, or starts the one that is down; one alone at once. Always in order: after SIGKILL etcd applies the
   * logins again that came after the last write, so that which tokens it knows is a matter of a tenth of a second.
   */
  async #restart(random: SeededRandom): Promise<void> {
    const { real, slots } = this.#options;
    const down = this.#down;
    this.#down = undefined;
    if (down) await this.#start(down);
    else {
      const slot = random.pick(slots);
      this.#steps.push(`${slot.name} ends`);
      this.report.restarts++;
      await Promise.all([real.stop(slot, "SIGTERM"), this.#model.stop(slot, "SIGTERM")]);
      if (slots.length > 1) this.#down = slot;
      else await this.#start(slot);
    }
    if (this.#down === undefined) this.#steps.push("all run again");
    await this.#settle();
  }

  /** All that run have a leader, and what was committed. */
  async #settle(): Promise<void> {
    await this.#model.calm();
    for (const slot of this.#up) {
      const server = this.#model.server(slot);
      if (server && this.#options.authToken !== undefined) server.tokenKey = "key";
      await this.#catchUp(slot);
    }
  }

  /** A read through the quorum waits for the log before it is refused to nobody. */
  async #catchUp(slot: Slot): Promise<void> {
    const { real } = this.#options;
    const nobody = { ...this.#nobody, token: undefined };
    await this.#until(slot, async () => !isTimeout((await this.#ask(slot, real, nobody, PROBE))[0]));
  }

  async #until(slot: Slot, holds: () => Promise<boolean>): Promise<void> {
    const { real, now, wait, version } = this.#options;
    const until = now() + STARTED_MS;
    while (!(await holds())) {
      if (now() > until)
        throw new Error(`etcd ${version} did not come to rest: ${await real.lastWords(slot)}`);
      await wait(50);
    }
  }

  /** Mostly root, so that there is something to see; a login that is no longer good now and then. */
  #whose(random: SeededRandom): Caller {
    const latest = this.#logins.findLast(({ who }) => who === "root");
    const found = latest && random.chance(0.5) ? latest : random.pick(this.#logins);
    // A token counts more than the certificate that comes with it.
    if (found.shown === undefined || found.real === undefined || !random.chance(0.3)) return found;
    const shown = random.pick(NAMES);
    return { ...found, who: `${found.who}, with the certificate of ${shown || "nobody"}`, shown };
  }

  #next(random: SeededRandom, slot: Slot): Call {
    const what = random.between(1, 100);
    const auth = this.#model.server(slot)?.dir.state.auth;
    // So that it is seldom off for long.
    if (auth?.enabled === false && what <= 40) return { kind: "auth", op: { do: "enable" } };
    if (what <= 10)
      return login(random.pick(["root", "root", "alice", "bob", "eve"]), random.pick(["one", "two"]));
    if (what <= 45) {
      const op = authCall(random, auth);
      return op.do === "disable" && random.chance(0.7) ? { kind: "status" } : { kind: "auth", op };
    }
    return what <= 80 ? keyCall(random) : otherCall(random, this.#options.slots.length);
  }

  /** False where the two no longer agree, so that nothing that follows can be compared. */
  async #call(slot: Slot, as: Caller, call: Call): Promise<boolean> {
    const { real, slots, version, seed, onDifference } = this.#options;
    this.report.calls++;
    const text = `${slot.name}, ${as.who}: ${JSON.stringify(call)}`;
    this.#steps.push(text);
    if (slots.length > 1) await this.#catchUp(slot);
    const [answer, given] = await this.#ask(slot, real, { ...as, token: as.real }, call);
    const [modelled, own] = await this.#ask(slot, this.#model, { ...as, token: as.model }, call);
    // Each side elects its own leader.
    const compared =
      slots.length > 1 ? ([withoutLeader(answer), withoutLeader(modelled)] as const) : undefined;
    if (!agree(...(compared ?? ([answer, modelled] as const)))) {
      this.report.disagreements++;
      const before = this.#steps.slice(-12, -1).join("\n        ");
      onDifference(
        `etcd ${version}, seed ${seed}, round ${this.#rounds}\n  after ${before}\n${text}\n  real:  ${JSON.stringify(answer)}\n  model: ${JSON.stringify(modelled)}`,
      );
      return false;
    }
    if (!answer.ok) this.report.refused++;
    else if (call.kind === "auth" && call.op.do === "authenticate")
      this.#logins.push({ who: call.op.user, real: given, model: own, shown: this.#nobody.shown });
    return true;
  }

  async #ask(
    slot: Slot,
    side: Side & { readonly bearer: Bearer },
    { token, shown }: { readonly token: string | undefined; readonly shown: string | undefined },
    call: Call,
  ): Promise<[Outcome, string]> {
    side.bearer.token = token;
    side.bearer.commonName = shown;
    const answer = await side.call(slot, call, PATIENT_MS);
    return [answer, side.bearer.given];
  }
}
