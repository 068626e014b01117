/**
 * Stands in for node:test while mutants are judged: tests are collected as their file is imported, and run one after
 * the other until the first that fails. The real one cannot be run again and again in a process.
 */

type Body = (context: Context) => unknown;
interface Context {
  test(name: string, body: Body): Promise<void>;
}
interface Collected {
  readonly name: string;
  readonly body: Body;
}

let collected: Collected[] = [];

export function test(name: string, ...rest: unknown[]): void {
  collected.push({ name, body: rest.at(-1) as Body });
}

export function describe(name: string, ...rest: unknown[]): void {
  const before = collected;
  collected = [];
  (rest.at(-1) as () => void)();
  collected = [...before, ...collected.map((one) => ({ ...one, name: `${name}: ${one.name}` }))];
}

const context: Context = { test: async (_name, body) => void (await body(context)) };

/** The name of the first test that fails; undefined when all pass. */
export async function runCollected(): Promise<string | undefined> {
  const tests = collected;
  collected = [];
  for (const { name, body } of tests) {
    try {
      await body(context);
    } catch {
      return name;
    }
  }
  return undefined;
}
