/** The shells' side of completion: each script passes the words on to `__complete` and shows what it answers. */

export const SHELLS = ["bash", "zsh", "fish", "kubectl"] as const;
export type Shell = (typeof SHELLS)[number];

/** `program` is a name on PATH. */
export function completionScript(shell: Shell, program: string): string {
  return SCRIPTS[shell](program);
}

/** A line is `word<tab>about`; the line `:files` asks the shell to offer files. */
const SCRIPTS: Readonly<Record<Shell, (program: string) => string>> = {
  bash: (program) => `# Load it with: source <(${program} completion bash)
_${identifier(program)}() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == ":files" ]]; then
      compopt -o default
      COMPREPLY=()
      return
    fi
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <(${program} __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _${identifier(program)} ${program}
`,
  zsh: (program) => `#compdef ${program}
# Load it with: source <(${program} completion zsh)
_${identifier(program)}() {
  local line word about
  local -a offered
  while IFS= read -r line; do
    if [[ $line == ":files" ]]; then
      _files
      return
    fi
    word=\${line%%$'\\t'*}
    about=\${line#*$'\\t'}
    offered+=("\${word//:/\\\\:}:$about")
  done < <(${program} __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  _describe ${program} offered
}
compdef _${identifier(program)} ${program}
`,
  fish: (program) => `# Load it with: ${program} completion fish | source
function __${identifier(program)}_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in (${program} __complete -- $words[2..-1] 2>/dev/null)
    if test "$line" = ":files"
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c ${program} -f -a "(__${identifier(program)}_complete)"
`,
  kubectl: () => `#!/bin/sh
# For kubectl etcd: save it as kubectl_complete-etcd in a directory of PATH and make it executable.
kubectl-etcd __complete -- "$@" 2>/dev/null | grep -v '^:files$'
echo ":4"
`,
};

function identifier(program: string): string {
  return program.replaceAll(/\W/g, "_");
}
