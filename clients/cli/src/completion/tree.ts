// The command tree as data, from which the completion scripts are generated.
import type { Command } from 'commander'

export type OptionNode = {
  /** `--out` and `-o`. */
  readonly flags: readonly string[]
  readonly description: string
  readonly takesValue: boolean
  /** Values to offer; empty: files. */
  readonly choices: readonly string[]
}

export type CommandNode = {
  readonly name: string
  readonly description: string
  readonly options: readonly OptionNode[]
  readonly commands: readonly CommandNode[]
  /** Values of the first argument; undefined: files. */
  readonly choices: readonly string[] | undefined
}

export function readTree(command: Command): CommandNode {
  const help = command.createHelp()
  return {
    name: command.name(),
    description: command.description(),
    options: help.visibleOptions(command).map((option) => ({
      flags: [option.short, option.long].filter((flag) => flag !== undefined && flag !== null),
      description: option.description,
      takesValue: option.required || option.optional,
      choices: option.argChoices ?? [],
    })),
    commands: command.commands.map(readTree),
    choices: command.registeredArguments[0]?.argChoices,
  }
}

export type Path = { readonly words: readonly string[]; readonly node: CommandNode }

/** Every command with the words that lead to it, the program itself first. */
export function walk(node: CommandNode, words: readonly string[] = []): Path[] {
  return [{ words, node }, ...node.commands.flatMap((child) => walk(child, [...words, child.name]))]
}
