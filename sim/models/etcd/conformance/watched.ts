/** What the first answers of a watch are: that it is open, or the revision of the compaction that ended it. */
import { create } from "@bufbuild/protobuf";
import type { Caller } from "../../../../src/etcd/caller.ts";
import { EtcdError } from "../../../../src/etcd/errors.ts";
import { Watch } from "../../../../src/etcd/proto/rpc_pb.ts";
import { deadline } from "../../../../src/seams/clock.ts";
import type { Endpoint } from "../../../../src/seams/etcd-transport.ts";

const { method } = Watch;
const ALL = new Uint8Array(1);

export async function watched(
  caller: Caller,
  endpoint: Endpoint,
  { revision, waits }: { readonly revision: number; readonly waits: boolean },
  timeoutMs: number,
): Promise<Record<string, unknown>> {
  using limit = deadline(caller.clock, timeoutMs);
  const stream = await caller.stream(method.watch, endpoint, limit.signal);
  const value = { key: ALL, rangeEnd: ALL, startRevision: BigInt(revision) };
  stream.send(create(method.watch.input, { requestUnion: { case: "createRequest", value } }));
  for await (const answer of stream) {
    if (answer.canceled) return watchAnswer(Number(answer.compactRevision));
    if (!answer.created || !waits) return watchAnswer(undefined);
  }
  throw new EtcdError({
    kind: "unavailable",
    call: "Watch.Watch",
    endpoint: endpoint.url,
    code: "UNAVAILABLE",
    said: "the stream ended",
    outcome: "not-applied",
  });
}

/** The same in both worlds. */
export function watchAnswer(compacted: number | undefined): Record<string, unknown> {
  return compacted === undefined ? { watch: "open" } : { watch: "compacted", at: compacted };
}
