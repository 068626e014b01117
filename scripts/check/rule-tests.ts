/** Each rule has its test beside it, and each test in the folder of rules has the name of the rule that it judges. */
import { finding, type Check } from "./check.ts";
import { isTest } from "./repo.ts";

const FOLDER = "src/core/rules/";

export const ruleTests: Check = {
  name: "rule tests",
  run: ({ files }) => {
    const inside = files.filter((path) => path.startsWith(FOLDER) && path.endsWith(".ts"));
    const has = (name: string) => inside.includes(`${FOLDER}${name}`);
    return inside.flatMap((path) => {
      const [rule = ""] = path.slice(FOLDER.length).split(".");
      if (isTest(path))
        return has(`${rule}.ts`)
          ? []
          : [
              finding(
                path,
                undefined,
                `there is no rule ${rule}: call it <rule>.test.ts or <rule>.<aspect>.test.ts`,
              ),
            ];
      return has(`${rule}.test.ts`) ? [] : [finding(path, undefined, `write its test: ${rule}.test.ts`)];
    });
  },
};
