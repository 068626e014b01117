/**
 * Conformance of the model etcd with auth on: random calls by users with and without roles, by nobody, and with tokens that
 * are no longer good, of one member each, all answers compared. Each round begins with auth enabled.
 */
import { SeededRandom } from "../../../engine/random.ts";
import { agree } from "./agree.ts";
import { authCall } from "./auth-calls.ts";
import type { Bearer } from "./bearer.ts";
import type { Call, Outcome } from "./calls.ts";
import { configOf, type Ground } from "./ground.ts";
import { ModelSide } from "./model-side.ts";
import type { Side, Slot } from "./side.ts";

const PATIENT_MS = 10_000;
const STARTED_MS = 60_000;
const STRANGER = "1234abcd";
const KEYS = ["a", "b", "c", "d"];

export interface AuthRun {
  readonly real: Side & { readonly bearer: Bearer };
  readonly slot: Slot;
  readonly version: string;
  readonly seed: number;
  readonly calls: number;
  readonly callsPerRound: number;
  /** As in the file of etcd, of signed tokens; of type Simple where it is not said. */
  readonly authToken?: string;
  readonly now: () => number;
  readonly wait: (ms: number) => Promise<void>;
  readonly onDifference: (text: string) => void;
}

export interface AuthReport {
  calls: number;
  /** By both. */
  refused: number;
  disagreements: number;
}

/** One login: each side has given its own token. */
interface Login {
  readonly who: string;
  readonly real: string | undefined;
  readonly model: string | undefined;
}

const NOBODY: Login = { who: "nobody", real: undefined, model: undefined };
const FORGED: Login = { who: "a forged token", real: "no such token", model: "no such token" };

export async function conformAuth(options: AuthRun): Promise<AuthReport> {
  const run = new Run(options);
  while (run.report.calls < options.calls) await run.round();
  return run.report;
}

class Run {
  readonly report: AuthReport = { calls: 0, refused: 0, disagreements: 0 };
  readonly #options: AuthRun;
  readonly #random: SeededRandom;
  readonly #model: ModelSide;
  #rounds = 0;
  #logins: Login[] = [];
  #steps: string[] = [];

