/**
 * The etcd that a snapshot is taken of: endpoints and credentials from flags, from etcdctl's own variables, or from a
 * cluster on this machine.
 */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { EtcdClient } from "../../../etcd/client.ts";
import { GrpcTransport } from "../../../etcd/grpc/transport.ts";
import type { TlsCredentials } from "../../../etcd/types.ts";
import { commandOf } from "../../called.ts";
import { CommandError, EXIT } from "../../exit.ts";
import type { Flags, ValuesOf } from "../../flag.ts";
import { UsageError, type CliIo } from "../../io.ts";

export const ETCD_FLAGS = {
  endpoints: { kind: "list", value: "url", help: "client URLs of the members (default: $ETCDCTL_ENDPOINTS)" },
  cacert: { kind: "text", value: "file", help: "CA certificates of the servers (default: $ETCDCTL_CACERT)" },
  cert: { kind: "text", value: "file", help: "client certificate (default: $ETCDCTL_CERT)" },
  key: { kind: "text", value: "file", help: "key of the client certificate (default: $ETCDCTL_KEY)" },
  user: {
    kind: "text",
    value: "name[:password]",
    help: "user, where authentication is on (default: $ETCDCTL_USER)",
  },
  password: {
    kind: "text",
    value: "password",
    help: "password of --user; better in $ETCDCTL_PASSWORD, where the process list does not show it",
  },
  "password-file": {
    kind: "text",
    value: "file",
    help: "file with the password of --user; reread by `snapshot follow`, so the password can be changed",
  },
  local: { kind: "switch", help: "a cluster on this machine" },
  dir: { kind: "text", value: "directory", help: "directory of a cluster on this machine; implies --local" },
  name: { kind: "text", value: "name", help: "name of a cluster on this machine; implies --local" },
} as const satisfies Flags;

type EtcdValues = ValuesOf<typeof ETCD_FLAGS>;
type Settings = Readonly<Record<string, string | undefined>>;

export interface OpenEtcd {
  readonly client: EtcdClient;
  /** Reads certificates and the password again, which are renewed while a process runs for long; keeps the former ones if it cannot. */
  readonly refresh: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function openEtcd(flags: EtcdValues, io: CliIo): Promise<OpenEtcd> {
  const isLocal = flags.local || flags.dir !== undefined || flags.name !== undefined;
  if (isLocal && flags.endpoints.length > 0)
    throw new UsageError("--endpoints and --local, --dir or --name exclude each other");
  const settings = isLocal ? await localSettings(flags, io) : io.env;
  const urls = flags.endpoints.length > 0 ? flags.endpoints : listOf(settings["ETCDCTL_ENDPOINTS"]);
  if (urls.length === 0)
    throw isLocal
      ? new CommandError(
          EXIT.notFound,
          `no member of the cluster is running; start it with: ${commandOf(io)} local up`,
        )
      : new UsageError("no endpoint: pass --endpoints, or --local for a cluster on this machine");
  const tls = await credentials(flags, settings, io);
  const endpoints = urls.map((url) => ({ url: normalized(url, tls !== undefined) }));
  const transport = new GrpcTransport({ clock: io.clock, ...(tls && { tls }) });
  let login = await loginOf(flags, settings, io);
  const client = new EtcdClient({
    transport,
    clock: io.clock,
    endpoints,
    ...(login && { credentials: () => (login ? [login] : []) }),
  });
  const refresh = async () => {
    try {
      const read = await credentials(flags, settings, io);
      if (read) transport.setCredentials(read);
      login = await loginOf(flags, settings, io);
    } catch {
      // They are being replaced, one after the other: the next time they are whole.
    }
  };
  return { client, refresh, close: () => transport.close() };
}

async function localSettings({ dir, name }: EtcdValues, io: CliIo): Promise<Settings> {
  const [{ placeOf }, { call }, { clientEnvironment }] = await Promise.all([
    import("../../local/place.ts"),
    import("../../local/session.ts"),
    import("../../local/report.ts"),
  ]);
  return clientEnvironment(await call(placeOf({ dir, name }, io), io, "status"));
}

function listOf(text: string | undefined): readonly string[] {
  return (text ?? "").split(",").flatMap((one) => (one.trim() === "" ? [] : [one.trim()]));
}

/** etcdctl takes `host:port` too. */
function normalized(text: string, secure: boolean): string {
  const url = /^[a-z]+:\/\//i.test(text) ? text : `${secure ? "https" : "http"}://${text}`;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new UsageError(`--endpoints ${text}: expected a URL such as https://10.0.0.1:2379`);
  const { origin, pathname } = new URL(url);
  if (pathname !== "/" && pathname !== "")
    throw new UsageError(`--endpoints ${text}: an endpoint has no path; use ${origin}`);
  return origin;
}

async function readOf(flag: string, file: string, io: CliIo): Promise<string> {
  try {
    return await readFile(path.resolve(io.cwd, file), "utf8");
  } catch (error) {
    throw new CommandError(EXIT.failed, `cannot read --${flag} ${file}: ${(error as Error).message}`);
  }
}

async function credentials(
  flags: EtcdValues,
  settings: Settings,
  io: CliIo,
): Promise<TlsCredentials | undefined> {
  const read = async (flag: "cacert" | "cert" | "key", variable: string) => {
    const file = flags[flag] ?? (settings[variable] || undefined);
    return file === undefined ? undefined : await readOf(flag, file, io);
  };
  const ca = await read("cacert", "ETCDCTL_CACERT");
  const cert = await read("cert", "ETCDCTL_CERT");
  const key = await read("key", "ETCDCTL_KEY");
  if ((cert === undefined) !== (key === undefined)) throw new UsageError("--cert and --key need each other");
  if (ca === undefined && cert === undefined) return undefined;
  if (ca === undefined) throw new UsageError("--cert needs --cacert, the CA of the servers");
  return { ca, ...(cert !== undefined && key !== undefined && { cert, key }) };
}

/** Spaces may be part of a password. */
const withoutLineEnd = (text: string) => text.replace(/\r?\n$/, "");

async function loginOf(
  flags: EtcdValues,
  settings: Settings,
  io: CliIo,
): Promise<{ user: string; password: string } | undefined> {
  const given = flags.user ?? settings["ETCDCTL_USER"];
  const file = flags["password-file"];
  if (file !== undefined && flags.password !== undefined)
    throw new UsageError("--password and --password-file exclude each other");
  if (!given && file !== undefined)
    throw new UsageError("--password-file needs --user (or ETCDCTL_USER), whose password it has");
  if (!given) return undefined;
  const colon = given.indexOf(":");
  const inFile = file === undefined ? undefined : withoutLineEnd(await readOf("password-file", file, io));
  const apart = inFile ?? flags.password ?? settings["ETCDCTL_PASSWORD"];
  if (colon < 0 && apart === undefined)
    throw new UsageError(
      "--user needs a password: set ETCDCTL_PASSWORD, pass --password-file, or --user name:password",
    );
  return colon < 0 || apart !== undefined
    ? { user: given, password: apart ?? "" }
    : { user: given.slice(0, colon), password: given.slice(colon + 1) };
}
