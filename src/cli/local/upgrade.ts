/** `quorate local upgrade <version>`: up, or down where etcd can, one minor at a time. */
import type { CliIo } from "../io.ts";
import { applyChange } from "./apply.ts";
import { givenVersion } from "./change.ts";
import { exactly, parse, placeOf } from "./place.ts";
import { ending } from "./usage.ts";

export const summary = "change the etcd version, one member and one minor at a time";
export const usage = (command: string): string => `Usage: ${command} local upgrade <version> [options]

A version is 3.6.16, or 3.6 for its newest known patch. A lower minor version is a downgrade, which
etcd supports since 3.6. A change that etcd does not support is rejected with the reason.

Options:
${ending(command, ["To the newest patch of 3.6", "upgrade 3.6"], ["To this very version", "upgrade 3.6.16 --name demo"])}`;

export async function run(args: string[], io: CliIo): Promise<number> {
  const { values, positionals } = parse(args, {});
  const [given = ""] = exactly(positionals, "version");
  const version = givenVersion(given);
  return await applyChange(placeOf(values, io), io, { version }, version);
}
