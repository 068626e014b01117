/** What a kubeconfig, or a Pod, says: where the API server is, how it is reached, and who we are there. */

/** A text given in place, or in a file that may be rotated under us and so is read again and again. */
export type Material = { readonly text: string } | { readonly file: string };

export interface KubeConfig {
  readonly server: string;
  /** What the server's certificate must say, when it is not the host of `server`. */
  readonly serverName?: string;
  /** The system's own authorities when absent. */
  readonly ca?: Material;
  readonly insecure?: boolean;
  /** Where connections go first: `http:`, `https:` or `socks5:`, perhaps with a user and a password. */
  readonly proxy?: string;
  readonly token?: Material;
  readonly cert?: Material;
  readonly key?: Material;
  /** A program that gives tokens or client certificates. */
  readonly exec?: ExecPlugin;
  /** The older way to log in with OpenID Connect. */
  readonly oidc?: OidcLogin;
  /** Whom to act as, with a right of our own to do so. */
  readonly impersonate?: Impersonation;
  /** The namespace the context, or the Pod, is in. */
  readonly namespace?: string;
}

export type InteractiveMode = "Never" | "IfAvailable" | "Always";

export interface ExecPlugin {
  readonly apiVersion: "client.authentication.k8s.io/v1" | "client.authentication.k8s.io/v1beta1";
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the environment of this process. */
  readonly env: Readonly<Record<string, string>>;
  /** What the kubeconfig says to a person who does not have the program. */
  readonly installHint?: string;
  readonly interactiveMode: InteractiveMode;
  /** With `provideClusterInfo`: what the program is told of the cluster, in the words of the kubeconfig. */
  readonly cluster?: Readonly<Record<string, unknown>>;
}

export interface OidcLogin {
  /** The kubeconfig and the user in it, where a refreshed token is written. */
  readonly file: string;
  readonly user: string;
  readonly tokens: OidcTokens;
  /** The proxy that the environment asks for on the way to a URL. */
  readonly proxyTo: (url: string) => string | undefined;
}

/** `auth-provider.config` of a user. */
export interface OidcTokens {
  readonly idToken?: string;
  readonly refreshToken?: string;
  readonly issuer?: string;
  readonly clientID?: string;
  readonly clientSecret?: string;
  readonly ca?: Material;
}

export interface Impersonation {
  readonly user: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export type KubeConfigProblem =
  | "missing"
  | "unreadable"
  | "no-context"
  | "incomplete"
  /** A plugin, or another way to log in, that gave no credentials. */
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

export type Env = Readonly<Record<string, string | undefined>>;
