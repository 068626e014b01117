/** The user entry of a context: certificates, tokens, a credential plugin, OpenID Connect, and whom to act as. */
import { material } from "./cluster.ts";
import { isFields, resolved, textIn, type Entry, type Fields } from "./files.ts";
import { oidcTokens } from "./oidc-user.ts";
import { proxyFromEnvironment } from "./proxy.ts";
import {
  KubeConfigError,
  type Env,
  type ExecPlugin,
  type Impersonation,
  type InteractiveMode,
  type KubeConfig,
} from "./types.ts";

const MODES: readonly InteractiveMode[] = ["Never", "IfAvailable", "Always"];
const API_VERSIONS = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"] as const;
/** Under which extension a kubeconfig keeps what is for its plugin only. */
const EXEC_EXTENSION = "client.authentication.k8s.io/exec";

type UserPart = Pick<KubeConfig, "token" | "cert" | "key" | "exec" | "oidc" | "impersonate">;

export function userPart(user: Entry, cluster: Entry, env: Env): UserPart {
  const { file, name, fields } = user;
  const what = `${file}: the user "${name}"`;
  if (fields["username"] !== undefined || fields["password"] !== undefined)
    throw new KubeConfigError(
      "unsupported",
      `${what} has a username and a password, which Kubernetes no longer accepts since 1.19: use a token (kubectl create token), a client certificate or a credential plugin`,
    );
  const cert = material(file, fields, "client-certificate");
  const key = material(file, fields, "client-key");
  if ((cert === undefined) !== (key === undefined))
    throw new KubeConfigError("incomplete", `${what} has a client certificate or its key, but not both`);
  const tokenFile = textIn(fields, "tokenFile");
  const token = textIn(fields, "token");
  const impersonate = impersonation(what, fields);
  return {
    ...(cert && key && { cert, key }),
    ...(tokenFile !== undefined
      ? { token: { file: resolved(file, tokenFile) } }
      : token !== undefined
        ? { token: { text: token } }
        : plugin(what, user, cluster, env)),
    ...(impersonate && { impersonate }),
  };
}

/** A token in the kubeconfig counts before a plugin, as for kubectl. */
function plugin(what: string, user: Entry, cluster: Entry, env: Env): Pick<UserPart, "exec" | "oidc"> {
  const { file, name, fields } = user;
  const { exec, "auth-provider": provider } = fields;
  if (exec !== undefined && provider !== undefined)
    throw new KubeConfigError("incomplete", `${what} has both exec and auth-provider: remove one of them`);
  if (isFields(exec)) return { exec: execPlugin(what, file, exec, cluster) };
  if (exec !== undefined) throw new KubeConfigError("unreadable", `${what}: exec is not a mapping`);
  if (provider === undefined) return {};
  if (!isFields(provider) || provider["name"] !== "oidc")
    throw new KubeConfigError(
      "unsupported",
      `${what} uses the auth-provider ${JSON.stringify(isFields(provider) ? provider["name"] : provider)}, which Kubernetes removed: use the credential plugin of your provider (exec) instead, such as gke-gcloud-auth-plugin or kubelogin`,
    );
  const tokens = oidcTokens(user);
  if (tokens.idToken === undefined && tokens.refreshToken === undefined)
    throw new KubeConfigError(
      "incomplete",
      `${what} logs in with OpenID Connect, but has neither an id-token nor a refresh-token yet: log in first, with the tool that wrote the kubeconfig`,
    );
  return { oidc: { file, user: name, tokens, proxyTo: (url) => proxyFromEnvironment(url, env) } };
}

function execPlugin(what: string, file: string, exec: Fields, cluster: Entry): ExecPlugin {
  const command = textIn(exec, "command");
  if (command === undefined) throw new KubeConfigError("incomplete", `${what}: exec names no command`);
  const apiVersion = API_VERSIONS.find((known) => known === exec["apiVersion"]);
  if (apiVersion === undefined)
    throw new KubeConfigError(
      "unsupported",
      `${what}: exec has apiVersion ${JSON.stringify(exec["apiVersion"])}; supported are ${API_VERSIONS.join(" and ")}: update the plugin, and have it write the kubeconfig again`,
    );
  const given = exec["interactiveMode"];
  const interactiveMode =
    given === undefined && apiVersion.endsWith("v1beta1")
      ? "IfAvailable"
      : MODES.find((known) => known === given);
  if (interactiveMode === undefined)
    throw new KubeConfigError(
      "incomplete",
      `${what}: exec.interactiveMode must be one of ${MODES.join(", ")}`,
    );
  const installHint = textIn(exec, "installHint");
  return {
    apiVersion,
    // A bare name is looked for in PATH; a path is seen from the kubeconfig.
    command: command.includes("/") ? resolved(file, command) : command,
    args: texts(`${what}: exec.args`, exec["args"]),
    env: environment(what, exec["env"]),
    interactiveMode,
    ...(installHint !== undefined && { installHint }),
    ...(exec["provideClusterInfo"] === true && { cluster: clusterInfo(cluster) }),
  };
}

function environment(what: string, given: unknown): Record<string, string> {
  if (given === undefined || given === null) return {};
  if (!Array.isArray(given)) throw new KubeConfigError("unreadable", `${what}: exec.env is not a list`);
  return Object.fromEntries(
    given.map((one: unknown) => {
      const name = isFields(one) ? textIn(one, "name") : undefined;
      if (!isFields(one) || name === undefined)
        throw new KubeConfigError("unreadable", `${what}: an entry of exec.env has no name`);
      return [name, String(one["value"] ?? "")];
    }),
  );
}

/** What the API of credential plugins names; files stay files, seen from here. */
function clusterInfo({ file, fields }: Entry): Fields {
  const passed = [
    "server",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "certificate-authority-data",
    "proxy-url",
    "disable-compression",
  ].flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]] as const]));
  const authority = textIn(fields, "certificate-authority");
  const extensions = Array.isArray(fields["extensions"]) ? fields["extensions"] : [];
  const own: unknown = extensions.find((one: unknown) => isFields(one) && one["name"] === EXEC_EXTENSION);
  return {
    ...Object.fromEntries(passed),
    ...(authority !== undefined && { "certificate-authority": resolved(file, authority) }),
    ...(isFields(own) && { config: own["extension"] }),
  };
}

function impersonation(what: string, fields: Fields): Impersonation | undefined {
  const user = textIn(fields, "as");
  const uid = textIn(fields, "as-uid");
  const groups = texts(`${what}: as-groups`, fields["as-groups"]);
  const extra = fields["as-user-extra"] ?? {};
  if (!isFields(extra)) throw new KubeConfigError("unreadable", `${what}: as-user-extra is not a mapping`);
  const more = Object.entries(extra).map(
    ([name, values]) => [name, texts(`${what}: as-user-extra.${name}`, values)] as const,
  );
  if (user !== undefined)
    return { user, ...(uid !== undefined && { uid }), groups, extra: Object.fromEntries(more) };
  if (uid !== undefined || groups.length > 0 || more.length > 0)
    throw new KubeConfigError(
      "incomplete",
      `${what} has as-uid, as-groups or as-user-extra, but no "as": name the user to act as`,
    );
  return undefined;
}

function texts(what: string, value: unknown): readonly string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
  throw new KubeConfigError("unreadable", `${what} is not a list of texts`);
}
