/**
 * One at a time: a lock that the kernel releases when its holder dies, however it dies.
 *
 * The lock is a listening socket in Linux's abstract namespace (no file). Those who wait connect to it: they
 * are told what the holder is doing, and the connection ends with the holder.
 */
import { connect, createServer } from "node:net";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { shortHash } from "./paths.ts";

export interface Lock {
  release(): Promise<void>;
}

export interface LockOptions {
  /** What the holder does, for those who wait: "building Kubernetes". */
  purpose: string;
  waiting?: (holder: string) => void;
  deadlineMs?: number;
}

export async function acquire(subject: string, options: LockOptions): Promise<Lock> {
  const address = `\0quorate-${process.getuid?.() ?? 0}-${shortHash(subject)}`;
  const end = Date.now() + (options.deadlineMs ?? 30 * 60_000);
  let told = false;
  for (;;) {
    const lock = await listen(address, `${options.purpose} (process ${process.pid})`);
    if (lock) return lock;
    if (Date.now() > end) {
      throw new Error(
        `gave up waiting for another process that holds ${subject}: ${await holder(address, 1000)}`,
      );
    }
    const who = await holder(address, Math.max(1, end - Date.now()), (text) => {
      if (!told) options.waiting?.(text);
      told = true;
    });
    if (who === "") await sleep(20);
  }
}

function listen(address: string, purpose: string): Promise<Lock | undefined> {
  return new Promise((resolve, reject) => {
    const waiting = new Set<Socket>();
    const server = createServer((socket) => {
      waiting.add(socket);
      socket.on("error", () => {}).on("close", () => waiting.delete(socket));
      socket.write(purpose);
      socket.unref();
    });
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") resolve(undefined);
      else reject(error);
    });
    server.listen(address, () => {
      server.unref();
      resolve({
        release: () =>
          new Promise((released) => {
            server.close(() => released());
            for (const socket of waiting) socket.destroy();
          }),
      });
    });
  });
}

/** Waits until the holder goes away; resolves with what it said it was doing. */
function holder(address: string, ms: number, heard?: (text: string) => void): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(address);
    const done = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(text);
    };
    const timer = setTimeout(done, ms);
    socket.on("data", (chunk) => {
      text += String(chunk);
      heard?.(text);
    });
    socket.on("error", done).on("close", done);
  });
}
