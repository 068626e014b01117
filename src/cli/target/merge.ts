/** Several streams of lines as one: in order of time when they end, as they come when they do not. */
import type { LogLine } from "./target.ts";

/** Lines without a time stay behind the line before them. */
export function inOrder(streams: readonly (readonly LogLine[])[]): LogLine[] {
  const timed = streams.flatMap((lines) => {
    let at = 0;
    return lines.map((line) => ({ line, at: (at = line.at ?? at) }));
  });
  return timed.toSorted((a, b) => a.at - b.at).map(({ line }) => line);
}

/** Whatever comes first. A stream that fails ends the others. */
export async function* asTheyCome<T>(streams: readonly AsyncIterable<T>[]): AsyncGenerator<T> {
  const iterators = streams.map((stream) => stream[Symbol.asyncIterator]());
  const pending = new Map(iterators.map((iterator) => [iterator, advance(iterator)]));
  try {
    while (pending.size > 0) {
      const { iterator, result } = await Promise.race(pending.values());
      if (result.done) pending.delete(iterator);
      else {
        pending.set(iterator, advance(iterator));
        yield result.value;
      }
    }
  } finally {
    for (const promise of pending.values()) promise.catch(() => undefined);
    void Promise.allSettled([...pending.keys()].map(async (iterator) => await iterator.return?.()));
  }
}

async function advance<T>(iterator: AsyncIterator<T>) {
  return { iterator, result: await iterator.next() };
}
