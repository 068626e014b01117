/** What users ask for while auth is on, and what there is of users and roles at first. */
import type { SeededRandom } from "../../../engine/random.ts";
import type { Call } from "./calls.ts";

const STRANGER = "1234abcd";
const KEYS = ["a", "b", "c", "d"];

/** Of certificates; the last two are no users. */
export const NAMES = ["root", "alice", "bob", "eve", ""];

export const login = (user: string, password: string): Call => ({
  kind: "auth",
  op: { do: "authenticate", user, password },
});

/** Users with other roles each, and auth enabled. */
export const PREPARATION: readonly Call[] = (
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

export function keyCall(random: SeededRandom): Call {
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

const OF_LEADERS: ReadonlySet<Call["kind"]> = new Set<Call["kind"]>(["remove", "promote", "moveLeader"]);

/** Of the other services; those that would change the members are about one that is not there. */
export function otherCall(random: SeededRandom, members: number): Call {
  const call = random.pick<Call>([
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
  // Of several members the answer is another one at the leader, which each side elects, and while connections are young.
  return members > 1 && OF_LEADERS.has(call.kind) ? { kind: "status" } : call;
}
