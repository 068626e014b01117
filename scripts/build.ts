/**
 * `npm run build`: bundles every program into dist/, in parts for images into dist/app/, and starts each once. With `--executable` also writes executables
 * that need no Node, for every machine or the one that `--machine` names; with `--image` dist/quorate-image.tar, the
 * operator's image; `--name` names it as another registry would. Each comes with its bill of materials (.cdx.json).
 * `--node official` or `--node npm` says which build of Node is put into them, which otherwise is the project's own where
 * it can be had; QUORATE_NODE_SITE names a copy of its distribution site.
 */
import { rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { bundle, bundleInParts } from "./build/bundle.ts";
import type { Machine } from "./build/elf.ts";
import { buildExecutables, MACHINES } from "./build/executable.ts";
import { buildImage } from "./build/image.ts";
import { chosenNode, NODE_CHOICES, NODE_SITE } from "./build/official-node.ts";
import { sbomOf } from "./build/sbom.ts";
import { smoke } from "./build/smoke.ts";
import { IMAGE } from "./generators/install/deployment.ts";

const { values } = parseArgs({
  options: {
    executable: { type: "boolean", default: false },
    machine: { type: "string", multiple: true },
    image: { type: "boolean", default: false },
    name: { type: "string", default: IMAGE },
    node: { type: "string", default: "any" },
  },
});
const machines = values.machine?.map(machineNamed) ?? MACHINES;
const choice = NODE_CHOICES.find((one) => one === values.node) ?? wrong("node", values.node, NODE_CHOICES);
const site = process.env["QUORATE_NODE_SITE"] ?? NODE_SITE;
const root = fileURLToPath(new URL("..", import.meta.url));
const folder = `${root}dist`;
const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
rmSync(`${folder}/app`, { recursive: true, force: true });
const parts = await bundleInParts(root, `${folder}/app`);
const ofParts = await smoke(process.execPath, join(parts.folder, parts.files[0] ?? ""));
console.log(`dist/app/  ${parts.files.length} files  ${ofParts}`);
for (const { program, path, bytes, packages } of await bundle(root, folder)) {
  const version = await smoke(process.execPath, path);
  console.log(`dist/${program}.mjs  ${(bytes / 1024).toFixed(0)} KiB  ${version}`);
  if (!values.image || program !== "quorate") continue;
  const began = performance.now();
  const tell = (text: string) => console.log(`  image: ${text} …`);
  const node = await nodeFor(machineNamed(process.arch), tell);
  const image = await buildImage(parts, folder, values.name, tell, node.path);
  const took = `${((performance.now() - began) / 1000).toFixed(1)} s`;
  const archive = megabytes(statSync(image.path).size);
  console.log(`dist/quorate-image.tar  ${archive}, ${megabytes(image.bytes)} unpacked, ${took}`);
  console.log(`  ${values.name} ${image.digest}`);
  const artifact = { name: "quorate-image", sha256: image.digest.replace("sha256:", "") };
  const sbom = sbomOf(root, { packages, node: node.source, files: image.libraries, artifact });
  writeFileSync(`${folder}/quorate-image.cdx.json`, `${JSON.stringify(sbom, undefined, 2)}\n`);
  console.log(`  dist/quorate-image.cdx.json  ${sbom.components.length} components`);
}

if (values.executable) {
  const tell = (text: string) => console.log(`  executable: ${text} …`);
  const node = (machine: Machine) => nodeFor(machine, tell);
  for (const { machine, path, bytes, version } of await buildExecutables(root, folder, machines, node, tell))
    console.log(
      `${relative(root, path)}  ${megabytes(bytes)}  ${version ?? `not run: this is not ${machine}`}`,
    );
}

function machineNamed(name: string): Machine {
  return MACHINES.find((one) => one === name) ?? wrong("machine", name, MACHINES);
}

function nodeFor(machine: Machine, tell: (text: string) => void) {
  return chosenNode(root, machine, { choice, site }, tell);
}

function wrong(flag: string, given: string, allowed: readonly string[]): never {
  console.error(`--${flag} ${JSON.stringify(given)}: one of ${allowed.join(", ")}`);
  process.exit(2);
}
