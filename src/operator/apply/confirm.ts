/**
 * A member whose file for restarts is not known to be on its node: its etcd may prove that it is, by the certificate that
 * it shows (H3).
 */
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import type { PlatformMember } from "../../control/platform.ts";
import { isControlledBy, refOf } from "../../kube/resources.ts";
import { deadline, type Clock } from "../../seams/clock.ts";
import type { EtcdProbe } from "../../seams/etcd-probe.ts";
import { ANNOTATIONS, memberSecretName } from "../names.ts";
import { FILES } from "../render/config.ts";
import type { Certificates } from "./certificates.ts";
import type { ApplyContext } from "./outcomes.ts";
import { textIn } from "./secret-files.ts";

/** One that serves answers in milliseconds; until it is asked again nothing is lost. */
const SHOWN_WITHIN_MS = 200;

interface Context extends Pick<ApplyContext, "stores" | "key" | "latches" | "certificates"> {
  readonly clock: Clock;
  readonly probe: EtcdProbe;
  readonly addresses: {
    secureClient(record: PlatformMember["record"]): Parameters<EtcdProbe["certificate"]>[0];
  };
}

export async function confirmed(
  { stores, key, latches, certificates, clock, probe, addresses }: Context,
  member: PlatformMember,
): Promise<PlatformMember> {
  const { unconfirmed, ...rest } = member;
  const { record, workload } = member;
  if (!unconfirmed || workload.state !== "running") return member;
  const pod = stores.pod(`${refOf(key).namespace}/${record.name}`);
  const name = memberSecretName(record.name);
  const secret = stores.ownObjects(key).secrets.find(({ metadata }) => metadata?.name === name);
  const proofs = proofsIn(certificates, secret);
  if (!pod || proofs.length === 0 || !isControlledBy(pod, record.uid)) return member;
  using limit = deadline(clock, SHOWN_WITHIN_MS);
  const shown = await probe.certificate(addresses.secureClient(record), limit.signal);
  return latches.judge(pod, shown, proofs) ? rest : member;
}

/** The certificate that came with the file, and the one that the Secret has since a renewal: neither is shown without it. */
function proofsIn(certificates: Certificates, secret: Secret | undefined): readonly string[] {
  const first = secret?.metadata?.annotations?.[ANNOTATIONS.joinedCertificate];
  if (!secret || first === undefined) return [];
  const present = textIn(secret, FILES.serverPem);
  try {
    return present === undefined ? [first] : [first, certificates.fingerprintOf(present)];
  } catch {
    // Not readable: it is replaced, or reported where another owner insists on it.
    return [first];
  }
}
