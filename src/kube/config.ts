/**
 * Where the API server is and who we are there: from a kubeconfig or from inside a Pod. What we cannot do (log in
 * through a plugin, go through a proxy, act as somebody else) is refused with a typed error: the alternative
 * is to talk to the wrong cluster or as the wrong person.
 */
import { dirname, isAbsolute, join } from "node:path";
import type { Disk } from "../seams/disk.ts";

/** A text given in place, or in a file that may be rotated under us and so is read again and again. */
export type Material = { readonly text: string } | { readonly file: string };

export interface KubeConfig {
  readonly server: string;
  /** What the server's certificate must say, when it is not the host of `server`. */
  readonly serverName?: string;
  /** The system's own authorities when absent. */
  readonly ca?: Material;
  readonly insecure?: boolean;
  readonly token?: Material;
  readonly cert?: Material;
  readonly key?: Material;
  /** The namespace the context, or the Pod, is in. */
  readonly namespace?: string;
}

export type KubeConfigProblem =
  | "missing"
  | "unreadable"
  | "no-context"
  | "incomplete"
  | "plugin"
  | "unsupported";

export class KubeConfigError extends Error {
  override name = "KubeConfigError";
  readonly problem: KubeConfigProblem;
  constructor(problem: KubeConfigProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}

const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

export interface ConfigWishes {
  /** A kubeconfig to use, whatever the environment says. */
  readonly file?: string;
  readonly context?: string;
}

type Env = Readonly<Record<string, string | undefined>>;

/** The order kubectl has: the file asked for, `KUBECONFIG`, the Pod we are in, `~/.kube/config`. */
export async function loadConfig(disk: Disk, env: Env, wishes: ConfigWishes = {}): Promise<KubeConfig> {
  if (wishes.file !== undefined) return await fromKubeconfig(disk, [wishes.file], wishes.context);
  const listed = (env["KUBECONFIG"] ?? "").split(":").filter((file) => file !== "");
  if (listed.length > 0) return await fromKubeconfig(disk, listed, wishes.context);
  if (wishes.context === undefined && env["KUBERNETES_SERVICE_HOST"]) return await inCluster(disk, env);
  const home = env["HOME"];
  if (home === undefined)
    throw new KubeConfigError("missing", "no kubeconfig: set KUBECONFIG, or name a file with --kubeconfig");
  return await fromKubeconfig(disk, [join(home, ".kube", "config")], wishes.context);
}

/** The service account of the Pod this runs in. Its token is short-lived and replaced on disk. */
export async function inCluster(disk: Disk, env: Env, account = ACCOUNT): Promise<KubeConfig> {
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"] ?? "443";
  if (!host) throw new KubeConfigError("missing", "KUBERNETES_SERVICE_HOST is not set: not running in a Pod");
  for (const file of ["token", "ca.crt"]) {
    if ((await disk.read(join(account, file))) === undefined)
      throw new KubeConfigError(
        "incomplete",
        `${join(account, file)} does not exist: give the Pod a service account and mount its token`,
      );
  }
  const namespace = (await disk.read(join(account, "namespace")))?.trim();
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    ca: { file: join(account, "ca.crt") },
    token: { file: join(account, "token") },
    ...(namespace && { namespace }),
  };
}

interface Named {
  readonly name?: string;
  readonly cluster?: Readonly<Record<string, unknown>>;
  readonly user?: Readonly<Record<string, unknown>>;
  readonly context?: Readonly<Record<string, unknown>>;
}

interface ConfigFile {
  readonly clusters?: readonly Named[];
  readonly users?: readonly Named[];
  readonly contexts?: readonly Named[];
  readonly "current-context"?: string;
}

