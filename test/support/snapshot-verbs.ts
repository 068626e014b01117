/** Runs `quorate snapshot …` in this process, as a person would type it. */
import process from "node:process";
import { verb } from "../../src/cli/verbs/snapshot.ts";
import { collectingIo } from "../../src/cli/testing.ts";

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Rejects with what the command would print and exit with. */
export async function snapshot(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<Ran> {
  const io = collectingIo({
    env: { PATH: process.env["PATH"], HOME: "/nonexistent", ...cache(), ...env },
    signal,
  });
  const code = await verb.run([...args], io);
  return { code, out: io.out(), err: io.err() };
}

/** etcd is installed where the tests have it. */
function cache(): Record<string, string | undefined> {
  const { QUORATE_CACHE, QUORATE_ETCD_DIR, HOME } = process.env;
  return { QUORATE_CACHE: QUORATE_CACHE ?? `${HOME}/.cache/quorate`, QUORATE_ETCD_DIR };
}

export async function snapshotJson<T>(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<T> {
  return JSON.parse((await snapshot([...args, "-o", "json"], env)).out) as T;
}
