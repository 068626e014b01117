import assert from "node:assert/strict";
import { test } from "node:test";
import { etcdClusterSpecSchema } from "../api/etcd-cluster-spec.ts";
import { clusterWarnings } from "../api/warnings.ts";
import { specWarnings } from "./warnings.ts";

const spec = (more: object) => etcdClusterSpecSchema.parse({ version: "3.6.16", ...more });

test("plaintext clients, an even size and compaction that is off are reported as on Kubernetes", () => {
  const odd = spec({
    replicas: 4,
    tls: { mode: "Disabled" },
    options: { autoCompaction: { retention: "0" } },
  });
  const said = specWarnings(odd);
  assert.deepEqual(
    said,
    clusterWarnings(odd).map(({ path, message }) => `${path}: ${message}`),
  );
  assert.equal(said.length, 3);
  assert.match(said.join("\n"), /spec\.tls: clients .*plain/);
});

test("the size of a volume means nothing here", () => {
  const small = spec({ storage: { size: "3Gi" }, options: { quotaBackendBytes: "2Gi" } });
  assert.deepEqual(specWarnings(small), []);
  assert.deepEqual(
    specWarnings(spec({ options: { quotaBackendBytes: "8Gi" }, storage: { size: "9Gi" } })),
    [],
  );
});
