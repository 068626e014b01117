/**
 * Encryption and client certificates, for the client plane and the peer plane.
 */
import { z } from "zod";
import { isIPv4, isIPv6 } from "./addresses.ts";
import { objectName } from "./labels.ts";
import { text } from "./scalars.ts";
import { withRules, type Rule } from "./rule.ts";

const tlsModeSchema = z.enum(["Managed", "Secrets", "Disabled"]);

const modeOfPlane = (name: string) =>
  tlsModeSchema
    .optional()
    .describe(
      `TLS mode of ${name} connections. Defaults to tls.mode. Cannot be changed after the cluster was created.`,
    );

const FILES = "tls.crt (with intermediates, if any), tls.key and ca.crt";

const clientPlane = z.strictObject({
  mode: modeOfPlane("client"),
  secrets: z
    .strictObject({
      server: objectName().describe(
        `Secret with the certificate that all members show to clients: ${FILES}. It needs the extended key usage serverAuth and the names <cluster>-client.<namespace>.svc, *.<cluster>-peers.<namespace>.svc and tls.extraSANs.`,
      ),
      operator: objectName().describe(
        `Secret with the client certificate of the operator: ${FILES}. It needs the extended key usage clientAuth. Its CA need not be that of the servers.`,
      ),
      trustedCA: objectName()
        .optional()
        .describe(
          "Secret with the CAs of clients, in ca.crt. Every certificate that they sign is accepted; the operator's must be among them. Defaults to ca.crt of the operator's Secret.",
        ),
    })
    .optional()
    .meta({
      kubernetesOnly: "refuse",
      description:
        "Secrets of the cluster's namespace with certificates of your own, with mode Secrets. They are checked and copied; a change is taken over within a minute and without a restart, or at once if the Secret has the label etcd.quorate.dev/cluster with the name of the cluster.",
    }),
});

const peerPlane = z.strictObject({
  mode: modeOfPlane("peer"),
  secrets: z
    .strictObject({
      member: objectName().describe(
        `Secret with the certificate of all members: ${FILES}. It needs the extended key usages serverAuth and clientAuth and the names <cluster>-peers.<namespace>.svc and *.<namespace>.svc, or <member>-peer.<namespace>.svc of every member in place of the latter.`,
      ),
    })
    .optional()
    .meta({
      kubernetesOnly: "refuse",
      description:
        "Secret of the cluster's namespace with a certificate of your own, with mode Secrets, checked and copied like those of clients.",
    }),
});

const DNS_NAME = "^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/** Only digits and dots, or with colons: a mistyped address, not a name. */
const ADDRESS = "^([0-9.]+|[0-9a-f:.]*:[0-9a-f:.]*)$";

const subjectAlternativeName: Rule<string> = {
  cel: `self.matches('${ADDRESS}') ? isIP(self) : self.matches('${DNS_NAME.replaceAll("\\", "\\\\")}')`,
  message:
    "must be a lower-case DNS name (a leading '*.' is allowed) or an IP address, without scheme and port",
  check: (name) =>
    new RegExp(ADDRESS).test(name) ? isIPv4(name) || isIPv6(name) : new RegExp(DNS_NAME).test(name),
};

const tlsFields = z.strictObject({
  mode: tlsModeSchema
    .default("Managed")
    .describe(
      "Managed: Quorate creates a certificate authority for the cluster and rotates its certificates. Secrets: certificates of your own, from the Secrets in client.secrets and peer.secrets; on Kubernetes only. Disabled: plaintext. Cannot be changed after the cluster was created.",
    ),
  client: clientPlane
    .optional()
    .describe("Overrides tls.mode for client connections, and names their certificates."),
  peer: peerPlane
    .optional()
    .describe("Overrides tls.mode for peer connections, and names their certificates."),
  clientAuth: z
    .enum(["Required", "None"])
    .default("Required")
    .describe(
      "Whether clients must present a certificate issued by the cluster's client CA. Cannot be changed after the cluster was created.",
    ),
  extraSANs: z
    .array(withRules(text(253), subjectAlternativeName))
    .max(64)
    .meta({ "x-kubernetes-list-type": "set" })
    .default([])
    .describe(
      "Additional DNS names and IP addresses in the server certificates, for access from outside the cluster. Can be changed: the certificates are reissued without a restart.",
    ),
});

type TLSFields = z.output<typeof tlsFields>;

const planeMode = (self: string, plane: "client" | "peer"): string =>
  `(has(${self}.${plane}) && has(${self}.${plane}.mode) ? ${self}.${plane}.mode : ${self}.mode)`;

/** What counts is the mode of each plane, wherever it is written. */
const securityIsKept: Rule<TLSFields> = {
  cel: [
    `${planeMode("self", "client")} == ${planeMode("oldSelf", "client")}`,
    `${planeMode("self", "peer")} == ${planeMode("oldSelf", "peer")}`,
    "self.clientAuth == oldSelf.clientAuth",
  ].join(" && "),
  transition: true,
  message:
    "tls cannot be changed on a running cluster yet (mode, client, peer, clientAuth; extraSANs can): create a cluster with the other mode and copy the data",
  check: (tls, old) =>
    old === undefined ||
    ((tls.client?.mode ?? tls.mode) === (old.client?.mode ?? old.mode) &&
      (tls.peer?.mode ?? tls.mode) === (old.peer?.mode ?? old.mode) &&
      tls.clientAuth === old.clientAuth),
};

/** Exactly the source that the mode names. */
const sourceOf = (plane: "client" | "peer"): Rule<TLSFields> => ({
  cel: `(${planeMode("self", plane)} == 'Secrets') == (has(self.${plane}) && has(self.${plane}.secrets))`,
  fieldPath: `.${plane}`,
  message: `tls.${plane}.secrets is needed with mode Secrets of the ${plane} plane, and only with it: name the Secrets, or choose another mode`,
  check: (tls) => ((tls[plane]?.mode ?? tls.mode) === "Secrets") === (tls[plane]?.secrets !== undefined),
});

export const tlsSchema = withRules(tlsFields, securityIsKept, sourceOf("client"), sourceOf("peer"));

export type TLSMode = z.output<typeof tlsModeSchema>;
export type TLS = z.output<typeof tlsSchema>;
