/** `quorate certificate`: every certificate of a cluster, and one for a user. */
import { show, styleOf, tableWidthOf } from "../output.ts";
import { certificateLines } from "../screen/certificates.ts";
import { chosenCluster } from "../target/choose.ts";
import { clusterVerb, verbGroup } from "../verb.ts";
import { CLUSTER } from "../verb-data.ts";

export const verb = verbGroup(
  {
    name: "certificate",
    summary: "look at the certificates of a cluster, or get one for a user",
    examples: [
      { does: "When does what expire?", line: "certificate show demo" },
      { does: "A certificate for today", line: "certificate issue alice --ttl 8h" },
    ],
  },
  {
    issue: async () => (await import("./certificate-issue.ts")).issue,
    show: async () =>
      await Promise.resolve(
        clusterVerb(
          {
            name: "certificate show",
            summary: "list every certificate of a cluster with subject, issuer, names and days left",
            about:
              "Reads the Secrets of the cluster with your own rights; those that you may not get are listed as not shown. Keys are never printed. Certificates are renewed by the operator in the last third of their life.",
            arguments: [CLUSTER],
            groups: ["output", "target"],
            examples: [
              { does: "When does what expire?", line: "certificate show demo" },
              { does: "With all names", line: "certificate show demo -o wide" },
            ],
          },
          async ({ flags, args }, io, target) => {
            const style = styleOf(io, flags);
            const cluster = await chosenCluster(target, args.cluster);
            const { certificatesOf } = await import("../certificates/collect.ts");
            const list = await certificatesOf(target, cluster, io);
            await show(io, flags, () =>
              Promise.resolve({
                data: list,
                text: (format) =>
                  certificateLines(list, { wide: format === "wide", width: tableWidthOf(io) }, style).join(
                    "\n",
                  ),
              }),
            );
          },
        ),
      ),
  },
);
