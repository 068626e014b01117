/** The cluster entry of a context: where the server is, what its certificate must say, and through which proxy. */
import type { KubeConfig, Material } from "./types.ts";
import { KubeConfigError, type Env } from "./types.ts";
import { resolved, textIn, type Entry, type Fields } from "./files.ts";
import { proxyFromEnvironment } from "./proxy.ts";

const PROXIES = ["http:", "https:", "socks5:", "socks5h:"];

export function clusterPart(
  { file, name, fields }: Entry,
  env: Env,
): Pick<KubeConfig, "server" | "ca" | "serverName" | "insecure" | "proxy"> {
  const what = `${file}: the cluster "${name}"`;
  const server = textIn(fields, "server");
  if (server === undefined) throw new KubeConfigError("incomplete", `${what} names no server`);
  if (!URL.canParse(server) || !/^https?:$/.test(new URL(server).protocol))
    throw new KubeConfigError(
      "incomplete",
      `${what}: server ${JSON.stringify(server)} is not an http(s) URL`,
    );
  const ca = material(file, fields, "certificate-authority");
  const serverName = textIn(fields, "tls-server-name");
  const insecure = fields["insecure-skip-tls-verify"] === true;
  if (insecure && ca !== undefined)
    throw new KubeConfigError(
      "incomplete",
      `${what} has both a certificate-authority and insecure-skip-tls-verify: remove one of them`,
    );
  const proxy = textIn(fields, "proxy-url") ?? proxyFromEnvironment(server, env);
  if (proxy !== undefined && !isProxy(proxy))
    throw new KubeConfigError(
      "unsupported",
      `${what}: the proxy must be a URL that begins with http://, https:// or socks5://`,
    );
  return {
    server,
    ...(ca && { ca }),
    ...(serverName !== undefined && { serverName }),
    ...(insecure && { insecure }),
    ...(proxy !== undefined && { proxy }),
  };
}

function isProxy(text: string): boolean {
  return URL.canParse(text) && PROXIES.includes(new URL(text).protocol) && new URL(text).hostname !== "";
}

/** `NAME-data` in place, in base64, counts before `NAME`, a path seen from the kubeconfig. */
export function material(from: string, fields: Fields, name: string): Material | undefined {
  const data = textIn(fields, `${name}-data`);
  if (data !== undefined) return { text: Buffer.from(data, "base64").toString("utf8") };
  const file = textIn(fields, name);
  return file === undefined ? undefined : { file: resolved(from, file) };
}
