/** Faults that show where a clock is wrong: that of an operator, of a node, or of all. The rules of planted-bugs.ts hold. */
import type { PlantedBug } from "./planted-bugs.ts";

export const plantedClockBugs: readonly PlantedBug[] = [
  {
    name: "retries wait by the wall clock",
    breaks: "H9",
    situation: "clocks",
    file: "src/control/loop.ts",
    find: "const waiting = this.#retries.waiting(act.action, clock.monotonic());",
    replace: "const waiting = this.#retries.waiting(act.action, clock.now());",
    also: {
      file: "src/control/loop.ts",
      find: "this.#retries.failed(act.action, error, clock.monotonic());",
      replace: "this.#retries.failed(act.action, error, clock.now());",
    },
  },
  {
    name: "how long a member has been down is counted by the wall clock",
    breaks: "H16",
    situation: "clocks",
    file: "src/control/own-time.ts",
    find: "return this.#clock.monotonic();\n",
    replace: "return this.#clock.now();\n",
    also: {
      file: "src/control/own-time.ts",
      find: "return Math.round(this.#origin + mark);",
      replace: "return Math.round(mark);",
    },
  },
  {
    name: "how long a workload has run is told by its node's clock",
    breaks: "H16",
    situation: "clocks",
    file: "src/control/observe.ts",
    find: "return { ...workload, since: this.#time.wall(seen.at) };",
    replace: "return workload;",
  },
  {
    name: "the end of a newcomer's first start, reported after it joined, is lost data",
    breaks: "H16",
    situation: "clocks",
    file: "src/operator/observe/pod-exit.ts",
    find: "seen.agoMs < REPORTED_LATE_MS",
    replace: "seen.agoMs < 0",
  },
  {
    name: "the clock of a node is believed by one heartbeat, or by none",
    breaks: "I6",
    situation: "clocks",
    file: "src/operator/observe/node-clocks.ts",
    find: "aheadMs: agrees ? sampleMs : known?.aheadMs,",
    replace: "aheadMs: agrees ? known?.aheadMs : sampleMs,",
  },
  {
    name: "when an operation finished is written by the operator's clock and compared with the API server's",
    breaks: "I6",
    situation: "clocks",
    file: "src/core/operations/endings.ts",
    find: "{ phase: PHASES[purpose], reason, message }, purpose, view.serverNow)",
    replace: "{ phase: PHASES[purpose], reason, message }, purpose, view.now)",
    also: {
      file: "src/core/operations/report.ts",
      find: "        view.serverNow,\n",
      replace: "        view.now,\n",
    },
  },
  {
    name: "certificates are valid from the moment at which they are issued",
    breaks: "R45",
    situation: "clocks",
    file: "src/pki/plan.ts",
    find: "(now - Math.min(BACKDATE_MS, lifeMs / 10))",
    replace: "now",
  },
  {
    name: "certificates are issued by a clock that contradicts the API server's",
    breaks: "R45",
    situation: "clocks",
    file: "src/operator/observe/clock-skew.ts",
    find: "return Math.abs(this.aheadMs ?? 0) > BACKDATE_MS;",
    replace: "return (this.aheadMs ?? 0) === Infinity;",
  },
];
