/**
 * etcd's HTTP gateway on real etcd: it works with a client certificate and has an identity of its own that is no user, and
 * the certificate that a member shows to clients is no client's.
 */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { request } from "node:https";
import path from "node:path";
import { test } from "node:test";
import { apply, Somebody } from "../support/local-auth.ts";
import { LocalCluster } from "../support/local-cluster.ts";
import { outerVersions } from "../support/sample.ts";

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** A POST to the gateway of the first member, without any header that is not asked for. */
function post(local: LocalCluster, pem: string, call: string, headers = {}, body = "{}"): Promise<Answer> {
  const [member] = local.view().members;
  assert.ok(member);
  const { url } = local.controller.platform.endpoint(member.record);
  const ca = readFileSync(path.join(local.files.pki, "ca-client.crt"), "utf8");
  return new Promise((resolve, reject) => {
    const options = { method: "POST", ca, cert: pem, key: pem, headers, agent: false } as const;
    const asked = request(new URL(call, url), options, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => (text += chunk.toString()));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

const read = (local: LocalCluster, file: string) => readFileSync(path.join(local.files.pki, file), "utf8");

for (const version of outerVersions.filter((one) => !one.startsWith("3.4."))) {
  test(`etcd ${version}: the gateway is no user, and a server certificate is no client's`, async (t) => {
    await using local = await LocalCluster.start({ replicas: 1, version, tls: { mode: "Managed" } });
    await local.settled();
    const [name = ""] = local.view().members.map((member) => member.name);
    const server = read(local, `${name}-client.pem`);
    const gateway = read(local, `${name}-gateway.pem`);
    const key = Buffer.from("k").toString("base64");
    const range = JSON.stringify({ key });

    await t.test("by their usages and names", () => {
      assert.deepEqual(new X509Certificate(server).keyUsage, ["1.3.6.1.5.5.7.3.1"]);
      assert.deepEqual(new X509Certificate(gateway).keyUsage, ["1.3.6.1.5.5.7.3.2"]);
      assert.doesNotMatch(new X509Certificate(gateway).subject, /CN=/);
    });

    await t.test("a client with the certificate of the server is refused", async () => {
      await assert.rejects(
        post(local, server, "/v3/kv/range", {}, range),
        /bad certificate|ECONNRESET|alert/i,
      );
    });

    await t.test(
      "a client with its own certificate is served, with and without an Accept header",
      async () => {
        for (const headers of [{}, { accept: "application/json" }]) {
          const { status, body } = await post(local, read(local, "user.pem"), "/v3/kv/range", headers, range);
          assert.equal(status, 200, body);
        }
      },
    );

    await t.test("with auth, nobody acts as the gateway", async () => {
      await apply(local, "EtcdUser", "somebody", { roles: ["root"] });
      await local.edit({ auth: { enabled: true, clientRoles: ["root"] } });
      await local.settled();
      for (const headers of [{}, { accept: "application/json" }]) {
        const { status, body } = await post(local, read(local, "user.pem"), "/v3/kv/range", headers, range);
        assert.notEqual(status, 200, body);
      }
      await using client = await Somebody.byCertificate(local, "somebody");
      await client.client.kv.put("k", "v");
    });
  });
}
