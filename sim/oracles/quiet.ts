/** I7: once converged, an operator writes nothing and calls for no change of membership, though clients write on. */
import { Violation } from "./oracle.ts";
import type { Simulation } from "../rules/simulation.ts";

/** Comparing hashes only reads; giving free pages back is what maintenance is for. */
const MAINTENANCE = /^(CompareHashes|Defragment )/;

export function mustStayQuiet(sim: Simulation, ms = 600_000): void {
  const writes = sim.objects.writes;
  const before = sim.effects.count;
  sim.pass(ms);
  const since = sim.effects.names.slice(before).filter((name) => !MAINTENANCE.test(name));
  if (since.length > 0) throw new Violation("I7", `converged, and yet: ${since.slice(0, 5).join(", ")}`);
  if (sim.objects.writes !== writes) throw new Violation("I7", "converged, and yet objects were written");
}
