/**
 * What members may do: the restricted profile of the Pod Security Standards. A directory of the node belongs
 * to root, and fsGroup does not reach there, so that members with HostPath run as root without any capability.
 */
import type { Container, PodSecurityContext } from "kubernetes-types/core/v1.d.ts";
import type { StorageMedium } from "../../api/storage.ts";
import type { MemberTemplate } from "../../core/record.ts";

type ContainerSecurity = NonNullable<Container["securityContext"]>;

/** `nonroot` of the images that etcd's are made from; any other would do. */
const NONROOT = 65532;

const RESTRICTED: PodSecurityContext = {
  runAsNonRoot: true,
  runAsUser: NONROOT,
  runAsGroup: NONROOT,
  fsGroup: NONROOT,
  // Otherwise every start of a big volume walks through all of it.
  fsGroupChangePolicy: "OnRootMismatch",
  seccompProfile: { type: "RuntimeDefault" },
};

const ON_THE_NODE: PodSecurityContext = {
  runAsUser: 0,
  runAsGroup: 0,
  seccompProfile: { type: "RuntimeDefault" },
};

/** What the user gives is taken whole, so that a default can be left out, where the platform has its own. */
export function podSecurity(
  medium: StorageMedium,
  given: MemberTemplate["pod"]["securityContext"],
): PodSecurityContext {
  if (given !== undefined) return given as PodSecurityContext;
  return medium === "HostPath" ? ON_THE_NODE : RESTRICTED;
}

/** etcd writes nowhere but in its data directory. */
export function etcdSecurity(): ContainerSecurity {
  return { ...sidecarSecurity(), readOnlyRootFilesystem: true };
}

export function sidecarSecurity(): ContainerSecurity {
  return { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };
}