/** Several files are one: of two entries with the same name the first counts, as for kubectl. */
async function fromKubeconfig(disk: Disk, files: readonly string[], wanted?: string): Promise<KubeConfig> {
  const found: { file: string; config: ConfigFile }[] = [];
  for (const file of files) {
    const text = await disk.read(file);
    if (text !== undefined) found.push({ file, config: await parseFile(file, text) });
  }
  const where = files.join(", ");
  if (found.length === 0) throw new KubeConfigError("missing", `no kubeconfig at ${where}`);
  const name = wanted ?? found.map(({ config }) => config["current-context"]).find((current) => current);
  const entry = (kind: "clusters" | "users" | "contexts", wantedName: unknown) => {
    for (const { file, config } of found) {
      const one = config[kind]?.find((candidate) => candidate.name === wantedName);
      if (one !== undefined) return { file, one };
    }
    return undefined;
  };
  const context = name === undefined ? undefined : entry("contexts", name)?.one.context;
  if (name === undefined || context === undefined) {
    const known = found.flatMap(({ config }) => config.contexts?.map((one) => one.name) ?? []).join(", ");
    throw new KubeConfigError(
      "no-context",
      `${where}: ${name === undefined ? "no current context" : `no context "${name}"`}; known contexts: ${known || "none"}`,
    );
  }
  const cluster = entry("clusters", context["cluster"]);
  if (typeof cluster?.one.cluster?.["server"] !== "string")
    throw new KubeConfigError("incomplete", `${where}: the context "${name}" names no server`);
  const user = entry("users", context["user"]);
  const what = `${user?.file ?? where}: the context "${name}"`;
  const login = user?.one.user ?? {};
  refuse(what, cluster.one.cluster, login);
  const namespace = context["namespace"];
  return {
    ...clusterPart(cluster.file, cluster.one.cluster),
    ...userPart(what, user?.file ?? "", login),
    ...(typeof namespace === "string" && namespace !== "" && { namespace }),
  };
}

async function parseFile(file: string, text: string): Promise<ConfigFile> {
  // In a Pod there is none to read: what reads it is loaded when there is.
  const { parse } = await import("yaml");
  let parsed: unknown;
  try {
    parsed = parse(text);
  } catch (cause) {
    throw new KubeConfigError("unreadable", `${file} is not YAML: ${(cause as Error).message}`, { cause });
  }
  if (parsed !== null && typeof parsed === "object") return parsed as ConfigFile;
  throw new KubeConfigError("unreadable", `${file} is not a kubeconfig`);
}

function refuse(
  what: string,
  cluster: Readonly<Record<string, unknown>>,
  login: Readonly<Record<string, unknown>>,
): void {
  if (login["exec"] !== undefined || login["auth-provider"] !== undefined)
    throw new KubeConfigError(
      "plugin",
      `${what} uses a credential plugin, which is not supported: use a kubeconfig with a token (kubectl create token) or a client certificate`,
    );
  const unsupported = [
    ...["proxy-url"].filter((field) => cluster[field] !== undefined),
    ...["username", "as", "as-uid", "as-groups", "as-user-extra"].filter(
      (field) => login[field] !== undefined,
    ),
  ];
  if (unsupported.length > 0)
    throw new KubeConfigError(
      "unsupported",
      `${what} uses ${unsupported.join(", ")}, which is not supported: remove it from the kubeconfig`,
    );
}

function clusterPart(
  file: string,
  cluster: Readonly<Record<string, unknown>>,
): Pick<KubeConfig, "server" | "ca" | "serverName" | "insecure"> {
  const ca = material(file, cluster, "certificate-authority");
  const serverName = cluster["tls-server-name"];
  return {
    server: String(cluster["server"]),
    ...(ca && { ca }),
    ...(typeof serverName === "string" && { serverName }),
    ...(cluster["insecure-skip-tls-verify"] === true && { insecure: true }),
  };
}

function userPart(
  what: string,
  file: string,
  login: Readonly<Record<string, unknown>>,
): Pick<KubeConfig, "token" | "cert" | "key"> {
  const cert = material(file, login, "client-certificate");
  const key = material(file, login, "client-key");
  if ((cert === undefined) !== (key === undefined))
    throw new KubeConfigError("incomplete", `${what} has a client certificate or its key, but not both`);
  const tokenFile = login["tokenFile"];
  const token = login["token"];
  return {
    ...(cert && key && { cert, key }),
    ...(typeof tokenFile === "string"
      ? { token: { file: resolved(file, tokenFile) } }
      : typeof token === "string" && token !== "" && { token: { text: token } }),
  };
}

/** `NAME-data` in place, in base64, counts before `NAME`, a path seen from the kubeconfig. */
function material(
  from: string,
  entry: Readonly<Record<string, unknown>>,
  name: string,
): Material | undefined {
  const data = entry[`${name}-data`];
  if (typeof data === "string" && data !== "") return { text: Buffer.from(data, "base64").toString("utf8") };
  const file = entry[name];
  return typeof file === "string" && file !== "" ? { file: resolved(from, file) } : undefined;
}

function resolved(from: string, file: string): string {
  return isAbsolute(file) ? file : join(dirname(from), file);
}
