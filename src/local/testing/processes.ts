/** Processes that end when the test says so, for unit tests of what starts and stops them. */
import type { ProcessExit, Processes, RunningProcess, SpawnRequest } from "../../seams/processes.ts";

export class FakeProcesses implements Processes {
  readonly spawned: SpawnRequest[] = [];
  readonly signals: string[] = [];
  /** Of an earlier controller, with the argument that it is found by. */
  former: { readonly argument: string; readonly process: RunningProcess } | undefined;
  #end: ((exit: ProcessExit) => void) | undefined;

  process(): RunningProcess {
    const exit = new Promise<ProcessExit>((resolve) => (this.#end = resolve));
    return { pid: 7, startTime: "t", exit, signal: (signal) => this.signals.push(signal) > 0 };
  }
  /** Ends the last one. */
  end(exit: ProcessExit): void {
    this.#end?.(exit);
  }
  spawn(request: SpawnRequest): Promise<RunningProcess> {
    this.spawned.push(request);
    return Promise.resolve(this.process());
  }
  isAlive = () => Promise.resolve(true);
  adopt = () => Promise.resolve(this.former?.process);
  find = (argument: string) =>
    Promise.resolve(this.former?.argument === argument ? [{ pid: 7, startTime: "t" }] : []);
  self = () => Promise.resolve({ pid: 1, startTime: "t" });
}
