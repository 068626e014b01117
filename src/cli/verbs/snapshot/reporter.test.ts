import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { ManualClock } from "../../../etcd/testing.ts";
import { parseTransfer } from "../../../snapshot/progress.ts";
import { collectingIo } from "../../testing.ts";
import { Reporter } from "./reporter.ts";
import { withTransfer } from "./transfer.ts";

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("how far a command is stands in a file and is served to whoever asks, until it ends", async () => {
  const dir = await mkdtemp(path.join(os.tmpdir(), "quorate-reporter-"));
  try {
    const [file, address] = [path.join(dir, "report"), `127.0.0.1:${await freePort()}`];
    {
      await using reporter = await Reporter.start(
        { revision: 0 },
        { "report-file": file, listen: address },
        collectingIo(),
      );
      reporter.report({ revision: 7 });
      const answer = await fetch(`http://${address}/`);
      assert.deepEqual(await answer.json(), { revision: 7 });
    }
    assert.match(await readFile(file, "utf8"), /"revision":7/);
    assert.deepEqual(await readdir(dir), ["report"]);
    await assert.rejects(fetch(`http://${address}/`));
    await assert.rejects(Reporter.start({}, { listen: "nowhere" }, collectingIo()), /expected host:port/);
  } finally {
    await rm(dir, { recursive: true });
  }
});

test(
  "how much of a snapshot was read is reported once a second at most, and a taken port ends nothing",
  { timeout: 30_000 },
  async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const dir = await mkdtemp(path.join(os.tmpdir(), "quorate-transfer-"));
    try {
      const [clock, file] = [new ManualClock(), path.join(dir, "report")];
      const io = collectingIo({ clock });
      const { port } = taken.address() as AddressInfo;
      /** The file is written beside the work. */
      const isTold = async (done: number) => {
        const told = async () => parseTransfer(await readFile(file, "utf8").catch(() => undefined))?.done;
        while ((await told()) !== done) await new Promise((resolve) => setImmediate(resolve));
      };
      const flags = { "report-file": file, listen: `127.0.0.1:${port}` };
      const done = await withTransfer(flags, io, async (tell) => {
        tell(10, 400);
        await isTold(10);
        tell(20, 400);
        await clock.advance(1_000);
        tell(200, 400);
        await isTold(200);
        tell(300, 400);
        tell(400, 400);
        await isTold(400);
        return "done";
      });
      assert.equal(done, "done");
      assert.match(io.err(), /progress is not served: --listen .*EADDRINUSE/);
    } finally {
      await new Promise((resolve) => taken.close(resolve));
      await rm(dir, { recursive: true });
    }
  },
);

test("what is no report of a transfer is none", () => {
  for (const text of [
    undefined,
    "",
    "[]",
    "null",
    '{"done":-1}',
    '{"done":1,"of":"all"}',
    '{"of":3}',
    "<html>",
  ])
    assert.equal(parseTransfer(text), undefined, text);
  assert.deepEqual(parseTransfer('{"done":1}'), { done: 1 });
});
