// matte completion: a script for the shell, generated from the commands themselves.
import { Argument, type Command } from 'commander'
import { renderCompletion, type Shell, shells } from './scripts.ts'
import { readTree } from './tree.ts'

const setUp = `
Set it up:
  bash   echo 'source <(matte completion bash)' >> ~/.bashrc
  zsh    matte completion zsh > "\${fpath[1]}/_matte"
  fish   matte completion fish > ~/.config/fish/completions/matte.fish`

export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .description('print the completion script of a shell')
    .addArgument(new Argument('<shell>', 'shell').choices(shells))
    .addHelpText('after', setUp)
    .action((shell: Shell) => void process.stdout.write(renderCompletion(shell, readTree(program))))
}
