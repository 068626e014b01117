import assert from "node:assert/strict";
import { test } from "node:test";
import { withIntegrity } from "./integrity.ts";

const SUM = `sha512-${"a".repeat(86)}==`;
const textOf = (packages: object) => `${JSON.stringify({ lockfileVersion: 3, packages }, null, 2)}\n`;
const stub = { version: "2.0.0", cpu: ["arm64"], dev: true, optional: true, os: ["darwin"] };

test("stubs get the checksum that the registry tells, in npm's order, and each package is asked for once", async () => {
  const asked: string[] = [];
  const before = textOf({
    "": { name: "x" },
    "node_modules/@tool/darwin-arm64": stub,
    "node_modules/other/node_modules/@tool/darwin-arm64": stub,
    "node_modules/tool": { version: "2.0.0", integrity: "sha512-y" },
  });
  const { text, left } = await withIntegrity(before, async (spec) => {
    asked.push(spec);
    return SUM;
  });
  assert.deepEqual([asked, left], [["@tool/darwin-arm64@2.0.0"], []]);
  const { version, ...rest } = stub;
  const verified = { version, integrity: SUM, ...rest };
  assert.equal(
    text,
    textOf({
      "": { name: "x" },
      "node_modules/@tool/darwin-arm64": verified,
      "node_modules/other/node_modules/@tool/darwin-arm64": verified,
      "node_modules/tool": { version: "2.0.0", integrity: "sha512-y" },
    }),
  );
});

test("what the registry lacks, and what is no checksum, is named and left as it is", async () => {
  const before = textOf({ "node_modules/a": stub, "node_modules/b": stub });
  const { text, left } = await withIntegrity(before, async (spec) =>
    spec.startsWith("a@") ? undefined : "sha1-x",
  );
  assert.deepEqual(left, ["a@2.0.0", "b@2.0.0"]);
  assert.equal(text, before);
});
