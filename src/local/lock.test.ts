import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProcessIdentity, Processes } from "../seams/processes.ts";
import { layout } from "./layout.ts";
import { currentHolder, DirectoryBusy, Lock } from "./lock.ts";
import { MemoryDisk, StillClock } from "./testing/memory.ts";

const at = layout("/c");

function seams(disk: MemoryDisk, self: number, alive: readonly number[]) {
  const processes = {
    self: () => Promise.resolve({ pid: self, startTime: `start-${self}` }),
    isAlive: ({ pid, startTime }: ProcessIdentity) =>
      Promise.resolve(alive.includes(pid) && startTime === `start-${pid}`),
  } as Partial<Processes> as Processes;
  return { disk, clock: new StillClock(), processes };
}

test("a second controller is refused with the pid of the first", async () => {
  const disk = new MemoryDisk();
  await Lock.take(at, seams(disk, 1, [1, 2]), "/c/control.sock");
  await assert.rejects(Lock.take(at, seams(disk, 2, [1, 2]), ""), (error: unknown) => {
    assert.ok(error instanceof DirectoryBusy);
    assert.match(error.message, /process 1\b/);
    return true;
  });
  assert.equal((await currentHolder(at, seams(disk, 2, [1])))?.socket, "/c/control.sock");
});

test("the lock of a dead controller is taken over, also when its pid is in use again", async () => {
  const disk = new MemoryDisk();
  await Lock.take(at, seams(disk, 1, [1]), "");
  assert.equal(await currentHolder(at, seams(disk, 2, [2])), undefined);
  const lock = await Lock.take(at, seams(disk, 2, [2]), "");
  assert.equal(await lock.isLost(), false);
  disk.files.set(at.lock, Buffer.from('{"pid":2,"startTime":"another boot"}'));
  await Lock.take(at, seams(disk, 3, [2, 3]), "");
});

test("a lock that was cut off while it was written belongs to nobody", async () => {
  const disk = new MemoryDisk();
  disk.files.set(at.lock, Buffer.from('{"pid":1,"sta'));
  assert.equal(await (await Lock.take(at, seams(disk, 2, [1, 2]), "")).isLost(), false);
});

test("a controller whose lock was taken knows it, and does not release another's", async () => {
  const disk = new MemoryDisk();
  const lock = await Lock.take(at, seams(disk, 1, [1]), "");
  await disk.remove(at.lock);
  assert.equal(await lock.isLost(), true);
  await Lock.take(at, seams(disk, 2, [2]), "");
  await lock.release();
  assert.equal((await currentHolder(at, seams(disk, 2, [2])))?.pid, 2);
});
