/**
 * With what the HTTP gateway of a member dials the member (R51): with a certificate of its own, that of the server is none
 * of a client. 3.4 has no keys for it, and without clientAuth nothing is asked of it.
 */
import type { TLS } from "../../api/tls.ts";
import type { MemberTemplate } from "../record.ts";
import { isFrom } from "./config-keys.ts";

/** Render versions. Members of before dial with what they show, and are not restarted for it. */
const OWN_GATEWAY_FROM = { Managed: 2, CertManager: 3 } as const;

/** Whether the configuration of a member names a certificate of its gateway's. */
export function hasOwnGateway({ tls, version, renderVersion }: MemberTemplate): boolean {
  if (!canHaveGateway(tls, version)) return false;
  const mode = tls.client?.mode ?? tls.mode;
  switch (mode) {
    case "Managed":
    case "CertManager":
      return renderVersion >= OWN_GATEWAY_FROM[mode];
    case "Secrets":
      return namesGateway(tls);
    case "Disabled":
      return false;
  }
}

/** Whether a certificate for it could be asked for. */
export function canHaveGateway({ clientAuth }: Pick<TLS, "clientAuth">, version: string): boolean {
  return clientAuth === "Required" && isFrom(version, "3.5");
}

/** Whether a Secret with it is named, which a member has to be restarted for. */
export function namesGateway({ client, clientAuth }: Pick<TLS, "client" | "clientAuth">): boolean {
  return clientAuth === "Required" && client?.secrets?.gateway !== undefined;
}
