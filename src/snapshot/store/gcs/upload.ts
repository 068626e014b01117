/**
 * Writes one object: small ones in a single request, larger ones in a resumable session, part after part, each from
 * where the store says that it is. Nothing appears before the last part; the condition that the name is free was given
 * when the session began. What the store then has is compared by its MD5 with what was sent.
 */
import { createHash } from "node:crypto";
import type { HttpAnswer } from "../http/http.ts";
import type { Parts } from "../http/parts.ts";
import { parseObject } from "../http/token.ts";
import { uploadBy, type UploadOptions } from "../http/upload.ts";
import { StoreError } from "../store.ts";
import type { GcsClient } from "./client.ts";
import { GcsFailure, storeError } from "./errors.ts";

export interface GcsUpload extends UploadOptions<GcsClient> {
  readonly kmsKey: string | undefined;
  /** MD5 (base64) of the object as it is now, for the case that an answer was lost. */
  readonly md5: () => Promise<string | undefined>;
}

export async function upload(body: AsyncIterable<Uint8Array>, options: GcsUpload): Promise<void> {
  await uploadBy(body, {
    whole: async (bytes) => await putWhole(bytes, options),
    inParts: async (first, parts) => await putParts(first, parts, options),
  });
}

const queryOf = ({ key, ifAbsent, kmsKey }: GcsUpload, uploadType: string) => ({
  uploadType,
  name: key,
  ...(ifAbsent && { ifGenerationMatch: "0" }),
  ...(kmsKey !== undefined && { kmsKeyName: kmsKey }),
});

async function putWhole(bytes: Buffer, options: GcsUpload): Promise<void> {
  const { client, doing, signal } = options;
  const md5 = createHash("md5").update(bytes).digest("base64");
  let repeated = false;
  const answer = await client.send(
    {
      method: "POST",
      path: client.uploadPath(queryOf(options, "media")),
      headers: { "content-type": "application/octet-stream" },
      body: bytes,
      signal,
      doing,
      aboutBucket: true,
      onRetry: () => (repeated = true),
    },
    ({ status }) => status === 412,
  );
  if (!(answer instanceof GcsFailure)) return await requireSame(answer, md5, options);
  // Ours, if the answer to an earlier try was lost.
  if (repeated && (await options.md5()) === md5) return;
  throw storeError(doing, answer);
}

async function putParts(first: Buffer, parts: Parts, options: GcsUpload): Promise<void> {
  const { client, doing, signal } = options;
  const started = await client.send({
    method: "POST",
    path: client.uploadPath(queryOf(options, "resumable")),
    headers: { "x-upload-content-type": "application/octet-stream" },
    body: Buffer.alloc(0),
    signal,
    doing,
    aboutBucket: true,
  });
  const location = (started as HttpAnswer).headers.location;
  if (location === undefined)
    throw new StoreError("failed", `cannot ${doing}: the store began an upload without naming it`);
  // Sent to the endpoint that was asked: what it calls itself may not be reachable from here.
  const { pathname, search } = new URL(location, "http://session");
  const session = `${pathname}${search}`;
  const hash = createHash("md5");
  let sent = 0;
  try {
    for (let part = { bytes: first, last: false }; ; part = await parts.next()) {
      hash.update(part.bytes);
      const answer = await sendPart(session, part, sent, options);
      sent += part.bytes.length;
      if (answer === undefined && !part.last) {
        parts.reuse(part.bytes);
        continue;
      }
      const md5 = hash.digest("base64");
      if (answer === undefined)
        throw new StoreError(
          "failed",
          `cannot ${doing}: ${sent} bytes were sent, and the store waits for more`,
        );
      // The session is gone: ours was finished if the answer to an earlier try was lost.
      if (answer instanceof GcsFailure && (await options.md5()) !== md5) throw storeError(doing, answer);
      if (!(answer instanceof GcsFailure)) await requireSame(answer, md5, options);
      return;
    }
  } catch (error) {
    // Without it the store forgets the session after a week.
    const cancelling = {
      method: "DELETE",
      path: session,
      signal: new AbortController().signal,
      doing,
    } as const;
    await client.once(cancelling).catch(() => undefined);
    throw error;
  }
}

/** The answer to the last part, or that the session is gone after a lost answer; undefined after the others. */
async function sendPart(
  session: string,
  { bytes, last }: { readonly bytes: Buffer; readonly last: boolean },
  at: number,
  { client, doing, signal }: GcsUpload,
): Promise<HttpAnswer | GcsFailure | undefined> {
  const end = at + bytes.length;
  const total = last ? String(end) : "*";
  /** How much of this part the store has. */
  let have = 0;
  let unsure = false;
  const attempt = { signal, doing, onRetry: () => (unsure = true) };
  return await client.retries.run(
    attempt,
    ({ status }) => unsure && last && [404, 410, 412].includes(status),
    async () => {
      const put = async (headers: Readonly<Record<string, string>>, body: Uint8Array) =>
        await client.once({ method: "PUT", path: session, headers, body, signal, doing });
      if (unsure) {
        const state = await put({ "content-range": `bytes */${total}` }, Buffer.alloc(0));
        if (state.status !== 308) return state;
        have = Math.max(0, received(state) - at);
      }
      while (have < bytes.length || bytes.length === 0) {
        const range = bytes.length === 0 ? `bytes */${total}` : `bytes ${at + have}-${end - 1}/${total}`;
        const answer = await put({ "content-range": range }, bytes.subarray(have));
        if (answer.status !== 308) return answer;
        const now = received(answer) - at;
        if (now <= have) throw new GcsFailure(503, "the store took nothing of a part", false);
        have = now;
      }
      return undefined;
    },
  );
}

/** Bytes that the store says it has. */
function received({ headers }: HttpAnswer): number {
  const to = /^bytes=0-(\d+)$/.exec(String(headers["range"] ?? ""))?.[1];
  return to === undefined ? 0 : Number(to) + 1;
}

/** An object that differs from what was sent is taken away again, as long as it is that one. */
async function requireSame(answer: HttpAnswer, md5: string, options: GcsUpload): Promise<void> {
  const { client, key, doing, signal } = options;
  const { md5Hash, generation } = parseObject(answer.body.toString("utf8"));
  // Composite objects have none; ours are not composite, but an emulator may leave it out.
  if (typeof md5Hash !== "string" || md5Hash === md5) return;
  const query: Readonly<Record<string, string>> =
    typeof generation === "string" ? { ifGenerationMatch: generation } : {};
  await client
    .send({ method: "DELETE", path: client.objectPath(key, query), signal, doing }, () => true)
    .catch(() => undefined);
  throw new StoreError(
    "failed",
    `cannot ${doing}: the store has other bytes than were sent; they were deleted`,
  );
}
