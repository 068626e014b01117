/** Edits of TLS and auth among the moves of a schedule, beside faults and other edits. */
import type { SeededRandom } from "../engine/random.ts";
import { GIVEN_TLS } from "./given-world.ts";
import type { Deed, Move, Schedule } from "./deeds.ts";

const WAITS = [20, 1_000, 10_000, 40_000] as const;
const CAS = [1, 2] as const;

/** Three in ten schedules get some; the others stay what they are. */
export function secured(schedule: Schedule, random: SeededRandom): Schedule {
  if (!random.chance(0.3)) return schedule;
  const moves: Move[] = [...schedule.moves];
  for (let count = random.between(1, 3); count > 0; count--) {
    const some = deeds(random).map((deed) => ({ ...deed, waitMs: random.pick(WAITS) }));
    moves.splice(random.between(0, moves.length), 0, ...some);
  }
  return { ...schedule, moves };
}

function deeds(random: SeededRandom): readonly Deed[] {
  return random.pick<() => readonly Deed[]>([
    () => [tls({ clientAuth: random.pick(["None", "Required"]) })],
    () => [tls({ client: plane(random.pick(["Managed", "Disabled"])) })],
    () => [tls({ peer: plane(random.pick(["Managed", "Disabled"])) })],
    () => [give(random), tls({ client: { mode: "Secrets", ...GIVEN_TLS.client } })],
    () => [give(random), tls({ peer: { mode: "Secrets", ...GIVEN_TLS.peer } })],
    () => [give(random)],
    () => [auth({ enabled: true, clientRoles: [] })],
    () => [auth({ enabled: true, clientRoles: [], token: { type: random.pick(["JWT", "Simple"]) } })],
    () => [auth({ enabled: false })],
  ])();
}

function plane(mode: "Managed" | "Disabled"): object {
  return { mode, secrets: null };
}

/** Nobody there approves anything, and a soak counts as rest. */
function tls(change: object): Deed {
  const transition = { proceed: "After", after: "5s" };
  return { do: "edit", change: { tls: { transition, rotation: { soak: "0s" }, ...change } } };
}

function give(random: SeededRandom): Deed {
  return { do: "give", ca: random.pick(CAS) };
}

function auth(change: object): Deed {
  return { do: "edit", change: { auth: change } };
}
