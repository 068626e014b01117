/** What this platform adds to the status of a cluster: addresses, nodes, certificates, and warnings of its own. */
import type { EtcdClusterSpec } from "../../api/etcd-cluster-spec.ts";
import { sentencesOf } from "../../control/problem.ts";
import { modesInUse } from "../../core/config/flags.ts";
import type { MemberRecord } from "../../core/record.ts";
import type { GivenStatus } from "../../core/status/status.ts";
import type { View } from "../../core/view.ts";
import type { ApplyContext } from "../apply/outcomes.ts";
import { sharedCAs } from "../apply/plane-source.ts";
import { secretNames } from "../names.ts";
import type { ClockSkew } from "../observe/clock-skew.ts";
import { externalEndpoints } from "../observe/external.ts";
import type { NodeClocks } from "../observe/node-clocks.ts";
import { scaleSelector } from "../render/metadata.ts";
import { warningsOf } from "../render/warnings.ts";

export function described(
  { stores, key, certificates, peerServices }: ApplyContext,
  { skew, nodeClocks }: { readonly skew: ClockSkew; readonly nodeClocks: NodeClocks },
  view: View,
): Omit<GivenStatus, "plan" | "problems" | "failure"> {
  const { cluster } = view.observation;
  const { name, namespace, spec } = cluster;
  const nodes = view.members.flatMap((member) => {
    const node = stores.pod(`${namespace}/${member.name}`)?.spec?.nodeName;
    return node ? [[member.name, node] as const] : [];
  });
  const expiry = view.members.flatMap((member) => {
    const at = certificates.expiryOf(member.name);
    return at === undefined ? [] : [[member.name, at] as const];
  });
  const { services } = stores.ownObjects(key);
  const records = view.members.map(({ record }) => record);
  const clocks = [skew.warning, ...new Set(nodes.map(([, node]) => nodeClocks.warning(node)))].filter(
    (warning) => warning !== undefined,
  );
  return {
    externalEndpoints: externalEndpoints(cluster, services, records),
    selector: scaleSelector(cluster),
    warnings: [
      ...warningsOf(spec, name),
      ...sharedCAs(certificates.keeper),
      ...certificates.gatewayProblems.warnings,
      ...clocks,
      ...peerServices.warnings(cluster, records, services),
    ],
    nodes: Object.fromEntries(nodes),
    certificates: {
      problems: sentencesOf(certificates.keeper.problems),
      ...(certificates.keeper.reason && { reason: certificates.keeper.reason }),
      expiry: Object.fromEntries(expiry),
      all: certificates.expiries,
      now: skew.now(),
    },
    ...(hasClientSecret(spec, records) && { clientSecret: secretNames(name).client }),
  };
}

/** Clients need it until the last member has stopped serving TLS. Whoever signs for themselves has certificates for them. */
export function hasClientSecret(
  { tls }: Pick<EtcdClusterSpec, "tls">,
  records: readonly Pick<MemberRecord, "template">[],
): boolean {
  return modesInUse("client", tls, records).some((mode) => mode === "Managed" || mode === "CertManager");
}
