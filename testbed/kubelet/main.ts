/**
 * The stand-in kubelet's process: started by `up`, ended by `down`. Its log is its standard output.
 */
import { readFileSync } from "node:fs";
import { Client } from "../client.ts";
import { componentKubeconfig } from "../components.ts";
import { readKubeconfig } from "../kubeconfig.ts";
import { bedPaths } from "../paths.ts";
import { pkiFiles } from "../pki.ts";
import { markHelpers } from "../processes.ts";
import { controlAddress, readBed } from "../state.ts";
import { serveControl } from "./control.ts";
import { StandIn } from "./stand-in.ts";

const name = process.argv[2] ?? "";
const bed = readBed(name);
if (bed?.kind !== "own") throw new Error(`there is no testbed ${name}`);
const paths = bedPaths(name);
const log = (line: string) => console.log(`${new Date().toISOString()} ${line}`);
process.on("unhandledRejection", (error) => {
  log(`unhandled: ${(error as Error).stack}`);
  process.exit(1);
});

markHelpers();

const client = new Client(readKubeconfig(componentKubeconfig(paths, "kubelet")));
const standIn = new StandIn(client, bed, paths, log);
await standIn.start();
const token = readFileSync(pkiFiles(paths.pki).tokenOf("kubelet"), "utf8");
await serveControl(standIn, token, bed.ports.kubelet, controlAddress(bed.slot));
log(`presents ${[...standIn.nodes.keys()].join(", ")}`);
