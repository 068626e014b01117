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
  const arrivals = new Arrivals<() => T | undefined>();
  const open = new Set<AsyncIterator<unknown>>();
  /** What a stream gives next, or its failure, is taken in turn with that of all others. */
  const advance = <V>(iterator: AsyncIterator<V>, take: (value: V) => T | undefined) => {
    open.add(iterator);
    iterator.next().then(
      ({ done, value }) => {
        if (done) open.delete(iterator);
        arrivals.add(() => (done ? undefined : take(value as V)));
      },
      (error: unknown) => {
        open.delete(iterator);
        arrivals.add(() => {
          throw error;
        });
      },
    );
  };
  const lines = (iterator: AsyncIterator<T>) =>
    advance(iterator, (value) => {
      lines(iterator);
      return value;
    });
  const others = (iterator: AsyncIterator<AsyncIterable<T>>) =>
    advance(iterator, (stream) => {
      lines(stream[Symbol.asyncIterator]());
      others(iterator);
      return undefined;
    });
  for (const stream of streams) lines(stream[Symbol.asyncIterator]());
  others(later[Symbol.asyncIterator]());
  try {
    while (open.size > 0 || arrivals.some) {
      const value = (await arrivals.next())();
      if (value !== undefined) yield value;
    }
  } finally {
    void Promise.allSettled([...open].map(async (iterator) => await iterator.return?.()));
  }
}

/** In order of arrival. Promise.race() would do, but it keeps every line for as long as one stream says nothing. */
class Arrivals<V extends object> {
  readonly #waiting: V[] = [];
  #wake: (() => void) | undefined;

  get some(): boolean {
    return this.#waiting.length > 0;
  }

  add(value: V): void {
    this.#waiting.push(value);
    this.#wake?.();
  }

  async next(): Promise<V> {
    for (;;) {
      const first = this.#waiting.shift();
      if (first !== undefined) return first;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

async function* none(): AsyncGenerator<never> {
  // A cluster whose members are all known.
}
