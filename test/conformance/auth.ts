/** Runs the comparison of the model etcd with a real one of a version, with auth on. */
import { conformAuth, type AuthReport, type AuthRun } from "../../sim/models/etcd/conformance/auth-run.ts";
import { RealSide } from "./etcd-side.ts";

type AuthConformance = Pick<
  AuthRun,
  "version" | "seed" | "calls" | "callsPerRound" | "authToken" | "onDifference"
>;

export async function compareAuth(options: AuthConformance): Promise<AuthReport> {
  await using real = await RealSide.prepare();
  const [slot] = real.slots;
  if (slot === undefined) throw new Error("there is no slot to start etcd in");
  return await conformAuth({
    ...options,
    real,
    slot,
    now: () => Date.now(),
    wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  });
}
