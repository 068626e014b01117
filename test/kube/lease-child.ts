/**
 * Holds a lease on the API server named by its arguments, and says on stdout, every few milliseconds, at what time
 * it believed to lead. Its test freezes and thaws it.
 */
import { Lease } from "../../src/kube/lease.ts";
import { systemClock } from "../../src/seams/clock.ts";
import { systemRandom } from "../../src/seams/random.ts";
import { clientOn, transportTo } from "../support/kube-runtime.ts";

const [server = "", ca = "", token = "", name = "", identity = ""] = process.argv.slice(2);
const client = clientOn(transportTo({ server, ca: { text: ca }, token: { text: token } }));
const lease = new Lease({
  client,
  clock: systemClock,
  random: systemRandom,
  namespace: "default",
  name,
  identity,
  durationMs: 6_000,
  retryMs: 500,
  onElected: () => undefined,
});
lease.start();
setInterval(() => {
  // The time before the look: frozen between the two, it would tell a time at which it did not look.
  const now = Date.now();
  if ((lease.term?.remainingMs() ?? 0) > 0) process.stdout.write(`${now}\n`);
}, 5);
process.stdin.resume().on("end", () => process.exit());
