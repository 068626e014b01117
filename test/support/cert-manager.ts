/** Real cert-manager on a testbed: its resource definitions, and its controllers as a process beside the API server. */
import { Buffer } from "node:buffer";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { parse } from "yaml";
import type { KeyPair } from "../../src/seams/pki.ts";
import { systemProcesses, type RunningProcess } from "../../src/seams/processes.ts";
import { isCode } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { ensureUpstream, filesOf } from "../../testbed/nodes/programs.ts";
import { bedPaths } from "../../testbed/paths.ts";
import { putSecret } from "./bed-secrets.ts";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
export const CERT_MANAGER = "/apis/cert-manager.io/v1/namespaces/default";

/** Where CAs of ClusterIssuers are (testbed/certmanager). */
const OF_CLUSTER = "cert-manager";

/** What an issuer with a CA needs; those of ACME are of no use here. */
const KINDS = /^crd-(certificates|certificaterequests|issuers|clusterissuers)\.yaml$/;

interface Definition {
  readonly metadata: { readonly name: string };
}

/** For certificates in every namespace; its CA is where cert-manager looks for those of such issuers. */
export async function createClusterIssuer(bed: TestTestbed, name: string, ca: KeyPair): Promise<void> {
  const data = {
    "tls.crt": Buffer.from(ca.certificate).toString("base64"),
    "tls.key": Buffer.from(ca.key).toString("base64"),
  };
  const metadata = { name: `${name}-ca` };
  const secret = { apiVersion: "v1", kind: "Secret", type: "kubernetes.io/tls", metadata, data };
  await bed.client
    .create("/api/v1/namespaces", { metadata: { name: OF_CLUSTER } })
    .catch((error: unknown) => {
      if (!isCode(error, 409)) throw error;
    });
  await bed.client.create(`/api/v1/namespaces/${OF_CLUSTER}/secrets`, secret as object);
  const spec = { ca: { secretName: `${name}-ca` } };
  const object = { apiVersion: "cert-manager.io/v1", kind: "ClusterIssuer", metadata: { name }, spec };
  await bed.client.create("/apis/cert-manager.io/v1/clusterissuers", object);
}

/** The CA that an issuer signs with, from now on. */
export async function giveIssuer(bed: TestTestbed, name: string, ca: KeyPair): Promise<void> {
  const files = { "tls.crt": ca.certificate, "tls.key": ca.key };
  await putSecret(bed, `${name}-ca`, files, { type: "kubernetes.io/tls" });
}

export async function createIssuer(bed: TestTestbed, name: string, ca: KeyPair): Promise<void> {
  await giveIssuer(bed, name, ca);
  const spec = { ca: { secretName: `${name}-ca` } };
  const object = { apiVersion: "cert-manager.io/v1", kind: "Issuer", metadata: { name }, spec };
  await bed.client.create(`${CERT_MANAGER}/issuers`, object);
}

export class CertManager implements AsyncDisposable {
  readonly #process: RunningProcess;

  private constructor(running: RunningProcess) {
    this.#process = running;
  }

  static async start(bed: TestTestbed): Promise<CertManager> {
    const command = await ensureUpstream("certmanager");
    const folder = filesOf("certmanager");
    for (const file of readdirSync(folder).filter((one) => KINDS.test(one))) {
      const { metadata, ...rest } = parse(readFileSync(path.join(folder, file), "utf8")) as Definition;
      // Their labels are filled in by Helm.
      await bed.client.create(DEFINITIONS, { ...rest, metadata: { name: metadata.name } });
    }
    await eventually("the kinds of cert-manager are served", async () => {
      await bed.client.get(`${CERT_MANAGER}/certificates`);
      return await bed.client.get(`${CERT_MANAGER}/issuers`);
    });
    const { kubeconfig, kubelet } = bedPaths(bed.name);
    const running = await systemProcesses.spawn({
      command,
      args: ["--kubeconfig", kubeconfig],
      env: { PATH: process.env["PATH"] },
      cwd: path.dirname(kubelet),
      log: path.join(path.dirname(kubeconfig), "cert-manager.log"),
    });
    return new CertManager(running);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.signal("SIGTERM");
    await eventually("cert-manager has ended", async () => !(await systemProcesses.isAlive(this.#process)));
  }
}
