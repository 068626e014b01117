/** What a failed call to the API server means to the person at the command line, and what to do about it. */
import { KubeConfigError } from "../../kube/config.ts";
import { KubeError } from "../../kube/errors.ts";
import { CommandError, EXIT, type ExitCode } from "../exit.ts";

/** What was to be done, in the words of RBAC. */
export interface Attempt {
  readonly verb: "get" | "list" | "watch" | "create" | "patch" | "update" | "delete";
  /** `etcdclusters.etcd.quorate.dev`, `pods/log`. */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly server: string;
}

export function explained(error: unknown, attempt: Attempt): Error {
  if (error instanceof CommandError) return error;
  if (error instanceof KubeConfigError) {
    const next = error.problem === "missing" ? ". For a cluster on this machine, add --local" : "";
    return new CommandError(EXIT.notFound, `${error.message}${next}`, { cause: error });
  }
  const login = loginProblem(error);
  if (login !== undefined) return new CommandError(EXIT.denied, login.message, { cause: error });
  if (!(error instanceof KubeError)) return error instanceof Error ? error : new Error(String(error));
  const described = describe(error, attempt);
  return described === undefined ? error : new CommandError(described[0], described[1], { cause: error });
}

/** The API server was not even asked: a credential plugin, or another way to log in, gave nothing. */
function loginProblem(error: unknown): KubeConfigError | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof KubeConfigError) return cause;
  return undefined;
}

function describe(error: KubeError, attempt: Attempt): readonly [ExitCode, string] | undefined {
  const { namespace, server } = attempt;
  const place = namespace === undefined ? "in all namespaces" : `in namespace ${namespace}`;
  switch (error.reason) {
    case "Unreachable":
    case "Interrupted":
    case "Unavailable":
    case "ServerTimeout":
      return [
        EXIT.notFound,
        `the API server at ${server} does not answer: ${causeOf(error)}. Check the server and the network, or choose another cluster with --context or --kubeconfig`,
      ];
    case "Unauthorized":
      return [
        EXIT.denied,
        `the API server at ${server} rejected your credentials. Log in again, or choose another context with --context`,
      ];
    case "Forbidden":
      return [EXIT.denied, forbidden(error, attempt, place)];
    case "Conflict":
      return [
        EXIT.conflict,
        "the object changed in the meantime, and nothing was written. Run the command again",
      ];
    case "Invalid":
    case "BadRequest":
      return [EXIT.failed, causesOf(error)];
    default:
      return undefined;
  }
}

/** A right that is lacking can be asked for; what admission rejected, the server explains itself. */
function forbidden(error: KubeError, { verb, resource, namespace }: Attempt, place: string): string {
  const said = error.answer === undefined ? "" : `: ${error.answer.message.replace(/\.$/, "")}`;
  if (isOfAdmission(error, verb, resource)) return `the API server rejected this${said}`;
  const scope = namespace === undefined ? "-A" : `-n ${namespace}`;
  const check = `kubectl auth can-i ${verb} ${resource} ${scope}`;
  const narrower = namespace === undefined ? ", or name one namespace with -n" : "";
  return `you may not ${verb} ${resource} ${place}${said}. Ask for that right (check: ${check})${narrower}`;
}

/**
 * Admission comes after authorization. A policy lists its reasons as causes, a webhook does not say what it is about, and
 * a quota knows the name of what is to be created: the authorizer, which sees only the path, does none of these. The path
 * of a subresource, such as pods/portforward, has a name.
 */
function isOfAdmission({ answer, causes }: KubeError, verb: Attempt["verb"], resource: string): boolean {
  if (answer === undefined) return false;
  const { kind = "", name = "" } = answer;
  const namesWhatIsMade = verb === "create" && !resource.includes("/") && name !== "";
  return causes.length > 0 || kind === "" || namesWhatIsMade;
}

/** Without what was tried: the caller says that in better words. */
function causeOf(error: KubeError): string {
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function causesOf(error: KubeError): string {
  if (error.causes.length === 0) return error.message;
  return error.causes
    .map(({ field, message }) => (field === undefined || field === "" ? message : `${field}: ${message}`))
    .join("\n");
}

/** The API server knows no such resource: Quorate is not installed there, or an older one. */
export function notInstalled(server: string, resource: string): CommandError {
  return new CommandError(
    EXIT.notFound,
    `the API server at ${server} has no resource ${resource}: Quorate is not installed in this cluster, or in an older version. Install it (docs/install.md), or choose another cluster with --context`,
  );
}
