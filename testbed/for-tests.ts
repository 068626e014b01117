/**
 * A testbed for one test file, apart from the developer's own and from those of other files: started with the
 * file's process, ended with it. What a killed test process left behind is swept by the next one.
 */
import { existsSync } from "node:fs";
import { listBeds } from "./state.ts";
import { down, up } from "./testbed.ts";
import type { Testbed, UpOptions } from "./testbed.ts";

let count = 0;

export interface TestTestbed extends Testbed {
  name: string;
  down(): Promise<void>;
}

export function testBedName(): string {
  return `test-${process.pid}-${++count}`;
}

export async function upForTests(options: UpOptions = {}): Promise<TestTestbed> {
  await sweep();
  const name = options.name ?? testBedName();
  const bed = await up({ ...options, name });
  return {
    ...bed,
    name,
    async down() {
      bed.client.close();
      await down(name);
    },
  };
}

/** Ends testbeds whose test process is no more. */
export async function sweep(): Promise<void> {
  for (const name of listBeds()) {
    const pid = /^test-(\d+)-\d+$/.exec(name)?.[1];
    if (pid && !existsSync(`/proc/${pid}`)) await down(name);
  }
}
