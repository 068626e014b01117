/** The scenarios, simulated: with the product on a modelled machine and with the operator. */
import { test } from "node:test";
import { scenariosFor } from "./all.ts";
import { onMachine, onModelKubernetes } from "./on-simulation.ts";

for (const scenario of scenariosFor("machine"))
  test(`${scenario.name}: the product on a modelled machine`, async () => {
    await scenario.run(await onMachine(scenario, 1));
  });

for (const scenario of scenariosFor("kubernetes"))
  test(`${scenario.name}: the operator on the model API server`, async () => {
    await scenario.run(onModelKubernetes(scenario, 1));
  });
