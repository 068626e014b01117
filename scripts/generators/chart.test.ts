/** What holds of the chart without Helm; the rest is in test/kube/chart.test.ts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "yaml";
import { manifests } from "../../test/support/install.ts";
import { helmChart } from "./chart.ts";
import { Holes } from "./chart/holes.ts";
import { templates } from "./chart/templates.ts";
import type { Manifest } from "./install/metadata.ts";

test("values that Helm fills become actions, whole fields and further entries become blocks", () => {
  const holes = new Holes();
  const text = holes.text({
    name: `${holes.hole("$.Name")}-metrics`,
    spec: {
      nodeSelector: holes.field("nodeSelector", ".Values.nodeSelector", { optional: true }),
      env: [{ name: "A" }, holes.more(".Values.env")],
      literal: "{{ not ours }}",
    },
  });
  assert.equal(
    text,
    `name: {{ $.Name }}-metrics
spec:
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  env:
    - name: A
    {{- with .Values.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  literal: "{{ "{{" }} not ours }}"
`,
  );
});

test("an object of the manifests that no part of the chart takes is an error, not left out", () => {
  const stranger: Manifest = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "quorate" } };
  const [wide, one] = ["install.yaml", "install-namespaced.yaml"].map(
    (file) => manifests(file) as Manifest[],
  );
  assert.throws(
    () => templates([...(wide ?? []), stranger], one ?? [], []),
    /no part of the chart takes ConfigMap quorate: add it to PARTS/,
  );
});

test("values.yaml has every default that the schema describes, and nothing of the manifests' own names is left", async () => {
  const files = await helmChart.generate();
  const values = parse(files.get("charts/quorate/values.yaml") ?? "") as Record<string, unknown>;
  const schema = JSON.parse(files.get("charts/quorate/values.schema.json") ?? "") as {
    properties: Record<string, unknown>;
  };
  assert.deepEqual(
    Object.keys(values).toSorted(),
    Object.keys(schema.properties)
      .filter((name) => name !== "global")
      .toSorted(),
  );
  for (const [path, text] of files)
    if (path.includes("/templates/"))
      assert.doesNotMatch(text, /quorate-system|name: quorate|namespace: etcd$/m, path);
});
