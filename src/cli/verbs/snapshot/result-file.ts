/** `--result-file`: how a Job tells the operator what it came to, in the termination message of its container. */
import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { SnapshotReason } from "../../../core/messages/snapshot-reasons.ts";
import type { VerificationReason } from "../../../core/messages/verification-reasons.ts";
import { isEtcdError } from "../../../etcd/errors.ts";
import { ChangeLogError, type ChangeLogFault } from "../../../snapshot/changes/errors.ts";
import { NoMemberError } from "../../../snapshot/choose.ts";
import { KeyError } from "../../../snapshot/codec/key.ts";
import { SnapshotDamaged } from "../../../snapshot/inspect.ts";
import {
  writeResult,
  type JobResult,
  type SnapshotResult,
  type VerifiedResult,
} from "../../../snapshot/result.ts";
import { VerificationError } from "../../../snapshot/verification-error.ts";
import { isStoreError, type StoreErrorKind } from "../../../snapshot/store/store.ts";
import { CommandError, EXIT } from "../../exit.ts";
import type { Flags } from "../../flag.ts";
import { UsageError, type CliIo } from "../../io.ts";

export const RESULT_FLAGS = {
  id: {
    kind: "text",
    value: "text",
    help: "begin of the object's name, for this snapshot alone, so that a repeated command finds what an earlier one finished",
  },
  "result-file": { kind: "text", value: "file", help: "write the result there, as one line of JSON" },
} as const satisfies Flags;

/** Of names in a store, and never a part of another one's. */
export function requireId(id: string, folder: string): string {
  if (!/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(id) || id.length > 200)
    throw new UsageError(`--id ${JSON.stringify(id)}: use lower-case letters, digits, dots and dashes`);
  if (!folder.endsWith("/")) throw new UsageError(`--id needs a folder, with a slash at its end: ${folder}/`);
  return id;
}

/** What a command found: a snapshot that it took, or verified. */
type Found = { readonly snapshot: SnapshotResult } | { readonly verified: VerifiedResult };

/** Does the work, and writes what it came to. The file must never be what the work fails by. */
export async function reporting(
  file: string | undefined,
  io: CliIo,
  work: () => Promise<Found | undefined>,
): Promise<void> {
  const write = async (result: JobResult) => {
    if (file === undefined) return;
    try {
      await writeFile(path.resolve(io.cwd, file), writeResult(result));
    } catch (error) {
      io.stderr.write(`cannot write --result-file ${file}: ${(error as Error).message}\n`);
    }
  };
  try {
    await write({ ok: true, ...(await work()) });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    await write({ ok: false, reason: reasonOf(error), message });
    throw error;
  }
}

/** Points that no other attempt would lead to: whoever repeats the command is told by the exit code. */
export async function definitely<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ChangeLogError && (error.fault === "unreachable" || error.fault === "version"))
      throw new CommandError(EXIT.usage, error.message, { cause: error });
    throw error;
  }
}

const STORE_REASONS: Readonly<Record<StoreErrorKind, SnapshotReason>> = {
  denied: "StoreDenied",
  "no-place": "StoreMissing",
  "not-found": "StoreMissing",
  full: "StoreFull",
  unreachable: "StoreUnreachable",
  interrupted: "StoreUnreachable",
  failed: "StoreUnreachable",
  invalid: "StoreInvalid",
  exists: "StoreInvalid",
};

const CHANGE_REASONS: Partial<Record<ChangeLogFault, SnapshotReason>> = {
  unreachable: "PointUnreachable",
  version: "ReplayVersion",
};

function reasonOf(error: unknown): SnapshotReason | VerificationReason {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  for (const one of [error, cause]) {
    if (isStoreError(one)) return STORE_REASONS[one.kind];
    if (one instanceof ChangeLogError) return CHANGE_REASONS[one.fault] ?? "ChangesUnusable";
    if (one instanceof KeyError) return "InvalidKey";
    if (one instanceof SnapshotDamaged) return "Damaged";
    if (one instanceof VerificationError) return one.fault;
    if (one instanceof NoMemberError || isEtcdError(one)) return "EtcdFailed";
    if (one instanceof UsageError) return "StoreInvalid";
  }
  return "JobFailed";
}
