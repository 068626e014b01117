/**
 * Which common names the operator's own certificate may have. While auth is on, etcd takes the operator for the user of
 * that name (R40): with another one it would lose every right, and with certificates of somebody else's CA nothing would
 * give it back.
 */
import { ROOT } from "../../api/auth-names.ts";
import { causeOf } from "../assess/reach.ts";
import type { View } from "../view.ts";
import { own } from "./own.ts";

/** What the view has to tell. */
type Seen = Pick<View, "spec"> & {
  readonly members: readonly Pick<View["members"][number], "answer">[];
  readonly observation: Pick<View["observation"], "auth">;
};

/**
 * In place of the one that is in use; undefined where any will do. `inUse`: undefined while there is none that works. A
 * certificate without a name is no user: the operator then logs in as root, by password.
 */
export function operatorNames(
  { spec, members, observation: { auth } }: Seen,
  inUse: string | undefined,
): readonly string[] | undefined {
  if (!auth?.byCertificate || inUse === undefined) return undefined;
  // It is refused already, so another name can only help.
  if (members.some(({ answer }) => causeOf(answer) === "authentication")) return undefined;
  const { etcd } = auth;
  if (etcd === undefined) return spec.auth?.enabled === true ? unique([inUse, ROOT]) : undefined;
  const admins = Object.keys(etcd.users).filter((name) => etcd.users[name]?.includes(ROOT));
  const isNext = spec.auth?.enabled === true && admins.includes(inUse);
  if (!etcd.enabled && !isNext) return undefined;
  const mayLogIn = own(etcd.passwords, ROOT) !== undefined;
  return unique([inUse, ...admins, ...(mayLogIn ? [""] : [])]);
}

const unique = (names: readonly string[]) => [...new Set(names)];
