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

/** Whatever comes first, of these streams and of those that come later. A stream that fails ends the others. */
export async function* asTheyCome<T>(
  streams: readonly AsyncIterable<T>[],
  later: AsyncIterable<AsyncIterable<T>> = none(),
): AsyncGenerator<T> {
  const pending = new Map<AsyncIterator<T>, Promise<Advance<T>>>();
  const add = (iterator: AsyncIterator<T>) => pending.set(iterator, advance(iterator));
  for (const stream of streams) add(stream[Symbol.asyncIterator]());
  const added = later[Symbol.asyncIterator]();
  let next: Promise<Another<T>> | undefined = another(added);
  try {
    while (pending.size > 0 || next !== undefined) {
      const came: Advance<T> | Another<T> = await Promise.race([
        ...pending.values(),
        ...(next ? [next] : []),
      ]);
      if ("stream" in came) {
        next = came.stream.done ? undefined : another(added);
        if (!came.stream.done) add(came.stream.value[Symbol.asyncIterator]());
      } else if (came.result.done) pending.delete(came.iterator);
      else {
        add(came.iterator);
        yield came.result.value;
      }
    }
  } finally {
    for (const promise of [...pending.values(), next]) promise?.catch(() => undefined);
    const open = [...pending.keys(), ...(next ? [added] : [])];
    void Promise.allSettled(open.map(async (iterator) => await iterator.return?.()));
  }
}

interface Advance<T> {
  readonly iterator: AsyncIterator<T>;
  readonly result: IteratorResult<T>;
}

async function advance<T>(iterator: AsyncIterator<T>): Promise<Advance<T>> {
  return { iterator, result: await iterator.next() };
}

interface Another<T> {
  readonly stream: IteratorResult<AsyncIterable<T>>;
}

async function another<T>(iterator: AsyncIterator<AsyncIterable<T>>): Promise<Another<T>> {
  return { stream: await iterator.next() };
}

async function* none(): AsyncGenerator<never> {
  // A cluster whose members are all known.
}
