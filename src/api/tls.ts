/**
 * Encryption and client certificates, for the client plane and the peer plane.
 */
import { z } from "zod";
import { isIPv4, isIPv6 } from "./addresses.ts";
import { objectKind, objectName } from "./labels.ts";
import { DEFAULT_LIFETIMES } from "./lifetimes.ts";
import { celWhenDurations, duration, text, whenDurations } from "./scalars.ts";
import { withRules, type Rule } from "./rule.ts";

const tlsModeSchema = z.enum(["Managed", "CertManager", "Secrets", "Disabled"]);

const modeOfPlane = (name: string) =>
  tlsModeSchema
    .optional()
    .describe(
      name === "client"
        ? "TLS mode of client connections. Defaults to tls.mode. Can be changed while spec.auth is not enabled. From and to Disabled, members serve clients in both ways until tls.transition allows to stop the previous one. Between Managed, Secrets and CertManager, the CA is rotated to that of the other source."
        : "TLS mode of peer connections. Defaults to tls.mode. Can be changed. From and to Disabled, members are restarted twice, one at a time: to have certificates, and to listen with TLS; or the reverse. Between Managed, Secrets and CertManager, the CA is rotated to that of the other source.",
    );

const FILES = "tls.crt (with intermediates, if any), tls.key and ca.crt";

