import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanText, fileSize, introductions } from "./files.ts";
import { memoryRepo } from "./repo.ts";

test("a file of more than 400 lines is found; a generated one may be long", async () => {
  const long = "// line\n".repeat(401);
  const repo = memoryRepo({ "src/a.ts": long, "src/b.ts": "// line\n".repeat(400), "src/c_pb.ts": long });
  assert.deepEqual(await fileSize.run(repo), [
    "src/a.ts: 401 lines, more than 400: split it by idea, one per file",
  ]);
});

test("a file that does not say what it is for is found; a test need not", async () => {
  const repo = memoryRepo({
    "src/a.ts": "export const a = 1;\n",
    "src/b.ts": "/** Says it. */\nexport const b = 1;\n",
    "src/c.ts": "#!/usr/bin/env node\n// Says it.\n",
    "src/d.test.ts": "export const d = 1;\n",
  });
  assert.deepEqual(await introductions.run(repo), [
    "src/a.ts:1: begins without a comment that says what the file is for",
  ]);
});

test("paths of one machine, registries' hosts and things left for later are found in any text file", async () => {
  const planted = [
    ["/ro", "ot/.cache/x"],
    ["see /ho", "me/somebody/x"],
    ["https://registry.", "npmjs.org/x"],
    ["GOPROXY=https://proxy.", "golang.org"],
    ["// TO", "DO: later"],
  ].map((parts) => parts.join(""));
  for (const line of planted) {
    const found = await cleanText.run(memoryRepo({ "docs/a.md": `fine\n${line}\n` }));
    assert.equal(found.length, 1, line);
    assert.match(found[0] ?? "", /^docs\/a\.md:2: /);
  }
  const fine =
    "~/.cache/quorate, $HOME/x, /var/lib/etcd, https://github.com/etcd-io/etcd/releases, /api/root/x\n";
  assert.deepEqual(await cleanText.run(memoryRepo({ "docs/a.md": fine })), []);
});
