/**
 * What cert-manager is asked for: a Certificate for each member and plane, one for its gateway, one for the operator and
 * one for clients.
 */
import type { OwnerReference } from "kubernetes-types/meta/v1.d.ts";
import { certifiedUsers } from "../../core/auth/certified.ts";
import type { UserFacts } from "../../core/auth/facts.ts";
import { modeOf } from "../../core/config/flags.ts";
import { canHaveGateway, hasOwnGateway } from "../../core/config/gateway.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import type { MemberRecord } from "../../core/record.ts";
import type { View } from "../../core/view.ts";
import { isOwnedBy } from "../../kube/resources.ts";
import { USAGES, type Plane } from "../../pki/plan.ts";
import { memberSans } from "../../pki/sans.ts";
import type { Sans, Usage } from "../../seams/pki.ts";
import { CERT_MANAGER, certificates, type Certificate, type IssuerRef } from "../cert-manager.ts";
import { certificateNames, CLIENTS, gatewayHost, issuedNames } from "../names.ts";
import { externalAddresses } from "../observe/external.ts";
import {
  annotationsOf,
  clusterLabels,
  memberObjectLabels,
  ownedByCluster,
  ownedByMember,
  ownedByUser,
} from "../render/metadata.ts";
import { secrets } from "../resources.ts";
import type { Cached } from "./cached.ts";
import { applied, named, nameOf, patched } from "./entries.ts";
import type { Wanted } from "./wanted-object.ts";

/**
 * What cert-manager is asked for, and the Secrets that it wrote: it leaves them behind when their Certificate goes, so
 * they are given to the owner of the Certificate.
 */
export function issuedOf(view: View, plane: Plane, cached: Cached): Wanted[] {
  if (modeOf(view.spec.tls, plane) !== "CertManager" || !cached.hasCertManager) return [];
  const { cluster } = view.observation;
  const records = view.members.map(({ record }) => record);
  const users = certifiedUsers(view);
  const external = externalAddresses(cluster, cached.services);
  const wanted = [
    ...wantedCertificates(cluster, records, plane, external, cached),
    ...(plane === "client" ? users.flatMap((user) => certificateOfUser(cluster, user)) : []),
  ];
  return wanted.flatMap(({ object, owner }) => {
    const known = named(cached.secrets, nameOf(object));
    const { ownerReferences = [], annotations, deletionTimestamp } = known?.metadata ?? {};
    const isIssued = annotations?.[CERTIFICATE_NAME] === nameOf(object) && deletionTimestamp === undefined;
    const isAdopted = known !== undefined && isOwnedBy(known, owner);
    const [mine] = object.metadata?.ownerReferences ?? [];
    const adopted =
      known && mine && isIssued && !isAdopted
        ? { metadata: { ownerReferences: [...ownerReferences, { ...mine, controller: false }] } }
        : undefined;
    return [
      applied(certificates, object, cached.certificates, owner),
      ...(known
        ? patched(`the owner of Secret ${nameOf(known)}`, secrets, known, adopted, { exact: true })
        : []),
    ];
  });
}

/** By cert-manager, on what it wrote. */
const CERTIFICATE_NAME = `${CERT_MANAGER}/certificate-name`;

const USAGE_NAMES: Readonly<Record<Usage, string>> = { serverAuth: "server auth", clientAuth: "client auth" };

interface WantedCertificate {
  readonly object: Certificate;
  /** The UID of its owner. */
  readonly owner: string;
}

interface Issue {
  readonly cluster: ClusterFacts;
  readonly name: string;
  readonly commonName?: string;
  readonly usages: readonly Usage[];
  readonly issuer: IssuerRef;
  readonly sans?: Sans;
  readonly record?: MemberRecord;
  /** Where it is neither the member's nor the cluster's. */
  readonly owner?: OwnerReference;
}

