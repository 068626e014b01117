import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { collectingIo } from "../../testing.ts";
import { FollowReporter } from "./follow-reporter.ts";

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("how far a follower is stands in a file and is served to whoever asks, until it ends", async () => {
  const dir = await mkdtemp(path.join(os.tmpdir(), "quorate-reporter-"));
  try {
    const [file, address] = [path.join(dir, "report"), `127.0.0.1:${await freePort()}`];
    {
      await using reporter = await FollowReporter.start(
        { "report-file": file, listen: address },
        collectingIo(),
      );
      reporter.report({ kind: "complete", revision: 7, time: "2026-11-17T10:00:00.000Z" });
      const answer = await fetch(`http://${address}/`);
      assert.deepEqual(await answer.json(), {
        state: "following",
        revision: 7,
        time: "2026-11-17T10:00:00.000Z",
      });
    }
    assert.match(await readFile(file, "utf8"), /"revision":7/);
    assert.deepEqual(await readdir(dir), ["report"]);
    await assert.rejects(fetch(`http://${address}/`));
    await assert.rejects(FollowReporter.start({ listen: "nowhere" }, collectingIo()), /expected host:port/);
  } finally {
    await rm(dir, { recursive: true });
  }
});
