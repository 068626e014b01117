/** What the HTTP gateway of a member dials it with. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdClusterSpecInput } from "../../api/etcd-cluster-spec.ts";
import { paths, recordOf } from "../testing/record.ts";
import { etcdConfig } from "./flags.ts";

const GATEWAY = "/tls/gateway.pem";

function namesGateway(version: string, tls?: EtcdClusterSpecInput["tls"], renderVersion = 2): boolean {
  const record = recordOf(version, { ...(tls && { tls }) });
  const template = { ...record.template, renderVersion };
  const context = { established: true, paths: { ...paths, gatewayPem: GATEWAY } };
  return JSON.stringify(etcdConfig({ ...record, template }, context)).includes(GATEWAY);
}

test("is a certificate of its own, where etcd knows one and asks for one, and we issue it", () => {
  for (const version of ["3.5.35", "3.6.16", "3.7.3"]) assert.ok(namesGateway(version), version);
  assert.ok(!namesGateway("3.4.45"));
  assert.ok(!namesGateway("3.6.16", { clientAuth: "None" }));
  assert.ok(!namesGateway("3.6.16", { mode: "Disabled" }));
});

test("comes from the issuer of clients, or from a Secret if one is named", () => {
  const issuer = { name: "a" };
  const issued = {
    client: { mode: "CertManager", certManager: { server: issuer, operator: issuer } },
  } as const;
  assert.ok(namesGateway("3.6.16", issued, 3));
  assert.ok(!namesGateway("3.6.16", issued, 2), "started by an earlier release");
  const given = (gateway?: string) => {
    const secrets = { server: "a", operator: "b", ...(gateway && { gateway }) };
    return { client: { mode: "Secrets", secrets } } as const;
  };
  assert.ok(namesGateway("3.6.16", given("c")));
  assert.ok(!namesGateway("3.6.16", given()));
  assert.ok(!namesGateway("3.4.45", given("c")));
});

test("is what the server shows, for a member that an earlier release started", () => {
  assert.ok(!namesGateway("3.6.16", undefined, 1));
});