/** All of a plane whose mode is CertManager; none of another. */
function wantedCertificates(
  cluster: ClusterFacts,
  records: readonly MemberRecord[],
  plane: Plane,
  external: readonly string[],
  cached: Cached,
): WantedCertificate[] {
  const { client, peer } = cluster.spec.tls;
  const members = plane === "client" ? client?.certManager?.server : peer?.certManager?.member;
  const clients = plane === "client" ? client?.certManager?.operator : undefined;
  const ofMembers = records.map((record): WantedCertificate | undefined => {
    if (!members) return undefined;
    const { hosts, domains } = certificateNames(cluster, record, plane, cached.clusterDomain);
    const extra = plane === "client" ? [...record.template.tls.extraSANs, ...external] : [];
    const { sans } = memberSans({ hosts, domains, extra });
    const name = issuedNames.member(record.name, plane);
    const server =
      hasOwnGateway(record.template) && !servesGateway(record, name, cached)
        ? USAGES.server
        : USAGES.serverWithGateway;
    const usages = plane === "client" ? server : USAGES.peer;
    const object = certificate({
      cluster,
      name,
      commonName: record.name,
      usages,
      issuer: members,
      sans,
      record,
    });
    return { object, owner: record.uid };
  });
  const ofGateways = records.map((record): WantedCertificate | undefined =>
    clients && asksForGateway(cluster, record) ? gatewayCertificate(cluster, record, clients) : undefined,
  );
  const ofClients = [
    [issuedNames.operator(cluster.name), CLIENTS.operator] as const,
    [issuedNames.client(cluster.name), CLIENTS.user] as const,
  ].map(
    ([name, commonName]): WantedCertificate | undefined =>
      clients && {
        object: certificate({ cluster, name, commonName, usages: USAGES.client, issuer: clients }),
        owner: cluster.uid,
      },
  );
  return [...ofMembers, ...ofGateways, ...ofClients].filter((one) => one !== undefined);
}

/** What a running gateway connects with is not taken from it before its own is there: not every issuer issues that. */
function servesGateway({ name }: MemberRecord, server: string, cached: Cached): boolean {
  const { usages = [] } = named(cached.certificates, server)?.spec ?? {};
  return (
    usages.includes(USAGE_NAMES.clientAuth) && named(cached.secrets, issuedNames.gateway(name)) === undefined
  );
}

/**
 * Before the gateway of a member uses one of its own, so that it is there when the member is started with it. Its issuer
 * is that of clients, whose CA is the one that members trust.
 */
export function asksForGateway({ spec }: Pick<ClusterFacts, "spec">, { template }: MemberRecord): boolean {
  return [spec, template].some(({ tls }) => canHaveGateway(tls, template.version));
}

function gatewayCertificate(
  cluster: ClusterFacts,
  record: MemberRecord,
  issuer: IssuerRef,
): WantedCertificate {
  const sans = { dns: [gatewayHost(cluster, record.name)], ips: [] };
  const name = issuedNames.gateway(record.name);
  const object = certificate({ cluster, name, usages: USAGES.client, issuer, sans, record });
  return { object, owner: record.uid };
}

/** From the issuer of client certificates; its Secret is copied to that of the user, with the CA of the servers. */
function certificateOfUser(cluster: ClusterFacts, user: UserFacts): WantedCertificate[] {
  const issuer = cluster.spec.tls.client?.certManager?.operator;
  if (!issuer) return [];
  const name = issuedNames.user(user.object);
  const issue = { cluster, name, commonName: user.name, usages: USAGES.client, issuer };
  return [{ object: certificate({ ...issue, owner: ownedByUser(user) }), owner: user.uid }];
}

function certificate(issue: Issue): Certificate {
  const { cluster, name, commonName, usages, issuer, sans, record } = issue;
  const owner = issue.owner ?? (record ? ownedByMember(record) : ownedByCluster(cluster));
  const labels = { ...(record ? memberObjectLabels(cluster, record) : clusterLabels(cluster)) };
  return {
    apiVersion: `${CERT_MANAGER}/v1`,
    kind: "Certificate",
    metadata: {
      name,
      namespace: cluster.namespace,
      labels,
      ...annotationsOf(cluster),
      ownerReferences: [owner],
    },
    spec: {
      secretName: name,
      secretTemplate: { labels },
      ...(commonName !== undefined && { commonName }),
      ...(sans?.dns.length && { dnsNames: sans.dns }),
      ...(sans?.ips.length && { ipAddresses: sans.ips }),
      usages: ["digital signature", ...usages.map((usage) => USAGE_NAMES[usage])],
      privateKey: { algorithm: "ECDSA", size: 256, rotationPolicy: "Always" },
      issuerRef: {
        name: issuer.name,
        kind: issuer.kind ?? "Issuer",
        group: issuer.group ?? CERT_MANAGER,
      },
    },
  };
}
