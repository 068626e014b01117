/** What is known here of cert-manager: its Certificate, as far as it is written and read. */
import type { ObjectMeta } from "kubernetes-types/meta/v1.d.ts";
import { resource } from "../kube/resources.ts";

export const CERT_MANAGER = "cert-manager.io";

export interface IssuerRef {
  readonly name: string;
  readonly kind?: string | undefined;
  readonly group?: string | undefined;
}

export interface Certificate {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly spec: {
    readonly secretName: string;
    /** Copied to the Secret, so that our caches see it. */
    readonly secretTemplate?: { readonly labels?: Readonly<Record<string, string>> };
    readonly commonName?: string;
    readonly dnsNames?: readonly string[];
    readonly ipAddresses?: readonly string[];
    readonly usages?: readonly string[];
    readonly privateKey?: Readonly<Record<string, string | number>>;
    readonly issuerRef: IssuerRef;
  };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
      readonly lastTransitionTime?: string;
    }[];
  };
}

export const certificates = resource<Certificate>(`${CERT_MANAGER}/v1`, "Certificate", "certificates");

/** What cert-manager says of one that is not issued. */
export function whyNotIssued({ status }: Pick<Certificate, "status">): string | undefined {
  const negative = status?.conditions?.filter(({ type, status: is }) =>
    type === "Issuing" ? is === "False" : type === "Ready" && is !== "True",
  );
  const messages = [...new Set(negative?.flatMap(({ message }) => message ?? []))];
  return messages.length === 0 ? undefined : messages.join("; ");
}

/** Why one that may have been issued before is not as its spec asks, and since when. */
export function whyNotReady({
  status,
}: Pick<Certificate, "status">):
  | { readonly message: string; readonly since: number | undefined }
  | undefined {
  const ready = status?.conditions?.find(({ type, status: is }) => type === "Ready" && is !== "True");
  if (!ready) return undefined;
  const since = Date.parse(ready.lastTransitionTime ?? "");
  return { message: ready.message ?? "no reason is given", since: Number.isNaN(since) ? undefined : since };
}
