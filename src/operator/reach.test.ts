import assert from "node:assert/strict";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { HttpProbe } from "../etcd/probe.ts";
import { createPki } from "../pki/issue.ts";
import { systemClock } from "../seams/clock.ts";
import { systemRandom } from "../seams/random.ts";

test("the certificate is that of a new connection, whatever those that are open were shown", async () => {
  const pki = createPki(systemClock, systemRandom);
  const lifeMs = 3_600_000;
  const ca = await pki.issueCa({ commonName: "test", lifeMs });
  const sans = { dns: ["etcd.test"], ips: [] };
  const leaf = { commonName: "etcd", sans, usages: ["serverAuth", "clientAuth"], lifeMs } as const;
  const [first, second, own] = await Promise.all([1, 2, 3].map(() => pki.issueLeaf({ ca, leaf })));
  assert.ok(first && second && own);
  const tls = { ca: ca.certificate, requestCert: true };
  const server = createServer({ ...tls, cert: first.certificate, key: first.key }, (_request, response) =>
    response.end('{"etcdserver":"3.6.16","etcdcluster":"3.6.0"}'),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const probe = new HttpProbe();
  const { signal } = new AbortController();
  const at = (scheme: string) => ({
    name: "a",
    url: `${scheme}://127.0.0.1:${port}`,
    serverName: "etcd.test",
  });
  try {
    probe.setCredentials({ ca: ca.certificate, cert: own.certificate, key: own.key });
    assert.equal((await probe.versions(at("https"), signal)).cluster, "3.6.0");
    assert.equal(await probe.certificate(at("https"), signal), first.fingerprint);
    server.setSecureContext({ ...tls, cert: second.certificate, key: second.key });
    assert.equal((await probe.versions(at("https"), signal)).cluster, "3.6.0");
    assert.equal(await probe.certificate(at("https"), signal), second.fingerprint);
    assert.equal(await probe.certificate(at("http"), signal), undefined);
  } finally {
    probe.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  assert.equal(await probe.certificate(at("https"), signal), undefined, "nobody answers any more");
});
