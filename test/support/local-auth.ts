/** Users of a local cluster in tests: applied, waited for, and as clients of etcd with a password or a certificate. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { EtcdRoleSpec } from "../../src/api/etcd-role.ts";
import type { EtcdUserSpec } from "../../src/api/etcd-user.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { EtcdClient } from "../../src/etcd/client.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import type { AuthObject } from "../../src/local/auth-store.ts";
import { operations } from "../../src/local/operations.ts";
import type { Subject } from "../../src/local/verb.ts";
import { createPki } from "../../src/pki/issue.ts";
import { clientLeaf } from "../../src/pki/plan.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { CLUSTER, type LocalCluster } from "./local-cluster.ts";
import { assertMarked } from "./passwords.ts";

type Kind = "EtcdUser" | "EtcdRole";
type Spec = Partial<EtcdUserSpec> | Partial<EtcdRoleSpec>;

export function subjectOf(local: LocalCluster): Subject {
  const { platform, loop } = local.controller;
  return { platform, layout: local.files, wake: () => loop.wake() } as unknown as Subject;
}

export async function apply(local: LocalCluster, kind: Kind, name: string, spec: Spec): Promise<void> {
  await operations.applyAuthObject(subjectOf(local), {
    apiVersion: API_VERSION,
    kind,
    metadata: { name },
    spec: { cluster: CLUSTER, ...spec },
  });
}

export async function remove(local: LocalCluster, kind: Kind, name: string): Promise<void> {
  await operations.deleteAuthObject(subjectOf(local), { kind, name });
}

export async function find(local: LocalCluster, kind: Kind, name: string): Promise<AuthObject | undefined> {
  const { users, roles } = local.controller.platform.auth;
  return await (kind === "EtcdUser" ? users : roles).get(name);
}

export async function hasReason(
  local: LocalCluster,
  kind: Kind,
  name: string,
  reason: string,
): Promise<string> {
  let message = "";
  await local.until(`${kind} ${name} is ${reason}`, async () => {
    const { status } = (await find(local, kind, name)) ?? {};
    message = status?.message ?? "";
    return status?.reason === reason;
  });
  return message;
}

export function setPassword(local: LocalCluster, secret: string, password: string): void {
  assertMarked(password);
  const file = local.files.password(secret);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `${password}\n`);
}

async function credentials(
  local: LocalCluster,
  commonName: string,
): Promise<{ ca: string; cert: string; key: string }> {
  const read = (name: string) => readFileSync(path.join(local.files.pki, name), "utf8");
  const ca = { certificate: read("ca-client.crt"), key: read("ca-client.key") };
  const pki = createPki(systemClock, systemRandom);
  const leaf = await pki.issueLeaf({ ca, leaf: clientLeaf(commonName) });
  return { ca: ca.certificate, cert: leaf.certificate, key: leaf.key };
}

/** A client of somebody else than the controller. */
export class Somebody {
  readonly #transport = new GrpcTransport({ clock: systemClock });
  readonly client: EtcdClient;

  private constructor(
    local: LocalCluster,
    tls: { ca: string; cert: string; key: string } | undefined,
    login?: { user: string; password: string },
  ) {
    if (tls) this.#transport.setCredentials(tls);
    const endpoints = local.view().members.map(({ record }) => local.controller.platform.endpoint(record));
    this.client = new EtcdClient({
      transport: this.#transport,
      clock: systemClock,
      endpoints,
      ...(login && { credentials: login }),
    });
  }

  static byPassword(local: LocalCluster, user: string, password: string): Somebody {
    return new Somebody(local, undefined, { user, password });
  }

  /** With TLS, where the certificate lets it in and names no user. */
  static async byPasswordWithTLS(local: LocalCluster, user: string, password: string): Promise<Somebody> {
    return new Somebody(local, await credentials(local, ""), { user, password });
  }

  /** By a certificate of the client CA with this common name. */
  static async byCertificate(local: LocalCluster, commonName: string): Promise<Somebody> {
    return new Somebody(local, await credentials(local, commonName));
  }

  /** By the certificate that the controller issued to an EtcdUser. */
  static byOwnCertificate(local: LocalCluster, object: string): Somebody {
    const pem = readFileSync(local.files.userCertificate(object), "utf8");
    const ca = readFileSync(path.join(local.files.pki, "ca-client.crt"), "utf8");
    return new Somebody(local, { ca, cert: pem, key: pem });
  }

  /** By what `certificate issue` wrote. */
  static byFiles(local: LocalCluster, dir: string, user: string): Somebody {
    const read = (name: string) => readFileSync(path.join(dir, name), "utf8");
    return new Somebody(local, {
      ca: read(`${user}-ca.crt`),
      cert: read(`${user}.crt`),
      key: read(`${user}.key`),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#transport.close();
  }
}
