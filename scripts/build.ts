/**
 * `npm run build`: bundles every program into dist/ and starts each once. With `--executable` also writes executables
 * that need no Node, for every machine or the one that `--machine` names; with `--image` dist/quorate-image.tar, the
 * operator's image; `--name` names it as another registry would. Each comes with its bill of materials (.cdx.json).
 */
import { statSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { bundle } from "./build/bundle.ts";
import type { Machine } from "./build/elf.ts";
import { buildExecutables, MACHINES } from "./build/executable.ts";
import { buildImage } from "./build/image.ts";
import { sbomOf } from "./build/sbom.ts";
import { smoke } from "./build/smoke.ts";
import { IMAGE } from "./generators/install/deployment.ts";

const { values } = parseArgs({
  options: {
    executable: { type: "boolean", default: false },
    machine: { type: "string", multiple: true },
    image: { type: "boolean", default: false },
    name: { type: "string", default: IMAGE },
  },
});
const machines = values.machine?.map(machineNamed) ?? MACHINES;
const root = fileURLToPath(new URL("..", import.meta.url));
const folder = `${root}dist`;
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
for (const { program, path, bytes, packages } of await bundle(root, folder)) {
  const version = await smoke(process.execPath, path);
  console.log(`dist/${program}.mjs  ${(bytes / 1024).toFixed(0)} KiB  ${version}`);
  if (!values.image || program !== "quorate") continue;
  const began = performance.now();
  const image = await buildImage(path, folder, values.name, (text) => console.log(`  image: ${text} …`));
  const took = `${((performance.now() - began) / 1000).toFixed(1)} s`;
  const archive = megabytes(statSync(image.path).size);
  console.log(`dist/quorate-image.tar  ${archive}, ${megabytes(image.bytes)} unpacked, ${took}`);
  console.log(`  ${values.name} ${image.digest}`);
  const artifact = { name: "quorate-image", sha256: image.digest.replace("sha256:", "") };
  const node = `node-linux-${process.arch}`;
  const sbom = sbomOf(root, { packages, node, files: image.libraries, artifact });
  writeFileSync(`${folder}/quorate-image.cdx.json`, `${JSON.stringify(sbom, undefined, 2)}\n`);
  console.log(`  dist/quorate-image.cdx.json  ${sbom.components.length} components`);
}

if (values.executable) {
  const tell = (text: string) => console.log(`  executable: ${text} …`);
  for (const { machine, path, bytes, version } of await buildExecutables(root, folder, machines, tell))
    console.log(
      `${relative(root, path)}  ${megabytes(bytes)}  ${version ?? `not run: this is not ${machine}`}`,
    );
}

function machineNamed(name: string): Machine {
  const machine = MACHINES.find((one) => one === name);
  if (machine === undefined) {
    console.error(`--machine ${JSON.stringify(name)}: one of ${MACHINES.join(", ")}`);
    process.exit(2);
  }
  return machine;
}
