/**
 * A real controller in a process of its own, which kills itself with SIGKILL right after effect n. Standard
 * output has a line per effect; with fewer than n effects it ends by itself once the cluster is as its spec
 * says. Arguments: what `ChildRequest` says, as JSON.
 */
import { writeSync } from "node:fs";
import process from "node:process";
import { layout } from "../../src/local/layout.ts";
import { openController, type ChildRequest } from "./controller.ts";

const { dir, crashAfter, ...request } = JSON.parse(process.argv[2] ?? "{}") as ChildRequest;
let effects = 0;

const controller = await openController(layout(dir), request, (effect) => {
  writeSync(1, `${effect}\n`);
  if (++effects === crashAfter) process.kill(process.pid, "SIGKILL");
});
await controller.converge(request.timeoutMs);
await controller.close();
