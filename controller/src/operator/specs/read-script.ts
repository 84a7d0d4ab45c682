import { readFileSync } from 'node:fs'

/** Each file is read once: a pod template is built for every pool once a second. */
const scripts = new Map<string, string>()

/** A script of this folder as a container runs it: without the comment at its head. */
export function readScript(name: string): string {
  const script = scripts.get(name) ?? readFileSync(new URL(name, import.meta.url), 'utf8').replace(/^(#.*\n)+/, '')
  scripts.set(name, script)
  return script
}
