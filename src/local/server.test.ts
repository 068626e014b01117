/** The controller's door: what was asked for is answered, also when it was the end. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "../seams/clock.ts";
import { systemDisk } from "../seams/disk.ts";
import type { Subject } from "./verb.ts";
import { callController, RemoteError } from "./remote.ts";
import { serve } from "./server.ts";

test("whoever asks the controller to end hears that it did", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "quorate-door-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const socket = join(folder, "door");
  let closed: Promise<void> | undefined;
  const subject = {
    layout: { dir: "here" },
    platform: { store: { members: () => Promise.resolve([]) } },
    down: () => {
      closed = door.close();
      return Promise.resolve();
    },
  } as unknown as Subject;
  const door = await serve(socket, subject, { disk: systemDisk, clock: systemClock });
  assert.equal(statSync(socket).mode & 0o777, 0o600, "nobody else may use it");
  const { signal } = new AbortController();
  await assert.rejects(callController(socket, "nonsense" as "down", undefined, signal), RemoteError);
  await assert.rejects(
    callController(socket, "kill", "demo-1", signal),
    (error) => error instanceof RemoteError && error.kind === "NotFound",
  );
  const { text } = await callController(socket, "down", undefined, signal);
  assert.match(text, /^stopped the members in .*; their data is retained$/);
  await closed;
  await assert.rejects(callController(socket, "down", undefined, signal), /ENOENT|ECONNREFUSED/);
});
