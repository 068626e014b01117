/** The object that a credential plugin prints, checked: what is wrong with it is told in its own words. */
import { KubeConfigError, type ExecPlugin } from "../kubeconfig/types.ts";
import type { Issued } from "./source.ts";

interface ExecCredential {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
  readonly status?: {
    readonly token?: unknown;
    readonly clientCertificateData?: unknown;
    readonly clientKeyData?: unknown;
    readonly expirationTimestamp?: unknown;
  } | null;
}

export function issuedBy(plugin: ExecPlugin, stdout: string): Issued {
  const wrong = (what: string, options?: ErrorOptions) =>
    new KubeConfigError("plugin", `the credential plugin ${plugin.command} ${what}`, options);
  let parsed: ExecCredential | null;
  try {
    parsed = JSON.parse(stdout) as ExecCredential | null;
  } catch (cause) {
    // Not shown: it may be a part of a secret.
    throw wrong(
      `printed ${stdout.trim() === "" ? "nothing" : "something that is not JSON"} where an ExecCredential was expected`,
      { cause },
    );
  }
  if (parsed?.kind !== "ExecCredential" || parsed.apiVersion !== plugin.apiVersion)
    throw wrong(
      `printed ${String(parsed?.kind)} of ${String(parsed?.apiVersion)} where an ExecCredential of ${plugin.apiVersion} was expected: the kubeconfig and the plugin have different versions`,
    );
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = parsed.status ?? {};
  const hasToken = typeof token === "string" && token !== "";
  const hasCert = typeof cert === "string" && cert !== "";
  if (hasCert !== (typeof key === "string" && key !== ""))
    throw wrong("gave a client certificate or its key, but not both");
  if (!hasToken && !hasCert) throw wrong("gave neither a token nor a client certificate");
  const expiresAt = expirationTimestamp ? Date.parse(String(expirationTimestamp)) : undefined;
  if (Number.isNaN(expiresAt))
    throw wrong(`gave an expirationTimestamp that is not a time: ${String(expirationTimestamp)}`);
  return {
    ...(hasToken && { token }),
    ...(hasCert && { cert, key: String(key) }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}
