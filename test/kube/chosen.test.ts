/**
 * The operator of config/install-chosen.yaml on a real API server: it works in the namespace that is bound, and with
 * --metrics-secure its metrics are for chosen accounts.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { API_VERSION } from "../../src/api/metadata.ts";
import { Client, isCode } from "../../testbed/client.ts";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../testbed/for-tests.ts";
import { kubeconfigText } from "../../testbed/kubeconfig.ts";
import { freePorts } from "../support/free-ports.ts";
import { applyAll, manifests, operatorToken, OPERATOR, sample, whenServed } from "../support/install.ts";
import { OperatorProcess } from "../support/operator-process.ts";
import { userWith } from "../support/users.ts";

const CLUSTERS = `/apis/${API_VERSION}/namespaces/etcd/etcdclusters`;
const MEMBERS = `/apis/${API_VERSION}/namespaces/etcd/etcdmembers`;

let bed: TestTestbed;
let folder: string;
let operator: OperatorProcess;
let port: number;
let scraper: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "quorate-metrics-"));
  bed = await upForTests();
  await bed.client.create("/api/v1/namespaces", { metadata: { name: "etcd" } });
  const definitions = manifests("install.yaml").filter(({ kind }) => kind === "CustomResourceDefinition");
  const chosen = manifests("install-chosen.yaml").filter(({ kind }) => kind !== "Deployment");
  await applyAll(bed.client, [...definitions, ...chosen]);
  await whenServed(bed.client, CLUSTERS, MEMBERS);
  const user = await userWith(bed, "prometheus", "view");
  scraper = user.access.token ?? "";
  user.close();
  const { cert: _, key: __, ...access } = bed.access;
  const kubeconfig = join(folder, "kubeconfig");
  const token = await operatorToken(bed.client);
  writeFileSync(kubeconfig, kubeconfigText("operator", { ...access, token }), { mode: 0o600 });
  [port = 0] = await freePorts(1);
  const metrics = ["--metrics-secure", "--metrics-address", `127.0.0.1:${port}`];
  const own = ["--namespace", "etcd", "--lease-namespace", OPERATOR.namespace];
  operator = new OperatorProcess({ kubeconfig }, [...own, ...metrics]);
  await operator.leads();
});

after(async () => {
  await operator?.end();
  await bed?.down();
  rmSync(folder, { recursive: true, force: true });
});

function scrape(token?: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const options = {
      host: "127.0.0.1",
      port,
      path: "/metrics",
      agent: false,
      rejectUnauthorized: false,
      headers,
    };
    const asked = request(options, (response) => {
      let body = "";
      response
        .on("data", (chunk) => (body += String(chunk)))
        .on("end", () => resolve({ status: response.statusCode ?? 0, body }));
    });
    asked.on("error", reject).end();
  });
}

test("without config/metrics-secure.yaml the operator may not ask, and says so", async () => {
  const { status, body } = await scrape(scraper);
  assert.equal(status, 500);
  assert.match(body, /apply config\/metrics-secure\.yaml/);
});

test("401 without a valid token, 403 without the right, and metrics for who has it", async () => {
  await applyAll(bed.client, manifests("metrics-secure.yaml"));
  await eventually("the operator may ask", async () => (await scrape(scraper)).status === 403);
  assert.equal((await scrape()).status, 401);
  assert.equal((await scrape("made-up")).status, 401);
  await bed.client.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: "prometheus-quorate" },
    roleRef: {
      apiGroup: "rbac.authorization.k8s.io",
      kind: "ClusterRole",
      name: "quorate-metrics-reader",
    },
    subjects: [{ kind: "ServiceAccount", name: "prometheus", namespace: "default" }],
  } as object);
  const { body } = await eventually("the right to be seen", async () => {
    const answer = await scrape(scraper);
    return answer.status === 200 ? answer : undefined;
  });
  assert.match(body, /^quorate_lease_held 1$/m);
  assert.match(body, /resource="subjectaccessreviews",code="201"/);
  await assert.rejects(fetch(`http://127.0.0.1:${port}/metrics`));
});

test("it manages the namespace that is bound, and may do nothing in others", async () => {
  await bed.client.create(CLUSTERS, sample("one-member"));
  await eventually("a member of the cluster is recorded", async () => {
    const { items } = await bed.client.get<{ items: unknown[] }>(MEMBERS);
    return items.length === 1;
  });
  const { body } = await scrape(scraper);
  const refused = [...body.matchAll(/^quorate_api_calls_total\{.*resource="(\w+)",code="403"\}/gm)].map(
    ([, resource = ""]) => resource,
  );
  // Cluster-wide reads that it does without, and the reviews of the first test.
  const without = ["nodes", "storageclasses", "persistentvolumes", "tokenreviews"];
  assert.deepEqual(
    refused.filter((resource) => !without.includes(resource)),
    [],
  );
  const { cert: _, key: __, ...access } = bed.access;
  const account = new Client({ ...access, token: await operatorToken(bed.client) });
  try {
    await account.get("/api/v1/namespaces/etcd/pods");
    for (const path of ["/api/v1/namespaces/default/pods", "/api/v1/secrets"])
      await assert.rejects(account.get(path), (error) => isCode(error, 403));
  } finally {
    account.close();
  }
});

test("no token is in the log", () => {
  const log = JSON.stringify([operator.lines, operator.words]);
  assert.ok(!log.includes(scraper) && !log.includes("made-up"));
});
