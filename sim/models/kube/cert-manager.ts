/**
 * A very small cert-manager: some time after a Certificate appears it is issued into its Secret, with the labels of its
 * template, and its status says so; again when its status asks for it, or by another issuer when it names one. What the issuer
 * is does not matter; one that does not exist issues nothing. The kind is served from when this is installed.
 */
import { Buffer } from "node:buffer";
import type { Certificate } from "../../../src/operator/cert-manager.ts";
import type { IssuedCertificate, Pki, Usage } from "../../../src/seams/pki.ts";
import type { Scheduler } from "../../engine/scheduler.ts";
import { certificates } from "./kinds/certificate.ts";
import { secrets } from "./kinds/simple.ts";
import type { ModelServer } from "./server.ts";

const DAY = 86_400_000;
const EVERY_MS = 700;
const ISSUER_NAME = "cert-manager.io/issuer-name";

export interface CertManagerOptions {
  readonly server: ModelServer;
  readonly scheduler: Scheduler;
  readonly pki: Pki;
  /** By name; others do not exist. */
  readonly issuers: ReadonlyMap<string, IssuedCertificate>;
}

export class ModelCertManager {
  readonly #options: CertManagerOptions;

  constructor(options: CertManagerOptions) {
    this.#options = options;
    options.server.unserved.delete(certificates.plural);
    this.#later();
  }

  /** As cert-manager does when one is due, or a person asks for it. */
  async renew(name: string): Promise<void> {
    const { server } = this.#options;
    const found = server.list(certificates).find(({ metadata }) => metadata.name === name);
    if (found) await this.#issue(found as unknown as Certificate);
  }

  #later(): void {
    this.#options.scheduler.after(EVERY_MS, () => {
      void this.#pass().then(() => this.#later());
    });
  }

  async #pass(): Promise<void> {
    const { server } = this.#options;
    const by = new Map(
      server.list(secrets).map(({ metadata }) => [metadata.name, metadata.annotations?.[ISSUER_NAME]]),
    );
    for (const object of server.list(certificates)) {
      const certificate = object as unknown as Certificate;
      const { secretName, issuerRef } = certificate.spec;
      const isOther = by.get(secretName) !== issuerRef.name;
      if (isOther || isAsked(certificate) || isPending(certificate)) await this.#issue(certificate);
    }
  }

  async #issue({ metadata, spec, status }: Certificate): Promise<void> {
    const { server, pki, issuers } = this.#options;
    const { name = "", namespace = "" } = metadata ?? {};
    const at = `/apis/cert-manager.io/v1/namespaces/${namespace}/certificates/${name}`;
    const report = (status: string, message: string) =>
      server.handle({
        method: "PATCH",
        path: `${at}/status`,
        contentType: "application/merge-patch+json",
        body: { status: { conditions: [{ type: "Ready", status, message }] } },
      });
    const ca = issuers.get(spec.issuerRef.name);
    if (!ca) {
      if (isAsked({ status })) return void report("True", "as before");
      const former = secretOf(server, spec.secretName)?.metadata.annotations?.[ISSUER_NAME];
      const why =
        former === undefined
          ? "Issuing certificate as Secret does not exist"
          : `Issuing certificate as Secret was previously issued by "Issuer.cert-manager.io/${former}"`;
      if (!isPending({ status })) report("False", why);
      return;
    }
    const usages = (spec.usages ?? []).flatMap((one): Usage[] =>
      one === "server auth" ? ["serverAuth"] : one === "client auth" ? ["clientAuth"] : [],
    );
    const sans = { dns: spec.dnsNames ?? [], ips: spec.ipAddresses ?? [] };
    const leaf = { commonName: spec.commonName ?? "", sans, usages, lifeMs: 90 * DAY };
    const issued = await pki.issueLeaf({ ca, leaf });
    const files = { "tls.crt": issued.certificate, "tls.key": issued.key, "ca.crt": ca.certificate };
    const data = Object.fromEntries(
      Object.entries(files).map(([file, text]) => [file, Buffer.from(text).toString("base64")]),
    );
    const path = `/api/v1/namespaces/${namespace}/secrets`;
    const annotations = { "cert-manager.io/certificate-name": name, [ISSUER_NAME]: spec.issuerRef.name };
    if (secretOf(server, spec.secretName)) {
      const to = `${path}/${spec.secretName}`;
      const contentType = "application/merge-patch+json";
      server.handle({ method: "PATCH", path: to, contentType, body: { metadata: { annotations }, data } });
    } else {
      const about = {
        name: spec.secretName,
        namespace,
        labels: spec.secretTemplate?.labels,
        annotations,
      };
      const body = { apiVersion: "v1", kind: "Secret", metadata: about, type: "kubernetes.io/tls", data };
      server.handle({ method: "POST", path, body });
    }
    report("True", "Certificate is up to date and has not expired");
  }
}

/** By somebody who wants another one before it is due, as `cmctl renew` does. */
function isAsked({ status }: Pick<Certificate, "status">): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Issuing" && is === "True") ?? false;
}

function isPending({ status }: Pick<Certificate, "status">): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "False") ?? false;
}

function secretOf(server: ModelServer, name: string) {
  return server.list(secrets).find(({ metadata }) => metadata.name === name);
}
