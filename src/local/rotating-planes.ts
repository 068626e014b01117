/** The planes of a local cluster whose CA is being rotated, and where members are asked about it. */
import type { RotatingPlane } from "../control/trust.ts";
import { peerURLOf, secureClientURLOf, showsCertificate } from "../core/config/flags.ts";
import type { MemberRecord } from "../core/record.ts";
import { bundleOf, caId, idOf, newerCaOf } from "../pki/authority.ts";
import { PLANES, type Plane } from "../pki/plan.ts";
import type { Endpoint } from "../seams/etcd-transport.ts";
import { PkiError, type Pki } from "../seams/pki.ts";
import type { Authorities } from "./authorities.ts";

export async function rotatingPlanes(
  authorities: Pick<Authorities, "get">,
  pki: Pki,
): Promise<RotatingPlane[]> {
  const planes: RotatingPlane[] = [];
  for (const plane of PLANES) {
    try {
      const authority = await authorities.get(plane);
      const newerCa = authority && newerCaOf(authority);
      if (!authority || !newerCa) continue;
      const name = idOf(pki, newerCa, `the new ${plane} CA`);
      const endpoint = (record: MemberRecord) => planeEndpoint(record, plane);
      planes.push({ plane, name, newerCa, bundle: bundleOf(authority), nameOf: caId, endpoint });
    } catch (error) {
      // What is wrong with it is told where certificates are issued; members are supervised without it.
      if (!(error instanceof PkiError)) throw error;
    }
  }
  return planes;
}

function planeEndpoint(record: MemberRecord, plane: Plane): Endpoint | undefined {
  const { name, template } = record;
  const url =
    plane === "client"
      ? secureClientURLOf(record)
      : showsCertificate(template.tls, "peer")
        ? peerURLOf(record)
        : undefined;
  return url === undefined ? undefined : { name, url };
}
