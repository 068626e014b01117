/** Sends the parts of a body, a few of them on their way at a time, in as many buffers and one more. */
import { StoreError } from "../store.ts";
import { PART_BYTES, type Parts } from "./parts.ts";

/** Parts on their way, besides the one that is being filled. */
const PARALLEL = 2;

/** `send` is called with the numbers from 1 on. The first failure ends it, when none is on its way any more. */
export async function sendParts(
  first: Buffer,
  parts: Parts,
  { most, doing }: { readonly most: number; readonly doing: string },
  send: (bytes: Buffer, number: number) => Promise<void>,
): Promise<{ count: number; size: number }> {
  const underWay = new Set<Promise<void>>();
  let failed: { readonly error: unknown } | undefined;
  let size = 0;
  let count = 0;
  try {
    for (let part = { bytes: first, last: false }; ; part = await parts.next()) {
      // The body ended just where a part did.
      if (part.bytes.length === 0) break;
      if (++count > most)
        throw new StoreError(
          "full",
          `cannot ${doing}: it is larger than ${most} parts of ${PART_BYTES} bytes`,
        );
      size += part.bytes.length;
      const { bytes } = part;
      const sending: Promise<void> = send(bytes, count)
        .then(() => parts.reuse(bytes))
        .catch((error: unknown) => {
          failed ??= { error };
        })
        .finally(() => underWay.delete(sending));
      underWay.add(sending);
      if (part.last) break;
      while (underWay.size >= PARALLEL && failed === undefined) await Promise.race(underWay);
      if (failed !== undefined) break;
    }
  } finally {
    await Promise.all(underWay);
  }
  if (failed !== undefined) throw (failed as { readonly error: unknown }).error;
  return { count, size };
}
