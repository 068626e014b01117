/** Our image for Pods of the stand-in kubelet: the command from its sources, at the place where they are on this machine. */
import path from "node:path";
import process from "node:process";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { registerImage } from "../../testbed/kubelet/images.ts";

export const OWN_IMAGE = "registry.example/quorate:dev";
const ROOT = path.join(import.meta.dirname, "..", "..");

/** As the options of an operator name it. */
export function ownImage(bed: TestTestbed): { readonly image: string } {
  registerImage(bed.name, OWN_IMAGE, {
    mounts: { [ROOT]: ROOT },
    entrypoint: [process.execPath, path.join(ROOT, "src", "cli", "main.ts")],
    cmd: ["operator"],
  });
  return { image: OWN_IMAGE };
}
