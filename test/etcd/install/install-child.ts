/**
 * A process that installs the etcd version named as its argument, so that tests can kill it or race it.
 */
import process from "node:process";
import { ensureEtcd } from "../../../src/etcd/install/ensure.ts";
import { systemClock } from "../../../src/seams/clock.ts";

const found = await ensureEtcd(process.argv[2] ?? "", { env: process.env, clock: systemClock });
process.stdout.write(JSON.stringify(found));
