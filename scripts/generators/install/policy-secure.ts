/**
 * The admission policy that enforces secure defaults, in namespaces that an administrator has labelled: no plaintext, no
 * clients without a certificate, no Pods that run as root. For everybody: a label of the namespace is no matter of who
 * asks. A cluster from before the label keeps what it has, so that it can still be scaled and repaired.
 */
import { GROUP } from "../../../src/api/metadata.ts";
import type { Manifest } from "./metadata.ts";
import { optional, policy, unchanged, type Validation } from "./policy-objects.ts";

export const SECURE = "secure";
export const SECURE_LABEL = `${GROUP}/secure-defaults`;
export const SECURE_VALUE = "enforce";

const SECURITY = "pod.securityContext";

export function securePolicy(onlyIn?: string): Manifest[] {
  const validations: Validation[] = [
    ...(["client", "peer"] as const).map((plane) =>
      enforced(
        `${modeOf(plane, "object")} != 'Disabled' || (request.operation == 'UPDATE' && ${modeOf(plane, "oldObject")} == 'Disabled')`,
        `plaintext ${plane} connections are not allowed: set spec.tls.mode (and spec.tls.${plane}.mode, if it is set) to Managed, Secrets or CertManager`,
      ),
    ),
    enforced(
      `${optional("tls.clientAuth")}.orValue('') != 'None' || ${unchanged("tls.clientAuth")}`,
      "clients without a certificate are not allowed: set spec.tls.clientAuth to Required",
    ),
    enforced(
      `(${optional(SECURITY)}.hasValue() ? ${optional(`${SECURITY}.runAsNonRoot`)}.orValue(false) : ${optional("storage.medium")}.orValue('') != 'HostPath') || ${unchanged(SECURITY, "storage.medium")}`,
      "Pods that run as root are not allowed: set spec.pod.securityContext.runAsNonRoot to true (members with storage.medium HostPath run as root unless a securityContext says otherwise)",
    ),
    enforced(
      `${optional("pod.sidecars")}.orValue([]).all(one, ${unprivileged("dyn(one).?securityContext")}) || ${unchanged("pod.sidecars")}`,
      "sidecars that run as root or privileged are not allowed: remove runAsUser 0, runAsNonRoot false and privileged from spec.pod.sidecars",
    ),
  ];
  return policy(
    "etcdclusters",
    onlyIn,
    {
      operations: ["CREATE", "UPDATE"],
      validations,
      namespaceLabels: { [SECURE_LABEL]: SECURE_VALUE },
    },
    SECURE,
  );
}

function modeOf(plane: "client" | "peer", of: "object" | "oldObject"): string {
  return `${optional(`tls.${plane}.mode`, of)}.orValue(${optional("tls.mode", of)}.orValue(''))`;
}

function unprivileged(context: string): string {
  return [
    `!${context}.?privileged.orValue(false)`,
    `${context}.?runAsNonRoot.orValue(true)`,
    `${context}.?runAsUser.orValue(1) != 0`,
  ].join(" && ");
}

function enforced(expression: string, message: string): Validation {
  return {
    expression,
    message: `${message}. Secure defaults are enforced here`,
    messageExpression: `'${message}. Secure defaults are enforced in namespace ' + request.namespace + ' by its administrators.'`,
  };
}
