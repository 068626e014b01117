/**
 * Good and bad specs for the rules about TLS; part of the list in examples.ts.
 */
import type { Change, Example } from "./example.ts";

const spec = (fields: Record<string, unknown>): Change => ({ spec: fields });

export const tlsExamples: readonly Example[] = [
  {
    title: "an address with a port among the names",
    path: "spec.tls.extraSANs[1]",
    bad: spec({ tls: { extraSANs: ["etcd.example.com", "etcd.example.com:2379"] } }),
    good: spec({ tls: { extraSANs: ["*.example.com", "10.0.0.1", "2001:db8::1"] } }),
  },
  {
    title: "something like an IPv6 address",
    path: "spec.tls.extraSANs[0]",
    bad: spec({ tls: { extraSANs: ["1:2:3"] } }),
    good: spec({ tls: { extraSANs: ["::1"] } }),
  },
  {
    title: "something like an IPv4 address",
    path: "spec.tls.extraSANs[0]",
    bad: spec({ tls: { extraSANs: ["10.0.0.256"] } }),
    good: spec({ tls: { extraSANs: ["10.0.0.255"] } }),
  },
  {
    title: "an IPv4 address in the clothes of IPv6",
    path: "spec.tls.extraSANs[0]",
    bad: spec({ tls: { extraSANs: ["::ffff:10.0.0.1"] } }),
    good: spec({ tls: { extraSANs: ["64:ff9b::10.0.0.1"] } }),
  },
  {
    title: "plain text for clients while users are known by certificates",
    path: "spec.tls",
    old: spec({ auth: { enabled: true, clientRoles: [] } }),
    bad: spec({ auth: { enabled: true, clientRoles: [] }, tls: { client: { mode: "Disabled" } } }),
    good: spec({ auth: { enabled: true, clientRoles: [] }, tls: { client: { mode: "Managed" } } }),
  },
  {
    title: "client certificates no longer required while users are known by them",
    path: "spec.tls",
    old: spec({ auth: { enabled: true, clientRoles: [] } }),
    bad: spec({ auth: { enabled: false }, tls: { clientAuth: "None" } }),
    good: spec({ auth: { enabled: false } }),
  },
  {
    title: "a change of TLS that ends after no time at all",
    path: "spec.tls.transition",
    bad: spec({ tls: { transition: { proceed: "After" } } }),
    good: spec({ tls: { transition: { proceed: "After", after: "24h" } } }),
  },
  {
    title: "a change of TLS that ends by approval and after a time",
    path: "spec.tls.transition",
    bad: spec({ tls: { transition: { proceed: "Approval", after: "24h" } } }),
    good: spec({ tls: { clientAuth: "None", transition: { proceed: "Approval" } } }),
  },
  {
    title: "certificates of one's own without the Secret of the peers",
    path: "spec.tls.peer",
    bad: spec({ tls: { mode: "Secrets", client: { secrets: { server: "a", operator: "b" } } } }),
    good: spec({
      tls: {
        mode: "Secrets",
        client: { secrets: { server: "a", operator: "b", gateway: "e", trustedCA: "c" } },
        peer: { secrets: { member: "d" } },
      },
    }),
  },
  {
    title: "Secrets for a plane whose certificates are managed",
    path: "spec.tls.client",
    bad: spec({ tls: { client: { secrets: { server: "a", operator: "b" } } } }),
    good: spec({ tls: { client: { mode: "Secrets", secrets: { server: "a", operator: "b" } } } }),
  },
  {
    title: "cert-manager without an issuer",
    path: "spec.tls.peer",
    bad: spec({ tls: { peer: { mode: "CertManager" } } }),
    good: spec({ tls: { peer: { mode: "CertManager", certManager: { member: { name: "a" } } } } }),
  },
  {
    title: "issuers of cert-manager for a plane in plaintext",
    path: "spec.tls.client",
    bad: spec({
      tls: { mode: "Disabled", client: { certManager: { server: { name: "a" }, operator: { name: "b" } } } },
    }),
    good: spec({
      tls: {
        client: { mode: "CertManager", certManager: { server: { name: "a" }, operator: { name: "b" } } },
      },
    }),
  },
  {
    title: "an issuer whose kind is no kind",
    path: "spec.tls.peer.certManager.member.kind",
    bad: spec({
      tls: { peer: { mode: "CertManager", certManager: { member: { name: "a", kind: "issuer" } } } },
    }),
    good: spec({
      tls: { peer: { mode: "CertManager", certManager: { member: { name: "a", kind: "ClusterIssuer" } } } },
    }),
  },
  {
    title: "certificates that end before anybody could renew them",
    path: "spec.tls.managed",
    bad: spec({ tls: { managed: { leafLifetime: "9m" } } }),
    good: spec({ tls: { managed: { leafLifetime: "10m", caLifetime: "24h" } } }),
  },
  {
    title: "a pace of rotation where nothing is rotated",
    path: "spec.tls.rotation",
    bad: spec({ tls: { mode: "Disabled", rotation: { soak: "1h" } } }),
    good: spec({ tls: { rotation: { soak: "1h" } } }),
  },
  {
    title: "a CA that ends with its certificates",
    path: "spec.tls.managed",
    bad: spec({ tls: { managed: { caLifetime: "2160h" } } }),
    good: spec({ tls: { managed: { caLifetime: "4320h" } } }),
  },
  {
    title: "lifetimes of certificates that Quorate does not issue",
    path: "spec.tls.managed",
    bad: spec({ tls: { mode: "Disabled", managed: {} } }),
    good: spec({ tls: { mode: "Disabled", peer: { mode: "Managed" }, managed: {} } }),
  },
];
