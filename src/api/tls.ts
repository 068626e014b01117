/**
 * Encryption and client certificates, for the client plane and the peer plane.
 */
import { z } from "zod";
import { isIPv4, isIPv6 } from "./addresses.ts";
import { text } from "./scalars.ts";
import { withRules, type Rule } from "./rule.ts";

const tlsModeSchema = z.enum(["Managed", "Disabled"]);

const plane = (name: string) =>
  z
    .strictObject({
      mode: tlsModeSchema.optional().describe(`TLS mode of ${name} connections. Defaults to tls.mode.`),
    })
    .optional()
    .describe(`Overrides tls.mode for ${name} connections. Cannot be changed after the cluster was created.`);

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
      "Managed: Quorate creates a certificate authority for the cluster and rotates its certificates. Disabled: plaintext. Cannot be changed after the cluster was created.",
    ),
  client: plane("client"),
  peer: plane("peer"),
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

export const tlsSchema = withRules(tlsFields, securityIsKept);

export type TLS = z.output<typeof tlsSchema>;
