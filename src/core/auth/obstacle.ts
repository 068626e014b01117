/** Whether users of a cluster can be given certificates at all. */
import { modeOf } from "../config/flags.ts";
import type { CertificateObstacle } from "../messages/auth-words.ts";
import type { View } from "../view.ts";

export function certificateObstacle({ tls }: View["spec"]): CertificateObstacle | undefined {
  const mode = modeOf(tls, "client");
  if (mode === "Disabled") return "Plaintext";
  if (mode === "Secrets") return "OwnCertificates";
  return tls.clientAuth === "Required" ? undefined : "NoClientAuth";
}
