/** `quorate completion <shell>`: prints the script that makes a shell complete this command. */
import { commandOf } from "../called.ts";
import { completionScript, SHELLS, type Shell } from "../completion/scripts.ts";
import { UsageError } from "../io.ts";
import { plainVerb } from "../verb.ts";

export const verb = plainVerb(
  {
    name: "completion",
    summary: "print the completion script for a shell",
    about:
      "kubectl finds completions of plugins in an executable named kubectl_complete-etcd; `completion kubectl` prints it.",
    arguments: [{ name: "shell", help: SHELLS.join(", "), complete: SHELLS }],
    examples: [
      {
        does: "bash, for this session",
        line: "completion bash > /tmp/quorate.bash && source /tmp/quorate.bash",
      },
      { does: "zsh, for good: a directory of fpath", line: "completion zsh > ~/.zfunc/_quorate" },
      {
        does: "fish, for good: in a file named after the command",
        line: "completion fish > ~/.config/fish/completions/quorate.fish",
      },
      { does: "For `kubectl etcd`", line: "completion kubectl > ~/bin/kubectl_complete-etcd" },
    ],
  },
  async ({ args }, io) => {
    const shell = SHELLS.find((known): known is Shell => known === args.shell);
    if (shell === undefined) throw new UsageError(`shell ${args.shell}: must be one of ${SHELLS.join(", ")}`);
    const program = commandOf(io) === "kubectl etcd" ? "kubectl-etcd" : "quorate";
    io.stdout.write(completionScript(shell, program));
    await Promise.resolve();
  },
);