  constructor(options: AuthRun) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    this.#model = new ModelSide(this.#random.fork());
  }

  async round(): Promise<void> {
    const random = this.#random.fork();
    this.#rounds++;
    this.#logins = [NOBODY, FORGED];
    this.#steps = [];
    await this.#found();
    const end = this.report.calls + this.#options.callsPerRound;
    for (const call of PREPARATION) if (!(await this.#call(NOBODY, call))) return;
    for (const user of ["root", "alice", "bob"]) if (!(await this.#call(NOBODY, login(user, "one")))) return;
    while (this.report.calls < end) if (!(await this.#call(this.#whose(random), this.#next(random)))) return;
  }

  async #found(): Promise<void> {
    const { real, slot, version, seed, authToken, now, wait } = this.#options;
    for (const side of [real, this.#model]) side.bearer.token = undefined;
    await Promise.all([real.clear(), this.#model.clear()]);
    const extra = { "bcrypt-cost": 4, ...(authToken !== undefined && { "auth-token": authToken }) };
    const [slots, token] = [[slot], `seed ${seed} round ${this.#rounds}`];
    const ground: Ground = { model: this.#model, slots, founders: slots, token, version, extra };
    const config = configOf(ground, slot, { state: "new", cluster: slots });
    await Promise.all([real.start(slot, { version, config }), this.#model.start(slot, { version, config })]);
    await this.#model.calm();
    const server = this.#model.server(slot);
    if (server && authToken !== undefined) server.tokenKey = "key";
    const wanted = await this.#model.call(slot, { kind: "status" }, PATIENT_MS);
    const until = now() + STARTED_MS;
    // It tells its own version of the storage a moment after it serves.
    for (;;) {
      const found = await real.call(slot, { kind: "status" }, PATIENT_MS);
      if (agree(found, wanted) && (await real.clusterVersion(slot)) !== undefined) return;
      if (now() > until)
        throw new Error(
          `etcd ${version} did not come to rest: ${JSON.stringify(found)}, ${await real.lastWords(slot)}`,
        );
      await wait(50);
    }
  }

  /** Mostly root, so that there is something to see; a login that is no longer good now and then. */
  #whose(random: SeededRandom): Login {
    const latest = this.#logins.findLast(({ who }) => who === "root");
    return latest && random.chance(0.5) ? latest : random.pick(this.#logins);
  }

  #next(random: SeededRandom): Call {
    const what = random.between(1, 100);
    const auth = this.#model.server(this.#options.slot)?.dir.state.auth;
    // So that it is seldom off for long.
    if (auth?.enabled === false && what <= 40) return { kind: "auth", op: { do: "enable" } };
    if (what <= 10)
      return login(random.pick(["root", "root", "alice", "bob", "eve"]), random.pick(["one", "two"]));
    if (what <= 45) {
      const op = authCall(random, auth);
      return op.do === "disable" && random.chance(0.7) ? { kind: "status" } : { kind: "auth", op };
    }
    return what <= 80 ? keyCall(random) : otherCall(random);
  }

  /** False where the two no longer agree, so that nothing that follows can be compared. */
  async #call(as: Login, call: Call): Promise<boolean> {
    const { real, slot } = this.#options;
    this.report.calls++;
    const text = `${as.who}: ${JSON.stringify(call)}`;
    this.#steps.push(text);
    const [answer, given] = await this.#ask(real, as.real, call);
    const [modelled, own] = await this.#ask(this.#model, as.model, call);
    if (!agree(answer, modelled)) {
      this.report.disagreements++;
      const before = this.#steps.slice(-12, -1).join("\n        ");
      this.#options.onDifference(
        `etcd ${this.#options.version}, seed ${this.#options.seed}, round ${this.#rounds} at ${slot.name}\n  after ${before}\n${text}\n  real:  ${JSON.stringify(answer)}\n  model: ${JSON.stringify(modelled)}`,
      );
      return false;
    }
    if (!answer.ok) this.report.refused++;
    else if (call.kind === "auth" && call.op.do === "authenticate")
      this.#logins.push({ who: call.op.user, real: given, model: own });
    return true;
  }

  async #ask(
    side: Side & { readonly bearer: Bearer },
    token: string | undefined,
    call: Call,
  ): Promise<[Outcome, string]> {
    side.bearer.token = token;
    const answer = await side.call(this.#options.slot, call, PATIENT_MS);
    return [answer, side.bearer.given];
  }
}

const login = (user: string, password: string): Call => ({
  kind: "auth",
  op: { do: "authenticate", user, password },
});

/** Users with other roles each, and auth enabled. */
const PREPARATION: readonly Call[] = (
  [
    { do: "user-add", user: "root", password: "one" },
    { do: "user-grant", user: "root", role: "root" },
    { do: "user-add", user: "alice", password: "one" },
    { do: "user-add", user: "bob", password: "one" },
    { do: "role-add", role: "app" },
    { do: "role-add", role: "ops" },
    { do: "role-grant", role: "app", type: 2, range: { key: "a", end: "c" } },
    { do: "role-grant", role: "ops", type: 0, range: { key: "c", end: "\0" } },
    { do: "user-grant", user: "alice", role: "app" },
    { do: "user-grant", user: "bob", role: "ops" },
    { do: "enable" },
  ] as const
).map((op) => ({ kind: "auth", op }));

function keyCall(random: SeededRandom): Call {
  const key = random.pick(KEYS);
  // What etcd makes of a range that ends before it begins is nothing to go by.
  const end = random.pick(["", "", "c", "d", "\0"].filter((one) => one === "" || one === "\0" || one > key));
  const what = random.between(1, 5);
  if (what === 1) return { kind: "put", key, value: "v", previous: random.chance(0.3) };
  if (what === 2) return { kind: "delete", key, end };
  if (what === 3) {
    const then = [{ kind: random.pick(["put", "delete"] as const), key }];
    const otherwise = [{ kind: random.pick(["put", "delete"] as const), key: random.pick(KEYS) }];
    return { kind: "txn", key: random.pick(KEYS), version: 0, then, otherwise };
  }
  const serializable = random.chance(0.5);
  return {
    kind: "range",
    key: random.pick([key, key, "\0"]),
    end,
    revision: 0,
    limit: 0,
    serializable,
    only: "all",
  };
}

/** Of the other services; those that would change the members are about one that is not there. */
function otherCall(random: SeededRandom): Call {
  return random.pick<Call>([
    { kind: "list", linearizable: random.chance(0.5) },
    { kind: "status" },
    { kind: "alarm", action: "GET", id: "0", alarm: "NOSPACE" },
    { kind: "alarm", action: "DEACTIVATE", id: STRANGER, alarm: "NOSPACE" },
    { kind: "hash", revision: 0 },
    { kind: "defragment" },
    { kind: "promote", id: STRANGER },
    { kind: "remove", id: STRANGER },
    { kind: "update", id: STRANGER, urls: ["http://127.0.0.1:1"] },
    { kind: "moveLeader", id: STRANGER },
    { kind: "downgrade", action: "VALIDATE", version: "x" },
    { kind: "compact", revision: 1 },
  ]);
}
