#!/usr/bin/env node
/** The program `quorate` and `kubectl-etcd`: the signals, the streams, and the exit code. Its verbs are in verbs.ts. */
import process from "node:process";
import manifest from "../../package.json" with { type: "json" };
import { systemClock } from "../seams/clock.ts";
import { dispatch } from "./dispatch.ts";
import { processIo } from "./io.ts";
import { verbs } from "./verbs.ts";

/** A terminal and npm both deliver one Ctrl-C; only a later one is a second. */
const SAME_SIGNAL_MS = 500;

const stop = new AbortController();
let firstSignalAt: number | undefined;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    const now = systemClock.monotonic();
    if (firstSignalAt === undefined) {
      firstSignalAt = now;
      stop.abort(new Error(`stopped by ${signal}`));
    } else if (now - firstSignalAt > SAME_SIGNAL_MS) {
      process.exit(signal === "SIGINT" ? 130 : 143);
    }
  });
}

// `quorate … | head` closes our output early: that is the reader's right, not an error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

// No `await` at the top level: within an executable (scripts/build/executable.ts) this is CommonJS, which has none.
void dispatch(process.argv.slice(2), verbs, manifest.version, processIo(stop.signal)).then((code) => {
  process.exitCode = code;
});
