/**
 * What is compared of users and roles, since a watch does not tell their changes. etcd's auth revision counts changes of
 * users and roles and that authentication was disabled, but not that it was enabled: so the switch goes with it.
 */
import type { EtcdClient } from "../../etcd/client.ts";
import { isEtcdError } from "../../etcd/errors.ts";
import { ChangeLogError } from "./errors.ts";

export interface AuthState {
  readonly authRevision: number;
  readonly authEnabled: boolean;
}

type Known = { readonly [name in keyof AuthState]?: AuthState[name] | undefined };

/** False also where one of them is not known. */
export function isSameAuth(a: Known, b: AuthState): boolean {
  return a.authRevision === b.authRevision && a.authEnabled === b.authEnabled;
}

/** Since 3.5, as etcdutl, without which nothing could be replayed. */
export async function authStateOf(client: EtcdClient, signal: AbortSignal): Promise<AuthState> {
  try {
    const { revision, enabled } = await client.auth.status({ signal });
    return { authRevision: Number(revision), authEnabled: enabled };
  } catch (error) {
    if (isEtcdError(error) && error.kind === "unimplemented")
      throw new ChangeLogError(
        "unsupported",
        "this etcd does not report its auth revision, so changes cannot be recorded: use etcd 3.5 or later",
        { cause: error },
      );
    throw error;
  }
}

/** For messages. */
export function describeAuth({ authRevision, authEnabled }: AuthState): string {
  return `auth revision ${authRevision}, authentication ${authEnabled ? "on" : "off"}`;
}
