/**
 * The tokens of a user with `auth-provider: oidc`: read from its kubeconfig, and written back when they were refreshed,
 * under the lock and in the place that kubectl uses. Nothing else in the file is changed, comments included.
 */
import { sleep, type Clock } from "../../seams/clock.ts";
import type { Disk } from "../../seams/disk.ts";
import { material } from "./cluster.ts";
import { isFields, readMerged, textIn, type Entry } from "./files.ts";
import { KubeConfigError, type OidcTokens } from "./types.ts";

/** kubectl holds its lock for the moment of a write. */
const LOCK_MS = 5_000;
const LOOK_MS = 100;

export function oidcTokens({ file, fields }: Entry): OidcTokens {
  const provider = fields["auth-provider"];
  const config = isFields(provider) ? provider["config"] : undefined;
  if (!isFields(config)) return {};
  const text = <K extends keyof OidcTokens>(key: K, name: string) => {
    const value = textIn(config, name);
    return value === undefined ? {} : { [key]: value };
  };
  const ca = material(file, config, "idp-certificate-authority");
  return {
    ...text("idToken", "id-token"),
    ...text("refreshToken", "refresh-token"),
    ...text("issuer", "idp-issuer-url"),
    ...text("clientID", "client-id"),
    ...text("clientSecret", "client-secret"),
    ...(ca && { ca }),
  };
}

/** As the file says them now: another program may have refreshed them. */
export async function readTokens(disk: Disk, file: string, user: string): Promise<OidcTokens> {
  const entry = (await readMerged(disk, [file])).users.get(user);
  return entry ? oidcTokens(entry) : {};
}

export interface RefreshedTokens {
  readonly idToken: string;
  readonly refreshToken?: string | undefined;
}

export async function writeTokens(
  { disk, clock }: { readonly disk: Disk; readonly clock: Clock },
  { file, user }: { readonly file: string; readonly user: string },
  { idToken, refreshToken }: RefreshedTokens,
): Promise<void> {
  const { parseDocument } = await import("../../seams/yaml.ts");
  await locked(disk, clock, file, async () => {
    const document = parseDocument((await disk.read(file)) ?? "");
    const users: unknown = document.get("users");
    const list = (document.toJS() as { users?: readonly { name?: unknown }[] } | null)?.users ?? [];
    const index = list.findIndex(({ name }) => name === user);
    if (users === undefined || index < 0)
      throw new KubeConfigError("incomplete", `${file} has no user "${user}" any more`);
    const at = ["users", index, "user", "auth-provider", "config"];
    document.setIn([...at, "id-token"], idToken);
    if (refreshToken !== undefined) document.setIn([...at, "refresh-token"], refreshToken);
    await disk.write(file, document.toString({ lineWidth: 0 }), { private: true, inPlace: true });
  });
}

/** The lock of kubectl: a file beside the kubeconfig that only one can make. */
async function locked(disk: Disk, clock: Clock, file: string, work: () => Promise<void>): Promise<void> {
  const lock = `${file}.lock`;
  for (let waited = 0; !(await disk.create(lock, "")); waited += LOOK_MS) {
    if (waited >= LOCK_MS)
      throw new KubeConfigError(
        "unreadable",
        `another program has locked it with ${lock}: remove that file if none is running`,
      );
    await sleep(clock, LOOK_MS);
  }
  try {
    await work();
  } finally {
    await disk.remove(lock);
  }
}
