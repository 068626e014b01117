/** How objects are written: compressed, encrypted, both or neither; a key that would stay unused is refused. */
import type { Encoding } from "../../../snapshot/codec/codec.ts";
import { CommandError, EXIT } from "../../exit.ts";
import type { Flags, ValuesOf } from "../../flag.ts";
import type { CliIo } from "../../io.ts";
import { KEY_FLAGS, keyOf } from "./flags.ts";

export const ENCODING_FLAGS = {
  compress: { kind: "switch", help: "compress with zstd" },
  encrypt: { kind: "switch", help: "encrypt on this side with AES-256-GCM; needs the key" },
} as const satisfies Flags;

export async function encodingOf(
  flags: ValuesOf<typeof ENCODING_FLAGS & typeof KEY_FLAGS>,
  io: CliIo,
): Promise<Encoding> {
  const given = await keyOf(flags, io);
  if (flags.encrypt && given === undefined)
    throw new CommandError(
      EXIT.usage,
      "--encrypt needs a key: pass --encryption-key-file or set QUORATE_SNAPSHOT_KEY",
    );
  if (!flags.encrypt && given !== undefined)
    throw new CommandError(
      EXIT.usage,
      flags["encryption-key-file"] === undefined
        ? "QUORATE_SNAPSHOT_KEY is set, and without --encrypt the snapshot would be in plaintext: add --encrypt, or unset the variable"
        : "--encryption-key-file without --encrypt would leave the snapshot in plaintext: add --encrypt",
    );
  return { compression: flags.compress ? "zstd" : "none", key: flags.encrypt ? given : undefined };
}