// Without defaults of the resource definition, like all that came later.
const issuerRef = (whose: string) =>
  z
    .strictObject({
      name: objectName().describe("Name of the issuer."),
      kind: objectKind()
        .optional()
        .describe("Issuer, ClusterIssuer, or a kind of another group. Defaults to Issuer."),
      group: objectName().optional().describe("API group of the issuer. Defaults to cert-manager.io."),
    })
    .describe(`The issuer of ${whose}. It must provide its CA (ca.crt), as CA and Vault issuers do.`);

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
      gateway: objectName()
        .optional()
        .describe(
          `Secret with the client certificate of etcd's HTTP gateway (JSON), which connects to its own member: ${FILES}. It needs the extended key usage clientAuth and no common name, and its CA must be one of trustedCA. Without it the gateway uses the server's certificate, which has to have the usage clientAuth as well. Members are restarted to use it.`,
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
  certManager: z
    .strictObject({
      server: issuerRef("the certificates that members show to clients"),
      operator: issuerRef(
        "client certificates: the operator's, the one in the Secret that status.clientSecret names, and those of members' HTTP gateways, which have no common name. Every certificate that its CA signs is accepted from clients",
      ),
    })
    .optional()
    .meta({
      kubernetesOnly: "refuse",
      description:
        "Issuers of cert-manager, with mode CertManager. Quorate creates two Certificates for each member, one of them for its HTTP gateway, one for itself and one for clients; cert-manager issues and renews them.",
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
  certManager: z
    .strictObject({ member: issuerRef("the certificates that members show to each other") })
    .optional()
    .meta({ kubernetesOnly: "refuse", description: "Issuer of cert-manager, with mode CertManager." }),
});

// Without defaults of the resource definition, which an operator from before these fields would find and reject.
const managedFields = z.strictObject({
  leafLifetime: duration()
    .optional()
    .describe(
      "How long certificates of members and clients are valid; at least 10m. They are renewed after two thirds of it, and at once if a change makes them due. Defaults to 2160h (90 days).",
    ),
  caLifetime: duration()
    .optional()
    .describe(
      "How long a CA is valid that is created from now on; at least twice leafLifetime. Existing CAs stay as they are. Defaults to 87600h (10 years).",
    ),
});

const given = (field: keyof typeof DEFAULT_LIFETIMES) =>
  `(has(self.${field}) ? self.${field} : '${DEFAULT_LIFETIMES[field]}')`;

const lifetimesInRange: Rule<z.output<typeof managedFields>> = {
  cel: celWhenDurations(
    [given("leafLifetime"), given("caLifetime")],
    `duration(${given("leafLifetime")}) >= duration('10m') && duration(${given("leafLifetime")}) + duration(${given("leafLifetime")}) <= duration(${given("caLifetime")}) && duration(${given("caLifetime")}) <= duration('262800h')`,
  ),
  message:
    "leafLifetime must be at least 10m, caLifetime at least twice leafLifetime (2160h unless set) and at most 262800h (30 years)",
  check: (managed) =>
    whenDurations(
      [
        managed.leafLifetime ?? DEFAULT_LIFETIMES.leafLifetime,
        managed.caLifetime ?? DEFAULT_LIFETIMES.caLifetime,
      ],
      (leaf, ca) => leaf >= 600_000 && 2 * leaf <= ca && ca <= 262_800 * 3_600_000,
    ),
};

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

const transitionFields = z.strictObject({
  proceed: z
    .enum(["Approval", "After"])
    .describe(
      "When members stop serving clients as before, which etcd does not report the use of. Approval: when you approve it. After: when the time in after has passed since all members serve clients in the new way too.",
    ),
  after: duration()
    .optional()
    .describe(
      "How long clients have to change, with proceed After. It begins again if the operator restarts.",
    ),
});

const timeIsGiven: Rule<z.output<typeof transitionFields>> = {
  cel: "(self.proceed == 'After') == has(self.after)",
  message: "after is needed with proceed After, and only with it",
  check: ({ proceed, after }) => (proceed === "After") === (after !== undefined),
};

const tlsFields = z.strictObject({
  mode: tlsModeSchema
    .default("Managed")
    .describe(
      "Managed: Quorate creates a certificate authority for the cluster and rotates its certificates. Secrets: certificates of your own, from the Secrets in client.secrets and peer.secrets; on Kubernetes only. CertManager: certificates that cert-manager issues, by client.certManager and peer.certManager; on Kubernetes only. Disabled: plaintext. Can be changed on a running cluster.",
    ),
  client: clientPlane
    .optional()
    .describe("Overrides tls.mode for client connections, and names their certificates."),
  peer: peerPlane
    .optional()
    .describe("Overrides tls.mode for peer connections, and names their certificates."),
  managed: withRules(managedFields, lifetimesInRange)
    .optional()
    .describe("Lifetimes of the certificates of planes with mode Managed."),
  clientAuth: z
    .enum(["Required", "None"])
    .default("Required")
    .describe(
      "Whether clients must present a certificate issued by the cluster's client CA. Can be changed while spec.auth is not enabled: members are restarted one at a time. From None to Required, members serve clients without a certificate until tls.transition allows to stop.",
    ),
  extraSANs: z
    .array(withRules(text(253), subjectAlternativeName))
    .max(64)
    .meta({ "x-kubernetes-list-type": "set" })
    .default([])
    .describe(
      "Additional DNS names and IP addresses in the server certificates, for access from outside the cluster. Can be changed: the certificates are reissued without a restart.",
    ),
  rotation: z
    .strictObject({
      soak: duration()
        .optional()
        .describe(
          "How long clients get to load what a rotation of the client CA needs of them, first the new CA and later certificates that it issued, before the next phase of the rotation. 10m if absent. Clients that read their files only at their start have to be restarted within this time.",
        ),
    })
    .optional()
    .describe("How a CA is rotated: one of a Managed plane, or another one that the source of a plane has."),
  transition: withRules(transitionFields, timeIsGiven)
    .optional()
    .describe(
      "How a change of TLS on a running cluster continues where it ends something that clients may still use. Approval if absent.",
    ),
});

type TLSFields = z.output<typeof tlsFields>;

export const planeMode = (self: string, plane: "client" | "peer"): string =>
  `(has(${self}.${plane}) && has(${self}.${plane}.mode) ? ${self}.${plane}.mode : ${self}.mode)`;

/** Exactly the source that the mode names. */
const sourceOf = (
  plane: "client" | "peer",
  mode: "Secrets" | "CertManager",
  source: "secrets" | "certManager",
): Rule<TLSFields> => ({
  cel: `(${planeMode("self", plane)} == '${mode}') == (has(self.${plane}) && has(self.${plane}.${source}))`,
  fieldPath: `.${plane}`,
  message: `tls.${plane}.${source} is needed with mode ${mode} of the ${plane} plane, and only with it: add it, or choose another mode`,
  check: (tls) => ((tls[plane]?.mode ?? tls.mode) === mode) === (tls[plane]?.[source] !== undefined),
});

const lifetimesAreUsed: Rule<TLSFields> = {
  cel: `!has(self.managed) || ${planeMode("self", "client")} == 'Managed' || ${planeMode("self", "peer")} == 'Managed'`,
  fieldPath: ".managed",
  message: "tls.managed is for planes with mode Managed, and there is none: remove it, or choose that mode",
  check: (tls) =>
    tls.managed === undefined ||
    [tls.client?.mode ?? tls.mode, tls.peer?.mode ?? tls.mode].includes("Managed"),
};

const rotationIsPossible: Rule<TLSFields> = {
  cel: `!has(self.rotation) || ${planeMode("self", "client")} != 'Disabled' || ${planeMode("self", "peer")} != 'Disabled'`,
  fieldPath: ".rotation",
  message: "tls.rotation is for planes with TLS, and both are Disabled: remove it, or choose another mode",
  check: (tls) =>
    tls.rotation === undefined ||
    [tls.client?.mode ?? tls.mode, tls.peer?.mode ?? tls.mode].some((mode) => mode !== "Disabled"),
};

export const tlsSchema = withRules(
  tlsFields,
  sourceOf("client", "Secrets", "secrets"),
  sourceOf("client", "CertManager", "certManager"),
  sourceOf("peer", "Secrets", "secrets"),
  sourceOf("peer", "CertManager", "certManager"),
  lifetimesAreUsed,
  rotationIsPossible,
);

export type TLSMode = z.output<typeof tlsModeSchema>;
export type TLS = z.output<typeof tlsSchema>;
