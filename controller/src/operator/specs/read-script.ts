import { readFileSync } from 'node:fs'

/** Each file is read once: a pod template is built for every pool once a second. */
const scripts = new Map<string, string>()

/** A script of this folder as a container runs it: without the comment at its head, which is for readers. */
export function readScript(name: string): string {
  const known = scripts.get(name)
  if (known !== undefined) return known
  const script = readFileSync(new URL(name, import.meta.url), 'utf8').replace(/^(#.*\n)+/, '')
  scripts.set(name, script)
  return script
}
