/**
 * Certificates of an application from a ClusterIssuer of real cert-manager: an EtcdUser gets one of its own, may do what its
 * roles say, and nothing once it is deleted. It takes minutes, so only `npm run e2e -- --all` has it.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { X509Certificate } from "node:crypto";
import { after, before, test } from "node:test";
import type { EtcdUser } from "../../src/api/etcd-user.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { EtcdClient } from "../../src/etcd/client.ts";
import { GrpcTransport } from "../../src/etcd/grpc/transport.ts";
import { createPki } from "../../src/pki/issue.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { isCode } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { secretFiles } from "../support/bed-secrets.ts";
import { CertManager, CERT_MANAGER, createClusterIssuer } from "../support/cert-manager.ts";
import { PATHS } from "../support/kube-paths.ts";
import { assertNoLeakOnBed } from "../support/leaks.ts";
import {
  ClusterOnBed,
  PATIENCE_MS,
  startOperator,
  upWithDefinitions,
  type Running,
} from "../support/operator.ts";
import { EVERY_CASE } from "../support/sample.ts";

const DAY = 86_400_000;
const SOON = { withinMs: PATIENCE_MS };
const pki = createPki(systemClock, systemRandom);

let bed: TestTestbed;
let running: Running;
let certManager: CertManager | undefined;

function users(): void {
  before(async () => {
    bed = await upWithDefinitions();
    running = startOperator(bed);
    certManager = await CertManager.start(bed);
    for (const name of ["servers", "clients", "peers"])
      await createClusterIssuer(
        bed,
        name,
        await pki.issueCa({ commonName: `Company of ${name}`, lifeMs: 100 * DAY }),
      );
  });
  after(async () => {
    await running?.stop();
    await certManager?.[Symbol.asyncDispose]();
    await bed?.down();
  });

  test("an EtcdUser gets a certificate of its own from a ClusterIssuer, with which its roles count", async () => {
    const cluster = new ClusterOnBed(bed, "cm", running);
    const kind = "ClusterIssuer";
    await cluster.create({
      replicas: 3,
      tls: {
        mode: "CertManager",
        client: { certManager: { server: { name: "servers", kind }, operator: { name: "clients", kind } } },
        peer: { certManager: { member: { name: "peers", kind } } },
      },
      auth: { enabled: true, clientRoles: ["root"] },
    });
    const apply = (path: string, resource: string, name: string, spec: object) =>
      bed.client.create(path, {
        apiVersion: API_VERSION,
        kind: resource,
        metadata: { name },
        spec: { cluster: "cm", ...spec },
      } as object);
    const permissions = [{ access: "ReadWrite", key: "orders/", prefix: true }];
    await apply(PATHS.roles, "EtcdRole", "orders-writer", { permissions });
    await apply(PATHS.users, "EtcdUser", "orders", { certificate: {}, roles: ["orders-writer"] });
    await cluster.converged(3);
    await cluster.waitFor("AuthReady");
    assert.equal(await cluster.condition("TLSReady"), "True/Issued");
    const secret = await eventually(
      "the user has its certificate",
      async () => {
        const { status } = await bed.client.get<EtcdUser>(`${PATHS.users}/orders`);
        const ready = status?.conditions?.find(({ type }) => type === "Ready");
        assert.equal(ready?.status, "True", ready?.message);
        return status?.certificate?.secret;
      },
      SOON,
    );
    const text = await secretFiles(bed, secret);
    const certificate = new X509Certificate(text("tls.crt"));
    assert.match(certificate.subject, /CN=orders$/m);
    assert.match(certificate.issuer, /CN=Company of clients$/m);
    await bed.client.get(`${CERT_MANAGER}/certificates/orders-etcd-issued`);

    const tls = { ca: text("ca.crt"), cert: text("tls.crt"), key: text("tls.key") };
    const transport = new GrpcTransport({ clock: systemClock, tls });
    const { kv } = new EtcdClient({ transport, clock: systemClock, endpoints: await cluster.endpoints() });
    try {
      await kv.put("orders/1", "paid");
      assert.equal(Buffer.from((await kv.get("orders/1"))?.value ?? []).toString(), "paid");
      await assert.rejects(kv.put("invoices/1", "paid"), { kind: "permission-denied" });
      await assertNoLeakOnBed(bed, running, "cm");
      await bed.client.delete(`${PATHS.users}/orders`);
      await eventually(
        "the user, its certificate and its Secret are gone",
        async () => {
          for (const path of [`${PATHS.users}/orders`, `${PATHS.secrets}/${secret}`])
            await assert.rejects(bed.client.get(path), (error) => isCode(error, 404));
          return true;
        },
        SOON,
      );
      await assert.rejects(kv.put("orders/2", "paid"), { kind: "permission-denied" });
    } finally {
      await transport.close();
    }
    await cluster.close();
  });
}

if (EVERY_CASE) users();
