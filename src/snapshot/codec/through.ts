/** Chunks through one of Node's transforms, with back-pressure at both ends and one error for both. */
import type { Transform } from "node:stream";

export async function* through(
  chunks: AsyncIterable<Uint8Array>,
  transform: Transform,
): AsyncGenerator<Uint8Array> {
  const feeding = feed(chunks, transform);
  // Told by the transform, which it ends.
  feeding.catch(() => undefined);
  try {
    yield* transform as AsyncIterable<Uint8Array>;
  } finally {
    transform.destroy();
  }
  await feeding;
}

async function feed(chunks: AsyncIterable<Uint8Array>, transform: Transform): Promise<void> {
  try {
    for await (const chunk of chunks)
      await new Promise<void>((resolve, reject) => {
        // The callback comes when the chunk is used up, so its buffer may be filled again.
        transform.write(chunk, (error) => (error ? reject(error) : resolve()));
      });
    transform.end();
  } catch (error) {
    transform.destroy(error instanceof Error ? error : new Error(String(error)));
    throw error;
  }
}
